//! The table that holds the memory traffic that the simulator counts against that of a GPU's performance counters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::root;

/// Where differences are explained, a line each: `KERNEL COUNTER: why`, the counter by the name in the table. A reason
/// that begins with a ratio, as in `5/8 four loads are joined`, counts only where what was counted is exactly that part
/// of what was predicted.
pub const EXPLAINED: &str = "xtask/explained/wavefronts.txt";

/// What is compared: a name, the counter of `ncu`, and the field of the simulator's count. From `cp.async` on, `run.sh`
/// counts those that the installed `ncu` has.
const COMPARED: [(&str, &str, [&str; 2]); 25] = [
    (
        "shared load wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        ["shared_load", "actual"],
    ),
    (
        "shared store wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        ["shared_store", "actual"],
    ),
    (
        "shared load instructions",
        "smsp__inst_executed_op_shared_ld.sum",
        ["shared_load", "requests"],
    ),
    (
        "shared store instructions",
        "smsp__inst_executed_op_shared_st.sum",
        ["shared_store", "requests"],
    ),
    (
        "shared load conflicts",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        ["shared_load", "conflicts"],
    ),
    (
        "shared store conflicts",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ["shared_store", "conflicts"],
    ),
    (
        "global load sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        ["global_load", "actual"],
    ),
    (
        "global store sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        ["global_store", "actual"],
    ),
    (
        "global load requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        ["global_load", "requests"],
    ),
    (
        "global store requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        ["global_store", "requests"],
    ),
    (
        "cp.async instructions",
        "smsp__inst_executed_op_ldgsts.sum",
        ["cp_async_shared", "requests"],
    ),
    (
        "cp.async shared wavefronts",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
        ["cp_async_shared", "actual"],
    ),
    (
        "cp.async shared bytes",
        "smsp__sass_data_bytes_mem_shared_op_ldgsts.sum",
        ["cp_async_shared", "bytes"],
    ),
    (
        "cp.async global sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
        ["cp_async_global", "actual"],
    ),
    (
        "ldmatrix instructions",
        "smsp__sass_inst_executed_op_ldsm.sum",
        ["matrix_load", "requests"],
    ),
    (
        "ldmatrix wavefronts",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
        ["matrix_load", "actual"],
    ),
    (
        "ldmatrix conflicts",
        "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
        ["matrix_load", "conflicts"],
    ),
    (
        "stmatrix instructions",
        "smsp__sass_inst_executed_op_stsm.sum",
        ["matrix_store", "requests"],
    ),
    (
        "stmatrix wavefronts",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
        ["matrix_store", "actual"],
    ),
    (
        "TMA load instructions",
        "smsp__inst_executed_op_tma_ld.sum",
        ["bulk_load", "requests"],
    ),
    (
        "TMA load bytes",
        "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
        ["bulk_load", "bytes"],
    ),
    (
        "TMA load sectors",
        "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
        ["bulk_load", "actual"],
    ),
    (
        "TMA store bytes",
        "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
        ["bulk_store", "bytes"],
    ),
    (
        "TMA store sectors",
        "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
        ["bulk_store", "actual"],
    ),
    (
        "wgmma instructions",
        "smsp__inst_executed_pipe_tensor_op_gmma.sum",
        ["wgmma", "requests"],
    ),
];

/// Makes the table of what `run.sh` wrote (`wavefronts.txt`) and of what the simulator counts now.
pub fn table(sh: &Shell, found: &str, about: &str) -> anyhow::Result<String> {
    let predictions = cmd!(sh, "cargo run --quiet --release --package mutants -- traffic").read()?;
    let predictions: Value = serde_json::from_str(&predictions).context("the counts are JSON")?;
    let explained = sh.read_file(root().join(EXPLAINED)).unwrap_or_default();
    let (counters, sass) = found.split_once("\n== sass\n").unwrap_or((found, ""));
    markdown(&predictions, &counters_by_launch(counters), sass, &explained, about)
}

/// The counters of each launch, in the order of the launches.
fn counters_by_launch(text: &str) -> Vec<(String, BTreeMap<String, u64>)> {
    let mut launches: BTreeMap<u64, (String, BTreeMap<String, u64>)> = BTreeMap::new();
    let mut columns: Option<Vec<String>> = None;
    for line in text.lines().filter(|line| line.starts_with('"')) {
        let cells = cells(line);
        let Some(names) = &columns else {
            columns = Some(cells);
            continue;
        };
        let cell = |name: &str| {
            let at = names.iter().position(|column| column == name)?;
            cells.get(at).map(String::as_str)
        };
        let read = || {
            let id = cell("ID")?.parse().ok()?;
            let value: f64 = cell("Metric Value")?.replace(',', "").parse().ok()?;
            Some((id, cell("Kernel Name")?, cell("Metric Name")?, value as u64))
        };
        if let Some((id, kernel, metric, value)) = read() {
            let launch = launches
                .entry(id)
                .or_insert_with(|| (kernel.to_owned(), BTreeMap::new()));
            launch.1.insert(metric.to_owned(), value);
        }
    }
    launches.into_values().collect()
}

/// The cells of a line of CSV in which every cell is quoted.
fn cells(line: &str) -> Vec<String> {
    line.trim()
        .trim_matches('"')
        .split("\",\"")
        .map(str::to_owned)
        .collect()
}

