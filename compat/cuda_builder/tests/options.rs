//! Each option of [`CudaBuilder`] does what it says.

mod common;

use common::{body, builder, instructions, ptx_of};
use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch};

fn kernels() -> CudaBuilder {
    builder("kernels").arch(NvvmArch::Compute80)
}

fn arithmetic(builder: CudaBuilder) -> Vec<String> {
    let ptx = ptx_of(builder);
    let found = instructions(body(&ptx, "arithmetic"), &["fma", "mul", "add.", "div", "sqrt"]);
    let operation = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    found
        .into_iter()
        .map(operation)
        .filter(|name| name.ends_with("f32"))
        .collect()
}

#[test]
fn arithmetic_is_exact_unless_told_otherwise() {
    assert_eq!(arithmetic(kernels()), ["fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"]);
}

#[test]
fn ftz_flushes() {
    assert_eq!(
        arithmetic(kernels().ftz(true)),
        ["fma.rn.ftz.f32", "div.rn.ftz.f32", "sqrt.rn.ftz.f32"]
    );
}

#[test]
fn fast_sqrt_is_approximate() {
    assert_eq!(
        arithmetic(kernels().fast_sqrt(true)),
        ["fma.rn.f32", "div.rn.f32", "sqrt.approx.f32"]
    );
}

#[test]
fn fast_div_is_approximate() {
    assert_eq!(
        arithmetic(kernels().fast_div(true)),
        ["fma.rn.f32", "div.approx.f32", "sqrt.rn.f32"]
    );
}

#[test]
fn without_contraction_ptxas_may_not_contract_either() {
    // A rounding mode on both operations keeps ptxas from fusing them.
    let expected = ["mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"];
    assert_eq!(arithmetic(kernels().fma_contraction(false)), expected);
}

#[test]
fn optix_inlines_everything_and_sets_its_cfg() {
    let plain = ptx_of(kernels());
    assert!(body(&plain, "calls").contains("call"), "{plain}");
    let optix = ptx_of(kernels().optix(true));
    let calls = body(&optix, "calls");
    assert!(!calls.contains("call.uni"), "{calls}");
    // The fixture stores one value more under `cfg(optix)`.
    assert_eq!(instructions(calls, &["st.global"]).len(), 2, "{calls}");
    assert_eq!(instructions(body(&plain, "calls"), &["st.global"]).len(), 1);
}

#[test]
fn line_tables_do_not_change_the_code() {
    let plain = ptx_of(kernels());
    let lines = ptx_of(kernels().debug(DebugInfo::LineTables));
    assert!(lines.contains("\t.loc\t") && lines.contains("src/lib.rs\""), "{lines}");
    assert!(!plain.contains("\t.loc\t"));
    assert!(
        lines.contains("\n.target sm_80\n"),
        "`debug` in the target makes ptxas stop optimising\n{lines}"
    );
    // Mangled names hold a hash of the settings.
    let code = |ptx: &str| -> Vec<String> {
        let is_code = |line: &&str| line.ends_with(';') && !line.starts_with(['.', '/', '$']);
        let lines = ptx
            .lines()
            .map(|line| line.split("//").next().unwrap().trim())
            .filter(is_code);
        lines.filter(|line| !line.contains("_RNv")).map(str::to_owned).collect()
    };
    assert_eq!(code(&lines), code(&plain));
}

#[test]
fn dev_profile_checks_and_tells_lines() {
    let ptx = ptx_of(kernels().release(false));
    assert!(ptx.contains("\t.loc\t"), "{ptx}");
    assert!(body(&ptx, "static_shared").contains("ld.shared."), "{ptx}");
    let quiet = ptx_of(kernels().release(false).generate_line_info(false));
    assert!(!quiet.contains("\t.loc\t"), "{quiet}");
}

#[test]
fn without_optimisation_shared_memory_is_still_shared() {
    let ptx = ptx_of(kernels().nvvm_opts(false));
    let body = body(&ptx, "static_shared");
    assert_eq!(instructions(body, &["st.shared."]).len(), 2, "{body}");
    // The loop over 16 elements is still a loop.
    assert_eq!(instructions(body, &["ld.shared."]).len(), 2, "{body}");
}

#[test]
fn intermediate_forms_lie_beside_the_ptx() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.ptx");
    assert_eq!(kernels().copy_to(&path).emit_llvm_ir(true).build().unwrap(), path);
    let ir = std::fs::read_to_string(folder.path().join("kernels.ll")).unwrap();
    assert!(ir.contains("define ptx_kernel void @static_shared("), "{ir}");
    kernels().copy_to(&path).emit_llvm_bitcode(true).build().unwrap();
    assert!(
        std::fs::read(folder.path().join("kernels.bc"))
            .unwrap()
            .starts_with(b"BC")
    );
}

#[test]
fn ptx_version_can_be_raised_but_not_below_the_architecture() {
    let ptx = ptx_of(kernels().ptx_version(8, 7));
    assert!(ptx.contains("\n.version 8.7\n"), "{ptx}");
    let error = kernels()
        .arch(NvvmArch::Compute90a)
        .ptx_version(7, 8)
        .build()
        .unwrap_err()
        .to_string();
    assert!(error.contains("8.0"), "{error}");
}

#[test]
fn default_place_differs_by_options() {
    let [plain, ftz] = [kernels(), kernels().ftz(true)].map(|builder| builder.build().unwrap());
    assert!(
        plain.ends_with("release/sm_80/fixture_kernels.ptx"),
        "{}",
        plain.display()
    );
    assert!(
        ftz.ends_with("release/sm_80-ftz/fixture_kernels.ptx"),
        "{}",
        ftz.display()
    );
}
