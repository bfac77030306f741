//! Hopper's primitives on the way to a GPU: kernels of `tests/hopper_kernels` as PTX, and what `ptxas` makes of them.
//! What they compute, `hopper.rs` has in the simulator.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{CudaBuilder, NvvmArch};

/// The PTX and where it lies, built once for all tests of a run.
fn ptx() -> &'static (PathBuf, String) {
    static PTX: std::sync::OnceLock<(PathBuf, String)> = std::sync::OnceLock::new();
    PTX.get_or_init(|| {
        let crate_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hopper_kernels");
        // The folder that the build scripts of the workspace use too, so that the standard library is compiled once.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        let path = CudaBuilder::new(crate_path)
            .arch(NvvmArch::Compute90a)
            // For tensormap.replace and its fences.
            .ptx_version(8, 3)
            .build_args(&["--target-dir", &target.to_string_lossy()])
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).expect("was written");
        (path, text)
    })
}

/// `$PTXAS`, or the one that `cargo xtask setup` fetches.
fn ptxas() -> PathBuf {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/cuda-tools/bin/ptxas");
    std::env::var_os("PTXAS").map_or(fetched, PathBuf::from)
}

/// The text of one kernel.
fn kernel(name: &str) -> &'static str {
    let start = ptx()
        .1
        .find(&format!(".entry {name}("))
        .unwrap_or_else(|| panic!("no kernel {name}"));
    ptx().1[start..].split("\n}").next().expect("a kernel has a body")
}

#[test]
fn every_instruction_is_there() {
    let copy = [
        "prefetch.tensormap [",
        "mbarrier.init.shared::cta.b64 [",
        "fence.mbarrier_init.release.cluster;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",
        "mbarrier.try_wait.parity.shared::cta.b64",
        "fence.proxy.async.shared::cta;",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.wait_group.read 0;",
        "cp.async.bulk.wait_group 0;",
        "mbarrier.inval.shared::cta.b64 [",
    ];
    for instruction in copy {
        assert!(kernel("copy").contains(instruction), "{instruction}");
    }
    let replaced = [
        "tensormap.replace.tile.global_address.global.b1024.b64 [",
        "fence.proxy.tensormap::generic.release.gpu;",
        "fence.proxy.tensormap::generic.acquire.gpu [",
    ];
    for instruction in replaced {
        assert!(kernel("copy_replaced").contains(instruction), "{instruction}");
    }
    let plane = [
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [",
    ];
    for instruction in plane {
        assert!(kernel("copy_plane").contains(instruction), "{instruction}");
    }
    let multicast = format!("{}.multicast::cluster", plane[0]);
    assert!(kernel("broadcast_plane").contains(&multicast));
    let broadcast = [
        ".reqnctapercluster 2",
        "%cluster_ctarank;",
        "%cluster_nctarank;",
        "barrier.cluster.arrive.release;",
        "barrier.cluster.wait.acquire;",
        "mapa.shared::cluster.u32 ",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
        "mbarrier::complete_tx::bytes.multicast::cluster",
    ];
    for instruction in broadcast {
        assert!(kernel("broadcast").contains(instruction), "{instruction}");
    }
    for (name, n, types, transpose) in [
        ("product_64_k", 64, "f16.f16", 0),
        ("product_64_n", 64, "bf16.bf16", 1),
        ("product_128_k", 128, "bf16.bf16", 0),
        ("product_128_n", 128, "f16.f16", 1),
        ("product_256_k", 256, "bf16.bf16", 0),
        ("product_256_n", 256, "bf16.bf16", 1),
    ] {
        let text = kernel(name);
        let instruction = format!("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{types} {{");
        let products: Vec<_> = text.lines().filter(|line| line.contains(&instruction)).collect();
        assert_eq!(products.len(), 4, "{name}");
        let end = format!(", accumulate, 1, 1, 0, {transpose}; }}");
        assert!(
            products.iter().all(|product| product.ends_with(&end)),
            "{name}: {products:?}"
        );
        for instruction in [
            "wgmma.fence.sync.aligned;",
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 1;",
            "wgmma.wait_group.sync.aligned 0;",
            "setmaxnreg.dec.sync.aligned.u32 24;",
            "setmaxnreg.inc.sync.aligned.u32 240;",
            "mbarrier.arrive.shared::cta.b64 _, [",
        ] {
            assert!(text.contains(instruction), "{name}: {instruction}");
        }
        assert!(!text.contains(".local"), "{name} has local memory");
    }
}

#[test]
fn tf32_takes_a_from_shared_memory_or_registers() {
    for (name, a) in [("product_tf32", "%rd"), ("product_tf32_fragment", "{%r")] {
        let products: Vec<_> = kernel(name)
            .lines()
            .filter(|line| line.contains("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"))
            .collect();
        assert_eq!(products.len(), 4, "{name}");
        for product in products {
            let operands = product.split("}, ").nth(1).expect("accumulators come first");
            assert!(
                operands.starts_with(a) && product.ends_with(", accumulate, 1, 1; }"),
                "{name}: {product}"
            );
        }
    }
}

/// No serialised products (C7510, C7511, C7514), no injected waits (C7517, C7519), no ignored setmaxnreg, no stack.
#[test]
fn ptxas_has_nothing_to_say() {
    let output = Command::new(ptxas())
        .args(["--verbose", "--gpu-name", "sm_90a", "--output-file", "/dev/null"])
        .arg(&ptx().0)
        .output()
        .expect("ptxas: `cargo xtask setup` fetches it, or PTXAS names it");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("warning") && !said.contains("(C7"), "{said}");
    let frames: Vec<_> = said.lines().filter(|line| line.contains("stack frame")).collect();
    assert_eq!(frames.len(), 13, "{said}");
    let none = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
    assert!(frames.iter().all(|frame| frame.trim() == none), "{said}");
}
