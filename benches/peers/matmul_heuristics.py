"""What nvMatmulHeuristics would choose, and where our selector ranks that.

    pip install nvidia-matmul-heuristics==0.1.0.27
    cargo build --release -p tilewright-plan --example rank
    python matmul_heuristics.py [--rank target/release/examples/rank] [--list] [--json FILE]

asks NVIDIA's nvMatmulHeuristics for its choices for dense products on H100, H200 and B200, asks our planner to rank its own
templates for the same products, and writes a table (Markdown): at which rank our list has the library's first choice.

The library is proprietary, runs without a GPU, and is used as its licence allows: asked through its Python interface, nothing
of it copied, linked or shipped. It is asked as CUTLASS's profiler asks it (`python/cutlass_library/heuristics_provider.py`):
target CUTLASS3, the flag PERF_MODEL_BASED_AUTO_TUNING; A row-major, B column-major, C row-major. Our planner ranks what it
takes for CUTLASS kernels: `wgmma` on 9.0, `tcgen05` on 10.0.

Three keys say what counts as the same choice, from strict to loose; a rank counts the different keys before it in our list:

    all    tile m x n x k, split of k, cluster m x n
    mnk    tile m x n x k
    mn     tile m x n

Stages are no part of a key: both sides take as many as fit and differ in what they charge for the epilogue. A fourth column,
"tied", is the best rank by key `all` of any choice that the library rates within 0.1 % of its first.
"""

import argparse
import json
import statistics
import subprocess
import sys

# m, n, k. Squares; projections of transformers (4096 x 4096, 14336 x 4096, ..., for 16 to 8192 tokens); ragged; extreme.
SQUARES = [(s, s, s) for s in (256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)]
LAYERS = ((4096, 4096), (14336, 4096), (4096, 14336), (6144, 4096), (8192, 8192), (28672, 8192), (7168, 2048), (3072, 768))
TRANSFORMERS = [(tokens, n, k) for tokens in (16, 64, 128, 512, 2048, 8192) for n, k in LAYERS]
RAGGED = [
    (1000, 1000, 1000),
    (4097, 4096, 4096),
    (1023, 2047, 511),
    (333, 777, 1111),
    (5000, 3000, 2000),
    (4096, 4000, 1111),
    (129, 257, 4096),
]
EXTREME = [
    (64, 64, 65536),
    (128, 128, 16384),
    (256, 256, 8192),
    (8192, 64, 1024),
    (64, 8192, 1024),
    (32, 50257, 768),
    (2048, 50304, 1024),
    (1, 4096, 4096),
    (8192, 8192, 256),
    (16384, 1024, 128),
]
SHAPES = list(dict.fromkeys(SQUARES + TRANSFORMERS + RAGGED + EXTREME))

# The library's name of a GPU, ours.
GPUS = (("H100_SXM", "H100 SXM"), ("H200_SXM", "H200"), ("B200", "B200"))
# The library's letters (A, B, C, sum, D; or A and B, sum, C and D), our type. Results have 16 bits.
TYPES = (("HSH", "f16"), ("TST", "bf16"), ("QQHSH", "e4m3"))
KEYS = ("all", "mnk", "mn")
CHOICES = 32


def keys(tile_m, tile_n, tile_k, split_k, cluster_m, cluster_n):
    """The three keys of one choice."""
    return {
        "all": (tile_m, tile_n, tile_k, split_k, cluster_m, cluster_n),
        "mnk": (tile_m, tile_n, tile_k),
        "mn": (tile_m, tile_n),
    }


def text(key):
    """A key of kind `all` for people."""
    tile_m, tile_n, tile_k, split_k, cluster_m, cluster_n = key
    split = f" split {split_k}" if split_k > 1 else ""
    return f"{tile_m}x{tile_n}x{tile_k}{split} cluster {cluster_m}x{cluster_n}"


def theirs(library, gpu, letters):
    """For each shape the library's choices in its order: (keys, microseconds)."""
    interface = library.NvMatmulHeuristicsInterfaceEx(
        backend=library.NvMatmulHeuristicsTarget.CUTLASS3,
        flags=library.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=library.NvMatmulHeuristicsNvidiaGpu[gpu],
    )
    layout = library.NvMatmulHeuristicsMatmulLayout.TN_ROW_MAJOR
    for m, n, k in SHAPES:
        problem = interface.makeNvMatmulHeuristicsProblem(m, n, k, layout)
        choices = []
        for choice in interface.get(problem, CHOICES, precision=letters):
            kernel = choice["kernel"]
            key = keys(
                kernel.cta_tile_m,
                kernel.cta_tile_n,
                kernel.cta_tile_k,
                kernel.split_k,
                kernel.cluster_m,
                kernel.cluster_n,
            )
            choices.append((key, choice["runtime"] * 1e6))
        yield choices


