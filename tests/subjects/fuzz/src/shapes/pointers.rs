//! Raw pointers: offsets that are booleans, null, walks, bytes.

use crate::generator::Generator;
use crate::tree::Node;

/// Accesses at an offset of constants and booleans around the middle of an array, in both directions.
///
/// The base is at element 8 of 16. Three offsets of at most 2 are added, so each access stays between 2 and 14.
pub fn bool_offsets(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let mutable = g.chance(35);
        let (mut nodes, array) = g.place(element, 16, mutable);
        let conditions: Vec<String> = (0..g.between(1, 2))
            .map(|_| {
                let name = g.name("c");
                let value = g.expression("bool", 2);
                nodes.push(Node::statement(&format!("let {name}: bool = §;"), vec![value]));
                name
            })
            .collect();
        let p = g.name("p");
        let (pointer, access) = if mutable {
            ("as_mut_ptr", "*mut")
        } else {
            ("as_ptr", "*const")
        };
        nodes.push(Node::statement(
            &format!(
                "let {p}: {access} {element} = unsafe {{ {}.{pointer}().add(8) }};",
                array.name
            ),
            Vec::new(),
        ));
        for _ in 0..g.between(2, 5) {
            let mut place = p.clone();
            for step in 0..g.between(1, 3) {
                let c = g.pick(&conditions);
                let constant = g.between(1, 2);
                let text = match g.below(if step == 0 { 8 } else { 9 }) {
                    0 => format!(".add({c} as usize)"),
                    1 => format!(".sub({c} as usize)"),
                    2 => format!(".add(!{c} as usize)"),
                    3 => format!(".sub(!{c} as usize)"),
                    4 => format!(".add({constant})"),
                    5 => format!(".sub({constant})"),
                    6 => format!(".offset({c} as isize - 1)"),
                    7 => format!(".wrapping_sub({c} as usize)"),
                    _ => format!(".offset(if {c} {{ 1 }} else {{ -{constant} }})"),
                };
                place.push_str(&text);
            }
            if mutable && g.chance(40) {
                let value = g.expression(element, 2);
                nodes.push(Node::statement(&format!("unsafe {{ *{place} = §; }}"), vec![value]));
            } else {
                let read = g.sink_text(&format!("unsafe {{ *{place} }}"));
                nodes.push(read);
            }
        }
        if mutable {
            nodes.push(sum_of(g, &array.name));
        }
        nodes
    })
}

/// The two-sided merge of a stable sort, on two sorted or unsorted halves: pointers move by booleans.
///
/// Each cursor moves at most 4 places in 8, and each access is bounded by the number of rounds.
pub fn merge(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, array) = g.place(element, 8, false);
        let from = g.name("from");
        let to = g.name("to");
        nodes.push(Node::statement(
            &format!(
                "let {from} = {}.as_ptr(); let mut {to} = [<{element}>::default(); 8];",
                array.name
            ),
            Vec::new(),
        ));
        let compare = g.pick(&["<", "<=", ">", ">="]);
        let rounds = g.between(2, 4);
        let forward = "let c = !(*right CMP *left); *out = if c { *left } else { *right }; \
             right = right.add(!c as usize); left = left.add(c as usize); out = out.add(1);";
        let backward = "let c = !(*right_back CMP *left_back); \
             *out_back = if c { *right_back } else { *left_back }; \
             right_back = right_back.wrapping_sub(c as usize); left_back = left_back.wrapping_sub(!c as usize); \
             out_back = out_back.wrapping_sub(1);";
        let template = format!(
            "unsafe {{\nlet (mut left, mut right) = ({from}, {from}.add(4));\n\
             let (mut left_back, mut right_back) = ({from}.add(3), {from}.add(7));\n\
             let mut out = {to}.as_mut_ptr();\nlet mut out_back = {to}.as_mut_ptr().add(7);\n\
             for _ in 0..{rounds} {{\n§§}}\n}}"
        );
        let forward = Node::statement(&format!("{{ {} }}", forward.replace("CMP", compare)), Vec::new());
        let backward = Node::statement(&format!("{{ {} }}", backward.replace("CMP", compare)), Vec::new());
        nodes.push(Node::statement(&template, vec![forward, backward]));
        nodes.push(sum_of(g, &to));
        nodes
    })
}

