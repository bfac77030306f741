#!/usr/bin/env bash
# Runs the bundle's tests, sanitizers and benchmark on a machine with an NVIDIA GPU and the CUDA toolkit (no Rust needed).
#
#   run.sh [STEP...]        steps: device test sanitize mutants wavefronts banks pick spilling ladder squares shapes layouts half
#                           half-shapes half-ladder twins, all of
#                           them when none is named; calibrate
#
# TEST_FILTER, SANITIZE_FILTER: parts of the names of the tests to run. DTYPE: the only element type to calibrate and to pick for.
# A calibration in $OUT is what later steps choose kernels by.
#
# A failed step does not stop the later ones; a table at the end says how each went, and the exit status is 1 if one failed.
# Results go to $OUT (default: ./results): run.md and run.json, those of the benchmarks, mutants.txt and wavefronts.txt, and the whole
# log in log.txt. `cargo xtask results DIR` files them under docs/results/.
set -uo pipefail

bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
log=$out/log.txt
: >"$log"

# What runs under compute-sanitizer: every entry point over its shapes. The other tests provoke errors, which it would report.
sanitize_filter=${SANITIZE_FILTER:-kernels::}

say() { printf '\n== %s ==\n' "$*"; }

device() {
    nvidia-smi || return 1
    "$bundle/tilewright" device
}

# The test programs count a test that finds no GPU as skipped. Here there is one: a program that passed nothing has failed.
run_tests() { # command...
    local text status
    text=$(mktemp)
    "$@" 2>&1 | tee "$text"
    status=${PIPESTATUS[0]}
    if [ "$status" -eq 0 ] && ! grep -Eq '^test result: ok\. [1-9][0-9]* passed' "$text"; then
        echo "no test passed"
        status=1
    fi
    rm "$text"
    return "$status"
}

# The driver compiles a whole module with one core; ptxas compiles a kernel at a time, with as many as there are.
differential_machine_code() {
    local folder capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d .)
    for folder in "$bundle"/differential/*/; do
        [ -e "$folder/programs.ptx.gz" ] && gunzip -f "$folder/programs.ptx.gz"
        cut -d' ' -f1 "$folder/kernels.txt" | xargs -P "$(nproc)" -I{} sh -c \
            "[ -e '$folder/{}.cubin' ] || timeout 120 ptxas -arch=sm_$capability -e {} -o '$folder/{}.cubin' '$folder/programs.ptx' ||
                echo 'ptxas took too long for {}'" || return 1
    done
}
export TILEWRIGHT_DIFFERENTIAL=$bundle/differential

test_() { differential_machine_code && run_tests "$bundle/tests/gpu" ${TEST_FILTER:-}; }

sanitize() { # tool options...
    local tool=$1
    shift
    run_tests compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" \
        "$bundle/tests/gpu" --test-threads 1 "$sanitize_filter"
}

memcheck() { sanitize memcheck --leak-check full; }
racecheck() { sanitize racecheck; }
initcheck() { sanitize initcheck; }
synccheck() { sanitize synccheck; }

# One mutant in a process of its own, under a tool or alone. Its output goes to a file below the line `== MUTANT TOOL STATUS`.
mutant() { # folder, seconds, mutant, tool
    local file=$1/$3.$4 command=("$bundle/tests/gpu") status
    if [ "$4" != alone ]; then
        command=(compute-sanitizer --tool "$4" --error-exitcode 99 --print-limit 3 "${command[@]}")
    fi
    TILEWRIGHT_MUTANT=$3 timeout -k 5 "$2" "${command[@]}" >"$file.out" 2>&1 </dev/null
    status=$?
    { printf '== %s %s %s\n' "$3" "$4" "$status" && head -c 4000 "$file.out" && echo; } >"$file"
    rm "$file.out"
}
export -f mutant
export bundle

mutants() {
    local folder id ends tool
    local tools=(alone memcheck racecheck initcheck synccheck)
    folder=$(mktemp -d)
    TILEWRIGHT_MUTANT=list "$bundle/tests/gpu" >"$folder/list" || return 1
    # One process compiles the PTX into the driver's cache; the others find it there.
    TILEWRIGHT_MUTANT=reverse_static_original "$bundle/tests/gpu" || return 1
    # Eight at a time; then, alone, those that never end and hold the GPU until their time is up.
    while read -r id ends; do
        [ "$ends" = runs ] && for tool in "${tools[@]}"; do printf '%s\n%s\n' "$id" "$tool"; done
    done <"$folder/list" | xargs -n 2 -P 8 bash -c 'mutant "$@"' mutant "$folder" 30
    while read -r id ends; do
        [ "$ends" = hangs ] && for tool in "${tools[@]}"; do mutant "$folder" 10 "$id" "$tool"; done
    done <"$folder/list"
    while read -r id ends; do
        for tool in "${tools[@]}"; do cat "$folder/$id.$tool"; done
    done <"$folder/list" >"$out/mutants.txt"
    rm -r "$folder"
    grep -c '^== ' "$out/mutants.txt"
    # What is known to be right must be right and give no cause for a report.
    ! grep -E '^== [a-z0-9_]+_original [a-z]+ [1-9]' "$out/mutants.txt"
}

counters=(
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
    smsp__inst_executed_op_shared_ld.sum
    smsp__inst_executed_op_shared_st.sum
    l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
    l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
    l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
    l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
)

# Counts the accesses of the launches that the simulator counts too, and which instructions their machine code has.
wavefronts() {
    local folder name
    folder=$(mktemp -d)
    TILEWRIGHT_COUNTED=launch ncu --clock-control none --csv --print-units base \
        --metrics "$(IFS=,; echo "${counters[*]}")" --log-file "$folder/counters" "$bundle/tests/gpu" || {
        cat "$folder/counters"
        return 1
    }
    TILEWRIGHT_COUNTED=ptx=$folder "$bundle/tests/gpu" || return 1
    for name in rungs mutants; do
        ptxas -arch=sm_90 -o "$folder/$name.cubin" "$folder/$name.ptx" || return 1
        cuobjdump -sass "$folder/$name.cubin" >>"$folder/sass" || return 1
    done
    {
        cat "$folder/counters"
        echo '== sass'
        awk '/Function :/ { kernel = $3 }
            match($0, /(LDS|STS|LDG|STG)[.A-Z0-9]*/) && /^[ \t]*\/\*/ { count[kernel " " substr($0, RSTART, RLENGTH)]++ }
            END { for (key in count) print key, count[key] }' "$folder/sass" | sort
    } >"$out/wavefronts.txt"
    rm -r "$folder"
    grep -c '^"[0-9]' "$out/wavefronts.txt"
}

