//! A launch and what it must leave, as plain data that a simulator's test and a GPU's can both carry out.

/// The contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// 32-bit words.
    U32(Vec<u32>),
}

impl Data {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(data) => data.len(),
            Self::U32(data) => data.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements' bits: every type here has 32.
    pub fn to_bits(&self) -> Vec<u32> {
        match self {
            Self::F32(data) => data.iter().map(|x| x.to_bits()).collect(),
            Self::U32(data) => data.clone(),
        }
    }

    /// The element with these bits, as text.
    fn show(&self, bits: u32) -> String {
        match self {
            Self::F32(_) => format!("{:?}", f32::from_bits(bits)),
            Self::U32(_) => bits.to_string(),
        }
    }
}

/// The rows of a matrix in a buffer. Between the columns and the leading dimension lies what the kernel must not touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Elements from one row to the next.
    pub ld: usize,
}

impl Rows {
    /// Elements from the first to the last, both included.
    pub fn span(self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            0
        } else {
            (self.rows - 1) * self.ld + self.columns
        }
    }

    /// Whether the element at `offset` belongs to a row and not to the padding.
    pub fn contains(self, offset: usize) -> bool {
        offset % self.ld < self.columns
    }
}

/// A buffer in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// What it holds before the launch; `None` where nothing was written.
    pub before: Option<Data>,
    /// What it must hold after it; `None` for what the kernel only reads.
    pub after: Option<Data>,
    /// Its rows, where it is a matrix.
    pub rows: Option<Rows>,
}

impl Buffer {
    /// A buffer that the kernel reads.
    pub fn input(data: Data) -> Self {
        Self {
            before: Some(data),
            after: None,
            rows: None,
        }
    }

    /// A buffer that nobody has written before the kernel.
    pub fn output(data: Data) -> Self {
        Self {
            before: None,
            after: Some(data),
            rows: None,
        }
    }

    /// A buffer that the kernel changes.
    pub fn updated(before: Data, after: Data) -> Self {
        Self {
            before: Some(before),
            after: Some(after),
            rows: None,
        }
    }

    /// The same buffer as a matrix. Its data include the padding.
    pub fn with_rows(self, rows: Rows) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }

    /// Its elements before or after, whichever there are.
    pub fn data(&self) -> &Data {
        self.before
            .as_ref()
            .or(self.after.as_ref())
            .expect("a buffer that is neither written before the launch nor by it has no use")
    }

    /// Compares the bits that the launch left with what it must leave; the error says how many differ and which first.
    ///
    /// # Errors
    /// Where an element differs. Padding is not looked at.
    pub fn check(&self, found: &[u32]) -> Result<(), String> {
        let Some(after) = &self.after else { return Ok(()) };
        let expected = after.to_bits();
        if found.len() != expected.len() {
            return Err(format!("{} elements instead of {}", found.len(), expected.len()));
        }
        let differs = |&i: &usize| self.rows.is_none_or(|rows| rows.contains(i)) && found[i] != expected[i];
        let mut differing = (0..found.len()).filter(differs);
        let Some(first) = differing.next() else { return Ok(()) };
        Err(format!(
            "{} of {} elements differ, the first at {first}: {} instead of {}",
            1 + differing.count(),
            found.len(),
            after.show(found[first]),
            after.show(expected[first]),
        ))
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value of one or more 32-bit words: an integer, or a struct of them.
    Words(Vec<u32>),
    /// The address of a buffer.
    Buffer(Buffer),
}

impl From<u32> for Argument {
    fn from(value: u32) -> Self {
        Self::Words(vec![value])
    }
}

impl From<Buffer> for Argument {
    fn from(buffer: Buffer) -> Self {
        Self::Buffer(buffer)
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The kernel.
    pub kernel: &'static str,
    /// Blocks of the grid along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
    /// The arguments, in the kernel's order.
    pub arguments: Vec<Argument>,
}

impl Case {
    /// The buffers among the arguments.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Buffer(buffer) => Some(buffer),
            Argument::Words(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_names_the_first_difference_and_skips_padding() {
        let rows = Rows {
            rows: 2,
            columns: 2,
            ld: 3,
        };
        assert_eq!(rows.span(), 5);
        let buffer = Buffer::output(Data::U32(vec![1, 2, 0, 3, 4])).with_rows(rows);
        assert_eq!(buffer.check(&[1, 2, 99, 3, 4]), Ok(()));
        assert_eq!(
            buffer.check(&[1, 7, 0, 3, 8]),
            Err("2 of 5 elements differ, the first at 1: 7 instead of 2".to_owned())
        );
        assert!(buffer.check(&[1]).is_err());
        assert_eq!(Buffer::input(Data::F32(vec![1.0])).check(&[]), Ok(()));
    }
}