fn markdown(
    predictions: &Value,
    counted: &[(String, BTreeMap<String, u64>)],
    sass: &str,
    explained: &str,
    about: &str,
) -> anyhow::Result<String> {
    let empty = Vec::new();
    let predictions = predictions.as_array().unwrap_or(&empty);
    ensure!(
        predictions.len() == counted.len(),
        "the simulator counts {} launches, wavefronts.txt has {}",
        predictions.len(),
        counted.len()
    );
    let (mut rows, mut equal, mut compared, mut unexplained) = (String::new(), 0, 0, 0);
    for (prediction, (kernel, counters)) in predictions.iter().zip(counted) {
        let symbol = prediction["symbol"].as_str().unwrap_or_default();
        ensure!(symbol == kernel, "{symbol} was predicted where {kernel} was counted");
        for (name, counter, [kind, field]) in COMPARED {
            let traffic = &prediction[kind];
            let number = |field: &str| traffic[field].as_u64().unwrap_or(0);
            let predicted = match field {
                // A conflict is a wavefront more than the access would take without.
                "conflicts" => number("actual") - number("ideal"),
                field => number(field),
            };
            let Some(&counted) = counters.get(counter) else {
                continue;
            };
            if predicted == 0 && counted == 0 {
                continue;
            }
            compared += 1;
            let difference = counted as i64 - predicted as i64;
            equal += usize::from(difference == 0);
            let why = if difference == 0 {
                ""
            } else {
                let key = format!("{symbol} {name}: ");
                let mut reasons = explained.lines().filter_map(|line| line.strip_prefix(&key));
                let why = reasons.find(|why| holds(why, predicted, counted));
                unexplained += usize::from(why.is_none());
                why.unwrap_or("**not explained**")
            };
            writeln!(
                rows,
                "| {} | {name} | {predicted} | {counted} | {difference:+} | {why} |",
                prediction["name"].as_str().unwrap_or_default()
            )?;
        }
    }
    let mut page = format!("# Wavefronts and sectors: the simulator against the counters\n\n{about}\n\n");
    writeln!(
        page,
        "{compared} counts of {} launches, {equal} of them equal, {unexplained} of the others not explained. \
         Predicted: by the simulator from the source. Counted: by `ncu`, of the machine code. Counters that are 0 on \
         both sides are left out.\n",
        predictions.len()
    )?;
    writeln!(page, "| launch | counter | predicted | counted | difference | why |")?;
    writeln!(page, "|---|---|---:|---:|---:|---|")?;
    page += &rows;
    if !sass.trim().is_empty() {
        writeln!(
            page,
            "\n## Instructions in the machine code\n\nHow often each instruction occurs in a kernel's code (not how \
             often it is executed).\n"
        )?;
        writeln!(page, "| kernel | instruction | occurs |\n|---|---|---:|")?;
        for line in sass.lines() {
            if let [kernel, instruction, count] = line.split_whitespace().collect::<Vec<_>>()[..]
                && predictions.iter().any(|prediction| prediction["symbol"] == kernel)
            {
                writeln!(page, "| {kernel} | {instruction} | {count} |")?;
            }
        }
    }
    Ok(page)
}

/// Whether a reason that states a ratio states the right one.
fn holds(why: &str, predicted: u64, counted: u64) -> bool {
    let ratio = why.split(' ').next().unwrap_or_default().split_once('/');
    let Some((part, whole)) =
        ratio.and_then(|(part, whole)| Some((part.parse::<u64>().ok()?, whole.parse::<u64>().ok()?)))
    else {
        return true;
    };
    counted * whole == predicted * part
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = r#"==PROF== Connected to process 7
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","7","k","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum","","1,024"
"0","7","k","smsp__inst_executed_op_shared_ld.sum","inst","64"
"1","7","k","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum","","7"
"#;

    #[test]
    fn counters_are_read_by_launch() {
        let launches = counters_by_launch(CSV);
        assert_eq!(launches.len(), 2);
        assert_eq!(launches[0].0, "k");
        assert_eq!(
            launches[0].1["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"],
            1024
        );
        assert_eq!(launches[1].1.len(), 1);
    }

    #[test]
    fn a_stated_ratio_must_be_right() {
        assert!(holds("5/8 four loads are one", 1024, 640));
        assert!(!holds("5/8 four loads are one", 1024, 641));
        assert!(holds("loads and/or stores are joined", 1024, 7));
    }

    #[test]
    fn differences_are_shown_with_their_reason_or_without() {
        let traffic = |actual: u64| serde_json::json!({ "requests": 128, "actual": actual, "ideal": 7 });
        let predictions = serde_json::json!([
            { "name": "k, one", "symbol": "k", "shared_load": traffic(1024) },
            { "name": "k, two", "symbol": "k", "shared_load": traffic(9) },
        ]);
        let explained = "k shared load instructions: four loads are one of 16 bytes";
        let page = markdown(
            &predictions,
            &counters_by_launch(CSV),
            "k LDS.128 4\nelsewhere LDS 1\n",
            explained,
            "Device",
        )
        .unwrap();
        assert!(
            page.contains("| k, one | shared load wavefronts | 1024 | 1024 | +0 |  |"),
            "{page}"
        );
        assert!(
            page.contains("| 128 | 64 | -64 | four loads are one of 16 bytes |"),
            "{page}"
        );
        assert!(
            page.contains("| k, two | shared load wavefronts | 9 | 7 | -2 | **not explained** |"),
            "{page}"
        );
        assert!(
            page.contains("| k | LDS.128 | 4 |") && !page.contains("elsewhere"),
            "{page}"
        );
        assert!(markdown(&predictions, &[], "", "", "").is_err());
    }
}
