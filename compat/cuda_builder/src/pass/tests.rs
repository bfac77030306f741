//! The pass over small modules; the names are those of `docs/device-abi.md`.

use super::*;

const OPTIONS: Options = Options {
    cpu: String::new(),
    llvm: 22,
    flush_denormals: false,
    inlining: Inlining::Asked,
};

/// A module whose globals are `globals` and whose one kernel holds `body`.
fn module(globals: &str, body: &str) -> String {
    format!(
        "{globals}\n\ndefine ptx_kernel void @k(ptr %0) unnamed_addr #0 {{\n{body}\n  ret void\n}}\n\n\
         attributes #0 = {{ nounwind \"target-cpu\"=\"sm_30\" }}\n"
    )
}

fn lower(ir: &str) -> Lowered {
    run(ir, &OPTIONS).unwrap()
}

#[track_caller]
fn assert_line(ir: &str, line: &str) {
    assert!(ir.lines().any(|found| found == line), "no line `{line}` in\n{ir}");
}

#[test]
fn shared_static_moves_and_its_uses_are_cast() {
    let ir = module(
        "@X = internal global [8 x i8] undef, section \".shared\", align 4\n\
         @X2 = internal global i32 1, align 4\n\
         @\"X y\" = internal global i32 0, section \".shared\", align 4\n\
         @text = private constant [2 x i8] c\"@X\", align 1\n\
         @table = private constant [2 x ptr] [ptr @X2, ptr @text]",
        "  %1 = load i32, ptr @X, align 4, !noundef !2 ; @X\n\
         \x20 store i32 %1, ptr getelementptr inbounds (i8, ptr @X, i64 4), align 4\n\
         \x20 store i32 %1, ptr @X2, align 4\n\
         \x20 store i32 0, ptr @\"X y\", align 4",
    );
    let lowered = lower(&ir);
    for line in [
        "@X = internal addrspace(3) global [8 x i8] undef, align 4",
        "@X2 = internal global i32 1, align 4",
        "@\"X y\" = internal addrspace(3) global i32 undef, align 4",
        "@text = private constant [2 x i8] c\"@X\", align 1",
        "@table = private constant [2 x ptr] [ptr @X2, ptr @text]",
        "  %1 = load i32, ptr addrspacecast (ptr addrspace(3) @X to ptr), align 4, !noundef !2 ; @X",
        "  store i32 %1, ptr getelementptr inbounds (i8, ptr addrspacecast (ptr addrspace(3) @X to ptr), i64 4), \
         align 4",
        "  store i32 %1, ptr @X2, align 4",
        "  store i32 0, ptr addrspacecast (ptr addrspace(3) @\"X y\" to ptr), align 4",
    ] {
        assert_line(&lowered.ir, line);
    }
    assert_eq!(lowered.roots, ["k"]);
}

#[test]
fn shared_static_without_mut_is_no_constant() {
    let ir = module("@X = internal constant i32 undef, section \".shared\", align 4", "");
    assert_line(&lower(&ir).ir, "@X = internal addrspace(3) global i32 undef, align 4");
}

#[test]
fn constant_static_keeps_its_value() {
    let ir = module(
        "@C = internal constant [2 x i8] c\"\\01\\02\", section \".constant\", align 2\n\
         @P = internal constant ptr @C, align 8",
        "  %1 = load i8, ptr @C, align 2",
    );
    let lowered = lower(&ir);
    assert_line(
        &lowered.ir,
        "@C = internal addrspace(4) constant [2 x i8] c\"\\01\\02\", align 2",
    );
    assert_line(
        &lowered.ir,
        "@P = internal constant ptr addrspacecast (ptr addrspace(4) @C to ptr), align 8",
    );
    assert_line(
        &lowered.ir,
        "  %1 = load i8, ptr addrspacecast (ptr addrspace(4) @C to ptr), align 2",
    );
}

#[test]
fn dynamic_shared_memory_is_known_by_its_name() {
    let ir = module(
        "@cuda_std_dynamic_smem = external global [0 x i8], align 1",
        "  %1 = load i8, ptr @cuda_std_dynamic_smem, align 1",
    );
    let lowered = lower(&ir);
    assert_line(
        &lowered.ir,
        "@cuda_std_dynamic_smem = external addrspace(3) global [0 x i8], align 128",
    );
    assert_line(
        &lowered.ir,
        "  %1 = load i8, ptr addrspacecast (ptr addrspace(3) @cuda_std_dynamic_smem to ptr), align 1",
    );
    // Without the declaration, the name means nothing.
    assert!(!lower(&module("", "")).ir.contains("addrspace(3)"));
}

