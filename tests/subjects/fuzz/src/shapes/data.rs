//! Structures, enumerations, arrays, wide integers, atomics and cells.

use crate::generator::{Array, Generator};
use crate::tree::{Kind, Node};

use super::pointers::sum_of;

/// A structure of mixed widths, passed by value and by reference.
pub fn structure(g: &mut Generator) -> Node {
    let name = g.name("Record");
    let helper = g.name("update");
    let attribute = g.inlining();
    let types: Vec<_> = (0..g.between(2, 4)).map(|_| g.scalar()).collect();
    let fields: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("f{i}: {ty}")).collect();
    let packed = g.pick(&["", "", "#[repr(C)]\n", "#[repr(align(16))]\n"]);
    let by_value = g.chance(50);
    let words: Vec<String> = (0..types.len()).map(|i| format!("r.f{i}.word()")).collect();
    let sum = words.join(".wrapping_mul(3) ^ ");
    let parameter = if by_value { "mut r" } else { "r" };
    let ty = if by_value { name.clone() } else { format!("&mut {name}") };
    g.items.push(Node::statement(
        &format!(
            "{packed}#[derive(Clone, Copy, PartialEq)]\nstruct {name} {{ {} }}\n\
             {attribute}fn {helper}({parameter}: {ty}, other: {}) -> u64 {{\nr.f0 = other;\n{sum}\n}}",
            fields.join(", "),
            types[0]
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let variable = g.name("r");
        let marks: Vec<String> = (0..types.len()).map(|i| format!("f{i}: §")).collect();
        let values = types.iter().map(|ty| g.expression(ty, 2)).collect();
        let mut nodes = vec![Node::statement(
            &format!("let mut {variable} = {name} {{ {} }};", marks.join(", ")),
            values,
        )];
        let copies = g.name("copies");
        nodes.push(Node::statement(
            &format!("let mut {copies} = [{variable}; 4];"),
            Vec::new(),
        ));
        for _ in 0..g.between(1, 3) {
            let field = g.below(types.len());
            let index = g.expression("usize", 1);
            let value = g.expression(types[field], 2);
            nodes.push(Node::statement(
                &format!("{copies}[(§) & 3].f{field} = §;"),
                vec![index, value],
            ));
        }
        let value = g.expression(types[0], 2);
        let index = g.expression("usize", 1);
        let argument = if by_value { "" } else { "&mut " };
        let called = Node::new(
            Kind::Group,
            &format!("{helper}({argument}{copies}[(§) & 3], §)"),
            vec![index, value],
        );
        let node = g.sink(called);
        nodes.push(node);
        let condition = g.expression("bool", 2);
        nodes.push(Node::statement(
            &format!("if § {{ {variable} = {copies}[1]; }}"),
            vec![condition],
        ));
        let field = g.below(types.len());
        let read = g.sink_text(&format!("{variable}.f{field}"));
        let equal = g.sink_text(&format!("{copies}[0] == {copies}[2]"));
        nodes.extend([read, equal]);
        nodes
    })
}

