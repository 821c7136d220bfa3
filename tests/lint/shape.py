#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shape.py [ROOT]: functions of at most 60 lines, files of at most 600, in src/ and cli/.

What is longer because splitting it reads worse stands in shape.txt beside this script, as
"path function reason" or "path - reason"; a row that is no longer needed fails too.
The layout is clang-format's: a function's braces are alone in column 0.
"""
import pathlib
import re
import sys

MAX_FUNCTION = 60
MAX_FILE = 600


def functions(lines):
    """Yields (name, line number, lines of the body)."""
    start = 0
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            head = " ".join(lines[max(0, start - 8):start - 1])
            head = re.split(r"[;}]|\*/", head)[-1]
            head = re.sub(r"__attribute__\s*\(\(.*?\)\)\s|NWI_\w+\(.*?\)\s", "", head)
            names = re.findall(r"(\w+)\s*\(", head)
            yield (names[0] if names else "?"), start, number - start - 1
            start = 0


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    if root.is_file():
        root = root.parents[2]
    allowed = {}
    listing = root / "tests/lint/shape.txt"
    for line in listing.read_text().splitlines() if listing.exists() else []:
        if line and not line.startswith("#"):
            path, name, reason = line.split(None, 2)
            allowed[path, name] = reason
    unused = set(allowed)
    problems = []
    n_files = 0
    for path in sorted(p for d in ("src", "cli") for p in (root / d).rglob("*.[ch]")):
        n_files += 1
        name = path.relative_to(root).as_posix()
        lines = path.read_text().splitlines()
        found = [(f, n, f"{name}:{start}: {f} has {n} lines, {MAX_FUNCTION} allowed")
                 for f, start, n in functions(lines) if n > MAX_FUNCTION]
        if len(lines) > MAX_FILE:
            found.append(("-", len(lines), f"{name}: {len(lines)} lines, {MAX_FILE} allowed"))
        for key, _, text in found:
            if (name, key) in allowed:
                unused.discard((name, key))
            else:
                problems.append(text)
    problems += [f"shape.txt: {' '.join(key)} is within the limits again" for key in sorted(unused)]
    if not n_files:
        problems.append(f"no sources below {root}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
