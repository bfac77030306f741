//! The rules over PTX as LLVM writes it, and where the pragma goes.

use super::*;

/// Two kernels, of which `k` holds `body` and may use what the module declares.
fn module(body: &str) -> String {
    format!(
        "\
.version 8.7
.target sm_120
.address_size 64

.extern .shared .align 128 .b8 cuda_std_dynamic_smem[];
.shared .align 4 .b8 TILE[1000];
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{{
	st.shared.b32 	[cuda_std_dynamic_smem], 0;
	ret;
}}
.func endless()
{{
	call.uni endless, ();
	ret;
}}
	// .globl	other
.visible .entry other()
{{
	st.shared.b32 	[cuda_std_dynamic_smem], 0;
	call.uni endless, ();
	ret;
}}
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0
)
.maxntid 256
{{
	.reg .b32 	%r<3>;

{body}
	ret;
}}
"
    )
}

fn asked(max_threads: &[u32], assume_max_threads: bool) -> Attributes {
    let attributes = KernelAttributes {
        max_threads: max_threads.to_vec(),
        smem_spilling: true,
        assume_max_threads,
        ..KernelAttributes::default()
    };
    [("k".to_owned(), attributes)].into()
}

fn written(body: &str) -> Result<String, CudaBuilderError> {
    write_pragmas(module(body), NvvmArch::Compute120, &asked(&[256], false))
}

