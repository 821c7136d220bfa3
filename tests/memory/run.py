# SPDX-License-Identifier: Apache-2.0
"""The memory bound, proven from outside: in a memory cgroup of final bytes + 128 MiB the
load and the conversion of a 1 GB file finish and nothing is killed. And sizes beyond 32
bits. NETWEIGHT names the command, NETWEIGHT_LIBRARY (for slices) the shared library.
Prints one line a test and `N passed, N failed`; what cannot be done here is skipped with a
line that says why."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

COMMAND = os.environ.get("NETWEIGHT", "build/netweight")
LIBRARY = os.environ.get("NETWEIGHT_LIBRARY", "")
LONG = "NETWEIGHT_LONG" in os.environ
MIB = 1 << 20
V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"


class Skip(Exception):
    pass


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


class Cgroup:
    def __init__(self, limit):
        name = f"netweight-test-{os.getpid()}"
        self.v1 = os.path.exists(f"{V1}/memory.limit_in_bytes")
        self.path = f"{V1 if self.v1 else V2}/{name}"
        try:
            if not self.v1:
                put(f"{V2}/cgroup.subtree_control", "+memory")
            os.mkdir(self.path)
        except OSError as error:
            raise Skip(f"no memory cgroup can be made here ({error})") from None
        try:
            put(f"{self.path}/{'memory.limit_in_bytes' if self.v1 else 'memory.max'}",
                str(limit))
        except OSError as error:
            os.rmdir(self.path)
            raise Skip(f"no limit can be set on a memory cgroup ({error})") from None

    def enter(self):
        put(f"{self.path}/cgroup.procs", str(os.getpid()))

    def kills(self):
        with open(f"{self.path}/{'memory.oom_control' if self.v1 else 'memory.events'}") as f:
            rows = dict(line.split() for line in f)
        return int(rows.get("oom_kill", 0))

    def peak(self):
        name = "memory.max_usage_in_bytes" if self.v1 else "memory.peak"
        try:
            with open(f"{self.path}/{name}") as f:
                return int(f.read())
        except OSError:
            return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


def netweight(*args, cgroup=None):
    done = subprocess.run([COMMAND, *map(str, args), "--json"], capture_output=True,
                          preexec_fn=cgroup and cgroup.enter)
    doc = json.loads(done.stdout) if done.stdout.startswith(b"{") else None
    assert done.returncode == 0, (done.returncode, done.stderr[-500:], doc)
    return doc


# ---- files of known values; F8_E4M3 holds these exactly -------------------------------

VALUES = [0.0, 1.0, -2.0, 448.0, 0.5, 240.0, -0.001953125, 16.0]
FP8 = bytes([0x00, 0x38, 0xC0, 0x7E, 0x30, 0x77, 0x81, 0x58])
F32 = struct.pack("<8f", *VALUES)


def header(path, tensors):
    rows, at = {}, 0
    for name, n in tensors:
        rows[name] = {"dtype": "F32", "shape": [n], "data_offsets": [at, at + 4 * n]}
        at += 4 * n
    text = json.dumps(rows).encode()
    text += b" " * (-len(text) % 8)
    put_bytes = struct.pack("<Q", len(text)) + text
    with open(path, "wb") as f:
        f.write(put_bytes)
    return len(put_bytes), at


def pattern_file(path, tensors):
    """Every tensor repeats the eight values."""
    header(path, tensors)
    block = F32 * 32768
    with open(path, "ab") as f:
        for _, n in tensors:
            for _ in range(n * 4 // len(block)):
                f.write(block)
            f.write(block[:n * 4 % len(block)])


def pattern_crc(n):
    block, crc = FP8 * 131072, 0
    for _ in range(n // len(block)):
        crc = zlib.crc32(block, crc)
    return f"{zlib.crc32(block[:n % len(block)], crc):08x}"


BIG = [("a", 150_000_000), ("b", 60_000_000), ("c", 7), *[
    (f"small.{i}", 20_000 + i) for i in range(1000)], ("d", 20_000_000)]
FINAL = sum(n for _, n in BIG)  # bytes as fp8


class Files:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="netweight-memory-")
        if shutil.disk_usage(self.folder).free < 8 << 30:
            raise Skip("less than 8 GB of free disk")
        self.source = f"{self.folder}/big.safetensors"
        pattern_file(self.source, BIG)
        self.expected = {name: pattern_crc(n) for name, n in BIG}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def drop_cache(path):
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def check(doc, expected):
    assert {row["name"]: row["crc32"] for row in doc["targets"]} == expected


def load_in_cgroup(backend, cold, limit):
    if cold:
        drop_cache(FILES.source)
    with Cgroup(limit) as cgroup:
        doc = netweight("load", FILES.source, "--dtype", "fp8_e4m3", "--digest", "--backend",
                        backend, cgroup=cgroup)
        check(doc, FILES.expected)
        assert cgroup.kills() == 0
        return (f"limit {limit / MIB:.0f} MiB, cgroup peak {cgroup.peak() / MIB:.0f} MiB, "
                f"predicted {doc['result']['predicted_peak_bytes'] / MIB:.0f} MiB, "
                f"{doc['result']['backend']}, {doc['result']['seconds']:.2f} s")


def test_load_cold():
    return load_in_cgroup("auto", True, FINAL + 128 * MIB)


def test_load_warm():
    with open(FILES.source, "rb", buffering=0) as f:
        while f.read(8 * MIB):
            pass
    return load_in_cgroup("auto", False, FINAL + 128 * MIB)


def test_load_mmap():
    return load_in_cgroup("mmap", True, FINAL + 128 * MIB)


def test_load_pread():
    return load_in_cgroup("pread", True, FINAL + 128 * MIB)


def convert_in_cgroup(limit, *options):
    target = f"{FILES.folder}/out.safetensors"
    drop_cache(FILES.source)
    with Cgroup(limit) as cgroup:
        doc = netweight("convert", FILES.source, target, "--overwrite", *options,
                        cgroup=cgroup)
        assert cgroup.kills() == 0
        note = (f"limit {limit / MIB:.0f} MiB, cgroup peak {cgroup.peak() / MIB:.0f} MiB, "
                f"resident peak {doc['result']['rss_peak_bytes'] / MIB:.0f} MiB, "
                f"{doc['result']['seconds']:.2f} s")
    return target, note


def test_convert():
    """fp8, and as it is: there only the scratch may be held."""
    target, note = convert_in_cgroup(FINAL + 128 * MIB, "--dtype", "fp8_e4m3")
    check(netweight("load", target, "--digest"), FILES.expected)
    return note


def test_convert_same_dtype():
    target, note = convert_in_cgroup(128 * MIB)
    check(netweight("load", target, "--dtype", "fp8_e4m3", "--digest"), FILES.expected)
    os.remove(target)
    return note


def test_budget_auto():
    """In a cgroup that is too small the plan refuses before anything is read."""
    with Cgroup(FINAL - 32 * MIB) as cgroup:
        done = subprocess.run([COMMAND, "load", FILES.source, "--dtype", "fp8_e4m3",
                               "--budget", "auto", "--json"], capture_output=True,
                              preexec_fn=cgroup.enter)
        doc = json.loads(done.stdout)
        assert done.returncode == 3 and doc["error"]["code"] == "BUDGET", doc.get("error")
        assert doc["fits"] == "no" and doc["machine"]["source"] == "cgroup"
        assert cgroup.kills() == 0


# ---- beyond 32 bits -----------------------------------------------------------------

HUGE = [("first", 3), ("huge", 1_150_000_000), ("behind", 1000)]


def sparse_file():
    """Zeros, but for the values at both ends of each tensor."""
    path = f"{FILES.folder}/huge.safetensors"
    start, size = header(path, HUGE)
    with open(path, "r+b") as f:
        f.truncate(start + size)
        f.seek(start)
        f.write(F32[:12] + F32)
        f.seek(start + 12 + 4 * HUGE[1][1] - 32)
        f.write(F32 + F32 * 125)
    return path


def huge_crc():
    zeros, crc = bytes(16 * MIB), zlib.crc32(FP8)
    left = HUGE[1][1] - 16
    while left:
        n = min(left, len(zeros))
        crc = zlib.crc32(zeros[:n], crc)
        left -= n
    return f"{zlib.crc32(FP8, crc):08x}"


def test_sizes_beyond_32_bits():
    path = sparse_file()
    expected = {"first": f"{zlib.crc32(FP8[:3]):08x}", "huge": huge_crc(),
                "behind": pattern_crc(1000)}
    doc = netweight("inspect", path, "--tensors")
    assert max(row["offset"] for row in doc["list"]) > 1 << 32
    assert max(row["nbytes"] for row in doc["list"]) > 1 << 32
    backends = ["auto", "mmap", "pread", "direct", "uring"] if LONG else ["auto"]
    for backend in backends:
        check(netweight("load", path, "--dtype", "fp8_e4m3", "--digest", "--backend", backend),
              expected)
    target = f"{FILES.folder}/huge-out.safetensors"
    netweight("convert", path, target, "--dtype", "fp8_e4m3")
    check(netweight("load", target, "--digest"), expected)
    os.remove(target)
    doc = netweight("load", path, "--only", "behind", "--copy", "always", "--digest")
    assert doc["targets"][0]["crc32"] == f"{zlib.crc32(F32 * 125):08x}"
    assert doc["result"]["read_bytes"] < 16384
    slices(path)


def slices(path):
    if not os.path.exists(LIBRARY):
        print("     slices: skipped, NETWEIGHT_LIBRARY does not name the library")
        return
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../parity"))
    import nwlib
    with nwlib.Checkpoint(path) as ckpt:
        index, _, shape, _, _ = ckpt.tensors()["huge"]
        assert ckpt.read(index, shape[0] - 8, 8, 32) == F32
        assert ckpt.read(index, shape[0] - 9, 2, 8) == bytes(4) + F32[:4]
        assert ckpt.read(index, 0, 9, 36) == F32 + bytes(4)
        assert ckpt.read(ckpt.tensors()["behind"][0], 992, 8, 32) == F32


def main():
    global FILES
    if not os.path.exists(COMMAND):
        print(f"memory: skipped, NETWEIGHT does not name the command ({COMMAND})")
        return 0
    passed = failed = skipped = 0
    try:
        with Files() as FILES:
            for name, test in list(globals().items()):
                if not name.startswith("test_") or (sys.argv[1:] and name not in sys.argv):
                    continue
                begin = time.monotonic()
                try:
                    note = test() or ""
                    print(f"ok   {name} ({time.monotonic() - begin:.1f} s) {note}", flush=True)
                    passed += 1
                except Skip as reason:
                    print(f"skip {name}: {reason}", flush=True)
                    skipped += 1
                except Exception as error:  # the other tests are still worth their time
                    line = error.__traceback__
                    while line.tb_next:
                        line = line.tb_next
                    print(f"FAIL {name}, line {line.tb_lineno}: {error!r}"[:1500], flush=True)
                    failed += 1
    except Skip as reason:
        print(f"memory: skipped, {reason}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
