//! A user's own `ptxas`, where one is named: what it says becomes an error of the build.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Diagnosis;
use crate::arch::NvvmArch;
use crate::error::CudaBuilderError;
use crate::ptx::items;

/// Names a `ptxas` that each build ends with.
pub(crate) const PTXAS_VARIABLE: &str = "CUDA_BUILDER_PTXAS";

/// Assembles the PTX, if the environment names a `ptxas`.
pub(crate) fn assemble(ptx: &str, arch: NvvmArch, scratch: &Path) -> Result<(), CudaBuilderError> {
    let Some(ptxas) = env::var_os(PTXAS_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(());
    };
    let path = scratch.join("checked.ptx");
    fs::write(&path, ptx).map_err(CudaBuilderError::io(&path))?;
    let output = Command::new(&ptxas)
        .arg(format!("-arch={}", arch.sm_name()))
        .arg(&path)
        .arg("-o")
        .arg(scratch.join("checked.cubin"))
        .output()
        .map_err(CudaBuilderError::io(&ptxas))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Err(translate(ptx, &said).into())
}

/// The diagnosis of what `ptxas` says about a module.
fn translate(ptx: &str, said: &str) -> Diagnosis {
    let fatal = |line: &&str| line.contains("error ") || line.contains("fatal ");
    let first = said
        .lines()
        .find(fatal)
        .unwrap_or_else(|| said.lines().next().unwrap_or_default());
    let message = first.split_once(" : ").map_or(first, |(_, message)| message).trim();
    let number = first
        .split_once(", line ")
        .and_then(|(_, rest)| rest.split(';').next()?.trim().parse::<usize>().ok());
    let line = number.and_then(|number| ptx.lines().nth(number.checked_sub(1)?));
    let item = line.and_then(|line| {
        let at = line.as_ptr().addr();
        items(ptx).into_iter().find_map(|item| {
            let start = item.text.as_ptr().addr();
            (start..start + item.text.len()).contains(&at).then_some(item.name)
        })
    });
    let mut reason = format!("ptxas refuses the PTX: {message}");
    if let Some(line) = line.map(str::trim).filter(|line| !line.is_empty()) {
        reason.push_str(&format!(", at `{line}`"));
    }
    Diagnosis::new(
        item,
        reason,
        format!(
            "correct the inline assembly where the line comes from any; else this is a fault of the compiler. Without \
             {PTXAS_VARIABLE} the driver says the same when it loads the module"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_gets_its_function_and_line() {
        let ptx = ".version 7.8\n.visible .entry k(\n)\n{\n\tmov.u32 %r1, %rd1;\n\tret;\n}\n";
        let said = "ptxas x.ptx, line 5; error   : Arguments mismatch for instruction 'mov'\n\
                    ptxas fatal   : Ptx assembly aborted due to errors\n";
        let diagnosis = translate(ptx, said);
        assert_eq!(
            diagnosis.reason,
            "ptxas refuses the PTX: Arguments mismatch for instruction 'mov', at `mov.u32 %r1, %rd1;`"
        );
        assert_eq!(diagnosis.items[0].path, "k");
        let fatal = translate(ptx, "ptxas fatal   : Unresolved extern function 'f'\n");
        assert_eq!(fatal.reason, "ptxas refuses the PTX: Unresolved extern function 'f'");
    }
}