def ours(rank, product, ty):
    """For each shape our ranking: (keys, microseconds)."""
    lines = "".join(f"{m} {n} {k}\n" for m, n, k in SHAPES)
    out = subprocess.run([rank, product, ty], input=lines, capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        names = ("tile_m", "tile_n", "tile_k", "split_k", "cluster_m", "cluster_n")
        yield [(keys(*(entry[name] for name in names)), entry["us"]) for entry in json.loads(line)["ranked"]]


def rank_of(wanted, ranking, kind):
    """The place of a key among the different keys of our ranking; None where it is not there."""
    seen = []
    for key, _ in ranking:
        if key[kind] not in seen:
            seen.append(key[kind])
        if key[kind] == wanted[kind]:
            return len(seen)
    return None


def from_l2(key):
    """Elements that a block takes out of L2 in a step of k, after multicast: blocks along n share A, those along m share B."""
    tile_m, tile_n, _, _, cluster_m, cluster_n = key
    return tile_m / cluster_n + tile_n / cluster_m


def why(wanted, ranking, tied):
    """Why the library's first choice is not among our first five by the strict key: what of it differs."""
    place, mn = rank_of(wanted, ranking, "mnk"), rank_of(wanted, ranking, "mn")
    same = next(((key["all"], us) for key, us in ranking if key["mnk"] == wanted["mnk"]), None)
    behind = 0 if same is None else round(100 * (same[1] / ranking[0][1] - 1))
    if tied is not None and tied <= 5:
        return f"the library rates other choices as equal, one of which is our number {tied}"
    if same is None:
        return "we do not build this tile" if mn is None else f"we do not build this depth (m x n is our number {mn})"
    if place > 5:
        ours_split = ranking[0][0]["all"][3]
        split = f"; we split k by {ours_split}" if ours_split != wanted["all"][3] else ""
        return f"the tile is our number {place}, {behind} % behind our first{split}"
    if same[0][3] != wanted["all"][3]:
        return f"the tile is our number {place}, with k split by {same[0][3]}"
    theirs_bytes, ours_bytes = from_l2(wanted["all"]), from_l2(same[0])
    cluster = "x".join(map(str, same[0][4:]))
    if theirs_bytes == ours_bytes:
        return f"the tile is our number {place}; cluster {cluster} takes the same out of L2"
    much = abs(round(100 * (theirs_bytes / ours_bytes - 1)))
    word = "more" if theirs_bytes > ours_bytes else "less"
    return f"the tile is our number {place}; their cluster takes {much} % {word} out of L2 than {cluster}"


def compare(library, rank):
    """Every comparison as a flat row."""
    for gpu, product in GPUS:
        for letters, ty in TYPES:
            for shape, choices, ranking in zip(SHAPES, theirs(library, gpu, letters), ours(rank, product, ty), strict=True):
                wanted, first_us = choices[0]
                equals = [rank_of(key, ranking, "all") for key, us in choices if us <= 1.001 * first_us]
                tied = min((place for place in equals if place is not None), default=None)
                row = {kind: rank_of(wanted, ranking, kind) for kind in KEYS}
                row |= {
                    "gpu": product,
                    "type": ty,
                    "shape": shape,
                    "tied": tied,
                    "theirs": text(wanted["all"]),
                    "theirs_us": first_us,
                    "ours": text(ranking[0][0]["all"]),
                    "ours_us": ranking[0][1],
                }
                if row["all"] is None or row["all"] > 5:
                    row["why"] = why(wanted, ranking, tied)
                yield row


def summary(rows):
    """Median rank and share among the first five, by key."""
    cells = []
    for kind in (*KEYS, "tied"):
        ranks = [row[kind] if row[kind] is not None else 999 for row in rows]
        five = 100 * sum(place <= 5 for place in ranks) / len(ranks)
        cells.append(f"{statistics.median(ranks):g} | {five:.0f} %")
    return " | ".join(cells)


def table(rows):
    """The Markdown."""
    yield "| GPU | type | shapes | all: median | first five | mnk: median | first five | mn: median | first five | tied: median | first five |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    groups = [(product, ty) for _, product in GPUS for _, ty in TYPES]
    for product, ty in groups:
        group = [row for row in rows if (row["gpu"], row["type"]) == (product, ty)]
        yield f"| {product} | {ty} | {len(group)} | {summary(group)} |"
    yield f"| all | all | {len(rows)} | {summary(rows)} |"


def differences(rows):
    """Every case in which the library's first choice is not among our first five, by the strict key."""
    yield "| GPU | type | m x n x k | theirs | ours | ranks all, mnk, mn | why |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        if "why" in row:
            shape = "x".join(map(str, row["shape"]))
            ranks = ", ".join(str(row[kind] or "-") for kind in KEYS)
            yield f"| {row['gpu']} | {row['type']} | {shape} | {row['theirs']} | {row['ours']} | {ranks} | {row['why']} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rank", default="target/release/examples/rank", help="our example binary")
    parser.add_argument("--list", action="store_true", help="write the differences too")
    parser.add_argument("--json", help="write every comparison to this file")
    arguments = parser.parse_args()
    try:
        import nvMatmulHeuristics as library
    except ImportError:
        sys.exit("nvMatmulHeuristics is not installed: pip install nvidia-matmul-heuristics==0.1.0.27")
    rows = list(compare(library, arguments.rank))
    print(*table(rows), sep="\n")
    if arguments.list:
        print()
        print(*differences(rows), sep="\n")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
