//! `tilewright matmul` of files with three dimensions: batches, as NumPy multiplies them.

use super::{A, B, C, Place, le32, with_operands};

/// Matrices that are the first times 1, 2, and so on.
fn times(matrix: &[f32], count: usize) -> Vec<f32> {
    (1..=count)
        .flat_map(|factor| matrix.iter().map(move |element| factor as f32 * element))
        .collect()
}

/// Operands, and batches of three of A, in both orders, of three and of one of B.
fn place() -> Place {
    let place = with_operands();
    let a = times(&A, 3);
    place.put_array("a3.npy", "<f4", false, &[3, 2, 3], &le32(&a));
    // The first index runs fastest.
    let by_columns: Vec<f32> = (0..18).map(|i| a[(i % 3 * 2 + i / 3 % 2) * 3 + i / 6]).collect();
    place.put_array("a3f.npy", "<f4", true, &[3, 2, 3], &le32(&by_columns));
    place.put_array("b3.npy", "<f4", false, &[3, 3, 2], &le32(&times(&B, 3)));
    place.put_array("b1.npy", "<f4", false, &[1, 3, 2], &le32(&B));
    place.put_array("b2.npy", "<f4", false, &[2, 3, 2], &le32(&times(&B, 2)));
    place.put_array("b0.npy", "<f4", false, &[0, 3, 2], &[]);
    place
}

#[test]
fn batches_are_multiplied_as_numpy_does() {
    let place = place();
    let squared: Vec<f32> = [1.0, 4.0, 9.0].iter().flat_map(|by| C.map(|c| by * c)).collect();
    let (threefold, once) = (times(&C, 3), C.to_vec());
    for (files, shape, expected) in [
        ("a3.npy b3.npy", "3, 2, 2", &squared),
        ("a3f.npy b3.npy", "3, 2, 2", &squared),
        ("a3.npy b.npy", "3, 2, 2", &threefold),
        ("a3.npy b1.npy", "3, 2, 2", &threefold),
        ("a.npy b3.npy", "3, 2, 2", &threefold),
        // A batch of one remains one.
        ("a.npy b1.npy", "1, 2, 2", &once),
        ("a.npy b.npy", "2, 2", &once),
        ("a.npy b0.npy", "0, 2, 2", &Vec::new()),
    ] {
        for backend in ["cpu", "sim"] {
            let report = place.json(&format!("matmul {files} -o c.npy --backend {backend} --verify full"));
            assert_eq!(place.elements("c.npy"), le32(expected), "{backend} {files}");
            assert_eq!(place.shape("c.npy"), shape, "{backend} {files}");
            assert_eq!(report["batch"], expected.len() / 4, "{backend} {files}");
        }
    }
    let text = place.succeeds("matmul a3.npy b.npy -o c.npy");
    assert!(text.contains("3 of 2 x 2 x 3 (m x n x k)"), "{text}");
}

#[test]
fn each_product_is_transposed_scaled_and_added() {
    let place = place();
    let by_rows = times(&[A[0], A[3], A[1], A[4], A[2], A[5]], 3);
    place.put_array("at3.npy", "<f4", false, &[3, 3, 2], &le32(&by_rows));
    let ones = le32(&[1.0; 12]);
    place.put_array("c3.npy", "<f4", false, &[3, 2, 2], &ones);
    place.succeeds("matmul at3.npy b.npy --trans-a --alpha 2 --add c3.npy --beta -1 -o c.npy --verify full");
    let expected: Vec<f32> = times(&C, 3).iter().map(|c| 2.0 * c - 1.0).collect();
    assert_eq!(place.elements("c.npy"), le32(&expected));
}

#[test]
fn batches_that_do_not_agree_are_refused_with_their_numbers() {
    let place = place();
    let before = place.names();
    place.put_array("c1.npy", "<f4", false, &[1, 2, 2], &le32(&C));
    place.put_array("four.npy", "<f4", false, &[1, 1, 2, 3], &le32(&A));
    place.put_array("huge.npy", "<f4", false, &[1 << 30, 1 << 30, 1 << 30], &[]);
    for (arguments, expected) in [
        (
            "a3.npy b2.npy",
            "a3.npy holds 3 matrices, b2.npy holds 2: a batch has as many of both, or one of either",
        ),
        ("a3.npy a3.npy", "a3.npy is 2 x 3, a3.npy is 2 x 3: the columns"),
        (
            "a3.npy b.npy --add c1.npy",
            "c1.npy is 1 x 2 x 2, the product 3 x 2 x 2",
        ),
        ("a.npy b.npy --add c1.npy", "c1.npy is 1 x 2 x 2, the product 2 x 2"),
        ("a.npy b.npy --bias b1.npy", "b1.npy: holds an array of 3 dimensions"),
        ("four.npy b.npy", "four.npy: holds an array of 4 dimensions"),
        (
            "huge.npy b.npy",
            "overflows: 1073741824 x 1073741824 x 1073741824 elements",
        ),
    ] {
        let error = place.fails(2, &format!("matmul {arguments} -o c.npy"));
        assert!(error.contains(expected), "`{arguments}`: {error:?} lacks {expected:?}");
    }
    assert!(before.iter().all(|name| place.names().contains(name)) && !place.names().contains(&"c.npy".to_owned()));
}
