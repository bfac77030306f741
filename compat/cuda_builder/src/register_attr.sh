#!/bin/sh
# Runs as cargo's RUSTC_WRAPPER: $1 is rustc, the rest are its arguments.
#
# Kernel crates for the published cuda_std begin with `feature(register_attr), register_attr(nvvm_internal)`, which rustc
# refuses (E0557). Such a crate is compiled from a copy of its root without these words, in a folder whose other
# entries are links to the crate's own; every other crate is compiled as it is.
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
if [ -z "$root" ] || ! grep -q register_attr "$root"; then
    exec "$rustc" "$@"
fi

folder=$(cd "$(dirname "$root")" && pwd)
file=$(basename "$root")
shadow=$CUDA_BUILDER_SHADOWS/$name$suffix
rm -rf "$shadow"
mkdir -p "$shadow"
ln -s "$folder"/* "$shadow"
rm "$shadow/$file"
# No line is added or lost, so that messages name the right one.
sed -E -e 's/register_attr[[:space:]]*\([^)]*\)/allow()/g' -e 's/register_attr[[:space:]]*,?//g' "$folder/$file" >"$shadow/$file"

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
