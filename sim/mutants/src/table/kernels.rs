//! The kernels that mutants are made from, and their launches.
//!
//! One element type stands for all: the type changes no access. Shapes are small and have residue tiles; rows are
//! padded wherever the kernel allows it.

use super::{Kernel, Module, Product, Task, product};

const TILED: Product = Product {
    gaps: [3, 5, 2],
    tile: Some(16),
    ..product([37, 43, 35])
};
/// One output a thread, or a width that is no multiple of four outputs.
const TILED_12: Product = Product {
    tile: Some(12),
    ..TILED
};
const TILED_4X4: Product = Product {
    gaps: [2, 3, 5],
    tile: Some(38),
    ..product([50, 41, 43])
};
/// A lesson has one width.
const LESSON: Product = Product { tile: None, ..TILED };
/// Rows that take no vectors.
const REGISTERS: Product = Product {
    gaps: [2, 3, 5],
    ..product([130, 41, 19])
};
/// Extents that are multiples of 4, which leading dimensions are not.
const ODD_ROWS: Product = Product {
    gaps: [1, 1, 1],
    ..product([132, 44, 20])
};

/// Every kernel.
pub static KERNELS: &[Kernel] = &[
    sample!("reduce_tree", "reduction.rs", 3),
    sample!("reduce_warp", "reduction.rs", 3),
    sample!("reduce_shuffle", "reduction.rs", 3),
    sample!("transpose_tile", "transpose.rs", 4),
    sample!("transpose_padded", "transpose.rs", 4),
    sample!("scan_inclusive", "scan.rs", 3),
    sample!("histogram", "histogram.rs", 3),
    sample!("reverse_static", "reverse.rs", 1),
    sample!("reverse_dynamic", "reverse.rs", 2),
    sample!("stencil", "stencil.rs", 3),
    sample!("stencil_pipelined", "stencil_pipelined.rs", 3),
    sample!("pad_4_bytes", "padding.rs", 3),
    sample!("pad_8_bytes", "padding.rs", 3),
    sample!("pad_16_bytes", "padding.rs", 3),
    sample!("reduce_last_block", "last_block.rs", 5),
    sample!("row_sums", "row_sums.rs", 4),
    gemm!("tiled_static_16_f32", "gemm/tiled.rs", "tiled_static.rs", TILED),
    gemm!("tiled_dynamic_1x1_f32", "gemm/tiled.rs", "tiled_dynamic.rs", TILED_12),
    gemm!("tiled_dynamic_4x4_f32", "gemm/tiled.rs", "tiled_dynamic.rs", TILED_4X4),
    gemm!(
        "register_tile_f32",
        ,
        "register_tile.rs",
        REGISTERS
    ),
    gemm!("simt_nn4_256x128_f32", "block/pipeline.rs" "block/split_k.rs" "gemm/simt", "simt_kernels.rs", Product {
        gaps: [1, 4, 3],
        ..product([20, 24, 70])
    }),
    // 9 splits are reduced in two rounds: 8 and 1, then these two.
    gemm!("simt_nn4_64x64_f32", "block/pipeline.rs" "block/split_k.rs" "gemm/simt", "simt_kernels.rs", Product {
        gaps: [1, 4, 3],
        slices: 9,
        ..product([66, 24, 134])
    }),
    gemm!(
        "matrix_vector_k4_f32",
        "block/split_k.rs",
        "matrix_vector.rs",
        Product {
            gaps: [4, 0, 2],
            ..product([11, 1, 1300])
        }
    ),
    gemm!(
        "matrix_vector_mn_f32",
        "block/split_k.rs",
        "matrix_vector.rs",
        Product {
            gaps: [3, 2, 0],
            ..product([1, 131, 77])
        }
    ),
    Kernel {
        name: "copy_rows_b16",
        symbol: "copy_rows_b16",
        files: &["kernels-gpu/src/gemm/pad_rows.rs"],
        parameters: 6,
        module: Module::General,
        task: Task::PadRows([7, 67, 2]),
    },
    Kernel {
        name: "split_rows_f32",
        symbol: "split_rows_f32",
        files: &["kernels-gpu/src/gemm/split_rows.rs"],
        parameters: 6,
        module: Module::General,
        task: Task::SplitRows([7, 67, 2]),
    },
    Kernel {
        name: "transpose_rows_b32",
        symbol: "transpose_rows_b32",
        files: &[
            "kernels-gpu/src/block/copies.rs",
            "kernels-gpu/src/gemm/transpose_rows.rs",
        ],
        parameters: 6,
        module: Module::General,
        task: Task::TransposeRows([45, 67, 2]),
    },
    gemm!(
        "mma_sync_nn_128x128_f16",
        "block/pipeline.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [3, 8, 8],
            ..product([70, 40, 165])
        }
    ),
    // Three k-tiles, so that stages are used again; every second row begins between two words.
    gemm!(
        "mma_sync_nn1_64x64_f16",
        "block/pipeline.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [2, 4, 3],
            ..product([70, 41, 165])
        }
    ),
    // Two splits of two k-tiles and of a part of one.
    gemm!(
        "mma_sync_tn1_64x64_f16",
        "block/pipeline.rs" "block/split_k.rs" "block/narrow_store.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [2, 4, 2],
            slices: 2,
            ..product([70, 41, 165])
        }
    ),
    // 18 tiles on one SM, which holds four CTAs: rows of C begin at every element of a sector.
    gemm!(
        "mma_sync_strips_tn1_64x128_f16",
        "block/pipeline.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [1, 2, 0],
            sms: 1,
            ..product([150, 589, 20])
        }
    ),
    // Two splits of more k-tiles than there are stages.
    gemm!(
        "mma_sync_nt2_32x32_f16",
        "block/pipeline.rs" "block/split_k.rs" "block/narrow_store.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [2, 4, 2],
            slices: 2,
            ..product([38, 34, 770])
        }
    ),
    // 24 tiles on one SM, which holds three CTAs: two rows of tiles in each strip, two k-tiles in each tile.
    gemm!(
        "mma_sync_strips_tn2_64x128_f16",
        "block/pipeline.rs" "block/sector_store.rs" "gemm/mma_sync",
        "mma_sync_kernels.rs",
        Product {
            gaps: [2, 4, 1],
            sms: 1,
            ..product([214, 590, 40])
        }
    ),
    // Two tiles along M, three along N, and two k-tiles: rows of C begin at every element of a sector.
    gemm!(
        "simt_sectors_nn_64x136_f32",
        "block/pipeline.rs" "block/split_k.rs" "gemm/simt",
        "simt_sectors_kernels.rs",
        Product {
            gaps: [1, 2, 0],
            ..product([70, 263, 43])
        }
    ),
    // Two tiles each way, of which the second has few rows and columns, and six k-tiles.
    gemm!(
        "simt_sliced_tn_48x64_f32",
        "block/pipeline.rs" "block/split_k.rs" "gemm/simt",
        "simt_registers_kernels.rs",
        Product {
            gaps: [1, 2, 3],
            ..product([70, 67, 165])
        }
    ),
    gemm!("simt_nn4_32x32_f32", "block/pipeline.rs" "block/split_k.rs" "gemm/simt", "simt_kernels.rs", Product {
        gaps: [1, 4, 3],
        batch: 3,
        ..product([20, 24, 70])
    }),
    // A group of two tiles, none, one of a row, and one that begins and ends inside a tile of rows.
    gemm!("simt_groups_nn4_32x128_f32", "block/pipeline.rs" "block/split_k.rs" "gemm/simt", "simt_kernels.rs", Product {
        gaps: [1, 4, 3],
        group_ends: &[40, 40, 41, 70],
        ..product([70, 24, 70])
    }),
    // The same on two SMs: whole tiles go by TMA stores, others with predicates, in turns.
    wgmma!(
        "wgmma_groups_nn_64x128_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [4, 8, 8],
            sms: 2,
            group_ends: &[100, 100, 101, 260],
            ..product([260, 200, 140])
        }
    ),
    // More k-tiles than stages; a residue along K.
    gemm!(
        "mma_f64_nn2_64x64_f64",
        "block/pipeline.rs" "block/split_k.rs" "gemm/mma_f64",
        "mma_f64_kernels.rs",
        Product {
            gaps: [2, 4, 3],
            ..product([70, 40, 102])
        }
    ),
    Kernel {
        module: Module::Wgmma,
        ..gemm!(
            "mma_f64_wide_nt2_64x64_f64",
            "block/pipeline.rs" "block/split_k.rs" "gemm/mma_f64",
            "mma_f64_wide_kernels.rs",
            Product {
                gaps: [2, 4, 3],
                ..product([70, 40, 102])
            }
        )
    },
    Kernel {
        module: Module::Wgmma,
        ..gemm!(
            "mma_f64_wide_short_tn2_64x64_f64",
            "block/pipeline.rs" "block/split_k.rs" "gemm/mma_f64",
            "mma_f64_wide_kernels.rs",
            Product {
                gaps: [4, 2, 3],
                ..product([70, 40, 102])
            }
        )
    },
    // More k-tiles than stages, fewer rows and columns than a tile; C's rows do not allow TMA stores.
    wgmma_launch!(
        "wgmma_ring",
        "wgmma_nn_128x128_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [4, 4, 0],
            ..product([20, 36, 508])
        }
    ),
    // Three tiles on two SMs, each with more k-tiles than stages.
    wgmma_launch!(
        "wgmma_persistent",
        "wgmma_nn_128x128_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [4, 4, 0],
            sms: 2,
            ..product([260, 20, 388])
        }
    ),
    wgmma!(
        "wgmma_nn_128x256_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [4, 4, 0],
            ..product([140, 140, 300])
        }
    ),
    // Three tiles on one SM, C by TMA stores; the last tile starts with the first stage, which also holds its epilogue
    // subtiles.
    wgmma!(
        "wgmma_nn_128x128_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [6, 0, 8],
            sms: 1,
            ..product([70, 264, 130])
        }
    ),
    // Three splits, stored by threads: rows of C do not allow TMA stores.
    wgmma!(
        "wgmma_nn_64x64_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [0, 0, 3],
            slices: 3,
            ..product([20, 40, 192])
        }
    ),
    // Three tiles of a cluster of two CTAs; the first warpgroup computes two. A tile uses each stage once: the next
    // tile has the other phase.
    wgmma!(
        "wgmma_nt_128x168_f16",
        "wgmma_kernels.rs",
        Product {
            gaps: [4, 4, 0],
            sms: 2,
            ..product([140, 344, 300])
        }
    ),
    // More k-tiles than stages, in a cluster of two CTAs, the second of which has no rows.
    wgmma!(
        "wgmma_bf16x6_nn_128x128_f32",
        "wgmma_bf16x6_kernels.rs",
        Product {
            gaps: [0, 0, 3],
            ..product([70, 36, 230])
        }
    ),
    // A cluster along N, more k-tiles than stages; rows of C begin at odd elements.
    wgmma!(
        "wgmma_tf32_nn_256x128_f32",
        "wgmma_tf32_kernels.rs",
        Product {
            gaps: [4, 4, 1],
            ..product([140, 140, 300])
        }
    ),
    // Two tiles of scales along the rows, residue tiles, more k-tiles than stages.
    block_scaled!("mma_block_scaled_nvfp4_64x128x128_bf16", [136, 40, 288], 2),
    block_scaled!("mma_block_scaled_mxfp8_128x128x128_bf16", [20, 40, 288], 2),
    // Two tiles along M and N, residue tiles, more k-tiles than stages.
    fp8!("wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16", [136, 136, 1040]),
    fp8!("wgmma_fp8_promoted_e4m3_e4m3_64x128_bf16", [72, 40, 1168]),
    // Two tiles along both extents, with residues; lines of the source begin at vectors, or do not.
    fp8_quantize!("fp8_quantize_1x128_bf16_transposed", [138, 272, 2]),
    fp8_quantize!("fp8_quantize_128x128_bf16", [138, 272, 3]),
    lesson!("lesson_01_naive", "l01_naive.rs", LESSON),
    lesson!("lesson_02_static_tiles", "l02_static_tiles.rs", LESSON),
    lesson!("lesson_03_dynamic_tiles", "l03_dynamic_tiles.rs", LESSON),
    lesson!("lesson_04_register_column", "l04_register_column.rs", REGISTERS),
    lesson!("lesson_05_register_tile", "l05_register_tile.rs", REGISTERS),
    lesson!("lesson_06_vector_copies", "l06_vector_copies.rs", ODD_ROWS),
    lesson!("lesson_07_warp_tiles", "l07_warp_tiles.rs", REGISTERS),
    lesson!("lesson_08_double_buffering", "l08_double_buffering.rs", REGISTERS),
    lesson!(
        "lesson_09_cp_async",
        "l09_cp_async.rs",
        Product {
            gaps: [1, 4, 3],
            ..product([20, 24, 70])
        }
    ),
    lesson!(
        "lesson_10_mma_sync",
        "l10_mma_sync.rs",
        Product {
            gaps: [3, 8, 8],
            ..product([70, 40, 165])
        }
    ),
    // Three k-tiles of one stage.
    lesson_with_maps!(
        "lesson_11_wgmma",
        "l11_wgmma.rs",
        Product {
            gaps: [4, 7, 2],
            ..product([70, 65, 132])
        }
    ),
    // More k-tiles than stages.
    lesson_with_maps!(
        "lesson_12_warp_specialized",
        "l12_warp_specialized.rs",
        Product {
            gaps: [4, 4, 0],
            ..product([20, 36, 380])
        }
    ),
    // Three tiles on two SMs.
    lesson_with_maps!(
        "lesson_13_persistent",
        "l13_persistent.rs",
        Product {
            gaps: [4, 4, 0],
            sms: 2,
            ..product([260, 20, 260])
        }
    ),
    lesson_with_maps!(
        "lesson_14_cluster",
        "l14_cluster.rs",
        Product {
            gaps: [4, 4, 0],
            ..product([140, 140, 300])
        }
    ),
    // Two tiles of the one cluster.
    lesson_with_maps!(
        "lesson_15_tma_store",
        "l15_tma_store.rs",
        Product {
            gaps: [6, 0, 8],
            sms: 1,
            ..product([70, 264, 130])
        }
    ),
];
