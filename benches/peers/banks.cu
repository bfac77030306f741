// One shared-memory instruction of one warp at a time, for `ncu` to count its wavefronts: what sim/src/analysis/banks.rs has to predict.
//
//   nvcc -O3 -arch=sm_90 -o banks banks.cu
//   ncu --clock-control none --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared.sum ./banks
//
// The program prints a line a launch, in the order in which ncu lists them: access, bytes a lane, active lanes, addresses.
// sim/src/analysis/tests/measured.rs holds the patterns with the counts of an H200.
#include <cstdint>
#include <cstdio>

struct Lanes {
    uint32_t address[32];
    uint32_t active;
};

enum Access { LOAD, STORE, ATOMIC };

template <int ACCESS, int BYTES>
__global__ void one(Lanes lanes, uint32_t* out) {
    extern __shared__ __align__(128) uint8_t memory[];
    uint32_t lane = threadIdx.x;
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(memory)) + lanes.address[lane];
    uint32_t a = lane, b = 0, c = 0, d = 0;
    if (lanes.active >> lane & 1) {
        if (ACCESS == LOAD) {
            if (BYTES == 1) asm volatile("ld.shared.u8 %0, [%1];" : "=r"(a) : "r"(at));
            if (BYTES == 2) asm volatile("{ .reg .b16 t; ld.shared.u16 t, [%1]; cvt.u32.u16 %0, t; }" : "=r"(a) : "r"(at));
            if (BYTES == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
            if (BYTES == 8) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
            if (BYTES == 16)
                asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
        }
        if (ACCESS == STORE) {
            if (BYTES == 1) asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(a) : "memory");
            if (BYTES == 2) asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"((uint16_t)a) : "memory");
            if (BYTES == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(a) : "memory");
            if (BYTES == 8) asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(a), "r"(b) : "memory");
            if (BYTES == 16)
                asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
        }
        if (ACCESS == ATOMIC) asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(a) : "r"(at) : "memory");
    }
    out[lane] = a + b + c + d;
}

static uint32_t* out;

template <int ACCESS, int BYTES>
void launch(const char* pattern, uint32_t active, uint32_t (*address)(uint32_t)) {
    Lanes lanes;
    lanes.active = active;
    for (uint32_t lane = 0; lane < 32; lane++) lanes.address[lane] = address(lane);
    one<ACCESS, BYTES><<<1, 32, 32768>>>(lanes, out);
    static const char* names[] = {"load", "store", "atomic"};
    printf("%s %d %08x %s\n", names[ACCESS], BYTES, active, pattern);
}

#define RUN(access, bytes, active, expression) { auto f = [](uint32_t n) -> uint32_t { return expression; }; launch<access, bytes>(#expression, active, f); }

template <int ACCESS>
void vectors() {
    const uint32_t all = 0xffffffff, even = 0x55555555;
    RUN(ACCESS, 8, all, n * 8)
    RUN(ACCESS, 8, all, 0)
    RUN(ACCESS, 8, all, n / 2 * 8)
    RUN(ACCESS, 8, all, (n / 4 * 2 + n % 2) * 8)
    RUN(ACCESS, 8, all, n / 4 * 8)
    RUN(ACCESS, 8, all, (n / 8 * 4 + n % 4) * 8)
    RUN(ACCESS, 8, all, n % 16 * 8)
    RUN(ACCESS, 8, all, n * 16)
    RUN(ACCESS, 8, all, n / 2 * 32)
    RUN(ACCESS, 8, even, n * 8)
    RUN(ACCESS, 8, even, n / 2 * 8)
    RUN(ACCESS, 8, 0x0000ffff, n * 8)
    RUN(ACCESS, 8, 0x00010001, n * 8)
    RUN(ACCESS, 8, all, (n < 16 ? 0 : 64) + n / 2 % 2 * 128)
    RUN(ACCESS, 8, all, (n < 16 ? 0 : 64) + n / 2 % 4 * 128)
    RUN(ACCESS, 8, all, n / 4 * 8 + n / 2 % 2 * 1024)
    RUN(ACCESS, 16, all, n * 16)
    RUN(ACCESS, 16, all, 0)
    RUN(ACCESS, 16, all, n / 2 * 16)
    RUN(ACCESS, 16, all, (n / 4 * 2 + n % 2) * 16)
    RUN(ACCESS, 16, all, n / 4 * 16)
    RUN(ACCESS, 16, all, n / 8 * 16)
    RUN(ACCESS, 16, all, n / 16 * 16)
    RUN(ACCESS, 16, all, n % 8 * 16)
    RUN(ACCESS, 16, all, n * 32)
    RUN(ACCESS, 16, all, n / 2 * 128)
    RUN(ACCESS, 16, all, (n < 16 ? n / 2 * 16 : n / 2 * 128))
    RUN(ACCESS, 16, all, (n < 16 ? n / 2 * 16 : n * 16))
    RUN(ACCESS, 16, all, (n < 16 ? n / 2 * 16 : (n / 4 * 2 + n % 2) * 16))
    RUN(ACCESS, 16, 0x0000ffff, (n < 8 ? 0 : 64) + n / 2 % 2 * 128)
    RUN(ACCESS, 16, 0x0000ffff, (n < 8 ? 0 : 64) + n / 2 % 4 * 128)
    RUN(ACCESS, 16, all, n / 8 % 2 * 64 + n / 2 % 2 * 128 + n / 16 * 1024)
    RUN(ACCESS, 16, even, n * 16)
    RUN(ACCESS, 16, even, n / 2 * 16)
    RUN(ACCESS, 16, 0x000000ff, n * 16)
    RUN(ACCESS, 16, 0x0000ffff, 0)
    RUN(ACCESS, 16, 0x01010101, n * 16)
    RUN(ACCESS, 16, 0x00000001, n * 16)
}

template <int ACCESS>
void words() {
    const uint32_t all = 0xffffffff;
    RUN(ACCESS, 4, all, n * 4)
    RUN(ACCESS, 4, all, 0)
    RUN(ACCESS, 4, all, n * 8)
    RUN(ACCESS, 4, all, n * 128)
    RUN(ACCESS, 4, all, n / 2 * 4)
    RUN(ACCESS, 4, all, n % 2 * 128)
}

template <int ACCESS>
void parts() {
    const uint32_t all = 0xffffffff;
    RUN(ACCESS, 2, all, n * 2)
    RUN(ACCESS, 2, all, n * 128)
    RUN(ACCESS, 2, all, n % 2 * 128 + n / 2 * 2)
    RUN(ACCESS, 1, all, n)
    RUN(ACCESS, 1, all, n * 4)
    RUN(ACCESS, 1, all, 0)
}

int main() {
    cudaMalloc(&out, 32 * sizeof *out);
    words<LOAD>();
    parts<LOAD>();
    vectors<LOAD>();
    words<STORE>();
    parts<STORE>();
    vectors<STORE>();
    words<ATOMIC>();
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
