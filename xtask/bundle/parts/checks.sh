# shellcheck shell=bash disable=SC2154  # $bundle, $work, $date, $commit, $device and $driver are run.sh's
# Tests, and tests under compute-sanitizer: rows of kernel, check and digest.

# A row of the checks. The digest is that of the kernel in this bundle.
row() { # check, kernel, outcome, note
    local digest
    digest=$(awk -v kernel="$2" '$1 == kernel { print $2 }' "$work/kernels.txt")
    printf '%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "$1" "$2" "$digest" "$3" "$date" "$commit" "$device" "${driver:-none}" "$4"
}

# Whether the results of a part are filed for the kernels as they are.
is_filed() { # part
    local part=$1 ending='' kernels
    case $part in
    device | library | language | differential) return 1 ;;
    kernels) part='test' ;;
    resources) part=occupancy ;;
    # By name alone.
    racecheck-slow | random-* | block-scaled | fp8-speed | fp8-choice | calibrate-fp8) return 0 ;;
    racecheck-*)
        part=racecheck
        kernels=$(racecheck_kernels "$1")
        ;;
    calibrate-* | pick-*) ending=_${part#*-} part=${part%-*} ;;
    esac
    case $part in
    test | occupancy | memcheck | initcheck | synccheck | racecheck)
        [ -z "$(unfiled "$part" "${kernels-$(cut -d' ' -f1 "$work/kernels.txt")}")" ]
        ;;
    mutants) [ -z "$(unfiled_mutants)" ] ;;
    banks) grep -qs "^$device"$'\tbanks\t' "$bundle/filed.txt" ;;
    *)
        # All kernels that were measured are as they were.
        awk -F'\t' -v device="$device" -v part="$part" -v ending="$ending\$" '
            FILENAME ~ /digests.txt$/ { split($0, word, " "); now[word[1]] = word[3]; next }
            $1 == device && $2 == part && $3 ~ ending { found++; if (now[$3] != $4) changed++ }
            END { exit !(found && !changed) }' "$bundle/digests.txt" "$bundle/filed.txt"
        ;;
    esac
}

# Those of some kernels that have no filed result of a check at their digest.
unfiled() { # check, kernels
    awk -F'\t' -v device="$device" -v check="$1" -v kernels="$2" '
        FILENAME ~ /kernels.txt$/ { split($0, word, " "); now[word[1]] = word[2]; next }
        $1 == device && $2 == check && now[$3] == $4 { filed[$3] = 1 }
        END { count = split(kernels, wanted, "\n"); for (i = 1; i <= count; i++) if (wanted[i] != "" && !filed[wanted[i]]) print wanted[i] }
        ' "$work/kernels.txt" "$bundle/filed.txt"
}

# The kernels that a check is still to be done with: all, where it was asked for by name, but for those that passed before the part was cut off.
wanted() { # check, kernels
    local kernels=$2
    [ -n "${TILEWRIGHT_EVERY_KERNEL:-}" ] || kernels=$(unfiled "$1" "$2")
    if [ -n "${TILEWRIGHT_GOES_ON:-}" ]; then
        grep -vxFf <(awk -F, -v check="$1" '$1 == check && $4 == "passed" { print $2 }' "$work/checks.csv") <<<"$kernels"
    elif [ -n "$kernels" ]; then
        echo "$kernels"
    fi
}

all_kernels() { cut -d' ' -f1 "$work/kernels.txt"; }

# The test programs count a test that finds no GPU as skipped. Here there is one: a program that passed nothing has failed.
run_tests() { # arguments...
    local text status
    text=$(mktemp)
    "$bundle/tests/gpu" "$@" 2>&1 | tee "$text"
    status=${PIPESTATUS[0]}
    if [ "$status" -eq 0 ] && ! grep -Eq '^test result: ok\. [1-9][0-9]* passed' "$text"; then
        echo 'no test passed'
        status=1
    fi
    rm "$text"
    return "$status"
}

part_device() { nvidia-smi && "$bundle/tilewright" device; }

