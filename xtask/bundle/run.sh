#!/usr/bin/env bash
# Runs on a machine with an NVIDIA GPU and the CUDA toolkit, without Rust, everything that evidence needs.
#
#   run.sh --list               the parts: what each proves, how long it takes, and whether there is anything to do
#   run.sh                      every part with something to do
#   run.sh [OPTION...] PART...  these parts, filed or not. Groups: test sanitize race compare calibrate pick random bench
#     --again                   also those that $OUT has
#     --changed                 as without PART, but of these parts alone: with kernels that have changed since their results were filed
#
# A part ends within 9 minutes. A part that $OUT has is not run again, nor one whose kernels have not changed since its results were filed (filed.txt).
# $OUT (default: ./results) holds results.tar, written anew after each part, and log.txt: take both along, and start here again with them to go on.
# `cargo xtask results FOLDER` files them. A part that fails does not stop the later ones; the exit status is 1 if one failed.
set -uo pipefail

bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for file in "$bundle"/parts/*.sh; do
    # shellcheck source=/dev/null
    source "$file"
done

# name | seconds on an H200 (0: not known yet) | what it proves
# Calibration comes first: what is timed after it is what dispatch picks by it.
table='device|5|what the device and its driver offer
calibrate-f32|330|the speeds that dispatch knows, f32; by a run that names no part or says --changed, only of kernels that have changed
calibrate-f64|120|the same, f64
calibrate-f16|240|the same, f16
calibrate-bf16|230|the same, bf16
calibrate-fp8|20|by name alone, on a Hopper GPU: the same, FP8, from the times of fp8-choice
kernels|180|results of every kernel over the shape table, those of FP8 over cases of their own, against the CPU
resources|160|registers, shared memory and resident CTAs by the driver: as contract and planner have them
library|320|layouts, split-K, alpha and beta, epilogues, random and huge products
language|200|the surface of cuda_std, and the kernels that mutants are made from
differential|30|functions that host and GPU must compute alike
memcheck|120|no kernel accesses what is not its own, or leaks
initcheck|120|no kernel reads what nobody wrote
synccheck|120|no kernel misuses a barrier
racecheck-tiled|200|no race in shared memory: tiled and register-tile kernels, lessons 1 to 9, matrix-vector, register-budget variants, the copy of rows, quantizing to FP8
racecheck-simt|60|the same: simt
racecheck-mma|20|the same: mma.sync, lesson 10
racecheck-wgmma|210|the same: wgmma, that of FP8 too, lessons 11 to 15
racecheck-slow|500|the same, by name alone: those that came to no end, again, as long as a part may take
mutants|720|what compute-sanitizer says of every mutant; cut off, it goes on when it is run again
wavefronts|80|accesses that ncu counts, against the simulator
banks|10|wavefronts of single instructions
spilling|40|times and counters of the register-budget variants (examples/smem-spilling)
pick-f32|150|the choice of dispatch against the other candidates for 400 random shapes, f32
pick-f64|70|the same, f64
pick-f16|150|the same, f16
pick-bf16|120|the same, bf16
lessons|30|every lesson at 4096 cubed against cuBLAS
squares|20|cubes in f32 against cuBLAS
shapes|20|other shapes in f32 against cuBLAS
layouts|10|transposed operands in f32 against cuBLAS
half|40|cubes in f16 and bf16 against cuBLAS
half-shapes|30|other shapes in bf16 against cuBLAS
double|30|cubes and other shapes in f64 against cuBLAS
emulated|30|f32 by six products of bf16 against cuBLAS
tf32|30|f32 rounded to tf32 against cuBLAS in TF32
batches|30|strided batches in bf16 and f32 against cuBLAS
fp8-speed|15|by name alone, on a Hopper GPU: e4m3 with scales against cublasLt in the same scale mode
fp8-choice|15|by name alone, on a Hopper GPU: the choice among kernels of FP8 against the fastest other one
block-scaled|0|by name alone, on a GPU of 12.x: NVFP4, MXFP4 and MXFP8, alone and under every sanitizer
random-f32|100|by name alone: 400 random shapes against cuBLAS, each for a short time, f32
random-f64|100|the same, f64
random-f16|110|the same, f16
random-bf16|110|the same, bf16
twins|20|our kernels against the same in CUDA C++
accuracy|30|errors of f32 products in each arithmetic, and of cuBLAS, against f64'

part_names() { cut -d'|' -f1 <<<"$table"; }

# The parts of a group, or the part itself; fails where there is none.
parts_of() { # name
    case $1 in
    test) echo kernels resources library language differential ;;
    sanitize) echo memcheck initcheck synccheck ;;
    race) echo racecheck-{tiled,simt,mma,wgmma} ;;
    compare) echo mutants wavefronts banks ;;
    calibrate | pick | random) echo "$1"-{f32,f64,f16,bf16} ;;
    bench) echo lessons squares shapes layouts half half-shapes double emulated tf32 batches twins accuracy ;;
    all) part_names ;;
    *) part_names | grep -Fx -- "$1" ;;
    esac
}

# A bundle travels packed.
packed=$bundle/packed.tar.xz
if [ -z "${TILEWRIGHT_WORK:-}" ] && [ -e "$packed" ]; then
    if command -v xz >/dev/null; then
        xz --decompress --stdout "$packed" | tar -xC "$bundle" || exit 2
    else
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$packed" "$bundle" || exit 2
    fi
    rm "$packed"
fi

# The seconds after which a part is ended.
part_limit=${PART_LIMIT:-540}

# Where a part works: what is found there is packed. A part is a process of its own, which gets this from the one that started it.
work=${TILEWRIGHT_WORK:-}
checks_head=check,kernel,digest,outcome,date,commit,device,driver,note
if [ -n "$work" ]; then
    IFS=$'\t' read -r date commit device driver <"$work/about.txt"
    # What a GPU test says of a kernel goes, as a row, to a file of the part.
    export TILEWRIGHT_DATE=$date TILEWRIGHT_COMMIT=$commit TILEWRIGHT_DRIVER=$driver
    case ${1:-} in
    --part)
        ps -o sid= -p $$ | tr -d ' ' >"$work/session"
        "part_${2//-/_}" "$2"
        ;;
    --watch) watch_one "${@:2}" ;;
    esac
    exit
fi

again=0 changed=0 list=0 named=()
for argument in "$@"; do
    case $argument in
    --list) list=1 ;;
    --again) again=1 ;;
    --changed) changed=1 ;;
    -*)
        echo "unknown option '$argument'; known: --list --again --changed" >&2
        exit 2
        ;;
    *)
        if ! found=$(parts_of "$argument"); then
            echo "unknown part '$argument'; known: all test sanitize race compare calibrate pick random bench $(part_names | xargs)" >&2
            exit 2
        fi
        mapfile -t -O "${#named[@]}" named < <(tr ' ' '\n' <<<"$found")
        ;;
    esac
done

out=${OUT:-results}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -e "$out/results.tar" ] && ! tar -xf "$out/results.tar" -C "$work"; then
    echo "$out/results.tar cannot be unpacked" >&2
    exit 2
fi
mkdir -p "$work/done" "$work/rows"

# Where and when: of the run that began in $OUT.
IFS=, read -r device driver < <(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader -i 0 2>/dev/null)
device=${device:-none} driver=${driver# }
date=$(date -u +%F) commit=$(cat "$bundle/COMMIT")
printf -v about '%s\t%s\t%s\t%s' "$date" "$commit" "$device" "${driver:-none}"
if [ -e "$work/about.txt" ] && [ "$(cut -f2- "$work/about.txt")" != "$(cut -f2- <<<"$about")" ]; then
    echo "$out holds results of another bundle, device or driver: $(cat "$work/about.txt")" >&2
    exit 2
fi
[ -e "$work/about.txt" ] || printf '%s\n' "$about" >"$work/about.txt"
printf '{"date": "%s", "device": "%s", "driver": "%s", "commit": "%s"}\n' "$date" "$device" "${driver:-none}" "$commit" >"$work/about.json"

# The kernels that this device takes, with their digests; what the tables of mutants are of stands in digests.txt alone.
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 2>/dev/null | tr -d .)
cp "$bundle/digests.txt" "$work/"
"$bundle/tilewright" ptx --digests --arch "sm_${capability:-90}" | cut -d' ' -f1,3 >"$work/kernels.txt"
# Those of FP8 are for Hopper GPUs alone.
[ "${capability:-90}" != 90 ] || awk '$2 == "fp8" { print $1, $3 }' "$bundle/digests.txt" >>"$work/kernels.txt"
# Those of examples/smem-spilling are the same for every device.
awk '$2 == "spilling" { print $1, $3 }' "$bundle/digests.txt" >>"$work/kernels.txt"

is_done() { grep -qs '^0 ' "$work/done/$1"; }

list_parts() {
    local name seconds what state
    printf '%-18s %8s  %-12s %s\n' part seconds state proves
    while IFS='|' read -r name seconds what; do
        state='to do'
        is_filed "$name" && state='filed'
        is_done "$name" && state='done'
        printf '%-18s %8s  %-12s %s\n' "$name" "${seconds/#0/?}" "$state" "$what"
    done <<<"$table"
}

if [ "$list" -eq 1 ]; then
    list_parts
    exit
fi

todo=()
if [ "${#named[@]}" -eq 0 ]; then
    while read -r name; do
        is_done "$name" || is_filed "$name" || todo+=("$name")
    done < <(part_names)
else
    for name in "${named[@]}"; do
        if [ "$changed" -eq 1 ] && is_filed "$name"; then continue; fi
        if [ "$again" -eq 1 ] || ! is_done "$name"; then todo+=("$name"); fi
    done
    # Otherwise what is asked for by name is done with every kernel.
    [ "$changed" -eq 1 ] || export TILEWRIGHT_EVERY_KERNEL=1
fi

log=$out/log.txt
export TILEWRIGHT_WORK=$work
failed=0
for name in ${todo[@]+"${todo[@]}"}; do
    printf '\n== %s ==\n' "$name" | tee -a "$log"
    begin=$SECONDS
    # What was cut off goes on.
    TILEWRIGHT_GOES_ON=$(grep -s '^124 ' "$work/done/$name")
    export TILEWRIGHT_GOES_ON
    # A session of its own: by it, what the part starts under time limits of its own is told from what others run.
    setsid --wait timeout -k 10 "$part_limit" bash "$bundle/run.sh" --part "$name" 2>&1 | tee -a "$log"
    status=${PIPESTATUS[0]}
    if [ "$status" -eq 124 ]; then
        echo "$name did not end within $part_limit s" | tee -a "$log"
        # It holds the GPU still.
        pkill -s "$(cat "$work/session")"
    fi
    # It is of this part alone, and no result.
    rm -f "$work/session"
    printf '%s %s\n' "$status" "$((SECONDS - begin))" >"$work/done/$name"
    [ "$status" -eq 0 ] || failed=1
    # A check that was ended half-way has rows of what it had come to.
    { echo "$checks_head" && cat "$work"/rows/* 2>/dev/null; } >"$work/checks.csv"
    tar -cf "$out/results.tar.new" -C "$work" . && mv "$out/results.tar.new" "$out/results.tar"
done

printf '\n%-18s %6s %8s\n' part exit seconds | tee -a "$log"
for name in ${todo[@]+"${todo[@]}"}; do
    read -r status seconds <"$work/done/$name"
    printf '%-18s %6s %8s\n' "$name" "$status" "$seconds" | tee -a "$log"
done
[ "${#todo[@]}" -gt 0 ] || echo "nothing to do; run.sh --list says why" | tee -a "$log"
exit "$failed"
