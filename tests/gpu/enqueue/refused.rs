//! Operands that cannot be used: each has its error, and nothing is enqueued.

use std::time::Instant;

use cust::stream::{Stream, StreamFlags};
use cust_raw::{CUstream, CUstreamCaptureStatus};
use half::f16;
use libtest_mimic::Failed;
use tilewright::dispatch::Policy;
use tilewright::launch::{Buffer, Checks, Gpu, OperandError, Operands, Prepared, WORKSPACE_ALIGNMENT_BYTES};
use tilewright::{Activation, DType, Error, Factors, Family, Gemm, GemmShape, Operand};

use super::driver::{self, Graph, ok};
use super::lifetime::OtherContext;
use super::products::{self, Memory, Product};
use super::rounds;
use crate::Outcome;

/// A call, and what it is refused with.
struct Refused<'p> {
    name: &'static str,
    prepared: &'p Prepared,
    operands: Operands,
    /// `None` is the stream of the test.
    stream: Option<CUstream>,
    is_expected: fn(&OperandError) -> bool,
}

/// Everything that bad operands are made of.
struct Bad {
    with_bias: Product,
    memory: Memory,
    padded: Product,
    padded_memory: Memory,
    workspace: cust::memory::DeviceBuffer<u8>,
    /// A product whose A takes 4 MiB, B 128 KiB and C 256 KiB.
    large: Prepared,
    /// 1 MiB, at whose end A does not fit.
    short: cust::memory::DeviceBuffer<u8>,
    other: OtherContext,
    theirs: u64,
    /// Memory of the host that CUDA knows nothing of, aligned for vectors.
    host: Vec<u128>,
}

impl Bad {
    fn new(gpu: &Gpu) -> Result<Self, Failed> {
        let (with_bias, padded) = (products::epilogue(gpu)?, products::padded(gpu)?);
        let stated = Gemm::<(), f32>::new(GemmShape::packed(2048, 64, 1024)?);
        // Without split-K, whose workspace would be missed first.
        let policy = Policy {
            family: Some(Family::MMA_SYNC),
            splits: Some(1),
            ..Policy::default()
        };
        let plan = stated.plan::<f16, f16>(gpu.profile(), &policy)?;
        let mut other = OtherContext::new()?;
        Ok(Self {
            memory: with_bias.memory()?,
            padded_memory: padded.memory()?,
            workspace: padded.workspace()?,
            large: gpu.kernels().prepare::<f16, f16, ()>(&plan, &stated)?,
            short: products::device_bytes(&vec![0; 1 << 20])?,
            theirs: other.allocate(1 << 20)?,
            other,
            host: vec![0; 1 << 12],
            with_bias,
            padded,
        })
    }

