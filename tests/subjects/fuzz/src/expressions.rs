//! Random expressions of scalar types.

use crate::generator::{Array, Generator, INPUTS, Ty};
use crate::tree::{Kind, Node};

/// The width of an integer type; pointers have 64 bits on host and device.
pub(crate) fn bits(ty: Ty) -> usize {
    ty[1..].parse().unwrap_or(64)
}

fn is_signed(ty: Ty) -> bool {
    ty.starts_with('i')
}

impl Generator {
    /// An expression of a scalar type; `depth` bounds its size.
    pub fn expression(&mut self, ty: Ty, depth: usize) -> Node {
        if depth == 0 || self.chance(20) {
            return self.leaf(ty);
        }
        match ty {
            "bool" => self.boolean(depth - 1),
            "f32" | "f64" => self.float(ty, depth - 1),
            _ => self.integer_expression(ty, depth - 1),
        }
    }

    fn node(&mut self, ty: Ty, template: &str, children: Vec<Node>) -> Node {
        Node::new(Kind::Expression(ty), template, children)
    }

    fn leaf(&mut self, ty: Ty) -> Node {
        let named: Vec<String> = self
            .variables
            .iter()
            .filter(|variable| variable.ty == ty)
            .map(|variable| variable.name.clone())
            .collect();
        if !named.is_empty() && self.chance(65) {
            let name = self.pick(&named);
            return self.node(ty, &name, Vec::new());
        }
        if !self.in_body() || self.chance(25) {
            let text = self.literal(ty);
            return self.node(ty, &text, Vec::new());
        }
        let at = self.below(INPUTS);
        let text = match ty {
            "u64" => format!("input[{at}]"),
            "bool" => format!("(input[{at}] & 1 == 1)"),
            "f32" => format!("f32::from_bits(input[{at}] as u32)"),
            "f64" => format!("f64::from_bits(input[{at}])"),
            "u128" | "i128" => format!("((input[{at}] as {ty}) << 64 | input[{}] as {ty})", (at + 1) % INPUTS),
            _ => format!("(input[{at}] as {ty})"),
        };
        self.node(ty, &text, Vec::new())
    }

    /// A literal: a small number, an edge of the type, or any.
    pub fn literal(&mut self, ty: Ty) -> String {
        match ty {
            "bool" => ["false", "true"][self.below(2)].to_owned(),
            "f32" | "f64" => {
                let list = [
                    "0.0",
                    "1.0",
                    "-1.5",
                    "0.1",
                    "3.0",
                    "1e10",
                    "-7.25",
                    "123456.789",
                    "1e-30",
                    "65536.0",
                ];
                let text = self.pick(&list);
                format!("({text}{ty})")
            }
            _ => match self.below(6) {
                0 => format!("{ty}::MAX"),
                1 => format!("{ty}::MIN"),
                2 => format!("(1{ty} << {})", self.below(bits(ty) - 1)),
                3 => {
                    let word = self.word();
                    format!("({word}u64 as {ty})")
                }
                _ => format!("{}{ty}", self.below(20)),
            },
        }
    }

    fn boolean(&mut self, depth: usize) -> Node {
        let ty = self.scalar();
        let integer = self.integer();
        match self.below(10) {
            0..=4 => {
                let operator = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node("bool", &format!("(§ {operator} §)"), vec![a, b])
            }
            5 => {
                let operator = self.pick(&["&", "|", "^", "&&", "||"]);
                let (a, b) = (self.expression("bool", depth), self.expression("bool", depth));
                self.node("bool", &format!("(§ {operator} §)"), vec![a, b])
            }
            6 => {
                let a = self.expression("bool", depth);
                self.node("bool", "(!§)", vec![a])
            }
            7 => {
                let operation = self.pick(&["checked_add", "checked_sub", "checked_mul"]);
                let (a, b) = (self.expression(integer, depth), self.expression(integer, depth));
                self.node("bool", &format!("(§).{operation}(§).is_some()"), vec![a, b])
            }
            8 => {
                let a = self.expression(integer, depth);
                let mask = 1 << self.below(7);
                self.node("bool", &format!("((§) & {mask} != 0)"), vec![a])
            }
            _ => {
                let (a, b) = (self.expression(integer, depth), self.expression(integer, depth));
                let c = self.expression(integer, depth);
                self.node("bool", "(§..=§).contains(&(§))", vec![a, b, c])
            }
        }
    }

