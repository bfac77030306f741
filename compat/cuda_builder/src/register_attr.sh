#!/bin/sh
# Runs as cargo's RUSTC_WRAPPER: $1 is rustc, the rest are its arguments.
#
# Kernel crates for the published cuda_std begin with `feature(register_attr), register_attr(nvvm_internal)`, which
# rustc refuses (E0557). Such a crate is compiled from copies of the files that name it, without these words, in a
# folder whose other entries are links to the crate's own; every other crate is compiled as it is.
# CUDA_BUILDER_REGISTERING lists the files, a line each.
set -eu
rustc=$1
shift

root='' name='' suffix='' out='' previous=''
for argument do
    case $previous in
    --crate-name) name=$argument ;;
    --out-dir) out=$argument ;;
    esac
    case $argument in
    *.rs) root=$argument ;;
    extra-filename=*) suffix=${argument#extra-filename=} ;;
    esac
    previous=$argument
done
if [ -z "$root" ] || [ "$name" = build_script_build ]; then
    exec "$rustc" "$@"
fi

folder=$(cd "$(dirname "$root")" && pwd -P)
file=$(basename "$root")
shadow=$CUDA_BUILDER_SHADOWS/$name$suffix
copied=''
while IFS= read -r path; do
    case $path in
    "$folder"/*) ;;
    *) continue ;;
    esac
    rest=${path#"$folder"/}
    if [ -z "$copied" ]; then
        copied=yes
        rm -rf "$shadow"
        mkdir -p "$shadow"
        ln -s "$folder"/* "$shadow"
    fi
    # The folders on the way to the file become folders of links.
    at=''
    while [ "$rest" != "${rest#*/}" ]; do
        at=$at${rest%%/*}
        rest=${rest#*/}
        if [ -L "$shadow/$at" ]; then
            rm "$shadow/$at"
            mkdir "$shadow/$at"
            ln -s "$folder/$at"/* "$shadow/$at"
        fi
        at=$at/
    done
    rm "$shadow/$at$rest"
    # No line is added or lost, so that messages name the right one.
    sed -E -e 's/register_attr[[:space:]]*\([^)]*\)/allow()/g' -e 's/register_attr[[:space:]]*,?//g' \
        "$path" >"$shadow/$at$rest"
done <<LIST
$CUDA_BUILDER_REGISTERING
LIST
if [ -z "$copied" ]; then
    exec "$rustc" "$@"
fi

# The same arguments with the copy in the root's place.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    if [ "$argument" = "$root" ]; then argument=$shadow/$file; fi
    set -- "$@" "$argument"
    count=$((count - 1))
done
"$rustc" "$@" "--remap-path-prefix=$shadow=$(dirname "$root")"

# Cargo is to watch the crate's own files, not the copies.
if [ -f "$out/$name$suffix.d" ]; then
    sed "s#$shadow/#$folder/#g" "$out/$name$suffix.d" >"$shadow.d"
    mv "$shadow.d" "$out/$name$suffix.d"
fi
