# SPDX-License-Identifier: Apache-2.0
"""What a gate is, what it works with, and how the output of a suite is counted."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build/test"
CORES = len(os.sched_getaffinity(0))


class Gate:
    def __init__(self, run, group="test", after=(), alone=False):
        self.name = run.__name__.replace("_", "-")
        self.run = run        # run(context)
        self.group = group    # "lint" or "test"
        self.after = after    # names of gates whose results it uses
        self.alone = alone    # measures something: runs last, with nothing beside it


class Skip(Exception):
    """The gate cannot run here; the text says why."""


class Failed(Exception):
    """The gate stops; the text says at what."""


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed,
                      self.skipped + other.skipped)

    def __bool__(self):
        return bool(self.passed or self.failed or self.skipped)


def count_text(text):
    """Counts of a program's output: TAP-like lines, or the last line with totals."""
    ok = len(re.findall(r"^ok\b(?!.*# *skip)", text, re.M | re.I))
    skipped = len(re.findall(r"^ok\b.*# *skip", text, re.M | re.I))
    bad = len(re.findall(r"^not ok\b", text, re.M))
    if ok or bad or skipped:
        return Counts(ok, bad, skipped)
    for line in reversed(text.splitlines()):
        words = re.findall(r"(\d+) (passed|failed|errors?|skipped)\b", line)
        if words:
            totals = Counts()
            for number, word in words:
                kind = {"passed": "passed", "skipped": "skipped"}.get(word, "failed")
                setattr(totals, kind, getattr(totals, kind) + int(number))
            return totals
    return Counts()


CTEST_LINE = re.compile(r"^ *\d+/\d+ Test +#(\d+): .*?\.+ *(?:\*\*\*)?(.+?) +[\d.]+ sec", re.M)


def count_ctest(text):
    """Counts of `ctest -V`: the tests within a cmocka program, else one a program."""
    total = Counts()
    lines = {}
    for number, line in re.findall(r"^(\d+): (.*)$", text, re.M):
        lines.setdefault(number, []).append(line)
    for number, outcome in CTEST_LINE.findall(text):
        inner = Counts()
        for kind, n in re.findall(r"\[  (PASSED|FAILED|SKIPPED) *\] (\d+) test",
                                  "\n".join(lines.get(number, []))):
            setattr(inner, kind.lower(), getattr(inner, kind.lower()) + int(n))
        if outcome == "Skipped":
            inner = inner or Counts(skipped=1)
        elif outcome != "Passed":  # a crash counts even where no check failed
            inner.failed = max(inner.failed, 1)
        elif not inner:
            inner.passed = 1
        total += inner
    return total


class Context:
    """What a gate works with: its log, its counts, and ways to run commands."""

    def __init__(self, gate, options):
        self.name = gate.name
        self.long = options.long
        self.fuzz_seconds = int(os.environ.get("FUZZ_SECONDS", 600 if options.long else 20))
        self.cores = CORES
        self.root = ROOT
        self.path = OUT / f"{gate.name}.log"
        self.log = open(self.path, "wb")
        self.counts = Counts()
        self.notes = []
        # What is under test is told by name; nothing else of the caller's settings gets in.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("NETWEIGHT")}
        self.env.update(
            NETWEIGHT=str(ROOT / "build/dev/netweight"),
            NETWEIGHT_LIBRARY=str(ROOT / "build/dev/libnetweight.so"),
            ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1",
            UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
            TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1")
        if options.long:
            self.env["NETWEIGHT_LONG"] = "1"

    def run(self, *command, timeout=1500, **env):
        """Runs one command; returns (exit status, output)."""
        begin = self.log.tell()
        self.log.write(("$ " + " ".join(map(str, command)) + "\n").encode())
        self.log.flush()
        process = subprocess.Popen([str(c) for c in command], cwd=ROOT, stdin=subprocess.DEVNULL,
                                   stdout=self.log, stderr=subprocess.STDOUT,
                                   env={**self.env, **env}, start_new_session=True)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.log.write(f"\nkilled after {timeout} s\n".encode())
            status = -1
        self.log.seek(0, os.SEEK_END)
        with open(self.path, "rb") as file:
            file.seek(begin)
            return status, file.read().decode(errors="replace")

    def check(self, *command, **options):
        """Runs a command that has to succeed; returns its output."""
        status, text = self.run(*command, **options)
        if status:
            raise Failed(f"{pathlib.Path(str(command[0])).name} ended with {status}")
        return text

    def suite(self, *command, counter=count_text, **options):
        """Runs a command that is many checks, or one."""
        status, text = self.run(*command, **options)
        counts = counter(text)
        if status and not counts.failed:
            counts.failed = 1
        elif not counts:
            counts.passed = 1
        self.counts += counts

    def each(self, names, command, timeout=1500, jobs=CORES):
        """Runs command(name) for all names, a few at a time; one check each."""
        lock = threading.Lock()
        todo = list(names)

        def work():
            while True:
                with lock:
                    if not todo:
                        return
                    name = todo.pop(0)
                try:
                    result = subprocess.run([str(c) for c in command(name)], cwd=ROOT, env=self.env,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, timeout=timeout)
                    status, text = result.returncode, result.stdout
                except (OSError, subprocess.TimeoutExpired) as error:
                    status, text = -1, str(error).encode()
                with lock:
                    self.log.write(f"\n==== {name}: {status}\n".encode() + (text if status else b""))
                    if status:
                        self.counts.failed += 1
                    else:
                        self.counts.passed += 1

        threads = [threading.Thread(target=work) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.log.flush()

    def need(self, *commands):
        missing = [c for c in commands if not shutil.which(c)]
        if missing:
            raise Skip("no " + ", ".join(missing))

    def tail(self, n=40):
        """The end of the log, from the first line that looks like the reason if it is there."""
        self.log.flush()
        lines = self.path.read_text(errors="replace").splitlines()
        bad = [i for i, line in enumerate(lines)
               if re.search(r"error:|ERROR|^not ok|\[  FAILED|FAILED|Traceback|killed after", line)]
        start = max(0, min(bad[0] - 2 if bad else len(lines), len(lines) - n))
        return lines[start:start + n] + ([f"... {self.path}"]
                                         if start + n < len(lines) else [])
