//! The blocks of a page, written anew.

use std::fs;

use exercises::course::{Version, judged, named};

use crate::{answers, figures, program, root, said};

const END: &str = "<!-- end -->";

/// A page with its blocks written anew.
///
/// # Errors
/// A block that has no end, or names what there is not.
pub fn renew(page: &str) -> Result<String, String> {
    let mut anew = String::with_capacity(page.len());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        anew.push_str(line);
        anew.push('\n');
        let Some((kind, rest)) = opening(line) else { continue };
        if !lines.by_ref().any(|line| line == END) {
            return Err(format!("`{line}` has no end"));
        }
        anew.push_str(&contents(kind, rest).map_err(|error| format!("`{line}`: {error}"))?);
        anew.push_str(END);
        anew.push('\n');
    }
    Ok(anew)
}

/// The kind of a block and what follows it, where a line opens one.
fn opening(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.split_once(": ")?;
    let kinds = ["listing", "run", "said", "table", "figure", "exercises"];
    kinds.contains(&kind).then_some((kind, rest))
}

fn contents(kind: &str, rest: &str) -> Result<String, String> {
    let parts: Vec<&str> = rest.split(" // ").collect();
    match (kind, &parts[..]) {
        ("listing", [path, lines @ ..]) => {
            let text = fs::read_to_string(root().join(path)).map_err(|error| error.to_string())?;
            let language = match path.rsplit_once('.') {
                Some((_, "rs")) => "rust,ignore",
                _ => "text",
            };
            Ok(fenced(language, &dedented(&part(&text, lines, true)?)))
        }
        ("run", [command, lines @ ..]) => {
            let said = ran(command)?;
            let shown = part(&said, lines, false)?;
            let asked = match command.split_once(' ') {
                Some(("exercise", arguments)) => format!("cargo xtask exercise {arguments}"),
                Some(("corpus", pair)) => format!("cargo run -p simulator_corpus -- {pair}"),
                _ => (*command).to_owned(),
            };
            Ok(fenced("text", &format!("$ {asked}\n{shown}")))
        }
        ("said", [name]) => {
            let said = said::said(name).ok_or("the simulator was not asked")?;
            Ok(fenced("text", &alike(&said)))
        }
        ("table", [name]) => Ok(format!("\n{}\n", answers::table(name).ok_or("there is no such table")?)),
        ("figure", [name]) => {
            let figure = figures::ALL.iter().find(|figure| figure.name == *name);
            let figure = figure.ok_or("there is no such figure")?;
            Ok(format!("\n![{}](figures/{name}.svg)\n\n", figure.text))
        }
        ("exercises", [chapter]) => {
            let exercises = named(chapter)?;
            let items = exercises.iter().map(|exercise| {
                let (name, file) = (exercise.name(), exercise.file);
                let path = format!("../../../examples/exercises/src/{file}.rs");
                let first = exercise.title[..1].to_uppercase();
                format!("- **{name}** {first}{}. [`{file}.rs`]({path})\n", &exercise.title[1..])
            });
            Ok(format!("\n{}\n", items.collect::<String>()))
        }
        _ => Err("nobody can write this".to_owned()),
    }
}

fn fenced(language: &str, text: &str) -> String {
    format!("\n```{language}\n{}\n```\n\n", text.trim_end())
}

/// The lines from the one that begins with the first text to the next that begins with the second, or is its closing
/// brace; all without any. Of a file the first must be unmistakable.
fn part(text: &str, ends: &[&str], of_file: bool) -> Result<String, String> {
    let [first, last] = ends else {
        return match ends {
            [] => Ok(text.to_owned()),
            _ => Err("a part has a first and a last line".to_owned()),
        };
    };
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let starts = |from: usize, with: &str| (from..lines.len()).find(|&at| lines[at].trim_start().starts_with(with));
    let begin = starts(0, first).ok_or_else(|| format!("no line begins with `{first}`"))?;
    if of_file && starts(begin + 1, first).is_some() {
        return Err(format!("two lines begin with `{first}`"));
    }
    let closes = |at: &usize| lines[*at].trim_start().starts_with(last) && indent(lines[*at]) == indent(lines[begin]);
    let end = match last.starts_with('}') {
        true => (begin + 1..lines.len()).find(closes),
        false => starts(begin, last),
    };
    let end = end.ok_or_else(|| format!("no line after it begins with `{last}`"))?;
    Ok(lines[begin..=end].join("\n"))
}

