use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use std::fs;

use super::*;

/// A file's bytes as NumPy writes them: version, dictionary, padding to 64 bytes, a line break, elements.
fn npy(version: u8, dictionary: &str, elements: &[u8]) -> Vec<u8> {
    let prefix = if version == 1 { 10 } else { 12 };
    let len = (prefix + dictionary.len() + 1).next_multiple_of(64) - prefix;
    let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
    bytes.extend_from_slice(&(len as u32).to_le_bytes()[..prefix - 8]);
    bytes.extend_from_slice(dictionary.as_bytes());
    bytes.resize(prefix + len - 1, b' ');
    bytes.push(b'\n');
    bytes.extend_from_slice(elements);
    bytes
}

fn dictionary(descr: &str, fortran_order: bool, shape: &str) -> String {
    let order = if fortran_order { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
}

fn put(directory: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join("matrix.npy");
    fs::write(&path, bytes).expect("the folder is ours");
    path
}

/// Opens and reads bytes as a file.
fn read<T: Scalar>(bytes: &[u8], bf16: bool) -> Result<Vec<T>> {
    let directory = TempDir::new().expect("a folder");
    Source::open(&put(&directory, bytes), bf16)?.read()
}

fn problem<T: Scalar + std::fmt::Debug>(bytes: &[u8], bf16: bool) -> String {
    let failure = read::<T>(bytes, bf16).expect_err("is not readable");
    assert_eq!(failure.exit.code(), 2, "{}", failure.message);
    assert!(!failure.message.contains('\n'), "{}", failure.message);
    failure.message
}

fn le<T: Scalar>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    elements.iter().for_each(|element| element.push_le(&mut bytes));
    bytes
}

const SIX: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

#[test]
fn both_orders_and_all_versions_are_read_right() {
    for version in [1, 2, 3] {
        let c = npy(version, &dictionary("<f4", false, "(2, 3)"), &le(&SIX));
        assert_eq!(read::<f32>(&c, false).expect("C order"), SIX);
        let by_columns = [1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0];
        let fortran = npy(version, &dictionary("<f4", true, "(2, 3)"), &le(&by_columns));
        assert_eq!(read::<f32>(&fortran, false).expect("Fortran order"), SIX);
    }
}