    fn calls(&self) -> Vec<Refused<'_>> {
        use OperandError::*;
        const A: Buffer = Buffer::Matrix(Operand::A);
        const B: Buffer = Buffer::Matrix(Operand::B);
        const C: Buffer = Buffer::Matrix(Operand::C);
        let good = self.memory.operands(&self.with_bias);
        let bytes = self.workspace.len();
        let padded = self.padded_memory.operands(&self.padded);
        let at = driver::address(&self.workspace);
        let short = driver::address(&self.short);
        let of_host = self.host.as_ptr().expose_provenance() as u64;
        let call = |name, operands, is_expected| Refused {
            name,
            prepared: &self.with_bias.prepared,
            operands,
            stream: None,
            is_expected,
        };
        let of_padded = |name, operands, is_expected| Refused {
            prepared: &self.padded.prepared,
            ..call(name, operands, is_expected)
        };
        vec![
            call("A is null", Operands { a: 0, ..good }, |error| {
                matches!(
                    error,
                    Null {
                        buffer: A,
                        needed_bytes: 16_640
                    }
                )
            }),
            call("C is null", Operands { c: 0, ..good }, |error| {
                matches!(error, Null { buffer: C, .. })
            }),
            call("half a vector", Operands { b: good.b + 8, ..good }, |error| {
                matches!(
                    error,
                    Misaligned {
                        buffer: B,
                        alignment_bytes: 16,
                        ..
                    }
                )
            }),
            call("half an element of C", Operands { c: good.c + 2, ..good }, |error| {
                matches!(
                    error,
                    Misaligned {
                        buffer: C,
                        alignment_bytes: 4,
                        ..
                    }
                )
            }),
            call("half an element of the bias", good.bias(good.bias + 1), |error| {
                matches!(
                    error,
                    Misaligned {
                        buffer: Buffer::Bias,
                        alignment_bytes: 2,
                        ..
                    }
                )
            }),
            call("no bias", good.bias(0), |error| matches!(error, MissingBias)),
            of_padded(
                "a bias too many",
                padded.bias(good.bias).workspace(at, bytes),
                |error| matches!(error, UnexpectedBias { .. }),
            ),
            call("C in A", Operands { c: good.a, ..good }, |error| {
                matches!(
                    error,
                    Overlap {
                        written: C,
                        other: A,
                        ..
                    }
                )
            }),
            call("the bias in C", good.bias(good.c + 64), |error| {
                matches!(
                    error,
                    Overlap {
                        written: C,
                        other: Buffer::Bias,
                        ..
                    }
                )
            }),
            of_padded("no workspace", padded, |error| {
                matches!(error, Workspace { given_bytes: 0, .. })
            }),
            of_padded(
                "a short workspace",
                padded.workspace(at, bytes - 1),
                |error| matches!(error, Workspace { needed_bytes, given_bytes } if *given_bytes == needed_bytes - 1),
            ),
            of_padded(
                "a misaligned workspace",
                padded.workspace(at + WORKSPACE_ALIGNMENT_BYTES as u64 / 2, bytes),
                |error| {
                    matches!(
                        error,
                        Misaligned {
                            buffer: Buffer::Workspace,
                            ..
                        }
                    )
                },
            ),
            of_padded(
                "C in the workspace",
                Operands {
                    c: at,
                    ..padded.workspace(at, bytes)
                },
                |error| {
                    matches!(
                        error,
                        Overlap {
                            written: C,
                            other: Buffer::Workspace,
                            ..
                        }
                    )
                },
            ),
            call("memory of the host", Operands { b: of_host, ..good }, |error| {
                matches!(error, NotDeviceMemory { buffer: B, .. })
            }),
            call("nobody's memory", Operands { a: 0x1000, ..good }, |error| {
                matches!(error, NotDeviceMemory { buffer: A, .. })
            }),
            call(
                "memory of another context",
                Operands { c: self.theirs, ..good },
                |error| matches!(error, OtherContext { buffer: C, .. }),
            ),
            Refused {
                prepared: &self.large,
                ..call(
                    "a short A",
                    Operands::new(short + (960 << 10), short + (512 << 10), short),
                    |error| {
                        matches!(error, TooShort { buffer: A, needed_bytes: 4_194_304, available_bytes, .. }
                        if *available_bytes < 4_194_304)
                    },
                )
            },
            Refused {
                stream: Some(self.other.stream),
                ..call("a stream of another context", good, |error| {
                    matches!(error, StreamOfOtherContext)
                })
            },
        ]
    }

    /// Whether each call is refused as it should be.
    fn are_refused(&self, stream: CUstream) -> Outcome {
        for call in self.calls() {
            // SAFETY: it is refused. Where it is not, the test has failed.
            let enqueued = unsafe { call.prepared.enqueue(call.stream.unwrap_or(stream), &call.operands) };
            match enqueued {
                Err(Error::Operand(error)) if (call.is_expected)(&error) => {}
                other => return Err(format!("{}: {other:?}", call.name).into()),
            }
        }
        Ok(())
    }
}

pub fn outside_of_a_capture() -> Outcome {
    let gpu = Gpu::open(0)?;
    let bad = Bad::new(&gpu)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    driver::synchronize()?;
    bad.memory.fill(&bad.with_bias, 0, stream.as_inner())?;
    stream.synchronize()?;
    let before = bad.memory.c()?;
    bad.are_refused(stream.as_inner())?;
    stream.synchronize()?;
    match bad.memory.c()? == before {
        true => Ok(()),
        false => Err("C was written by a call that was refused".into()),
    }
}

/// What is refused leaves the capture as it was: what is captured after it is all that the graph has.
pub fn in_a_capture() -> Outcome {
    let gpu = Gpu::open(0)?;
    let bad = Bad::new(&gpu)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    driver::synchronize()?;
    let graph = Graph::capture(stream.as_inner(), || {
        bad.are_refused(stream.as_inner())?;
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the place outlives the call, the stream is alive.
        ok(unsafe { cust_raw::cuStreamIsCapturing(stream.as_inner(), &raw mut status) })?;
        if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE {
            return Err(format!("the capture is {status:?}").into());
        }
        let good = bad.memory.operands(&bad.with_bias);
        // SAFETY: the memory is the product's and outlives the graph.
        unsafe { bad.with_bias.prepared.enqueue(stream.as_inner(), &good)? };
        Ok(())
    })?;
    if graph.nodes()? != 1 {
        return Err(format!("the graph has {} operations, not 1", graph.nodes()?).into());
    }
    for set in 0..products::SETS {
        bad.memory.fill(&bad.with_bias, set, stream.as_inner())?;
        graph.launch(stream.as_inner())?;
        stream.synchronize()?;
        bad.memory.check(&bad.with_bias, set)?;
    }
    Ok(())
}

