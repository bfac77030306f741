//! Slices: views, moves of memory, sorting, iterators.

use crate::generator::Generator;
use crate::tree::{Kind, Node};

use super::pointers::sum_of;

/// Sub-slices at run-time bounds, and what `core` makes of them.
pub fn views(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, array) = g.place(element, 16, false);
        let (low, high) = (g.expression("usize", 1), g.expression("usize", 2));
        let slice = g.name("slice");
        nodes.push(Node::statement(
            &format!("let {slice}: &[{element}] = &{}[(§) & 7..8 + ((§) & 7)];", array.name),
            vec![low, high],
        ));
        for _ in 0..g.between(1, 3) {
            let needle = g.expression(element, 1);
            let index = g.expression("usize", 1);
            let (text, children) = match g.below(10) {
                0 => ("S.len()".to_owned(), vec![]),
                1 => (
                    "S.chunks(3).map(|c| c[0].word() ^ c.len() as u64).fold(0u64, |a, b| a.rotate_left(5) ^ \
                b)"
                    .to_owned(),
                    vec![],
                ),
                2 => ("S.windows(2).filter(|w| w[0] <= w[1]).count()".to_owned(), vec![]),
                3 => (
                    "{ let needle = §; S.iter().position(|x| *x == needle).unwrap_or(99) }".to_owned(),
                    vec![needle],
                ),
                4 => (
                    "S.binary_search(&(§)).unwrap_or_else(|at| at + 100)".to_owned(),
                    vec![needle],
                ),
                5 => (
                    "{ let (a, b) = S.split_at((§) % (S.len() + 1)); a.len().wrapping_mul(7) ^ \
                b.first().map_or(3, |x| (*x).word() as usize) }"
                        .to_owned(),
                    vec![index],
                ),
                6 => (
                    "S.iter().rev().skip((§) & 3).step_by(2).fold(7u64, |a, x| a.wrapping_mul(3) ^ \
                (*x).word())"
                        .to_owned(),
                    vec![index],
                ),
                7 => ("S.get((§) & 15).copied().unwrap_or_default()".to_owned(), vec![index]),
                8 => (
                    "match S { [] => 1, [a] => (*a).word(), [a, .., b] => (*a).word() ^ \
                (*b).word().rotate_left(8) }"
                        .to_owned(),
                    vec![],
                ),
                _ => (
                    "{ let needle = §; S.partition_point(|x| *x < needle) }".to_owned(),
                    vec![needle],
                ),
            };
            let read = Node::new(Kind::Group, &text.replace('S', &slice), children);
            let node = g.sink(read);
            nodes.push(node);
        }
        nodes
    })
}

/// Copies, swaps, rotations and fills inside of an array and between two.
pub fn moves(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, to) = g.place(element, 16, true);
        let (more, from) = g.place(element, 16, false);
        nodes.extend(more);
        let (to, from) = (to.name, from.name);
        for _ in 0..g.between(1, 4) {
            let (i, j) = (g.expression("usize", 1), g.expression("usize", 2));
            let value = g.expression(element, 2);
            let (template, children) = match g.below(9) {
                0 => (
                    format!("{{ let at = (§) & 7; {to}[at..at + 8].copy_from_slice(&{from}[(§) & 7..][..8]); }}"),
                    vec![i, j],
                ),
                1 => (format!("{to}.copy_within((§) & 7..8 + ((§) & 7), 1);"), vec![i, j]),
                2 => (format!("{to}.swap((§) & 15, (§) & 15);"), vec![i, j]),
                3 => (format!("{to}[(§) & 7..8 + ((§) & 7)].reverse();"), vec![i, j]),
                4 => (format!("{to}[(§) & 7..].rotate_left((§) & 7);"), vec![i, j]),
                5 => (format!("{to}[(§) & 7..8 + ((§) & 7)].fill(§);"), vec![i, j, value]),
                6 => (
                    format!("{{ let (a, b) = {to}.split_at_mut(8); a.swap_with_slice(b); }}"),
                    vec![],
                ),
                7 => (
                    format!(
                        "unsafe {{ core::ptr::copy({to}.as_ptr().add((§) & 7), {to}.as_mut_ptr().add((§) & 7), 7); }}"
                    ),
                    vec![i, j],
                ),
                _ => (format!("{to}.copy_from_slice(&{from}[..]);"), vec![]),
            };
            nodes.push(Node::statement(&template, children));
        }
        nodes.push(sum_of(g, &to));
        nodes
    })
}

