//! References that are chosen at run time, and `Option`s of them.

use crate::generator::Generator;
use crate::tree::Node;

use super::pointers::sum_of;

/// `Option<&T>`, `Some` or `None` per round, through a helper and matched in place.
pub fn option_reference(g: &mut Generator) -> Node {
    let element = g.element_type();
    let helper = g.name("show");
    let attribute = g.inlining();
    let otherwise = g.literal(element);
    g.items.push(Node::statement(
        &format!(
            "{attribute}fn {helper}(x: Option<&{element}>) -> {element} {{\n\
             match x {{ Some(x) => *x, None => {otherwise} }}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let mutable = g.chance(30);
        let (mut nodes, array) = g.place(element, 8, mutable);
        let last = g.name("last");
        nodes.push(Node::statement(
            &format!("let mut {last}: Option<&{element}> = None;"),
            Vec::new(),
        ));
        let rounds = g.between(1, 8);
        let limit = g.literal(element);
        let condition = g.expression("bool", 2);
        let index = g.expression("usize", 1);
        let choice = match g.below(4) {
            0 => Node::statement(
                &format!(
                    "{last} = if § {{ Some(&{}[((§) ^ k) & 7]) }} else {{ None }};",
                    array.name
                ),
                vec![condition, index],
            ),
            1 => Node::statement(
                &format!("if § {{ {last} = {}.get((§) & 15); }}", array.name),
                vec![condition, index],
            ),
            2 => Node::statement(
                &format!(
                    "{last} = {}.iter().find(|x| **x > {limit} || (§) & 3 == k & 3).filter(|_| §);",
                    array.name
                ),
                vec![index, condition],
            ),
            _ => Node::statement(
                &format!("{last} = (§).then(|| &{}[(§) & 7]).or({last});", array.name),
                vec![condition, index],
            ),
        };
        let extra = Node::statement(
            &format!("let extra = match {last} {{ Some(x) if *x > {limit} => 7u64, _ => 0 }};"),
            Vec::new(),
        );
        let value = g.sink_text(&format!("{helper}({last}).word().wrapping_add(extra)"));
        let found = g.sink_text(&format!("{last}.is_some()"));
        nodes.push(Node::statement(
            &format!("for k in 0..{rounds}usize {{\n§§§§}}"),
            vec![choice, extra, value, found],
        ));
        let after = g.sink_text(&format!("{last}.copied().unwrap_or_default()"));
        nodes.push(after);
        nodes
    })
}

/// `Option<&mut T>` into a local or shared array, through a helper that writes.
pub fn option_mut(g: &mut Generator) -> Node {
    let element = g.element_type();
    let helper = g.name("change");
    let attribute = g.inlining();
    let by = g.literal(element);
    g.items.push(Node::statement(
        &format!(
            "{attribute}fn {helper}(x: Option<&mut {element}>) -> bool {{\n\
             if let Some(x) = x {{ *x = x.wrapping_add({by}); true }} else {{ false }}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (mut nodes, array) = g.place(element, 8, true);
        let rounds = g.between(1, 6);
        let condition = g.expression("bool", 2);
        let index = g.expression("usize", 1);
        let chosen = match g.below(3) {
            0 => format!("if § {{ Some(&mut {}[((§) ^ k) & 7]) }} else {{ None }}", array.name),
            1 => format!("(§).then_some(()).and({}.get_mut(((§) ^ k) & 15))", array.name),
            _ => format!(
                "match § {{ true => {0}.last_mut(), false => {0}.iter_mut().nth((§) & 15) }}",
                array.name
            ),
        };
        let result = g.name("done");
        let step = Node::statement(&format!("let {result} = {helper}({chosen});"), vec![condition, index]);
        let seen = g.sink_text(&result);
        nodes.push(Node::statement(
            &format!("for k in 0..{rounds}usize {{\n§§}}"),
            vec![step, seen],
        ));
        if g.chance(40) {
            let name = g.name("taken");
            let condition = g.expression("bool", 2);
            let first = g.sink_text(&format!(
                "{name}.take().map(|x| {{ *x = x.wrapping_mul(3); *x }}).unwrap_or(1)"
            ));
            let second = g.sink_text(&format!("{name}.is_none()"));
            nodes.push(Node::statement(
                &format!(
                    "{{ let mut {name} = if § {{ {}.first_mut() }} else {{ None }};\n§§ }}",
                    array.name
                ),
                vec![condition, first, second],
            ));
        }
        nodes.push(sum_of(g, &array.name));
        nodes
    })
}

/// An array of `Option<&T>` whose entries point to different places.
pub fn option_array(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, a) = g.place(element, 4, false);
        let (more, b) = g.place(element, 4, false);
        nodes.extend(more);
        let table = g.name("table");
        nodes.push(Node::statement(
            &format!("let mut {table}: [Option<&{element}>; 4] = [None; 4];"),
            Vec::new(),
        ));
        let rounds = g.between(1, 5);
        let (slot, index) = (g.expression("usize", 1), g.expression("usize", 2));
        let (condition, which) = (g.expression("bool", 2), g.expression("bool", 1));
        nodes.push(Node::statement(
            &format!(
                "for k in 0..{rounds}usize {{\n{table}[((§) ^ k) & 3] = if § {{ Some(if § {{ &{}[k & 3] }} \
                 else {{ &{}[(§) & 3] }}) }} else {{ None }};\n}}",
                a.name, b.name
            ),
            vec![slot, condition, which, index],
        ));
        let count = g.sink_text(&format!("{table}.iter().flatten().count()"));
        let sum = g.sink_text(&format!(
            "{table}.iter().fold(1u64, |sum, x| sum.wrapping_mul(5) ^ x.map_or(9, |x| (*x).word()))"
        ));
        let position = g.sink_text(&format!("{table}.iter().position(|x| x.is_none()).unwrap_or(77)"));
        nodes.extend([count, sum, position]);
        nodes
    })
}

