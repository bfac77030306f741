//! `tilewright fp8` with files: matrices that are quantized, FP8 elements with their scales, and C.

use half::{bf16, f16};
use tilewright::random::random_matrix;

use super::*;

const M: usize = 70;
const N: usize = 136;
const K: usize = 272;

/// Random A and B in f32, B as its columns.
fn with_matrices() -> Place {
    let place = Place::new();
    for (name, seed, rows) in [("a.npy", 1, M), ("b.npy", 2, N)] {
        place.put(name, "<f4", false, (rows, K), &le32(&random_matrix(seed, rows * K)));
    }
    place
}

/// The same, quantized: `a8.npy`, `a_scales.npy`, `b8.npy`, `b_scales.npy`.
fn with_elements([of_a, of_b]: [&str; 2]) -> Place {
    let place = with_matrices();
    for (name, options) in [("a", of_a), ("b", of_b)] {
        place.succeeds(&format!(
            "fp8 quantize {name}.npy -o {name}8.npy --scales-out {name}_scales.npy --scales {options}"
        ));
    }
    place
}

const ELEMENTS: &str = "fp8 a8.npy b8.npy --a-scales a_scales.npy --b-scales b_scales.npy";

#[test]
fn what_is_quantized_is_multiplied_as_if_it_were_quantized_on_the_way() {
    for (scalings, shapes, options) in [
        (["1x128", "128x128"], ["3, 70", "2, 3"], ""),
        (["row", "row"], ["70", "136"], " --scales row"),
        (
            ["tensor", "tensor --format e5m2"],
            ["1", "1"],
            " --scales tensor --fast --b e5m2",
        ),
    ] {
        let place = with_elements(scalings);
        assert_eq!([place.shape("a8.npy"), place.shape("b8.npy")], ["70, 272", "136, 272"]);
        assert_eq!([place.shape("a_scales.npy"), place.shape("b_scales.npy")], shapes);
        let listing = place.json(&format!("{ELEMENTS} -o c.npy --output f32{options}"));
        assert_eq!(listing["operands"][0], "a8.npy with scales a_scales.npy");
        assert_eq!((&listing["out"], &listing["seed"]), (&"c.npy".into(), &Value::Null));
        assert_eq!(
            ["m", "n", "k"].map(|extent| listing[extent].as_u64()),
            [M, N, K].map(|extent| Some(extent as u64))
        );
        let printed = place.succeeds(&format!("fp8 a.npy b.npy -o on_the_way.npy --output f32{options}"));
        assert!(printed.contains("a.npy, f32 quantized"), "{printed}");
        assert!(printed.contains("written        on_the_way.npy"), "{printed}");
        assert_eq!(place.shape("c.npy"), "70, 136");
        assert_eq!(place.elements("c.npy"), place.elements("on_the_way.npy"), "{options}");
        // One of both kinds.
        place.succeeds(&format!(
            "fp8 a.npy b8.npy --b-scales b_scales.npy -o mixed.npy --output f32{options}"
        ));
        assert_eq!(place.elements("mixed.npy"), place.elements("c.npy"), "{options}");
    }
}

#[test]
fn a_is_stored_as_its_rows_and_b_as_its_columns() {
    let place = Place::new();
    // 1 and 2 in e4m3: A of rows of 1 and of 2, B whose columns are 1, 2 and a single 1.
    let (one, two) = (0x38, 0x40);
    place.put("a.npy", "|u1", false, (2, 16), &[[one; 16], [two; 16]].concat());
    let mut single = [0; 16];
    single[5] = one;
    place.put("b.npy", "|u1", false, (3, 16), &[[one; 16], [two; 16], single].concat());
    place.put_array("a_scales.npy", "<f4", false, &[2], &le32(&[1.0, 0.5]));
    // As PyTorch has scales of columns.
    place.put_array("b_scales.npy", "<f4", false, &[1, 3], &le32(&[1.0, 2.0, 8.0]));
    let product = "fp8 a.npy b.npy --a-scales a_scales.npy --b-scales b_scales.npy --scales row -o c.npy";
    let c = [16.0, 64.0, 8.0, 16.0, 64.0, 8.0];
    place.succeeds(&format!("{product} --output f32"));
    assert_eq!(place.elements("c.npy"), le32(&c));
    place.succeeds(&format!("{product} --output f16"));
    let halves: Vec<u8> = c.iter().flat_map(|&c| f16::from_f32(c).to_le_bytes()).collect();
    assert_eq!(place.elements("c.npy"), halves);
    // bfloat16, as `ml_dtypes` writes and `matmul --bf16` reads it.
    place.succeeds(product);
    let words: Vec<u8> = c.iter().flat_map(|&c| bf16::from_f32(c).to_le_bytes()).collect();
    assert_eq!(place.elements("c.npy"), words);
    let bytes = fs::read(place.path("c.npy")).expect("was written");
    assert!(String::from_utf8_lossy(&bytes).contains("'<V2'"));
}

