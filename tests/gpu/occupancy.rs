//! The planner's occupancy and limits against the driver's.

use cust::function::FunctionAttribute;
use cust::module::Module;
use libtest_mimic::Failed;
use tilewright::dispatch::{KernelUsage, kernel_sheet, usage};
use tilewright::launch::Gpu;
use tilewright::{Bytes, Error};
use tilewright_contract::Kernel;
use tilewright_plan::{BlockUse, occupancy};

use crate::Outcome;
use crate::cases::allow_dynamic_shared_memory;
use crate::trial::Trial;

pub fn trials(kernels: &[&'static Kernel]) -> Vec<Trial> {
    let all = kernels.to_vec();
    let (of_limit, of_table) = (all.clone(), all);
    kernels
        .iter()
        .map(|&kernel| {
            Trial::test(format!("occupancy::{}", kernel.symbol), move || {
                blocks_are_as_the_driver_counts_them(kernel)
            })
        })
        .chain([
            Trial::test("occupancy::the_limit_is_exact", move || the_limit_is_exact(&of_limit)),
            Trial::test("occupancy::the_table_agrees_with_the_driver", move || {
                the_table_agrees_with_the_driver(&of_table)
            }),
            Trial::test(
                "occupancy::registers_barriers_threads_and_bytes_count_as_in_the_model",
                the_model_is_the_drivers,
            ),
        ])
        .collect()
}

/// The device and its row of the table.
fn open() -> Result<(Gpu, cuda_arch::Architecture), Failed> {
    let gpu = Gpu::open(0)?;
    let architecture = gpu
        .profile()
        .architecture()
        .ok_or("this architecture is not in the table")?;
    Ok((gpu, architecture))
}

/// Every tile width of an entry point, and a sweep of dynamic sizes beyond what it needs.
fn blocks_are_as_the_driver_counts_them(kernel: &'static Kernel) -> Outcome {
    let (gpu, architecture) = open()?;
    let loaded = gpu.usage(kernel)?;
    let used = KernelUsage {
        registers: loaded.registers,
        static_bytes: loaded.static_smem_bytes,
        ..usage(kernel.symbol, &architecture).ok_or("no line in the planner's table")?
    };
    let mut compared = 0;
    for kernel in kernel.with_every_tile() {
        let sheet = kernel_sheet(&kernel, used, &architecture).map_err(|error| error.to_string())?;
        if sheet.static_bytes + sheet.dynamic_bytes > architecture.smem_per_block_optin {
            continue;
        }
        let counted = gpu.blocks_per_sm(&kernel, kernel.threads(), Bytes(sheet.dynamic_bytes))?;
        if counted != sheet.occupancy.blocks_per_sm {
            let tile = kernel.tile_name();
            return Err(format!("{tile}: {counted} blocks, predicted {:?}", sheet.occupancy).into());
        }
        compared += 1;
    }
    let most = architecture.smem_per_block_optin - used.static_bytes;
    // A launch outside of the kernel's attributes is refused whatever the occupancy.
    let is_allowed = |threads: &u32| kernel.max_threads.is_none_or(|most| *threads <= most);
    let allowed: Vec<u32> = [32, 64, 96, 256, 1000].into_iter().filter(is_allowed).collect();
    for dynamic in (0..=most).step_by(1777).chain([most - 1, most]) {
        for &threads in &allowed {
            let block = used.block(threads, dynamic);
            let predicted = occupancy(&architecture, &block);
            let counted = gpu.blocks_per_sm(kernel, threads, Bytes(dynamic))?;
            if counted != predicted.blocks_per_sm {
                return Err(format!("{block:?}: {counted} blocks, predicted {predicted:?}").into());
            }
            compared += 1;
        }
    }
    if compared < 50 * allowed.len() {
        return Err(format!("only {compared} comparisons").into());
    }
    Ok(())
}

/// The driver takes static + dynamic = limit and refuses one byte more.
fn the_limit_is_exact(kernels: &[&'static Kernel]) -> Outcome {
    let (gpu, architecture) = open()?;
    for kernel in kernels {
        let most = architecture.smem_per_block_optin - gpu.usage(kernel)?.static_smem_bytes;
        gpu.blocks_per_sm(kernel, 32, Bytes(most))?;
        match gpu.blocks_per_sm(kernel, 32, Bytes(most + 1)) {
            // The driver does not raise the kernel's limit so far.
            Err(Error::InvalidArgument(_)) => {}
            other => return Err(format!("{}: one byte more than the limit: {other:?}", kernel.symbol).into()),
        }
    }
    Ok(())
}

fn the_table_agrees_with_the_driver(kernels: &[&'static Kernel]) -> Outcome {
    let (gpu, architecture) = open()?;
    let disagreements = gpu.profile().disagreements().ok_or("not in the table")?;
    if !disagreements.is_empty() {
        return Err(format!("{disagreements:?}").into());
    }
    // Registers decide occupancy, and the driver's compiler is not the one that made the table.
    for kernel in kernels {
        let (driver, table) = (gpu.usage(kernel)?.registers, usage(kernel.symbol, &architecture));
        if table.is_none_or(|table| table.registers.abs_diff(driver) > 8) {
            return Err(format!("{}: {driver} registers, the table says {table:?}", kernel.symbol).into());
        }
    }
    Ok(())
}

/// Kernels that were made to take so many registers and barriers, with and without `setmaxnreg`, over blocks of every
/// number of warps and some sizes of dynamic shared memory.
///
/// What decides is the barriers that a kernel declares (`ptxas -v`: "used N barriers"), which an SM has 64
/// of; whether it gives registers from one warpgroup to another does not count.
fn the_model_is_the_drivers() -> Outcome {
    let (_gpu, architecture) = open()?;
    let swept: Vec<Swept> =
        Swept::all(architecture.compute_capability >= cuda_arch::ComputeCapability::new(9, 0)).collect();
    let module = Module::from_ptx(Swept::module(&swept, &architecture), &[])?;
    let (mut compared, mut wrong, mut most_registers) = (0, Vec::new(), [0; 2]);
    for kernel in &swept {
        let function = module.get_function(kernel.symbol())?;
        let attribute = |attribute| function.get_attribute(attribute).map(i32::unsigned_abs);
        let registers = attribute(FunctionAttribute::NumRegisters)?;
        let most_threads = attribute(FunctionAttribute::MaxThreadsPerBlock)?;
        let most = &mut most_registers[usize::from(kernel.moves_registers)];
        *most = registers.max(*most);
        for dynamic in [0, 20_000, 50_000, 99 << 10, architecture.smem_per_block_optin] {
            if dynamic > architecture.smem_per_block_optin {
                continue;
            }
            allow_dynamic_shared_memory(&function, dynamic);
            for threads in (32..=most_threads).step_by(32) {
                let block = BlockUse {
                    barriers: kernel.barriers,
                    ..BlockUse::new(threads, registers, 0, dynamic.into())
                };
                let predicted = occupancy(&architecture, &block).blocks_per_sm;
                let counted = function.max_active_blocks_per_multiprocessor(threads.into(), dynamic as usize)?;
                compared += 1;
                if counted != predicted {
                    wrong.push(format!(
                        "{kernel:?}, {block:?}: {counted} blocks, predicted {predicted}"
                    ));
                }
            }
        }
    }
    if !wrong.is_empty() {
        wrong.truncate(20);
        return Err(wrong.join("\n").into());
    }
    if compared < 5_000 || most_registers.iter().any(|most| (1..200).contains(most)) {
        return Err(format!("only {compared} comparisons, up to {most_registers:?} registers").into());
    }
    Ok(())
}

/// A kernel of the sweep.
#[derive(Debug)]
struct Swept {
    registers: u32,
    barriers: u32,
    moves_registers: bool,
}

impl Swept {
    fn all(with_setmaxnreg: bool) -> impl Iterator<Item = Self> {
        let moves: &[bool] = if with_setmaxnreg { &[false, true] } else { &[false] };
        let registers = [24, 40, 64, 96, 128, 168, 200, 248];
        let each = registers.map(|registers| [0, 1, 2, 5, 8, 15, 16].map(|barriers| (registers, barriers)));
        let each = each.into_iter().flatten();
        each.flat_map(move |(registers, barriers)| {
            moves.iter().map(move |&moves_registers| Self {
                registers,
                barriers,
                moves_registers,
            })
        })
    }

    fn symbol(&self) -> String {
        let Self {
            registers,
            barriers,
            moves_registers,
        } = self;
        format!("swept_{registers}_{barriers}_{moves_registers}")
    }

    /// PTX that keeps about as many values at a time as it is to have registers, and waits at every barrier.
    fn entry(&self) -> String {
        let values = self.registers - 12;
        let each = |line: fn(u32) -> String| (0..values).map(line).collect::<String>();
        let loads = each(|i| format!("ld.volatile.global.u32 %r{i}, [%rd1 + {}];\n", 4 * i));
        let stores = each(|i| format!("st.volatile.global.u32 [%rd1 + {}], %r{i};\n", 4 * i));
        let waits: String = (0..self.barriers).map(|i| format!("bar.sync {i};\n")).collect();
        let setmaxnreg = if self.moves_registers {
            "setmaxnreg.dec.sync.aligned.u32 24;\n"
        } else {
            ""
        };
        format!(
            ".visible .entry {}(.param .u64 p)\n.maxnreg {}\n{{\n.reg .b32 %r<{values}>;\n.reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [p];\n{waits}{loads}{stores}{setmaxnreg}ret;\n}}\n",
            self.symbol(),
            self.registers
        )
    }

    fn module(kernels: &[Self], arch: &cuda_arch::Architecture) -> String {
        // `setmaxnreg` is of those features that one architecture alone has.
        let suffix = if kernels.iter().any(|kernel| kernel.moves_registers) {
            "a"
        } else {
            ""
        };
        let head = format!(".version 8.7\n.target {}{suffix}\n.address_size 64\n", arch.name);
        kernels.iter().map(Self::entry).fold(head, |text, entry| text + &entry)
    }
}
