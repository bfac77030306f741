//! The results as tables.

use std::fmt::{self, Write as _};

use crate::counters::Counters;
use crate::measure::{Ratio, Results, Row, Time};
use crate::record;

/// What stands in the table of counters: a head, the counter of `ncu`, and what it is divided by.
const COLUMNS: [(&str, &str, f64); 14] = [
    ("µs", "gpu__time_duration.sum", 1e3),
    (
        "warps active %",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        1.0,
    ),
    ("local loads", "smsp__inst_executed_op_local_ld.sum", 1.0),
    ("local stores", "smsp__inst_executed_op_local_st.sum", 1.0),
    ("shared loads", "smsp__inst_executed_op_shared_ld.sum", 1.0),
    ("shared stores", "smsp__inst_executed_op_shared_st.sum", 1.0),
    (
        "local load sectors",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        1.0,
    ),
    (
        "of them hits",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
        1.0,
    ),
    (
        "local store sectors",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        1.0,
    ),
    ("L2 sectors", "lts__t_sectors_srcunit_tex.sum", 1.0),
    ("L2 misses", "lts__t_sectors_srcunit_tex_lookup_miss.sum", 1.0),
    ("DRAM MB read", "dram__bytes_read.sum", 1e6),
    ("DRAM MB written", "dram__bytes_write.sum", 1e6),
    ("instructions", "smsp__inst_executed.sum", 1.0),
];

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} [{:.3}, {:.3}]", self.median, self.q1, self.q3)
    }
}

impl Results {
    /// Times and ratios, what the driver says of each variant, and the counters, in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "# Register-budget variants\n\n{}, driver CUDA {}, commit {}, {}. Random data; {} samples of each variant \
             in turns, checked before timing: the first against the CPU, the others to the bit against it. Times are \
             medians of one launch; ratios are medians of pairs [quartiles]. local / shared above 1: the pragma gains. \
             kept / shared above 1: a cap on registers with the pragma gains.\n",
            self.device, self.driver, self.commit, self.date, self.rounds
        )?;
        writeln!(
            text,
            "| problem | size | threads, cap | kept µs | local µs | shared µs | unbounded µs | rate of shared \
             | local / shared | kept / shared | local / unbounded |\n\
             |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        let us = |time: &Time| format!("{:.1}", 1e3 * time.ms);
        let unless_none = |ratio: &Option<Ratio>| ratio.as_ref().map_or_else(String::new, Ratio::to_string);
        for row in &self.rows {
            writeln!(
                text,
                "| {} {} | {} | {}, {} | {} | {} | {} | {} | {:.2} {} | {} | {} | {} |",
                row.family,
                row.dtype,
                row.size,
                row.threads,
                row.max_registers,
                us(&row.kept),
                us(&row.local),
                us(&row.shared),
                row.unbounded.as_ref().map_or_else(String::new, us),
                row.shared.rate,
                row.unit(),
                row.local_over_shared,
                row.kept_over_shared,
                unless_none(&row.local_over_unbounded),
            )?;
        }
        writeln!(
            text,
            "\n## By the driver\n\n{}",
            record::table(&self.variants).trim_end()
        )?;
        self.write_counters(text)
    }

    fn write_counters(&self, text: &mut String) -> fmt::Result {
        let mut counted = Vec::<(&Row, &Time, &Counters)>::new();
        for row in &self.rows {
            for time in row.times() {
                let known = counted
                    .iter()
                    .any(|(of, other, _)| (&of.size, other.symbol) == (&row.size, time.symbol));
                if let (Some(counters), false) = (&time.counters, known) {
                    counted.push((row, time, counters));
                }
            }
        }
        if counted.is_empty() {
            return Ok(());
        }
        let heads = COLUMNS.map(|(head, ..)| head).join(" | ");
        writeln!(
            text,
            "\n## By `ncu`\n\nOne launch each, clocks not fixed. Sectors have 32 bytes; loads and stores are \
             instructions of a warp.\n"
        )?;
        writeln!(
            text,
            "| kernel | size | {heads} |\n|---|---|{}",
            "---:|".repeat(COLUMNS.len())
        )?;
        for (row, time, counters) in counted {
            let values = COLUMNS.map(|(_, name, unit)| {
                counters.get(name).map_or_else(
                    || "-".to_owned(),
                    |value| {
                        let value = value / unit;
                        if value.fract() == 0.0 {
                            format!("{value}")
                        } else {
                            format!("{value:.1}")
                        }
                    },
                )
            });
            writeln!(text, "| {} | {} | {} |", time.symbol, row.size, values.join(" | "))?;
        }
        Ok(())
    }
}

impl Row {
    fn unit(&self) -> &'static str {
        if self.size.ends_with("matrices") {
            "TB/s"
        } else {
            "TFLOP/s"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    #[test]
    fn every_row_and_every_counter_is_in_the_tables() {
        let time = |symbol, ms| Time {
            symbol,
            ms,
            rate: 1.5,
            counters: Some(Counters::from([("smsp__inst_executed.sum".to_owned(), 7.0)])),
        };
        let ratio = || Ratio {
            median: 1.25,
            q1: 1.0,
            q3: 1.5,
        };
        let results = Results {
            date: "2030-01-01".to_owned(),
            commit: "0123".to_owned(),
            device: "a GPU".to_owned(),
            driver: "13.0".to_owned(),
            rounds: 21,
            variants: record::resources(cuda_arch::find("sm_90").expect("in the table")),
            rows: vec![Row {
                family: "inverse8",
                dtype: "f32",
                size: "100 matrices".to_owned(),
                threads: 128,
                max_registers: 72,
                kept: time("kept", 0.001),
                local: time("local", 0.002),
                shared: time("shared", 0.003),
                unbounded: None,
                local_over_shared: ratio(),
                kept_over_shared: ratio(),
                local_over_unbounded: None,
            }],
        };
        let text = results.markdown();
        let row = "| inverse8 f32 | 100 matrices | 128, 72 | 1.0 | 2.0 | 3.0 |  | 1.50 TB/s | 1.250 [1.000, 1.500] |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| inverse8_128_72_shared_f32 "), "{text}");
        for symbol in ["kept", "local", "shared"] {
            assert!(text.contains(&format!("| {symbol} | 100 matrices | - |")), "{text}");
        }
        assert_eq!(text.matches("- | 7 |\n").count(), 3, "{text}");
    }
}
