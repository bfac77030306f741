# shellcheck shell=bash disable=SC2154  # $bundle, $work, $date, $commit, $device and $driver are run.sh's
# shellcheck disable=SC2016  # Markdown
# What a GPU and NVIDIA's tools say of what the simulator predicts.

# The compute capability as NVIDIA's compilers name it, such as 90.
capability() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d .; }

# One mutant in a process of its own, under a tool or alone. Its output goes to a file below the line `== MUTANT TOOL STATUS`.
# An earlier, unfinished run of the part has left some of these files.
mutant() { # folder, seconds, mutant, tool
    local file=$1/$3.$4 command=("$bundle/tests/gpu") status
    [ ! -e "$file" ] || return 0
    take_gpu "${SLOT:-0}"
    if [ "$4" != alone ]; then
        command=(compute-sanitizer --tool "$4" --error-exitcode 99 --print-limit 3 "${command[@]}")
    fi
    TILEWRIGHT_MUTANT=$3 timeout -k 5 "$2" "${command[@]}" >"$file.out" 2>&1 </dev/null
    status=$?
    { printf '== %s %s %s\n' "$3" "$4" "$status" && head -c 4000 "$file.out" && echo; } >"$file.new"
    rm "$file.out" && mv "$file.new" "$file"
}
export -f mutant take_gpu gpus
export bundle

# Those that have no filed result at their digest.
unfiled_mutants() {
    awk -F'\t' -v device="$device" '
        FILENAME ~ /digests.txt$/ { split($0, word, " "); if (word[1] ~ /^mutant:/) now[word[1]] = word[3]; next }
        $1 == device && $2 == "mutants" && now[$3] == $4 { delete now[$3] }
        END { for (name in now) print substr(name, length("mutant:") + 1) }' "$bundle/digests.txt" "$bundle/filed.txt"
}

