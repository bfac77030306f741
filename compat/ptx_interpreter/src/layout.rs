//! Where the statics of a module are, and what they hold.

use std::collections::HashMap;

use crate::ast::{File, InitialValue, Statement, Variable};
use crate::fault::ParseError;
use crate::lexer::Literal;
use crate::memory::{Arena, FUNCTION_BASE, FUNCTION_STRIDE, GLOBAL_BASE, SHARED_RESERVED, SharedWindow};
use crate::types::Space;

/// The granules between statics.
const GAP: usize = 1;

/// Where constant memory starts in its window.
const CONSTANT_START: u64 = 0x1000;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    /// An address in `.global`, `.shared`, `.const` or a kernel's `.param`.
    Address { space: Space, address: u64 },
    /// A place in the frame of the function.
    Frame { offset: u32, bytes: u32 },
    /// The index of a function.
    Function(u32),
}

/// The symbols of a module and the first contents of its memories.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub window: SharedWindow,
    pub symbols: HashMap<String, Symbol>,
    pub global: Arena,
    pub constant: Arena,
    /// Where the static shared memory ends.
    pub shared_end: u64,
    /// Where dynamic shared memory starts: after all that is static.
    pub dynamic_align: u64,
    dynamic: Vec<String>,
}

impl Layout {
    /// Lays out all variables; `function_index` names the functions, for initialisers that hold their addresses.
    pub fn new(file: &File<'_>, functions: &HashMap<&str, u32>, window: SharedWindow) -> Result<Self, ParseError> {
        let mut layout = Self {
            window,
            symbols: HashMap::new(),
            global: Arena::new(GLOBAL_BASE),
            constant: Arena::new(CONSTANT_START),
            shared_end: SHARED_RESERVED,
            dynamic_align: 16,
            dynamic: Vec::new(),
        };
        for (&name, &index) in functions {
            layout.symbols.insert(name.to_owned(), Symbol::Function(index));
        }
        let inner = file
            .functions
            .iter()
            .filter_map(|function| function.body.as_ref())
            .flatten();
        let inner = inner.filter_map(|statement| match statement {
            Statement::Variable(variable) if !matches!(variable.space, ".local" | ".param") => Some(variable),
            _ => None,
        });
        let variables: Vec<&Variable<'_>> = file.variables.iter().chain(inner).collect();
        for variable in &variables {
            layout.place(variable)?;
        }
        layout.place_dynamic();
        for variable in &variables {
            layout.initialise(variable)?;
        }
        Ok(layout)
    }

    fn place(&mut self, variable: &Variable<'_>) -> Result<(), ParseError> {
        let bytes = variable.bytes as usize;
        let align = variable.align as usize;
        let (space, address) = match variable.space {
            ".shared" if variable.external => {
                self.dynamic_align = self.dynamic_align.max(variable.align);
                self.dynamic.push(variable.name.to_owned());
                return Ok(());
            }
            _ if variable.external && self.symbols.contains_key(variable.name) => return Ok(()),
            ".global" => (Space::Global, self.global.allocate(bytes, align, GAP)),
            ".const" => (Space::Constant, self.constant.allocate(bytes, align, GAP)),
            ".shared" => {
                let start = self.shared_end.next_multiple_of(variable.align);
                self.shared_end = start + variable.bytes;
                (Space::Shared, start)
            }
            other => return Err(ParseError::new(variable.line, format!("a variable in {other} here"))),
        };
        self.symbols
            .insert(variable.name.to_owned(), Symbol::Address { space, address });
        Ok(())
    }

    fn place_dynamic(&mut self) {
        let address = self.dynamic_start();
        for name in std::mem::take(&mut self.dynamic) {
            let space = Space::Shared;
            self.symbols.insert(name, Symbol::Address { space, address });
        }
    }

    /// Where dynamic shared memory starts.
    pub fn dynamic_start(&self) -> u64 {
        self.shared_end.next_multiple_of(self.dynamic_align)
    }

    fn initialise(&mut self, variable: &Variable<'_>) -> Result<(), ParseError> {
        let Some(&Symbol::Address { space, address }) = self.symbols.get(variable.name) else {
            return Ok(());
        };
        let element = variable.ty.bytes();
        let mut contents = Vec::with_capacity(variable.bytes as usize);
        for initial in &variable.initial {
            let value = match initial.value {
                InitialValue::Literal(literal) => literal_bits(literal, element),
                InitialValue::Symbol { name, generic, offset } => {
                    let message = || ParseError::new(variable.line, format!("{name} is not defined"));
                    let symbol = *self.symbols.get(name).ok_or_else(message)?;
                    let address = match (symbol, generic) {
                        (Symbol::Address { space, address }, true) => self.window.cvta(space, address),
                        _ => address_of(symbol),
                    };
                    address.wrapping_add(offset as u64)
                }
            };
            let value = (value & initial.mask) >> initial.mask.trailing_zeros().min(63);
            contents.extend_from_slice(&value.to_le_bytes()[..element.min(8)]);
            contents.resize(contents.len().next_multiple_of(element), 0);
        }
        if contents.is_empty() {
            return Ok(());
        }
        let arena = match space {
            Space::Global => &mut self.global,
            Space::Constant => &mut self.constant,
            _ => return Err(ParseError::new(variable.line, "shared memory has no initial values")),
        };
        match arena.get(address, contents.len()) {
            Some(bytes) => {
                bytes.copy_from_slice(&contents);
                Ok(())
            }
            None => Err(ParseError::new(variable.line, "more initial values than elements")),
        }
    }
}

/// The address that a symbol has in its space.
pub(crate) fn address_of(symbol: Symbol) -> u64 {
    match symbol {
        Symbol::Address { address, .. } => address,
        Symbol::Function(index) => FUNCTION_BASE + u64::from(index) * FUNCTION_STRIDE,
        Symbol::Frame { offset, .. } => offset.into(),
    }
}

/// The bits of a literal as an element or operand of so many bytes.
pub(crate) fn literal_bits(literal: Literal, bytes: usize) -> u64 {
    match (literal, bytes) {
        (Literal::Integer(value), _) => value,
        (Literal::Single(bits), 8) => f64::from(f32::from_bits(bits)).to_bits(),
        (Literal::Single(bits), _) => bits.into(),
        (Literal::Double(bits), 4) => (f64::from_bits(bits) as f32).to_bits().into(),
        (Literal::Double(bits), _) => bits,
    }
}
