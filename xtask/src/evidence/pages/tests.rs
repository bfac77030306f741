use super::*;

#[test]
fn links_with_titles_are_read_and_others_are_not() {
    let text = "[1.004 x](docs/results/README.md#a \"squares: mean\") rest";
    assert_eq!(
        link(text),
        Some((
            "1.004 x",
            "docs/results/README.md#a",
            "squares: mean",
            text.len() - " rest".len()
        ))
    );
    assert_eq!(link("[a](b) \"c\""), None);
    assert_eq!(link("[a [b](c \"d\")"), None);
}

#[test]
fn a_figure_is_written_as_the_text_has_it() {
    for (label, value, written) in [
        ("1.00", 1.0047, "1.00"),
        ("1.004", 1.0047, "1.005"),
        ("34 %", 33.6, "34 %"),
        ("30", 31.0, "31"),
    ] {
        assert_eq!(like(label, value), written);
    }
}

#[test]
fn numbers_with_a_point_are_found_and_versions_are_not() {
    let found = |text| decimals(text).into_iter().map(|(_, number)| number).collect::<Vec<_>>();
    assert_eq!(
        found("At 16.8 M, (0.83) and 7.7. Not 13.0.88, sm_9.0a, 2026-11-21 or 12."),
        ["16.8", "0.83", "7.7"]
    );
    let known = [16_777_216.0, 1.183, 0.15092];
    for (number, rest, is_there) in [
        ("16.8", " M of", true),
        ("16.9", " M of", false),
        ("16.8", " G", false),
        ("1.18", ", and", true),
        ("150.9", " µs", true),
        ("150.9", " M", false),
    ] {
        assert_eq!(is_among(number, rest, &known), is_there, "{number}{rest}");
    }
}

#[test]
fn times_and_speeds_need_a_result_or_a_commit() {
    let problems = |text: &str| {
        let mut problems = Vec::new();
        unclaimed("page", text, &mut problems);
        problems.len()
    };
    assert_eq!(problems("# a\n\nIt takes 21.1 us, 3.5 TB/s.\n"), 2);
    assert_eq!(problems("# a\n\nIt takes [21.1](results/README.md \"x\") us.\n"), 0);
    assert_eq!(problems("# a\n\nIt takes 21.1 us at commit 0123456789.\n"), 0);
    assert_eq!(
        problems("# a\n\nIt takes 21.1 us.\n\n# b\n\nAt commit 0123456789.\n"),
        1
    );
    assert_eq!(problems("# a\n\n<!-- t:begin -->\n| 2 us |\n<!-- t:end -->\n"), 0);
}

#[test]
fn the_stale_block_comes_and_goes() {
    let page = "# Page\n\nWords.\n\n## Measured\n\n[1](results/README.md \"x\")\n";
    let block = format!("{}> stale\n\n{}", STALE[0], STALE[1]);
    let with = with_stale(page, &block);
    assert!(with.contains("## Measured\n\n<!-- stale:begin -->\n> stale"), "{with}");
    assert_eq!(without_stale(&with).expect("it has an end"), page);
    assert!(without_stale("<!-- stale:begin -->\n").is_err());
    let placed = with_stale("# Page\n\n<!-- stale:here -->\n\n# Other\n\n.svg)\n", &block);
    assert!(
        placed.starts_with("# Page\n\n<!-- stale:here -->\n\n<!-- stale:begin -->"),
        "{placed}"
    );
}
