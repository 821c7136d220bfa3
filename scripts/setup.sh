#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh build|test|bench: installs what is missing on Debian 12, Ubuntu 24.04 or newer, and
# only that. Without the right to install it prints the command and stops. Python packages go
# into .venv, and only where the comparison with them is wanted (CI or PARITY=1).
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

missing=()  # without these nothing works
optional=() # without these something is skipped, and says so

have() { command -v "$1" > /dev/null 2>&1; }
need() { # PACKAGE PROBE...
    local package=$1
    shift
    "$@" > /dev/null 2>&1 || missing+=("$package")
}
want() {
    local package=$1
    shift
    "$@" > /dev/null 2>&1 || optional+=("$package")
}

header() { echo "#include <$1>" | cc -E -x c - ; }
links() { echo 'int main(void){return 0;}' | clang "$1" -x c - -o build/setup-probe; }

# clang's runtime is a package of its own, named after the version that apt would install.
clang_runtime() {
    local major
    major=$(clang -dumpversion 2> /dev/null | cut -d. -f1)
    [ -n "$major" ] || major=$(apt-cache depends clang 2> /dev/null |
        sed -nE 's/.*Depends: clang-([0-9]+)$/\1/p' | head -n 1)
    echo "libclang-rt-${major:-14}-dev"
}

find_missing() {
    missing=()
    optional=()
    need gcc have gcc
    need libc6-dev header stdlib.h
    need cmake have cmake
    need ninja-build have ninja
    need pkg-config have pkg-config
    want liburing-dev header liburing.h
    want libssl-dev header openssl/evp.h
    want libyaml-dev header yaml.h
    [ "$1" = build ] && return
    want scdoc have scdoc
    need python3 have python3
    if [ "$1" = bench ]; then
        need python3-venv python3 -c 'import ensurepip, venv'
        want fio have fio
        return
    fi
    need libcmocka-dev header_cmocka
    need clang have clang
    need clang-format have clang-format
    need clang-tidy have clang-tidy
    need "$(clang_runtime)" links -fsanitize=address,undefined,fuzzer-no-link
    need cppcheck have cppcheck
    need binutils have nm
    need git have git
    want valgrind have valgrind
    want qemu-user have qemu-x86_64
    if [ "$(uname -m)" != aarch64 ]; then
        want gcc-aarch64-linux-gnu have aarch64-linux-gnu-gcc
        want libc6-dev-arm64-cross cross_header stdint.h
    fi
    if [ -n "$comparing" ]; then
        need python3-venv python3 -c 'import ensurepip, venv'
        want zsh have zsh
        want fish have fish
        want man-db have man
    fi
}
cross_header() { echo "#include <$1>" | aarch64-linux-gnu-gcc -E -x c -; }
header_cmocka() {
    printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h cmocka.h | cc -E -x c -
}

# How packages can be installed here: as root, through sudo, or not at all.
rights() {
    have apt-get || { echo none; return; }
    [ "$(id -u)" = 0 ] && { echo root; return; }
    have sudo && { sudo -n true 2> /dev/null || [ -t 0 ]; } && { echo sudo; return; }
    echo none
}

install() { # PACKAGE...
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    [ "$rights" = sudo ] && apt=(sudo "${apt[@]}")
    echo "Installing: $*"
    if [ -z "$updated" ]; then
        "${apt[@]}" update >> "$log" 2>&1
        updated=1
    fi
    "${apt[@]}" install -y --no-install-recommends "$@" >> "$log" 2>&1
}

install_missing() {
    local package
    if [ "$rights" = none ]; then
        [ ${#missing[@]} -gt 0 ] || return 0
        printf 'Packages are missing. Run this, then try again:\n\n'
        printf '    sudo apt-get install -y --no-install-recommends %s\n\n' \
            "${missing[*]} ${optional[*]}"
        exit 1
    fi
    [ ${#missing[@]} -eq 0 ] || install "${missing[@]}" || {
        tail -n 20 "$log"
        exit 1
    }
    # One by one: a package that this release does not have keeps no other away.
    for package in "${optional[@]}"; do
        install "$package" || echo "not to be had here: $package"
    done
}

python_packages() { # REQUIREMENTS
    local stamp=.venv/${1##*/}
    [ -x .venv/bin/python ] || python3 -m venv .venv || return
    cmp -s "$1" "$stamp" && return
    echo "Installing into .venv: $(grep -v '^#' "$1" | xargs)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1" &&
        cp "$1" "$stamp"
}

what=${1:-build}
comparing=
if [ -n "${CI:-}" ] || [ "${PARITY:-}" = 1 ]; then comparing=1; fi
log=build/setup.log
updated=
rights=$(rights)
: > "$log"

find_missing "$what"
if [ $((${#missing[@]} + ${#optional[@]})) -gt 0 ]; then
    install_missing
    find_missing "$what"
    if [ ${#missing[@]} -gt 0 ]; then
        echo "Still missing: ${missing[*]} (see $log)"
        exit 1
    fi
fi
if [ "$what" = test ] && [ -n "$comparing" ]; then
    python_packages tests/requirements.txt || exit 1
fi