/// The lines without what they are all indented by.
fn dedented(text: &str) -> String {
    let indented = |line: &&str| !line.trim().is_empty();
    let by = text
        .lines()
        .filter(indented)
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.get(by.unwrap_or(0)..).unwrap_or(""))
        .collect();
    lines.join("\n")
}

/// What is printed, without what differs between runs and builds: the time that it took, and the callers, which only a
/// build with debug information has.
fn alike(said: &str) -> String {
    let differs = |line: &&str| line.starts_with("simulated in") || line.trim_start().starts_with("called by ");
    let lines = said.lines().filter(|line| !differs(line));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What a command prints.
fn ran(command: &str) -> Result<String, String> {
    let arguments: Vec<String> = words(command);
    let [name, arguments @ ..] = &arguments[..] else {
        return Err("there is no command".to_owned());
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match name.as_str() {
        "tilewright" => program(&arguments),
        "exercise" => exercise(&arguments)?,
        "corpus" => pairs(&arguments)?,
        other => return Err(format!("`{other}` is no program of ours")),
    };
    Ok(alike(&said))
}

/// The words of a command; quotes keep one together.
fn words(command: &str) -> Vec<String> {
    let pieces = command.split('"').enumerate();
    pieces
        .flat_map(|(at, piece)| match at % 2 {
            0 => piece.split_whitespace().map(str::to_owned).collect(),
            _ => vec![piece.to_owned()],
        })
        .collect()
}

/// What `cargo run -p simulator_corpus` prints of pairs.
fn pairs(names: &[&str]) -> Result<String, String> {
    let texts = names.iter().map(|name| simulator_corpus::told(name));
    texts
        .collect::<Option<String>>()
        .ok_or_else(|| format!("{names:?} are not all pairs"))
}

/// What `cargo xtask exercise` prints of the files as they are handed out, or of the solutions.
fn exercise(arguments: &[&str]) -> Result<String, String> {
    let has = |option: &str| arguments.contains(&option);
    let version = if has("--solution") {
        Version::Solution
    } else {
        Version::Yours
    };
    let mut said = String::new();
    for name in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        for exercise in named(name)? {
            said.push_str(&judged(exercise, version, has("--hint")).0);
        }
    }
    Ok(said)
}

#[test]
fn what_differs_between_runs_and_builds_is_left_out() {
    let said = "a fault  \n      called by f at a.rs:1\n    hint: a word\nsimulated in 0.1 s\n";
    assert_eq!(alike(said), "a fault\n    hint: a word\n");
}

#[test]
fn blocks_are_replaced_and_what_is_between_stays() {
    let page = "a\n<!-- exercises: 1 -->\nold\n<!-- end -->\nb\n";
    let anew = renew(page).expect("a block");
    assert!(
        anew.starts_with("a\n<!-- exercises: 1 -->\n\n- **1.1** A matrix"),
        "{anew}"
    );
    assert!(anew.ends_with("\n<!-- end -->\nb\n") && !anew.contains("old"), "{anew}");
    assert_eq!(renew(&anew).as_ref(), Ok(&anew));
    for wrong in [
        "<!-- exercises: 1 -->\n",
        "<!-- exercises: 99 -->\n<!-- end -->\n",
        "<!-- figure: none -->\n<!-- end -->\n",
        "<!-- listing: Cargo.toml // [workspace] // nothing -->\n<!-- end -->\n",
    ] {
        assert!(renew(wrong).is_err(), "{wrong}");
    }
}