#[test]
fn conversions_of_addresses_get_a_body() {
    let call = "  %1 = call noundef ptr @cuda_std_to_shared(ptr noundef %0) #7";
    let declarations = "declare noundef ptr @cuda_std_to_shared(ptr noundef) unnamed_addr #3\ndeclare ptr @other(ptr)";
    let lowered = lower(&module(declarations, call));
    assert_line(
        &lowered.ir,
        "define internal ptr @cuda_std_to_shared(ptr %0) alwaysinline nounwind willreturn memory(none) {",
    );
    assert_line(&lowered.ir, "  %2 = addrspacecast ptr %0 to ptr addrspace(3)");
    assert_line(&lowered.ir, call);
    assert_line(&lowered.ir, "declare ptr @other(ptr) convergent");
    assert!(!lowered.ir.contains("declare noundef ptr @cuda_std_to_shared"));
}

#[test]
fn roots_are_kernels_marked_functions_and_exported_statics() {
    let ir = module(
        "@__cuda_std_visible_helper = constant [6 x i8] c\"helper\", section \".nvptx.visible\", align 1\n\
         @llvm.used = appending global [1 x ptr] [ptr @__cuda_std_visible_helper], section \"llvm.metadata\"\n\
         @llvm.compiler.used = appending global [1 x ptr] [ptr @HOST], section \"llvm.metadata\"\n\
         @HOST = global i32 7, align 4\n\
         @HIDDEN = hidden global i32 7, align 4\n\
         @_RNvCs1_4core5TABLE = constant i32 7, align 4\n\
         @OTHER = external global i32, align 4",
        "",
    );
    let lowered = lower(&ir);
    assert_eq!(lowered.roots, ["HOST", "helper", "k"]);
    assert!(!lowered.ir.contains("llvm.used") && !lowered.ir.contains("llvm.compiler.used"));
    assert!(!lowered.ir.contains("__cuda_std_visible"));
}

#[test]
fn pointers_into_small_memories_are_short() {
    let layout = |text: &str| {
        let ir = format!("target datalayout = \"{text}\"\n{}", module("", ""));
        lower(&ir).ir.lines().next().unwrap().to_owned()
    };
    let short = "target datalayout = \"e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-i64:64\"";
    assert_eq!(layout("e-p6:32:32-i64:64"), short);
    assert_eq!(layout("e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-i64:64"), short);
}

/// A marker of 64 threads, 2 blocks and the pragma for the kernel `name`.
fn marker(name: &str) -> String {
    let zeros = "\\00\\00\\00\\00";
    let words = format!(
        "\\01\\00\\00\\00@\\00\\00\\00{zeros}{zeros}\\02\\00\\00\\00{zeros}{zeros}{zeros}{zeros}\\01\\00\\00\\00"
    );
    format!(
        "@__cuda_std_kernel_{name} = constant <{{ [40 x i8] }}> <{{ [40 x i8] c\"{words}\" }}>, \
         section \".nvptx.kernel\", align 4"
    )
}

#[test]
fn options_of_a_kernel_become_attributes_of_it_alone() {
    let globals = format!(
        "{}\n@llvm.used = appending global [1 x ptr] [ptr @__cuda_std_kernel_k], section \"llvm.metadata\"\n\
         define ptx_kernel void @other() #0 {{\n  ret void\n}}",
        marker("k")
    );
    let lowered = lower(&module(&globals, ""));
    assert_eq!(lowered.roots, ["k", "other"], "a marker is no root");
    assert!(!lowered.ir.contains("__cuda_std_kernel") && !lowered.ir.contains("llvm.used"));
    assert_line(&lowered.ir, "define ptx_kernel void @k(ptr %0) unnamed_addr #2 {");
    let attributes =
        "attributes #2 = { nounwind convergent \"target-cpu\"=\"\" \"nvvm.maxntid\"=\"64\" \"nvvm.minctasm\"=\"2\" }";
    assert_line(&lowered.ir, attributes);
    assert_eq!(lowered.ir.matches("nvvm.").count(), 2);
    assert_eq!(lowered.attributes.keys().collect::<Vec<_>>(), ["k"]);
    assert!(lowered.attributes["k"].smem_spilling);
}

