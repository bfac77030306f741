//! Faults of LLVM that the pipeline mends, each reduced to a few lines of IR: which versions have it, and that PTX from
//! here has it not. `docs/compiler-faults.md` tells what each does to a kernel.

use std::fs;
use std::ops::RangeBounds;
use std::path::Path;
use std::process::Command;

use super::{INFERENCE, compile};
use crate::toolchain::{self, Toolchain};
use crate::{CudaBuilder, NvvmArch};

const ARCH: &str = "sm_75";

/// How a fault shows in what the stock tools do.
enum Sign {
    /// PTX of which this holds.
    Ptx(fn(&str) -> bool),
    /// `llc` ends with this message.
    Abort(&'static str),
}

struct Fault {
    ir: &'static str,
    sign: Sign,
    /// What PTX without the fault holds.
    mended: &'static str,
}

/// Checks that the installed LLVM has the fault if, and only if, its version is among `versions`, and that our PTX does
/// not show it.
#[track_caller]
fn check(fault: &Fault, versions: impl RangeBounds<u32>) {
    let tools = toolchain::find(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|missing| panic!("{missing}"));
    let folder = tempfile::tempdir().unwrap();
    let stock = stock(&tools, fault.ir, folder.path());
    let shows = match (&fault.sign, &stock) {
        (Sign::Ptx(sign), Ok(ptx)) => sign(ptx),
        (Sign::Abort(message), Err(said)) => said.contains(message),
        (Sign::Ptx(_), Err(said)) => panic!("{said}"),
        (Sign::Abort(_), Ok(_)) => false,
    };
    assert_eq!(
        shows,
        versions.contains(&tools.tools_major),
        "LLVM {}: {stock:?}",
        tools.tools_major
    );

    let builder = CudaBuilder::new("").arch(NvvmArch::Compute75);
    let ptx = compile(&builder, Path::new(""), &tools, fault.ir, folder.path())
        .unwrap_or_else(|error| panic!("{error}"))
        .ptx;
    if let Sign::Ptx(sign) = fault.sign {
        assert!(!sign(&ptx), "{ptx}");
    }
    assert!(ptx.contains(fault.mended), "{ptx}");
}

/// What LLVM's own O3 and inference make of the module, after nothing but the mark of shared memory; the error is what
/// it said.
fn stock(tools: &Toolchain, ir: &str, folder: &Path) -> Result<String, String> {
    const LAYOUT: &str = "target datalayout = \
                          \"e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n";
    let shared = ir
        .replace("ptr @TILE", "ptr addrspacecast (ptr addrspace(3) @TILE to ptr)")
        .replace("@TILE = internal global", "@TILE = internal addrspace(3) global")
        .replace(", section \".shared\"", "");
    fs::write(folder.join("stock.ll"), LAYOUT.to_owned() + &shared).unwrap();
    let run = |tool: &str, arguments: &[&str]| {
        let mut command = Command::new(tools.llvm_tool(tool));
        let output = command.current_dir(folder).args(arguments).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let (cpu, passes) = (format!("-mcpu={ARCH}"), format!("-passes=default<O3>,{INFERENCE}"));
    run("opt", &[&passes, &cpu, "stock.ll", "-o", "stock.bc"])?;
    run(
        "llc",
        &["-O3", &cpu, "-mattr=+ptx78", "--nvptx-short-ptr", "stock.bc", "-o", "-"],
    )
}

#[test]
fn strength_reduction_joins_different_bases() {
    let fault = Fault {
        ir: include_str!("faults/slsr.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("+16];")),
        mended: "+24];",
    };
    check(&fault, 22..23);
}

#[test]
fn strength_reduction_of_loops_loses_a_borrow() {
    let fault = Fault {
        ir: include_str!("faults/loop_length.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("cvt.u64.u32")),
        mended: "setp.",
    };
    check(&fault, 22..);
}

#[test]
fn null_is_taken_for_an_address_of_shared_memory() {
    let fault = Fault {
        ir: include_str!("faults/null_reference.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("cvta.to.shared")),
        mended: "cvta.shared",
    };
    check(&fault, 22..);
}

#[test]
fn read_modify_write_loses_its_ordering() {
    let fault = Fault {
        ir: include_str!("faults/read_modify_write.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("atom.global.add.u32")),
        mended: "atom.acq_rel.sys.global.add.u32",
    };
    check(&fault, 22..23);
}

#[test]
fn remainder_of_floats_is_inexact() {
    let fault = Fault {
        ir: include_str!("faults/remainder.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("div.rn.f32")),
        mended: "copysign.f32",
    };
    check(&fault, 22..);
}

#[test]
fn compiler_fence_aborts() {
    let fault = Fault {
        ir: include_str!("faults/thread_fence.ll"),
        sign: Sign::Abort("Unsupported scope \"Thread\""),
        mended: "st.volatile.global.b32",
    };
    check(&fault, 22..23);
}

#[test]
fn cast_to_128_bits_aborts() {
    let fault = Fault {
        ir: include_str!("faults/wide_cast.ll"),
        sign: Sign::Abort("unsupported library call operation"),
        mended: "cvt.rni.u64.f32",
    };
    check(&fault, 22..23);
}

#[test]
fn compare_exchange_in_local_memory_is_no_instruction() {
    let fault = Fault {
        ir: include_str!("faults/local_exchange.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains(".local.cas.")),
        mended: "selp.b32",
    };
    check(&fault, 22..);
}

#[test]
fn copy_of_a_constant_is_read_at_the_address_of_the_constant() {
    let fault = Fault {
        ir: include_str!("faults/copied_constant.ll"),
        sign: Sign::Ptx(|ptx| ptx.contains("ld.local") && !ptx.contains("st.local")),
        mended: "st.local",
    };
    check(&fault, 22..);
}

#[test]
fn high_half_of_a_wide_shift_by_nothing_is_taken_for_the_low_half() {
    let fault = Fault {
        ir: include_str!("faults/wide_shift.ll"),
        // One of two values, the other being 6.
        sign: Sign::Ptx(|ptx| ptx.contains(", 6, %p")),
        mended: "shr.u64",
    };
    check(&fault, 22..);
}

#[test]
fn table_of_narrow_pointers_is_written_over_itself() {
    let fault = Fault {
        ir: include_str!("faults/narrow_table.ll"),
        sign: Sign::Ptx(|ptx| {
            ptx.contains(".u64 switch_$_table_$_pick[4]") || ptx.contains(".u8 switch_$_table_$_pick[16]")
        }),
        mended: ", TABLE;",
    };
    check(&fault, 22..);
}

#[test]
fn choice_between_a_static_and_shared_memory_loses_an_operand() {
    let fault = Fault {
        ir: include_str!("faults/chosen_base.ll"),
        sign: Sign::Abort("Operand is null"),
        mended: "selp.b64",
    };
    check(&fault, 22..23);
}
