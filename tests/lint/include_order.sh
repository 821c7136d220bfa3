#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# include_order.sh [ROOT]: each folder of src/ includes only itself and what stands above it in
# the design; rows of one table never include each other; the public header stands alone; the
# command uses the public header only; system calls stay in src/base and src/run.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
order='base tensor source model layout plan run'
status=0

fail() {
    echo "$1"
    status=1
}

# Prints what a file includes, one a line: "x" or <x>.
includes() {
    sed -nE 's/^[ \t]*#[ \t]*include[ \t]*(["<][^">]*[">]).*/\1/p' "$1"
}

rank() {
    n=0
    for folder in $order; do
        n=$((n + 1))
        [ "$folder" = "$1" ] && { echo $n; return; }
    done
    echo 0
}

# Files that define a row: `const struct nwi_format nwi_format_gguf = {` in source/gguf.c. Its
# name is the file's, and nobody but the table may know it.
is_row() {
    grep -qE '^const struct nwi_[a-z0-9_]+ nwi_[a-z0-9_]+ = \{' "$1"
}

for file in $(find src -name '*.[ch]' | LC_ALL=C sort); do
    folder=$(echo "$file" | cut -d/ -f2)
    own=$(rank "$folder")
    case $file in
    src/*/*) [ "$own" -gt 0 ] || fail "$file: src/$folder is no folder of the design" ;;
    *) own=99 ;; # the public entry points may include everything
    esac
    for text in $(includes "$file"); do
        name=$(echo "$text" | tr -d '"<>')
        case $text in
        *.c?) fail "$file: includes $text" ;;
        '"netweight.h"' | '<netweight.h>') ;;
        '"'*/*'"')
            other=$(rank "${name%%/*}")
            [ -f "src/$name" ] || fail "$file: $text is not in src/"
            [ "$other" -gt 0 ] && [ "$other" -le "$own" ] ||
                fail "$file: src/$folder may not include $text"
            row=src/${name%.h}.c
            [ "$row" != "$file" ] && [ -f "$row" ] && [ "${row%/*}" = "${file%/*}" ] &&
                is_row "$row" && is_row "$file" &&
                fail "$file: a row of a table includes another row, $text"
            ;;
        '"'*) fail "$file: $text needs its folder, as in \"$folder/...\"" ;;
        '<sys/'* | '<unistd.h>' | '<fcntl.h>' | '<pthread.h>' | '<linux/'* | '<dirent.h>' | '<liburing.h>')
            case $folder in
            base | run) ;;
            *) fail "$file: $text belongs into src/base or src/run" ;;
            esac
            ;;
        esac
    done
done

for file in $(find cli -name '*.[ch]' 2> /dev/null | LC_ALL=C sort); do
    for text in $(includes "$file"); do
        name=$(echo "$text" | tr -d '"<>')
        case $text in
        '<netweight.h>' | '"netweight.h"') ;;
        '"'*) [ -f "cli/${name#cli/}" ] || fail "$file: $text is neither cli/ nor netweight.h" ;;
        *) ;;
        esac
    done
done

for text in $(includes include/netweight.h); do
    case $text in
    '<stddef.h>' | '<stdint.h>') ;;
    *) fail "include/netweight.h: includes $text" ;;
    esac
done
exit $status
