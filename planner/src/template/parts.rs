//! What a template is made of: shapes, the accumulators' home, the epilogue, when elements are widened.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::path::Path;

/// Extents of `C (m x n) = A (m x k) · B (k x n)` in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Columns of A, rows of B.
    pub k: u64,
}

/// What a CTA computes at a time, in elements: `m x n` of C, along `k` in one step of the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TileShape {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Depth of a stage.
    pub k: u32,
}

impl TileShape {
    /// `m x n x k`.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k }
    }

    /// Elements of C.
    pub const fn outputs(self) -> u64 {
        self.m as u64 * self.n as u64
    }
}

impl fmt::Display for TileShape {
    /// Writes `128x256x64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

impl FromStr for TileShape {
    type Err = &'static str;

    /// Reads `128x256x64`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let message = "a tile is written MxNxK, three whole numbers, such as 128x256x64";
        let mut parts = text.split('x').map(|part| part.parse::<u32>().map_err(|_| message));
        let mut next = || parts.next().unwrap_or(Err(message));
        let tile = TileShape::new(next()?, next()?, next()?);
        match parts.next() {
            None => Ok(tile),
            Some(_) => Err(message),
        }
    }
}

/// Where the accumulators live during the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Accumulator {
    /// In registers: what `mma.sync` and `wgmma` kernels do.
    #[serde(rename = "registers")]
    Registers,
    /// In shared memory.
    #[serde(rename = "smem")]
    SharedMemory,
    /// In tensor memory: what `tcgen05` does.
    #[serde(rename = "tmem")]
    TensorMemory,
}

impl Accumulator {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Accumulator::Registers => "registers",
            Accumulator::SharedMemory => "smem",
            Accumulator::TensorMemory => "tmem",
        }
    }

    /// Where a path keeps its accumulators.
    pub const fn of_path(path: Path) -> Self {
        match path {
            Path::Tcgen05 => Accumulator::TensorMemory,
            Path::Simt | Path::MmaSync | Path::Wgmma => Accumulator::Registers,
        }
    }
}

impl fmt::Display for Accumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Accumulator {
    type Err = &'static str;

    /// Reads an [`Accumulator::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [
            Accumulator::Registers,
            Accumulator::SharedMemory,
            Accumulator::TensorMemory,
        ]
        .into_iter()
        .find(|home| home.name() == name)
        .ok_or("unknown home of the accumulator; known: registers, smem, tmem")
    }
}

/// How results leave: through a piece of shared memory, or straight from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Epilogue {
    /// Each thread stores its own results.
    Direct,
    /// A piece of C at a time goes through shared memory of its own.
    Own(EpilogueTile),
    /// A piece of C at a time goes through the operands' buffers, after the main loop: it must be over, so that the
    /// next tile's loads cannot overlap the stores of this one.
    Reuse(EpilogueTile),
}

/// The piece of C that an epilogue moves at a time, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpilogueTile {
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Such pieces in shared memory at once.
    pub buffers: u32,
}

impl Epilogue {
    /// The piece, if shared memory takes part.
    pub const fn tile(self) -> Option<EpilogueTile> {
        match self {
            Epilogue::Direct => None,
            Epilogue::Own(tile) | Epilogue::Reuse(tile) => Some(tile),
        }
    }
}

impl fmt::Display for Epilogue {
    /// Writes `direct`, `64x32`, `64x32x2` (two buffers) or `reuse:64x32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EpilogueTile { m, n, buffers } = match self {
            Epilogue::Direct => return f.write_str("direct"),
            Epilogue::Own(tile) => *tile,
            Epilogue::Reuse(tile) => {
                f.write_str("reuse:")?;
                *tile
            }
        };
        write!(f, "{m}x{n}")?;
        if buffers == 1 { Ok(()) } else { write!(f, "x{buffers}") }
    }
}

impl FromStr for Epilogue {
    type Err = &'static str;

    /// Reads what [`Epilogue`] displays.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let message = "an epilogue is direct, MxN, MxNxBUFFERS or reuse:MxN";
        if text == "direct" {
            return Ok(Epilogue::Direct);
        }
        let (reuse, extents) = match text.strip_prefix("reuse:") {
            Some(extents) => (true, extents),
            None => (false, text),
        };
        let number = |part: &str| part.parse::<u32>().map_err(|_| message);
        let mut parts = extents.split('x');
        let tile = EpilogueTile {
            m: number(parts.next().unwrap_or_default())?,
            n: number(parts.next().unwrap_or_default())?,
            buffers: parts.next().map_or(Ok(1), number)?,
        };
        match (parts.next(), reuse) {
            (Some(_), _) => Err(message),
            (None, true) => Ok(Epilogue::Reuse(tile)),
            (None, false) => Ok(Epilogue::Own(tile)),
        }
    }
}

/// When narrow elements that the instructions cannot multiply are widened to 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Widening {
    /// On the way from shared memory to registers: shared memory holds elements as they are stored, and their scales.
    #[default]
    Loading,
    /// On the way into shared memory, which then holds 16-bit elements and no scales.
    Staging,
}

impl Widening {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Widening::Loading => "loading",
            Widening::Staging => "staging",
        }
    }
}

impl FromStr for Widening {
    type Err = &'static str;

    /// Reads a [`Widening::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [Widening::Loading, Widening::Staging]
            .into_iter()
            .find(|widening| widening.name() == name)
            .ok_or("unknown time of widening; known: loading, staging")
    }
}
