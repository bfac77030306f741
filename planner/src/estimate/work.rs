//! What a template does for a shape, and how long the resources of a machine take for it.

use libm::ceil;

use super::resources::{Operands, bytes_per_element, filled, operands_from_dram, step_clocks};
use super::{
    ASYNC_STEP_CLOCKS, BLOCK_CLOCKS, Bound, Estimate, L2_SHARE, LATENCY, LAUNCH_US, Machine, OVERLAP, PORT_BYTES,
    SPLIT_US, STEP_CLOCKS, STORE_BYTES,
};
use crate::path::Path;
use crate::template::Shape;
use crate::worksheet::Worksheet;

/// What a template does for a shape, in units of the machine.
pub(crate) struct Work {
    /// CTAs, split parts counted.
    blocks: f64,
    /// SMs that work, and CTAs that each holds.
    reach: f64,
    resident: f64,
    /// Steps of the main loop in a CTA.
    steps: f64,
    compute: f64,
    shared: f64,
    /// Bytes that a step brings to an SM, and takes from the L2 cache.
    load: f64,
    l2: f64,
    /// Bytes of device memory in all.
    dram: f64,
    buffers: f64,
    step_overhead: f64,
    /// Warps of a CTA that multiply; no limit where they need not wait for it.
    warps: f64,
    /// Clocks of a CTA's beginning and end, and what of them its own multiplications do not cover.
    end: f64,
    uncovered_end: f64,
    split: f64,
    outputs: f64,
    useful: f64,
}

impl Work {
    pub(crate) fn new(sheet: &Worksheet, shape: &Shape, machine: &Machine<'_>) -> Option<Self> {
        let template = &sheet.template;
        let resident = f64::from(sheet.occupancy.blocks_per_sm);
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as f64);
        if resident == 0.0 || m == 0.0 || n == 0.0 || k == 0.0 {
            return None;
        }
        let [tile_m, tile_n, tile_k] = [template.tile.m, template.tile.n, template.tile.k].map(f64::from);
        let split = f64::from(template.split_k);
        let [cluster_m, cluster_n] = [template.cluster.0, template.cluster.1].map(f64::from);
        let (tiles_m, tiles_n) = (ceil(m / tile_m), ceil(n / tile_n));
        let across = |tiles: f64, cluster: f64| ceil(tiles / cluster) * cluster;
        let blocks = across(tiles_m, cluster_m) * across(tiles_n, cluster_n) * split;
        let steps = ceil(ceil(k / tile_k) / split);

        // Rows beyond the matrix are not fetched.
        let (rows, columns) = (m / tiles_m, n / tiles_n);
        let depth = (k / split / steps).min(tile_k);
        let [a_bytes, b_bytes] = bytes_per_element(template);
        let (load_a, load_b) = (rows * depth * a_bytes, columns * depth * b_bytes);
        // Multicast: the CTAs of a cluster along n share A, those along m share B.
        let l2 = load_a / cluster_n + load_b / cluster_m;
        let load = load_a + load_b;

        let reach = machine.reach(template.cluster.0 * template.cluster.1);
        let wave = (reach * resident).min(blocks);
        let dram_in = operands_from_dram(Operands {
            tiles: [tiles_m, tiles_n],
            panel: [rows * k * a_bytes, columns * k * b_bytes],
            split,
            wave,
            cache: machine.l2_bytes * L2_SHARE,
        });
        let outputs = m * n;
        let out_bytes = outputs * f64::from(template.output_bytes);
        let (compute, shared) = step_clocks(template, machine);
        let end = BLOCK_CLOCKS + rows * columns * f64::from(template.output_bytes) / STORE_BYTES;
        let asynchronous = matches!(template.path, Path::Wgmma | Path::Tcgen05);
        Some(Self {
            blocks,
            reach,
            resident,
            steps,
            compute,
            shared,
            load,
            l2,
            dram: dram_in + out_bytes,
            buffers: f64::from(sheet.buffers),
            step_overhead: match (asynchronous, sheet.buffers) {
                (true, _) => ASYNC_STEP_CLOCKS,
                // The CTA waits twice: for the tile to be filled, and to be drained.
                (false, 1) => 2.0 * STEP_CLOCKS,
                (false, _) => STEP_CLOCKS,
            },
            warps: if asynchronous {
                f64::INFINITY
            } else {
                f64::from(template.warps)
            },
            end,
            // With a second accumulator the next tile's multiplications run on.
            uncovered_end: if template.accumulator_buffers > 1 { 0.0 } else { end },
            split,
            outputs,
            useful: (m * n * k) / (blocks / split * tile_m * tile_n * tile_k * steps * split),
        })
    }

    pub(crate) fn estimate(&self, machine: &Machine<'_>) -> Option<Estimate> {
        let clocks_to_us = 1e6 / machine.clock_hz;
        // CTAs that the busiest SM computes, and how often it is filled.
        let rounds = ceil(self.blocks / self.reach);
        let waves = ceil(self.blocks / (self.reach * self.resident));
        let together = self.resident.min(rounds);

        // Warps are dealt to four subpartitions. A CTA takes its own time for a step, and all resident ones share the
        // units; they cover each other's waits and ends.
        let math = |blocks: f64| self.compute / filled(self.warps * blocks / 4.0);
        let own = self.steps * (math(1.0) + self.step_overhead) + self.uncovered_end;
        let compute = (rounds * self.steps * math(together)).max(waves * own);
        let shared = rounds * self.steps * self.shared;
        let port = rounds * self.steps * self.load / PORT_BYTES;
        let l2 = self.blocks * self.steps * self.l2 / machine.l2_bytes_per_clock;
        let dram = self.dram / machine.dram_bytes_per_clock;
        // A buffer is filled again when its step is over and memory has answered.
        let step = math(1.0).max(self.shared) + self.step_overhead;
        let latency = waves * (self.steps * (LATENCY + step) / self.buffers + self.uncovered_end);

        let terms = [
            (compute, Bound::Compute),
            (shared, Bound::SharedMemory),
            (port, Bound::L2),
            (l2, Bound::L2),
            (dram, Bound::Dram),
            (latency, Bound::Latency),
        ];
        let (slowest, bound) = terms
            .into_iter()
            .reduce(|most, term| if term.0 > most.0 { term } else { most })?;
        let sum: f64 = terms.iter().map(|term| term.0).sum();
        let main = slowest + OVERLAP * (sum - slowest);

        let overhead_us = (LATENCY + self.end) * clocks_to_us + LAUNCH_US + self.split_us(machine);
        Some(Estimate {
            us: main * clocks_to_us + overhead_us,
            waves,
            compute_us: compute * clocks_to_us,
            smem_us: shared * clocks_to_us,
            l2_us: l2.max(port) * clocks_to_us,
            dram_us: dram * clocks_to_us,
            latency_us: latency * clocks_to_us,
            overhead_us,
            useful_fraction: self.useful,
            bound,
        })
    }

    /// Summing split parts: each is written and read once as 32-bit sums, by way of the L2 cache where they fit, and a
    /// second kernel does it.
    fn split_us(&self, machine: &Machine<'_>) -> f64 {
        if self.split == 1.0 {
            return 0.0;
        }
        let workspace = self.outputs * self.split * 4.0;
        let bytes_per_clock = if workspace <= machine.l2_bytes * L2_SHARE {
            machine.l2_bytes_per_clock
        } else {
            machine.dram_bytes_per_clock
        };
        SPLIT_US + 2.0 * workspace / bytes_per_clock * 1e6 / machine.clock_hz
    }
}
