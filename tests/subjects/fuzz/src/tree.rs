//! Source text as a tree, so that a program can be made smaller without being parsed.
//!
//! The tree knows just enough for that: which pieces of text are statements (which may go) and which are expressions of
//! a type (which may be replaced by another expression of this type). What keeps a program free of undefined behavior,
//! such as the mask of an index or the guard of a divisor, is text of a parent node, and no edit removes it.

use std::collections::HashMap;

/// What an edit may do with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: it only groups its parts.
    Group,
    /// Remove it, or put the statements inside it in its place.
    Statement,
    /// Replace it by a part of the same type, or by the type's zero.
    Expression(&'static str),
}

/// A piece of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text that stays as it is.
    Text(String),
    /// A part that edits may reach.
    Node(Node),
}

/// A node: its parts, one after the other, are its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What may be done with it.
    pub kind: Kind,
    /// Its text and its children, in order.
    pub parts: Vec<Part>,
}

/// One way to make a program smaller. Nodes are numbered in preorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// Leave a statement out.
    Remove,
    /// Put the statements inside of a statement in its place.
    Unwrap,
    /// Put the type's zero in place of an expression.
    Zero,
    /// Put the descendant of this number in place of an expression.
    Descendant(usize),
}

/// Edits by the number of the node.
pub type Edits = HashMap<usize, Edit>;

impl Node {
    /// A node from a template in which each `§` stands for the next child.
    pub fn new(kind: Kind, template: &str, children: Vec<Node>) -> Self {
        let mut parts = Vec::new();
        let mut children = children.into_iter();
        for (index, text) in template.split('§').enumerate() {
            if index > 0 {
                let child = children.next().expect("a template has a child for each of its marks");
                parts.push(Part::Node(child));
            }
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
        }
        assert!(children.next().is_none(), "more children than marks in {template}");
        Self { kind, parts }
    }

    /// A statement from a template; the line ends after it.
    pub fn statement(template: &str, children: Vec<Node>) -> Self {
        Self::new(Kind::Statement, &format!("{template}\n"), children)
    }

    /// Nodes one after the other.
    pub fn group(nodes: Vec<Node>) -> Self {
        Self {
            kind: Kind::Group,
            parts: nodes.into_iter().map(Part::Node).collect(),
        }
    }

