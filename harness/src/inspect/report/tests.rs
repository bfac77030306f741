//! What `ptxas` 13.0.88 wrote, and what is read of it.

use super::*;

/// The report's only kernel.
fn only(text: &str) -> Usage {
    let report = Report::parse(text).expect("readable");
    let [kernel] = &report.kernels[..] else {
        panic!("{report:?}")
    };
    kernel.clone()
}

#[test]
fn a_kernel_with_static_shared_memory_and_a_barrier() {
    let kernel = only(
        "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'plain' for 'sm_75'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 5 registers, used 1 barriers, 2048 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 3.310 ms
",
    );
    let expected = Usage {
        symbol: "plain".into(),
        registers: 5,
        barriers: 1,
        static_smem_bytes: 2048,
        constant_banks: vec![ConstantBank { bank: 0, bytes: 360 }],
        ..Usage::default()
    };
    assert_eq!(kernel, expected);
}

#[test]
fn spills_into_local_memory() {
    let report = Report::parse(
        "ptxas warning : Registers are spilled to local memory in function 'k', 552 bytes spill stores, 588 bytes \
         spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_120'
ptxas info    : Function properties for k
    280 bytes stack frame, 552 bytes spill stores, 588 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 280 bytes cumulative stack size
ptxas info    : Compile time = 29.942 ms
",
    )
    .expect("readable");
    let expected = Usage {
        symbol: "k".into(),
        registers: 64,
        stack_bytes: 280,
        spill_store_bytes: 552,
        spill_load_bytes: 588,
        cumulative_stack_bytes: 280,
        ..Usage::default()
    };
    assert_eq!(report.kernel("k"), Some(&expected));
    let [remark] = &report.remarks[..] else {
        panic!("{report:?}")
    };
    assert_eq!((remark.severity, remark.code), (Severity::Warning, None));
    assert_eq!(remark.symbol.as_deref(), Some("k"));
    assert!(!remark.serializes_wgmma());
}

#[test]
fn spills_into_shared_memory_are_static_bytes_and_only_the_local_rest_is_counted() {
    for (text, smem, stack, [stores, loads]) in [
        (
            "ptxas info    : Compiling entry function 'k' for 'sm_120'
ptxas info    : Function properties for k
    264 bytes stack frame, 476 bytes spill stores, 484 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 264 bytes cumulative stack size, 15360 bytes smem
",
            15360,
            264,
            [476, 484],
        ),
        (
            "ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 8704 bytes smem
",
            8704,
            0,
            [0, 0],
        ),
        // What the machine code has: 2 stores and 2 loads of 4 bytes.
        (
            "ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    8 bytes stack frame, -16 bytes spill stores, -16 bytes spill loads
ptxas info    : Used 72 registers, used 0 barriers, 8 bytes cumulative stack size, 9216 bytes smem
",
            9216,
            8,
            [-16, -16],
        ),
        // None at all.
        (
            "ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, -24 bytes spill stores, -24 bytes spill loads
ptxas info    : Used 72 registers, used 0 barriers, 9728 bytes smem, 372 bytes cmem[0]
",
            9728,
            0,
            [-24, -24],
        ),
    ] {
        let kernel = only(text);
        assert_eq!((kernel.static_smem_bytes, kernel.stack_bytes), (smem, stack));
        assert_eq!([kernel.spill_store_bytes, kernel.spill_load_bytes], [stores, loads]);
    }
}

#[test]
fn serialised_wgmma_is_a_remark_with_a_number_whatever_the_cause() {
    for (line, code, serializes) in [
        (
            "ptxas info    : (C7509) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to the presence of Extern calls in the function 'hungry'",
            7509,
            true,
        ),
        (
            "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to insufficient register resources for the wgmma pipeline in the function 'hungry'",
            7511,
            true,
        ),
        (
            "ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to program dependence on compiler-inserted WG.AR in divergent path in the function 'hungry'",
            7520,
            true,
        ),
        (
            "ptxas info    : (C7519) warpgroup.arrive is injected in around line 21 by compiler to allow use of \
             registers in GMMA in function 'hungry'",
            7519,
            false,
        ),
    ] {
        let report = Report::parse(line).expect("readable");
        let remarks: Vec<_> = report.remarks_on("hungry").collect();
        let [remark] = remarks[..] else { panic!("{report:?}") };
        assert_eq!(
            (remark.code, remark.serializes_wgmma()),
            (Some(code), serializes),
            "{line}"
        );
        assert!(line.ends_with(&remark.to_string()), "{remark}");
        assert_eq!(report.remarks_on("other").count(), 0);
    }
}

#[test]
fn a_called_function_has_a_frame_of_its_own() {
    let report = Report::parse(
        "ptxas warning : Registers are spilled to local memory in function 'fact', 16 bytes spill stores, 16 bytes \
         spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'recur' for 'sm_90'
ptxas info    : Function properties for recur
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
ptxas info    : Compile time = 5.123 ms
ptxas info    : Function properties for fact
    80 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
",
    )
    .expect("readable");
    let kernel = report.kernel("recur").expect("there");
    assert_eq!((kernel.registers, kernel.stack_bytes), (24, 0));
    let frame = Frame {
        symbol: "fact".into(),
        stack_bytes: 80,
        spill_store_bytes: 16,
        spill_load_bytes: 16,
    };
    assert_eq!(report.functions, [frame]);
    assert_eq!(report.remarks_on("fact").count(), 1);
}

#[test]
fn kernels_keep_apart_and_unknown_lines_are_remarks() {
    let report = Report::parse(
        "ptxas info    : Overriding maximum register limit 256 for 'k' with  64 of maxrregcount option
ptxas k.ptx, line 5; warning : something about a line
ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'first' for 'sm_120'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function 'second' for 'sm_120'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 38 registers, used 1 barriers, 2048 bytes smem
",
    )
    .expect("readable");
    let registers: Vec<_> = report.kernels.iter().map(|kernel| kernel.registers).collect();
    assert_eq!(registers, [40, 38]);
    assert_eq!(report.kernel("third"), None);
    let texts: Vec<_> = report.remarks.iter().map(|remark| remark.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Overriding maximum register limit 256 for 'k' with  64 of maxrregcount option",
            "something about a line"
        ]
    );
    assert_eq!(report.remarks[1].severity, Severity::Warning);
}

#[test]
fn a_missing_number_is_an_error_with_the_line() {
    for line in [
        "ptxas info    : Used many registers, used 0 barriers",
        "    some bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "    0 bytes stack frame, 0 bytes spill stores",
        "    -8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
    ] {
        let text = format!("ptxas info    : Compiling entry function 'k' for 'sm_90'\n{line}\n");
        let error = Report::parse(&text).expect_err(line);
        assert_eq!(error.line, line);
        assert!(error.to_string().contains(line.trim()));
    }
    // Of no kernel, and a kernel of which nothing is said.
    assert!(Report::parse("ptxas info    : Used 3 registers").is_err());
    assert!(Report::parse("ptxas info    : Compiling entry function 'k' for 'sm_90'").is_err());
}
