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
    /// Spills into shared memory do not count. In some kernels `ptxas` misses a few bytes: machine code of each twin
    /// `inverse8` in f32 has 24 more than it says, and where shared memory takes nearly all the number is negative.
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
mod tests {
    use super::*;

    /// The report's only kernel.
    fn only(text: &str) -> Usage {
        let report = Report::parse(text).expect("readable");
        let [kernel] = &report.kernels[..] else {
            panic!("{report:?}")
        };
        kernel.clone()
    }

    #[test]
    fn a_kernel_with_static_shared_memory_and_a_barrier() {
        let kernel = only(
            "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'plain' for 'sm_75'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 5 registers, used 1 barriers, 2048 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 3.310 ms
",
        );
        let expected = Usage {
            symbol: "plain".into(),
            registers: 5,
            barriers: 1,
            static_smem_bytes: 2048,
            constant_banks: vec![ConstantBank { bank: 0, bytes: 360 }],
            ..Usage::default()
        };
        assert_eq!(kernel, expected);
    }

    #[test]
    fn spills_into_local_memory() {
        let report = Report::parse(
            "ptxas warning : Registers are spilled to local memory in function 'k', 552 bytes spill stores, 588 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_120'
ptxas info    : Function properties for k
    280 bytes stack frame, 552 bytes spill stores, 588 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 280 bytes cumulative stack size
ptxas info    : Compile time = 29.942 ms
",
        )
        .expect("readable");
        let expected = Usage {
            symbol: "k".into(),
            registers: 64,
            stack_bytes: 280,
            spill_store_bytes: 552,
            spill_load_bytes: 588,
            cumulative_stack_bytes: 280,
            ..Usage::default()
        };
        assert_eq!(report.kernel("k"), Some(&expected));
        let [remark] = &report.remarks[..] else {
            panic!("{report:?}")
        };
        assert_eq!((remark.severity, remark.code), (Severity::Warning, None));
        assert_eq!(remark.symbol.as_deref(), Some("k"));
        assert!(!remark.serializes_wgmma());
    }

    #[test]
    fn spills_into_shared_memory_are_static_bytes_and_only_the_local_rest_is_counted() {
        for (text, smem, stack, [stores, loads]) in [
            (
                "ptxas info    : Compiling entry function 'k' for 'sm_120'
ptxas info    : Function properties for k
    264 bytes stack frame, 476 bytes spill stores, 484 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 264 bytes cumulative stack size, 15360 bytes smem
",
                15360,
                264,
                [476, 484],
            ),
            (
                "ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 8704 bytes smem
",
                8704,
                0,
                [0, 0],
            ),
            // What the machine code has: 2 stores and 2 loads of 4 bytes.
            (
                "ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    8 bytes stack frame, -16 bytes spill stores, -16 bytes spill loads
ptxas info    : Used 72 registers, used 0 barriers, 8 bytes cumulative stack size, 9216 bytes smem
",
                9216,
                8,
                [-16, -16],
            ),
            // None at all.
            (
                "ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, -24 bytes spill stores, -24 bytes spill loads
ptxas info    : Used 72 registers, used 0 barriers, 9728 bytes smem, 372 bytes cmem[0]
",
                9728,
                0,
                [-24, -24],
            ),
        ] {
            let kernel = only(text);
            assert_eq!((kernel.static_smem_bytes, kernel.stack_bytes), (smem, stack));
            assert_eq!([kernel.spill_store_bytes, kernel.spill_load_bytes], [stores, loads]);
        }
    }

    #[test]
    fn serialised_wgmma_is_a_remark_with_a_number_whatever_the_cause() {
        for (line, code, serializes) in [
            (
                "ptxas info    : (C7509) Potential Performance Loss: wgmma.mma_async instructions are serialized due to the presence of \
                 Extern calls in the function 'hungry'",
                7509,
                true,
            ),
            (
                "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient \
                 register resources for the wgmma pipeline in the function 'hungry'",
                7511,
                true,
            ),
            (
                "ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async instructions are serialized due to program \
                 dependence on compiler-inserted WG.AR in divergent path in the function 'hungry'",
                7520,
                true,
            ),
            (
                "ptxas info    : (C7519) warpgroup.arrive is injected in around line 21 by compiler to allow use of registers in GMMA in \
                 function 'hungry'",
                7519,
                false,
            ),
        ] {
            let report = Report::parse(line).expect("readable");
            let remarks: Vec<_> = report.remarks_on("hungry").collect();
            let [remark] = remarks[..] else { panic!("{report:?}") };
            assert_eq!(
                (remark.code, remark.serializes_wgmma()),
                (Some(code), serializes),
                "{line}"
            );
            assert!(line.ends_with(&remark.to_string()), "{remark}");
            assert_eq!(report.remarks_on("other").count(), 0);
        }
    }

    #[test]
    fn a_called_function_has_a_frame_of_its_own() {
        let report = Report::parse(
            "ptxas warning : Registers are spilled to local memory in function 'fact', 16 bytes spill stores, 16 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'recur' for 'sm_90'
ptxas info    : Function properties for recur
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
ptxas info    : Compile time = 5.123 ms
ptxas info    : Function properties for fact
    80 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
",
        )
        .expect("readable");
        let kernel = report.kernel("recur").expect("there");
        assert_eq!((kernel.registers, kernel.stack_bytes), (24, 0));
        let frame = Frame {
            symbol: "fact".into(),
            stack_bytes: 80,
            spill_store_bytes: 16,
            spill_load_bytes: 16,
        };
        assert_eq!(report.functions, [frame]);
        assert_eq!(report.remarks_on("fact").count(), 1);
    }

    #[test]
    fn kernels_keep_apart_and_unknown_lines_are_remarks() {
        let report = Report::parse(
            "ptxas info    : Overriding maximum register limit 256 for 'k' with  64 of maxrregcount option
ptxas k.ptx, line 5; warning : something about a line
ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'first' for 'sm_120'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function 'second' for 'sm_120'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 38 registers, used 1 barriers, 2048 bytes smem
",
        )
        .expect("readable");
        let registers: Vec<_> = report.kernels.iter().map(|kernel| kernel.registers).collect();
        assert_eq!(registers, [40, 38]);
        assert_eq!(report.kernel("third"), None);
        let texts: Vec<_> = report.remarks.iter().map(|remark| remark.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Overriding maximum register limit 256 for 'k' with  64 of maxrregcount option",
                "something about a line"
            ]
        );
        assert_eq!(report.remarks[1].severity, Severity::Warning);
    }

    #[test]
    fn a_missing_number_is_an_error_with_the_line() {
        for line in [
            "ptxas info    : Used many registers, used 0 barriers",
            "    some bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            "    0 bytes stack frame, 0 bytes spill stores",
            "    -8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        ] {
            let text = format!("ptxas info    : Compiling entry function 'k' for 'sm_90'\n{line}\n");
            let error = Report::parse(&text).expect_err(line);
            assert_eq!(error.line, line);
            assert!(error.to_string().contains(line.trim()));
        }
        // Of no kernel, and a kernel of which nothing is said.
        assert!(Report::parse("ptxas info    : Used 3 registers").is_err());
        assert!(Report::parse("ptxas info    : Compiling entry function 'k' for 'sm_90'").is_err());
    }
}
