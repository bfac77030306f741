//! PTX that spills as much as one wants, and what `ptxas` says of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kernel with `live` single-precision numbers that all live through a loop, in which each depends on two others.
#[derive(Clone)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// How many numbers.
    pub live: usize,
    /// What stands between its parameters and its body: `.maxntid 256`.
    pub directives: String,
    /// Whether it has the pragma.
    pub pragma: bool,
    /// Bytes of a static shared array, with its alignment; none if 0.
    pub shared: (u32, u32),
    /// Statements of the loop's body. They may use and change `%r2`.
    pub in_loop: String,
}

impl Kernel {
    /// The kernel `k` with the pragma and nothing else.
    pub fn new(live: usize, directives: &str) -> Self {
        Self {
            name: "k".to_owned(),
            live,
            directives: directives.to_owned(),
            pragma: true,
            shared: (0, 1),
            in_loop: String::new(),
        }
    }

    /// The same under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// The same without the pragma.
    pub fn without_pragma(self) -> Self {
        Self { pragma: false, ..self }
    }

    /// The same with `bytes` bytes of static shared memory that it uses.
    pub fn with_shared(self, bytes: u32, align: u32) -> Self {
        Self {
            shared: (bytes, align),
            ..self
        }
    }

    /// The same with more statements in its loop.
    pub fn doing(self, in_loop: impl Into<String>) -> Self {
        Self {
            in_loop: in_loop.into(),
            ..self
        }
    }

    /// The kernel in PTX.
    pub fn ptx(&self) -> String {
        // Far enough apart that no two accesses become one.
        const STRIDE: usize = 4096;
        let Self {
            name, live, directives, ..
        } = self;
        let mut text = format!(".visible .entry {name}(.param .u64 data, .param .u32 steps)\n{directives}\n{{\n");
        let mut line =
            |statement: std::fmt::Arguments<'_>| writeln!(text, "\t{statement}").expect("a string takes all");
        if self.pragma {
            line(format_args!(".pragma \"enable_smem_spilling\";"));
        }
        line(format_args!(
            ".reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .f32 %f<{live}>;"
        ));
        line(format_args!("ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [steps];"));
        line(format_args!("cvta.to.global.u64 %rd1, %rd1; mov.u32 %r2, %tid.x;"));
        line(format_args!("mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2;"));
        if let (bytes @ 1.., align) = self.shared {
            line(format_args!(".shared .align {align} .b8 {name}_array[{bytes}];"));
            line(format_args!(
                "mov.u32 %r3, {name}_array; add.u32 %r3, %r3, %r1; st.shared.u8 [%r3], %r2; bar.sync 0;"
            ));
        }
        for i in 0..*live {
            line(format_args!("ld.global.f32 %f{i}, [%rd1+{}];", i * STRIDE));
        }
        line(format_args!("step:"));
        line(format_args!("{}", self.in_loop));
        for i in 0..*live {
            let (a, b) = ((i * 7 + 3) % live, (i + live / 2) % live);
            line(format_args!("fma.rn.f32 %f{i}, %f{a}, %f{b}, %f{i};"));
        }
        line(format_args!(
            "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra step;"
        ));
        for i in 0..*live {
            line(format_args!("st.global.f32 [%rd1+{}], %f{i};", i * STRIDE));
        }
        // So that what the loop does to it is not for nothing.
        line(format_args!("st.global.u32 [%rd1+{}], %r2; ret;", live * STRIDE));
        text.push_str("}\n");
        text
    }
}

/// What `ptxas --verbose` says of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory, spilled registers included.
    pub smem_bytes: u32,
    /// Stack frame, spill stores and spill loads, of local memory alone.
    pub local_bytes: [u32; 3],
}

/// A run of `ptxas`.
#[derive(Debug)]
pub struct Assembled {
    /// Whether it made a cubin.
    pub success: bool,
    /// All that it said.
    pub said: String,
    /// By kernel.
    pub usage: BTreeMap<String, Usage>,
}

impl Assembled {
    /// The usage of the kernel `k`.
    #[track_caller]
    pub fn k(&self) -> &Usage {
        assert!(self.success, "{}", self.said);
        &self.usage["k"]
    }
}

/// Assembles `items` for `arch`, as PTX 9.0.
pub fn assemble(arch: &str, items: &str) -> Assembled {
    assemble_as("9.0", arch, items, &[])
}

/// Assembles `items` for `arch`, as PTX of this version, with more options for `ptxas`.
pub fn assemble_as(version: &str, arch: &str, items: &str, options: &[&str]) -> Assembled {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("smem_spilling_{number}.ptx"));
    let text = format!(".version {version}\n.target {arch}\n.address_size 64\n{items}");
    std::fs::write(&source, text).expect("the test's folder is writable");
    let output = Command::new(ptxas())
        .args(["--verbose", "--gpu-name", arch])
        .args(options)
        .arg("--output-file")
        .args([&source.with_extension("cubin"), &source])
        .output()
        .expect("ptxas starts");
    for file in [source.with_extension("cubin"), source] {
        // There is no cubin where it refused.
        let _ = std::fs::remove_file(file);
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Assembled {
        success: output.status.success(),
        usage: usage(&said),
        said,
    }
}

fn ptxas() -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-tools/bin/ptxas");
    assert!(
        program.exists(),
        "{} is missing: run `cargo xtask setup`",
        program.display()
    );
    program
}

/// The usage of each kernel of a report.
fn usage(report: &str) -> BTreeMap<String, Usage> {
    let mut of = BTreeMap::<String, Usage>::new();
    let mut kernel = None;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Function properties for ") {
            // Functions have properties too, of which the kernel's are told apart by what is compiled.
            kernel = of.contains_key(rest.trim()).then(|| rest.trim().to_owned());
        } else if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            of.insert(name.clone(), Usage::default());
            kernel = Some(name);
        }
        let Some(usage) = kernel.as_ref().and_then(|kernel| of.get_mut(kernel)) else {
            continue;
        };
        if line.contains(" bytes stack frame, ") {
            let mut numbers = line.split(", ").map(number);
            usage.local_bytes = std::array::from_fn(|_| numbers.next().expect("three numbers"));
        } else if let Some((_, used)) = line.split_once("Used ") {
            usage.registers = number(used);
            let smem = used.split(", ").find(|part| part.ends_with(" bytes smem"));
            usage.smem_bytes = smem.map_or(0, number);
        }
    }
    of
}

/// The number that `2048 bytes smem` begins with.
fn number(part: &str) -> u32 {
    let number = part.split_whitespace().next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("ptxas says no number in `{part}`"))
}
