#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of the tests counts what was run, and a crash, a hang or a mistake has failed."""
import argparse
import contextlib
import io
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import gate  # noqa: E402
import test as runner  # noqa: E402

CTEST = """\
1: [==========] Running 3 test(s).
1: [  PASSED  ] 2 test(s).
1: [  FAILED  ] 1 test(s), listed below:
1/4 Test #1: unit/a ...........................***Failed    0.01 sec
2: [  PASSED  ] 5 test(s).
2/4 Test #2: unit/b ...........................   Passed    0.01 sec
3/4 Test #3: examples/load ....................   Passed    1.20 sec
4: [  PASSED  ] 1 test(s).
4/4 Test #4: unit/c ...........................***Exception: SegFault  0.01 sec
"""

CASES = [
    ("TAP", gate.count_text, "ok - a\nnot ok - b\nok 3 - c\nok - d # skip no root\n", (2, 1, 1)),
    ("totals", gate.count_text, "....\n3 failed, 12 passed, 1 skipped in 0.2s\n", (12, 3, 1)),
    ("errors of pytest", gate.count_text, "2 errors in 0.2s\n", (0, 2, 0)),
    ("no totals", gate.count_text, "hello\n", (0, 0, 0)),
    ("ctest", gate.count_ctest, CTEST, (9, 2, 0)),
]


def good(ctx):
    ctx.suite("true")


def bad_status(ctx):
    ctx.suite("sh", "-c", "echo ok - a; exit 3")


def hang(ctx):
    ctx.suite("sleep", "60", timeout=0.2)


def crash(ctx):
    raise ValueError("a mistake in the gate")


def stop(ctx):
    ctx.check("false")


def skip(ctx):
    raise gate.Skip("not here")


def after_broken(ctx):
    ctx.suite("true")


def each(ctx):
    ctx.each(["true", "false"], lambda name: [name])


def run_all(gates):
    options = argparse.Namespace(long=False)
    work = runner.Runner(gates, options)
    with contextlib.redirect_stdout(io.StringIO()):
        work.run(workers=2)
    return work


def main():
    n_failed = 0

    def check(what, got, wanted):
        nonlocal n_failed
        n_failed += got != wanted
        print(f"ok - runner: {what}" if got == wanted
              else f"not ok - runner: {what}: got {got}, wanted {wanted}")

    for what, count, text, wanted in CASES:
        totals = count(text)
        check(what, (totals.passed, totals.failed, totals.skipped), wanted)
    with tempfile.TemporaryDirectory() as folder:
        gate.OUT = pathlib.Path(folder)
        for function, wanted in ((good, (1, 0)), (bad_status, (1, 1)), (hang, (0, 1)),
                                 (crash, (0, 1)), (stop, (0, 1)), (skip, (0, 0)), (each, (1, 1))):
            total = run_all([gate.Gate(function)]).total
            check(f"a gate that is {function.__name__}", (total.passed, total.failed), wanted)
        gates = [gate.Gate(after_broken, after=("stop",)), gate.Gate(good, alone=True),
                 gate.Gate(stop)]
        total = run_all(gates).total
        check("a gate after a broken one", (total.passed, total.failed), (1, 2))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
