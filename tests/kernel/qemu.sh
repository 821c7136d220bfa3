#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the cast checks on CPUs that are not here: AArch64, and two older x86-64 ones, where an
# instruction that nwi_cpu_detect did not allow would end in SIGILL.
#
#     tests/kernel/qemu.sh [FOLDER]     builds there; a temporary one by default
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-}
passed=0
failed=0

if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"

# build COMPILER NAME
build() {
    "$1" -std=c11 -O2 -static -I"$root/include" -I"$root/src" \
        "$root/tests/kernel/plain/main.c" "$root"/src/tensor/*.c "$root"/src/base/*.c \
        -lm -pthread -o "$folder/$2"
}

# check LABEL LEVELS COMMAND...: the checks pass, with exactly those bits of enum nw_cpu_level
check() {
    label=$1
    levels=$2
    shift 2
    if "$@" > "$folder/log" 2>&1 && grep -q "^cpu mask $levels," "$folder/log"; then
        passed=$((passed + 1))
        echo "ok     $label"
    else
        failed=$((failed + 1))
        echo "FAILED $label"
        cat "$folder/log"
    fi
}

# have TOOL LABEL: the tool is there, else says what is skipped
have() {
    command -v "$1" > /dev/null 2>&1 && return 0
    echo "skip   $2: no $1"
    return 1
}

# run COMPILER NAME EMULATOR CPU LEVELS
run() {
    label="$2 $4"
    have "$1" "$label" && have "$3" "$label" || return 0
    if [ ! -x "$folder/$2" ] && ! build "$1" "$2"; then
        failed=$((failed + 1))
        echo "FAILED $label: does not build"
        return 0
    fi
    check "$label" "$5" "$3" -cpu "$4" "$folder/$2"
}

case $(uname -m) in
x86_64) x86=${CC:-cc} ;;
*) x86=x86_64-linux-gnu-gcc ;;
esac
case $(uname -m) in
aarch64) arm=${CC:-cc} ;;
*) arm=aarch64-linux-gnu-gcc ;;
esac

run "$arm" aarch64 qemu-aarch64 cortex-a57 9
run "$x86" x86_64 qemu-x86_64 Nehalem 1
run "$x86" x86_64 qemu-x86_64 Haswell 3

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
