//! `tilewright sim`, and the simulator behind other commands.

use serde_json::Value;

use crate::{C, Place, le32, with_operands};

#[test]
fn sim_prints_the_plan_the_outcome_and_what_each_line_costs() {
    let place = Place::new();
    let text = place.succeeds("sim tiled_dynamic -m 40 -n 50 -k 60 --tile 16 --arch sm_120");
    for expected in [
        "40 x 50 x 60 (m x n x k), f32",
        "tiled_dynamic_16_f32",
        "16 x 16",
        "equals the reference: 2000 elements agree",
        "faults        none",
        "12 x 1 x 1 blocks of 16 x 16 x 1 threads",
        "sm_120",
        "2048 B dynamic",
        "of 101376 B",
        "8 a thread",
        "tiled.rs:",
        "shared load",
        "wavefronts",
        "global load",
        "sectors",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert!(text.ends_with('\n'));
}

#[test]
fn sim_json_has_everything() {
    let listing = Place::new().json("sim tiled_static_16_f64 -m 20 -n 30 -k 40 --schedule all --seed 7");
    for (pointer, expected) in [
        ("/m", Value::from(20)),
        ("/n", 30.into()),
        ("/k", 40.into()),
        ("/dtype", "f64".into()),
        ("/seed", 7.into()),
        ("/arch", "sm_90".into()),
        ("/clean", true.into()),
        ("/equal", true.into()),
        ("/plan/kernel", "tiled_static_16_f64".into()),
        ("/plan/static_smem_bytes", 4096.into()),
        ("/report/schedule", "all".into()),
        ("/report/checks", "full".into()),
        ("/report/blocks", 4.into()),
        ("/report/faults", Value::Array(Vec::new())),
        ("/report/shared/high_water_bytes", 4096.into()),
        ("/report/shared/limit_bytes", 232_448.into()),
        ("/report/barriers_per_thread/0", 6.into()),
    ] {
        assert_eq!(listing.pointer(pointer), Some(&expected), "{pointer}");
    }
    let lines = listing["report"]["lines"].as_array().expect("a list");
    for space in ["shared", "global"] {
        let line = lines.iter().find(|line| line["space"] == space).expect("both are used");
        for key in ["requests", "actual", "ideal"] {
            assert!(line[key].as_u64().is_some_and(|count| count > 0), "{key} in {line}");
        }
        assert!(
            line["location"]["file"]
                .as_str()
                .is_some_and(|file| file.ends_with("tiled.rs")),
            "{line}"
        );
    }
}

#[test]
fn sim_takes_rungs_symbols_types_orders_and_depths() {
    let place = Place::new();
    let kernel_of = |arguments: &str| {
        let listing = place.json(&format!("sim {arguments}"));
        assert_eq!(
            (&listing["clean"], &listing["equal"]),
            (&true.into(), &true.into()),
            "{arguments}"
        );
        listing["plan"]["kernel"].as_str().expect("a name").to_owned()
    };
    for (arguments, kernel) in [
        ("auto -m 9 -n 9 -k 9", "tiled_dynamic_16_f32"),
        ("auto -m 9 -n 9 -k 9 --dtype f16 --tile 32", "tiled_dynamic_32_f16"),
        (
            "tiled_static -m 9 -n 9 -k 9 --dtype bf16 --schedule reverse",
            "tiled_static_16_bf16",
        ),
        (
            "tiled_static_16_f64 -m 1 -n 1 -k 1 --dtype f64 --checks off",
            "tiled_static_16_f64",
        ),
        (
            "tiled_static_16_f16 -m 9 -n 9 -k 9 --checks faults",
            "tiled_static_16_f16",
        ),
        (
            "tiled_dynamic_1x1_f32 -m 9 -n 9 -k 9 --schedule random",
            "tiled_dynamic_1x1_f32",
        ),
        ("tiled_dynamic_4x4_f32 -m 9 -n 9 -k 9", "tiled_dynamic_4x4_f32"),
        // On sm_120 the widest tile of this one does not fit.
        (
            "tiled_dynamic_8x8_f64 -m 9 -n 9 -k 9 --arch sm_120",
            "tiled_dynamic_8x8_f64",
        ),
        ("tiled_static -m 5 -n 4 -k 0", "tiled_static_16_f32"),
    ] {
        assert_eq!(kernel_of(arguments), kernel, "{arguments}");
    }
}

#[test]
fn sim_of_an_empty_product_launches_nothing() {
    let place = Place::new();
    for arguments in ["-m 0 -n 3 -k 4", "-m 3 -n 0 -k 4", "-m 0 -n 0 -k 0"] {
        let text = place.succeeds(&format!("sim tiled_dynamic {arguments}"));
        assert!(text.contains("none: C is empty"), "{text}");
        let listing = place.json(&format!("sim tiled_dynamic {arguments}"));
        assert_eq!((&listing["report"], &listing["clean"]), (&Value::Null, &true.into()));
    }
}

#[test]
fn what_sim_cannot_do_is_one_line_with_the_numbers() {
    let place = Place::new();
    for (arguments, expected) in [
        ("r99 -m 1 -n 1 -k 1", "unknown kernel `r99`; known: auto, tiled_static"),
        (
            "auto -m 1 -n 1 -k 1 --arch sm_70",
            "unknown architecture `sm_70`; known: sm_75, sm_80",
        ),
        ("auto -m 1 -n 1 -k 1 --arch pentium", "unknown architecture `pentium`"),
        ("auto -m 1 -n 1 -k 1 --dtype f8", "f32, f64, f16, bf16"),
        (
            "tiled_static_16_f32 -m 1 -n 1 -k 1 --dtype f64",
            "tiled_static_16_f32 takes f32, not f64",
        ),
        ("auto -m 1 -n 1 -k 1 --tile 0", "nearest: 1"),
        ("auto -m 1 -n 1 -k 1 --tile 129", "nearest: 128"),
        ("tiled_static -m 1 -n 1 -k 1 --tile 20", "nearest: 16"),
        (
            "tiled_dynamic -m 1 -n 1 -k 1 --tile 128 --arch sm_120",
            "needs 131072 B of shared memory (0 B static, 131072 B dynamic), 101376 B are available: 29696 B too many",
        ),
        (
            "tiled_dynamic_1x1_f32 -m 1 -n 1 -k 1 --tile 64",
            "no kernel for tile width 64; nearest: 32",
        ),
        ("auto -m 1 -n 1 -k 1 --schedule sideways", "unknown schedule `sideways`"),
        ("auto -m 2147483648 -n 1 -k 1", "2147483648"),
        (
            "tiled_static -m 2147483647 -n 2147483647 -k 1",
            "blocks, a grid holds 2147483647",
        ),
        ("tiled_static -m 1 -n 1 -k 16777216", "K = 16777216 has no error bound"),
        (
            "matrix_vector -m 2 -n 3 -k 4",
            "matrix_vector computes a C of one row or one column, not 2 x 3",
        ),
        (
            "matrix_vector -m 64 -n 1 -k 64 --tile 128",
            "none of its tiles is a square: leave the width open",
        ),
    ] {
        let error = place.fails(2, &format!("sim {arguments}"));
        assert!(error.contains(expected), "`{arguments}`: {error:?} lacks {expected:?}");
    }
    let too_much = place.fails(1, "sim auto -m 60000 -n 60000 -k 60000");
    assert!(
        too_much.contains("not enough resources: simulating") && too_much.contains("--yes"),
        "{too_much}"
    );
    // Without --dtype the type is one that the kernel has.
    let report = place.json("sim wgmma -m 64 -n 64 -k 64");
    assert_eq!(report["dtype"], "f16");
    for arguments in [
        "",
        "auto",
        "auto -m 1 -n 1",
        "auto -m -1 -n 1 -k 1",
        "auto -m 1 -n 1 -k 1 --checks none",
    ] {
        assert_eq!(
            place.run(&format!("sim {arguments}")).status.code(),
            Some(2),
            "`{arguments}`"
        );
    }
}

#[test]
fn a_long_simulation_is_refused_with_its_duration_and_the_count_of_blocks() {
    let error = Place::new().fails(2, "sim tiled_dynamic_16_f32 -m 4096 -n 4096 -k 16000");
    assert!(error.contains("65536 blocks of about "), "{error}");
    assert!(
        [" h:", " days:", " min:"].iter().any(|unit| error.contains(unit)),
        "{error}"
    );
}

#[test]
fn matmul_computes_in_the_simulator() {
    let place = with_operands();
    let report = place.json("matmul a.npy b.npy -o c.npy --backend sim --kernel tiled_static --verify full");
    assert_eq!(place.elements("c.npy"), le32(&C));
    for (key, expected) in [
        ("backend", Value::from("sim")),
        ("device", "simulator (sm_90 limits)".into()),
        ("kernel", "tiled_static_16_f32".into()),
        ("tile", serde_json::json!([16, 16])),
        ("static_smem_bytes", 2048.into()),
        ("limit_bytes", 232_448.into()),
        ("verified", "full".into()),
        ("fallback", Value::Null),
    ] {
        assert_eq!(report[key], expected, "{key}");
    }
    let text = place.succeeds("matmul a.npy b.npy -o d.npy --backend sim");
    assert!(
        text.contains("says nothing of a GPU's time") && !text.contains("GFLOP/s"),
        "{text}"
    );
    let error = place.fails(2, "matmul a.npy b.npy -o e.npy --backend sim --tile 129");
    assert!(error.contains("nearest: 128"), "{error}");
}

#[test]
fn verify_runs_in_the_simulator() {
    let listing = Place::new().json("verify --backend sim --kernel tiled_static_16_f32");
    assert_eq!(
        (&listing["device"], &listing["passed"], &listing["failed"]),
        (&"simulator (sm_90 limits)".into(), &21.into(), &0.into())
    );
}

#[test]
fn the_demo_without_a_gpu_shows_the_simulator() {
    let place = Place::new();
    let text = place.succeeds("demo");
    assert!(
        text.contains("simulated: tiled_dynamic_16_f32 on 64 x 64 x 64: no fault, the result is right."),
        "{text}"
    );
    assert_eq!(text.matches("warp-wide reads of shared memory").count(), 2, "{text}");
    // What it proposes is a command that works.
    let (_, proposed) = text.split_once("`tilewright ").expect("proposes one");
    place.succeeds(proposed.split('`').next().expect("ends"));
    let listing = place.json("demo");
    assert_eq!(listing["simulated"]["clean"], true);
}
