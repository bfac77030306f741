//! What `ptxas --verbose` says, read.
//!
//! The text is written for people and documented nowhere. What is read here is what `ptxas` 13.0.88 wrote. A number
//! that is not where it is expected is an error, so that a changed text is noticed; a whole line that is not known
//! becomes a [`Remark`], so that nothing is lost.

use std::fmt;

use serde::Serialize;

/// What `ptxas` said of one assembly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The entry points, in the order of the report.
    pub kernels: Vec<Usage>,
    /// Functions that the entry points call because they were not inlined.
    pub functions: Vec<Frame>,
    /// Everything else that is not just a number: warnings, losses of performance.
    pub remarks: Vec<Remark>,
}

/// What an entry point takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The entry point.
    #[serde(rename = "kernel")]
    pub symbol: String,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Barriers of a block.
    pub barriers: u32,
    /// Static shared memory of a block in bytes, registers spilled into it included. Dynamic shared memory is not known
    /// to `ptxas`.
    pub static_smem_bytes: u32,
    /// The stack frame of a thread in bytes: arrays that are indexed at run time, and spilled registers.
    pub stack_bytes: u32,
    /// Bytes that a thread's instructions store to spill registers into local memory, each instruction counted once.
    /// Spills into shared memory do not count. In some kernels `ptxas` misses a few bytes: machine code of
    /// `examples/smem-spilling` has 24 more than it says, and where shared memory takes nearly all the number is
    /// negative.
    /// [`stack_bytes`](Self::stack_bytes) is right then too.
    pub spill_store_bytes: i32,
    /// Bytes that a thread's instructions load back, counted likewise.
    pub spill_load_bytes: i32,
    /// The stack of a thread with that of the functions it calls, in bytes; 0 where `ptxas` does not say, as with
    /// recursion.
    pub cumulative_stack_bytes: u32,
    /// Constant memory, where `ptxas` says so: up to 8.9.
    pub constant_banks: Vec<ConstantBank>,
}

/// Constant memory of one bank; bank 0 has the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConstantBank {
    /// The bank.
    pub bank: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// The stack of a function that was not inlined, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The function.
    pub symbol: String,
    /// Its frame.
    pub stack_bytes: u32,
    /// Spilled by stores.
    pub spill_store_bytes: i32,
    /// Loaded back.
    pub spill_load_bytes: i32,
}

/// A line of `ptxas` for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How loudly it is said. Losses of performance are mere information to `ptxas`.
    pub severity: Severity,
    /// The number, where it has one: 7511 of `(C7511)`.
    pub code: Option<u32>,
    /// The function, where it names one.
    pub symbol: Option<String>,
    /// The text, without severity and number.
    pub text: String,
}

/// The word that `ptxas` begins a remark with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// `info`
    Info,
    /// `warning`
    Warning,
}

/// A line without the number that belongs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableReport {
    /// The line.
    pub line: String,
}

impl fmt::Display for UnreadableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this line of the report cannot be read: `{}`", self.line.trim())
    }
}

impl std::error::Error for UnreadableReport {}

impl Report {
    /// Reads what `ptxas --verbose` has written to standard error.
    ///
    /// # Errors
    /// [`UnreadableReport`].
    pub fn parse(text: &str) -> Result<Self, UnreadableReport> {
        let mut report = Self::default();
        // The function that the next line is about: the entry point, or a function that it calls.
        let mut function = "";
        for line in text.lines() {
            report
                .read(line, &mut function)
                .ok_or_else(|| UnreadableReport { line: line.to_owned() })?;
        }
        // An empty kernel has registers too.
        match report.kernels.iter().find(|kernel| kernel.registers == 0) {
            Some(kernel) => Err(UnreadableReport {
                line: format!("Compiling entry function '{}' (and no registers)", kernel.symbol),
            }),
            None => Ok(report),
        }
    }

