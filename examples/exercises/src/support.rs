//! What several exercises share: mbarriers and boxes in shared memory, tensor maps, operands of `wgmma`.

use cuda_sim::GlobalBuffer;
use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use cuda_views::Shared;
use cuda_views::mbarrier::{fence_init, init};
use cuda_views::wgmma::{MmaAsync, OperandA, WgmmaElement, shared_address};

/// A tensor map.
pub type Map = TensorMapWords;

/// Words of a box: 8 x 4.
pub const BOX: usize = 32;
/// Bytes of a box.
pub const BOX_BYTES: u32 = 4 * BOX as u32;
/// Dynamic shared memory of a launch that uses [`memory`].
pub const MEMORY_BYTES: u32 = 128 + 2 * BOX_BYTES;

/// The mbarriers at the start of the dynamic shared memory, and the words of two boxes after its first 128 bytes.
pub fn memory() -> (Shared<u64>, Shared<u32>) {
    let start = dynamic_shared_mem::<u8>();
    // SAFETY: the simulator refuses what the launch's dynamic shared memory does not hold.
    unsafe {
        (
            Shared::new(start.cast(), 2),
            Shared::new(start.add(128).cast(), 2 * BOX),
        )
    }
}

/// Initializes `count` mbarriers, each for so many arrivals, and makes them visible to all threads and to TMA.
pub fn init_all(barriers: Shared<u64>, count: u32, arrivals: u32) {
    if thread::thread_idx_x() == 0 {
        for barrier in 0..count {
            init(barriers, barrier, arrivals);
        }
        fence_init();
    }
    thread::sync_threads();
}

/// A tensor map of rows of 8 words, in boxes of 8 x 4.
///
/// # Panics
/// If the matrix cannot be described: its length is no multiple of 8.
pub fn map_of(matrix: &GlobalBuffer<u32>) -> Map {
    let parts = TensorMapParts {
        address: matrix.as_ptr().expose_provenance() as u64,
        extents: [8, matrix.len() as u64 / 8],
        stride_bytes: 32,
        planes: None,
        box_extents: [8, 4],
        element: TensorElement::F32,
        swizzle: TensorSwizzle::None,
    };
    parts.encode_simulated().expect("rows of 8 words")
}

/// Rows of A of a `wgmma`.
const A_ROWS: usize = 64;
/// Columns of B.
const B_COLUMNS: usize = 8;
/// Elements along K.
const K: usize = 16;
/// Elements of both operands of a `wgmma`.
pub const OPERANDS: usize = (A_ROWS + B_COLUMNS) * K;
/// 1.0 in bf16.
const ONE: u16 = 0x3f80;

/// Fills both operands with ones, by 128 threads.
#[track_caller]
pub fn fill_ones(operands: Shared<u16>) {
    for i in (thread::thread_idx_x() as usize..OPERANDS).step_by(128) {
        // SAFETY: i < OPERANDS; each element has one writer.
        unsafe { operands.set(i, ONE) };
    }
}

/// The product of both operands: core matrices of 8 rows of 8 elements, without swizzle. Since all are ones, their
/// order does not matter.
pub fn product_of_ones(operands: Shared<u16>) -> MmaAsync {
    let descriptor = |element: usize| {
        let start = u64::from(shared_address(operands, element as u32));
        start >> 4 | (128 >> 4) << 16 | (256 >> 4) << 32
    };
    MmaAsync {
        a: OperandA::Shared(descriptor(0)),
        b: descriptor(A_ROWS * K),
        columns: B_COLUMNS as u32,
        elements: [WgmmaElement::Bf16; 2],
        a_is_mn_major: false,
        b_is_mn_major: false,
        accumulate: true,
    }
}

/// Extents and leading dimensions of a product.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Elements from one row of A, B and C to the next.
    pub ld: [usize; 3],
}