    fn float(&mut self, ty: Ty, depth: usize) -> Node {
        let integer = self.integer();
        let other = if ty == "f32" { "f64" } else { "f32" };
        match self.below(12) {
            0..=4 => {
                let operator = self.pick(&["+", "-", "*", "/", "*"]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("(§ {operator} §)"), vec![a, b])
            }
            5 if self.remainder => {
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, "(§ % §)", vec![a, b])
            }
            6 => {
                let a = self.expression(ty, depth);
                self.node(ty, "(§).root()", vec![a])
            }
            7 => {
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                let c = self.expression(ty, depth);
                self.node(ty, "(§).fused(§, §)", vec![a, b, c])
            }
            8 => {
                let a = self.expression(integer, depth);
                self.node(ty, &format!("((§) as {ty})"), vec![a])
            }
            9 => {
                let a = self.expression(ty, depth);
                self.node(ty, "(-§)", vec![a])
            }
            10 if self.floats.contains(&other) => {
                let a = self.expression(other, depth);
                self.node(ty, &format!("((§) as {ty})"), vec![a])
            }
            _ => {
                let c = self.expression("bool", depth);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, "(if § { § } else { § })", vec![c, a, b])
            }
        }
    }

    fn integer_expression(&mut self, ty: Ty, depth: usize) -> Node {
        let last = bits(ty) - 1;
        match self.below(28) {
            0..=3 => {
                let operation = self.pick(&["wrapping_add", "wrapping_sub", "wrapping_mul"]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("(§).{operation}(§)"), vec![a, b])
            }
            4 | 5 => {
                let operator = self.pick(&["&", "|", "^"]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("(§ {operator} §)"), vec![a, b])
            }
            6 | 7 => {
                let operation = self.pick(&["wrapping_shl", "wrapping_shr", "rotate_left", "rotate_right"]);
                let (a, b) = (self.expression(ty, depth), self.expression("u32", depth));
                self.node(ty, &format!("(§).{operation}(§)"), vec![a, b])
            }
            8 => {
                let operator = self.pick(&["<<", ">>"]);
                let (a, b) = (self.expression(ty, depth), self.expression("u32", depth));
                self.node(ty, &format!("(§ {operator} ((§) & {last}))"), vec![a, b])
            }
            9 | 10 => {
                let operation = self.pick(&[
                    "wrapping_div",
                    "wrapping_rem",
                    "wrapping_div_euclid",
                    "wrapping_rem_euclid",
                ]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("(§).{operation}((§) | 1)"), vec![a, b])
            }
            11 => {
                let operator = self.pick(&["/", "%"]);
                let by = self.pick(&[2, 3, 5, 7, 8, 10, 16, 60, 100, 127]);
                let a = self.expression(ty, depth);
                self.node(ty, &format!("(§ {operator} {by})"), vec![a])
            }
            12 | 13 => self.cast(ty, depth),
            14 | 15 => {
                let c = self.expression("bool", depth);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, "(if § { § } else { § })", vec![c, a, b])
            }
            16 => {
                let mut list = vec![
                    "(!§)".to_owned(),
                    "(§).wrapping_neg()".to_owned(),
                    "(§).swap_bytes()".to_owned(),
                    "(§).reverse_bits()".to_owned(),
                ];
                for count in ["count_ones", "leading_zeros", "trailing_zeros", "leading_ones"] {
                    list.push(format!("((§).{count}() as {ty})"));
                }
                let own: &[&str] = match is_signed(ty) {
                    true => &["(§).wrapping_abs()", "(§).signum()"],
                    false => &["(((§) | 1).ilog2() as _)", "((§) >> 1).next_power_of_two()"],
                };
                list.extend(own.iter().map(|text| text.replace("as _", &format!("as {ty}"))));
                let template = self.pick(&list);
                let a = self.expression(ty, depth);
                self.node(ty, &template, vec![a])
            }
            17 | 18 => {
                let operation = self.pick(&[
                    "checked_add",
                    "checked_sub",
                    "checked_mul",
                    "checked_div",
                    "checked_rem",
                ]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                let c = self.leaf(ty);
                self.node(ty, &format!("(§).{operation}(§).unwrap_or(§)"), vec![a, b, c])
            }
            19 => {
                let operation = self.pick(&["overflowing_add", "overflowing_sub", "overflowing_mul"]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                let template = format!("{{ let (r, o) = (§).{operation}(§); if o {{ !r }} else {{ r }} }}");
                self.node(ty, &format!("({template})"), vec![a, b])
            }
            20 => {
                let operation = self.pick(&["saturating_add", "saturating_sub", "saturating_mul", "min", "max"]);
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("(§).{operation}(§)"), vec![a, b])
            }
            21 => {
                let (a, b) = (self.expression(ty, depth), self.expression(ty, depth));
                self.node(ty, &format!("((§).abs_diff(§) as {ty})"), vec![a, b])
            }
            22 => {
                let (a, b) = (self.expression("bool", depth), self.expression("bool", depth));
                self.node(ty, &format!("((§) as {ty}).wrapping_sub((!§) as {ty})"), vec![a, b])
            }
            23 => {
                let arms = self.between(2, 5);
                let mut template = format!("(match (§) & {} {{ ", (arms + 1).next_power_of_two() - 1);
                let mut children = vec![self.expression(ty, depth)];
                for arm in 0..arms {
                    template.push_str(&format!("{arm} => §, "));
                    children.push(self.leaf(ty));
                }
                children.push(self.expression(ty, depth));
                self.node(ty, &(template + "_ => § })"), children)
            }
            24 => {
                let (a, b) = (self.expression(ty, depth), self.expression("u32", depth));
                self.node(ty, "(§).wrapping_pow((§) & 7)", vec![a, b])
            }
            25 | 26 => match self.element(ty, depth) {
                Some(node) => node,
                None => self.cast(ty, depth),
            },
            _ => match self.call(ty, depth) {
                Some(node) => node,
                None => self.cast(ty, depth),
            },
        }
    }

    fn cast(&mut self, ty: Ty, depth: usize) -> Node {
        let from = self.scalar();
        let a = self.expression(from, depth);
        self.node(ty, &format!("((§) as {ty})"), vec![a])
    }

    /// An element of an array in scope, at a run-time index.
    fn element(&mut self, ty: Ty, depth: usize) -> Option<Node> {
        let fitting: Vec<Array> = self
            .arrays
            .iter()
            .filter(|array| array.element == ty)
            .cloned()
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let array = self.pick(&fitting);
        let index = self.expression("usize", depth);
        let template = format!("{}[(§) & {}]", array.name, array.len - 1);
        Some(self.node(ty, &template, vec![index]))
    }

    /// An integer type for array elements: those of this program, and the ones that memory is made of most often.
    pub fn element_type(&mut self) -> Ty {
        if self.chance(50) {
            return self.integer();
        }
        self.pick(&["u8", "u32", "u64", "u32", "u64", "i16"])
    }
}
