#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD: a checkpoint, inspected, planned, loaded as fp8 and converted. MODEL in the
# environment (a file or a folder) replaces the one that is written here.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
build=$1
out=build/demo
netweight=$build/netweight
model=${MODEL:-}
mkdir -p "$out"

bold= plain=
if [ -t 1 ]; then
    bold=$'\e[1m' plain=$'\e[0m'
fi
heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Shows a command as one would type it, runs it, and keeps what it prints.
show() { # NAME COMMAND...
    local name=$1
    shift
    printf '$ netweight %s\n\n' "$*"
    "$netweight" "$@" | tee "$out/$name.txt" || exit
}
field() { # NAME LABEL: the value of a line of what was printed
    sed -nE "s/^ *$2  +//p" "$out/$1.txt" | head -n 1
}

if [ -z "$model" ]; then
    model=$out/sd15_vae.safetensors
    heading "A checkpoint with the names, shapes and types of Stable Diffusion 1.5's autoencoder"
    echo "(its values are made up; MODEL=FILE takes one of yours)"
    "$build/examples/write_checkpoint" examples/demo/sd15_vae.txt "$model" || exit
fi

heading "1. What is it? Only headers are read."
show inspect inspect "$model"

heading "2. What would a load as fp8 do and need? Still only headers."
show plan plan "$model" --dtype fp8_e4m3

heading "3. Load it as fp8."
show load load "$model" --dtype fp8_e4m3

heading "4. Convert it to a file, in memory that does not depend on its size."
result=$out/fp8
[ -d "$model" ] || result=$result.safetensors
rm -rf "$result"
show convert convert "$model" "$result" --dtype fp8_e4m3

heading "Memory, predicted from the headers and then measured"
for step in load convert; do
    printf '%-9s%s\n' "$step" "$(field $step peak)"
    printf '%-9s%s\n' "" "whole process: $(field $step resident)"
done
echo
echo "The result is $result; netweight inspect and netweight verify take it."