/// A reference that points to one of two or three arrays in different kinds of memory.
pub fn chosen_reference(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let len = 8;
        let ways = g.between(2, 3);
        let mut nodes = Vec::new();
        let mut names = Vec::new();
        for _ in 0..ways {
            let (more, array) = g.place(element, len, false);
            nodes.extend(more);
            names.push(array.name);
        }
        let chosen = g.name("chosen");
        let template = match g.below(3) {
            0 => format!(
                "let {chosen}: &[{element}; {len}] = if § {{ &{} }} else {{ &{} }};",
                names[0],
                names[ways - 1]
            ),
            1 => format!(
                "let {chosen}: &[{element}; {len}] = match § as u8 * 2 {{ 0 => &{}, 1 => &{}, _ => &{} }};",
                names[0],
                names[1 % ways],
                names[ways - 1]
            ),
            _ => format!(
                "let {chosen}: &[{element}] = [&{}[..], &{}[..{len}]][(§) as usize];",
                names[0],
                names[ways - 1]
            ),
        };
        let condition = g.expression("bool", 2);
        nodes.push(Node::statement(&template, vec![condition]));
        g.arrays.push(crate::generator::Array {
            name: chosen.clone(),
            element,
            len,
            mutable: false,
        });
        for _ in 0..g.between(1, 3) {
            let node = if g.chance(50) {
                let index = g.expression("usize", 1);
                let read = Node::new(
                    crate::tree::Kind::Group,
                    &format!("{chosen}[(§) & {}]", len - 1),
                    vec![index],
                );
                g.sink(read)
            } else {
                g.statement()
            };
            nodes.push(node);
        }
        nodes
    })
}