# Each mutant's output stays in a file of its own: `cargo xtask results` files those that all tools have run, at the end or before.
part_mutants() {
    local folder=$work/mutants id ends tool limit
    local tools=(alone memcheck racecheck initcheck synccheck)
    [ ! -e "$folder/ended" ] || rm -r "$folder"
    mkdir -p "$folder"
    TILEWRIGHT_MUTANT=list "$bundle/tests/gpu" >"$folder/all" || return 1
    if [ -n "${TILEWRIGHT_EVERY_KERNEL:-}" ]; then
        cp "$folder/all" "$folder/list"
    else
        awk 'FILENAME == "-" { wanted[$1] = 1; next } $1 in wanted' - "$folder/all" <<<"$(unfiled_mutants)" >"$folder/list"
    fi
    # First those that end, then those that never end: they share the GPU with one another until their time is up.
    for limit in runs:60 hangs:20; do
        while read -r id ends; do
            [ "$ends" = "${limit%:*}" ] && for tool in "${tools[@]}"; do printf '%s\n%s\n' "$id" "$tool"; done
        done <"$folder/list" | xargs -r --process-slot-var=SLOT -n 2 -P $((14 * $(gpus | wc -l))) bash -c 'mutant "$@"' mutant "$folder" "${limit#*:}"
    done
    touch "$folder/ended"
    find "$folder" -name '*.*' | wc -l
    # What is known to be right must be right. What a tool reports of it needs a reason where it is filed.
    ! grep -hE '^== [a-z0-9_]+_original alone [1-9]' "$folder"/*_original.alone
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

# Those of asynchronous instructions, matrix loads and tensor cores. Their names differ between chips and versions of ncu.
optional_counters=(
    smsp__inst_executed_op_ldgsts
    smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts
    smsp__sass_data_bytes_mem_shared_op_ldgsts
    l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts
    smsp__sass_inst_executed_op_ldsm
    smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm
    smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm
    smsp__sass_inst_executed_op_stsm
    smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm
    smsp__inst_executed_op_tma_ld
    l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld
    l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld
    l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st
    l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st
    smsp__inst_executed_pipe_tensor_op_gmma
)

# The optional counters that ncu has for this GPU. Beside the results remain the names of all that may be of use.
known_counters() {
    ncu --query-metrics | awk '/^(l1tex|smsp|sm|lts)__/ { print $1 }' | sort -u >"$work/ncu-counters.txt"
    printf '%s\n' "${optional_counters[@]}" | grep -Fx -f "$work/ncu-counters.txt" | sed 's/$/.sum/'
    grep -E 'tma|gmma|ldgsts|ldsm|stsm|bulk' "$work/ncu-counters.txt" >"$work/ncu-asynchronous.txt"
    rm "$work/ncu-counters.txt"
}

# Counts the accesses of the launches that the simulator counts too, and which instructions their machine code has.
part_wavefronts() {
    local folder name arch wanted=("${counters[@]}")
    folder=$(mktemp -d)
    mapfile -t -O "${#wanted[@]}" wanted < <(known_counters)
    TILEWRIGHT_COUNTED=launch ncu --clock-control none --csv --print-units base \
        --metrics "$(IFS=,; echo "${wanted[*]}")" --log-file "$folder/counters" "$bundle/tests/gpu" || {
        cat "$folder/counters"
        return 1
    }
    TILEWRIGHT_COUNTED=ptx=$folder "$bundle/tests/gpu" || return 1
    for name in families specific mutants; do
        # Only the entry points that are launched: all mutants together take minutes.
        [ -s "$folder/$name.entries" ] || continue
        arch=sm_$(capability)
        [ "$name" != specific ] || arch+=a
        ptxas -arch="$arch" --entry "$(cat "$folder/$name.entries")" -o "$folder/$name.cubin" \
            "$folder/$name.ptx" || return 1
        cuobjdump -sass "$folder/$name.cubin" >>"$folder/sass" || return 1
    done
    {
        cat "$folder/counters"
        echo '== sass'
        awk '/Function :/ { kernel = $3 }
            match($0, /(LDS|STS|LDG|STG|UTMALDG|UTMASTG|UBLKCP|HGMMA|HMMA)[.A-Z0-9]*/) && /^[ \t]*\/\*/ { count[kernel " " substr($0, RSTART, RLENGTH)]++ }
            END { for (key in count) print key, count[key] }' "$folder/sass" | sort
    } >"$work/wavefronts.txt"
    rm -r "$folder"
    grep -c '^"[0-9]' "$work/wavefronts.txt"
}

# Wavefronts of single instructions, pattern by pattern: what sim/src/analysis/banks.rs is made from.
part_banks() {
    local folder
    folder=$(mktemp -d)
    nvcc -O3 -arch="sm_$(capability)" -o "$folder/banks" "$bundle/peers/banks.cu" || return 1
    ncu --clock-control none --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared.sum \
        --log-file "$folder/counters" "$folder/banks" >"$folder/patterns" || return 1
    grep -v '^==' "$folder/patterns" >"$folder/rows"
    {
        printf '# Wavefronts of one instruction of a warp\n\n%s, driver %s. Commit: %s. %s.\n' \
            "$device" "$driver" "$commit" "$date"
        printf '`n` is the lane; the last column is what `ncu` counts.\n\n'
        printf '| access | bytes a lane | active lanes | address | wavefronts |\n|---|---:|---|---|---:|\n'
        paste -d '|' "$folder/rows" <(grep '^"[0-9]' "$folder/counters" | sed 's/.*,"\([0-9.]*\)"$/\1/') |
            sed 's/^\([a-z]*\) \([0-9]*\) \([0-9a-f]*\) \(.*\)|\(.*\)$/| \1 | \2 | \3 | `\4` | \5 |/'
    } >"$work/banks.md"
    rm -r "$folder"
    grep -c '^| [las]' "$work/banks.md"
}
