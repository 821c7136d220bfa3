#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header.sh: netweight.h compiles alone, with every compiler that is there, as C11 and as C++,
# without a warning.
set -u
cd "$(dirname "$0")/../.." || exit 2
status=0

try() { # COMPILER LANGUAGE STANDARD
    command -v "$1" > /dev/null || return
    if echo '#include <netweight.h>' |
        "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -; then
        echo "ok - $1 -std=$3"
    else
        echo "not ok - $1 -std=$3"
        status=1
    fi
}

for compiler in gcc clang; do
    for standard in c11 c17 gnu2x; do
        try $compiler c $standard
    done
done
for compiler in g++ clang++; do
    for standard in c++11 c++20; do
        try $compiler c++ $standard
    done
done
exit $status
