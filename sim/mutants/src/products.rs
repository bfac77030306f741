//! Launches of the matrix products and of the copies of operands, with the result that plain loops expect.

use std::mem::offset_of;

use half::{bf16, f16};
use kernels_gpu::ptx::tensor_map::{Planes, TensorElement, TensorMapParts, TensorSwizzle};
use sample_kernels::case::{Argument, Buffer, Case, Data, Map, Rows};
use tilewright::dispatch::{Plan, Policy, plan};
use tilewright_contract::{
    CopyKind, CopyRows, DType, GemmParams, GemmShape, Kernel, Operand, OperandCopy, Transpose, WgmmaTile, padded_ld,
};
use tilewright_plan::device::{DeviceProfile, Installed};

use crate::table::Product;

/// The largest integers up to which the types have all.
const EXACT_IN_F16: f32 = 2048.0;
const EXACT_IN_F32: f32 = 16_777_216.0;

/// The launch of an entry point of `f32`, `f64` or `f16`, as it is planned for a device of 9.0.
///
/// The elements are integers, so that every order of the sum gives the same result, and none of them is 0, so that a
/// skipped element shows. Those that are split have two parts that are not 0. The padding up to the leading dimensions
/// has values that no element has.
///
/// # Errors
/// The entry point does not support the problem, or not without padding an operand first, or not in this type.
pub fn case(kernel: &'static Kernel, product: &Product) -> Result<Case, String> {
    let shape = shape(kernel, product)?;
    let plan = planned(kernel, product, &shape)?;
    let data: fn(Vec<f32>) -> Data = match kernel.dtype {
        DType::F32 => Data::F32,
        DType::F64 => |data| Data::F64(data.into_iter().map(f64::from).collect()),
        DType::F16 => |data| Data::F16(data.into_iter().map(f16::from_f32).collect()),
        other => return Err(format!("{} is of {other}", kernel.symbol)),
    };
    // Four, two or one on either side of 0, and what those of A and of B are times: other numbers, so that pairs of
    // parts differ.
    let (side, times, exact) = match (kernel.splits_operands(), kernel.dtype) {
        (true, _) => (1, [257.0, 259.0], EXACT_IN_F32),
        (false, DType::F16) => (2, [1.0; 2], EXACT_IN_F16),
        (false, _) => (4, [1.0; 2], EXACT_IN_F32),
    };
    let [a, b] = [(Operand::A, times[0]), (Operand::B, times[1])].map(|(operand, times)| {
        let elements = elements(&shape, operand, side).into_iter();
        elements.map(|element| times * element).collect::<Vec<_>>()
    });
    let c = expected_c(&shape, product.group_ends, &a, &b);
    if c.iter().any(|c| c.abs() > exact) {
        return Err(format!("{}: a sum beyond {exact}", kernel.symbol));
    }
    let [copy_a, copy_b] = plan.copies();
    let input = |operand, elements: Vec<f32>, copy: Option<OperandCopy>| match copy {
        None => Buffer::input(data(elements)).with_rows(rows(&shape, operand)),
        Some(OperandCopy { rows, .. }) => Buffer::input(Data::U16(parts(&rows, &elements))).with_rows(Rows {
            rows: (CopyKind::Split.parts() * rows.matrices * rows.rows) as usize,
            columns: rows.columns as usize,
            ld: rows.to_ld as usize,
        }),
    };
    let (a, b) = (input(Operand::A, a, copy_a), input(Operand::B, b, copy_b));
    let c = Buffer::output(data(c)).with_rows(rows(&shape, Operand::C));
    Ok(Case {
        kernel: kernel.symbol,
        grid: plan.summary().grid,
        block: plan.summary().block,
        cluster: plan.kernel().cluster,
        dynamic_shared_bytes: plan.dynamic_bytes().get(),
        fields: FIELDS,
        arguments: arguments(&plan, product.group_ends, [a, b, c]),
    })
}

