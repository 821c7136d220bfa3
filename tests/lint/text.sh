#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# text.sh [ROOT]: no blanks at line ends, no tabs in C, the licence line in the head of each
# source file, no notes to oneself, files end with a newline.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
status=0

files() {
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build/*' ! -path './.venv/*' | sed 's|^\./||'
    fi | grep -Ev '(^|/)(corpus|data|golden)/|^LICENSE$' | LC_ALL=C sort
}

fail() { # TITLE HITS
    [ -n "$2" ] || return
    echo "$1:"
    printf '%s\n' "$2" | sed 's/^/    /'
    status=1
}

all=$(files | while read -r f; do [ -f "$f" ] && grep -qI . "$f" && echo "$f"; done)
[ -n "$all" ] || { echo "no files"; exit 2; }
c=$(printf '%s\n' "$all" | grep '\.[ch]$')
source=$(printf '%s\n' "$all" | grep -E '(\.(c|h|sh|py|cmake|in)|CMakeLists\.txt|^Makefile|^\.ci/run)$')
tab=$(printf '\t')
# Spelt so that this file does not find itself.
notes='TO''DO|FIX''ME|XX''X|HA''CK'

fail "blanks at the end of a line" "$(printf '%s\n' "$all" | xargs grep -nE '[ '"$tab"']+$' | cut -c1-120)"
fail "tabs in C" "$(printf '%s\n' "$c" | xargs -r grep -n "$tab" | cut -c1-120)"
fail "notes to oneself" "$(printf '%s\n' "$source" | xargs -r grep -nwE "$notes" | cut -c1-120)"
fail "no SPDX line in the first five" "$(printf '%s\n' "$source" | while read -r f; do
    head -n 5 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"
done)"
fail "no newline at the end" "$(printf '%s\n' "$all" | while read -r f; do
    [ -z "$(tail -c 1 "$f")" ] || echo "$f"
done)"
exit $status