part_kernels() {
    local kernels
    mapfile -t kernels < <(wanted test "$(all_kernels)")
    [ -n "${TILEWRIGHT_GOES_ON:-}" ] || : >"$work/rows/test"
    [ "${#kernels[@]}" -gt 0 ] || return 0
    TILEWRIGHT_ROWS=$work/rows/test TILEWRIGHT_TESTS=${kernels[*]/#/kernels::} run_tests kernels::
}

part_resources() {
    local status=0 copy kernel
    : >"$work/rows/occupancy"
    export TILEWRIGHT_ROWS=$work/rows/occupancy
    run_tests usage:: || status=1
    run_tests occupancy:: || status=1
    run_tests spilling::refuses || status=1
    for copy in copy_rows_b16 transpose_rows_b32 split_rows_f32; do
        row occupancy "$copy" 'not run' 'it has one size of CTA and no dynamic shared memory; its registers are on record for every architecture' \
            >>"$work/rows/occupancy"
    done
    for kernel in $(all_kernels | grep -E '^(wgmma_)?fp8_'); do
        row occupancy "$kernel" 'not run' 'no plan counts on so many CTAs on an SM' >>"$work/rows/occupancy"
    done
    return "$status"
}

part_library() {
    run_tests --skip kernels:: --skip usage:: --skip occupancy:: --skip spilling:: --skip differential:: --skip corpus:: --skip mutants::
}

# A GPU without these kernels has no such test, which fails.
part_block_scaled() {
    local status=0 tool
    run_tests block_scaled:: || status=1
    for tool in memcheck initcheck synccheck racecheck; do
        TILEWRIGHT_IN_PROCESS=1 timeout -k 5 100 compute-sanitizer --tool "$tool" --error-exitcode 99 --print-limit 5 \
            "$bundle/tests/gpu" block_scaled:: </dev/null || {
            echo "$tool: status $?"
            status=1
        }
    done
    return "$status"
}

part_language() {
    local status=0
    run_tests corpus:: || status=1
    run_tests mutants:: || status=1
    return "$status"
}

# The driver compiles with one core, ptxas with as many as there are. It passes over what an earlier, unfinished run has compiled.
part_differential() {
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d .)
    # shellcheck disable=SC2016  # expanded by the shell that xargs starts
    find "$bundle/differential" -name '*.ptx' | xargs -P "$(nproc)" -I{} bash -c '
        [ -e "${1%.ptx}.cubin" ] || timeout 120 ptxas -arch="sm_$2" -o "${1%.ptx}.cubin" "$1" || echo "ptxas took too long for $1"
        ' differential {} "$capability" || return 1
    TILEWRIGHT_DIFFERENTIAL=$bundle/differential run_tests differential::
}

# The GPUs that processes are spread over: the visible ones, if nobody says which those that are like the first.
gpus() {
    if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
        tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES"
    else
        nvidia-smi --query-gpu=index,name --format=csv,noheader | awk -F', ' 'NR == 1 { name = $2 } $2 == name { print $1 } END { if (!NR) print 0 }'
    fi
}

