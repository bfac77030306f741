"""A 16 x 16 tiled matrix product under the CUDA simulator of numba-cuda: what `benches/simulator.rs` is measured against.

    python numba_sim.py --size N [--runs R]

multiplies two N x N float32 matrices R times and writes one JSON line a run: the seconds that the launch took, without making
the data and without checking it, and the largest error over the bound that a float32 sum of N products may be off by. With
`--on-request` it waits for a line on standard input before each run and ends with the input, so that runs can alternate with
those of another program.

The kernel is the tiled product as Numba's own documentation teaches it: a block of 16 x 16 threads, two shared tiles, two
barriers a step, zeros outside the matrices.
"""

import argparse
import json
import os
import platform
import sys
import time

# Read when numba.cuda is imported: the launch below then runs on the CPU, in Python, a thread of the system for each CUDA thread.
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numba  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda, float32  # noqa: E402

WIDTH = 16


@cuda.jit
def tiled(a, b, c):
    a_tile = cuda.shared.array(shape=(WIDTH, WIDTH), dtype=float32)
    b_tile = cuda.shared.array(shape=(WIDTH, WIDTH), dtype=float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column = cuda.blockIdx.x * WIDTH + tx
    row = cuda.blockIdx.y * WIDTH + ty

    total = float32(0.0)
    for step in range((a.shape[1] + WIDTH - 1) // WIDTH):
        k = step * WIDTH
        a_tile[ty, tx] = a[row, k + tx] if row < a.shape[0] and k + tx < a.shape[1] else 0.0
        b_tile[ty, tx] = b[k + ty, column] if k + ty < b.shape[0] and column < b.shape[1] else 0.0
        cuda.syncthreads()
        for i in range(WIDTH):
            total += a_tile[ty, i] * b_tile[i, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def numba_cuda_version():
    """The version of the package that holds the simulator: numba-cuda, or numba itself where it is not installed."""
    try:
        import numba_cuda

        return f"numba-cuda {numba_cuda.__version__}"
    except ImportError:
        return f"numba {numba.__version__}"


def run(a, b, expected, bound):
    size = a.shape[0]
    c = np.full((size, size), np.nan, dtype=np.float32)
    blocks = (size + WIDTH - 1) // WIDTH
    # Copies of their own, outside the timed part.
    a_device, b_device, c_device = cuda.to_device(a), cuda.to_device(b), cuda.to_device(c)
    launch = tiled[(blocks, blocks), (WIDTH, WIDTH)]
    begin = time.perf_counter()
    launch(a_device, b_device, c_device)
    seconds = time.perf_counter() - begin
    error = np.abs(c_device.copy_to_host().astype(np.float64) - expected)
    worst = float(np.max(error / bound)) if size else 0.0
    return {"size": size, "seconds": seconds, "error_over_bound": worst}


def main():
    arguments = argparse.ArgumentParser(description="Tiled matrix product under numba-cuda's simulator.")
    arguments.add_argument("--size", type=int, required=True, help="rows and columns of each matrix")
    arguments.add_argument("--runs", type=int, default=1, help="how many launches to time")
    arguments.add_argument("--on-request", action="store_true", help="one run for each line of standard input")
    arguments = arguments.parse_args()

    random = np.random.default_rng(1)
    shape = (arguments.size, arguments.size)
    a = random.uniform(-1.0, 1.0, shape).astype(np.float32)
    b = random.uniform(-1.0, 1.0, shape).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    # Rounding of a sum of k products: k * epsilon times the sum of the products' magnitudes.
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = arguments.size * np.finfo(np.float32).eps * magnitude

    about = {"simulator": numba_cuda_version(), "numpy": np.__version__, "python": platform.python_version()}
    print(json.dumps(about), flush=True)
    runs = sys.stdin if arguments.on_request else range(arguments.runs)
    for _ in runs:
        print(json.dumps(run(a, b, expected, bound)), flush=True)


if __name__ == "__main__":
    main()
