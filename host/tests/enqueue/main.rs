//! What `Kernels` and `Prepared` ask of the driver, in which order and in which context, and how each error ends: by a
//! driver that writes down what it is asked for. Whether results are right a GPU says (`tests/gpu/enqueue`).

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod block_scaled;
#[path = "../../../compat/cuda_driver_lazy/tests/common/mod.rs"]
mod common;
mod fake;
mod fp8;
mod fp8_quantize;
mod product;
mod scaled;

use std::path::Path;
use std::sync::Barrier;
use std::thread;

use common::{fake_driver, is_apart, run_apart};
use fake::{A, B, BIAS, C, OTHER, PRIMARY, WORKSPACE, calls, context, current, fail_next};
use half::f16;
use product::{enqueue, operands, plan, prepare, stated};
use tilewright::dispatch::Policy;
use tilewright::launch::{Buffer, Checks, Counters, Kernels, OperandError, Operands};
use tilewright::{Error, ErrorKind, Factors, Gemm, GemmShape, Kernel, Operand, ptx};

#[test]
fn calls_are_in_order_and_in_the_context() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/enqueue/fake_driver.rs");
    let driver = fake_driver(&source, "fake_cuda", &[]);
    for test in [
        "apart_prepare_and_enqueue",
        "apart_bad_operands_are_refused",
        "apart_a_driver_that_fails_leaves_the_context",
        "apart_kernels_of_the_table",
        "block_scaled::apart_block_scaled",
        "fp8::apart_fp8",
        "fp8_quantize::apart_fp8_quantize",
    ] {
        run_apart(test, &driver);
    }
}

