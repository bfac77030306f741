//! Random programs.
//!
//! Every program is total and free of undefined behavior by construction: indices are masked, divisors are made odd,
//! raw pointers stay inside their arrays, loops count to a constant. Nothing depends on what IEEE 754 leaves open.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::shapes::{SHAPES, Shape};
use crate::tree::{Kind, Node};

/// Words of input of one case.
pub const INPUTS: usize = 8;
/// Words of output of one case.
pub const OUTPUTS: usize = 8;
/// What an output word is before a program writes it, on the host and on the device.
pub const UNWRITTEN: u64 = 0xdead_beef_dead_beef;

/// A type by its name in the source.
pub type Ty = &'static str;

/// The integer types.
pub const INTEGERS: [Ty; 12] = [
    "u8", "u16", "u32", "u64", "usize", "u128", "i8", "i16", "i32", "i64", "isize", "i128",
];

/// A program: its text, and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The name of its module and of its kernel, such as `p0017`.
    pub name: String,
    /// The shapes that were drawn for it.
    pub features: Vec<&'static str>,
    /// The items and the body of its module.
    pub tree: Node,
}

/// A variable of a scalar type.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub name: String,
    pub ty: Ty,
    pub mutable: bool,
}

/// Something that is indexed: an array, or a reference to one. Its length is a power of two.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub name: String,
    pub element: Ty,
    pub len: usize,
    pub mutable: bool,
}

/// A helper function of scalars.
#[derive(Debug, Clone)]
struct Function {
    name: String,
    parameters: Vec<Ty>,
    result: Ty,
}

/// The state of one program's generation.
pub(crate) struct Generator {
    random: ChaCha8Rng,
    names: usize,
    /// Integer types of this program.
    pub integers: Vec<Ty>,
    /// Float types of this program, maybe none.
    pub floats: Vec<Ty>,
    shapes: Vec<&'static Shape>,
    functions: Vec<Function>,
    /// Items at the module's level.
    pub items: Vec<Node>,
    /// Scalars in scope.
    pub variables: Vec<Variable>,
    /// Arrays in scope.
    pub arrays: Vec<Array>,
    /// Whether `input` and `output` are in scope.
    in_body: bool,
    /// How deep statements are nested.
    nesting: usize,
    /// Whether the float remainder may be used.
    pub remainder: bool,
}

/// Shapes that can be left out by name beside those of the table.
pub const REMAINDER: &str = "float_remainder";

/// Program number `number` of the stream of `seed`. `skipped` names shapes that are left out.
pub fn generate(seed: u64, number: u64, skipped: &[String]) -> Program {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut generator = Generator {
        random,
        names: 0,
        integers: vec!["u64"],
        floats: Vec::new(),
        shapes: Vec::new(),
        functions: Vec::new(),
        items: Vec::new(),
        variables: Vec::new(),
        arrays: Vec::new(),
        in_body: false,
        nesting: 0,
        remainder: !skipped.iter().any(|name| name == REMAINDER),
    };
    generator.program(format!("p{number:04}"), skipped)
}

impl Generator {
    fn program(&mut self, name: String, skipped: &[String]) -> Program {
        self.draw_features(skipped);
        for _ in 0..self.below(3) {
            self.function();
        }
        self.variables.clear();
        self.in_body = true;
        self.arrays.push(Array {
            name: "input".to_owned(),
            element: "u64",
            len: INPUTS,
            mutable: false,
        });
        let mut body = Vec::new();
        for _ in 0..self.between(1, 3) {
            body.push(self.declaration());
        }
        let mut open = self.shapes.clone();
        for _ in 0..self.between(0, 3) {
            open.push(self.pick(&self.shapes.clone()));
        }
        for shape in open {
            body.push((shape.make)(self));
            if self.chance(40) {
                body.push(self.statement());
            }
        }
        body.push(self.output());
        let items = Node::group(std::mem::take(&mut self.items));
        let template = format!("§pub fn program(input: &[u64; {INPUTS}], output: &mut [u64; {OUTPUTS}]) {{\n§}}\n");
        Program {
            name,
            features: self.shapes.iter().map(|shape| shape.name).collect(),
            tree: Node::new(Kind::Group, &template, vec![items, Node::group(body)]),
        }
    }