#[test]
fn scales_may_have_padded_lines() {
    let place = with_elements(["1x128", "128x128"]);
    place.succeeds(&format!("{ELEMENTS} -o c.npy --output f32"));
    // 3 lines of 70 in 72, 2 of 3 in 4; nobody reads the padding.
    for (name, columns) in [("a_scales.npy", M), ("b_scales.npy", 3)] {
        let packed = place.elements(name);
        let padding = le32(&vec![f32::NAN; columns.next_multiple_of(4) - columns]);
        let lines = packed.chunks(4 * columns).map(|line| [line, &padding].concat());
        let padded: Vec<u8> = lines.flatten().collect();
        let shape = (packed.len() / 4 / columns, columns.next_multiple_of(4));
        place.put(name, "<f4", false, shape, &padded);
    }
    place.succeeds(&format!("{ELEMENTS} -o padded.npy --output f32"));
    assert_eq!(place.elements("padded.npy"), place.elements("c.npy"));
}

#[test]
fn every_type_and_order_of_a_matrix_is_quantized() {
    let place = Place::new();
    let numbers: Vec<f32> = (0..3 * 32).map(|at| (at % 7) as f32 - 3.0).collect();
    let across: Vec<f32> = (0..3 * 32).map(|at| numbers[at % 3 * 32 + at / 3]).collect();
    let words = |of: &[f32]| -> Vec<u8> { of.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect() };
    let halves: Vec<u8> = numbers.iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
    place.put("f32.npy", "<f4", false, (3, 32), &le32(&numbers));
    place.put("f16.npy", "<f2", false, (3, 32), &halves);
    place.put("bf16.npy", "<V2", false, (3, 32), &words(&numbers));
    place.put("fortran.npy", "<f4", true, (3, 32), &le32(&across));
    place.put("transposed.npy", "<f4", false, (32, 3), &le32(&across));
    let quantize = |options: &str| {
        place.succeeds(&format!(
            "fp8 quantize {options} -o e.npy --scales-out s.npy --scales row"
        ));
        assert_eq!([place.shape("e.npy"), place.shape("s.npy")], ["3, 32", "3"]);
        [place.elements("e.npy"), place.elements("s.npy")]
    };
    let expected = quantize("f32.npy");
    assert_eq!(expected[1], le32(&[3.0 / 448.0; 3]));
    for options in [
        "f16.npy",
        "bf16.npy --bf16",
        "fortran.npy",
        "transposed.npy --transpose",
    ] {
        assert_eq!(quantize(options), expected, "{options}");
    }
    let listing = place.json("fp8 quantize f32.npy -o e.npy --scales-out s.npy --scales 128x128 --format e5m2");
    assert_eq!(
        [&listing["format"], &listing["scaling"]],
        [&Value::from("e5m2"), &"128x128".into()]
    );
    assert_eq!(listing["scale_shape"], Value::from(vec![1, 1]));
}

