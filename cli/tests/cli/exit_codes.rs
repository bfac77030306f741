//! The one table of exit codes, and the one route of errors: a line on standard error, with `--json` an object.

use serde_json::Value;

use super::{Place, with_operands};

/// Where a run says what went wrong.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    /// In a line.
    Line,
    /// In what clap says of its usage.
    Usage,
    /// In its result, and a line.
    Result,
}

/// Exit code, kind and arguments of runs that fail, at least one a command.
const RUNS: [(i32, &str, Says, &str); 25] = [
    // A tile that does not fit into shared memory.
    (
        2,
        "input",
        Says::Result,
        "plan --arch sm_120 --dtype bf16 --tile 128x256x64 --stages 4",
    ),
    (
        2,
        "input",
        Says::Result,
        "plan --arch sm_90 --tile 64x64x64 --stages 2 --margin 232447",
    ),
    (
        2,
        "input",
        Says::Line,
        "plan --arch sm_120 -m 64 -n 64 -k 64 --margin 101375",
    ),
    (
        2,
        "input",
        Says::Line,
        "sim auto -m 1 -n 1 -k 1 --tile 128 --arch sm_120",
    ),
    (
        2,
        "input",
        Says::Line,
        "matmul a.npy b.npy -o c.npy --backend sim --tile 128 --smem-limit 1024",
    ),
    (
        2,
        "input",
        Says::Line,
        "demo --backend sim --tile 128 --smem-limit 1024",
    ),
    // Other inputs and requests.
    (2, "input", Says::Usage, "frobnicate"),
    (2, "input", Says::Usage, "matmul a.npy b.npy"),
    (2, "input", Says::Usage, "device --device one"),
    (2, "input", Says::Usage, "ptx --levels"),
    (2, "input", Says::Line, "matmul a.npy missing.npy -o c.npy"),
    (2, "input", Says::Line, "plan --arch sm_70 --tile 64x64x64"),
    (2, "input", Says::Line, "verify --kernel r99"),
    (2, "input", Says::Line, "sim r99 -m 1 -n 1 -k 1"),
    (2, "input", Says::Line, "inspect --kernel r99"),
    (2, "input", Says::Line, "bench --suite cubes"),
    (2, "input", Says::Usage, "bench --random 0"),
    // The environment.
    (1, "environment", Says::Line, "sim auto -m 60000 -n 60000 -k 60000"),
    // No GPU.
    (3, "unavailable", Says::Line, "device"),
    (3, "unavailable", Says::Line, "verify"),
    (
        3,
        "unavailable",
        Says::Line,
        "matmul a.npy b.npy -o c.npy --backend gpu",
    ),
    (3, "unavailable", Says::Line, "bench -m 64 -n 64 -k 64"),
    (3, "unavailable", Says::Line, "bench --random 1"),
    (3, "unavailable", Says::Line, "demo --backend gpu"),
    (3, "unavailable", Says::Line, "plan --tile 64x64x64"),
];

#[test]
fn every_command_uses_the_one_table_and_the_one_route() {
    let place = with_operands();
    for (code, kind, says, arguments) in RUNS {
        let [plain, json] = ["", " --json"].map(|json| {
            let output = place.run(&format!("{arguments}{json}"));
            assert_eq!(output.status.code(), Some(code), "`{arguments}{json}`: {output:?}");
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"))
        });
        let lines = plain[1].lines().count();
        assert!(plain[1].starts_with("error: "), "`{arguments}`: {}", plain[1]);
        assert!(lines == 1 || says == Says::Usage, "`{arguments}`: {}", plain[1]);
        assert_eq!(plain[0].is_empty(), says != Says::Result, "`{arguments}`: {}", plain[0]);

        let document: Value = serde_json::from_str(&json[0]).unwrap_or_else(|error| panic!("`{arguments}`: {error}"));
        if says == Says::Result {
            assert_eq!(document["fits"], false, "`{arguments}`: {document}");
            continue;
        }
        let error = &document["error"];
        assert_eq!(
            (&error["kind"], &error["exit_code"]),
            (&Value::from(kind), &Value::from(code)),
            "`{arguments}`: {document}"
        );
        let message = error["message"].as_str().expect("text");
        assert!(
            !message.is_empty() && !message.contains('\n'),
            "`{arguments}`: {message}"
        );
        if says == Says::Line {
            assert_eq!(json[1], format!("error: {message}\n"), "`{arguments}`");
        }
    }
    assert!(!place.path("c.npy").exists());
}

#[test]
fn help_has_the_table() {
    let help = Place::new().succeeds("--help");
    for (code, words) in [
        (0, "done"),
        (1, "the environment failed"),
        (2, "a tile that does not fit"),
        (3, "nothing to run on"),
        (4, "a wrong result"),
    ] {
        let row = help
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{code}  ")));
        assert!(row.is_some_and(|row| row.contains(words)), "{code}: {help}");
    }
    // Help is no error, also where JSON was asked for.
    assert!(Place::new().run("matmul --help --json").status.success());
}
