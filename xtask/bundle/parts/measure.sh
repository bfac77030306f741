# shellcheck shell=bash disable=SC2154  # $bundle, $work, $date, $commit, $device and $driver are run.sh's
# Times, and what dispatch makes of them.

# A table of speeds that a part has measured is what later parts choose kernels by.
by_calibration() { [ -e "$work/speed.txt" ] && printf '%s\n' --speeds "$work/speed.txt"; }

# Rows of `tilewright bench`, and its suites.
bench() { # options...
    local speeds
    mapfile -t speeds < <(by_calibration)
    "$bundle/tilewright" bench "$@" ${speeds[@]+"${speeds[@]}"} --out "$work" --commit "$commit" --date "$date" && rm -f "$work"/bench-*.md
}
suite() { bench --suite "$@"; } # name, options...
part_lessons() { suite lessons; }
part_squares() { suite squares; }
part_shapes() { suite shapes; }
part_layouts() { suite layouts; }
part_half() { suite half; }
part_half_shapes() { suite half-shapes; }
part_double() { suite double; }
part_emulated() { suite emulated; }
part_tf32() { suite tf32; }
part_batches() { suite batches; }
part_fp8_speed() { suite fp8; }
part_fp8_choice() { suite fp8-choice; }
part_accuracy() { "$bundle/benches/gpu_accuracy" --out "$work" --commit "$commit" --date "$date"; }
part_twins() {
    local folder status
    folder=$(mktemp -d)
    nvcc -O3 -arch="sm_$(capability)" -cubin -o "$folder/twins.cubin" "$bundle/peers/tiled.cu" && suite twins --twins "$folder/twins.cubin"
    status=$?
    rm -r "$folder"
    return "$status"
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

# Times the register-budget variants, with the counters of one launch of each beside the times.
part_spilling() {
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
    "$bundle/benches/gpu_spilling" "${counted[@]}" --out "$work" --commit "$commit" --date "$date" || status=1
    rm -r "$folder"
    return $status
}

# The planner's model of our kernels, one element type after the other: each keeps the lines of those before.
gpu_pick() { # options...
    local speeds
    mapfile -t speeds < <(by_calibration)
    "$bundle/benches/gpu_pick" ${speeds[@]+"${speeds[@]}"} --commit "$commit" --date "$date" --out "$work" "$@"
}
calibrate() {
    local slug options=()
    slug=$(tr 'A-Z ' 'a-z-' <<<"${device#NVIDIA }")
    # What is asked for by name, without --changed, is timed anew, all of it.
    [ -n "${TILEWRIGHT_EVERY_KERNEL:-}" ] || [ ! -e "$bundle/calibrations/$slug-calibration.json" ] ||
        options=(--keep "$bundle/calibrations/$slug-calibration.json")
    gpu_pick --dtype "${1#*-}" --calibrate --rounds 5 ${options[@]+"${options[@]}"} || return
    mv "$work/calibration.json" "$work/calibration-${1#*-}.json"
    # f16 and bf16 have the same kernels: where $OUT has the times of both, their coefficients are of both.
    if [[ $1 == *f16 && -e $work/calibration-f16.json && -e $work/calibration-bf16.json ]]; then
        gpu_pick --fit "$work"/calibration-{f16,bf16}.json
    fi
}
pick() { gpu_pick --dtype "${1#*-}" && mv "$work/pick.json" "$work/pick-${1#*-}.json"; }
part_calibrate_fp8() { suite fp8-choice && gpu_pick --fit-fp8 "$work/bench-fp8-choice.json"; }
part_calibrate_f32() { calibrate "$1"; }
part_calibrate_f64() { calibrate "$1"; }
part_calibrate_f16() { calibrate "$1"; }
part_calibrate_bf16() { calibrate "$1"; }
random() { bench --random 400 --dtype "${1#*-}" --layout nn,nt,tn,tt && mv "$work/bench-random.json" "$work/bench-$1.json"; }
part_pick_f32() { pick "$1"; }
part_pick_f64() { pick "$1"; }
part_pick_f16() { pick "$1"; }
part_pick_bf16() { pick "$1"; }
part_random_f32() { random "$1"; }
part_random_f64() { random "$1"; }
part_random_f16() { random "$1"; }
part_random_bf16() { random "$1"; }
