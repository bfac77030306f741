//! Rows of the table of kernels, in short.

macro_rules! sample {
    ($name:literal, $file:literal, $parameters:literal) => {
        Kernel {
            name: $name,
            symbol: $name,
            files: &[concat!("sim/sample-kernels/src/", $file)],
            parameters: $parameters,
            module: Module::General,
            task: Task::Sample,
        }
    };
}

/// A kernel of the library: the files of its body, then its own.
macro_rules! gemm {
    ($name:literal, $($body:literal)*, $file:literal, $product:expr) => {
        Kernel {
            name: $name,
            symbol: $name,
            files: &[
                $(concat!("kernels-gpu/src/", $body),)*
                concat!("kernels-gpu/src/gemm/", $file),
            ],
            parameters: 1,
            module: Module::General,
            task: Task::Product($product),
        }
    };
}

/// One with `wgmma`: its name, and its file.
macro_rules! wgmma {
    ($name:literal, $file:literal, $product:expr) => {
        Kernel {
            module: Module::Wgmma,
            parameters: 4,
            ..gemm!(
                $name,
                "block/split_k.rs" "block/narrow_store.rs" "block/warp_store.rs" "gemm/wgmma",
                $file,
                $product
            )
        }
    };
}

/// The same under a name of its own, where an entry point has several launches.
macro_rules! wgmma_launch {
    ($name:literal, $symbol:literal, $file:literal, $product:expr) => {
        Kernel {
            name: $name,
            ..wgmma!($symbol, $file, $product)
        }
    };
}

/// A block-scaled kernel: its extents and stages.
macro_rules! block_scaled {
    ($name:literal, $extents:expr, $stages:literal) => {
        Kernel {
            parameters: 6,
            module: Module::Simulated,
            task: Task::BlockScaled($extents, $stages),
            ..gemm!(
                $name,
                "block/pipeline.rs" "block/sector_store.rs" "gemm/mma_sync" "gemm/mma_block_scaled",
                "mma_block_scaled_kernels.rs",
                product([0; 3])
            )
        }
    };
}

/// An FP8 kernel: its extents.
macro_rules! fp8 {
    ($name:literal, $extents:expr) => {
        Kernel {
            parameters: 6,
            module: Module::Simulated,
            task: Task::Fp8($extents),
            ..gemm!(
                $name,
                "block/split_k.rs" "block/narrow_store.rs" "block/warp_store.rs" "gemm/wgmma" "gemm/wgmma_fp8",
                "wgmma_fp8_kernels.rs",
                product([0; 3])
            )
        }
    };
}

/// A kernel that quantizes to FP8: its extents and padding.
macro_rules! fp8_quantize {
    ($name:literal, $extents:expr) => {
        Kernel {
            module: Module::Simulated,
            task: Task::Fp8Quantize($extents),
            ..gemm!($name, "gemm/fp8_quantize", "fp8_quantize_kernels.rs", product([0; 3]))
        }
    };
}

/// A lesson: its file, and its product.
macro_rules! lesson {
    ($name:literal, $file:literal, $product:expr) => {
        Kernel {
            files: &[concat!("kernels-gpu/src/lessons/", $file)],
            ..gemm!($name, , $file, $product)
        }
    };
}

/// A lesson with tensor maps.
macro_rules! lesson_with_maps {
    ($name:literal, $file:literal, $product:expr) => {
        Kernel {
            module: Module::Wgmma,
            parameters: 4,
            ..lesson!($name, $file, $product)
        }
    };
}