#[test]
fn batches_of_both_orders_are_read_matrix_by_matrix() {
    for (fortran, elements) in [
        (false, SIX),
        // Element (b, i, j) of (2, 1, 3) is at b + 2 (i + j).
        (true, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
    ] {
        let directory = TempDir::new().expect("a folder");
        let bytes = npy(1, &dictionary("<f4", fortran, "(2, 1, 3)"), &le(&elements));
        let batch = Source::open(&put(&directory, &bytes), false).expect("a batch");
        assert_eq!((batch.batch(), batch.rows(), batch.columns()), (Some(2), 1, 3));
        assert_eq!(batch.read::<f32>().expect("reads"), SIX);
        let refused = Source::open_row(&put(&directory, &bytes), false).expect_err("no row");
        assert!(refused.message.contains("3 dimensions"), "{}", refused.message);
    }
}

#[test]
fn both_byte_orders_are_read_right() {
    let big: Vec<u8> = SIX.iter().flat_map(|x| f64::from(*x).to_be_bytes()).collect();
    let read = read::<f64>(&npy(1, &dictionary(">f8", false, "(3, 2)"), &big), false);
    assert_eq!(read.expect("big-endian"), SIX.map(f64::from));
}

#[test]
fn words_are_bfloat16_when_the_user_says_so() {
    let values = SIX.map(bf16::from_f32);
    for descr in ["<u2", "<V2", "|V2"] {
        let bytes = npy(1, &dictionary(descr, false, "(2, 3)"), &le(&values));
        assert_eq!(read::<bf16>(&bytes, true).expect(descr), values);
        assert!(problem::<bf16>(&bytes, false).contains("--bf16"));
    }
    for descr in ["<f2", "<f4"] {
        let bytes = npy(1, &dictionary(descr, false, "(0, 3)"), &[]);
        assert!(problem::<bf16>(&bytes, true).contains("--bf16 reads 16-bit words"));
    }
}

#[test]
fn bytes_are_read_as_they_are_and_are_no_numbers() {
    for descr in ["|u1", "<u1", "|V1"] {
        for bf16 in [false, true] {
            let bytes = npy(1, &dictionary(descr, false, "(2, 3)"), &[1, 2, 3, 4, 5, 255]);
            assert_eq!(read::<u8>(&bytes, bf16).expect(descr), [1, 2, 3, 4, 5, 255]);
            let directory = TempDir::new().expect("a folder");
            let source = Source::open(&put(&directory, &bytes), bf16).expect(descr);
            let refused = source.dtype().expect_err("no numbers").message;
            assert!(refused.contains("holds uint8"), "{refused}");
            assert!(problem::<f32>(&bytes, bf16).contains("holds uint8, not f32"));
        }
    }
}

#[test]
fn arrays_have_up_to_two_dimensions() {
    let directory = TempDir::new().expect("a folder");
    let opened = |shape: &str, elements: &[f32]| {
        Source::open_array(&put(
            &directory,
            &npy(1, &dictionary("<f4", false, shape), &le(elements)),
        ))
    };
    for (shape, extents, text) in [
        ("()", vec![], "()"),
        ("(1,)", vec![1], "(1,)"),
        ("(6,)", vec![6], "(6,)"),
        ("(2, 3)", vec![2, 3], "(2, 3)"),
    ] {
        let elements = &SIX[..extents.iter().product()];
        let array = opened(shape, elements).expect("an array");
        assert_eq!(
            (array.extents(), shape_text(&array.extents())),
            (extents, text.to_owned())
        );
        assert_eq!(array.read::<f32>().expect("reads"), elements);
    }
    let refused = opened("(1, 2, 3)", &SIX).expect_err("three dimensions").message;
    assert!(refused.contains("3 dimensions"), "{refused}");
}

#[test]
fn more_than_one_chunk_is_read_and_written() {
    let len = CHUNK_BYTES / size_of::<f64>() + 1;
    let values: Vec<f64> = (0..len).map(|i| i as f64).collect();
    let bytes = npy(1, &dictionary("<f8", false, &format!("(1, {len})")), &le(&values));
    assert_eq!(read::<f64>(&bytes, false).expect("reads"), values);
    let directory = TempDir::new().expect("a folder");
    let source = Source::open(&put(&directory, &bytes), false).expect("opens");
    let path = directory.path().join("again.npy");
    let destination = Destination::new(&path).expect("valid");
    write(destination, source.descr(), &[1, len], &values).expect("writes");
    assert_eq!(
        Source::open(&path, false).expect("opens").read::<f64>().expect("reads"),
        values
    );
}

#[test]
fn headers_are_read_as_numpy_reads_them() {
    let elements = le(&SIX);
    // Native byte order by either sign.
    for descr in ["=f4", "|f4", "<f4"] {
        let bytes = npy(1, &dictionary(descr, false, "(2, 3)"), &elements);
        assert_eq!(read::<f32>(&bytes, false).expect(descr), SIX);
    }
    // Without the line break at its end, and with more blanks than it needs.
    let text = dictionary("<f4", false, "(2, 3)");
    for blanks in [0, 20_000] {
        let header = format!("{text}{}", " ".repeat(blanks));
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&elements);
        assert_eq!(read::<f32>(&bytes, false).expect("valid"), SIX, "{blanks} blanks");
    }
    // No number of Python's begins with a zero but zero.
    for shape in ["(02, 3)", "(2, 003)", "(00, 01)"] {
        let bytes = npy(1, &dictionary("<f4", false, shape), &elements);
        assert!(
            problem::<f32>(&bytes, false).contains("no Python dictionary"),
            "{shape}"
        );
    }
    assert!(read::<f32>(&npy(1, &dictionary("<f4", false, "(00, 3)"), &[]), false).is_ok());
}

#[test]
fn a_row_may_have_one_dimension() {
    let directory = TempDir::new().expect("a folder");
    let path = put(&directory, &npy(1, &dictionary("<f4", false, "(6,)"), &le(&SIX)));
    let row = Source::open_row(&path, false).expect("a row");
    assert_eq!((row.rows(), row.columns()), (1, 6));
    assert_eq!(row.read::<f32>().expect("reads"), SIX);
}

#[test]
fn empty_matrices_are_read() {
    for shape in ["(0, 0)", "(0, 3)", "(3, 0)"] {
        for fortran in [false, true] {
            let bytes = npy(1, &dictionary("<f4", fortran, shape), &[]);
            assert!(read::<f32>(&bytes, false).expect(shape).is_empty());
        }
    }
}