/// An enumeration with payloads, some of them with niches, made by one helper and read by another.
pub fn enumeration(g: &mut Generator) -> Node {
    let name = g.name("Choice");
    let (make, read) = (g.name("make"), g.name("weigh"));
    let (first, second) = (g.inlining(), g.inlining());
    let (a, b, c) = (g.integer(), g.scalar(), g.integer());
    g.items.push(Node::statement(
        &format!(
            "#[derive(Clone, Copy)]\nenum {name} {{ Empty, One({a}), Two {{ x: {b}, y: {c} }}, \
             Flag(Option<bool>), Place(Option<core::num::NonZeroU32>) }}\n\
             {first}fn {make}(kind: u64, x: {a}, y: {b}, z: {c}) -> {name} {{\nmatch kind % 6 {{\n\
             0 => {name}::Empty,\n1 => {name}::One(x),\n2 => {name}::Two {{ x: y, y: z }},\n\
             3 => {name}::Flag((kind & 64 != 0).then_some(kind & 128 != 0)),\n\
             4 => {name}::Place(core::num::NonZeroU32::new((kind >> 3) as u32 & 3)),\n_ => {name}::One(!x),\n}}\n}}\n\
             {second}fn {read}(choice: &{name}) -> u64 {{\nmatch choice {{\n\
             {name}::Empty => 11,\n{name}::One(x) if *x > 9 => (*x).word() ^ 5,\n{name}::One(x) => (*x).word(),\n\
             {name}::Two {{ x, y }} => (*x).word().wrapping_add((*y).word()),\n{name}::Flag(None) => 21,\n\
             {name}::Flag(Some(true)) => 22,\n{name}::Flag(Some(false)) => 23,\n\
             {name}::Place(Some(n)) => n.get() as u64 + 30,\n{name}::Place(None) => 40,\n}}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let variable = g.name("choice");
        let call = format!("{make}(§, §, §, §)");
        let arguments = |g: &mut Generator| {
            vec![
                g.expression("u64", 2),
                g.expression(a, 2),
                g.expression(b, 2),
                g.expression(c, 2),
            ]
        };
        let values = arguments(g);
        let mut nodes = vec![Node::statement(&format!("let mut {variable} = {call};"), values)];
        let condition = g.expression("bool", 2);
        let mut values = vec![condition];
        values.extend(arguments(g));
        nodes.push(Node::statement(&format!("if § {{ {variable} = {call}; }}"), values));
        let list = g.name("list");
        let values = arguments(g);
        let index = g.expression("usize", 1);
        nodes.push(Node::statement(
            &format!("let {list} = [{variable}, {call}, {name}::Empty, {variable}];"),
            values,
        ));
        let weighed = Node::new(Kind::Group, &format!("{read}(&{list}[(§) & 3])"), vec![index]);
        let node = g.sink(weighed);
        nodes.push(node);
        let node = g.sink_text(&format!("{read}(&{variable})"));
        nodes.push(node);
        nodes
    })
}

/// A local or shared array that statements in scope read and write at run-time indices.
pub fn local_array(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let len = g.pick(&[2, 4, 8, 16, 32]);
        let (mut nodes, array) = g.place(element, len, true);
        g.arrays.push(array.clone());
        let loops = g.between(1, 2);
        for _ in 0..loops {
            let rounds = g.between(2, len.max(3));
            let body = g.scope(|g| {
                let index = g.expression("usize", 1);
                let value = g.expression(element, 2);
                let store = Node::statement(
                    &format!("{0}[((§) ^ k) & {1}] = {0}[k & {1}] ^ §;", array.name, len - 1),
                    vec![index, value],
                );
                vec![store, g.statement()]
            });
            nodes.push(Node::statement(
                &format!("for k in 0..{rounds}usize {{\n§}}"),
                vec![body],
            ));
        }
        nodes.push(sum_of(g, &array.name));
        nodes
    })
}

/// A loop whose body is chosen by a state that the body changes.
pub fn state_machine(g: &mut Generator) -> Node {
    g.nested(|g| {
        let (state, word) = (g.name("state"), g.name("word"));
        let value = g.expression("u64", 2);
        let states = g.between(3, 7);
        let rounds = g.between(3, 20);
        let mut nodes = vec![Node::statement(
            &format!("let (mut {state}, mut {word}) = (0u32, §);"),
            vec![value],
        )];
        let mut template = format!("for _ in 0..{rounds} {{\nmatch {state} {{\n");
        let mut children = Vec::new();
        for arm in 0..states {
            let next = g.below(states + 1);
            let other = g.below(states);
            let change = g.pick(&[
                "rotate_left(9)",
                "wrapping_mul(0x9e37_79b9)",
                "wrapping_add(12345)",
                "swap_bytes()",
            ]);
            let bit = g.below(64);
            template.push_str(&format!("{arm} => {{\n§}}\n"));
            let mut arm_nodes = vec![
                Node::statement(&format!("{word} = {word}.{change};"), Vec::new()),
                Node::statement(
                    &format!("{state} = if {word} >> {bit} & 1 == 1 {{ {next} }} else {{ {other} }};"),
                    Vec::new(),
                ),
            ];
            if g.chance(20) {
                arm_nodes.push(Node::statement(
                    &format!("if {word} & 7 == 1 {{ continue; }}"),
                    Vec::new(),
                ));
            }
            children.push(Node::group(arm_nodes));
        }
        template.push_str("_ => break,\n}\n§}");
        let seen = g.sink_text(&state);
        children.push(seen);
        nodes.push(Node::statement(&template, children));
        let result = g.sink_text(&word);
        nodes.push(result);
        nodes
    })
}

/// Arithmetic of 128 bits.
pub fn wide(g: &mut Generator) -> Node {
    g.nested(|g| {
        let ty = g.pick(&["u128", "i128"]);
        let other = if ty == "u128" { "i128" } else { "u128" };
        let saved = g.integers.clone();
        g.integers.extend([ty, ty]);
        let mut nodes: Vec<Node> = (0..g.between(1, 3)).map(|_| g.declaration()).collect();
        for _ in 0..g.between(1, 3) {
            let value = g.expression(ty, 4);
            let node = g.sink(value);
            nodes.push(node);
        }
        g.integers.push(other);
        let value = g.expression(other, 3);
        let node = g.sink(value);
        nodes.push(node);
        g.integers = saved;
        nodes
    })
}

