#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every gate of gates.py and sums them up: `N passed, N failed`.

    test.py [--long] [--only NAME|GROUP]... [--list]

A gate prints one line when it ends; its full output is in build/test/NAME.log, and the end of
it is shown if something failed. Gates that cannot run here say why. A gate that crashes, hangs
or cannot be built has failed. The closing line is also in build/test/summary.
"""
import argparse
import os
import sys
import threading
import time
import traceback

from gate import CORES, OUT, Context, Counts, Failed, Skip
from gates import GATES


class Runner:
    def __init__(self, gates, options):
        self.gates, self.options = list(gates), options
        self.total = Counts()
        self.report = []  # (seconds, name)
        self.state = {}   # name -> "running", then "done", "skipped" or "broken"
        self.condition = threading.Condition()
        self.running = 0

    def run_gate(self, gate):
        context = Context(gate, self.options)
        begin = time.monotonic()
        reason = ""
        state = "done"
        try:
            broken = [name for name in gate.after if self.state.get(name) == "broken"]
            if broken:
                raise Failed("needs " + ", ".join(broken))
            gate.run(context)
        except Skip as skip:
            reason, state = f"skipped: {skip}", "skipped"
        except Failed as failed:
            reason, state = str(failed), "broken"
            context.counts.failed = max(context.counts.failed, 1)
        except Exception:  # a gate's own mistake must not hide
            context.log.write(traceback.format_exc().encode())
            reason, state = "the gate itself crashed", "broken"
            context.counts.failed = max(context.counts.failed, 1)
        seconds = time.monotonic() - begin
        self.finish(gate, context, state, reason, seconds)

    def finish(self, gate, context, state, reason, seconds):
        counts = context.counts
        with self.condition:
            self.state[gate.name] = state
            self.total += counts
            self.report.append((seconds, gate.name))
            mark = "FAIL" if counts.failed else "skip" if state == "skipped" else "ok"
            text = reason if state == "skipped" else f"{counts.passed} passed, {counts.failed} failed"
            if counts.skipped:
                text += f", {counts.skipped} skipped"
            if reason and state != "skipped":
                text += f" ({reason})"
            print(f"{mark:5}{gate.name:<18}{seconds:7.1f} s   {text}", flush=True)
            for note in context.notes:
                print(f"     {'':18}            {note}")
            for line in context.tail() if counts.failed else ():
                print("    | " + line[:150], flush=True)
            self.running -= 1
            self.condition.notify_all()
        context.log.close()

    def next_gate(self):
        """The first gate that may start now; None when all are given out."""
        with self.condition:
            while self.gates:
                names = {g.name for g in self.gates}
                for gate in self.gates:
                    waits = [a for a in gate.after if a in names or self.state.get(a) == "running"]
                    if waits or (gate.alone and (self.running or len(self.gates) > sum(
                            g.alone for g in self.gates))):
                        continue
                    self.gates.remove(gate)
                    self.state[gate.name] = "running"
                    self.running += 1
                    return gate
                self.condition.wait()
            return None

    def work(self):
        while True:
            gate = self.next_gate()
            if gate is None:
                return
            self.run_gate(gate)

    def run(self, workers):
        threads = [threading.Thread(target=self.work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def choose(gates, names):
    """The gates asked for by name or group, and those they build upon."""
    wanted = {g.name for g in gates if not names or g.name in names or g.group in names}
    unknown = set(names) - {g.name for g in gates} - {g.group for g in gates}
    if unknown:
        sys.exit(f"no such gate: {', '.join(sorted(unknown))}")
    by_name = {g.name: g for g in gates}
    todo = list(wanted)
    while todo:
        for name in by_name[todo.pop()].after:
            if name not in wanted:
                wanted.add(name)
                todo.append(name)
    return [g for g in gates if g.name in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="the exhaustive tests too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME|GROUP")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for gate in GATES:
            print(f"{gate.name:<18}{gate.group:<8}{(gate.run.__doc__ or '').splitlines()[0]}")
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "summary").unlink(missing_ok=True)
    begin = time.monotonic()
    runner = Runner(choose(GATES, options.only), options)
    runner.run(workers=min(CORES, 4))

    slowest = sorted(runner.report, reverse=True)[:5]
    print(f"\n{time.monotonic() - begin:.0f} s in all; the slowest: "
          + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in slowest))
    line = f"{runner.total.passed} passed, {runner.total.failed} failed"
    (OUT / "summary").write_text(line + "\n")
    print(line, flush=True)
    return 1 if runner.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