# Lets this process see one GPU, by the number that xargs gave it.
take_gpu() { # number
    local list
    mapfile -t list < <(gpus)
    export CUDA_VISIBLE_DEVICES=${list[$1 % ${#list[@]}]}
}

# Some kernels under a tool in one process. Where it finds something or comes to no end, each of them alone, so that a row is of one kernel.
watch_one() { # tool, seconds, kernels...
    local tool=$1 seconds=$2 text rows status kernel options=()
    shift 2
    take_gpu "${SLOT:-0}"
    [ "$tool" = memcheck ] && options=(--leak-check full)
    text=$(mktemp) rows=$(mktemp)
    TILEWRIGHT_IN_PROCESS=1 TILEWRIGHT_TESTS=$(printf 'kernels::%s\n' "$@") TILEWRIGHT_CHECK=$tool TILEWRIGHT_ROWS=$rows \
        timeout -k 5 "$seconds" compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode 99 --print-limit 5 \
        "$bundle/tests/gpu" kernels:: >"$text" 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 0 ] && [ "$(grep -c ',passed,' "$rows")" -eq $# ]; then
        cat "$rows" >>"$work/rows/$tool.$$"
    elif [ $# -gt 1 ]; then
        for kernel in "$@"; do watch_one "$tool" "$seconds" "$kernel"; done
    else
        if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
            row "$tool" "$1" 'no end' "it had not ended after $seconds s; $(compute-sanitizer --version | tail -n 1 | tr -d ,)"
        else
            row "$tool" "$1" failed "$(grep -E -m1 '^========= +(Error|Warning|Invalid|Race|Uninit|Barrier|Program|Potential)|^test .*FAILED' "$text" | tr -d , || true)"
        fi >>"$work/rows/$tool.$$"
        head -c 4000 "$text"
    fi
    echo "$tool, status $status: $*"
    rm "$text" "$rows"
}

# A tool over some kernels: so many processes at a time on a GPU, so many kernels each.
watched() { # tool, seconds of a process, processes, kernels of a process, kernels
    local kernels failed processes=$(($3 * $(gpus | wc -l)))
    kernels=$(wanted "$1" "$5")
    # Rows of these kernels that an earlier, unfinished run of the part left.
    for file in "$work/rows/$1".*; do
        [ -e "$file" ] && awk -F, -v kernels="$kernels" '
            BEGIN { count = split(kernels, names, "\n"); for (i = 1; i <= count; i++) again[names[i]] = 1 }
            !($2 in again)' "$file" >"$file.kept" && mv "$file.kept" "$file"
    done
    [ -n "$kernels" ] || return 0
    xargs --process-slot-var=SLOT -P "$processes" -n "$4" bash "$bundle/run.sh" --watch "$1" "$2" <<<"$kernels" || return 1
    failed=$(cat "$work/rows/$1".* | awk -F, '$4 == "failed"' | wc -l)
    echo "$1: $(cat "$work/rows/$1".* | wc -l) kernels, $failed of them failed"
    [ "$failed" -eq 0 ]
}

part_memcheck() { watched memcheck 240 8 5 "$(all_kernels)"; }
part_initcheck() { watched initcheck 240 8 5 "$(all_kernels)"; }
part_synccheck() { watched synccheck 240 8 5 "$(all_kernels)"; }

# The kernels of each part of racecheck, which takes longest by far.
racecheck_kernels() { # part
    case $1 in
    racecheck-simt) all_kernels | grep '^simt_' ;;
    racecheck-mma) all_kernels | grep -E '^(mma_sync|lesson_10)_' ;;
    racecheck-wgmma) all_kernels | grep -E '^(wgmma|lesson_1[1-5])_' ;;
    *) all_kernels | grep -vE '^(simt|mma_sync|wgmma|lesson_1[0-5])_' ;;
    esac
}

# Small shapes, each kernel in a process of its own, as long as a part may take.
racecheck() { # part
    TILEWRIGHT_SHAPES=small watched racecheck "${RACECHECK_LIMIT:-60}" 8 1 "$(racecheck_kernels "$1")"
}

# All at a time: each waits for the tool far more than for the GPU.
part_racecheck_slow() {
    local kernels
    kernels=$(awk -F'\t' -v device="$device" '
        FILENAME ~ /kernels.txt$/ { split($0, word, " "); now[word[1]] = word[2]; next }
        $1 == device && $2 == "no end" && now[$3] == $4 { print $3 }' "$work/kernels.txt" "$bundle/filed.txt")
    TILEWRIGHT_SHAPES=small TILEWRIGHT_EVERY_KERNEL=1 watched racecheck "${RACECHECK_LIMIT:-500}" 32 1 "$kernels"
}

part_racecheck_tiled() { racecheck "$1"; }
part_racecheck_simt() { racecheck "$1"; }
part_racecheck_mma() { racecheck "$1"; }
part_racecheck_wgmma() { racecheck "$1"; }
