//! Runs pairs of the corpus: `cargo run -p simulator_corpus -- no_proxy_fence`; without a name it lists them.

use std::process::ExitCode;

use simulator_corpus::{FAMILIES, told};

/// A wrong command line; the same number as that of `tilewright`.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        for family in FAMILIES {
            println!("{}", family.path());
            for pair in family.pairs {
                println!("  {}", pair.name);
            }
        }
    }
    for name in &names {
        let Some(text) = told(name) else {
            eprintln!("error: there is no pair `{name}`; without a name, all are listed");
            return ExitCode::from(USAGE);
        };
        print!("{text}");
    }
    ExitCode::SUCCESS
}
