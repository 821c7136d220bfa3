# SPDX-License-Identifier: Apache-2.0
"""The figures that netweight has to reach, measured on this machine.

    run.py [--json] [--only NAME]... [--rounds N] [--list]

Every figure is a ratio within one run: the two sides alternate, each in a fresh process,
and the medians are compared. Each process touches memory before it is timed (see warm.h), the state
of the page cache is made and checked with mincore. Uses build/front, or the folder of NETWEIGHT_LIBRARY."""
import argparse
import ctypes
import json
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time

import make_files
from make_files import FOLDER, HERE, ROOT

MIB = 1 << 20
WARM = 4 << 30  # bytes: more than any result here
LIBRARY = os.environ.get("NETWEIGHT_LIBRARY") or os.path.join(
    ROOT, "build/front/libnetweight.so")
LIBC = ctypes.CDLL(None, use_errno=True)
ROWS = {}  # name -> function of the rounds, yields rows


class Skip(Exception):
    pass


def row(function):
    ROWS[function.__name__.replace("_", "-")] = function
    return function


# ---- programs -----------------------------------------------------------------------

def program(name, *links):
    """Compiles bench/NAME.c against the shared library."""
    path = os.path.join(FOLDER, name)
    subprocess.run(["cc", "-std=c11", "-O3", f"-I{ROOT}/include", f"{HERE}/{name}.c", "-o",
                    path, *links, "-pthread"], check=True)
    return path


def build():
    if not os.path.exists(LIBRARY):
        sys.exit(f"bench: {LIBRARY} is not there; build it first (make release)")
    program("driver", LIBRARY, f"-Wl,-rpath,{os.path.dirname(os.path.abspath(LIBRARY))}")
    program("limit")


def python():
    for path in (os.path.join(ROOT, ".venv/bin/python"), sys.executable):
        if os.path.exists(path) and subprocess.run(
                [path, "-c", "import torch, safetensors"], capture_output=True).returncode == 0:
            return path
    raise Skip("torch and safetensors are not installed")


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr[-300:]}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def driver(*args):
    return run(f"{FOLDER}/driver", *args, f"warm={WARM}")


def timed(*args):
    """Seconds, without the thread that samples peaks."""
    return seconds(driver(*args, "sample=0"))


def seconds(doc):
    return doc.get("open_seconds", 0) + doc.get("plan_seconds", 0) + doc["run_seconds"]


def alternate(rounds, *sides):
    """Calls the sides in turn; each one's list of results."""
    results = [[] for _ in sides]
    for _ in range(rounds):
        for side, result in zip(sides, results):
            result.append(side())
    return results


def median(values):
    return statistics.median(values)


# ---- memory and page cache ----------------------------------------------------------