fn shape(kernel: &Kernel, product: &Product) -> Result<GemmShape, String> {
    let [m, n, k] = product.extents;
    let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes()).map_err(|error| error.to_string())?;
    let [a, b, c] = product.gaps;
    let ld = |operand, gap| packed.extents(operand).1 + gap;
    let lds = [ld(Operand::A, a), ld(Operand::B, b), ld(Operand::C, c)];
    let shape = GemmShape::with_transposes(m, n, k, kernel.transposes(), lds);
    let shape = shape.and_then(|shape| match product.group_ends.len() {
        0 => shape.with_packed_batch(product.batch),
        groups => {
            let (rows, _, ld) = shape.extents(Operand::B);
            shape.with_groups(groups, rows * ld)
        }
    });
    shape.map_err(|error| error.to_string())
}

fn planned(kernel: &'static Kernel, product: &Product, shape: &GemmShape) -> Result<Plan, String> {
    let device = DeviceProfile {
        installed: Some(Installed {
            sms: product.sms,
            l2_bytes: 50 << 20,
            clock_khz: 1_980_000,
            memory_bytes: 16 << 30,
            dram_bytes_per_second: 4_800_000_000_000,
            driver: "13.0".to_owned(),
        }),
        ..DeviceProfile::of_arch(cuda_arch::find("sm_90").map_err(|error| error.to_string())?)
    };
    let policy = Policy {
        kernel: Some(kernel),
        tile: product.tile,
        splits: kernel.split_k.is_some().then_some(product.slices),
        ..Policy::default()
    };
    let plan = plan(shape, kernel.dtype, &device, &policy).map_err(|error| error.to_string())?;
    let is_padded = !kernel.splits_operands() && plan.copies().iter().any(Option::is_some);
    if plan.summary().splits != product.slices || is_padded {
        return Err(format!("{}: planned as {:?}", kernel.symbol, plan.summary()));
    }
    Ok(plan)
}

/// Fields of `GemmParams` as arguments of a case: seven addresses, and all else as words in one.
pub(crate) const FIELDS: usize = 8;

/// The parameters of the entry point, field by field, and the tensor maps where it takes them.
fn arguments(plan: &Plan, group_ends: &[u32], [a, b, c]: [Buffer; 3]) -> Vec<Argument> {
    let null = || Argument::Words(vec![0; 2]);
    let workspace = match size_of::<f32>() * plan.workspace_elems() {
        0 => null(),
        bytes => Buffer::scratch(bytes).into(),
    };
    let counters = match plan.counters() {
        0 => null(),
        count => Buffer::updated(Data::U32(vec![0; count]), Data::U32(vec![0; count])).into(),
    };
    let maps = plan.kernel().takes_tensor_maps().then(|| maps(plan, &c));
    let group_ends = match group_ends {
        [] => null(),
        ends => Buffer::input(Data::U32(ends.to_vec())).into(),
    };
    let params = plan.params::<u8>(plan.shape().batch().count, [1.0, 0.0]);
    let params = Argument::Words(words(&params));
    let fields: [Argument; FIELDS] = [
        a.into(),
        b.into(),
        c.into(),
        null(),
        workspace,
        counters,
        group_ends,
        params,
    ];
    fields.into_iter().chain(maps.into_iter().flatten()).collect()
}

