#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares skeletons with the real classes, or (without diffusers) with what they gave before.

    compare.py TOOL [--class NAME] [--record]

TOOL is the `skeleton` program of the build. The configs are those of configs/NAME.json here (a
list: each a config of that class) and, where it lies beside the clone, of the shared collection.
--record writes golden/NAME.json: a digest of every listing, which needs no package to check.
"""
import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import reference  # noqa: E402

SHARED = HERE.parents[2] / "shared" / "checkpoints" / "configs"


class Tool:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, name, config):
        self.process.stdin.write(f"{name} {json.dumps(config)}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "." or line.startswith("!"):
                return lines if line == "." else [line]
            lines.append(line)
        return ["!CRASHED " + " ".join(map(str, lines[-1:]))]


def configs_of(name):
    own = HERE / "configs" / f"{name}.json"
    found = [(f"own {i}", c) for i, c in enumerate(json.loads(own.read_text()))] if own.exists() else []
    for path in sorted(SHARED.rglob("*.json")) if SHARED.exists() else []:
        try:
            config = json.loads(path.read_text())
        except ValueError:
            continue
        if not isinstance(config, dict):
            continue
        said = config.get("_class_name") or (config.get("architectures") or [None])[0]
        if said == name or f".{name}." in path.name:
            found.append((str(path.relative_to(SHARED)), config))
    return found


def known(lines):
    return [line for line in lines if not line.startswith("@unknown")] or [""]


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def first_difference(ours, theirs):
    for i, (a, b) in enumerate(zip(ours + ["(end)"], theirs + ["(end)"])):
        if a != b:
            return f"line {i}: ours {a!r}, reference {b!r}"
    return "equal"


def compare(tool, name, have_packages, golden, record):
    passed = failed = skipped = alone = asked = 0
    for label, config in configs_of(name):
        ours = known(tool.ask(name, config))
        if not ours[0].startswith("!"):
            again = known(tool.ask("~" + name, config))
            if again != ours:
                failed += 1
                print(f"FAILED {name} {label}: what shapes tell is wrong: "
                      + first_difference(again, ours))
            alone += known(tool.ask("?" + name, config)) == ours
            asked += 1
        key = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
        if have_packages:
            try:
                theirs = reference.listing(reference.instantiate(name, config))
            except Exception as error:  # the class refuses this config: so must we
                theirs = None
                reason = f"{type(error).__name__}: {error}"[:120]
            if theirs is None:
                good = ours and ours[0].startswith("!")
                if not good:
                    print(f"FAILED {name} {label}: the class refuses ({reason}), we do not")
            else:
                good = reference.plain(ours) == reference.plain(theirs)
                if not good:
                    print(f"FAILED {name} {label}: "
                          + first_difference(reference.plain(ours), reference.plain(theirs)))
            if record and good:
                golden[key] = "refused" if theirs is None else digest(reference.plain(ours))
        elif key in golden:
            got = "refused" if ours and ours[0].startswith("!") else digest(reference.plain(ours))
            good = got == golden[key]
            if not good:
                print(f"FAILED {name} {label}: not what the class gave when it was recorded")
        else:
            skipped += 1
            continue
        passed, failed = passed + bool(good), failed + (not good)
    return passed, failed, skipped, alone, asked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--class", dest="only", action="append")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    have = all(importlib.util.find_spec(p) for p in ("torch", "diffusers", "transformers"))
    have = have and not os.environ.get("NETWEIGHT_NO_PACKAGES")
    if args.record and not have:
        sys.exit("recording needs torch, diffusers and transformers")
    names = args.only or sorted(p.stem for p in (HERE / "configs").glob("*.json"))
    tool, total = Tool(args.tool), [0, 0, 0]
    for name in names:
        path = HERE / "golden" / f"{name}.json"
        golden = json.loads(path.read_text()) if path.exists() and not args.record else {}
        counts = compare(tool, name, have, golden, args.record)
        total = [a + b for a, b in zip(total, counts)]
        print(f"{name}: {counts[0]} equal, {counts[1]} not, {counts[2]} skipped; "
              f"shapes alone tell {counts[3]} of {counts[4]}")
        if args.record:
            path.write_text(json.dumps(golden, indent=0, sort_keys=True) + "\n")
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
