#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# valgrind.sh BUILD: each subcommand once on a small checkpoint: no error, nothing leaked.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
status=0
small=$work/small.safetensors
"$build/examples/write_checkpoint" examples/demo/small.txt "$small" || exit 2

check() { # ARGUMENT...
    if valgrind --quiet --error-exitcode=99 --leak-check=full \
        --errors-for-leak-kinds=definite,indirect,possible \
        "$build/netweight" "$@" > "$work/log" 2>&1; then
        echo "ok - netweight $1"
    else
        echo "not ok - netweight $1"
        sed 's/^/#   /' "$work/log"
        status=1
    fi
}

check inspect --tensors "$small"
check plan --dtype fp8_e4m3 "$small"
check load --dtype fp8_e4m3 --digest "$small"
check load --copy always --threads 0 "$small"
check convert --dtype bf16 "$small" "$work/out.safetensors"
check convert --max-shard-size 50000 "$small" "$work/out"
check diff --values --dtype bf16 "$small" "$work/out.safetensors"
check verify "$work/out"
exit $status
