//! Files as users have them: what the program reads, what it leaves, and what it leaves alone.

use half::bf16;

use super::*;

/// Runs a line of the shell with the program as `$0`; `None` where a signal ended it.
#[cfg(unix)]
fn shell(place: &Place, line: &str) -> (Option<i32>, String) {
    let output = Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_tilewright")])
        .env("CUDA_VISIBLE_DEVICES", "")
        .current_dir(place.0.path())
        .output()
        .expect("bash is there");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// A product whose C is larger than what a test lets a file hold.
#[cfg(unix)]
fn with_a_large_product() -> Place {
    let place = with_operands();
    place.put("column.npy", "<f4", false, (64, 1), &le32(&[1.0; 64]));
    place.put("row.npy", "<f4", false, (1, 64), &le32(&[1.0; 64]));
    place
}

#[cfg(unix)]
#[test]
fn a_result_keeps_the_permissions_of_what_it_replaces() {
    use std::os::unix::fs::PermissionsExt;
    let place = with_operands();
    let path = place.path("c.npy");
    fs::write(&path, "earlier").expect("ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    place.succeeds("matmul a.npy b.npy -o c.npy");
    let mode = fs::metadata(&path).expect("exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.elements("c.npy"), le32(&C));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_ended_while_it_writes_leaves_nothing() {
    let place = with_a_large_product();
    let names = place.names();
    // The signal of a file that grows too long ends the program.
    let (code, said) = shell(&place, "ulimit -f 8; exec \"$0\" matmul column.npy row.npy -o c.npy");
    assert_ne!(code, Some(0), "{said}");
    assert_eq!(place.names(), names);
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_is_no_bad_input() {
    let place = with_a_large_product();
    fs::write(place.path("c.npy"), "earlier").expect("ours");
    let names = place.names();
    // Without the signal the system refuses to write more.
    let line = "trap '' XFSZ; ulimit -f 8; exec \"$0\" matmul column.npy row.npy -o c.npy";
    let (code, said) = shell(&place, line);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains("c.npy: "), "{said}");
    assert!(
        said.contains("cannot be written: ") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(place.names(), names);
    assert_eq!(fs::read_to_string(place.path("c.npy")).expect("is there"), "earlier");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_file_is_named_before_the_work() {
    let place = with_operands();
    // Hours of work, were it begun.
    place.put("tall.npy", "<f4", false, (1_000_000, 0), &[]);
    place.put("flat.npy", "<f4", false, (0, 1_000_000), &[]);
    let error = place.fails(2, "matmul tall.npy flat.npy -o /proc/c.npy");
    assert!(error.contains("/proc/c.npy: no file can be made in /proc"), "{error}");
}

#[test]
fn factors_are_numbers_in_any_form() {
    let place = with_operands();
    for (alpha, expected) in [("-1e-3", -1e-3_f32), ("-.5", -0.5), ("+2", 2.0), ("1E1", 10.0)] {
        let report = place.json(&format!("matmul a.npy b.npy -o c.npy --alpha {alpha}"));
        assert_eq!(
            report["alpha"].as_f64().map(|alpha| alpha as f32),
            Some(expected),
            "{alpha}"
        );
        assert_eq!(place.elements("c.npy"), le32(&C.map(|c| c * expected)), "{alpha}");
    }
    let report = place.json("matmul a.npy b.npy -o c.npy --alpha -inf");
    assert_eq!(report["alpha"], "-inf");
    for (arguments, expected) in [
        ("--alpha 1e39", "beyond the range of f32"),
        ("--alpha two", "not a number"),
        ("--add a.npy --beta -1e39", "beyond the range of f32"),
    ] {
        let output = place.run(&format!("matmul a.npy b.npy -o d.npy {arguments}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    }
}

#[test]
fn factors_have_the_type_of_the_sums() {
    let place = Place::new();
    let le64 = |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|x| x.to_le_bytes()).collect() };
    place.put("a.npy", "<f8", false, (1, 2), &le64(&[3.0, 4.0]));
    place.put("b.npy", "<f8", false, (2, 1), &le64(&[1.0, 1.0]));
    place.put("c0.npy", "<f8", false, (1, 1), &le64(&[1.0]));
    let report = place.json("matmul a.npy b.npy --alpha 0.1 --add c0.npy --beta 1e-300 -o c.npy --verify full");
    assert_eq!(
        (report["alpha"].as_f64(), report["beta"].as_f64()),
        (Some(0.1), Some(1e-300))
    );
    assert_eq!(place.elements("c.npy"), le64(&[0.1 * 7.0 + 1e-300]));
    // 1e39 is a number of f64, if none of f32.
    place.succeeds("matmul a.npy b.npy --alpha 1e39 -o c.npy --verify full");
    assert_eq!(place.elements("c.npy"), le64(&[1e39 * 7.0]));
    let error = place.fails(2, "matmul a.npy b.npy --alpha 1e-400 -o c.npy");
    assert!(error.contains("--alpha 1e-400: f64 rounds it to 0"), "{error}");
    let f32s = with_operands();
    let report = f32s.json("matmul a.npy b.npy --alpha 0.1 -o c.npy --verify full");
    assert_eq!(report["alpha"].as_f64(), Some(0.1), "as it was written");
    let error = f32s.fails(2, "matmul a.npy b.npy --alpha 1e-60 -o c.npy");
    assert!(error.contains("f32 rounds it to 0"), "{error}");
}

#[test]
fn with_alpha_0_neither_operand_is_read() {
    let place = with_operands();
    place.put("nan.npy", "<f4", false, (2, 3), &le32(&[f32::NAN; 6]));
    place.put("c0.npy", "<f4", false, (2, 2), &le32(&[1.0, 2.0, 3.0, 4.0]));
    for (backend, verify) in [("cpu", "full"), ("cpu", "sample"), ("sim", "full")] {
        place.succeeds(&format!(
            "matmul nan.npy b.npy --alpha 0 --add c0.npy --beta 2 -o c.npy --backend {backend} --verify {verify}"
        ));
        assert_eq!(place.elements("c.npy"), le32(&[2.0, 4.0, 6.0, 8.0]), "{backend}");
        place.succeeds(&format!(
            "matmul nan.npy b.npy --alpha -0 -o c.npy --backend {backend} --verify {verify}"
        ));
        assert_eq!(place.elements("c.npy"), le32(&[0.0; 4]), "{backend}");
    }
}

#[test]
fn sums_that_leave_the_range_are_no_fault_of_a_kernel() {
    let place = Place::new();
    place.put("a.npy", "<f4", false, (1, 3), &le32(&[3e38, 3e38, -3e38]));
    place.put("b.npy", "<f4", false, (3, 1), &le32(&[2.0, -2.0, 1.0]));
    let error = place.fails(2, "matmul a.npy b.npy -o c.npy --verify full");
    assert!(
        error.contains("exceed the range of f32 (3.4028235e38)") && error.contains("row 0, column 0"),
        "{error}"
    );
    // What overflows without doubt is compared as before.
    place.put("b.npy", "<f4", false, (3, 1), &le32(&[2.0, 2.0, -2.0]));
    place.succeeds("matmul a.npy b.npy -o c.npy --verify full");
    assert_eq!(place.elements("c.npy"), le32(&[f32::INFINITY]));
}

#[test]
fn a_gpu_is_named_by_its_number() {
    let place = with_operands();
    let error = place.fails(2, "matmul a.npy b.npy -o c.npy --backend cpu --device 0");
    assert!(error.contains("--device 0 names a GPU"), "{error}");
    // Nobody has so many. Whoever names one does not want the CPU instead.
    for command in [
        "matmul a.npy b.npy -o c.npy",
        "device",
        "bench",
        "verify",
        "plan --tile 64x64x64",
    ] {
        let error = place.fails(3, &format!("{command} --device 4000"));
        assert!(error.contains("no CUDA"), "{command}: {error}");
    }
    let both = place.run("plan --tile 64x64x64 --arch sm_90 --device 0");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn an_f32_is_added_to_a_product_of_bfloat16() {
    let place = Place::new();
    let words = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect() };
    place.put("a.npy", "<u2", false, (2, 3), &words(&[1.0, 2.0, 0.0, 0.0, 1.0, 3.0]));
    place.put("b.npy", "<u2", false, (3, 2), &words(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    place.put("c0.npy", "<f4", false, (2, 2), &le32(&[0.5; 4]));
    place.succeeds("matmul a.npy b.npy --bf16 --output-type f32 --add c0.npy -o c.npy --verify full");
    assert_eq!(place.elements("c.npy"), le32(&[1.5, 2.5, 3.5, 4.5]));
}

#[test]
fn a_bias_may_have_one_dimension() {
    let place = with_operands();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(118_u16).to_le_bytes());
    bytes.extend_from_slice(format!("{header:<117}\n").as_bytes());
    bytes.extend_from_slice(&le32(&[10.0, 20.0]));
    fs::write(place.path("bias.npy"), bytes).expect("ours");
    place.succeeds("matmul a.npy b.npy --bias bias.npy -o c.npy --verify full");
    let expected = [C[0] + 10.0, C[1] + 20.0, C[2] + 10.0, C[3] + 20.0];
    assert_eq!(place.elements("c.npy"), le32(&expected));
}

#[cfg(unix)]
#[test]
fn tables_are_read_from_files_alone() {
    let place = Place::new();
    let (code, _) = shell(&place, "mkfifo pipe");
    assert_eq!(code, Some(0));
    for option in ["--speeds", "--file"] {
        for file in ["pipe", "/dev/zero"] {
            let error = place.fails(2, &format!("bench {option} {file} --rounds 1"));
            assert!(error.contains(&format!("{file}: is not a regular file")), "{error}");
        }
    }
    fs::write(place.path("long.txt"), vec![b'#'; 5 << 20]).expect("ours");
    let error = place.fails(2, "bench --speeds long.txt --rounds 1");
    assert!(
        error.contains("long.txt: has 5242880 B, the longest allowed is 4194304 B"),
        "{error}"
    );
}

/// The system refuses each thread such a stack.
const NO_THREADS: (&str, &str) = ("RUST_MIN_STACK", "140737488355328");

#[test]
fn a_machine_without_threads_accuses_no_kernel() {
    let place = with_operands();
    let run = |arguments: &str| {
        let mut command = program();
        command.current_dir(place.0.path()).env(NO_THREADS.0, NO_THREADS.1);
        let output = command.args(arguments.split_whitespace()).output().expect("runs");
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code(), stdout, stderr)
    };
    // One thread computes too.
    let (code, stdout, stderr) = run("matmul a.npy b.npy -o c.npy --backend cpu --verify full");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("CPU, 1 threads"), "{stdout}");
    assert_eq!(place.elements("c.npy"), le32(&C));
    for arguments in [
        "sim tiled_static -m 64 -n 64 -k 64",
        "matmul a.npy b.npy -o d.npy --backend sim",
        "verify --backend sim --kernel tiled_static --dtype f32",
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{arguments}: {stderr}");
        let expected = "error: not enough resources: no thread could be started: ";
        assert!(
            stderr.starts_with(expected) && stderr.lines().count() == 1,
            "{arguments}: {stderr}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_address_space_is_said_and_ends_nothing() {
    let place = with_operands();
    // Several times what the program itself takes, so that it starts, and half of what it asks for.
    for arguments in ["demo", "sim tiled_static -m 64 -n 64 -k 64"] {
        let (code, said) = shell(&place, &format!("ulimit -v 200000; exec \"$0\" {arguments}"));
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("not enough resources: the address space is limited to 204800000 B"),
            "{said}"
        );
    }
}
