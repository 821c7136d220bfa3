#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command from outside: run.py [--regenerate] [NAME...]

NETWEIGHT is the binary (build/dev/netweight). NAME picks the cases whose names contain it.
Ends with `N passed, N failed`.

cases/*.json hold lists of cases. Each runs alone in an empty folder:
  name    unique; expected texts are cases/<file>/<name>.stdout and .stderr if they exist
  files   what is there before (files.py); the shared ones of "with" come from common.json
  args    words of the command line, or a list of such lists: run one after the other, the last
          one counts
  env     variables set, or unset if null
  exit    status (0)
  json    what the document on standard output must hold, one a line for a list of documents:
          objects may hold more, lists not; "$int" "$num" "$str" "$any" "$crc" "$bool" stand for
          any of their kind, "~regex" for a text in which it is found
  only    if true, objects of `json` may hold no more either
  err     regular expression, found in standard error; without it and without an expected text
          standard error must be empty if the status is 0
  out     regular expression, found in standard output
  there, gone   paths that must, or must not, exist afterwards
Expected texts are compared line by line; * stands for anything. --regenerate writes them.
"""
import difflib
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import files
import special

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("NETWEIGHT") or str(HERE.parent.parent / "build/dev/netweight")
# Lines of the report whose figures depend on the machine.
VOLATILE = re.compile(r"^(  (?:scratch|memory|peak|resident|time|backend|threads|read)) .*$", re.M)
KINDS = {"$int": lambda v: isinstance(v, int) and not isinstance(v, bool),
         "$num": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "$str": lambda v: isinstance(v, str), "$bool": lambda v: isinstance(v, bool),
         "$any": lambda v: True,
         "$crc": lambda v: isinstance(v, str) and re.fullmatch("[0-9a-f]{8}", v)}


class Wrong(Exception):
    pass


def environment(extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XDG_", "HUGGING"))}
    for name in ("COLUMNS", "NO_COLOR"):
        env.pop(name, None)
    env.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})
    for name, value in extra.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def same(got, wanted, only, where="document"):
    """Raises Wrong with the place of the first difference."""
    if isinstance(wanted, str) and wanted in KINDS:
        if not KINDS[wanted](got):
            raise Wrong(f"{where}: {got!r} is not {wanted}")
    elif isinstance(wanted, str) and wanted.startswith("~"):
        if not isinstance(got, str) or not re.search(wanted[1:], got):
            raise Wrong(f"{where}: {wanted[1:]!r} is not found in {got!r}")
    elif isinstance(wanted, dict):
        if not isinstance(got, dict):
            raise Wrong(f"{where}: {got!r} is no object")
        for key, value in wanted.items():
            if key not in got:
                raise Wrong(f"{where}: no {key!r} in {sorted(got)}")
            same(got[key], value, only, f"{where}.{key}")
        if only and set(got) - set(wanted):
            raise Wrong(f"{where}: more than wanted: {sorted(set(got) - set(wanted))}")
    elif isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            raise Wrong(f"{where}: {got!r} instead of {wanted!r}")
        for i, (a, b) in enumerate(zip(got, wanted)):
            same(a, b, only, f"{where}[{i}]")
    elif got != wanted or type(got) is not type(wanted):
        raise Wrong(f"{where}: {got!r} instead of {wanted!r}")


def check_json(case, stdout):
    documents = [json.loads(line) for line in stdout.splitlines()]
    wanted = case["json"] if isinstance(case["json"], list) else [case["json"]]
    if not stdout.endswith("\n"):
        raise Wrong("the document ends without a line end")
    same(documents, wanted, case.get("only", False), "line")


def check_text(path, got, regenerate):
    if regenerate:
        path.parent.mkdir(exist_ok=True)
        path.write_text(VOLATILE.sub(r"\1 *", got), encoding="utf-8")
        return
    wanted = path.read_text(encoding="utf-8")
    lines, patterns = got.split("\n"), wanted.split("\n")
    fits = len(lines) == len(patterns) and all(
        fnmatch.fnmatchcase(line, re.sub(r"([\[?])", r"[\1]", pattern))
        for line, pattern in zip(lines, patterns))
    if not fits:
        diff = difflib.unified_diff(patterns, lines, "wanted", "got", lineterm="", n=1)
        raise Wrong(f"{path.name}\n" + "\n".join(diff))


def check_found(name, pattern, text):
    if not re.search(pattern, text, re.S):
        raise Wrong(f"{name}: {pattern!r} is not found in {text!r}")


def check(case, result, folder, regenerate):
    stdout, stderr = result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")
    if result.returncode != case.get("exit", 0):
        raise Wrong(f"exit status {result.returncode} instead of {case.get('exit', 0)}\n"
                    f"{stdout}{stderr}")
    if "json" in case:
        check_json(case, stdout)
    for name, text in (("stdout", stdout), ("stderr", stderr)):
        path = HERE / "cases" / case["file"] / f"{case['name']}.{name}"
        if path.exists() or (name == "stdout" and case.get("text")):
            check_text(path, text, regenerate)
        elif name == "stderr" and "err" not in case and result.returncode == 0 and text:
            raise Wrong(f"standard error is not empty: {text}")
    if "err" in case:
        check_found("standard error", case["err"], stderr)
    if "out" in case:
        check_found("standard output", case["out"], stdout)
    for path in case.get("there", []):
        if not os.path.lexists(os.path.join(folder, path)):
            raise Wrong(f"{path} is not there")
    for path in case.get("gone", []):
        if os.path.lexists(os.path.join(folder, path)):
            raise Wrong(f"{path} is there")


def run_case(case, common, regenerate):
    with tempfile.TemporaryDirectory() as folder:
        for name in case.get("with", []):
            for path, what in common[name].items():
                files.write(folder, path, what)
        for path, what in case.get("files", {}).items():
            files.write(folder, path, what)
        args = case["args"]
        for args in args if args and isinstance(args[0], list) else [args]:
            result = subprocess.run([BINARY, *args], cwd=folder, capture_output=True, timeout=120,
                                    stdin=subprocess.DEVNULL, check=False,
                                    env=environment(case.get("env", {})))
        check(case, result, folder, regenerate)


def load_cases():
    common = json.loads((HERE / "cases/common.json").read_text(encoding="utf-8"))
    for path in sorted((HERE / "cases").glob("*.json")):
        if path.name == "common.json":
            continue
        for case in json.loads(path.read_text(encoding="utf-8")):
            case["file"] = path.stem
            yield f"{path.stem}/{case['name']}", lambda r, c=case: run_case(c, common, r)
    for test in special.TESTS:
        yield f"special/{test.__name__}", lambda r, t=test: t(BINARY, environment({}))


def main():
    names = [a for a in sys.argv[1:] if a != "--regenerate"]
    regenerate = "--regenerate" in sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, run in load_cases():
        if names and not any(n in name for n in names):
            continue
        try:
            run(regenerate)
            counts["passed"] += 1
        except special.Skip as skip:
            counts["skipped"] += 1
            print(f"skip {name}: {skip}")
        except Exception as error:  # whatever went wrong, the others still run
            counts["failed"] += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}", flush=True)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
