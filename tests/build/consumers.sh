#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# consumers.sh BUILD: installs a built tree, then builds and runs examples/embed as strangers
# do: by pkg-config (shared and static), by find_package, by add_subdirectory. The installed
# tree is moved first: nothing in it may remember where it was.
set -u
cd "$(dirname "$0")/../.." || exit 2
root=$(pwd)
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

installed() { # the files an install must bring, and no more kinds than these
    cmake --install "$build" --prefix "$work/first" && mv "$work/first" "$work/moved" || return
    for file in include/netweight.h 'lib*/libnetweight.so.0' 'lib*/libnetweight.a' \
        'lib*/pkgconfig/netweight.pc' 'lib*/cmake/netweight/netweightConfig.cmake' bin/netweight \
        share/bash-completion/completions/netweight share/zsh/site-functions/_netweight \
        share/fish/vendor_completions.d/netweight.fish; do
        ls "$work/moved/"$file || return
    done
    ! command -v scdoc || ls "$work/moved/share/man/man1/netweight.1" \
        "$work/moved/share/man/man3/libnetweight.3" || return
    [ "$(ls "$work/moved/include")" = netweight.h ] || return
    ! grep -rlI "$work/first" "$work/moved" # no absolute path is left in a text file
}

destdir() {
    DESTDIR=$work/stage cmake --install "$build" --prefix /usr &&
        test -x "$work/stage/usr/bin/netweight"
}

by_pkg_config() { # shared|static
    libdir=$(dirname "$work"/moved/lib*/libnetweight.a)
    PKG_CONFIG_PATH=$libdir/pkgconfig
    export PKG_CONFIG_PATH
    pkg-config --modversion netweight
    if [ "$1" = static ]; then
        libs=$(pkg-config --static --libs netweight | sed "s|-lnetweight|$libdir/libnetweight.a|")
    else
        libs=$(pkg-config --libs netweight)
        [ -z "$(echo "$libs" | grep -E 'uring|crypto|yaml')" ] || return
    fi
    cc -std=gnu11 -Wall -Wextra -Werror examples/embed/main.c $(pkg-config --cflags netweight) \
        $libs -o "$work/embed-$1" && run "$work/embed-$1" "$libdir"
}

run() { # PROGRAM [LIBDIR]
    LD_LIBRARY_PATH=${2:-} "$1" "$work/embed.safetensors"
}

by_cmake() { # NAME OPTION...
    name=$1
    shift
    cmake -S "$root/examples/embed" -B "$work/$name" -G Ninja "$@" &&
        cmake --build "$work/$name" && run "$work/$name/embed"
}

quiet_subdirectory() { # only the library is built: no tests, command or shared library
    [ ! -e "$work/subdirectory/netweight/netweight" ] &&
        [ ! -e "$work/subdirectory/netweight/libnetweight.so" ] &&
        ! grep -rq 'cmocka' "$work/subdirectory/CMakeCache.txt" &&
        cmake --install "$work/subdirectory" --prefix "$work/nothing" &&
        [ ! -e "$work/nothing/include" ]
}

static_package() { # the archive through the package, with the libraries it needs
    mkdir "$work/static-src" && cp examples/embed/main.c "$work/static-src" &&
        sed 's/netweight::netweight)/netweight::netweight_static)/' examples/embed/CMakeLists.txt \
            > "$work/static-src/CMakeLists.txt" &&
        cmake -S "$work/static-src" -B "$work/static" -G Ninja -DNETWEIGHT_INSTALLED=ON \
            -DCMAKE_PREFIX_PATH="$work/moved" &&
        cmake --build "$work/static" && run "$work/static/embed" &&
        ! ldd "$work/static/embed" | grep netweight
}

step "install, then move the tree" installed
step "install with DESTDIR" destdir
step "the installed command runs" "$work/moved/bin/netweight" --version
step "pkg-config, shared" by_pkg_config shared
step "pkg-config, static" by_pkg_config static
step "find_package" by_cmake package -DNETWEIGHT_INSTALLED=ON -DCMAKE_PREFIX_PATH="$work/moved"
step "find_package, static" static_package
step "add_subdirectory" by_cmake subdirectory
step "add_subdirectory brings nothing but the library" quiet_subdirectory
exit $status
