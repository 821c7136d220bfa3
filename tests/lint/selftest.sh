#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# selftest.sh: each check of this folder passes on a good example and fails on a bad one. Prints
# one "ok" or "not ok" line a case.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
CC=${CC:-cc}
status=0

expect() { # pass|fail WHAT COMMAND...
    wanted=$1
    what=$2
    shift 2
    if "$@" > out 2>&1; then got=pass; else got=fail; fi
    # A script that cannot run at all must not count as "fails as it should".
    if [ $got = "$wanted" ] && { [ $got = pass ] || { [ -s out ] && ! grep -q 'not found' out; }; }; then
        echo "ok - $what"
    else
        echo "not ok - $what: $got"
        sed 's/^/#   /' out
        status=1
    fi
}

library() { # NAME C-TEXT: NAME.so and NAME.a
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <signal.h>\n%s\n' "$2" > "$1.c"
    $CC -O1 -fPIC -w -c "$1.c" -o "$1.o" && $CC -shared "$1.o" -o "$1.so" &&
        rm -f "$1.a" && ar rc "$1.a" "$1.o" || echo "not ok - cannot build $1"
}

# ---- symbols ----
printf 'nw_one\nnw_two\n' > list
good='int nw_one(void){return 1;} int nw_two(void){return 2;}'
hidden='__attribute__((visibility("hidden"))) int'
library good "$good $hidden nwi_private(void){return 3;}"
library foreign "$good int helper(void){return 3;}"
library fewer 'int nw_one(void){return 1;}'
library more "$good int nw_three(void){return 3;}"
library private "$good int nwi_shown(void){return 3;}"
library loose "$good $hidden helper(void){return 3;}"
expect pass "symbols: as listed" "$here/symbols.sh" good.so good.a list
for name in foreign fewer more private loose; do
    expect fail "symbols: $name" "$here/symbols.sh" $name.so $name.a list
done

# ---- imports ----
library quiet 'void *nw_one(int n){return malloc(n);}'
expect pass "imports: malloc" "$here/imports.sh" quiet.so
while read -r name text; do
    library bad "$text"
    expect fail "imports: $name" "$here/imports.sh" bad.so
done << 'EOF'
abort void nw_one(void){abort();}
exit void nw_one(void){exit(1);}
printf void nw_one(int a){printf("%d",a);}
puts void nw_one(void){printf("x\n");}
stderr void nw_one(void){fputs("x",stderr);}
fortified void nw_one(int a){extern int __printf_chk(int,const char*,...);__printf_chk(1,"%d",a);}
getenv char*nw_one(void){return getenv("X");}
signal void nw_one(void){signal(2,SIG_IGN);}
strtod double nw_one(char*s){return strtod(s,0);}
system int nw_one(char*s){return system(s);}
assert void nw_one(void){extern void __assert_fail(void);__assert_fail();}
EOF

# ---- size ----
expect pass "size: small" "$here/size.sh" quiet.so
expect fail "size: larger than allowed" "$here/size.sh" quiet.so 1000

# ---- include order, shape, text: a small tree, one thing wrong at a time ----
tree() {
    rm -rf tree
    mkdir -p tree/src/base tree/src/tensor tree/src/source tree/cli tree/include tree/tests/lint
    spdx='/* SPDX-License-Identifier: Apache-2.0 */'
    echo "$spdx" | tee tree/src/base/error.h tree/src/tensor/dtype.h tree/src/source/format.h \
        tree/src/source/gguf.h tree/cli/text.h tree/include/netweight.h > tree/src/netweight.c
    row='\n#include "source/format.h"\n#include "base/error.h"\nconst struct nwi_format nwi_format_'
    printf "$spdx${row}gguf = {\n    1};\n" > tree/src/source/gguf.c
    printf "$spdx${row}dduf = {\n    1};\n" > tree/src/source/dduf.c
    printf "$spdx\n#include \"text.h\"\n#include <netweight.h>\n" > tree/cli/main.c
    printf '\nint f(void)\n{\n    return 0;\n}\n' >> tree/src/netweight.c
}
tree
for check in include_order.sh shape.py text.sh; do
    expect pass "$check: a clean tree" "$here/$check" tree
done
while read -r what file text; do
    tree
    printf '%s\n' "$text" >> "tree/$file"
    expect fail "include_order: $what" "$here/include_order.sh" tree
done << 'EOF'
upwards src/base/error.h #include "tensor/dtype.h"
a_row_includes_a_row src/source/dduf.c #include "source/gguf.h"
source_text src/netweight.c #include "source/gguf.c"
no_folder src/source/gguf.c #include "format.h"
system_call src/source/gguf.c #include <unistd.h>
command_goes_inside cli/main.c #include "base/error.h"
header_not_alone include/netweight.h #include <stdio.h>
EOF
tree
mkdir tree/src/extra && echo "$spdx" > tree/src/extra/x.c
expect fail "include_order: unknown folder" "$here/include_order.sh" tree

long() { # LINES
    printf 'int f(void)\n{\n'
    seq -f '    g(%g);' "$1"
    printf '}\n'
}
tree
long 60 >> tree/src/base/error.h
expect pass "shape: 60 lines" "$here/shape.py" tree
tree
long 61 >> tree/src/base/error.h
expect fail "shape: 61 lines" "$here/shape.py" tree
echo 'src/base/error.h f one switch, a row a case' > tree/tests/lint/shape.txt
expect pass "shape: 61 lines, listed" "$here/shape.py" tree
tree
echo 'src/base/error.h f one switch, a row a case' > tree/tests/lint/shape.txt
expect fail "shape: listed, but short" "$here/shape.py" tree
tree
seq -f 'int a%g;' 600 >> tree/cli/text.h
expect fail "shape: 601 lines in a file" "$here/shape.py" tree

tab=$(printf '\t')
while read -r what text; do
    tree
    printf '%b\n' "$text" >> tree/cli/main.c
    expect fail "text: $what" "$here/text.sh" tree
done << 'EOF'
blank_at_line_end int x;\040
tab \tint x;
note /* TO\104O */
EOF
tree
echo 'int x;' > tree/cli/more.c
expect fail "text: no licence line" "$here/text.sh" tree
tree
printf 'int x;' >> tree/cli/main.c
expect fail "text: no newline at the end" "$here/text.sh" tree
exit $status