#[track_caller]
fn rule_of(result: Result<impl std::fmt::Debug, CudaBuilderError>) -> SpillingRule {
    match result {
        Err(CudaBuilderError::SpillingRefused { kernel, rule }) => {
            assert_eq!(kernel, "k");
            rule
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_pragma_is_the_first_statement_of_its_kernel_and_nothing_else_changes() {
    let body = "\tst.shared.b32 \t[TILE], 0;";
    let ptx = written(body).unwrap();
    assert_eq!(ptx.replacen(PRAGMA, "", 1), module(body));
    assert!(
        ptx.contains(".maxntid 256\n{\n\t.pragma \"enable_smem_spilling\";\n\t.reg .b32 \t%r<3>;"),
        "{ptx}"
    );
    let untouched = write_pragmas(module(body), NvvmArch::Compute120, &Attributes::new()).unwrap();
    assert_eq!(untouched, module(body));
}

#[test]
fn several_kernels_have_one_each() {
    let module = module("").replace(
        "\tst.shared.b32 \t[cuda_std_dynamic_smem], 0;\n\tcall.uni endless, ();\n",
        "",
    );
    let mut attributes = asked(&[64], false);
    attributes.insert("other".to_owned(), attributes["k"].clone());
    let ptx = write_pragmas(module, NvvmArch::Compute120, &attributes).unwrap();
    assert_eq!(ptx.matches(PRAGMA).count(), 2);
    assert!(ptx.contains("entry other()\n{\n\t.pragma"), "{ptx}");
}

#[test]
fn dynamic_shared_memory_is_found_in_the_kernel_and_behind_a_call() {
    assert_eq!(
        rule_of(written("\tld.shared.b32 \t%r1, [cuda_std_dynamic_smem+4];")),
        SpillingRule::DynamicShared
    );
    assert_eq!(
        rule_of(written("\tcall.uni (retval0), helper, (param0);")),
        SpillingRule::DynamicShared
    );
    assert!(
        written("\t// as in cuda_std_dynamic_smem").is_ok(),
        "a comment is no use"
    );
}

#[test]
fn setmaxnreg_is_found_in_inline_assembly() {
    let body = "\t// begin inline asm\n\t{ nop; setmaxnreg.dec.sync.aligned.u32 40; }\n\t// end inline asm";
    assert_eq!(rule_of(written(body)), SpillingRule::Setmaxnreg);
}

#[test]
fn calls_are_named_and_recursion_is_told_apart() {
    let calls = |body: &str| match rule_of(written(body)) {
        SpillingRule::Calls { functions, recursive } => (functions.join(" "), recursive),
        other => panic!("{other:?}"),
    };
    assert_eq!(calls("\tcall.uni endless, ();"), ("endless".to_owned(), true));
    assert_eq!(
        calls("\t.loc\t1 2 3\n$L__BB0_1:\n\t@%p1 call \n\tvprintf, \n\t(\n\tparam0\n\t);"),
        ("vprintf".to_owned(), false)
    );
    assert_eq!(
        calls(
            "\t{ // callseq 0, 0\n\tcall (retval0), %rd1, (param0), prototype_0;\n\t} // callseq 0\n\
             \tcall.uni trap_handler;"
        ),
        ("%rd1 trap_handler".to_owned(), false)
    );
}

#[test]
fn full_debug_information_is_a_debug_build() {
    let ptx = module("").replace(".target sm_120\n", ".target sm_120, debug\n");
    let result = write_pragmas(ptx, NvvmArch::Compute120, &asked(&[256], false));
    assert_eq!(rule_of(result), SpillingRule::DebugBuild);
}

#[test]
fn without_a_number_of_threads_the_message_says_what_is_taken() {
    let of = |arch, assume| write_pragmas(module("\tst.shared.b32 \t[TILE], 0;"), arch, &asked(&[], assume));
    let rule = rule_of(of(NvvmArch::Compute120, false));
    assert_eq!(rule, SpillingRule::NoMaxThreads { bytes: Some(14_336) });
    let message = of(NvvmArch::Compute120, false).unwrap_err().to_string();
    assert!(
        message.contains("`k`") && message.contains("14336 bytes") && message.contains("assume_max_threads"),
        "{message}"
    );
    // With 1000 bytes of its own, a kernel for 7.5 has room for 15 slots of 1024 bytes, not 16.
    assert_eq!(
        rule_of(of(NvvmArch::Compute75, false)),
        SpillingRule::NoMaxThreads { bytes: Some(15_360) }
    );
    // With 64 registers `ptxas` takes the block for 1024 threads.
    let mut capped = asked(&[], false);
    capped.get_mut("k").expect("asked").max_registers = Some(64);
    let result = write_pragmas(module("\tst.shared.b32 \t[TILE], 0;"), NvvmArch::Compute120, &capped);
    assert_eq!(rule_of(result), SpillingRule::NoMaxThreads { bytes: Some(45_056) });
    // An architecture without a row.
    assert_eq!(
        rule_of(of(NvvmArch::Compute88, false)),
        SpillingRule::NoMaxThreads { bytes: None }
    );
    assert!(of(NvvmArch::Compute120, true).is_ok());
}

#[test]
fn the_ptx_version_rises_for_the_pragma_alone() {
    let builder = |arch| CudaBuilder::new("x").arch(arch);
    let spills = asked(&[256], false);
    let none = Attributes::new();
    for (arch, spilling, expected) in [
        (NvvmArch::Compute75, &none, (7, 8)),
        (NvvmArch::Compute75, &spills, (8, 7)),
        (NvvmArch::Compute90a, &none, (8, 0)),
        (NvvmArch::Compute90a, &spills, (8, 7)),
        (NvvmArch::Compute103, &spills, (8, 8)),
        (NvvmArch::Compute110, &spills, (9, 0)),
    ] {
        assert_eq!(ptx_version(&builder(arch), spilling).unwrap(), expected, "{arch}");
    }
    let chosen = builder(NvvmArch::Compute80).ptx_version(9, 0);
    assert_eq!(ptx_version(&chosen, &spills).unwrap(), (9, 0));
    assert_eq!(ptx_version(&chosen, &none).unwrap(), (9, 0));
}

#[test]
fn what_the_builder_was_told_can_exclude_the_pragma() {
    let spills = asked(&[256], false);
    let builder = || CudaBuilder::new("x").arch(NvvmArch::Compute80);
    for (builder, rule, says) in [
        (
            builder().arch(NvvmArch::Compute70),
            SpillingRule::Architecture("sm_70".into()),
            "sm_75 or higher",
        ),
        (
            builder().ptx_version(8, 0),
            SpillingRule::PtxVersion((8, 0)),
            "asks for 8.0",
        ),
        (builder().release(false), SpillingRule::DebugBuild, "device-debug"),
    ] {
        assert_eq!(rule_of(ptx_version(&builder, &spills)), rule);
        let message = ptx_version(&builder, &spills).unwrap_err().to_string();
        assert!(message.contains(says) && message.contains("PTX ISA 12.3"), "{message}");
        assert!(ptx_version(&builder, &Attributes::new()).is_ok());
    }
}

#[test]
fn clusters_need_hopper() {
    let clustered = KernelAttributes {
        cluster: vec![2],
        ..KernelAttributes::default()
    };
    let attributes: Attributes = [("k".to_owned(), clustered)].into();
    let of = |arch| ptx_version(&CudaBuilder::new("x").arch(arch), &attributes);
    assert_eq!(of(NvvmArch::Compute90).unwrap(), (8, 0));
    let message = of(NvvmArch::Compute89).unwrap_err().to_string();
    assert!(
        message.contains("`k`") && message.contains("sm_89 has no clusters"),
        "{message}"
    );
}