    fn draw_features(&mut self, skipped: &[String]) {
        for _ in 0..self.between(1, 4) {
            let ty = self.pick(&INTEGERS);
            // Arithmetic of 128 bits is long: not in every program.
            if !ty.ends_with("128") || self.chance(50) {
                self.integers.push(ty);
            }
        }
        if self.chance(30) {
            self.floats = vec![self.pick(&["f32", "f64"])];
            if self.chance(30) {
                self.floats = vec!["f32", "f64"];
            }
        }
        let allowed: Vec<&'static Shape> = SHAPES
            .iter()
            .filter(|shape| !skipped.iter().any(|name| name == shape.name))
            .collect();
        let total: usize = allowed.iter().map(|shape| shape.weight).sum();
        for _ in 0..self.between(1, 4) {
            let mut left = self.below(total);
            for shape in &allowed {
                if left < shape.weight {
                    self.shapes.push(shape);
                    break;
                }
                left -= shape.weight;
            }
        }
    }

    /// A number below `end`. Written out, so that the stream does not depend on the release of a crate.
    pub fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Whether something that happens in `percent` of cases happens.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list.
    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// A random word.
    pub fn word(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// A name that is not in use.
    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A scalar type of this program.
    pub fn scalar(&mut self) -> Ty {
        let all = [self.integers.clone(), self.floats.clone(), vec!["bool"]].concat();
        self.pick(&all)
    }

    /// An integer type of this program.
    pub fn integer(&mut self) -> Ty {
        let all = self.integers.clone();
        self.pick(&all)
    }

    /// Makes statements in a scope of their own.
    pub fn scope(&mut self, make: impl FnOnce(&mut Self) -> Vec<Node>) -> Node {
        let (variables, arrays) = (self.variables.len(), self.arrays.len());
        self.nesting += 1;
        let nodes = make(self);
        self.nesting -= 1;
        self.variables.truncate(variables);
        self.arrays.truncate(arrays);
        Node::group(nodes)
    }

    /// A block of one to three statements.
    pub fn block(&mut self) -> Node {
        self.scope(|this| (0..this.between(1, 3)).map(|_| this.statement()).collect())
    }

    /// `let` of a scalar.
    pub fn declaration(&mut self) -> Node {
        let ty = self.scalar();
        let value = self.expression(ty, 2);
        let name = self.name("v");
        let mutable = self.chance(60);
        let node = Node::statement(
            &format!("let {}{name}: {ty} = §;", if mutable { "mut " } else { "" }),
            vec![value],
        );
        self.variables.push(Variable { name, ty, mutable });
        node
    }

    /// A value into the output.
    pub fn output(&mut self) -> Node {
        let ty = self.scalar();
        let value = self.expression(ty, 2);
        self.sink(value)
    }

    /// Stores or mixes a scalar into the output, or into a variable where there is no output.
    pub fn sink(&mut self, value: Node) -> Node {
        if !self.in_body {
            return match self.mutable_variable("u64") {
                Some(name) => Node::statement(&format!("{name} = {name}.rotate_left(5) ^ (§).word();"), vec![value]),
                None => Node::statement("let _ = §;", vec![value]),
            };
        }
        let at = self.below(OUTPUTS);
        let template = match self.below(5) {
            0 => format!("output[{at}] = (§).word();"),
            1 => format!("output[{at}] = output[{at}].wrapping_mul(31).wrapping_add((§).word());"),
            2 => format!("output[{at}] ^= (§).word();"),
            3 => format!("unsafe {{ *output.as_mut_ptr().add({at}) = (§).word().rotate_left(3); }}"),
            _ => format!("output[{at}] = output[{at}].rotate_left(7) ^ (§).word();"),
        };
        Node::statement(&template, vec![value])
    }

    fn mutable_variable(&mut self, ty: Ty) -> Option<String> {
        let fitting: Vec<String> = self
            .variables
            .iter()
            .filter(|variable| variable.mutable && variable.ty == ty)
            .map(|variable| variable.name.clone())
            .collect();
        (!fitting.is_empty()).then(|| self.pick(&fitting))
    }

    /// Any statement.
    pub fn statement(&mut self) -> Node {
        let deep = self.nesting > 2;
        match self.below(if deep { 6 } else { 14 }) {
            0 => self.declaration(),
            1 | 2 => self.output(),
            3 => self.array_store().unwrap_or_else(|| self.assignment()),
            4 | 5 => self.assignment(),
            6 => {
                let condition = self.expression("bool", 2);
                let then = self.block();
                Node::statement("if § {\n§}", vec![condition, then])
            }
            7 => {
                let condition = self.expression("bool", 2);
                let then = self.block();
                let other = self.block();
                Node::statement("if § {\n§} else {\n§}", vec![condition, then, other])
            }
            8 => self.counted_loop(),
            9 => self.many_arms(),
            // The shapes of this program, also inside of other statements.
            _ if self.in_body && self.nesting < 2 => {
                let shape = self.pick(&self.shapes.clone());
                (shape.make)(self)
            }
            _ => self.assignment(),
        }
    }

    fn assignment(&mut self) -> Node {
        let ty = self.scalar();
        let Some(name) = self.mutable_variable(ty) else {
            return self.output();
        };
        let value = self.expression(ty, 2);
        if INTEGERS.contains(&ty) && self.chance(50) {
            let operation = self.pick(&["wrapping_add", "wrapping_mul", "wrapping_sub"]);
            return Node::statement(&format!("{name} = {name}.{operation}(§);"), vec![value]);
        }
        Node::statement(&format!("{name} = §;"), vec![value])
    }

    fn array_store(&mut self) -> Option<Node> {
        let fitting: Vec<Array> = self.arrays.iter().filter(|array| array.mutable).cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let array = self.pick(&fitting);
        let index = self.expression("usize", 2);
        let value = self.expression(array.element, 2);
        let template = format!("{}[(§) & {}] = §;", array.name, array.len - 1);
        Some(Node::statement(&template, vec![index, value]))
    }

    /// A loop of at most 12 rounds, some with an early end.
    fn counted_loop(&mut self) -> Node {
        let end = self.between(1, 12);
        let counter = self.name("i");
        let (head, step) = match self.below(4) {
            0 => (format!("for {counter} in 0..{end}usize {{\n"), ""),
            1 => (format!("for {counter} in (0..{end}usize).rev() {{\n"), ""),
            2 => (format!("for {counter} in (0..{end}usize).step_by(2) {{\n"), ""),
            _ => (
                format!("let mut {counter} = 0usize;\nwhile {counter} < {end} {{\n{counter} += 1;\n"),
                "",
            ),
        };
        let condition = self.expression("bool", 2);
        let jump = self.pick(&["break", "continue"]);
        let body = self.scope(|this| {
            this.variables.push(Variable {
                name: counter.clone(),
                ty: "usize",
                mutable: false,
            });
            let mut nodes = vec![this.statement()];
            if this.chance(50) {
                nodes.push(Node::statement(&format!("if § {{ {jump}; }}"), vec![condition]));
            }
            nodes.push(this.statement());
            nodes
        });
        Node::statement(&format!("{{ {head}§{step}}} }}"), vec![body])
    }

    fn many_arms(&mut self) -> Node {
        let arms = self.between(3, 9);
        let value = self.expression("u64", 2);
        let mut template = format!("match § % {} {{\n", arms + 2);
        let mut children = vec![value];
        for arm in 0..arms {
            template.push_str(&format!("{arm} => {{\n§}}\n"));
            let made = if self.chance(70) {
                Node::group(vec![self.output()])
            } else {
                self.block()
            };
            children.push(made);
        }
        template.push_str("_ => {\n§}\n}");
        children.push(self.block());
        Node::statement(&template, children)
    }

    /// Adds a helper function.
    fn function(&mut self) {
        let name = self.name("helper");
        let result = self.scalar();
        let parameters: Vec<Ty> = (0..self.between(1, 3)).map(|_| self.scalar()).collect();
        self.variables.clear();
        let mut list = Vec::new();
        for &ty in &parameters {
            let parameter = self.name("a");
            list.push(format!("{parameter}: {ty}"));
            self.variables.push(Variable {
                name: parameter,
                ty,
                mutable: false,
            });
        }
        let mut body: Vec<Node> = (0..self.between(0, 2)).map(|_| self.declaration()).collect();
        for _ in 0..self.between(0, 2) {
            body.push(self.statement());
        }
        let value = self.expression(result, 2);
        let attribute = self.inlining();
        let template = format!("{attribute}fn {name}({}) -> {result} {{\n§§\n}}", list.join(", "));
        self.items
            .push(Node::statement(&template, vec![Node::group(body), value]));
        self.functions.push(Function {
            name,
            parameters,
            result,
        });
    }

    /// An attribute for a helper function, or nothing.
    pub fn inlining(&mut self) -> &'static str {
        self.pick(&[
            "#[inline(never)]\n",
            "#[inline(never)]\n",
            "#[inline]\n",
            "#[inline(always)]\n",
            "",
        ])
    }

    /// A call of a helper function that returns `ty`.
    pub fn call(&mut self, ty: Ty, depth: usize) -> Option<Node> {
        let fitting: Vec<Function> = self
            .functions
            .iter()
            .filter(|function| function.result == ty)
            .cloned()
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let function = self.pick(&fitting);
        let marks = vec!["§"; function.parameters.len()].join(", ");
        let arguments = function
            .parameters
            .iter()
            .map(|ty| self.expression(ty, depth))
            .collect();
        Some(Node::new(
            Kind::Expression(ty),
            &format!("{}({marks})", function.name),
            arguments,
        ))
    }

    /// Whether the program's function is being made, and `input` and `output` are in scope.
    pub fn in_body(&self) -> bool {
        self.in_body
    }
}
