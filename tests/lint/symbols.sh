#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIB.so LIB.a [LIST]: the shared library exports exactly the names of LIST (one a
# line, sorted; by default symbols.txt beside this script), all of them nw_; global names of
# the archive are nw_ or nwi_.
set -u
list=${3:-$(dirname "$0")/symbols.txt}
status=0

fail() {
    printf '%s\n' "$1"
    printf '%s\n' "$2" | sed 's/^/    /'
    status=1
}

exported=$(nm -D --defined-only --extern-only "$1" | awk '{ print $3 }' | LC_ALL=C sort) || exit 2
[ -n "$exported" ] || { echo "$1 exports nothing"; exit 1; }

foreign=$(printf '%s\n' "$exported" | grep -v '^nw_')
[ -z "$foreign" ] || fail "exported, but not nw_*:" "$foreign"

difference=$(printf '%s\n' "$exported" | diff "$list" -)
[ -z "$difference" ] || fail "exports differ from $list (< expected, > exported):" "$difference"

foreign=$(nm --defined-only --extern-only "$2" | awk 'NF == 3 { print $3 }' | grep -Ev '^nwi?_')
[ -z "$foreign" ] || fail "global in the archive, but neither nw_* nor nwi_*:" "$foreign"
exit $status
