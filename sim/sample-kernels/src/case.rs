//! A launch and its expected results, as plain data that tests of the simulator and of a GPU can run.

use half::f16;

/// The contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Half precision.
    F16(Vec<f16>),
    /// 32-bit words.
    U32(Vec<u32>),
    /// 16-bit words.
    U16(Vec<u16>),
    /// Bytes.
    U8(Vec<u8>),
}

impl Data {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes().len() / self.element_bytes()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of an element.
    pub const fn element_bytes(&self) -> usize {
        match self {
            Self::F64(_) => 8,
            Self::F32(_) | Self::U32(_) => 4,
            Self::F16(_) | Self::U16(_) => 2,
            Self::U8(_) => 1,
        }
    }

    /// The elements' bytes in memory order.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(data) => bytemuck::cast_slice(data),
            Self::F64(data) => bytemuck::cast_slice(data),
            Self::F16(data) => bytemuck::cast_slice(data),
            Self::U32(data) => bytemuck::cast_slice(data),
            Self::U16(data) => bytemuck::cast_slice(data),
            Self::U8(data) => data,
        }
    }

    /// The element with these bytes, as text.
    fn show(&self, bytes: &[u8]) -> String {
        match self {
            Self::F32(_) => format!("{:?}", bytemuck::pod_read_unaligned::<f32>(bytes)),
            Self::F64(_) => format!("{:?}", bytemuck::pod_read_unaligned::<f64>(bytes)),
            Self::F16(_) => format!("{:?}", bytemuck::pod_read_unaligned::<f16>(bytes)),
            Self::U32(_) => bytemuck::pod_read_unaligned::<u32>(bytes).to_string(),
            Self::U16(_) => bytemuck::pod_read_unaligned::<u16>(bytes).to_string(),
            Self::U8(_) => bytes[0].to_string(),
        }
    }
}

/// The rows of a matrix in a buffer. The kernel must not access the padding between the columns and the leading
/// dimension.
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
    /// Contents before the launch; `None` if it is uninitialized.
    pub before: Option<Data>,
    /// Expected contents after the launch; `None` if they are not checked.
    pub after: Option<Data>,
    /// Its rows, if it is a matrix.
    pub rows: Option<Rows>,
    /// Its size.
    pub bytes: usize,
}

impl Buffer {
    fn new(before: Option<Data>, after: Option<Data>) -> Self {
        let data = before.as_ref().or(after.as_ref());
        Self {
            bytes: data.map_or(0, |data| data.bytes().len()),
            before,
            after,
            rows: None,
        }
    }

    /// A buffer that the kernel reads.
    pub fn input(data: Data) -> Self {
        Self::new(Some(data), None)
    }

    /// A buffer that is uninitialized before the launch.
    pub fn output(data: Data) -> Self {
        Self::new(None, Some(data))
    }

    /// A buffer that the kernel changes.
    pub fn updated(before: Data, after: Data) -> Self {
        Self::new(Some(before), Some(after))
    }

    /// A buffer that only the kernel writes and reads.
    pub fn scratch(bytes: usize) -> Self {
        Self {
            bytes,
            ..Self::new(None, None)
        }
    }

    /// The same buffer as a matrix. Its data include the padding.
    pub fn with_rows(self, rows: Rows) -> Self {
        Self {
            rows: Some(rows),
            ..self
        }
    }

    /// Bytes of an element; 1 of a buffer that only the kernel knows.
    pub fn element_bytes(&self) -> usize {
        let data = self.before.as_ref().or(self.after.as_ref());
        data.map_or(1, Data::element_bytes)
    }

    /// Compares the bytes after the launch with the expected ones; the error names the number of differing elements and
    /// the first one.
    ///
    /// # Errors
    /// An element differs. Padding is not compared.
    pub fn check(&self, found: &[u8]) -> Result<(), String> {
        let Some(after) = &self.after else { return Ok(()) };
        let width = after.element_bytes();
        if found.len() != after.bytes().len() {
            return Err(format!("{} elements instead of {}", found.len() / width, after.len()));
        }
        let pairs = found.chunks_exact(width).zip(after.bytes().chunks_exact(width));
        let mut differing = pairs
            .enumerate()
            .filter(|(i, (found, expected))| found != expected && self.rows.is_none_or(|rows| rows.contains(*i)));
        let Some((first, (one, other))) = differing.next() else {
            return Ok(());
        };
        Err(format!(
            "{} of {} elements differ, the first at {first}: {} instead of {}",
            1 + differing.count(),
            after.len(),
            after.show(one),
            after.show(other),
        ))
    }
}

/// A tensor map: a matrix in global memory, and the boxes that bulk copies transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The argument that is the matrix: a buffer.
    pub matrix: usize,
    /// Elements of a box's row, and its rows.
    pub box_extents: [u32; 2],
    /// Whether boxes have the swizzle of their rows in shared memory: of 128, 64 or 32 bytes.
    pub swizzled: bool,
    /// Of rank 3: how many matrices, one after the other, the buffer's rows are; `None` of rank 2.
    pub planes: Option<usize>,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value of one or more 32-bit words: an integer, or a struct of them.
    Words(Vec<u32>),
    /// The address of a buffer.
    Buffer(Buffer),
    /// A tensor map, in the parameters themselves.
    Map(Map),
}

impl Argument {
    /// Its buffer, if it has one.
    pub fn buffer(&self) -> Option<&Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer),
            Self::Words(_) | Self::Map(_) => None,
        }
    }
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
    /// Blocks of a cluster along x.
    pub cluster: u32,
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u32,
    /// The arguments, in the kernel's order.
    pub arguments: Vec<Argument>,
    /// How many of the first arguments are the fields of one struct, which is the kernel's first parameter.
    pub fields: usize,
}

impl Case {
    /// The buffers that the arguments bring, each with the number of its argument.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, &Buffer)> {
        let arguments = self.arguments.iter().enumerate();
        arguments.filter_map(|(number, argument)| Some((number, argument.buffer()?)))
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
        let check = |found: &[u32]| buffer.check(bytemuck::cast_slice(found));
        assert_eq!(check(&[1, 2, 99, 3, 4]), Ok(()));
        assert_eq!(
            check(&[1, 7, 0, 3, 8]),
            Err("2 of 5 elements differ, the first at 1: 7 instead of 2".to_owned())
        );
        assert!(check(&[1]).is_err());
        assert_eq!(Buffer::input(Data::F32(vec![1.0])).check(&[]), Ok(()));
        let halves = Buffer::output(Data::F16(vec![f16::from_f32(1.5), f16::from_f32(-2.0)]));
        assert_eq!(
            halves.check(Data::U16(vec![0x3e00, 0]).bytes()),
            Err("1 of 2 elements differ, the first at 1: 0.0 instead of -2.0".to_owned())
        );
        assert_eq!((halves.bytes, Buffer::scratch(12).bytes), (4, 12));
    }
}