    /// The text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        self.render_into(&mut text);
        text
    }

    fn render_into(&self, text: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Node(node) => node.render_into(text),
            }
        }
    }

    fn children(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().filter_map(|part| match part {
            Part::Node(node) => Some(node),
            Part::Text(_) => None,
        })
    }

    /// How many nodes the tree has.
    pub fn count(&self) -> usize {
        1 + self.children().map(Node::count).sum::<usize>()
    }

    /// Every single edit, with the number of the node it is for: those that remove most first.
    pub fn edits(&self) -> Vec<(usize, Edit)> {
        let mut found = Vec::new();
        self.collect_edits(0, &mut found);
        found.sort_by_key(|&(_, _, saved)| std::cmp::Reverse(saved));
        found.into_iter().map(|(node, edit, _)| (node, edit)).collect()
    }

    fn collect_edits(&self, number: usize, found: &mut Vec<(usize, Edit, usize)>) {
        let size = self.render().len();
        match self.kind {
            Kind::Group => {}
            Kind::Statement => {
                found.push((number, Edit::Remove, size));
                let inner: usize = self.inner_statements().iter().map(|node| node.render().len()).sum();
                if inner > 0 {
                    found.push((number, Edit::Unwrap, size.saturating_sub(inner)));
                }
            }
            Kind::Expression(ty) => {
                let mut descendants = Vec::new();
                self.descendants_of(ty, number, &mut descendants);
                for (descendant, length) in descendants {
                    found.push((number, Edit::Descendant(descendant), size.saturating_sub(length)));
                }
                if let Some(zero) = zero(ty)
                    && size > zero.len()
                {
                    found.push((number, Edit::Zero, size - zero.len()));
                }
            }
        }
        let mut next = number + 1;
        for child in self.children() {
            child.collect_edits(next, found);
            next += child.count();
        }
    }

    /// The nearest expressions of a type below this node, with the lengths of their texts.
    fn descendants_of(&self, ty: &str, number: usize, found: &mut Vec<(usize, usize)>) {
        let mut next = number + 1;
        for child in self.children() {
            match child.kind {
                Kind::Expression(of) if of == ty => found.push((next, child.render().len())),
                // Statements inside a block expression name variables of that block.
                Kind::Statement => {}
                _ => child.descendants_of(ty, next, found),
            }
            next += child.count();
        }
    }

    /// The outermost statements below this node.
    fn inner_statements(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        for child in self.children() {
            match child.kind {
                Kind::Statement => found.push(child),
                _ => found.extend(child.inner_statements()),
            }
        }
        found
    }

    /// The tree with all of `edits` made. An edit inside of what another one removes has no effect.
    pub fn edited(&self, edits: &Edits) -> Self {
        self.edit_at(0, edits)
    }

    fn edit_at(&self, number: usize, edits: &Edits) -> Self {
        let group = |parts| Self {
            kind: Kind::Group,
            parts,
        };
        match (self.kind, edits.get(&number)) {
            (Kind::Statement, Some(Edit::Remove)) => return group(Vec::new()),
            (Kind::Statement, Some(Edit::Unwrap)) => {
                let mut parts = Vec::new();
                self.edit_inner_statements(number, edits, &mut parts);
                return group(parts);
            }
            (Kind::Expression(ty), Some(Edit::Zero)) => {
                return Self {
                    kind: self.kind,
                    parts: vec![Part::Text(zero(ty).expect("the edit was offered").to_owned())],
                };
            }
            (Kind::Expression(_), Some(Edit::Descendant(wanted))) => {
                if let Some((descendant, at)) = self.find(number, *wanted) {
                    return descendant.edit_at(at, edits);
                }
            }
            _ => {}
        }
        let mut next = number + 1;
        let mut parts = Vec::new();
        for part in &self.parts {
            parts.push(match part {
                Part::Text(_) => part.clone(),
                Part::Node(node) => {
                    let at = next;
                    next += node.count();
                    Part::Node(node.edit_at(at, edits))
                }
            });
        }
        Self { kind: self.kind, parts }
    }

    fn edit_inner_statements(&self, number: usize, edits: &Edits, parts: &mut Vec<Part>) {
        let mut next = number + 1;
        for child in self.children() {
            match child.kind {
                Kind::Statement => parts.push(Part::Node(child.edit_at(next, edits))),
                _ => child.edit_inner_statements(next, edits, parts),
            }
            next += child.count();
        }
    }

    fn find(&self, number: usize, wanted: usize) -> Option<(&Node, usize)> {
        if number == wanted {
            return Some((self, number));
        }
        let mut next = number + 1;
        for child in self.children() {
            let end = next + child.count();
            if wanted < end {
                return child.find(next, wanted);
            }
            next = end;
        }
        None
    }
}

/// The simplest value of a type, if it has one that is a literal.
pub fn zero(ty: &str) -> Option<&'static str> {
    Some(match ty {
        "u8" => "0u8",
        "u16" => "0u16",
        "u32" => "0u32",
        "u64" => "0u64",
        "u128" => "0u128",
        "usize" => "0usize",
        "i8" => "0i8",
        "i16" => "0i16",
        "i32" => "0i32",
        "i64" => "0i64",
        "i128" => "0i128",
        "isize" => "0isize",
        "f32" => "0f32",
        "f64" => "0f64",
        "bool" => "false",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Node {
        Node::new(Kind::Expression("u8"), text, Vec::new())
    }

    fn sample() -> Node {
        let sum = Node::new(Kind::Expression("u8"), "(§ + §)", vec![number("17u8"), number("x")]);
        let inner = Node::statement("y = §;", vec![sum]);
        Node::statement("if c { § }", vec![inner])
    }

    #[test]
    fn text_is_the_parts_in_order() {
        assert_eq!(sample().render(), "if c { y = (17u8 + x);\n }\n");
        assert_eq!(sample().count(), 5);
    }

    #[test]
    fn edits_reach_every_node_and_combine() {
        let tree = sample();
        let all = tree.edits();
        for edit in [
            (0, Edit::Remove),
            (0, Edit::Unwrap),
            (1, Edit::Remove),
            (2, Edit::Zero),
            (2, Edit::Descendant(3)),
            (2, Edit::Descendant(4)),
        ] {
            assert!(all.contains(&edit), "{edit:?} of {all:?}");
        }
        let made = |edits: &[(usize, Edit)]| tree.edited(&edits.iter().copied().collect()).render();
        assert_eq!(made(&[(0, Edit::Remove), (2, Edit::Zero)]), "");
        assert_eq!(made(&[(0, Edit::Unwrap), (2, Edit::Zero)]), "y = 0u8;\n");
        assert_eq!(
            made(&[(2, Edit::Descendant(3)), (3, Edit::Zero)]),
            "if c { y = 0u8;\n }\n"
        );
        assert_eq!(made(&[(2, Edit::Descendant(4))]), "if c { y = x;\n }\n");
    }
}
