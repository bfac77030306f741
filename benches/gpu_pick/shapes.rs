//! What is timed for the calibration.

use tilewright::Transpose;

/// Listed shapes that the model is fitted to, m, n, k: squares, few rows, few columns, deep and shallow, and no
/// multiples of anything. The random ones come on top.
pub const CALIBRATION: [(usize, usize, usize); 49] = [
    (80, 80, 80),
    (160, 160, 160),
    (224, 224, 224),
    (320, 320, 320),
    (448, 448, 448),
    (576, 576, 576),
    (704, 704, 704),
    (832, 832, 832),
    (896, 896, 896),
    (1152, 1152, 1152),
    (1408, 1408, 1408),
    (1792, 1792, 1792),
    (2304, 2304, 2304),
    (2816, 2816, 2816),
    (3584, 3584, 3584),
    (4608, 4608, 4608),
    (6144, 5120, 6144),
    (8448, 7936, 8192),
    (120, 150, 130),
    (450, 650, 550),
    (900, 1100, 1000),
    (1500, 2500, 800),
    (3100, 2100, 1900),
    (3500, 3600, 3700),
    (2, 3072, 3072),
    (24, 3072, 3072),
    (96, 3072, 3072),
    (160, 3072, 1280),
    (320, 6144, 640),
    (3072, 8, 3072),
    (6144, 160, 1280),
    (3072, 3072, 96),
    (3072, 3072, 24),
    (6144, 6144, 48),
    (192, 192, 6144),
    (384, 384, 3072),
    (1536, 1152, 640),
    (1280, 3072, 1280),
    (3072, 1280, 640),
    (6144, 1, 3072),
    (5001, 1, 3001),
    (1, 6144, 3072),
    (1, 3001, 5003),
    (10, 2999, 3001),
    (3003, 20, 3001),
    (257, 2049, 1023),
    (1027, 3001, 515),
    (96, 96, 24576),
    (2049, 2047, 2045),
];

/// Layers of a transformer for few tokens, NT as their weights lie: a large B is read once, which random shapes rarely
/// have.
pub const FEW_TOKENS: [(usize, usize, usize); 10] = [
    (8, 15360, 5120),
    (12, 5120, 5120),
    (20, 13824, 5120),
    (32, 5120, 13824),
    (40, 15360, 5120),
    (64, 13824, 5120),
    (96, 8192, 8192),
    (128, 5120, 13824),
    (192, 13824, 5120),
    (384, 15360, 5120),
];

/// Products of microseconds, with K of one or two k-tiles, NN: in single elements plain tiles are the fastest. One in
/// 40 random shapes is such a product.
pub const TINY: [(usize, usize, usize); 12] = [
    (17, 19, 16),
    (20, 24, 18),
    (27, 330, 17),
    (33, 1200, 23),
    (48, 100, 20),
    (60, 220, 21),
    (140, 19, 26),
    (150, 25, 22),
    (260, 260, 31),
    (420, 60, 23),
    (700, 33, 28),
    (900, 91, 19),
];

/// Batches, by their number of products and m, n, k, NN. A batch fills the device with tiles of few k-tiles, which one
/// product has only where K is short and C large.
pub const BATCHES: [(usize, [usize; 3]); 6] = [
    (4096, [32, 32, 32]),
    (4096, [64, 64, 64]),
    (1024, [100, 100, 100]),
    (384, [128, 64, 512]),
    (96, [256, 256, 256]),
    (24, [512, 512, 96]),
];

/// How A and B of a listed shape lie: as they are named and in one of the other layouts, by turns. Kernels of these
/// have coefficients of their own, since single elements along M or N are loaded more slowly than along K.
pub fn layouts(number: usize) -> [[Transpose; 2]; 2] {
    use Transpose::{No, Yes};
    [[No, No], [[No, Yes], [Yes, No], [Yes, Yes]][number % 3]]
}