def resident(path):
    """The part of a file that is in the page cache."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        area = mmap.mmap(f.fileno(), size, access=mmap.ACCESS_COPY)
        pages = (size + 4095) // 4096
        there = (ctypes.c_ubyte * pages)()
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        if LIBC.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), there):
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(b & 1 for b in bytes(there)) / pages


def drop_all():
    if os.geteuid() == 0:
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("1")


def make_warm(path):
    """Pages read once make room before those of other files do: then all have to go."""
    buffer = bytearray(8 * MIB)
    for _ in range(3):
        with open(path, "rb", buffering=0) as f:
            while f.readinto(buffer):
                pass
        if resident(path) > 0.999:
            return
        drop_all()
    raise Skip(f"{os.path.basename(path)} does not stay in the page cache")


def make_cold(path):
    for _ in range(10):
        with open(path, "rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if resident(path) > 0.001:
            drop_all()
        if resident(path) < 0.001:
            return
        time.sleep(0.5)  # whoever uses it may come to an end
    raise Skip(f"{os.path.basename(path)} cannot be dropped from the page cache")


# ---- rows: (what, target, reached, met, note) ----------------------------------------

def ratio(what, at_least, reached, note):
    return what, f">= {at_least:g}x", f"{reached:.2f}x", reached >= at_least, note


def warm_cast(dtype, at_least, rounds):
    path, reference = make_files.unet(), python()
    make_warm(path)
    ours, theirs = alternate(
        rounds, lambda: timed("load", path, f"dtype={dtype}"),
        lambda: seconds(run(reference, f"{HERE}/reference.py", path, WARM, dtype)))
    yield ratio(f"warm load, fp32 -> {dtype}, against load_file + .to", at_least,
                median(theirs) / median(ours),
                f"{median(ours):.2f} s, theirs {median(theirs):.2f} s")


@row
def warm_fp8(rounds):
    yield from warm_cast("fp8_e4m3", 2.5, rounds)


@row
def warm_bf16(rounds):
    yield from warm_cast("bf16", 3.5, rounds)


@row
def limit(rounds):
    """Both casts against threads that only read the source and touch the result."""
    path = make_files.unet()
    make_warm(path)
    for dtype in ("fp8_e4m3", "bf16"):
        probe = driver("load", path, f"dtype={dtype}", "sample=0")
        threads = max(1, probe["threads"])
        ours, best = alternate(
            rounds, lambda: timed("load", path, f"dtype={dtype}"),
            lambda: seconds(run(f"{FOLDER}/limit", path, probe["final_bytes"], threads, WARM)))
        yield ratio(f"the same, -> {dtype}, against the limit", 0.8,
                    median(best) / median(ours),
                    f"{median(ours):.2f} s, limit {median(best):.2f} s, {threads} threads")


@row
def warm_map(rounds):
    path, reference = make_files.mixed(), python()
    make_warm(path)
    ours, theirs = alternate(rounds, lambda: timed("load", path),
                             lambda: seconds(run(reference, f"{HERE}/reference.py", path, WARM)))
    note = f"{median(ours) * 1e3:.2f} ms, theirs {median(theirs) * 1e3:.1f} ms"
    yield ratio("warm load, same dtype, 1,131 tensors, against load_file", 1,
                median(theirs) / median(ours), note)
    yield ("the same, time", "< 5 ms", f"{median(ours) * 1e3:.2f} ms", median(ours) < 5e-3,
           "")


def read_by_dd(path, *flags):
    begin = time.perf_counter()
    run("dd", f"if={path}", "of=/dev/null", "bs=8M", *flags)
    return time.perf_counter() - begin


def read_by_fio(path):
    """Its own figure of the time: starting fio takes long."""
    doc = run("fio", "--name=read", f"--filename={path}", "--rw=read", "--bs=4M",
              "--direct=1", "--iodepth=16", "--ioengine=libaio", "--readonly",
              "--output-format=json")
    return doc["jobs"][0]["read"]["runtime"] / 1e3


@row
def cold_cast(rounds):
    path = make_files.unet()
    size = os.path.getsize(path)
    sides = {"ours": lambda: timed("load", path, "dtype=fp8_e4m3"),
             "dd direct": lambda: read_by_dd(path, "iflag=direct"),
             "dd": lambda: read_by_dd(path)}
    if shutil.which("fio"):
        sides["fio"] = lambda: read_by_fio(path)

    def cold(side):
        make_cold(path)
        return side()

    times = alternate(rounds, *[lambda side=side: cold(side) for side in sides.values()])
    speed = {name: size / median(t) / 1e9 for name, t in zip(sides, times)}
    best = max(v for name, v in speed.items() if name != "ours")
    note = ", ".join(f"{name} {v:.2f}" for name, v in speed.items()) + " GB/s"
    if "fio" not in sides:
        note += ", fio is absent"
    yield ratio("cold load, fp32 -> fp8_e4m3, against the best reader", 0.95,
                speed["ours"] / best, note)


@row
def peak(_):
    path = make_files.unet()
    for state, make in (("warm", make_warm), ("cold", make_cold)):
        for dtype in ("fp8_e4m3", "bf16"):
            make(path)
            doc = driver("load", path, f"dtype={dtype}")
            anon, rss = (doc[k] - doc["final_bytes"] for k in (
                "anon_peak_bytes", "rss_peak_bytes"))
            what = f"{state} -> {dtype}, {doc['backend']}"
            yield (f"anonymous peak over final, {what}", "<= 64 MiB",
                   f"{anon / MIB:.1f} MiB", anon <= 64 * MIB, f"{doc['samples']} samples")
            yield (f"resident peak over final, {what}", "<= 96 MiB", f"{rss / MIB:.1f} MiB",
                   rss <= 96 * MIB, "")
            predicted, allocated = doc["predicted_peak_bytes"], doc["peak_bytes"]
            yield (f"predicted peak by what was allocated, {what}", "1 .. 1.02",
                   f"{predicted / allocated:.4f}", 1 <= predicted / allocated <= 1.02,
                   f"predicted {predicted / MIB:.1f}, allocated {allocated / MIB:.1f}, "
                   f"resident {doc['rss_peak_bytes'] / MIB:.1f} MiB")


def copy_and_sync(path, target):
    begin = time.perf_counter()
    run("cp", path, target)
    fd = os.open(target, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return time.perf_counter() - begin


@row
def convert(rounds):
    path, target = make_files.mixed(), f"{FOLDER}/out.safetensors"
    catalog = driver("open", path)["predicted_peak_bytes"]
    documents = []

    def fresh(side):
        if os.path.exists(target):
            os.remove(target)
        os.sync()
        make_warm(path)
        return side()

    def ours():
        documents.append(driver("convert", path, target))
        return seconds(documents[-1])

    times, theirs = alternate(rounds, lambda: fresh(ours),
                              lambda: fresh(lambda: copy_and_sync(path, target)))
    os.remove(target)
    rss = max(doc["rss_peak_bytes"] for doc in documents)
    yield ratio("convert, same dtype, against cp + fsync", 0.8,
                median(theirs) / median(times),
                f"{median(times):.2f} s, cp {median(theirs):.2f} s")
    yield ("convert, resident peak", "<= 64 MiB + catalog", f"{rss / MIB:.1f} MiB",
           rss <= 64 * MIB + catalog, f"catalog {catalog / MIB:.1f} MiB")


@row
def open_plan(rounds):
    for n, most in ((2515, 0.010), (200_000, 0.5)):
        path = make_files.many(n)
        driver("open", path)  # only the header has to be warm
        times = [driver("open", path, "sample=0") for _ in range(rounds)]
        total = median([doc["open_seconds"] + doc["plan_seconds"] for doc in times])
        yield (f"open + plan, {n:,} tensors", f"<= {most * 1e3:g} ms", f"{total * 1e3:.2f} ms",
               total <= most, f"open {median([t['open_seconds'] for t in times]) * 1e3:.2f} ms")


# ---- through a layout ----------------------------------------------------------------

def known(path):
    if not path:
        raise Skip("the facts about the model are not here")
    return path


@row
def plan_command(rounds):
    """The command itself, process start included."""
    path = known(make_files.facts("sdxl/sdxl-base.single-file.json.gz") and make_files.many(2515))
    command = os.environ.get("NETWEIGHT") or os.path.join(os.path.dirname(LIBRARY), "netweight")

    def once():
        begin = time.perf_counter()
        run(command, "plan", path, "--component", "unet", "--json")
        return time.perf_counter() - begin
    once()
    times, = alternate(max(rounds, 9), once)
    yield ("plan of an SDXL file, 2,515 tensors, process included", "<= 15 ms",
           f"{median(times) * 1e3:.1f} ms", median(times) <= 0.015, "")


@row
def layout_load(rounds):
    """Original names, cast: against diffusers' from_single_file."""
    path, reference = known(make_files.original_unet()), python()
    make_warm(path)
    for dtype, least in (("fp8_e4m3", 3), ("bf16", 5)):
        ours, theirs = alternate(
            rounds, lambda: timed("load", path, f"dtype={dtype}", "class=UNet2DConditionModel"),
            lambda: seconds(run(reference, f"{HERE}/single_file.py", path, WARM, dtype)))
        yield ratio(f"SD1.5 UNet through its layout, fp32 -> {dtype}, against from_single_file",
                    least, median(theirs) / median(ours),
                    f"{median(ours):.2f} s, theirs {median(theirs):.2f} s")


