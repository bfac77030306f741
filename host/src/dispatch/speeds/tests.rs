use super::*;

const SYMBOL: &str = "tiled_static_16_f32";
const DIGEST: &str = "0123456789abcdef";

#[test]
fn every_line_is_of_a_kernel_and_every_tiled_kernel_has_a_line() {
    let built_in = Speeds::default();
    for (symbol, lines) in &built_in.table.lines {
        let kernel = Kernel::named(symbol).expect("checked");
        for line in lines {
            let has = match kernel.widths {
                Some([min, max]) => (min..=max).contains(&line.width),
                None => kernel.tile.n == line.width,
            };
            assert!(has, "{symbol} {}", line.width);
        }
    }
    for kernel in KERNELS.iter().filter(|kernel| kernel.family.is_automatic()) {
        assert!(built_in.of(kernel).is_some(), "{}", kernel.symbol);
        assert!(built_in.shared(kernel.dtype).is_some(), "{}", kernel.dtype);
    }
    let lines = DType::ALL.into_iter().map(|dtype| built_in.lines(dtype).count());
    assert_eq!(
        lines.sum::<usize>() + 2,
        built_in.table.text.lines().count(),
        "each line is of one type, but for the architecture and FP8"
    );
    assert!(built_in.fp8().is_some());
    assert_eq!(Speeds::read(built_in.table.text.clone()), Ok(built_in));
}

#[test]
fn the_nearest_width_prices_a_tile() {
    let tiled = "tiled_dynamic_4x4_f32";
    let text = format!("arch sm_90\n{tiled} 48 1 2 0 0 0 0 0 0 0 {DIGEST}\n{tiled} 64 1 3 0 0 0 0 0 0 0 {DIGEST}");
    let speeds = Speeds::read(text).expect("valid");
    let latency = |width| {
        let kernel = Kernel::named(tiled)
            .and_then(|kernel| kernel.with_width(width))
            .expect("it has it");
        speeds.of(&kernel).expect("it has a line")[1]
    };
    assert_eq!(
        (latency(48), latency(52), latency(60), latency(64)),
        (2.0, 2.0, 3.0, 3.0)
    );
    let kernel = Kernel::named(SYMBOL).expect("there");
    assert_eq!((speeds.of(kernel), speeds.shared(DType::F32)), (None, None));
    assert_eq!(speeds.priced_by(kernel), None);
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    for (text, error) in [
        ("", "line 1: must be `arch` and an architecture, such as `arch sm_90`"),
        ("arch sm_90\nr99_f32 16 1 1 1", "line 2: no kernel `r99_f32`"),
        ("arch sm_90\nshared f99 1", "line 2: no element type `f99`"),
        ("arch sm_90\nfp8 1 2 3 4", "line 2: `1 2 3 4` is not 5 numbers"),
        ("arch sm_90\nfp8 1 2 3 4 -5", "line 2: `1 2 3 4 -5` is not 5 numbers"),
        ("arch sm_90\nshared f32 1 2", "line 2: `1 2` is not 17 numbers"),
    ] {
        assert_eq!(Speeds::read(text.into()).expect_err(text).to_string(), error);
    }
    let good = format!("16 1 1 1 0 0 0 1 0 1 {DIGEST}");
    assert!(Speeds::read(format!("arch sm_90\n{SYMBOL} {good}")).is_ok());
    for rest in [
        "16 1 1 1 0 0 0 1 0 1".to_owned(),
        format!("16 1 1 1 0 0 0 1 0 {DIGEST}"),
        format!("16 -1 1 1 0 0 0 1 0 1 {DIGEST}"),
        format!("16 1 1 1 0 0 0 1 0 inf {DIGEST}"),
        format!("16 1 0 0 0 1 0 1 1 1 {DIGEST}"),
        "16 1 1 1 0 0 0 1 0 1 what".to_owned(),
        format!("{good} 1"),
    ] {
        let text = format!("arch sm_90\n{SYMBOL} {good}\n{SYMBOL} {rest}");
        let expected = format!("line 3: `{rest}` is not a width, 9 numbers and a digest");
        assert_eq!(Speeds::read(text).expect_err(&rest).to_string(), expected);
    }
    assert!(Speeds::read("arch sm_1".into()).is_err());
}
