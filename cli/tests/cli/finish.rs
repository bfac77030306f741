//! `tilewright matmul` with what follows the sums.

use crate::{Place, le32};

#[test]
fn bias_activation_and_the_type_of_c() {
    let place = Place::new();
    let le16 = |values: &[f32]| -> Vec<u8> {
        let bytes = values.iter().map(|&value| half::f16::from_f32(value).to_le_bytes());
        bytes.flatten().collect()
    };
    place.put("ones.npy", "<f2", false, (8, 8), &le16(&[1.0; 64]));
    let bias: [f32; 8] = std::array::from_fn(|column| 2.5 - 3.0 * column as f32);
    place.put("bias.npy", "<f2", false, (1, 8), &le16(&bias));
    let expected: Vec<f32> = (0..64).map(|at| (4.0 + bias[at % 8]).max(0.0)).collect();
    let finished = "--alpha 0.5 --bias bias.npy --activation relu --verify full";
    for backend in ["cpu", "sim"] {
        let files = format!("ones.npy ones.npy --backend {backend}");
        let report = place.json(&format!("matmul {files} -o c.npy {finished} --output-type f32"));
        assert_eq!(place.elements("c.npy"), le32(&expected), "{backend}");
        assert_eq!((&report["bias"], &report["activation"]), (&true.into(), &"relu".into()));
        assert_eq!((&report["dtype"], &report["output"]), (&"f16".into(), &"f32".into()));
        place.succeeds(&format!("matmul {files} -o c.npy {finished}"));
        assert_eq!(place.elements("c.npy"), le16(&expected), "{backend}");
        let text = place.succeeds(&format!(
            "matmul {files} -o c.npy --bias random --activation gelu --verify full"
        ));
        assert!(text.contains("a bias, activation gelu, C of f16"), "{text}");
    }
}
