extern crate std;

use std::collections::BTreeSet;
use std::format;
use std::string::String;
use std::vec::Vec;

use cuda_arch::ARCHITECTURES;
use roxmltree::{Document, Node};

use super::text;
use super::{Bar, svg, svg_of_width};
use crate::{Accumulator, Epilogue, EpilogueTile, GemmType, Path, Template, TileShape, Worksheet, worksheet};

/// Worksheets of every architecture and type, small and much too large, with every kind of part.
fn sheets() -> Vec<Worksheet> {
    let mut sheets = Vec::new();
    for arch in &ARCHITECTURES {
        for ty in GemmType::all() {
            for (tile, stages) in [((128, 128, 128), 2), ((128, 256, 128), 4), ((128, 64, 256), 60)] {
                let tile = TileShape::new(tile.0, tile.1, tile.2);
                let Some(usual) = Template::usual(arch, ty, tile, stages) else {
                    continue;
                };
                let piece = EpilogueTile {
                    m: 64,
                    n: 32,
                    buffers: 2,
                };
                let variants = [
                    usual,
                    Template {
                        epilogue: Epilogue::Own(piece),
                        static_bytes: 100,
                        scratch_per_warp_bytes: 260,
                        ..usual
                    },
                    Template {
                        epilogue: Epilogue::Reuse(piece),
                        accumulator: match usual.path {
                            Path::Simt | Path::MmaSync => Accumulator::SharedMemory,
                            Path::Wgmma | Path::Tcgen05 => usual.accumulator,
                        },
                        ..usual
                    },
                ];
                sheets.extend(
                    variants
                        .iter()
                        .filter_map(|template| worksheet(template, arch, 1024).ok()),
                );
            }
        }
    }
    // Every seventh is enough: neighbours are alike.
    let sheets: Vec<_> = sheets.into_iter().step_by(7).collect();
    assert!(sheets.len() > 100, "{}", sheets.len());
    sheets
}

const LABELS: [&str; 4] = [
    "as asked",
    "a label that says much more than there is room for, whatever the width of the picture may be, and then goes on",
    "<b> & \"quoted\" \u{1} ü",
    "",
];

/// Calls `check` with pictures of 1 to 8 bars in three widths; every sheet is in some.
fn for_pictures(check: impl Fn(&[Bar<'_>], &Document<'_>)) {
    let sheets = sheets();
    let mut rest = &sheets[..];
    for count in (1..=8).cycle() {
        let (some, others) = rest.split_at(count.min(rest.len()));
        if some.is_empty() {
            return;
        }
        rest = others;
        let bars: Vec<Bar<'_>> = some
            .iter()
            .enumerate()
            .map(|(index, sheet)| Bar {
                label: LABELS[(index + rest.len()) % LABELS.len()],
                sheet,
            })
            .collect();
        for width in [0, 560, 960] {
            let picture = svg_of_width(&bars, width);
            check(&bars, &parse(&picture));
        }
    }
}

fn parse(picture: &str) -> Document<'_> {
    Document::parse(picture).unwrap_or_else(|error| panic!("{error}\n{picture}"))
}

fn of_class<'a>(document: &'a Document<'a>, class: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| {
        node.attribute("class")
            .is_some_and(|all| all.split(' ').any(|one| one == class))
    })
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("{node:?} has no {name}"));
    text.parse().expect("a number")
}

fn bytes(node: Node<'_, '_>) -> u64 {
    number(node, "data-bytes") as u64
}

#[test]
fn every_part_is_drawn_in_proportion() {
    for_pictures(|bars, document| {
        let named = of_class(document, "tw-named").last().expect("limits");
        assert_eq!(bytes(named), 232_448);
        let zero = of_class(document, "tw-free")
            .map(|node| number(node, "x"))
            .next()
            .expect("a bar");
        let pixels_per_byte = (number(named, "x1") - zero) / 232_448.0;
        let end = number(document.root_element(), "width") - 16.0;
        let x = |bytes: u64| (zero + bytes as f64 * pixels_per_byte).min(end);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.05, "{a} {b}");

        let mut parts = of_class(document, "tw-part");
        let mut over = of_class(document, "tw-over");
        let mut own = of_class(document, "tw-own");
        for Bar { sheet, .. } in bars {
            let mut begin = 0;
            let drawn = sheet.components.iter().filter(|component| component.bytes > 0);
            for component in drawn {
                let part = parts.next().expect("a part for every component");
                assert_eq!(part.attribute("data-name"), Some(&*component.name));
                assert_eq!(bytes(part), component.bytes);
                near(number(part, "x"), x(begin));
                begin += component.bytes;
                near(number(part, "x") + number(part, "width"), x(begin));
            }
            assert_eq!(begin, sheet.total_bytes);
            near(number(own.next().expect("the limit"), "x1"), x(sheet.limit_bytes));
            if !sheet.fits {
                let over = over.next().expect("marked");
                assert_eq!(bytes(over), sheet.over_by_bytes);
                near(number(over, "x"), x(sheet.limit_bytes - sheet.margin_bytes));
                near(number(over, "x") + number(over, "width"), x(sheet.total_bytes));
            }
        }
        assert_eq!((parts.count(), over.count()), (0, 0));
        // Its line of the table.
        assert_eq!(own.count(), 1);
    });
}