/// The kernels of the primary context, with the other one current.
fn opened() -> Kernels {
    // SAFETY: the fake driver's contexts exist for ever; the kernel computes nothing.
    unsafe {
        cust_raw::cuCtxPushCurrent_v2(context(OTHER));
        let kernels = Kernels::of_context(context(PRIMARY)).expect("it exists");
        kernels.add_module("// fake_gemm_f16").expect("it loads");
        kernels
    }
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_prepare_and_enqueue() {
    if !is_apart() {
        return;
    }
    let kernels = opened();
    let expected = [
        "push 0x200",
        "push 0x100",
        "device",
        "pop 0x100",
        "push 0x100",
        "load module 1",
        "pop 0x100",
    ];
    assert_eq!(calls(), expected);

    // Loaded by force, and allowed its 128 KiB, before anything is enqueued.
    let prepared = prepare(&kernels, 2);
    let expected = [
        "push 0x100",
        "find fake_gemm_f16",
        "ask 4 of fake_gemm_f16",
        "force fake_gemm_f16",
        "ask 8 of fake_gemm_f16",
        "set 8 of fake_gemm_f16 to 131072",
        "pop 0x100",
    ];
    assert_eq!(calls(), expected);
    // 2 tiles in 2 splits of 64 x 64 f32, after the counters.
    assert_eq!(prepared.counter_bytes(), 64 << 10);
    assert_eq!(prepared.workspace_bytes(), (64 << 10) + 4 * 64 * 64 * 4);

    // Everything is asked before the first operation.
    let sound = operands(&prepared);
    enqueue(&prepared, 0x51, &sound).expect("sound");
    let launch = "launch fake_gemm_f16 4 x 128, 131072 B, on 0x51: 0x100000000 0x100100000 0x100200000 \
                  0x100300000 0x100410000 0x100400000; k 512, alpha 0.5, beta 2, splits 2";
    let memset = "memset 0x100400000 to 0, 16384 words, on 0x51";
    let asked = [
        "whose stream is 0x51",
        "what is 0x100000000",
        "what is 0x100100000",
        "what is 0x100300000",
        "what is 0x100200000",
        "what is 0x100400000",
    ];
    let with = |middle: &[&str]| -> Vec<String> {
        let all = ["push 0x100"].iter().chain(middle).chain(&["pop 0x100"]);
        all.map(|line| (*line).to_owned()).collect()
    };
    assert_eq!(calls(), with(&[&asked[..], &[memset, launch]].concat()));
    assert_eq!(current(), OTHER);

    // With what the caller promises, and without the driver's checks: two operations, and one.
    let unchecked = prepare(&kernels, 2).with_checks(Checks::Arithmetic);
    calls();
    enqueue(&unchecked, 0x51, &sound).expect("sound");
    assert_eq!(calls(), with(&[memset, launch]));
    let mut cleared = sound;
    cleared.workspace.counters = Counters::Zero;
    enqueue(&unchecked, 0x51, &cleared).expect("sound");
    // After a kernel, and not after a memset, the launch may begin early.
    let early = format!("early {launch}");
    assert_eq!(calls(), with(&[&early]));

    // With alpha 0 neither A nor B is read, nor is there anything to split.
    let without_k = Operands {
        a: 0,
        b: 0,
        factors: Factors { alpha: 0.0, beta: 1.0 },
        ..sound.workspace(0, 0)
    };
    enqueue(&unchecked, 0x51, &without_k).expect("sound");
    let launch = "early launch fake_gemm_f16 2 x 128, 131072 B, on 0x51: 0x0 0x0 0x100200000 0x100300000 0x0 0x0; k \
                  0, alpha 0, beta 1, splits 1";
    assert_eq!(calls(), with(&[launch]));

    // A batch that no grid holds: two launches, each on its own products, which share B.
    let shape = GemmShape::packed(64, 64, 64).and_then(|shape| shape.with_batch(65_536, [4096, 0, 4100]));
    let shape = shape.expect("valid");
    let batch = kernels.prepare::<f16, f32, _>(&plan(&kernels, shape, 1), &stated(shape));
    let batch = batch.expect("it fits").with_checks(Checks::Arithmetic);
    calls();
    let apart = |of: usize| 0x10_0000_0000 * of as u64;
    let operands = Operands::new(apart(1), apart(2), apart(3)).bias(BIAS);
    enqueue(&batch, 0x51, &operands).expect("sound");
    let of = |a: u64, c: u64, products: u32| {
        format!(
            "early launch fake_gemm_f16 1 x 128, 131072 B, on 0x51: {a:#x} {:#x} {c:#x} {BIAS:#x} 0x0 0x0; k 64, alpha \
             1, beta 0, splits 1, {products} products in {products} rows",
            apart(2)
        )
    };
    let before = 65_535;
    let second =
        of(apart(1) + before * 4096 * 2, apart(3) + before * 4100 * 4, 1).replace(", 1 products in 1 rows", "");
    assert_eq!(calls(), with(&[&of(apart(1), apart(3), 65_535), &second]));

    // A thread without a context has none afterwards; the default stream is of the kernels' context.
    thread::scope(|scope| {
        scope.spawn(|| {
            enqueue(&prepared, 0, &cleared).expect("sound");
            assert_eq!(current(), 0);
        });
    });
    let called = calls();
    assert!(called.len() == 9 && called[1] == "whose stream is 0x0", "{called:?}");

    // An empty C is nothing to do.
    let shape = GemmShape::packed(0, 128, 512).expect("valid");
    let empty = kernels
        .prepare::<f16, f32, _>(&plan(&kernels, shape, 1), &stated(shape))
        .expect("it fits");
    calls();
    enqueue(&empty, 0x51, &Operands::new(0, 0, 0)).expect("nothing to do");
    assert_eq!(calls(), [""; 0]);

    // What is prepared keeps the kernels; a context that somebody else owns is not released.
    drop(kernels);
    drop((unchecked, empty, batch));
    assert_eq!(calls(), [""; 0]);
    drop(prepared);
    assert_eq!(calls(), with(&["unload module 1"]));
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_bad_operands_are_refused() {
    if !is_apart() {
        return;
    }
    use OperandError::*;
    let kernels = opened();
    let prepared = prepare(&kernels, 2);
    let sound = operands(&prepared);
    calls();
    let a = Buffer::Matrix(Operand::A);
    let is_launched = |called: &[String]| {
        called
            .iter()
            .any(|line| line.contains("memset") || line.contains("launch"))
    };
    let refused = |on: usize, operands: &Operands| {
        let error = enqueue(&prepared, on, operands).expect_err("bad");
        let called = calls();
        assert!(!is_launched(&called), "{error}: {called:?}");
        assert_eq!((error.kind(), current()), (ErrorKind::Input, OTHER), "{error}");
        match error {
            Error::Operand(error) => error,
            other => panic!("{other}"),
        }
    };
    let at = |address: u64| Operands { a: address, ..sound };
    for (address, expected) in [
        // Of another context, of another device, of nobody, pinned at another address, an array.
        (
            0x2_0000_0000,
            OtherContext {
                buffer: a,
                address: 0x2_0000_0000,
            },
        ),
        (
            0x3_0000_0000,
            OtherDevice {
                buffer: a,
                address: 0x3_0000_0000,
                device: 1,
                expected: 0,
            },
        ),
        (
            0x9_0000_0000,
            NotDeviceMemory {
                buffer: a,
                address: 0x9_0000_0000,
            },
        ),
        (
            0x6_0000_0000,
            NotDeviceMemory {
                buffer: a,
                address: 0x6_0000_0000,
            },
        ),
        (
            0x8_0000_0000,
            NotDeviceMemory {
                buffer: a,
                address: 0x8_0000_0000,
            },
        ),
        // 64 KiB of A, 16 B before the end.
        (
            0x1_000f_fff0,
            TooShort {
                buffer: a,
                address: 0x1_000f_fff0,
                needed_bytes: 65_536,
                available_bytes: 16,
            },
        ),
        (
            0x1_0000_0008,
            Misaligned {
                buffer: a,
                address: 0x1_0000_0008,
                alignment_bytes: 16,
            },
        ),
        (
            0,
            Null {
                buffer: a,
                needed_bytes: 65_536,
            },
        ),
    ] {
        assert_eq!(refused(0x51, &at(address)), expected);
    }
    assert_eq!(refused(0x52, &sound), StreamOfOtherContext);
    assert_eq!(refused(0x51, &sound.bias(0)), MissingBias);
    let address = 0x1_0050_0000;
    assert_eq!(
        refused(0x51, &sound.group_ends(address)),
        UnexpectedGroupEnds { address }
    );
    assert!(matches!(refused(0x51, &at(C)), Overlap { .. }));
    let bytes = prepared.workspace_bytes();
    assert!(matches!(
        refused(0x51, &sound.workspace(WORKSPACE, bytes - 1)),
        Workspace { .. }
    ));

    // Of a pool, pinned at the same address, managed: a kernel of this context can access each.
    for address in [0x4_0000_0000, 0x5_0000_0000, 0x7_0000_0000] {
        enqueue(&prepared, 0x51, &at(address)).expect("accessible");
        assert!(is_launched(&calls()));
    }
    // What only the driver knows passes where it is not asked.
    let prepared = prepared.with_checks(Checks::Arithmetic);
    enqueue(&prepared, 0x51, &at(0x2_0000_0000)).expect("not asked");
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_a_driver_that_fails_leaves_the_context() {
    if !is_apart() {
        return;
    }
    let kernels = opened();
    let prepared = prepare(&kernels, 2);
    let sound = operands(&prepared);
    for (name, code, message) in [
        (c"cuLaunchKernelEx", 1, "cuLaunchKernelEx failed: InvalidValue (1)"),
        (
            c"cuLaunchKernelEx",
            901,
            "cuLaunchKernelEx failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)",
        ),
        (c"cuMemsetD32Async", 400, "cuMemsetD32Async failed: InvalidHandle (400)"),
        (
            c"cuPointerGetAttributes",
            709,
            "cuPointerGetAttributes failed: ContextIsDestroyed (709)",
        ),
        (c"cuStreamGetCtx", 400, "cuStreamGetCtx failed: InvalidHandle (400)"),
    ] {
        let mut sound = sound;
        if name != c"cuMemsetD32Async" {
            sound.workspace.counters = Counters::Zero;
        }
        fail_next(name, code);
        let error = enqueue(&prepared, 0x51, &sound).expect_err("the driver fails");
        assert_eq!(
            (error.to_string().as_str(), error.kind()),
            (message, ErrorKind::Environment)
        );
        assert_eq!(current(), OTHER);
    }
    let shape = prepared.plan().shape();
    let again = || {
        kernels
            .prepare::<f16, f32, _>(prepared.plan(), &stated(shape))
            .map(drop)
    };
    for (name, code, message) in [
        (c"cuFuncLoad", 2, "cuFuncLoad failed: OutOfMemory (2)"),
        (
            c"cuFuncSetAttribute",
            1,
            "131072 B of dynamic shared memory are more than this device gives a block",
        ),
        (c"cuFuncGetAttribute", 100, "no usable CUDA device"),
    ] {
        fail_next(name, code);
        let error = again().expect_err("the driver fails").to_string();
        assert!(error.starts_with(message), "{error}");
        assert_eq!(current(), OTHER);
    }
    fail_next(c"cuCtxGetDevice", 201);
    // SAFETY: the fake driver's context exists.
    unsafe { Kernels::of_context(context(PRIMARY)) }.expect_err("the driver fails");
    assert_eq!(current(), OTHER);
    again().expect("the driver has recovered");
    enqueue(&prepared, 0x51, &sound).expect("the driver has recovered");
}

#[test]
#[ignore = "run in a process of its own by calls_are_in_order_and_in_the_context"]
fn apart_kernels_of_the_table() {
    if !is_apart() {
        return;
    }
    if let Err(missing) = ptx::ensure_embedded() {
        // What is left: that it says so, and retains nothing.
        let error = Kernels::open(0).expect_err("there is nothing to load");
        assert_eq!(error.to_string(), missing.to_string());
        assert_eq!(calls(), [""; 0]);
        println!("kernels of the table: not looked at, {missing}");
        return;
    }
    let kernels = Kernels::open(0).expect("the fake driver has a device");
    assert_eq!(calls(), ["retain 0"]);
    // A and B have odd rows: both are padded, into the workspace, before the kernel reads them there.
    let shape = GemmShape::with_ld(64, 64, 63, 63, 65, 64).expect("valid");
    let gemm = Gemm::<()>::new(shape);
    let policy = Policy {
        kernel: Kernel::named("mma_sync_nn_128x128_f16"),
        ..Policy::default()
    };
    let plan = gemm.plan::<f16, f16>(kernels.profile(), &policy).expect("it fits");
    // Eight threads at once load each module once.
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                kernels
                    .prepare::<f16, f16, _>(&plan, &gemm)
                    .map(drop)
                    .expect("the fake driver has everything");
            });
        }
    });
    let loaded = calls()
        .into_iter()
        .filter(|line| line.starts_with("load module"))
        .count();
    assert_eq!(loaded, 2, "the kernel and that which pads");

    let prepared = kernels.prepare::<f16, f16, _>(&plan, &gemm).expect("loaded");
    let prepared = prepared.with_checks(Checks::Arithmetic);
    calls();
    let operands = Operands::new(A + 2, B, C).workspace(WORKSPACE, prepared.workspace_bytes());
    enqueue(&prepared, 0x51, &operands).expect("sound");
    let called = calls();
    let [_, pad, launch, _] = &called[..] else {
        panic!("{called:?}")
    };
    // 64 rows of 64 elements each, by one launch.
    assert_eq!(
        pad,
        "pad 0x100000002 to 0x100410000 and 0x100100000 to 0x100412000, on 0x51"
    );
    assert!(
        launch.contains("0x100410000 0x100412000 0x100200000 0x0 0x0 0x0;"),
        "{launch}"
    );
    // Five groups of rows, in one launch, which takes where they end.
    let shape = GemmShape::packed(300, 64, 64).and_then(|shape| shape.with_groups(5, 64 * 64));
    let of_groups = Policy {
        kernel: Kernel::named("mma_sync_groups_nn_128x128_f16"),
        ..Policy::default()
    };
    let gemm = Gemm::<()>::new(shape.expect("valid"));
    let plan = gemm.plan::<f16, f16>(kernels.profile(), &of_groups).expect("it fits");
    let groups = kernels.prepare::<f16, f16, _>(&plan, &gemm).expect("loaded");
    let groups = groups.with_checks(Checks::Arithmetic);
    calls();
    let operands = Operands::new(A, B, C);
    let error = enqueue(&groups, 0x51, &operands).expect_err("no ends").to_string();
    assert_eq!(error, "the array of group ends is null, and takes 20 B");
    enqueue(&groups, 0x51, &operands.group_ends(BIAS)).expect("sound");
    let called = calls();
    let [_, launch, _] = &called[..] else {
        panic!("{called:?}")
    };
    // 300 / 128 + 5 tiles of rows.
    assert!(
        launch.contains(" 7 x 128,") && launch.ends_with("5 products in 1 rows"),
        "{launch}"
    );
    drop(groups);
    drop(kernels);
    assert_eq!(calls(), [""; 0]);
    drop(prepared);
    let called = calls();
    let unloaded = called.iter().filter(|line| line.starts_with("unload")).count();
    assert_eq!(unloaded, 3, "and the kernel of groups: {called:?}");
    assert_eq!(called.last().map(String::as_str), Some("release 0"));
}