/// Sorts: written out, and those of `core`.
pub fn sorting(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let len = g.pick(&[4, 8, 16, 32]);
        let (mut nodes, array) = g.place(element, len, true);
        let name = array.name;
        let end = g.expression("usize", 1);
        let template = match g.below(5) {
            0 => "N[..(§) % (N.len() + 1)].sort_unstable();",
            1 => "N[..(§) % (N.len() + 1)].sort_unstable_by(|a, b| b.cmp(a));",
            2 => "N.select_nth_unstable((§) % N.len());",
            3 => {
                "for i in 1..1 + (§) % (N.len() - 1) { let mut j = i; \
                 while j > 0 && N[j - 1] > N[j] { N.swap(j - 1, j); j -= 1; } }"
            }
            _ => {
                "for gap in [7usize, 3, 1] { for i in gap..((§) % N.len()) { let value = N[i]; let mut j = i; \
                 while j >= gap && N[j - gap] > value { N[j] = N[j - gap]; j -= gap; } N[j] = value; } }"
            }
        };
        nodes.push(Node::statement(
            &template.replace("N.len()", &len.to_string()).replace('N', &name),
            vec![end],
        ));
        let middle = g.sink_text(&format!("{name}[{}]", len / 2));
        nodes.push(middle);
        nodes.push(sum_of(g, &name));
        nodes
    })
}

/// Chains of iterators.
pub fn iterators(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, a) = g.place(element, 8, false);
        let (more, b) = g.place(element, 8, false);
        nodes.extend(more);
        let (a, b) = (a.name, b.name);
        for _ in 0..g.between(1, 3) {
            let value = g.expression(element, 2);
            let take = g.between(1, 8);
            let text = match g.below(9) {
                0 => format!(
                    "{{ let v = §; {a}.iter().zip({b}.iter()).filter(|(x, y)| **x < **y || **x == \
                v).count() }}"
                ),
                1 => format!(
                    "{{ let v = §; {a}.iter().chain({b}.iter()).take({take}).fold(v.word(), |s, x| \
                s.wrapping_mul(9) ^ (*x).word()) }}"
                ),
                2 => format!("{a}.iter().copied().max().unwrap_or(§)"),
                3 => format!(
                    "{{ let v = §; {a}.iter().enumerate().min_by_key(|(i, x)| (**x ^ v, \
                *i)).map_or(55, |(i, _)| i) }}"
                ),
                4 => format!(
                    "{{ let v = §; let mut it = {a}.iter().peekable(); let mut runs = 0u64; while let Some(x) \
                     = it.next() {{ if it.peek().is_none_or(|y| **y > v || **y < *x) \
                     {{ runs = runs * 3 + 1; }} }} runs }}"
                ),
                5 => format!(
                    "{{ let v = §; {a}.iter().scan(v, |s, x| {{ *s = s.wrapping_add(*x); (*s > \
                *x).then_some(*s) }}).fold(1u64, |s, x| s.rotate_left(11) ^ x.word()) }}"
                ),
                6 => format!(
                    "{{ let v = §; {a}.iter().skip_while(|x| **x != \
                v).chain({b}.iter().take_while(|x| **x < v)).count() }}"
                ),
                7 => format!(
                    "{{ let v = §; {a}.iter().flat_map(|x| {b}.iter().map(move |y| \
                x.wrapping_mul(*y) ^ v)).fold(0u64, |s, x| s.wrapping_add(x.word())) }}"
                ),
                _ => format!("{{ let v = §; {a}.iter().rposition(|x| *x < v).map_or(8, |i| {b}[i].word()) }}"),
            };
            let read = Node::new(Kind::Group, &text, vec![value]);
            let node = g.sink(read);
            nodes.push(node);
        }
        nodes
    })
}
