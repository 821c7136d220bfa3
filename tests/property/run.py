# SPDX-License-Identifier: Apache-2.0
"""A conversion that is killed: over a file the old or the new one is whole, over a sharded
folder the old, the new, or a refusal, never a mixture. NETWEIGHT names the command.

Kills come at random times and, through a preloaded library, before and after every call
that changes names. Prints one line a test and `N passed, N failed`."""
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

COMMAND = os.environ.get("NETWEIGHT", "build/netweight")
LONG = "NETWEIGHT_LONG" in os.environ
SEED = int(os.environ.get("NETWEIGHT_SEED", random.randrange(2**32)))
TEMPORARY = ".netweight-tmp"

# Stops the process before (odd numbers) or after (even ones) a call that changes names.
PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static int calls;
static void count(void)
{
    const char *at = getenv("KILL_AT");
    if (at && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == atoi(at))
        kill(getpid(), SIGKILL);
}
#define WRAP(name, params, args)                                      \
    int name params                                                   \
    {                                                                 \
        int (*real) params = (int(*) params)dlsym(RTLD_NEXT, #name);  \
        count();                                                      \
        int result = real args;                                       \
        count();                                                      \
        return result;                                                \
    }
WRAP(rename, (const char *a, const char *b), (a, b))
WRAP(renameat, (int d, const char *a, int e, const char *b), (d, a, e, b))
WRAP(renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
WRAP(link, (const char *a, const char *b), (a, b))
WRAP(linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
WRAP(unlink, (const char *a), (a))
WRAP(unlinkat, (int d, const char *a, int f), (d, a, f))
WRAP(remove, (const char *a), (a))
WRAP(mkdir, (const char *a, mode_t m), (a, m))
WRAP(mkdirat, (int d, const char *a, mode_t m), (d, a, m))
WRAP(fsync, (int fd), (fd))
WRAP(fdatasync, (int fd), (fd))
WRAP(ftruncate, (int fd, off_t n), (fd, n))
WRAP(mkstemp, (char *a), (a))
WRAP(mkostemp, (char *a, int f), (a, f))
"""


def checkpoint(path, value, sizes, metadata=None):
    """F32 tensors t0 ... of sizes[i] values, each element `value` + i."""
    header, data, at = {"__metadata__": metadata} if metadata else {}, [], 0
    for i, n in enumerate(sizes):
        header[f"t{i}"] = {"dtype": "F32", "shape": [n], "data_offsets": [at, at + 4 * n]}
        data.append(struct.pack("<f", value + i) * n)
        at += 4 * n
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def netweight(*args, **options):
    return subprocess.run([COMMAND, *map(str, args)], capture_output=True, **options)


def contents(path):
    """name -> crc32 of what a load gives, or the code of its refusal."""
    done = netweight("load", path, "--digest", "--json", "--copy", "always")
    doc = json.loads(done.stdout)
    if done.returncode == 0:
        return {row["name"]: row["crc32"] for row in doc["targets"]}
    assert done.returncode in (1, 3), done.stderr
    return doc["error"]["code"]


class Place:
    """A folder with two sources of equal names and shapes whose every value differs."""

    sizes = [3_000_000, 5, 1_000_000, 700_000, 200_000, 64]

    def __init__(self, scale=1):
        sizes = [max(1, n // scale) for n in self.sizes]
        self.folder = tempfile.mkdtemp(prefix="netweight-kill-")
        self.old = os.path.join(self.folder, "old.safetensors")
        self.new = os.path.join(self.folder, "new.safetensors")
        checkpoint(self.old, 1000, sizes)
        checkpoint(self.new, 5000, sizes)
        self.values = [contents(self.old), contents(self.new)]
        assert all(self.values[0][k] != self.values[1][k] for k in self.values[0])
        self.keep = {"old.safetensors", "new.safetensors"}

    def path(self, name):
        return os.path.join(self.folder, name)

    def clean(self):
        for name in os.listdir(self.folder):
            if name not in self.keep:
                full = self.path(name)
                shutil.rmtree(full) if os.path.isdir(full) else os.remove(full)

    def foreign(self, allowed):
        """Names that are neither expected nor recognisable temporaries."""
        found = []
        for folder, _, names in os.walk(self.folder):
            found += [os.path.relpath(os.path.join(folder, n), self.folder) for n in names]
        return [n for n in found if n not in self.keep and TEMPORARY not in n
                and not any(n == a or n.startswith(a + os.sep) for a in allowed)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def killed(args, delay):
    """Runs and kills after a delay; the exit status, negative for a signal."""
    child = subprocess.Popen([COMMAND, *map(str, args)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        return child.wait(delay)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def duration(*args):
    begin = time.monotonic()
    done = netweight(*args)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begin


def judge_file(place, target):
    now = contents(target)
    assert now in place.values, now
    assert not place.foreign(["target.safetensors"]), place.foreign([])
    return now == place.values[1]


def test_kill_over_a_file():
    """50 random points; the converted file is always whole."""
    with Place() as place:
        target = place.path("target.safetensors")
        args = "convert", place.new, target, "--overwrite"
        shutil.copy(place.old, target)
        span = duration(*args) * 1.1
        finished = 0
        for n in range(500 if LONG else 50):
            place.clean()
            shutil.copy(place.old, target)
            before = digest(target)
            killed((*args, "--threads", n % 3), random.uniform(0, span))
            if judge_file(place, target):
                finished += 1
            else:
                assert digest(target) == before
        return f"{finished} conversions had come to their end"


def test_kill_over_itself():
    """IN and OUT are the same file."""
    with Place() as place:
        target = place.path("target.safetensors")
        shutil.copy(place.old, target)
        fp8 = place.path("fp8.safetensors")
        assert netweight("convert", place.old, fp8, "--dtype", "bf16").returncode == 0
        both = digest(place.old), digest(fp8)
        place.keep.add("fp8.safetensors")
        args = "convert", target, target, "--overwrite", "--dtype", "bf16"
        span = duration(*args) * 1.1
        for _ in range(100 if LONG else 15):
            place.clean()
            shutil.copy(place.old, target)
            killed(args, random.uniform(0, span))
            assert digest(target) in both


def preload(place):
    library = place.path("kill.so")
    source = place.path("kill.c")
    with open(source, "w") as f:
        f.write(PRELOAD)
    subprocess.run([shutil.which("cc") or "cc", "-shared", "-fPIC", "-o", library, source,
                    "-ldl"], check=True)
    place.keep |= {"kill.so", "kill.c"}
    return library


def each_call(library, args, prepare, judge):
    """Kills at the 1st, 2nd ... change of a name until the conversion ends by itself."""
    n, outcomes = 0, []
    while True:
        n += 1
        prepare()
        done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, env={
            **os.environ, "LD_PRELOAD": library, "KILL_AT": str(n)})
        if done.returncode == 0:
            return n - 1, outcomes
        assert done.returncode == -signal.SIGKILL, (n, done.returncode, done.stderr)
        outcomes.append(judge(n))
        assert n < 1000


def test_kill_at_each_call_over_a_file():
    with Place() as place:
        target = place.path("target.safetensors")

        def prepare():
            place.clean()
            shutil.copy(place.old, target)

        calls, outcomes = each_call(
            preload(place), ("convert", place.new, target, "--overwrite"), prepare,
            lambda n: judge_file(place, target))
        assert outcomes == sorted(outcomes)  # old, old ... new
        return f"{calls} points"


def folder_shapes(scale=1):
    """(how the old folder was saved, how the new one is)."""
    small, middle, large = (["--max-shard-size", str(n * 1_000_000 // scale)]
                            for n in (4, 8, 12))
    return [(middle, middle), (small, middle), (large, small), ([], middle), (middle, [])]


def judge_folder(place, target, args):
    """The old, the new, or refused by code; and it can be saved again."""
    now = contents(target)
    assert now in place.values or isinstance(now, str), now
    assert not place.foreign(["target"])
    again = netweight(*args)
    assert again.returncode == 0, (now, again.stderr)
    assert contents(target) == place.values[1]
    return now if isinstance(now, str) else ["old", "new"][place.values.index(now)]


def saver(place, target, old):
    ready = place.path("ready")
    assert netweight("convert", place.old, ready, *old).returncode == 0
    place.keep |= {os.path.relpath(os.path.join(d, n), place.folder)
                   for d, _, names in os.walk(ready) for n in names} | {"ready"}

    def prepare():
        place.clean()
        shutil.copytree(ready, target)

    return prepare


def test_kill_at_each_call_over_a_folder():
    notes = []
    for old, new in folder_shapes(50):
        with Place(50) as place:
            target = place.path("target")
            library = preload(place)
            args = "convert", place.new, target, "--overwrite", *new
            calls, outcomes = each_call(library, args, saver(place, target, old),
                                        lambda n: judge_folder(place, target, args))
            kinds = {k: outcomes.count(k) for k in sorted(set(outcomes))}
            notes.append(f"{calls} points {kinds}")
    return "; ".join(notes)


def test_kill_over_a_folder():
    """Random points."""
    seen = {}
    for old, new in folder_shapes():
        with Place() as place:
            target = place.path("target")
            prepare = saver(place, target, old)
            args = "convert", place.new, target, "--overwrite", *new
            prepare()
            span = duration(*args) * 1.1
            for _ in range(100 if LONG else 10):
                prepare()
                killed(args, random.uniform(0, span))
                outcome = judge_folder(place, target, args)
                seen[outcome] = seen.get(outcome, 0) + 1
    return str(seen)


def unmask_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(args, delay):
    child = subprocess.Popen([COMMAND, *map(str, args)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, preexec_fn=unmask_interrupt)
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    return child.returncode


def test_interrupt():
    """Ctrl-C: exit 130, nothing left; -2 only before the command is listening."""
    with Place() as place:
        target, folder = place.path("target.safetensors"), place.path("target")
        counts = {}
        ways = [("convert", place.new, target, "--overwrite"),
                ("convert", place.new, target, "--overwrite", "--threads", "0"),
                ("convert", place.new, folder, "--max-shard-size", "8MB"),
                ("load", place.new, "--dtype", "bf16", "--digest", "--json")]
        for args in ways:
            place.clean()
            span = duration(*args) * 1.1
            for n in range(100 if LONG else 15):
                place.clean()
                if target in args:
                    shutil.copy(place.old, target)
                delay = random.uniform(0, span)
                status = interrupted(args, delay)
                assert status in (0, 130) or status == -signal.SIGINT and delay < 0.05
                counts[status] = counts.get(status, 0) + 1
                left = {n for n in os.listdir(place.folder) if n not in place.keep}
                assert not any(TEMPORARY in name for name in left), left
                if target in args:
                    assert contents(target) == place.values[status == 0]
                elif folder in args and os.path.exists(folder):
                    names = os.listdir(folder)
                    assert not any(TEMPORARY in name for name in names), names
                    assert status == 0 or not names, (status, names)
        assert counts.get(130, 0) > 0, counts
        return str(counts)


def main():
    if not os.path.exists(COMMAND):
        print(f"kills: skipped, NETWEIGHT does not name the command ({COMMAND})")
        return 0
    only = sys.argv[1:]
    passed = failed = 0
    print(f"NETWEIGHT_SEED={SEED}")
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (only and name not in only):
            continue
        random.seed(SEED)
        begin = time.monotonic()
        try:
            note = test() or ""
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s) {note}", flush=True)
            passed += 1
        except Exception as error:  # one failing test must not hide the others
            line = error.__traceback__
            while line.tb_next:
                line = line.tb_next
            print(f"FAIL {name}, line {line.tb_lineno}: {error!r}", flush=True)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
