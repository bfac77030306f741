//! What programs are made of beside plain arithmetic: shapes, each a statement with random parts.

mod calls;
mod data;
mod floats;
mod pointers;
mod references;
mod slices;

use crate::generator::{Array, Generator, Ty};
use crate::tree::{Kind, Node};

/// A shape, and how often it is drawn.
pub struct Shape {
    /// Its name, for `--skip`.
    pub name: &'static str,
    /// How often it is drawn, relative to the others.
    pub weight: usize,
    pub(crate) make: fn(&mut Generator) -> Node,
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    shape("bool_offsets", 10, pointers::bool_offsets),
    shape("merge", 4, pointers::merge),
    shape("pointer_walk", 6, pointers::pointer_walk),
    shape("null_pointer", 6, pointers::null_pointer),
    shape("raw_bytes", 5, pointers::raw_bytes),
    shape("option_reference", 10, references::option_reference),
    shape("option_mut", 5, references::option_mut),
    shape("option_array", 5, references::option_array),
    shape("chosen_reference", 8, references::chosen_reference),
    shape("two_levels", 6, references::two_levels),
    shape("linked", 4, references::linked),
    shape("structure", 6, data::structure),
    shape("enumeration", 6, data::enumeration),
    shape("local_array", 6, data::local_array),
    shape("state_machine", 4, data::state_machine),
    shape("wide", 4, data::wide),
    shape("atomic", 4, data::atomic),
    shape("cells", 3, data::cells),
    shape("slice_views", 6, slices::views),
    shape("slice_moves", 6, slices::moves),
    shape("sorting", 4, slices::sorting),
    shape("iterators", 6, slices::iterators),
    shape("closure", 4, calls::closure),
    shape("function_pointer", 5, calls::function_pointer),
    shape("trait_object", 4, calls::trait_object),
    shape("recursion", 3, calls::recursion),
    shape("early_return", 4, calls::early_return),
    shape("float_sum", 4, floats::sum),
    shape("float_casts", 4, floats::casts),
];

const fn shape(name: &'static str, weight: usize, make: fn(&mut Generator) -> Node) -> Shape {
    Shape { name, weight, make }
}

/// Where an array lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Local,
    Shared,
    Static,
    Constant,
    Input,
}

impl Generator {
    /// Declares an array in a random place: the declarations, and its name. A mutable one is local or shared.
    fn place(&mut self, element: Ty, len: usize, mutable: bool) -> (Vec<Node>, Array) {
        let mut spaces = vec![Space::Local, Space::Local, Space::Shared];
        if !mutable {
            spaces.extend([Space::Static, Space::Constant]);
            if element == "u64" && len == crate::generator::INPUTS && self.in_body() {
                spaces.push(Space::Input);
            }
        }
        let space = self.pick(&spaces);
        self.place_in(space, element, len, mutable)
    }

    fn place_in(&mut self, space: Space, element: Ty, len: usize, mutable: bool) -> (Vec<Node>, Array) {
        let array = |name: String| Array {
            name,
            element,
            len,
            mutable,
        };
        match space {
            Space::Input => (Vec::new(), array("input".to_owned())),
            Space::Static | Space::Constant => {
                let name = self.name("TABLE");
                let values: Vec<String> = (0..len).map(|_| self.literal(element)).collect();
                let values = values.join(", ");
                let item = if space == Space::Static {
                    format!("static {name}: [{element}; {len}] = [{values}];")
                } else {
                    format!("constant!({name}: [{element}; {len}] = [{values}]);")
                };
                self.items.push(Node::statement(&item, Vec::new()));
                (Vec::new(), array(name))
            }
            Space::Local if self.chance(60) => {
                let name = self.name("local");
                let marks = vec!["§"; len].join(", ");
                let values = (0..len).map(|_| self.expression(element, 1)).collect();
                let template = format!("let mut {name}: [{element}; {len}] = [{marks}];");
                (vec![Node::statement(&template, values)], array(name))
            }
            Space::Local | Space::Shared => {
                let name = self.name("memory");
                let declared = match space {
                    Space::Local => format!("let mut {name} = [<{element}>::default(); {len}];"),
                    _ => format!("shared!({name}: [{element}; {len}]);"),
                };
                let value = self.expression("u64", 2);
                let factor = self.pick(&[1u64, 3, 7, 31, 0x9e37_79b9_7f4a_7c15]);
                let converted = convert(
                    element,
                    &format!("(i as u64).wrapping_mul({factor}).wrapping_add(base)"),
                );
                let fill = format!("{{ let base = §; for i in 0..{len}usize {{ {name}[i] = {converted}; }} }}");
                let nodes = vec![
                    Node::statement(&declared, Vec::new()),
                    Node::statement(&fill, vec![value]),
                ];
                (nodes, array(name))
            }
        }
    }

    /// A sink for text of a scalar type that no edit replaces.
    fn sink_text(&mut self, text: &str) -> Node {
        self.sink(Node::new(Kind::Group, text, Vec::new()))
    }

    /// A statement that is a block of statements.
    fn nested(&mut self, make: impl FnOnce(&mut Self) -> Vec<Node>) -> Node {
        let inner = self.scope(make);
        Node::statement("{\n§}", vec![inner])
    }
}

/// A `u64` expression as a value of a type.
fn convert(ty: Ty, text: &str) -> String {
    match ty {
        "bool" => format!("(({text}) & 1 == 1)"),
        _ => format!("(({text}) as {ty})"),
    }
}
