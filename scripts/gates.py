# SPDX-License-Identifier: Apache-2.0
"""The gates, in the order in which they start. Each docstring says what is checked."""
import json
import os
import platform
import re
import subprocess

from gate import Failed, Gate, Skip, count_ctest

GATES = []


def gate(group="test", after=(), alone=False):
    def add(run):
        GATES.append(Gate(run, group, after, alone))
        return run
    return add


def files(*patterns):
    """Files that git tracks, or would: not what was built."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                              "--", *patterns], capture_output=True, text=True, check=True)
    return sorted(f for f in set(listing.stdout.splitlines()) if os.path.exists(f))


def build(ctx, preset, *configure):
    ctx.check("cmake", "--preset", preset, *configure)
    ctx.check("cmake", "--build", "--preset", preset, "-j", ctx.cores)


def ctest(ctx, preset, *options, **env):
    """Tests under a sanitizer want addresses where its shadow expects them."""
    fixed = ["setarch", platform.machine(), "-R"]
    front = fixed if ctx.run(*fixed, "true")[0] == 0 else []
    what = options or ("-LE", "timing")
    ctx.suite(*front, "ctest", "--test-dir", f"build/{preset}", "-V", "--timeout", 900,
              "-j", ctx.cores, *what, counter=count_ctest, **env)


def dependencies_met():
    return bool(os.environ.get("CI")) or os.environ.get("PARITY") == "1"


# ---- builds and what runs on them; the long ones start first ----

@gate()
def dev(ctx):
    """gcc, assertions on: every test program."""
    build(ctx, "dev")
    ctest(ctx, "dev")


@gate()
def release(ctx):
    """gcc -O2, assertions off, as it is shipped: every test program."""
    build(ctx, "release")
    ctest(ctx, "release")


@gate("lint")
def tidy(ctx):
    """clang-tidy on every file of src/ and cli/."""
    ctx.need("clang-tidy", "clang")
    ctx.check("cmake", "--preset", "tidy", "-DNETWEIGHT_TESTS=OFF", "-DNETWEIGHT_EXAMPLES=OFF")
    with open("build/tidy/compile_commands.json", encoding="utf-8") as file:
        known = sorted({os.path.relpath(entry["file"]) for entry in json.load(file)})
    ctx.each(known, lambda name: ["clang-tidy", "--quiet", "-p", "build/tidy", name])


@gate("lint")
def analyzer(ctx):
    """gcc -fanalyzer finds nothing."""
    build(ctx, "analyze")
    ctx.counts.passed += 1


@gate()
def asan(ctx):
    """clang with address and undefined-behaviour sanitizers: every test program."""
    ctx.need("clang")
    build(ctx, "asan")
    ctest(ctx, "asan")


@gate()
def tsan(ctx):
    """Thread sanitizer: what starts threads (under --long with every refusal of memory)."""
    build(ctx, "tsan")
    faults = "fault" if ctx.long else "fault/(same|sinks|reads)"
    ctest(ctx, "tsan", "-LE", "timing", "-R", f"{faults}|unit/run_|examples")


@gate()
def clang(ctx):
    """clang without sanitizers: builds without a warning, and every test program."""
    ctx.need("clang")
    build(ctx, "clang")
    ctest(ctx, "clang")


@gate()
def fuzz_build(ctx):
    """The libFuzzer targets build."""
    ctx.need("clang")
    build(ctx, "fuzz", "-DNETWEIGHT_TESTS=OFF")
    ctx.counts.passed += 1


@gate(after=("fuzz-build",))
def fuzz(ctx):
    """Each target runs on its corpus for FUZZ_SECONDS (20; 600 under --long)."""
    targets = sorted(f for f in os.listdir("build/fuzz/tests/fuzz") if f.startswith("fuzz_")
                     and os.access(f"build/fuzz/tests/fuzz/{f}", os.X_OK))
    if not targets:
        raise Failed("no targets were built")
    ctx.each(targets, lambda name: fuzz_command(ctx, name), timeout=ctx.fuzz_seconds + 300)


def fuzz_command(ctx, name):
    short = name.removeprefix("fuzz_")
    grown = f"build/test/corpus-{short}"  # new inputs go here, never into the tree
    os.makedirs(grown, exist_ok=True)
    command = [f"build/fuzz/tests/fuzz/{name}", f"-max_total_time={ctx.fuzz_seconds}",
               "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1",
               f"-artifact_prefix=build/test/{short}-"]
    dictionary = f"tests/fuzz/{short}.dict"
    if os.path.exists(dictionary):
        command.append(f"-dict={dictionary}")
    return command + [grown] + [d for d in (f"tests/fuzz/corpus/{short}",) if os.path.isdir(d)]


# ---- the rules of the house ----

@gate("lint")
def format(ctx):
    """clang-format changes nothing."""
    ctx.need("clang-format")
    ctx.suite("clang-format", "--dry-run", "-Werror", *files("*.c", "*.h"))


@gate("lint")
def rules(ctx):
    """Text, include order, lengths; each check is first shown to fail on a bad example."""
    ctx.suite("tests/lint/selftest.sh")
    ctx.suite("python3", "tests/lint/runner_test.py")
    for check in ("text.sh", "include_order.sh", "shape.py"):
        ctx.suite(f"tests/lint/{check}")


@gate("lint")
def cppcheck(ctx):
    """cppcheck finds nothing."""
    ctx.need("cppcheck")
    ctx.suite("cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability",
              "--inline-suppr", "--error-exitcode=1", "--suppress=missingIncludeSystem",
              "-j", ctx.cores, "-Iinclude", "-Isrc", "-D__linux__=1", "-D__x86_64__=1",
              "src", "cli")


@gate(after=("release",))
def library(ctx):
    """What the shared library exports and imports, and its size."""
    shared, static = "build/release/libnetweight.so", "build/release/libnetweight.a"
    ctx.suite("tests/lint/symbols.sh", shared, static)
    ctx.suite("tests/lint/imports.sh", shared)
    ctx.suite("tests/lint/size.sh", shared)


# ---- as a stranger builds it ----

@gate()
def header(ctx):
    """The public header compiles alone, as C11 and as C++."""
    ctx.suite("tests/build/header.sh")


@gate()
def plain_cc(ctx):
    """One cc command without any build system makes the library and the command."""
    ctx.suite("tests/build/plain_cc.sh")


@gate(after=("release",))
def consumers(ctx):
    """Installed and used by pkg-config and CMake, and used as a subdirectory."""
    ctx.suite("tests/build/consumers.sh", "build/release")


@gate(after=("release",))
def documents(ctx):
    """README, man pages, completions: what they say is so."""
    ctx.suite("tests/build/documents.sh", "build/release")


@gate(after=("release",))
def demo(ctx):
    """The demo, with its own model and with a given one."""
    small = "build/test/small.safetensors"
    ctx.check("build/release/examples/write_checkpoint", "examples/demo/small.txt", small)
    for model in ("", small):
        text = ctx.check("examples/demo/run.sh", "build/release", MODEL=model)
        for step in ("load", "convert"):
            if not re.search(rf"^{step} +\S+ \S+ predicted, \S+ \S+ measured$", text, re.M):
                raise Failed(f"no figures of {step}")
        ctx.counts.passed += 1


# ---- the command and the library from outside ----

@gate(after=("dev",))
def command(ctx):
    """The command: outputs, exit statuses, interrupts."""
    suite_of(ctx, "tests/cli")


@gate(after=("dev",))
def valgrind(ctx):
    """Each subcommand on a small checkpoint, under valgrind."""
    ctx.need("valgrind")
    ctx.suite("tests/build/valgrind.sh", "build/dev")


@gate(after=("release",))
def models(ctx):
    """Skeletons as the real classes have them (without the packages: as recorded), real headers
    recognised, values through every layout and back."""
    python = ".venv/bin/python" if dependencies_met() else "python3"
    skeleton, netweight = "build/release/tests/skeleton", "build/release/netweight"
    ctx.suite(python, "tests/model/compare.py", skeleton)
    ctx.suite("python3", "tests/model/recognise.py", netweight)
    ctx.suite("python3", "tests/model/convert.py", netweight, skeleton)


@gate()
def qemu(ctx):
    """Kernels on old x86-64 CPUs and on aarch64, emulated."""
    ctx.need("qemu-x86_64")
    suite_of(ctx, "tests/kernel", "qemu.sh")


@gate(after=("release",))
def every_f32(ctx):
    """Every kernel on all 2^32 F32 inputs (only under --long)."""
    if not ctx.long:
        raise Skip("half an hour; make test-long runs it")
    ctx.suite("build/release/tests/cast_check", "--all", timeout=3 * 3600)


@gate(after=("release",))
def parity(ctx):
    """The same files in the real safetensors and torch."""
    if not dependencies_met():
        raise Skip("comparisons with safetensors and torch need CI or PARITY=1")
    ctx.suite(".venv/bin/python", "-m", "pytest", "-q", "-rs", "tests/parity", **released(ctx))


@gate(after=("release",))
def kills(ctx):
    """Conversions killed at any point leave what was there."""
    suite_of(ctx, "tests/property", **released(ctx))


@gate(after=("release",), alone=True)
def timing(ctx):
    """Tests that measure time."""
    ctest(ctx, "release", "-L", "timing")


@gate(after=("release",), alone=True)
def memory(ctx):
    """Inside a memory cgroup of the promised size; sizes beyond 32 bits."""
    suite_of(ctx, "tests/memory", **released(ctx))


def released(ctx):
    """What is tested from outside, as it is shipped."""
    return {"NETWEIGHT": str(ctx.root / "build/release/netweight"),
            "NETWEIGHT_LIBRARY": str(ctx.root / "build/release/libnetweight.so")}


def suite_of(ctx, folder, *names, **env):
    """Runs scripts of a folder: those named, else its run.py and its *_test.py."""
    names = names or [name for name in sorted(os.listdir(folder))
                      if name == "run.py" or name.endswith("_test.py")]
    if not names:
        raise Failed(f"nothing to run in {folder}")
    for name in names:
        runner = "python3" if name.endswith(".py") else "bash"
        ctx.suite(runner, f"{folder}/{name}", **env)