# Wavefronts of single instructions, pattern by pattern: what sim/src/analysis/banks.rs is made from.
banks() {
    local folder
    folder=$(mktemp -d)
    nvcc -O3 -arch=sm_90 -o "$folder/banks" "$bundle/peers/banks.cu" || return 1
    ncu --clock-control none --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared.sum \
        --log-file "$folder/counters" "$folder/banks" >"$folder/patterns" || return 1
    grep -v '^==' "$folder/patterns" >"$folder/rows"
    {
        printf '# Wavefronts of one instruction of a warp\n\n%s, driver %s. Commit: %s. %s.\n' \
            "$device_name" "$driver" "$commit" "$date"
        printf '`n` is the lane; the last column is what `ncu` counts.\n\n'
        printf '| access | bytes a lane | active lanes | address | wavefronts |\n|---|---:|---|---|---:|\n'
        paste -d '|' "$folder/rows" <(grep '^"[0-9]' "$folder/counters" | sed 's/.*,"\([0-9.]*\)"$/\1/') |
            sed 's/^\([a-z]*\) \([0-9]*\) \([0-9a-f]*\) \(.*\)|\(.*\)$/| \1 | \2 | \3 | `\4` | \5 |/'
    } >"$out/banks.md"
    rm -r "$folder"
    grep -c '^| [las]' "$out/banks.md"
}

# Suites of `tilewright bench`.
suite() { # name, options...
    "$bundle/tilewright" bench --suite "$@" $(by_calibration) --out "$out" --commit "$commit" --date "$date"
}
by_calibration() { [ -e "$out/speed.txt" ] && echo --speeds "$out/speed.txt"; }
ladder() { suite ladder; }
squares() { suite squares; }
shapes() { suite shapes; }
layouts() { suite layouts; }
half() { suite half; }
half-shapes() { suite half-shapes; }
half-ladder() { suite half-ladder; }
twins() {
    local cubin
    cubin=$(mktemp)
    nvcc -O3 -arch=sm_90 -cubin -o "$cubin" "$bundle/peers/tiled.cu" && suite twins --twins "$cubin"
}

