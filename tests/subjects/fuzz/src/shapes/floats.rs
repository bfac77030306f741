//! Floats: sums in order, and casts in every direction.

use crate::generator::{Generator, INTEGERS, Variable};
use crate::tree::{Kind, Node};

/// A sum over an array, in order, with all exact operations inside.
pub fn sum(g: &mut Generator) -> Node {
    g.nested(|g| {
        let ty = g.pick(&["f32", "f64"]);
        let (saved, floats) = (g.integers.clone(), g.floats.clone());
        g.floats = vec![ty];
        let (mut nodes, array) = g.place(ty, 8, false);
        let sum = g.name("sum");
        let start = g.expression(ty, 2);
        nodes.push(Node::statement(&format!("let mut {sum}: {ty} = §;"), vec![start]));
        let each = g.name("x");
        let variables = g.variables.len();
        for name in [&each, &sum] {
            g.variables.push(Variable {
                name: name.clone(),
                ty,
                mutable: false,
            });
        }
        let value = g.expression(ty, 3);
        let condition = g.expression("bool", 2);
        g.variables.truncate(variables);
        let add = Node::statement(&format!("{sum} += §;"), vec![value]);
        let skip = Node::statement("if § { continue; }", vec![condition]);
        let order = if g.chance(50) { vec![skip, add] } else { vec![add, skip] };
        nodes.push(Node::statement(
            &format!("for &{each} in {}.iter() {{\n§}}", array.name),
            vec![Node::group(order)],
        ));
        let read = g.sink_text(&sum);
        let compared = g.sink_text(&format!("{sum}.partial_cmp(&1.0).map_or(9, |o| o as i32)"));
        nodes.extend([read, compared]);
        (g.integers, g.floats) = (saved, floats);
        nodes
    })
}

/// Casts between floats and integers of every width, and bits.
pub fn casts(g: &mut Generator) -> Node {
    g.nested(|g| {
        let floats = g.floats.clone();
        g.floats = vec!["f32", "f64"];
        let mut nodes = Vec::new();
        for _ in 0..g.between(2, 4) {
            let (float, integer) = (g.pick(&["f32", "f64"]), g.pick(&INTEGERS));
            let (value, whole) = (g.expression(float, 2), g.expression(integer, 2));
            let other = if float == "f32" { "f64" } else { "f32" };
            let (text, child) = match g.below(6) {
                0 | 1 => (format!("((§) as {integer})"), value),
                2 | 3 => (format!("((§) as {float})"), whole),
                4 => (format!("((§) as {other})"), value),
                _ => (format!("((§) as {float} * 0.5 + 3.0) as {integer}"), whole),
            };
            let read = Node::new(Kind::Group, &text, vec![child]);
            let node = g.sink(read);
            nodes.push(node);
        }
        g.floats = floats;
        nodes
    })
}