#[test]
fn what_is_no_matrix_is_named() {
    let with = |descr: &str, shape: &str| npy(1, &dictionary(descr, false, shape), &le(&SIX));
    for (bytes, expected) in [
        (with("<f4", "(6,)"), "1 dimensions"),
        (with("<f4", "(1, 1, 2, 3)"), "4 dimensions"),
        (with("<f4", "()"), "0 dimensions"),
        (with("<i4", "(2, 3)"), "<i4"),
        (with("<c8", "(1, 3)"), "<c8"),
        (with("|O", "(2, 3)"), "|O"),
        (
            with("<f4", "(2, 4)"),
            "is truncated: 2 x 4 elements of 4 B take 32 B, the file holds 24 B",
        ),
        (
            with("<f4", "(2, 2)"),
            "is longer than its header says: 2 x 2 elements of 4 B take 16 B, the file holds 24 B",
        ),
        (with("<f4", "(4294967296, 4294967296)"), "overflows"),
        (with("<f4", "(4611686018427387904, 2)"), "overflows"),
        (with("<f4", "(99999999999999999999999, 2)"), "header"),
        (with("<f4", "(-1, 2)"), "header"),
        (
            npy(
                1,
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
                &le(&SIX),
            ),
            "structured",
        ),
        (npy(1, "{'descr': '<f4', 'fortran_order': False}", &le(&SIX)), "header"),
        (npy(1, "[1, 2]", &[]), "header"),
        (npy(1, "", &[]), "header"),
        (npy(4, &dictionary("<f4", false, "(2, 3)"), &le(&SIX)), "header"),
        (npy(1, &"[".repeat(9_000), &[]), "header"),
        (npy(2, &"x".repeat(11_000), &[]), "longest allowed"),
        (npy(2, &" ".repeat(70_000), &[]), "longest allowed"),
        (Vec::new(), "no .npy file"),
        (b"\x93NUMPX\x01\x00".to_vec(), "no .npy file"),
        (b"1,2\n3,4\n".to_vec(), "no .npy file"),
    ] {
        let problem = problem::<f32>(&bytes, false);
        assert!(problem.contains(expected), "{problem:?} lacks {expected:?}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = npy(1, &dictionary("<f4", false, "(2, 3)"), &le(&SIX));
    for len in 0..bytes.len() {
        problem::<f32>(&bytes[..len], false);
    }
}

#[test]
fn what_is_no_file_is_named() {
    let directory = TempDir::new().expect("a folder");
    let open = |path: &Path| Source::open(path, false).expect_err("is no file").message;
    assert!(open(directory.path()).contains("not a regular file"));
    assert!(open(&directory.path().join("absent.npy")).contains("absent.npy: "));
    let to = |path: &Path| Destination::new(path).expect_err("cannot be written").message;
    assert!(to(directory.path()).contains("not a regular file"));
    assert!(to(&directory.path().join("absent/c.npy")).contains("absent"));
    assert!(to(Path::new("")).contains("does not name a file"));
}

#[cfg(unix)]
#[test]
fn devices_are_not_replaced_and_links_are_followed() {
    assert!(Destination::new(Path::new("/dev/null")).is_err());
    let directory = TempDir::new().expect("a folder");
    let (real, link) = (directory.path().join("real.npy"), directory.path().join("link.npy"));
    fs::write(&real, "old").expect("writes");
    std::os::unix::fs::symlink(&real, &link).expect("links");
    let bytes = npy(1, &dictionary("<f4", false, "(2, 3)"), &le(&SIX));
    let descr = Source::open(&put(&directory, &bytes), false).expect("opens").descr();
    let destination = Destination::new(&link).expect("valid");
    write(destination, descr, &[2, 3], &SIX).expect("writes");
    assert!(link.is_symlink());
    assert_eq!(
        Source::open(&real, false).expect("opens").read::<f32>().expect("reads"),
        SIX
    );
}

/// Pieces that headers are made of, so that random texts come near to valid ones.
fn header_like() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "'",
        "\"",
        ",",
        ":",
        " ",
        "descr",
        "'descr'",
        "'shape'",
        "'fortran_order'",
        "True",
        "False",
        "None",
        "<f4",
        "'<f4'",
        "0",
        "1",
        "2",
        "18446744073709551616",
        "0x",
        "1e999",
        "1j",
        "b'a'",
        "\n",
        "|",
        "=",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read::<f32>(&bytes, false).is_err());
    }

    #[test]
    fn random_headers_never_panic(text in header_like(), version in 0..5_u8) {
        // A text may happen to be valid; what matters is that both ends are reached without a panic.
        let _ = read::<f32>(&npy(version, &text, &le(&SIX)), false);
    }

    #[test]
    fn one_changed_byte_never_panics(position in 0..200_usize, byte in any::<u8>()) {
        let mut bytes = npy(1, &dictionary("<f4", false, "(2, 3)"), &le(&SIX));
        let position = position % bytes.len();
        bytes[position] = byte;
        if let Err(failure) = read::<f32>(&bytes, false) {
            prop_assert_eq!(failure.exit.code(), 2);
        }
    }

    #[test]
    fn what_is_written_is_read(rows in 0..9_usize, columns in 0..9_usize, seed in any::<u64>()) {
        let directory = TempDir::new().expect("a folder");
        let values = tilewright::random::random_matrix::<f64>(seed, rows * columns);
        let example = npy(1, &dictionary("<f8", false, "(0, 0)"), &[]);
        let descr = Source::open(&put(&directory, &example), false)?.descr();
        let path = directory.path().join("matrix.npy");
        write(Destination::new(&path)?, descr, &[rows, columns], &values)?;
        let source = Source::open(&path, false)?;
        prop_assert_eq!((source.rows(), source.columns()), (rows, columns));
        prop_assert_eq!(source.read::<f64>()?, values);
    }
}

impl From<Failure> for TestCaseError {
    fn from(failure: Failure) -> Self {
        TestCaseError::fail(failure.message)
    }
}