#[test]
fn the_table_has_every_part_and_every_number() {
    for_pictures(|bars, document| {
        let texts: Vec<&str> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| node.text())
            .collect();
        for Bar { sheet, .. } in bars {
            for component in &sheet.components {
                assert!(texts.contains(&&*component.name), "{}", component.name);
                assert!(texts.contains(&&*format!("{}", component.bytes)));
            }
            for number in [
                sheet.total_bytes,
                sheet.limit_bytes,
                sheet.reserved_bytes,
                sheet.margin_bytes,
            ] {
                assert!(texts.contains(&&*format!("{number}")), "{number}");
            }
            let verdict = if sheet.fits {
                sheet.left_bytes
            } else {
                sheet.over_by_bytes
            };
            assert!(texts.contains(&&*format!("{verdict}")));
        }
    });
}

#[test]
fn parts_differ_by_their_pattern() {
    for_pictures(|_, document| {
        let patterns: BTreeSet<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("pattern"))
            .filter_map(|node| node.attribute("id"))
            .collect();
        let mut used = BTreeSet::new();
        for part in of_class(document, "tw-part") {
            let fill = part.attribute("fill").expect("filled");
            let id = fill.trim_start_matches("url(#").trim_end_matches(')');
            assert!(patterns.contains(id), "{fill}");
            used.insert((part.attribute("data-name"), id));
        }
        let names: BTreeSet<_> = used.iter().map(|(name, _)| name).collect();
        let fills: BTreeSet<_> = used.iter().map(|(_, id)| id).collect();
        assert_eq!((names.len(), fills.len()), (used.len(), used.len()), "{used:?}");
    });
}

/// The box of a text: left, top, right, bottom.
fn text_box(node: Node<'_, '_>) -> [f64; 4] {
    let size = node
        .attribute("font-size")
        .map_or(text::SIZE, |size| size.parse().expect("a number"));
    let bold = node.attribute("font-weight").is_some();
    let width = text::width(node.text().unwrap_or_default(), size, bold);
    let left = number(node, "x")
        - match node.attribute("text-anchor") {
            None => 0.0,
            Some("middle") => width / 2.0,
            Some(_) => width,
        };
    let base = number(node, "y");
    [left, base - 0.76 * size, left + width, base + 0.24 * size]
}

#[test]
fn no_text_lies_over_another_or_beyond_the_border() {
    for_pictures(|_, document| {
        let root = document.root_element();
        let (width, height) = (number(root, "width"), number(root, "height"));
        let texts: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| (node.text().unwrap_or_default(), text_box(node)))
            .collect();
        for (index, (text, [left, top, right, bottom])) in texts.iter().enumerate() {
            assert!(
                *left >= 0.0 && *top >= 0.0 && *right <= width && *bottom <= height,
                "`{text}`: {left} {top} {right} {bottom} in {width} x {height}"
            );
            for (other, [l, t, r, b]) in &texts[..index] {
                assert!(
                    left >= r || l >= right || top >= b || t >= bottom,
                    "`{text}` over `{other}` in a picture of width {width}"
                );
            }
        }
    });
}

#[test]
fn readers_who_cannot_see_are_told() {
    let sheets = sheets();
    let over = sheets.iter().find(|sheet| !sheet.fits).expect("one is too large");
    let picture = svg(&[Bar {
        label: "a <tile>",
        sheet: over,
    }]);
    let document = parse(&picture);
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    for id in root.attribute("aria-labelledby").expect("labelled").split(' ') {
        let node = document.descendants().find(|node| node.attribute("id") == Some(id));
        assert!(
            node.and_then(|node| node.text()).is_some_and(|text| text.len() > 20),
            "{id}"
        );
    }
    let told = document
        .descendants()
        .find(|node| node.has_tag_name("desc"))
        .and_then(|node| node.text());
    let expected = format!("over by {} B", over.over_by_bytes);
    assert!(
        told.is_some_and(|told| told.contains(&expected) && told.contains("a <tile>")),
        "{told:?}"
    );
}

#[test]
fn the_same_bars_give_the_same_picture() {
    let draw = || {
        let sheets = sheets();
        let bars: Vec<Bar<'_>> = sheets[..8].iter().map(|sheet| Bar { label: "x", sheet }).collect();
        svg(&bars)
    };
    let picture = draw();
    assert_eq!(picture, draw());
    // Another label is another picture.
    assert_ne!(picture, svg(&[]));
    parse(&svg(&[]));
}

#[test]
fn what_xml_cannot_hold_is_replaced() {
    let all: String = (0..0x3000).filter_map(char::from_u32).collect();
    let text = format!("<a b=\"{}\">{}</a>", text::Escaped(&all), text::Escaped(&all));
    let document = parse(&text);
    let read = document.root_element().text().expect("text");
    assert!(read.contains("&") && read.contains("<") && read.contains('\u{fffd}') && read.contains('ü'));
    assert_eq!(format!("{}", text::Kib(101_376)), "99 KiB");
    assert_eq!(format!("{} {}", text::Kib(101_377), text::Kib(1)), "99.0 KiB 0.0 KiB");
}

#[test]
fn long_texts_are_cut_to_the_room() {
    for room in [20.0, 60.0, 200.0] {
        let cut = text::cut(LABELS[1], room, text::SIZE, true);
        assert!(
            text::width(&cut, text::SIZE, true) <= room && cut.ends_with('…'),
            "{cut}"
        );
    }
    assert_eq!(text::cut("short", 200.0, text::SIZE, false), "short");
}