    /// Reads one line; `None` if it lacks a number.
    fn read<'a>(&mut self, line: &'a str, function: &mut &'a str) -> Option<()> {
        if let Some((frame, rest)) = line.trim_start().split_once(" bytes stack frame, ") {
            let (stores, loads) = rest.split_once(", ")?;
            return self.read_frame(function, [frame, number_of(stores)?, number_of(loads)?]);
        }
        let Some((severity, message)) = message(line) else {
            return Some(());
        };
        if let Some(rest) = message.strip_prefix("Compiling entry function '") {
            let (symbol, _) = rest.split_once('\'')?;
            self.kernels.push(Usage {
                symbol: symbol.to_owned(),
                ..Usage::default()
            });
        } else if let Some(symbol) = message.strip_prefix("Function properties for ") {
            *function = symbol.trim();
        } else if let Some(used) = message.strip_prefix("Used ") {
            self.kernels.last_mut()?.read(used)?;
        } else if !(message.starts_with("Compile time = ") || message.contains(" bytes gmem")) {
            self.remarks.push(Remark::of(severity, message));
        }
        Some(())
    }

    fn read_frame(&mut self, function: &str, [stack, stores, loads]: [&str; 3]) -> Option<()> {
        let frame = Frame {
            symbol: function.to_owned(),
            stack_bytes: stack.parse().ok()?,
            spill_store_bytes: stores.parse().ok()?,
            spill_load_bytes: loads.parse().ok()?,
        };
        match self.kernels.iter_mut().find(|kernel| kernel.symbol == function) {
            Some(kernel) => {
                kernel.stack_bytes = frame.stack_bytes;
                kernel.spill_store_bytes = frame.spill_store_bytes;
                kernel.spill_load_bytes = frame.spill_load_bytes;
            }
            None => self.functions.push(frame),
        }
        Some(())
    }

    /// What an entry point takes, if it was assembled.
    pub fn kernel(&self, symbol: &str) -> Option<&Usage> {
        self.kernels.iter().find(|kernel| kernel.symbol == symbol)
    }

    /// The remarks that name a function.
    pub fn remarks_on(&self, symbol: &str) -> impl Iterator<Item = &Remark> {
        self.remarks
            .iter()
            .filter(move |remark| remark.symbol.as_deref() == Some(symbol))
    }
}

impl Usage {
    /// Reads what follows `Used `: `38 registers, used 1 barriers, 2048 bytes smem, 380 bytes cmem[0]`.
    fn read(&mut self, used: &str) -> Option<()> {
        for part in used.split(", ") {
            let part = part.strip_prefix("used ").unwrap_or(part);
            let (number, what) = part.split_once(' ')?;
            let number = number.parse().ok()?;
            match what {
                "registers" => self.registers = number,
                "barriers" => self.barriers = number,
                "bytes smem" => self.static_smem_bytes = number,
                "bytes cumulative stack size" => self.cumulative_stack_bytes = number,
                _ => {
                    if let Some(bank) = what.strip_prefix("bytes cmem[") {
                        let bank = bank.strip_suffix(']')?.parse().ok()?;
                        self.constant_banks.push(ConstantBank { bank, bytes: number });
                    }
                }
            }
        }
        Some(())
    }
}

impl Remark {
    /// Whether `ptxas` says that it makes asynchronous products of matrices wait for one another, which costs most of
    /// the tensor cores' speed: C7509, C7510, C7511, C7514, C7520, a number for each cause.
    pub fn serializes_wgmma(&self) -> bool {
        self.text.contains("wgmma.mma_async instructions are serialized")
    }

    fn of(severity: Severity, message: &str) -> Self {
        let (code, text) = numbered(message).map_or((None, message), |(code, text)| (Some(code), text));
        let symbol = text
            .split_once("function '")
            .and_then(|(_, rest)| rest.split_once('\''));
        Self {
            severity,
            code,
            symbol: symbol.map(|(symbol, _)| symbol.to_owned()),
            text: text.to_owned(),
        }
    }
}

impl fmt::Display for Remark {
    /// Writes `(C7511) Potential Performance Loss: ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code {
            write!(f, "(C{code}) ")?;
        }
        f.write_str(&self.text)
    }
}

/// `(7511, "Potential ...")` of `(C7511) Potential ...`.
fn numbered(message: &str) -> Option<(u32, &str)> {
    let (code, text) = message.strip_prefix("(C")?.split_once(") ")?;
    Some((code.parse().ok()?, text))
}

/// `info` and the rest of `ptxas info : the rest`; where a line of the source is named, `ptxas k.ptx, line 5; warning :
/// the rest`. `None` for other lines.
fn message(line: &str) -> Option<(Severity, &str)> {
    let (head, message) = line.strip_prefix("ptxas ")?.split_once(" : ")?;
    let word = head.rsplit("; ").next()?.trim();
    let severity = match word {
        "info" => Severity::Info,
        "warning" => Severity::Warning,
        _ => return None,
    };
    Some((severity, message.trim()))
}

/// The number in `476 bytes spill stores`.
fn number_of(part: &str) -> Option<&str> {
    part.split_whitespace().next()
}

#[cfg(test)]
mod tests;
