//! `glam`: the coordinates as its types, its vectors and matrices as parameters.

use cuda_std::glam::{Mat3, UVec2, UVec3, Vec2, Vec3};
use cuda_std::prelude::*;
use cuda_std::{bf16, half};

/// The number of a position in an extent: takes the very types.
fn number(at: UVec2, extent: UVec2) -> usize {
    (at.y * extent.x + at.x) as usize
}

/// Writes, for each thread of a grid in two dimensions, its position plus 100 times that of its block.
#[kernel]
pub unsafe fn glam_positions(out: *mut u32) {
    let extent: UVec3 = thread::grid_dim() * thread::block_dim();
    let at = thread::index_2d();
    let block = thread::block_idx().truncate();
    let inside = thread::index_3d() == at.extend(0) && thread::thread_idx().cmplt(thread::block_dim()).all();
    *out.add(number(at, extent.truncate())) = if inside {
        at.element_sum() + 100 * block.element_sum()
    } else {
        u32::MAX
    };
}

/// Writes the product of a matrix and a vector, then a length. One thread.
#[kernel]
pub unsafe fn glam_values(matrix: *const Mat3, vector: Vec3, plane: Vec2, out: *mut f32) {
    (*matrix * vector).write_to_slice(core::slice::from_raw_parts_mut(out, 3));
    *out.add(3) = plane.length() + vector.normalize().length();
}

/// Doubles numbers of 16 bits, of the types that `half` 2 has.
#[kernel]
pub unsafe fn half_2(numbers: *mut u16) {
    let i = thread::index_1d() as usize;
    let number: half::f16 = f16::from_bits(*numbers.add(i));
    let doubled = bf16::from_f32(number.to_f32() * 2.0);
    *numbers.add(i) = half::f16::from_f32(doubled.to_f32()).to_bits();
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data, Expected};

    let bytes = |numbers: &[f32]| Argument::Value(numbers.iter().flat_map(|n| n.to_ne_bytes()).collect());
    let positions = (0..12).flat_map(|y| (0..16).map(move |x| x + y + 100 * (x / 8 + y / 4)));
    let mut everywhere = Case::new(entry!(glam_positions(_)), 1, 1, vec![Argument::out_u32(positions)]);
    (everywhere.grid, everywhere.block) = ([2, 3, 1], [8, 4, 1]);
    // Two numbers in each word: 1.5 and -3, and 0.25 and 40.
    let pack = |pairs: [[f32; 2]; 2]| {
        let bits = |n: f32| u32::from(half::f16::from_f32(n).to_bits());
        Data::U32(pairs.iter().map(|[low, high]| bits(*low) | bits(*high) << 16).collect())
    };
    vec![
        everywhere,
        Case::new(
            entry!(glam_values(_, _, _, _)),
            1,
            1,
            vec![
                // By columns.
                Argument::Pointer(Data::F32(vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0, 1.0])),
                bytes(&[1.0, 2.0, 2.0]),
                bytes(&[3.0, 4.0]),
                Argument::out_f32([9.0, 6.0, 4.0, 6.0], 1e-6),
            ],
        ),
        Case::new(
            entry!(half_2(_)),
            1,
            4,
            vec![Argument::Updated(
                pack([[1.5, -3.0], [0.25, 40.0]]),
                Expected {
                    data: pack([[3.0, -6.0], [0.5, 80.0]]),
                    tolerance: 0.0,
                },
            )],
        ),
    ]
}