@row
def layout_peak(_):
    path = known(make_files.original_flux())
    doc = driver("load", path, "dtype=fp8_e4m3", "class=FluxTransformer2DModel")
    anon = doc["anon_peak_bytes"] - doc["final_bytes"]
    yield ("FLUX.1-dev bf16 -> fp8 through its layout, anonymous peak over final", "<= 64 MiB",
           f"{anon / MIB:.1f} MiB", anon <= 64 * MIB,
           f"final {doc['final_bytes'] / 1e9:.1f} GB, {doc['run_seconds']:.1f} s")


@row
def layout_convert(rounds):
    path, target = known(make_files.original_unet("F16")), f"{FOLDER}/out.safetensors"
    catalog = driver("open", path)["predicted_peak_bytes"]
    documents = []

    def fresh(side):
        if os.path.exists(target):
            os.remove(target)
        os.sync()
        make_warm(path)
        return side()

    def ours():
        documents.append(driver("convert", path, target, "class=UNet2DConditionModel"))
        return seconds(documents[-1])

    times, theirs = alternate(rounds, lambda: fresh(ours),
                              lambda: fresh(lambda: copy_and_sync(path, target)))
    os.remove(target)
    rss = max(doc["rss_peak_bytes"] for doc in documents)
    yield ratio("original -> diffusers, 1.7 GB, against cp + fsync", 0.7,
                median(theirs) / median(times),
                f"{median(times):.2f} s, cp {median(theirs):.2f} s")
    yield ("the same, resident peak", "<= 64 MiB + catalog", f"{rss / MIB:.1f} MiB",
           rss <= 64 * MIB + catalog, f"catalog {catalog / MIB:.1f} MiB")


@row
def library_size(_):
    stripped = f"{FOLDER}/stripped.so"
    run("strip", "-o", stripped, os.path.realpath(LIBRARY))
    size = os.path.getsize(stripped)
    os.remove(stripped)
    yield ("shared library, stripped", "<= 1 MB", f"{size / 1e6:.2f} MB", size <= 1_000_000,
           "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(ROWS))
        return 0
    for name in set(options.only) - set(ROWS):
        parser.error(f"no such row: {name}")
    os.makedirs(FOLDER, exist_ok=True)
    build()
    table = []
    for name, measure in ROWS.items():
        if options.only and name not in options.only:
            continue
        try:
            for what, target, reached, met, note in measure(options.rounds):
                table.append({"row": name, "what": what, "target": target,
                              "reached": reached, "met": met, "note": note})
                if not options.json:
                    print(f"{'yes' if met else 'NO':4}{what:58}{target:>20}{reached:>12}   "
                          f"{note}", flush=True)
        except (Skip, RuntimeError, OSError) as reason:
            table.append({"row": name, "skipped": str(reason)})
            if not options.json:
                print(f"--  {name}: {reason}", flush=True)
    if options.json:
        print(json.dumps(table, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
