//! That a fault of one GPU test leaves those after it alone, and that a test that is to be alone is: the way the GPU
//! test program runs tests, with tests that fail, panic and abort, and no GPU.

#[path = "gpu/trial.rs"]
mod trial;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed};
use trial::{Trial, Workers};

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

/// Tests that each say for a while that they run, and one that must see none of them do so.
fn crowd() -> Vec<Trial> {
    let beside = |number: u32| {
        Trial::test(format!("crowd_{number}"), move || {
            let sign = signs()?.join(number.to_string());
            std::fs::write(&sign, "")?;
            std::thread::sleep(Duration::from_millis(50));
            std::fs::remove_file(sign)?;
            Ok(())
        })
    };
    let alone = Trial::test("crowd_alone", || {
        std::thread::sleep(Duration::from_millis(20));
        match std::fs::read_dir(signs()?)?.count() {
            0 => Ok(()),
            others => Err(format!("{others} others run").into()),
        }
    });
    let mut trials: Vec<Trial> = (0..12).map(beside).collect();
    trials.insert(6, alone.alone());
    trials
}

/// Where the tests of the crowd say that they run: a folder that the parent of all of them names.
fn signs() -> Result<PathBuf, Failed> {
    std::env::var_os("CUDA_VISIBLE_DEVICES")
        .map(PathBuf::from)
        .ok_or_else(|| "no folder".into())
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
    if let Some(code) = trial::run_as_worker(|| trials().into_iter().chain(crowd()).collect()) {
        std::process::exit(code);
    }
    let ended = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ended);
    let workers = Workers::new(&["0".to_owned()], 1, 1);
    let tests = trial::in_workers(trials(), workers, move |name, outcome, _| {
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

    // What names the GPU of a worker names their folder here.
    let folder = std::env::temp_dir().join(format!("tilewright-crowd-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("writable");
    let workers = Workers::new(&[folder.display().to_string()], 4, 4);
    let arguments = Arguments {
        test_threads: Some(workers.count()),
        ..arguments
    };
    let conclusion = libtest_mimic::run(&arguments, trial::in_workers(crowd(), workers, |_, _, _| {}));
    let _ = std::fs::remove_dir_all(folder);
    assert_eq!((conclusion.num_passed, conclusion.num_failed), (13, 0));
    let _ = std::fs::remove_file(log);
    println!("test a crowd, and one alone ... ok");
}
