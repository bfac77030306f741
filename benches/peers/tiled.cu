// CUDA C++ twins of the tiled kernels: the same algorithm, mapping, guards and layout, for nvcc to compile.
//
//   nvcc -O3 -arch=sm_90 -cubin -o tiled.cubin tiled.cu
//
// `tilewright bench --suite twins --twins tiled.cubin` launches each twin with the arguments of the Rust kernel, and times both in
// turns on the same buffers. What differs is the compiler.

struct GemmArgs {
    unsigned m, n, k;       // C (m x n) = A (m x k) * B (k x n), row-major
    unsigned lda, ldb, ldc; // leading dimensions in elements
};

struct TileParts {
    unsigned tile_width;  // elements
    unsigned a_part_bytes; // B_s begins here
    unsigned b_part_bytes;
};

template <unsigned WIDTH> struct Fixed {
    __device__ constexpr unsigned get() const { return WIDTH; }
};

struct Runtime {
    unsigned width;
    __device__ unsigned get() const { return width; }
};

// A_s, B_s: width x width elements, pitch = width. A thread holds R x R elements of C, `stride` apart.
template <unsigned R, typename Width>
__device__ __forceinline__ void tiled(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                      GemmArgs args, float *a_s, float *b_s, Width tile) {
    const unsigned width = tile.get();
    const unsigned stride = (width + R - 1) / R;
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned tiles_n = (args.n + width - 1) / width;
    const unsigned origin_row = blockIdx.x / tiles_n * width, origin_column = blockIdx.x % tiles_n * width;
    auto inside = [&](unsigned offset) { return R == 1 || offset < width; };
    auto clamped = [&](unsigned offset) { return inside(offset) ? offset : width - 1; };

    float sums[R][R] = {};
    for (unsigned k0 = 0; k0 < args.k; k0 += width) {
        for (unsigned i = 0; i < R; ++i) {
            const unsigned row = ty + i * stride;
            for (unsigned j = 0; j < R; ++j) {
                const unsigned column = tx + j * stride;
                if (inside(row) && inside(column)) {
                    const unsigned a_row = origin_row + row, a_column = k0 + column;
                    const unsigned b_row = k0 + row, b_column = origin_column + column;
                    a_s[row * width + column] =
                        a_row < args.m && a_column < args.k ? a[(size_t)a_row * args.lda + a_column] : 0.0f;
                    b_s[row * width + column] =
                        b_row < args.k && b_column < args.n ? b[(size_t)b_row * args.ldb + b_column] : 0.0f;
                }
            }
        }
        __syncthreads(); // RAW: the tiles are filled

        for (unsigned kk = 0; kk < width; ++kk) {
            float from_a[R], from_b[R];
#pragma unroll
            for (unsigned i = 0; i < R; ++i) {
                from_a[i] = a_s[clamped(ty + i * stride) * width + kk];
                from_b[i] = b_s[kk * width + clamped(tx + i * stride)];
            }
#pragma unroll
            for (unsigned i = 0; i < R; ++i)
#pragma unroll
                for (unsigned j = 0; j < R; ++j) sums[i][j] += from_a[i] * from_b[j];
        }
        __syncthreads(); // WAR: the tiles are drained
    }

#pragma unroll
    for (unsigned i = 0; i < R; ++i) {
        const unsigned tile_row = ty + i * stride, row = origin_row + tile_row;
#pragma unroll
        for (unsigned j = 0; j < R; ++j) {
            const unsigned tile_column = tx + j * stride, column = origin_column + tile_column;
            if (inside(tile_row) && inside(tile_column) && row < args.m && column < args.n)
                c[(size_t)row * args.ldc + column] = sums[i][j];
        }
    }
}

#define STATIC_TWIN(WIDTH)                                                                                              \
    extern "C" __global__ void peer_tiled_static_##WIDTH##_f32(const float *__restrict__ a,                         \
                                                                   const float *__restrict__ b, float *__restrict__ c,   \
                                                                   GemmArgs args) {                                      \
        __shared__ float a_s[WIDTH * WIDTH];                                                                             \
        __shared__ float b_s[WIDTH * WIDTH];                                                                             \
        tiled<1>(a, b, c, args, a_s, b_s, Fixed<WIDTH>{});                                                               \
    }

STATIC_TWIN(16)
STATIC_TWIN(32)

extern __shared__ __align__(128) unsigned char dynamic_shared[];

#define DYNAMIC_TWIN(NAME, R, WIDTH)                                                                                      \
    extern "C" __global__ void peer_tiled_dynamic_##NAME##_f32(const float *__restrict__ a,                          \
                                                                   const float *__restrict__ b, float *__restrict__ c,   \
                                                                   GemmArgs args, TileParts parts) {                     \
        float *a_s = reinterpret_cast<float *>(dynamic_shared);                                                          \
        float *b_s = reinterpret_cast<float *>(dynamic_shared + parts.a_part_bytes);                                     \
        tiled<R>(a, b, c, args, a_s, b_s, WIDTH);                                                                        \
    }

DYNAMIC_TWIN(16, 1, Fixed<16>{})
DYNAMIC_TWIN(32, 1, Fixed<32>{})
DYNAMIC_TWIN(1x1, 1, Runtime{parts.tile_width})
DYNAMIC_TWIN(4x4, 4, Runtime{parts.tile_width})
DYNAMIC_TWIN(8x8, 8, Runtime{parts.tile_width})