/// A change of one of the files of [`ELEMENTS`], and what is said of it.
type Change = (fn(&Place), &'static str);

#[test]
fn bad_files_end_with_2_and_leave_c_alone() {
    fn scales(place: &Place, shape: &[usize], change: impl Fn(&mut Vec<f32>)) {
        let mut scales = vec![1.0; shape.iter().product()];
        change(&mut scales);
        place.put_array("a_scales.npy", "<f4", false, shape, &le32(&scales));
    }
    let changes: [Change; 13] = [
        (
            |place| scales(place, &[M, 3], |_| ()),
            "a_scales.npy: has shape (70, 3), 1x128 scales of A, stored as 70 x 272, have (3, 70): K-blocks x rows",
        ),
        (
            |place| scales(place, &[M], |_| ()),
            "have (3, 70): K-blocks x rows; --scales row takes these",
        ),
        (
            |place| scales(place, &[], |_| ()),
            "has shape (), 1x128 scales of A, stored as 70 x 272, have (3, 70): K-blocks x rows; --scales tensor",
        ),
        (
            |place| scales(place, &[3, M], |scales| scales[75] = f32::NAN),
            "a8.npy with scales a_scales.npy: scale 5 of line 1 is NaN, not a number",
        ),
        (
            |place| scales(place, &[3, M], |scales| scales[69] = f32::INFINITY),
            "scale 69 of line 0 is inf, not a number",
        ),
        (
            |place| scales(place, &[3, M], |scales| scales[140] = -2.0),
            "scale 0 of line 2 is -2, negative",
        ),
        (
            |place| place.put("a_scales.npy", "<f8", false, (3, M), &[0; 3 * M * 8]),
            "a_scales.npy: holds f64, scales are f32",
        ),
        (
            |place| {
                let mut elements = [0; M * K];
                elements[2 * K + 9] = 0xff;
                place.put("a8.npy", "|u1", false, (M, K), &elements);
            },
            "a8.npy with scales a_scales.npy: element 9 of row 2 is 0xff, infinite or NaN in e4m3",
        ),
        (
            |place| place.put("a8.npy", "|i1", false, (M, K), &[0; M * K]),
            "a8.npy: holds elements of type \"|i1\"; f2, f4 and f8 can be multiplied, u2 or V2 as bfloat16, and u1 as",
        ),
        (
            |place| place.put("a8.npy", "<f4", false, (M, K), &[0; M * K * 4]),
            "a8.npy: holds f32, which is quantized; --a-scales a_scales.npy is for elements of uint8",
        ),
        (
            |place| place.put("a8.npy", "|u1", false, (K, M), &[0; M * K]),
            "a8.npy is 272 x 70, b8.npy is 136 x 272: A is stored as its rows, m x k, B as its columns, n x k, with",
        ),
        (
            |place| {
                place.put("a8.npy", "|u1", false, (M, 40), &[0; M * 40]);
                place.put("b8.npy", "|u1", false, (N, 40), &[0; N * 40]);
            },
            "K = 40 of e4m3: it has to be a multiple of 16, nearest 48",
        ),
        (
            |place| place.put_array("a8.npy", "|u1", false, &[2, M, K], &[0; 2 * M * K]),
            "a8.npy: holds an array of 3 dimensions; a matrix has 2",
        ),
    ];
    let place = with_elements(["1x128", "128x128"]);
    fs::write(place.path("c.npy"), "earlier").expect("ours");
    let files = ["a8.npy", "b8.npy", "a_scales.npy"].map(|name| (name, fs::read(place.path(name)).expect("written")));
    let names = place.names();
    for (change, problem) in changes {
        change(&place);
        let error = place.fails(2, &format!("{ELEMENTS} -o c.npy --json"));
        assert!(error.contains(problem), "{error}");
        assert_eq!(fs::read_to_string(place.path("c.npy")).expect("is there"), "earlier");
        assert_eq!(place.names(), names);
        for (name, bytes) in &files {
            fs::write(place.path(name), bytes).expect("ours");
        }
    }
    for (arguments, problem) in [
        (
            "fp8 a8.npy b.npy",
            "a8.npy: holds uint8, FP8 elements: --a-scales names the file of their scales",
        ),
        (
            "matmul a8.npy b8.npy -o c.npy",
            "a8.npy: holds uint8, which `tilewright fp8` takes",
        ),
        ("fp8 a.npy absent.npy", "absent.npy: No such file"),
        ("fp8 a.npy b.npy -o absent/c.npy", "absent/c.npy: absent: No such file"),
    ] {
        let error = place.fails(2, arguments);
        assert!(error.contains(problem), "{arguments}: {error}");
    }
    for arguments in ["fp8 a.npy", "fp8 a.npy b.npy -m 3", "fp8 --a-scales a_scales.npy"] {
        assert_eq!(place.run(arguments).status.code(), Some(2), "`{arguments}`");
    }
}

#[test]
fn a_matrix_that_cannot_be_quantized_leaves_both_files_alone() {
    let place = with_matrices();
    place.put("f64.npy", "<f8", false, (1, 16), &[0; 128]);
    place.put("words.npy", "<u2", false, (1, 16), &[0; 32]);
    place.put("short.npy", "<f4", false, (2, 40), &[0; 320]);
    let mut numbers = [1.0; 64];
    numbers[37] = f32::NEG_INFINITY;
    place.put("infinite.npy", "<f4", false, (2, 32), &le32(&numbers));
    for name in ["e.npy", "s.npy"] {
        fs::write(place.path(name), "earlier").expect("ours");
    }
    let names = place.names();
    for (arguments, problem) in [
        ("f64.npy", "f64.npy: holds f64; f32, f16 and bf16 are quantized"),
        ("words.npy", "words.npy: holds 16-bit words (<u2)"),
        (
            "short.npy",
            "short.npy: K = 40 of e4m3: it has to be a multiple of 16, nearest 48",
        ),
        (
            "infinite.npy",
            "infinite.npy: element 5 of row 1 is -inf: e4m3 holds numbers only",
        ),
        (
            "a.npy --scales block",
            "`block`: unknown scaling; known: tensor, row, 1x128, 128x128",
        ),
        ("a.npy --format fp8", "`fp8`: unknown FP8 format; known: e4m3, e5m2"),
        (
            "a.npy --scales-out ./e.npy",
            "e.npy: elements and scales would be one file",
        ),
        ("a.npy --scales-out absent/s.npy", "absent/s.npy: absent: No such file"),
    ] {
        let scales = if arguments.contains("--scales ") {
            ""
        } else {
            " --scales row"
        };
        let scales_out = if arguments.contains("--scales-out") {
            ""
        } else {
            " --scales-out s.npy"
        };
        let error = place.fails(2, &format!("fp8 quantize {arguments} -o e.npy{scales}{scales_out}"));
        assert!(error.contains(problem), "{arguments}: {error}");
        for name in ["e.npy", "s.npy"] {
            assert_eq!(fs::read_to_string(place.path(name)).expect("is there"), "earlier");
        }
        assert_eq!(place.names(), names);
    }
}
