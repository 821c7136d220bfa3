#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of families in README.md and netweight(1), from the command itself.

    family_table.py NETWEIGHT          writes it between the marks of both pages
    family_table.py NETWEIGHT --check  says whether it is as the command prints it
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def families(netweight):
    """[(name, title, converted parts, parts that are only recognised)], in the command's order."""
    document = json.loads(subprocess.run([netweight, "families", "--json"], capture_output=True,
                                         text=True, check=True).stdout)
    rows = {}
    for family in document["families"]:
        row = rows.setdefault(family["name"], {"title": family["title"], True: {}, False: {}})
        parts = row[bool(family["converts"])].setdefault(family["component"], [])
        if family["class"] and family["class"] not in parts:
            parts.append(family["class"])
    return rows


def words(parts, known=()):
    return ", ".join(f"{part} ({', '.join(classes)})" if classes else part
                     for part, classes in parts.items() if classes or part not in known)


def markdown(rows):
    yield "| family | parts that are converted (class) | only recognised |"
    yield "|---|---|---|"
    for name, row in rows.items():
        yield f"| `{name}` {row['title']} | {words(row[True])} | {words(row[False], row[True])} |"


def manual(rows):
    escape = str.maketrans({"_": "\\_"})
    for name, row in rows.items():
        text = words(row[True]) or "only recognised: " + words(row[False])
        yield f"*{name.translate(escape)}* {row['title'].translate(escape)}++"
        yield f"{text.translate(escape)}"
        yield ""


PAGES = {"README.md": ("<!-- families -->", "<!-- end of families -->", markdown),
         "doc/netweight.1.scd": ("; families", "; end of families", manual)}


def main():
    rows, check, status = families(sys.argv[1]), sys.argv[2:] == ["--check"], 0
    for page, (begin, end, form) in PAGES.items():
        text = (ROOT / page).read_text()
        first = text.index(begin + "\n") + len(begin) + 1
        last = text.index(end + "\n")
        table = "\n" + "\n".join(form(rows)).rstrip("\n") + "\n\n"
        if check and text[first:last] != table:
            print(f"{page}: not the families of the command; scripts/family_table.py writes them")
            status = 1
        elif not check:
            (ROOT / page).write_text(text[:first] + table + text[last:])
    return status


if __name__ == "__main__":
    sys.exit(main())