/// A loop from a pointer to an end pointer.
pub fn pointer_walk(g: &mut Generator) -> Node {
    g.nested(|g| {
        let element = g.element_type();
        let (mut nodes, array) = g.place(element, 16, false);
        let (start, stop) = (g.expression("usize", 1), g.expression("usize", 2));
        let sum = g.name("sum");
        let condition = g.expression("bool", 2);
        nodes.push(Node::statement(&format!("let mut {sum} = 0u64;"), Vec::new()));
        let template = format!(
            "unsafe {{\nlet mut p = {0}.as_ptr().add((§) & 7);\nlet end = {0}.as_ptr().add(8 + ((§) & 7));\n\
             while p != end {{\nlet value = *p;\np = p.add(1);\n\
             §{sum} = {sum}.wrapping_mul(3).wrapping_add(value.word());\n}}\n}}",
            array.name
        );
        let skip = Node::statement("if § { continue; }", vec![condition]);
        nodes.push(Node::statement(&template, vec![start, stop, skip]));
        let read = g.sink_text(&sum);
        nodes.push(read);
        nodes
    })
}

/// Raw pointers that are null at run time, and a helper that looks.
pub fn null_pointer(g: &mut Generator) -> Node {
    let element = g.element_type();
    let helper = g.name("read");
    let attribute = g.inlining();
    let otherwise = g.literal(element);
    g.items.push(Node::statement(
        &format!(
            "{attribute}fn {helper}(p: *const {element}) -> {element} {{\n\
             if p.is_null() {{ {otherwise} }} else {{ unsafe {{ *p }} }}\n}}"
        ),
        Vec::new(),
    ));
    g.nested(|g| {
        let (mut nodes, array) = g.place(element, 8, false);
        let p = g.name("p");
        nodes.push(Node::statement(
            &format!("let mut {p}: *const {element} = core::ptr::null();"),
            Vec::new(),
        ));
        let rounds = g.between(1, 6);
        let (condition, clear) = (g.expression("bool", 2), g.expression("bool", 2));
        let index = g.expression("usize", 1);
        let set = Node::statement(
            &format!("if § {{ {p} = &{}[((§) ^ k) & 7]; }}", array.name),
            vec![condition, index],
        );
        let reset = Node::statement(&format!("if § {{ {p} = core::ptr::null(); }}"), vec![clear]);
        let called = g.sink_text(&format!("{helper}({p})"));
        let tested = g.sink_text(&format!("{p}.is_null()"));
        let inner = if g.chance(50) {
            vec![set, reset]
        } else {
            vec![reset, set]
        };
        nodes.push(Node::statement(
            &format!("for k in 0..{rounds}usize {{\n§§§}}"),
            vec![Node::group(inner), called, tested],
        ));
        let seen = g.sink_text(&format!("unsafe {{ {p}.as_ref().copied().unwrap_or_default() }}"));
        nodes.push(seen);
        nodes
    })
}

/// Unaligned reads and writes of wide integers in a buffer of bytes, and transmutes.
pub fn raw_bytes(g: &mut Generator) -> Node {
    g.nested(|g| {
        let (mut nodes, array) = g.place("u8", 32, true);
        let name = array.name;
        for _ in 0..g.between(1, 4) {
            let ty = g.pick(&["u16", "u32", "u64", "u128", "i32"]);
            let index = g.expression("usize", 1);
            let at = format!("{name}.as_mut_ptr().add((§) & 15) as *mut {ty}");
            let node = match g.below(5) {
                0 | 1 => {
                    let value = g.expression(ty, 2);
                    Node::statement(
                        &format!("unsafe {{ let value: {ty} = §; ({at}).write_unaligned(value); }}"),
                        vec![value, index],
                    )
                }
                2 => {
                    let read = Node::new(
                        crate::tree::Kind::Group,
                        &format!("unsafe {{ ({at}).read_unaligned() }}"),
                        vec![index],
                    );
                    g.sink(read)
                }
                3 => {
                    let read = Node::new(
                        crate::tree::Kind::Group,
                        &format!(
                            "{{ let at = (§) & 15; u64::from_be_bytes(<[u8; 8]>::try_from(&{name}[at..at + \
                             8]).unwrap()) }}"
                        ),
                        vec![index],
                    );
                    g.sink(read)
                }
                _ => {
                    let value = g.expression("u32", 2);
                    Node::statement(
                        &format!("{{ let at = (§) & 15; {name}[at..at + 4].copy_from_slice(&(§).to_le_bytes()); }}"),
                        vec![index, value],
                    )
                }
            };
            nodes.push(node);
        }
        nodes.push(sum_of(g, &name));
        nodes
    })
}

/// All elements of an array into one word.
pub fn sum_of(g: &mut Generator, name: &str) -> Node {
    g.sink_text(&format!(
        "{name}.iter().fold(0u64, |sum, value| sum.wrapping_mul(31).wrapping_add((*value).word()))"
    ))
}
