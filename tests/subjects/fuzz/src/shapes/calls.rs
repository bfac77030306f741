//! Calls through closures, function pointers and trait objects; recursion; early returns.

use crate::generator::{Generator, Variable};
use crate::tree::{Kind, Node};

/// A closure that captures by reference, handed to a helper that calls it a few times.
pub fn closure(g: &mut Generator) -> Node {
    let helper = g.name("apply");
    let attribute = g.inlining();
    let rounds = g.between(1, 5);
    let dynamic = g.chance(40);
    let parameter = if dynamic {
        "&mut dyn FnMut(u64) -> u64"
    } else {
        "mut impl FnMut(u64) -> u64"
    };
    let parameter = match dynamic {
        true => format!("f: {parameter}"),
        false => parameter.replacen("mut impl", "mut f: impl", 1),
    };
    g.items.push(Node::statement(
        &format!(
            "{attribute}fn {helper}({parameter}, mut x: u64) -> u64 {{\nfor _ in 0..{rounds} {{ x = \
             f(x).rotate_left(7); }}\nx\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (mut nodes, array) = g.place("u64", 8, true);
        let sum = g.name("sum");
        nodes.push(Node::statement(&format!("let mut {sum} = 0u64;"), Vec::new()));
        let start = g.expression("u64", 2);
        let inner = g.name("x");
        let (variables, arrays) = (g.variables.len(), g.arrays.len());
        g.variables.push(Variable {
            name: inner.clone(),
            ty: "u64",
            mutable: false,
        });
        let value = g.expression("u64", 3);
        g.variables.truncate(variables);
        g.arrays.truncate(arrays);
        let condition = g.expression("bool", 1);
        let body = format!(
            "{{ {sum} = {sum}.wrapping_add({inner}); {0}[{inner} as usize & 7] ^= {sum}; if § {{ {0}[0] }} \
             else {{ § }} }}",
            array.name
        );
        let borrowed = if dynamic { "&mut " } else { "" };
        let result = g.name("result");
        nodes.push(Node::statement(
            &format!("let {result} = {helper}({borrowed}|{inner}: u64| {body}, §);"),
            vec![condition, value, start],
        ));
        let a = g.sink_text(&result);
        let b = g.sink_text(&sum);
        nodes.extend([a, b, super::pointers::sum_of(g, &array.name)]);
        nodes
    })
}

/// A table of function pointers, and one in a variable.
pub fn function_pointer(g: &mut Generator) -> Node {
    let ty = g.integer();
    let mut names = Vec::new();
    for _ in 0..3 {
        let name = g.name("way");
        let operation = g.pick(&["wrapping_add", "wrapping_mul", "wrapping_sub", "min", "max"]);
        let constant = g.literal(ty);
        let attribute = g.inlining();
        g.items.push(Node::statement(
            &format!("{attribute}fn {name}(x: {ty}, y: &{ty}) -> {ty} {{ x.{operation}(*y) ^ {constant} }}"),
            Vec::new(),
        ));
        names.push(name);
    }
    let global = g.chance(50);
    g.nested(|g| {
        let table = g.name("WAYS");
        let [a, b, c] = [&names[0], &names[1], &names[2]];
        let text = format!("{table}: [fn({ty}, &{ty}) -> {ty}; 4] = [{a}, {b}, {c}, {a}];");
        let mut nodes = Vec::new();
        if global {
            g.items.push(Node::statement(&format!("static {text}"), Vec::new()));
        } else {
            nodes.push(Node::statement(&format!("let {text}"), Vec::new()));
        }
        let (more, array) = g.place(ty, 4, false);
        nodes.extend(more);
        for _ in 0..g.between(1, 2) {
            let (x, i, j) = (g.expression(ty, 2), g.expression("usize", 1), g.expression("usize", 1));
            let read = Node::new(
                Kind::Group,
                &format!("{table}[(§) & 3](§, &{}[(§) & 3])", array.name),
                vec![i, x, j],
            );
            let node = g.sink(read);
            nodes.push(node);
        }
        let pointer = g.name("f");
        let condition = g.expression("bool", 2);
        nodes.push(Node::statement(
            &format!("let {pointer}: Option<fn({ty}, &{ty}) -> {ty}> = if § {{ Some({b}) }} else {{ None }};"),
            vec![condition],
        ));
        let x = g.expression(ty, 2);
        let read = Node::new(
            Kind::Group,
            &format!("{pointer}.map_or(3, |f| f(§, &{}[1]).word())", array.name),
            vec![x],
        );
        let node = g.sink(read);
        nodes.push(node);
        nodes
    })
}

/// Trait objects over different types, chosen at run time.
pub fn trait_object(g: &mut Generator) -> Node {
    let name = g.name("Shape");
    let (a, b) = (g.name("Left"), g.name("Right"));
    let (x, y) = (g.integer(), g.scalar());
    let attribute = g.inlining();
    g.items.push(Node::statement(
        &format!(
            "trait {name} {{ fn area(&self, by: u64) -> u64; fn name(&self) -> u64 {{ 5 }} }}\n\
             struct {a}({x});\nstruct {b}<'a> {{ at: &'a u64, y: {y} }}\n\
             impl {name} for {a} {{\n{attribute}fn area(&self, by: u64) -> u64 \
             {{ self.0.word().wrapping_mul(by) }}\n}}\n\
             impl {name} for {b}<'_> {{\nfn area(&self, by: u64) -> u64 {{ self.y.word() ^ *self.at ^ by }}\n\
             fn name(&self) -> u64 {{ 9 }}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (mut nodes, array) = g.place("u64", 4, false);
        let (p, q) = (g.expression(x, 2), g.expression(y, 2));
        let index = g.expression("usize", 1);
        let (left, right) = (g.name("left"), g.name("right"));
        nodes.push(Node::statement(&format!("let {left} = {a}(§);"), vec![p]));
        nodes.push(Node::statement(
            &format!("let {right} = {b} {{ at: &{}[(§) & 3], y: § }};", array.name),
            vec![index, q],
        ));
        let list = g.name("objects");
        let condition = g.expression("bool", 2);
        nodes.push(Node::statement(
            &format!("let {list}: [&dyn {name}; 3] = [&{left}, &{right}, if § {{ &{left} }} else {{ &{right} }}];"),
            vec![condition],
        ));
        let by = g.expression("u64", 2);
        let read = Node::new(
            Kind::Group,
            &format!("{list}.iter().fold(§, |sum, object| object.area(sum).rotate_left(object.name() as u32))"),
            vec![by],
        );
        let node = g.sink(read);
        nodes.push(node);
        let (index, by) = (g.expression("usize", 1), g.expression("u64", 2));
        let read = Node::new(Kind::Group, &format!("{list}[(§) % 3].area(§)"), vec![index, by]);
        let node = g.sink(read);
        nodes.push(node);
        nodes
    })
}

/// A bounded recursion with an array on each frame.
pub fn recursion(g: &mut Generator) -> Node {
    let name = g.name("descend");
    let ty = g.integer();
    let operation = g.pick(&["wrapping_add", "wrapping_mul", "wrapping_sub"]);
    let by = g.literal(ty);
    g.items.push(Node::statement(
        &format!(
            "#[inline(never)]\nfn {name}(depth: u32, x: {ty}, outer: Option<&[{ty}; 4]>) -> {ty} {{\n\
             let local = [x, x.{operation}({by}), !x, outer.map_or(x, |o| o[(depth & 3) as usize])];\n\
             if depth == 0 {{ return local[(x & 3) as usize]; }}\n\
             let next = if x & 4 == 0 {{ Some(&local) }} else {{ None }};\n\
             {name}(depth - 1, x.rotate_left(3) ^ {by}, next).{operation}(local[(depth & 3) as usize])\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (depth, x) = (g.expression("u32", 2), g.expression(ty, 2));
        let read = Node::new(Kind::Group, &format!("{name}((§) & 7, §, None)"), vec![depth, x]);
        vec![g.sink(read)]
    })
}

/// A helper that returns from the middle of nested loops, by `return`, `?` and labeled breaks.
pub fn early_return(g: &mut Generator) -> Node {
    let name = g.name("search");
    let element = g.element_type();
    let attribute = g.inlining();
    let limit = g.literal(element);
    let result = g.pick(&["Option<&'a T>", "Option<(usize, &'a T)>", "Result<&'a T, usize>"]);
    let (found, missing) = match result {
        "Option<&'a T>" => ("Some(x)", "None"),
        "Option<(usize, &'a T)>" => ("Some((i, x))", "None"),
        _ => ("Ok(x)", "Err(rounds)"),
    };
    let result = result.replace('T', element);
    g.items.push(Node::statement(
        &format!(
            "{attribute}fn {name}<'a>(list: &'a [{element}; 8], wanted: {element}) -> {result} {{\nlet mut \
             rounds = 0usize;\n\
             'outer: for mask in [7{element}, 1] {{\nfor (i, x) in list.iter().enumerate() {{\nrounds += 1;\n\
             if *x == {limit} {{ continue 'outer; }}\nif *x & mask == wanted & mask {{ return {found}; }}\n\
             if rounds > 12 {{ break 'outer; }}\n}}\n}}\n{missing}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (mut nodes, array) = g.place(element, 8, false);
        let read = match found {
            "Some(x)" => "map_or(17, |x| (*x).word())",
            "Some((i, x))" => "map_or(17, |(i, x)| (*x).word() ^ i as u64)",
            _ => "map_or_else(|n| n as u64 + 100, |x| (*x).word())",
        };
        for _ in 0..g.between(1, 2) {
            let wanted = g.expression(element, 2);
            let text = Node::new(Kind::Group, &format!("{name}(&{}, §).{read}", array.name), vec![wanted]);
            let node = g.sink(text);
            nodes.push(node);
        }
        nodes
    })
}
