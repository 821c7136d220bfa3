#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plain_cc.sh: the line of the README builds the library and the command, with no build system
# and the optional features off, and what it built works.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
status=0

step() { # WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$work/out" 2>&1; then
        echo "ok - $what"
    else
        echo "not ok - $what"
        sed 's/^/#   /' "$work/out"
        status=1
    fi
}

works() {
    "$work/netweight" --version &&
        "$work/write_checkpoint" examples/demo/small.txt "$work/small.safetensors" &&
        "$work/netweight" convert "$work/small.safetensors" "$work/out.safetensors" --dtype bf16 &&
        "$work/netweight" verify "$work/out.safetensors" &&
        "$work/load" "$work/small.safetensors"
}

step "shared library" \
    cc -shared -fPIC -Iinclude -Isrc $(find src -name '*.c') -pthread -o "$work/libnetweight.so"
step "command" cc -Iinclude -Icli cli/*.c "$work/libnetweight.so" -Wl,-rpath,"$work" \
    -pthread -o "$work/netweight"
step "example" cc -Iinclude examples/load.c "$work/libnetweight.so" -Wl,-rpath,"$work" \
    -o "$work/load"
step "writer" cc examples/demo/write_checkpoint.c -o "$work/write_checkpoint"
step "what they built works" works
exit $status