/// Atomics in local, shared and global memory, each of one thread only.
pub fn atomic(g: &mut Generator) -> Node {
    g.nested(|g| {
        let (ty, atomic) = g.pick(&[
            ("u32", "AtomicU32"),
            ("u64", "AtomicU64"),
            ("i32", "AtomicI32"),
            ("i64", "AtomicI64"),
        ]);
        let order = g.pick(&["Relaxed", "SeqCst", "AcqRel"]);
        let name = g.name("atomic");
        let mut nodes = Vec::new();
        if ty == "u64" && g.in_body() && g.chance(50) {
            let at = g.below(crate::generator::OUTPUTS);
            nodes.push(Node::statement(
                &format!(
                    "let {name} = unsafe {{ \
                core::sync::atomic::{atomic}::from_ptr(output.as_mut_ptr().add({at})) }};"
                ),
                Vec::new(),
            ));
        } else {
            let (more, array) = g.place(ty, 4, true);
            nodes.extend(more);
            let index = g.expression("usize", 1);
            nodes.push(Node::statement(
                &format!(
                    "let {name} = unsafe {{ core::sync::atomic::{atomic}::from_ptr({}.as_mut_ptr().add((§) & 3)) }};",
                    array.name
                ),
                vec![index],
            ));
        }
        let sum = g.name("sum");
        nodes.push(Node::statement(&format!("let mut {sum} = 1u64;"), Vec::new()));
        for _ in 0..g.between(1, 4) {
            let operation = g.pick(&[
                "fetch_add",
                "fetch_sub",
                "fetch_and",
                "fetch_or",
                "fetch_xor",
                "fetch_min",
                "fetch_max",
                "swap",
            ]);
            let value = g.expression(ty, 2);
            nodes.push(Node::statement(
                &format!(
                    "{sum} = {sum}.rotate_left(3) ^ {name}.{operation}(§, \
                core::sync::atomic::Ordering::{order}).word();"
                ),
                vec![value],
            ));
        }
        if g.chance(40) {
            let (old, new) = (g.expression(ty, 1), g.expression(ty, 2));
            let relaxed = "core::sync::atomic::Ordering::Relaxed";
            nodes.push(Node::statement(
                &format!(
                    "{sum} ^= match {name}.compare_exchange(§, §, core::sync::atomic::Ordering::{order}, \
                     {relaxed}) {{ Ok(x) => x.word(), Err(x) => (!x).word() }};"
                ),
                vec![old, new],
            ));
        }
        nodes.push(Node::statement(
            &format!("{sum} ^= {name}.load(core::sync::atomic::Ordering::Relaxed).word();"),
            Vec::new(),
        ));
        let read = g.sink_text(&sum);
        nodes.push(read);
        nodes
    })
}

/// `Cell`s, `mem::swap`, `mem::replace` and volatile accesses.
pub fn cells(g: &mut Generator) -> Node {
    g.nested(|g| {
        let ty = g.integer();
        let cells = g.name("cells");
        let values = (0..4).map(|_| g.expression(ty, 2)).collect();
        let mut nodes = vec![Node::statement(
            &format!("let mut {cells} = [§, §, §, §].map(core::cell::Cell::<{ty}>::new);"),
            values,
        )];
        for _ in 0..g.between(2, 4) {
            let (i, j) = (g.expression("usize", 1), g.expression("usize", 1));
            let value = g.expression(ty, 2);
            let (template, children) = match g.below(4) {
                0 => (format!("{cells}[(§) & 3].set(§);"), vec![i, value]),
                1 => (format!("{cells}[(§) & 3].swap(&{cells}[(§) & 3]);"), vec![i, j]),
                2 => (
                    format!("{{ let old = {cells}[(§) & 3].replace(§); {cells}[(§) & 3].set(old); }}"),
                    vec![i, value, j],
                ),
                _ => (
                    format!("unsafe {{ core::ptr::write_volatile({cells}[(§) & 3].as_ptr(), §); }}"),
                    vec![i, value],
                ),
            };
            nodes.push(Node::statement(&template, children));
        }
        let index = g.expression("usize", 1);
        let read = Node::new(
            Kind::Group,
            &format!("unsafe {{ core::ptr::read_volatile({cells}[(§) & 3].as_ptr()) }}"),
            vec![index],
        );
        let node = g.sink(read);
        nodes.push(node);
        let copy = g.name("copy");
        nodes.push(Node::statement(
            &format!("let mut {copy} = [{cells}[0].get(), {cells}[1].take(), {cells}[2].get(), {cells}[3].get()];"),
            Vec::new(),
        ));
        g.arrays.push(Array {
            name: copy.clone(),
            element: ty,
            len: 4,
            mutable: true,
        });
        let node = g.statement();
        nodes.push(node);
        nodes.push(sum_of(g, &copy));
        nodes
    })
}