/// References and indices in arrays: an index chooses what a second index chooses from.
pub fn two_levels(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let mut nodes = Vec::new();
        let mut names = Vec::new();
        for _ in 0..3 {
            let (more, array) = g.place(element, 8, false);
            nodes.extend(more);
            names.push(array.name);
        }
        let table = g.name("table");
        let [a, b, c] = [&names[0], &names[1], &names[2]];
        match g.below(3) {
            0 => {
                nodes.push(Node::statement(
                    &format!("let {table}: [&[{element}; 8]; 4] = [&{a}, &{b}, &{c}, &{a}];"),
                    Vec::new(),
                ));
                for _ in 0..g.between(1, 3) {
                    let (i, j) = (g.expression("usize", 1), g.expression("usize", 2));
                    let read = Node::new(
                        crate::tree::Kind::Group,
                        &format!("{table}[(§) & 3][(§) & 7]"),
                        vec![i, j],
                    );
                    let node = g.sink(read);
                    nodes.push(node);
                }
            }
            1 => {
                nodes.push(Node::statement(
                    &format!(
                        "let {table}: [*const {element}; 4] = [{a}.as_ptr(), {b}.as_ptr(), {c}.as_ptr(), \
                         unsafe {{ {a}.as_ptr().add(1) }}];"
                    ),
                    Vec::new(),
                ));
                let (i, j) = (g.expression("usize", 1), g.expression("usize", 2));
                let condition = g.expression("bool", 2);
                let read = Node::new(
                    crate::tree::Kind::Group,
                    &format!("unsafe {{ *{table}[(§) & 3].add((§) % 6).add((§) as usize) }}"),
                    vec![i, j, condition],
                );
                let node = g.sink(read);
                nodes.push(node);
            }
            _ => {
                let (more, index) = g.place("u8", 8, true);
                nodes.extend(more);
                let rounds = g.between(1, 8);
                let i = g.expression("usize", 1);
                let index = index.name;
                nodes.push(Node::statement(
                    &format!(
                        "for k in 0..{rounds}usize {{ \
                         {index}[{index}[k & 7] as usize & 7] = ((§) ^ k) as u8; }}"
                    ),
                    vec![i],
                ));
                let j = g.expression("usize", 1);
                let read = Node::new(
                    crate::tree::Kind::Group,
                    &format!("{a}[{index}[{index}[(§) & 7] as usize & 7] as usize & 7]"),
                    vec![j],
                );
                let node = g.sink(read);
                nodes.push(node);
            }
        }
        nodes
    })
}

/// A list linked by references through a local array of nodes, walked by a helper.
pub fn linked(g: &mut Generator) -> Node {
    let node = g.name("Node");
    let walk = g.name("walk");
    let attribute = g.inlining();
    g.items.push(Node::statement(
        &format!(
            "struct {node}<'a> {{ value: u32, next: Option<&'a {node}<'a>> }}\n\
             {attribute}fn {walk}(mut at: Option<&{node}>) -> u64 {{\nlet mut sum = 1u64;\n\
             while let Some(n) = at {{ sum = sum.wrapping_mul(33) ^ n.value as u64; at = n.next; }}\nsum\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let mut nodes = Vec::new();
        let mut earlier: Vec<String> = Vec::new();
        for _ in 0..g.between(2, 5) {
            let name = g.name("n");
            let value = g.expression("u32", 2);
            let condition = g.expression("bool", 1);
            let next = match earlier.as_slice() {
                [] => "if § { None } else { None }".to_owned(),
                list => {
                    let (a, b) = (g.pick(list), g.pick(list));
                    match g.below(3) {
                        0 => format!("if § {{ Some(&{a}) }} else {{ None }}"),
                        1 => format!("if § {{ None }} else {{ Some(&{a}) }}"),
                        _ => format!("Some(if § {{ &{a} }} else {{ &{b} }})"),
                    }
                }
            };
            nodes.push(Node::statement(
                &format!("let {name} = {node} {{ value: §, next: {next} }};"),
                vec![value, condition],
            ));
            earlier.push(name);
        }
        let condition = g.expression("bool", 2);
        let (a, b) = (g.pick(&earlier), g.pick(&earlier));
        let read = Node::new(
            crate::tree::Kind::Group,
            &format!("{walk}(if § {{ Some(&{a}) }} else {{ {b}.next }})"),
            vec![condition],
        );
        let node = g.sink(read);
        nodes.push(node);
        nodes
    })
}
