//! From text to structure.

use crate::ast::{File, Function, Initial, InitialValue, Instruction, Operand, Statement, Variable};
use crate::fault::ParseError;
use crate::lexer::{Literal, Located, Token, tokens};
use crate::memory::SharedWindow;
use crate::types::Type;

/// The directives that name the space of a variable.
const SPACES: [&str; 6] = [".global", ".const", ".shared", ".local", ".param", ".reg"];

pub(crate) fn parse(text: &str) -> Result<File<'_>, ParseError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
    };
    let mut file = File::default();
    while parser.peek().is_some() {
        parser.item(&mut file)?;
    }
    Ok(file)
}

struct Parser<'a> {
    tokens: Vec<Located<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|located| located.token)
    }

    fn line(&self) -> u32 {
        let at = self.at.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).map_or(1, |located| located.line)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::new(self.line(), message))
    }

    fn take(&mut self) -> Result<Token<'a>, ParseError> {
        match self.peek() {
            Some(token) => {
                self.at += 1;
                Ok(token)
            }
            None => self.error("the text ends early"),
        }
    }

    fn is_symbol(&self, symbol: char) -> bool {
        self.peek() == Some(Token::Symbol(symbol))
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(Token::Word(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: char) -> Result<(), ParseError> {
        match self.eat(symbol) {
            true => Ok(()),
            false => self.error(format!("expected {symbol:?}, found {:?}", self.peek())),
        }
    }

    fn word(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            other => self.error(format!("expected a word, found {other:?}")),
        }
    }

    fn literal(&mut self) -> Result<Literal, ParseError> {
        let negative = self.eat('-');
        let word = self.word()?;
        match Literal::parse(word) {
            Some(literal) if negative => Ok(literal.negate()),
            Some(literal) => Ok(literal),
            None => self.error(format!("{word} is no number")),
        }
    }

    fn integer(&mut self) -> Result<u64, ParseError> {
        match self.literal()? {
            Literal::Integer(value) => Ok(value),
            _ => self.error("expected an integer"),
        }
    }

    fn skip_past(&mut self, symbol: char) -> Result<(), ParseError> {
        while self.take()? != Token::Symbol(symbol) {}
        Ok(())
    }

    /// Skips a directive that ends with its line.
    fn skip_line(&mut self) {
        let line = self.line();
        while self.peek().is_some() && self.line() == line {
            self.at += 1;
        }
    }

    fn item(&mut self, file: &mut File<'a>) -> Result<(), ParseError> {
        let mut external = false;
        loop {
            let word = self.word()?;
            match word {
                ".target" => {
                    file.window = SharedWindow::of_target(self.word()?);
                    self.at -= 1;
                    self.skip_line();
                    return Ok(());
                }
                ".version" | ".address_size" | ".file" | ".loc" => {
                    self.at -= 1;
                    self.skip_line();
                    return Ok(());
                }
                ".section" => {
                    self.skip_past('{')?;
                    return self.skip_past('}');
                }
                ".pragma" => return self.skip_past(';'),
                ".extern" => external = true,
                ".visible" | ".weak" | ".common" => {}
                ".func" | ".entry" => {
                    file.functions.push(self.function(word == ".entry")?);
                    return Ok(());
                }
                ".alias" => {
                    let alias = self.word()?;
                    self.expect(',')?;
                    file.aliases.push((alias, self.word()?));
                    return self.expect(';');
                }
                space if SPACES.contains(&space) => {
                    file.variables.push(self.variable(space, external)?);
                    return self.expect(';');
                }
                other => return self.error(format!("{other} is not expected here")),
            }
        }
    }

    fn function(&mut self, kernel: bool) -> Result<Function<'a>, ParseError> {
        while self.eat_word(".noreturn") {}
        let returns = if !kernel && self.is_symbol('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.word()?;
        let parameters = if self.is_symbol('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let body = loop {
            match self.take()? {
                Token::Symbol('{') => break Some(self.body()?),
                Token::Symbol(';') => break None,
                Token::Word(".pragma") => self.skip_past(';')?,
                _ => {}
            }
        };
        Ok(Function {
            name,
            kernel,
            returns,
            parameters,
            body,
        })
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>, ParseError> {
        self.expect('(')?;
        let mut found = Vec::new();
        while !self.eat(')') {
            let space = self.word()?;
            if !SPACES.contains(&space) {
                return self.error(format!("{space} is no space of a parameter"));
            }
            found.push(self.variable(space, false)?);
            self.eat(',');
        }
        Ok(found)
    }

    /// A variable after its space, without the final semicolon.
    fn variable(&mut self, space: &'a str, external: bool) -> Result<Variable<'a>, ParseError> {
        let line = self.line();
        let (mut align, mut ty, mut lanes) = (None, None, 1);
        let name = loop {
            let word = self.word()?;
            match word {
                // `.ptr .shared .align 4` says something of the pointee.
                ".ptr" => {
                    while SPACES.contains(&self.word_ahead()) {
                        self.at += 1;
                    }
                    if self.eat_word(".align") {
                        self.integer()?;
                    }
                }
                ".align" => align = Some(self.integer()?),
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".attribute" => self.skip_attribute()?,
                _ => match word.strip_prefix('.') {
                    None => break word,
                    Some(name) => match Type::parse(name) {
                        Some(parsed) => ty = Some(parsed),
                        None => return self.error(format!(".{name} is no type")),
                    },
                },
            }
        };
        let Some(ty) = ty else {
            return self.error(format!("{name} has no type"));
        };
        let element = ty.bytes() as u64 * lanes;
        let mut elements = 1;
        let mut open = false;
        while self.eat('[') {
            match self.is_symbol(']') {
                true => open = true,
                false => elements *= self.integer()?,
            }
            self.expect(']')?;
        }
        let mut initial = Vec::new();
        if self.eat('=') {
            self.initial(&mut initial)?;
        }
        if open {
            elements = initial.len() as u64;
        }
        Ok(Variable {
            line,
            external,
            space,
            align: align.unwrap_or(element).max(1),
            ty,
            name,
            bytes: element * elements,
            initial,
        })
    }

    fn word_ahead(&self) -> &'a str {
        match self.peek() {
            Some(Token::Word(word)) => word,
            _ => "",
        }
    }

    fn skip_attribute(&mut self) -> Result<(), ParseError> {
        let mut depth = 0;
        loop {
            match self.take()? {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn initial(&mut self, into: &mut Vec<Initial<'a>>) -> Result<(), ParseError> {
        if self.eat('{') {
            while !self.eat('}') {
                self.initial(into)?;
                self.eat(',');
            }
            return Ok(());
        }
        let is_number = self.is_symbol('-') || self.word_ahead().starts_with(|c: char| c.is_ascii_digit());
        if !is_number {
            let value = self.initial_symbol()?;
            into.push(Initial { value, mask: u64::MAX });
            return Ok(());
        }
        let literal = self.literal()?;
        let (value, mask) = match literal {
            Literal::Integer(mask) if self.eat('(') => {
                let value = self.initial_symbol()?;
                self.expect(')')?;
                (value, mask)
            }
            _ => (InitialValue::Literal(literal), u64::MAX),
        };
        into.push(Initial { value, mask });
        Ok(())
    }

    fn initial_symbol(&mut self) -> Result<InitialValue<'a>, ParseError> {
        let generic = self.eat_word("generic");
        let name = match generic {
            true => {
                self.expect('(')?;
                let name = self.word()?;
                self.expect(')')?;
                name
            }
            false => self.word()?,
        };
        let offset = self.offset()?;
        Ok(InitialValue::Symbol { name, generic, offset })
    }

    /// `+8`, `-8`, `+-8` or nothing.
    fn offset(&mut self) -> Result<i64, ParseError> {
        match self.eat('+') || self.is_symbol('-') {
            true => Ok(self.integer()? as i64),
            false => Ok(0),
        }
    }

    fn body(&mut self) -> Result<Vec<Statement<'a>>, ParseError> {
        let mut statements = Vec::new();
        let mut depth = 0;
        loop {
            match self.take()? {
                Token::Symbol('{') => {
                    depth += 1;
                    statements.push(Statement::Open);
                }
                Token::Symbol('}') if depth == 0 => return Ok(statements),
                Token::Symbol('}') => {
                    depth -= 1;
                    statements.push(Statement::Close);
                }
                Token::Symbol(';') => {}
                Token::Symbol('@') => {
                    let negated = self.eat('!');
                    let guard = self.word()?;
                    let instruction = self.instruction(Some((guard, negated)))?;
                    statements.push(Statement::Instruction(instruction));
                }
                Token::Word(word) => {
                    if self.eat(':') {
                        self.label(word, &mut statements)?;
                    } else if word.starts_with('.') {
                        self.directive(word, &mut statements)?;
                    } else {
                        self.at -= 1;
                        let instruction = self.instruction(None)?;
                        statements.push(Statement::Instruction(instruction));
                    }
                }
                other => return self.error(format!("{other:?} is not expected here")),
            }
        }
    }

    fn label(&mut self, name: &'a str, statements: &mut Vec<Statement<'a>>) -> Result<(), ParseError> {
        if self.eat_word(".branchtargets") {
            let mut targets = vec![self.word()?];
            while self.eat(',') {
                targets.push(self.word()?);
            }
            statements.push(Statement::Targets(name, targets));
            self.expect(';')
        } else if self.eat_word(".callprototype") || self.eat_word(".calltargets") {
            self.skip_past(';')
        } else {
            statements.push(Statement::Label(name));
            Ok(())
        }
    }

    fn directive(&mut self, word: &'a str, statements: &mut Vec<Statement<'a>>) -> Result<(), ParseError> {
        match word {
            ".loc" | ".file" => {
                self.at -= 1;
                self.skip_line();
                Ok(())
            }
            ".pragma" => self.skip_past(';'),
            ".reg" => self.registers(statements),
            space if SPACES.contains(&space) => {
                statements.push(Statement::Variable(self.variable(space, false)?));
                self.expect(';')
            }
            other => self.error(format!("{other} is not expected in a function")),
        }
    }

    fn registers(&mut self, statements: &mut Vec<Statement<'a>>) -> Result<(), ParseError> {
        let word = self.word()?;
        let Some(ty) = word.strip_prefix('.').and_then(Type::parse) else {
            return self.error(format!("{word} is no type of a register"));
        };
        loop {
            let name = self.word()?;
            let count = match self.eat('<') {
                true => {
                    let count = self.integer()?;
                    self.expect('>')?;
                    Some(count as u32)
                }
                false => None,
            };
            statements.push(Statement::Register { ty, name, count });
            if !self.eat(',') {
                return self.expect(';');
            }
        }
    }

    fn instruction(&mut self, guard: Option<(&'a str, bool)>) -> Result<Instruction<'a>, ParseError> {
        let line = self.line();
        let opcode = self.word()?;
        let mut operands = Vec::new();
        while !self.eat(';') {
            operands.push(self.operand()?);
            self.eat(',');
        }
        Ok(Instruction {
            line,
            guard,
            opcode,
            operands,
        })
    }

    fn operand(&mut self) -> Result<Operand<'a>, ParseError> {
        if self.eat('[') {
            return Ok(Operand::Address(self.operands(']')?));
        }
        if self.eat('{') {
            return Ok(Operand::List(self.operands('}')?));
        }
        if self.eat('(') {
            return Ok(Operand::Group(self.operands(')')?));
        }
        if self.eat('!') {
            return Ok(Operand::Not(self.word()?));
        }
        if self.is_symbol('-') || self.word_ahead().starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Operand::Literal(self.literal()?));
        }
        let name = self.word()?;
        if self.eat('|') {
            return Ok(Operand::Pair(name, self.word()?));
        }
        Ok(Operand::Name(name, self.offset()?))
    }

    fn operands(&mut self, end: char) -> Result<Vec<Operand<'a>>, ParseError> {
        let mut found = Vec::new();
        while !self.eat(end) {
            found.push(self.operand()?);
            self.eat(',');
        }
        Ok(found)
    }
}
