//! Every subject is total and deterministic, has a name of its own, and depends on its input.

use std::collections::BTreeSet;

use device_rust::{Subject, UNWRITTEN, all, inputs};

fn run(subject: &Subject, inputs: &[u64]) -> Vec<Vec<u64>> {
    inputs
        .chunks_exact(subject.input_words)
        .map(|input| {
            let mut output = vec![UNWRITTEN; subject.output_words];
            (subject.run)(input, &mut output);
            output
        })
        .collect()
}

#[test]
fn there_are_many_subjects_of_different_names() {
    let subjects = all();
    assert!(subjects.len() >= 280, "{} subjects", subjects.len());
    let names: BTreeSet<_> = subjects.iter().map(|subject| subject.name).collect();
    assert_eq!(names.len(), subjects.len(), "two subjects have one name");
}

/// Checks every subject and names all that fail, a panic being a failure too.
fn check_all(check: fn(&Subject)) {
    let failed: Vec<_> = all()
        .into_iter()
        .filter(|subject| std::panic::catch_unwind(|| check(subject)).is_err())
        .map(|subject| subject.name)
        .collect();
    assert!(failed.is_empty(), "failed: {failed:?}");
}

#[test]
fn equal_inputs_give_equal_outputs() {
    check_all(|subject| {
        for seed in 0..2 {
            let inputs = inputs(subject, seed);
            assert_eq!(inputs.len(), subject.cases * subject.input_words);
            assert_eq!(run(subject, &inputs), run(subject, &inputs));
        }
    });
}

#[test]
fn outputs_depend_on_inputs_and_fill_every_word() {
    check_all(|subject| {
        let outputs = run(subject, &inputs(subject, 1));
        let distinct: BTreeSet<_> = outputs.iter().collect();
        assert!(
            distinct.len() * 2 >= subject.cases.min(8),
            "{} different outputs",
            distinct.len()
        );
        for (i, output) in outputs.iter().enumerate() {
            assert!(!output.contains(&UNWRITTEN), "case {i}: a word is not written");
        }
    });
}

#[test]
fn inputs_depend_on_subject_and_seed_alone() {
    let subjects = all();
    assert_eq!(inputs(&subjects[0], 7), inputs(&subjects[0], 7));
    assert_ne!(inputs(&subjects[0], 7), inputs(&subjects[0], 8));
}
