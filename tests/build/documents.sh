#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# documents.sh BUILD: what the documents say is so. The README's C is that of examples/load.c
# (which is compiled), its commands run, its links lead somewhere; the man pages render without
# a warning and name no function that is not there; the completions are valid scripts.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1
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
skip() {
    echo "ok - $1 # skip $2"
}

block() { # LANGUAGE: the README's blocks of that language
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" README.md | grep -v '^```'
}

readme_code() {
    block c > "$work/readme.c"
    [ -s "$work/readme.c" ] || return
    sed -n '/^static int list_as_fp8/,/^}/p' examples/load.c | diff "$work/readme.c" -
}

# The command lines of the README, on a small model under the names that they use.
readme_commands() {
    root=$(pwd)
    command=$(cd "$build" && pwd)/netweight
    mkdir -p "$work/run/model" "$work/bin" && ln -s "$command" "$work/bin/netweight" || return
    "$build/examples/write_checkpoint" examples/demo/small.txt "$work/run/model.safetensors" ||
        return
    cp "$work/run/model.safetensors" "$work/run/model/"
    cp "$work/run/model.safetensors" "$work/run/a.safetensors"
    cp "$work/run/model.safetensors" "$work/run/b.safetensors"
    small="python3 tests/model/convert.py $command $build/tests/skeleton --make"
    $small sdxl "$work/run/sd_xl_base_1.0.safetensors" || return
    $small flux "$work/run/flux" || return
    cp "$work/run/flux/vae/diffusion_pytorch_model.safetensors" \
        "$work/run/other_vae.safetensors"
    block sh | grep '^netweight ' > "$work/commands"
    [ "$(wc -l < "$work/commands")" -ge 5 ] || return
    while read -r line; do
        echo "$line"
        (cd "$work/run" && PATH=$work/bin:$PATH sh -c "$line") < /dev/null || return
    done < "$work/commands"
}

links() {
    for page in *.md; do
        for target in $(grep -oE '\]\([^)#:]+\)' "$page" | tr -d '])('); do
            [ -e "$target" ] || { echo "$page: $target"; return 1; }
        done
    done
}

names() { # every nw_ function or macro that a document names is in the header
    for page in README.md CONTRIBUTING.md doc/*; do
        for name in $(grep -ohE '\b(nw|NW)_[A-Za-z0-9_]+[A-Za-z0-9]\b' "$page" | sort -u); do
            grep -qE "\b$name" include/netweight.h || { echo "$page: $name"; return 1; }
        done
    done
}

functions() { # libnetweight(3) names every function, in full or as "the same for _file"
    while read -r name; do
        short=${name#nw_checkpoint}
        grep -qw "$name" doc/libnetweight.3.scd ||
            grep -qF "*\\${short%_count}*" doc/libnetweight.3.scd ||
            { echo "not in libnetweight.3: $name"; return 1; }
    done < tests/lint/symbols.txt
}

man_page() {
    man --warnings -l -E UTF-8 "$1" > "$work/page" 2> "$work/warnings"
    cat "$work/warnings"
    [ -s "$work/page" ] && [ ! -s "$work/warnings" ]
}

step "README: the C code is examples/load.c" readme_code
step "README: the commands run" readme_commands
step "the families" python3 scripts/family_table.py "$build/netweight" --check
step "links" links
step "names of the library" names
if [ -f doc/libnetweight.3.scd ]; then
    step "libnetweight(3) has every function" functions
fi
for page in netweight.1 libnetweight.3; do
    if ! [ -f "$build/$page" ]; then
        skip "$page" "no scdoc"
    elif ! man --version > /dev/null 2>&1; then
        skip "$page" "no man"
    else
        step "$page" man_page "$build/$page"
    fi
done
for shell in bash zsh fish; do
    if command -v $shell > /dev/null; then
        step "completion for $shell" $shell -n "$build/completion.$shell"
    else
        skip "completion for $shell" "no $shell"
    fi
done
exit $status