/// A bias, an activation, factors, another type: refused when prepared, factors also when enqueued.
pub fn what_the_kernel_has_not() -> Outcome {
    let gpu = Gpu::open(0)?;
    let shape = GemmShape::packed(16, 16, 16)?;
    let policy = Policy {
        family: Some(Family::TILED_STATIC),
        ..Policy::default()
    };
    let plan = tilewright::dispatch::plan(&shape, DType::F16, gpu.profile(), &policy)?;
    let stated = Gemm::<(), f32>::new(shape);
    let refused = |name: &str, prepared: tilewright::Result<Prepared>| match prepared {
        Err(Error::InvalidArgument(_)) => Ok(()),
        other => Err(Failed::from(format!("{name}: {other:?}"))),
    };
    let kernels = gpu.kernels();
    refused("a bias", kernels.prepare::<f16, f16, ()>(&plan, &stated.bias(())))?;
    let activated = stated.activation(Activation::Relu);
    refused("an activation", kernels.prepare::<f16, f16, ()>(&plan, &activated))?;
    refused("factors", kernels.prepare::<f16, f16, ()>(&plan, &stated.beta(1.0)))?;
    refused("C of f32", kernels.prepare::<f16, f32, ()>(&plan, &stated))?;
    refused("another type", kernels.prepare::<f32, f32, ()>(&plan, &stated))?;
    let other_shape = Gemm::<(), f32>::new(GemmShape::packed(16, 16, 17)?);
    refused("another shape", kernels.prepare::<f16, f16, ()>(&plan, &other_shape))?;

    let prepared = kernels.prepare::<f16, f16, ()>(&plan, &stated)?;
    let buffers = [(); 3].map(|()| products::device_bytes(&[0; 512]));
    let [a, b, c] = buffers;
    let (a, b, c) = (a?, b?, c?);
    let scaled = Operands::new(driver::address(&a), driver::address(&b), driver::address(&c))
        .factors(Factors { alpha: 1.0, beta: 1.0 });
    // SAFETY: it is refused.
    match unsafe { prepared.enqueue(gpu.stream().as_inner(), &scaled) } {
        Err(Error::InvalidArgument(_)) => Ok(()),
        other => Err(format!("factors that the kernel has not: {other:?}").into()),
    }
}

/// Host time of a call with all checks, and with those that ask no driver. It is printed, and below a tenth of a
/// millisecond.
pub fn what_the_checks_take() -> Outcome {
    const LIMIT_US: f64 = 100.0;
    let gpu = Gpu::open(0)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut us = Vec::new();
    for checks in [Checks::Full, Checks::Arithmetic] {
        let mut product = products::epilogue(&gpu)?;
        product.prepared = product.prepared.with_checks(checks);
        let memory = product.memory()?;
        let operands = memory.operands(&product);
        // SAFETY: the memory is the product's and outlives the stream's work.
        let enqueue = || unsafe { product.prepared.enqueue(stream.as_inner(), &operands) };
        let calls = rounds(400);
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            enqueue()?;
            stream.synchronize()?;
            let begin = Instant::now();
            for _ in 0..calls {
                enqueue()?;
            }
            best = best.min(begin.elapsed().as_secs_f64() * 1e6 / calls as f64);
            stream.synchronize()?;
        }
        memory.fill(&product, 1, stream.as_inner())?;
        enqueue()?;
        stream.synchronize()?;
        memory.check(&product, 1)?;
        us.push(best);
    }
    let [full, arithmetic] = us[..] else {
        return Err("two kinds of checks".into());
    };
    println!("enqueue: {full:.2} us with Checks::Full, {arithmetic:.2} us with Checks::Arithmetic");
    match full - arithmetic < LIMIT_US || crate::kernels::small() {
        true => Ok(()),
        false => Err(format!("the checks take {:.1} us", full - arithmetic).into()),
    }
}
