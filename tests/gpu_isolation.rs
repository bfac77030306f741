//! That a fault of one GPU test leaves those after it alone: the way the GPU test program runs tests, with tests that
//! fail, panic and abort, and no GPU.

#[path = "gpu/trial.rs"]
mod trial;

use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed};
use trial::Trial;

type Outcome = Result<(), Failed>;

/// A fault of the process that stands for what an illegal address does to a context: once it happened everything fails.
static BROKEN: Mutex<bool> = Mutex::new(false);

fn use_context(breaks: bool) -> Outcome {
    let mut broken = BROKEN.lock().expect("nobody panics with it");
    let was_broken = *broken;
    *broken |= breaks;
    if was_broken || breaks {
        return Err("the context is gone".into());
    }
    Ok(())
}

fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_passes", || use_context(false)),
        Trial::test("b_breaks_the_context", || use_context(true)),
        Trial::test("c_passes", || use_context(false)),
        Trial::test("d_panics", || panic!("as it should")),
        Trial::test("e_passes", || use_context(false)),
        Trial::test("f_aborts", || std::process::abort()),
        Trial::test("g_passes", || use_context(false)),
        Trial::test("h_says_two_lines", || Err("one\ntwo".into())),
    ]
}

fn main() {
    if let Some(code) = trial::run_as_worker(trials) {
        std::process::exit(code);
    }
    let ended = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ended);
    let tests = trial::in_workers(trials(), move |name, outcome, _| {
        let reason = outcome
            .as_ref()
            .err()
            .map(|failed| failed.message().unwrap_or_default().to_owned());
        told.lock()
            .expect("nobody panics with it")
            .push((name.to_owned(), reason));
    });
    // What the harness says of these is no result of this program.
    let log = std::env::temp_dir().join(format!("tilewright-isolation-{}", std::process::id()));
    let arguments = Arguments {
        test_threads: Some(1),
        logfile: Some(log.display().to_string()),
        ..Arguments::default()
    };
    let conclusion = libtest_mimic::run(&arguments, tests);
    let _ = std::fs::remove_file(log);

    assert_eq!((conclusion.num_passed, conclusion.num_failed), (4, 4));
    let ended = ended.lock().expect("nobody panics with it");
    let names: Vec<_> = trials().iter().map(|trial| trial.name().to_owned()).collect();
    assert!(ended.iter().map(|(name, _)| name).eq(&names), "{ended:?}");
    let reason = |name: &str| {
        let found = ended.iter().find(|(of, _)| of.starts_with(name));
        found.unwrap_or_else(|| panic!("{name} was not run")).1.as_deref()
    };
    for passes in ["a_", "c_", "e_", "g_"] {
        assert_eq!(reason(passes), None, "{passes}");
    }
    assert_eq!(reason("b_"), Some("the context is gone"));
    assert_eq!(reason("d_"), Some("it panicked: as it should"));
    assert!(reason("f_").is_some_and(|reason| reason.starts_with("its process ended: signal: 6")));
    assert_eq!(reason("h_"), Some("one\ntwo"));
    println!("test isolation ... ok");
}