/// The tensor maps of A, B and C, which are the first three arguments.
fn maps(plan: &Plan, c: &Buffer) -> [Argument; 3] {
    let args = plan.shape().args();
    let kernel = plan.kernel();
    let [a_rows, b_rows, c_rows] = kernel.box_rows([args.m, args.n]);
    // Of A and B, in elements of their type.
    let columns = WgmmaTile::ROW_BYTES / kernel.operand_dtype().size_bytes();
    let c_columns = kernel.smem.epilogue.map_or(columns, |buffers| buffers.n);
    let parts = kernel.parts();
    let matrices =
        [Operand::A, Operand::B, Operand::C].map(|operand| (parts * plan.shape().batch().matrices(operand)) as usize);
    let map = |matrix: usize, box_columns, rows| Map {
        matrix,
        box_extents: [box_columns, rows],
        swizzled: box_columns == columns,
        planes: (kernel.supports.batch || kernel.supports.groups).then_some(matrices[matrix]),
    };
    // Other leading dimensions of C have no map, and the kernel ignores its placeholder.
    let takes_map = kernel.supports.tma_store
        && c.rows
            .is_some_and(|rows| (rows.ld * c.element_bytes()).is_multiple_of(16));
    let of_a = map(0, columns, a_rows);
    let of_c = if takes_map {
        map(2, c_columns, c_rows)
    } else {
        of_a.clone()
    };
    [of_a, map(1, columns, b_rows), of_c].map(Argument::Map)
}