#[test]
fn markers_that_mean_nothing_are_refused() {
    let refused = |marker: &str| run(&module(marker, ""), &OPTIONS).unwrap_err();
    assert_eq!(refused(&marker("absent")), PassError::KernelMarker("absent".to_owned()));
    let later = marker("k").replacen("\\01", "\\02", 1);
    assert_eq!(
        refused(&later),
        PassError::KernelMarker("__cuda_std_kernel_k".to_owned())
    );
}

#[test]
fn module_without_roots_is_refused() {
    let ir = "define void @f() {\n  ret void\n}\n";
    assert_eq!(run(ir, &OPTIONS).unwrap_err(), PassError::NoRoots);
}

#[test]
fn shared_static_with_a_value_is_refused_by_name() {
    let ir = module(
        "@A = internal global i32 7, section \".shared\", align 4\n\
         @B = internal global i32 0, section \".shared\", align 4\n\
         @C = internal global [2 x i8] c\"\\00\\07\", section \".shared\", align 4",
        "",
    );
    let names = ["A", "C"].map(str::to_owned).to_vec();
    assert_eq!(run(&ir, &OPTIONS).unwrap_err(), PassError::SharedInitializers(names));
}

#[test]
fn what_may_hold_a_barrier_is_convergent() {
    let ir = "declare void @foreign(ptr) unnamed_addr #1\n\
              declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1\n\
              define internal void @f() {\n\
              \x20 call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"(), !srcloc !3\n\
              \x20 call void %0(i32 1)\n\
              \x20 ret void\n\
              }\n\
              define ptx_kernel void @k() #0 {\n\
              \x20 call void @f() #1\n\
              \x20 ret void\n\
              }\n\
              attributes #0 = { nounwind \"target-cpu\"=\"sm_30\" }\n\
              attributes #1 = { nounwind }\n";
    let options = Options {
        cpu: "sm_90a".to_owned(),
        ..OPTIONS
    };
    let lowered = run(ir, &options).unwrap().ir;
    for line in [
        "declare void @foreign(ptr) unnamed_addr convergent #1",
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1",
        "define internal void @f() #2 {",
        "  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() convergent, !srcloc !3",
        "  call void %0(i32 1) convergent",
        "  call void @f() #1",
        "define ptx_kernel void @k() #3 {",
        "attributes #1 = { nounwind }",
        "attributes #2 = { convergent \"target-cpu\"=\"sm_90a\" }",
        "attributes #3 = { nounwind convergent \"target-cpu\"=\"sm_90a\" }",
    ] {
        assert_line(&lowered, line);
    }
}

#[test]
fn options_reach_definitions() {
    let ir = "define internal void @hinted() #0 {\n  ret void\n}\n\
              define internal void @never() #1 {\n  ret void\n}\n\
              define ptx_kernel void @k() #0 {\n  ret void\n}\n\
              attributes #0 = { inlinehint }\n\
              attributes #1 = { noinline }\n";
    let attributes = |inlining| {
        let options = Options {
            flush_denormals: true,
            inlining,
            ..OPTIONS
        };
        let lowered = run(ir, &options).unwrap().ir;
        let of = |name: &str| {
            let head = lowered
                .lines()
                .find_map(|line| Head::parse(line).filter(|head| head.name == name));
            let group = format!("attributes #{} ", head.unwrap().group.unwrap().0);
            lowered
                .lines()
                .find(|line| line.starts_with(&group))
                .unwrap()
                .to_owned()
        };
        [of("hinted"), of("never"), of("k")]
    };
    let inlined = |inlining| attributes(inlining).map(|group| group.contains("alwaysinline"));
    assert_eq!(inlined(Inlining::Asked), [false, false, false]);
    assert_eq!(inlined(Inlining::Hinted), [true, false, false]);
    assert_eq!(inlined(Inlining::Everything), [true, true, false]);
    assert!(attributes(Inlining::Asked)[1].contains("noinline"));
    assert!(!attributes(Inlining::Everything)[1].contains("noinline"));
    for group in attributes(Inlining::Asked) {
        assert!(
            group.contains("\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\""),
            "{group}"
        );
    }
}
