//! `tilewright tune`: what it refuses, and what other commands make of its files.

use std::fs;

use super::Place;

/// A place with a tuning file.
fn place(text: &str) -> Place {
    let place = Place::new();
    fs::write(place.path("tuned.txt"), text).expect("the folder is ours");
    place
}

#[test]
fn what_cannot_be_tuned_ends_with_2_and_one_line() {
    let place = place("m,n,k,batch\n64,32,16,3\n");
    for (arguments, problem) in [
        ("tune", "which products? Give -m, -n and -k, or --file"),
        (
            "tune --file tuned.txt",
            "is a batch of 3: only single products are tuned",
        ),
        ("tune -m 0 -n 1 -k 1", "m is 0"),
        // Nothing of another kind is overwritten.
        (
            "tune -m 8 -n 8 -k 8 --out tuned.txt",
            "tuned.txt: line 1: must be `device` and its value",
        ),
    ] {
        let error = place.fails(2, arguments);
        assert!(error.contains(problem), "{arguments}: {error}");
    }
    assert!(place.fails(3, "tune -m 8 -n 8 -k 8").contains("CUDA"));
    assert!(!place.path("tuning.txt").exists());
}

#[test]
fn a_file_that_is_none_is_named_with_its_line() {
    let place = place("device NVIDIA H200\ndriver 13.0\n1 2 3\n");
    for command in ["bench -m 8 -n 8 -k 8", "demo"] {
        let error = place.fails(2, &format!("{command} --tuning tuned.txt"));
        assert!(error.contains("tuned.txt: line 3: 3 words, 11 are wanted"), "{error}");
    }
}

#[test]
fn a_file_of_another_device_is_passed_over_with_a_word() {
    let place = place("device NVIDIA H200\ndriver 13.0\n");
    let ones = 1.0_f32.to_le_bytes().repeat(64);
    place.put("a.npy", "<f4", false, (8, 8), &ones);
    let product = "matmul a.npy a.npy -o c.npy --backend sim --tuning tuned.txt";
    let word = "tuning passed over: it is of NVIDIA H200, driver 13.0, and this is ";
    let printed = place.succeeds(product);
    assert!(printed.contains(word), "{printed}");
    let explained = place.succeeds(&format!("{product} --explain"));
    assert_eq!(explained.matches(word).count(), 1, "{explained}");
}