/// All fields after the addresses, as they are in memory.
pub(crate) fn words(params: &GemmParams<u8>) -> Vec<u32> {
    // SAFETY: every byte is initialized: the struct has no holes, as a test of the contract checks.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *params).cast::<u8>(), size_of_val(params)) };
    let (words, _) = bytes[offset_of!(GemmParams<u8>, stride_a)..].as_chunks();
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

/// The fields of a case's tensor map for a matrix at `address`; `None` of what is no matrix, or has elements or
/// swizzled rows that no map has. Loads round f32 to tf32. Words of 16 bits are bf16.
pub fn map_parts(case: &Case, map: &Map, address: u64) -> Option<TensorMapParts> {
    let buffer = case.arguments.get(map.matrix)?.buffer()?;
    let rows = buffer.rows?;
    let data = buffer.before.as_ref().or(buffer.after.as_ref())?;
    let of_each = rows.rows / map.planes.unwrap_or(1);
    let stride_bytes = (rows.ld * data.element_bytes()) as u64;
    let box_row_bytes = map.box_extents[0] as usize * data.element_bytes();
    Some(TensorMapParts {
        address,
        extents: [rows.columns as u64, of_each as u64],
        stride_bytes,
        planes: map.planes.map(|count| Planes {
            count: count as u64,
            // Of one matrix whatever aligns.
            stride_bytes: if count > 1 { of_each as u64 * stride_bytes } else { 16 },
        }),
        box_extents: map.box_extents,
        element: match data {
            Data::F16(_) => TensorElement::F16,
            Data::U16(_) => TensorElement::Bf16,
            Data::F32(_) => TensorElement::Tf32,
            Data::U8(_) => TensorElement::U8,
            Data::U32(_) => TensorElement::U32,
            Data::F64(_) => return None,
        },
        swizzle: match (map.swizzled, box_row_bytes) {
            (false, _) => TensorSwizzle::None,
            (true, 128) => TensorSwizzle::Bytes128,
            (true, 64) => TensorSwizzle::Bytes64,
            (true, 32) => TensorSwizzle::Bytes32,
            (true, _) => return None,
        },
    })
}

/// The launch that copies `rows` rows of `columns` 16-bit words, each followed by `gap` words of padding.
pub fn pad_rows([rows, columns, gap]: [u32; 3]) -> Case {
    let copy = geometry([rows, columns, gap]);
    let from = Rows {
        rows: rows as usize,
        columns: columns as usize,
        ld: copy.from_ld as usize,
    };
    let word = |offset: usize| {
        if from.contains(offset) {
            1 + offset as u16
        } else {
            u16::MAX
        }
    };
    let words: Vec<u16> = (0..from.span()).map(word).collect();
    let copied = |offset: usize| {
        let (row, column) = (offset / copy.to_ld as usize, offset % copy.to_ld as usize);
        // After the end of a row are zeros.
        if column < from.columns {
            words[row * from.ld + column]
        } else {
            0
        }
    };
    let to = (0..copy.to_elems()).map(copied).collect();
    let from = Buffer::input(Data::U16(words.clone())).with_rows(from);
    copy_case(CopyKind::Pad, copy, from, Data::U16(to))
}

/// The launch that transposes `rows` rows of `columns` elements of 4 bytes, each followed by `gap` elements of padding.
pub fn transpose_rows([rows, columns, gap]: [u32; 3]) -> Case {
    let copy = CopyRows {
        to_ld: padded_ld(rows as usize, 4) as u32,
        ..geometry([rows, columns, gap])
    };
    let from = Rows {
        rows: rows as usize,
        columns: columns as usize,
        ld: copy.from_ld as usize,
    };
    // No element of the matrix is 0, and no two are equal.
    let element = |offset: usize| {
        if from.contains(offset) {
            1.0 + offset as f32
        } else {
            -1.0
        }
    };
    let elements: Vec<f32> = (0..from.span()).map(element).collect();
    let mut to = Vec::new();
    for column in 0..from.columns {
        to.extend((0..from.rows).map(|row| elements[row * from.ld + column]));
        // After the end of a row are zeros.
        to.resize((column + 1) * copy.to_ld as usize, 0.0);
    }
    let from = Buffer::input(Data::F32(elements)).with_rows(from);
    copy_case(CopyKind::Transpose, copy, from, Data::F32(to))
}

/// The launch that splits `rows` rows of `columns` f32, each followed by `gap` elements of padding.
pub fn split_rows([rows, columns, gap]: [u32; 3]) -> Case {
    let copy = geometry([rows, columns, gap]);
    let from = Rows {
        rows: rows as usize,
        columns: columns as usize,
        ld: copy.from_ld as usize,
    };
    // Between 1 and 2, of either sign, with all bits of the significand.
    let element = |offset: usize| {
        let fraction = (offset as u32 + 1).wrapping_mul(0x9e37_79b1) >> 9;
        f32::from_bits((offset as u32 % 2) << 31 | 127 << 23 | fraction)
    };
    let elements: Vec<f32> = (0..from.span()).map(element).collect();
    let to = parts(&copy, &elements);
    let from = Buffer::input(Data::F32(elements)).with_rows(from);
    copy_case(CopyKind::Split, copy, from, Data::U16(to))
}

/// The copy of `rows` rows of `columns` elements, each followed by `gap` elements of padding.
fn geometry([rows, columns, gap]: [u32; 3]) -> CopyRows {
    CopyRows {
        from_stride: 0,
        rows,
        columns,
        from_ld: columns + gap,
        to_ld: padded_ld(columns as usize, 2) as u32,
        matrices: 1,
    }
}

/// The three bf16 whose sum each element of these matrices is, as bits: the parts of a matrix one after the other, with
/// zeros past the end of a row.
fn parts(copy: &CopyRows, matrices: &[f32]) -> Vec<u16> {
    let [rows, columns, from_ld, to_ld] =
        [copy.rows, copy.columns, copy.from_ld, copy.to_ld].map(|extent| extent as usize);
    let part_of = |element: f32, part: u32| {
        let taken = |rest: f32| rest - bf16::from_f32(rest).to_f32();
        bf16::from_f32((0..part).fold(element, |rest, _| taken(rest))).to_bits()
    };
    let mut bits = Vec::new();
    for matrix in 0..copy.matrices as usize {
        let matrix = &matrices[matrix * copy.from_stride as usize..];
        for part in 0..CopyKind::Split.parts() {
            for row in 0..rows {
                let elements = matrix[row * from_ld..][..columns].iter();
                bits.extend(elements.map(|&element| part_of(element, part)));
                bits.resize(bits.len() + to_ld - columns, 0);
            }
        }
    }
    bits
}

/// The launch of a copy.
fn copy_case(kind: CopyKind, copy: CopyRows, from: Buffer, to: Data) -> Case {
    Case {
        kernel: kind.symbol(),
        grid: [OperandCopy { kind, rows: copy }.blocks(), 1, 1],
        block: [CopyRows::THREADS, 1, 1],
        cluster: 1,
        dynamic_shared_bytes: 0,
        fields: 0,
        arguments: vec![
            from.into(),
            Buffer::output(to).into(),
            numbers(copy),
            // No second operand.
            Argument::Words(vec![0; 2]),
            Argument::Words(vec![0; 2]),
            numbers(CopyRows::NONE),
        ],
    }
}

/// The numbers of a copy as they are in memory: the stride of a batch, which is 0 of one matrix, comes first, and last
/// what aligns it.
fn numbers(copy: CopyRows) -> Argument {
    let CopyRows {
        from_stride: _,
        rows,
        columns,
        from_ld,
        to_ld,
        matrices,
    } = copy;
    Argument::Words(vec![0, 0, rows, columns, from_ld, to_ld, matrices, 0])
}

/// The rows of an operand, those of all matrices one after the other.
fn rows(shape: &GemmShape, operand: Operand) -> Rows {
    let (rows, columns, ld) = shape.extents(operand);
    let rows = rows * shape.batch().matrices(operand) as usize;
    Rows { rows, columns, ld }
}

/// Integers from `-side` to `side` without 0 in the matrix, and a number that no sum comes near between its rows.
fn elements(shape: &GemmShape, operand: Operand, side: u32) -> Vec<f32> {
    let rows = rows(shape, operand);
    let seed = if operand == Operand::A { 1 } else { 2 };
    let at = |offset: usize| {
        let (row, column) = ((offset / rows.ld) as u32, (offset % rows.ld) as u32);
        // Any mixing of row and column that is not symmetric does.
        let mixed = (row + 1)
            .wrapping_mul(0x9e37_79b1)
            .wrapping_add((column + seed).wrapping_mul(0x85eb_ca77));
        let small = (mixed >> 13) % (2 * side);
        let from_zero = if small < side { 0.0 } else { 1.0 };
        small as f32 - side as f32 + from_zero
    };
    // Representable in every type.
    let pad = 32768.0;
    // The last row's padding is not needed, but compute-sanitizer counts a `cp.async` of less than 16 bytes as one of
    // 16, which are then inside the allocation.
    (0..rows.rows * rows.ld)
        .map(|offset| if rows.contains(offset) { at(offset) } else { pad })
        .collect()
}

/// C by one loop over k for each element; 0 between its rows. A row of C has the B of its group or of its product.
fn expected_c(shape: &GemmShape, group_ends: &[u32], a: &[f32], b: &[f32]) -> Vec<f32> {
    let c = rows(shape, Operand::C);
    let product_of = |row: usize| match group_ends {
        [] => row / shape.m(),
        ends => ends.partition_point(|&end| end as usize <= row),
    };
    let strides = |operand| {
        let ld = rows(shape, operand).ld;
        match shape.transpose(operand) {
            Transpose::No => (ld, 1),
            Transpose::Yes => (1, ld),
        }
    };
    let (of_a, of_b) = (strides(Operand::A), strides(Operand::B));
    let at = |offset: usize| {
        let (row, column) = (offset / c.ld, offset % c.ld);
        let [a, b] = match (product_of(row), group_ends) {
            (product, []) => [
                &a[shape.offset(Operand::A, product as u32)..],
                &b[shape.offset(Operand::B, product as u32)..],
            ],
            (group, _) => [a, &b[shape.offset(Operand::B, group as u32)..]],
        };
        let row = if group_ends.is_empty() { row % shape.m() } else { row };
        (0..shape.k())
            .map(|k| a[row * of_a.0 + k * of_a.1] * b[k * of_b.0 + column * of_b.1])
            .sum()
    };
    (0..c.span())
        .map(|offset| if c.contains(offset) { at(offset) } else { 0.0 })
        .collect()
}