# What spilled registers do to the caches; the last four are why warps wait.
spilling_counters=(
    gpu__time_duration.sum
    sm__warps_active.avg.pct_of_peak_sustained_active
    smsp__inst_executed.sum
    smsp__inst_executed_op_local_ld.sum
    smsp__inst_executed_op_local_st.sum
    smsp__inst_executed_op_shared_ld.sum
    smsp__inst_executed_op_shared_st.sum
    l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum
    l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum
    l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum
    lts__t_sectors_srcunit_tex.sum
    lts__t_sectors_srcunit_tex_lookup_miss.sum
    dram__bytes_read.sum
    dram__bytes_write.sum
    smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
    smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio
    smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio
    smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio
)

# Times the twins that spill, with the counters of one launch of each beside the times.
spilling() {
    local folder counter known=() counted=() status=0
    folder=$(mktemp -d)
    # A name that ncu does not know would cost all the others.
    ncu --query-metrics >"$folder/names" 2>/dev/null
    for counter in "${spilling_counters[@]}"; do
        if grep -qw "${counter%%.*}" "$folder/names"; then
            known+=("$counter")
        else
            echo "ncu does not know $counter"
        fi
    done
    if ncu --clock-control none --csv --print-units base --metrics "$(IFS=,; echo "${known[*]}")" \
        --log-file "$folder/counters" "$bundle/benches/gpu_spilling" --once; then
        counted=(--counters "$folder/counters")
    else
        cat "$folder/counters"
        status=1
    fi
    "$bundle/benches/gpu_spilling" "${counted[@]}" --out "$out" --commit "$commit" --date "$date" || status=1
    rm -r "$folder"
    return $status
}

# Fits the planner's model of our kernels to this device; how good its choice is.
gpu_pick() { "$bundle/benches/gpu_pick" ${DTYPE:+--dtype "$DTYPE"} --out "$out" "$@"; }
calibrate() { gpu_pick --calibrate; }
pick() { gpu_pick $(by_calibration) --commit "$commit" --date "$date"; }

steps=()
for step in "${@:-all}"; do
    case $step in
    all) steps+=(device test_ memcheck racecheck initcheck synccheck mutants wavefronts banks pick spilling ladder squares shapes layouts half half-shapes half-ladder twins) ;;
    test) steps+=(test_) ;;
    sanitize) steps+=(memcheck racecheck initcheck synccheck) ;;
    device | memcheck | racecheck | initcheck | synccheck | mutants | wavefronts | banks | spilling | ladder | squares | shapes | \
        layouts | half | half-shapes | half-ladder | twins | calibrate | pick) steps+=("$step") ;;
    *)
        echo "unknown step '$step'; known: device test sanitize mutants wavefronts banks pick spilling ladder squares shapes layouts half half-shapes half-ladder twins calibrate" >&2
        exit 2
        ;;
    esac
done

IFS=, read -r device_name driver < <(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader -i 0 2>/dev/null)
device_name=${device_name:-none}
driver=${driver# }
commit=$(cat "$bundle/COMMIT")
date=$(date -u +%F)
about="\"date\": \"$date\", \"device\": \"$device_name\", \"driver\": \"${driver:-none}\", \"commit\": \"$commit\""

rows_md='' rows_json='' failed=0
for step in "${steps[@]}"; do
    name=${step%_}
    say "$name" | tee -a "$log"
    begin=$SECONDS
    before=$(wc -l <"$log")
    "$step" 2>&1 | tee -a "$log"
    status=${PIPESTATUS[0]}
    seconds=$((SECONDS - begin))
    # The line that sums the step up: a test program's, or the sanitizer's.
    summary=$(tail -n "+$((before + 1))" "$log" | grep -aE '^test result:|SUMMARY:' | sed 's/^=* *//' |
        awk 'NR > 1 { printf "; " } { printf "%s", $0 }')
    [ "$status" -eq 0 ] || failed=1
    rows_md+="| $name | $status | $seconds | $summary |"$'\n'
    rows_json+="${rows_json:+, }{\"step\": \"$name\", \"exit\": $status, \"seconds\": $seconds, \"summary\": \"$summary\"}"
done

report=run${*:+-$*}
report=${report// /-}
printf '{%s}\n' "$about" >"$out/about.json"
printf '{%s, "steps": [%s]}\n' "$about" "$rows_json" >"$out/$report.json"
{
    printf '# Run of %s\n\nDevice: %s, driver %s. Commit: %s.\n\n' "$date" "$device_name" "${driver:-none}" "$commit"
    printf '| step | exit status | seconds | summary |\n|---|---|---|---|\n%s' "$rows_md"
} >"$out/$report.md"

say "steps" | tee -a "$log"
tail -n +5 "$out/$report.md"
exit $failed
