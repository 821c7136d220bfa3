#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# size.sh LIB.so [LIMIT]: the shared library, stripped, has at most LIMIT bytes (1 MB).
set -u
limit=${2:-1000000}
copy=$(mktemp) || exit 2
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$1" || exit 2
size=$(wc -c < "$copy")
echo "$size bytes stripped, $limit allowed"
[ "$size" -le "$limit" ]
