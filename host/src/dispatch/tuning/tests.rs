use super::super::plan;
use super::*;
use tilewright_plan::device::Installed;

const KERNEL: &str = "wgmma_nn_64x64_f16";

/// An H200 as the driver describes it.
fn h200() -> DeviceProfile {
    let of_arch = DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"));
    let gpu = tilewright_plan::GpuModel::find("H200").expect("in the table");
    DeviceProfile {
        name: "NVIDIA H200".into(),
        installed: Some(Installed {
            sms: gpu.sms,
            l2_bytes: gpu.l2_bytes as u32,
            clock_khz: gpu.clock_khz,
            memory_bytes: 141 << 30,
            dram_bytes_per_second: gpu.dram_bytes_per_second,
            driver: "13.0".into(),
        }),
        ..of_arch
    }
}

fn shape() -> GemmShape {
    GemmShape::packed(4096, 4096, 4096).expect("valid")
}

/// A table that says that 4096 cubed is fastest in small tiles, which no estimate says.
fn table() -> TuningTable {
    let mut table = TuningTable::of(&h200());
    let choice = TunedChoice {
        kernel: KERNEL.into(),
        width: 64,
        splits: 2,
        digest: Speeds::default().digest(KERNEL).expect("measured").into(),
        us: 123.25,
    };
    let of = TunedShape::of(&shape(), DType::F16, Precision::Ieee).expect("no batch");
    table.choices.insert(of, choice);
    table
}

/// The kernel and the reasons of a plan with a table.
fn planned(table: TuningTable, device: &DeviceProfile, policy: Policy) -> (&'static str, u32, String) {
    let policy = Policy {
        tuning: Some(Tuning::new(table)),
        ..policy
    };
    let plan = plan(&shape(), DType::F16, device, &policy).expect("fits");
    let summary = plan.summary();
    (summary.kernel, summary.splits, plan.reasons().join("\n"))
}

#[test]
fn what_was_measured_is_taken() {
    let (kernel, splits, reasons) = planned(table(), &h200(), Policy::default());
    assert_eq!((kernel, splits), (KERNEL, 2));
    assert!(reasons.contains("the fastest on this device, 123.25 us"), "{reasons}");
    // A product that was not measured, and what the user names himself.
    let estimated = plan(&shape(), DType::Bf16, &h200(), &Policy::default()).expect("fits");
    let bf16 = Policy {
        tuning: Some(Tuning::new(table())),
        ..Policy::default()
    };
    let bf16 = plan(&shape(), DType::Bf16, &h200(), &bf16).expect("fits");
    assert_eq!(bf16.summary(), estimated.summary());
    let named = Policy {
        splits: Some(1),
        ..Policy::default()
    };
    assert_eq!(planned(table(), &h200(), named).1, 1);
}

#[test]
fn what_is_of_something_else_is_passed_over_with_a_word() {
    let estimated = plan(&shape(), DType::F16, &h200(), &Policy::default()).expect("fits");
    let of = |table, device: &DeviceProfile, policy| {
        let (kernel, splits, reasons) = planned(table, device, policy);
        assert_eq!(
            (kernel, splits),
            (estimated.summary().kernel, estimated.summary().splits)
        );
        reasons
    };
    let other = TuningTable {
        device: "NVIDIA H100".into(),
        ..table()
    };
    let reasons = of(other, &h200(), Policy::default());
    assert!(
        reasons.contains("it is of NVIDIA H100, driver 13.0, and this is NVIDIA H200, driver 13.0"),
        "{reasons}"
    );
    let other = TuningTable {
        driver: "12.8".into(),
        ..table()
    };
    let reasons = of(other, &h200(), Policy::default());
    assert!(reasons.contains("driver 12.8, and this is"), "{reasons}");
    let mut changed = table();
    for choice in changed.choices.values_mut() {
        choice.digest = "0123456789abcdef".into();
    }
    let reasons = of(changed, &h200(), Policy::default());
    assert!(reasons.contains("wgmma_nn_64x64_f16 has changed"), "{reasons}");
}

#[test]
fn a_choice_that_does_not_fit_is_passed_over() {
    let limited = Policy {
        smem_limit: Some(tilewright_contract::Bytes(20 << 10)),
        ..Policy::default()
    };
    let (kernel, _, reasons) = planned(table(), &h200(), limited);
    assert_ne!(kernel, KERNEL);
    assert!(reasons.contains("does not take this product"), "{reasons}");
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let text = table().text();
    assert_eq!(TuningTable::read(&text), Ok(table()), "{text}");
}

#[test]
fn mistakes_are_named_by_their_line() {
    let good = table().text();
    let line = good.lines().nth(2).expect("a choice");
    let with = |line: &str| format!("device NVIDIA H200\ndriver 13.0\n{line}\n");
    for (text, expected) in [
        (String::new(), "line 1: must be `device` and its value"),
        ("device NVIDIA H200\n".into(), "line 2: must be `driver` and its value"),
        (with("4096 4096"), "line 3: 2 words, 11 are wanted"),
        (with(&line.replacen("4096", "x", 1)), "line 3: `x` is no extent"),
        (
            with(&line.replace(" nn ", " xx ")),
            "line 3: `xx` is no layout; known: nn, nt, tn, tt",
        ),
        (with(&line.replace(" f16 ", " f17 ")), "line 3: no element type `f17`"),
        (
            with(&line.replace(" f16 ", " bf16 ")),
            "line 3: wgmma_nn_64x64_f16 is of f16",
        ),
        (with(&line.replace(" 2 ", " 0 ")), "line 3: `0` is no number of splits"),
        (with(&line.replace("123.25", "fast")), "line 3: `fast` is no time"),
    ] {
        let error = TuningTable::read(&text).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}
