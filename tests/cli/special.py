# SPDX-License-Identifier: Apache-2.0
"""What a file of cases cannot say: signals, terminals, shells, pipes, the pages of the manual."""
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

import files

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMANDS = ("inspect", "plan", "load", "convert", "diff", "verify", "families")
TESTS = []


class Skip(Exception):
    pass


def special(function):
    TESTS.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def run(binary, env, *args, folder=None, **more):
    return subprocess.run([binary, *args], env=env, cwd=folder, capture_output=True, text=True,
                          timeout=120, check=False, **more)


class Terminal:
    """Runs a command whose outputs are a terminal; .output is what it showed."""

    def __init__(self, columns, command, env, folder, stdout=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=slave, stdout=stdout or slave, stderr=slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.output = ""

    def read(self, until=None, seconds=60):
        """Reads to the end, or until a pattern was seen."""
        end = time.monotonic() + seconds
        while until is None or not re.search(until, self.output):
            expect(time.monotonic() < end, f"{until!r} never came: {self.output!r}")
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.master, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                piece = b""
            if not piece:
                expect(until is None, f"{until!r} never came: {self.output!r}")
                break
            self.output += piece.decode(errors="replace")
        return self.output

    def type(self, text):
        os.write(self.master, text)

    def wait(self):
        self.read()
        os.close(self.master)
        return self.process.wait(60)


def slow_input(folder, gib=8):
    """A file that takes seconds to read with one thread, and no room on the disk."""
    files.write(folder, "big.safetensors", {"sparse": ["w", "F32", [gib * 256, 1024, 1024]]})


def wait_for_handler(process):
    """Until SIGINT is caught: a loaded machine may take its time to start a command."""
    end = time.monotonic() + 30
    while True:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            caught = re.search(r"^SigCgt:\s*(\w+)", status.read(), re.M)
        if caught and int(caught[1], 16) >> (signal.SIGINT - 1) & 1:
            return
        expect(time.monotonic() < end, "SIGINT is never caught")
        time.sleep(0.01)


# ---- signals ----

@special
def interrupted_load(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        slow_input(folder)
        command = [binary, "load", "big.safetensors", "--dtype", "fp8_e4m3", "--threads", "0"]
        terminal = Terminal(100, command, env, folder)
        output = terminal.read(r"%")
        expect(re.search(r"load \[#*-+\] +\d+%  \S+ .B of 8\.59 GB  \S+ .B/s  \d+:\d\d left",
                         output), f"no bar: {output!r}")
        terminal.type(b"\x03")
        status = terminal.wait()
        expect(status == 130, f"exit status {status}: {terminal.output!r}")
        expect("\r\x1b[K" in terminal.output, "the bar was left behind")
        expect("(CANCELLED)" in terminal.output, f"no message: {terminal.output!r}")


@special
def interrupted_convert_leaves_nothing(binary, env):
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            slow_input(folder)
            process = subprocess.Popen(
                [binary, "convert", "big.safetensors", "out.safetensors", "--dtype", "fp16",
                 "--json"], env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            end = time.monotonic() + 30
            while len(os.listdir(folder)) == 1:
                expect(time.monotonic() < end, "no temporary file was seen")
                time.sleep(0.01)
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            expect(process.returncode == 130, f"exit status {process.returncode}")
            expect(b'"CANCELLED"' in out, f"no document: {out!r}")
            left = os.listdir(folder)
            expect(left == ["big.safetensors"], f"left behind: {left}")


@special
def interrupted_where_nothing_is_undone(binary, env):
    for args in (["inspect", "--hash", "sha256"], ["verify"], ["diff", "--values"]):
        with tempfile.TemporaryDirectory() as folder:
            slow_input(folder, 32)
            paths = ["big.safetensors"] * (2 if args[0] == "diff" else 1)
            process = subprocess.Popen([binary, *args, *paths], env=env, cwd=folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            wait_for_handler(process)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
            if b"sha256" in err and b"UNSUPPORTED" in err:
                continue
            expect(process.returncode == 130, f"{args}: exit status {process.returncode} {err}")


# ---- terminals ----

def small(folder):
    files.write(folder, "m.safetensors", {
        "tensors": [["down_blocks.0.attentions.1.transformer_blocks.0.attn1.to_q.weight", "F32",
                     [4, 4]], ["漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", "F16", [1]]],
        "metadata": {"a": "\x1b]0;title\x07" + "long " * 60}})


@special
def tables_fit_the_terminal(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        small(folder)
        for columns, extra in ((100, {}), (80, {}), (45, {}), (20, {}), (132, {"COLUMNS": "60"})):
            terminal = Terminal(columns, [binary, "inspect", "--tensors", "m.safetensors",
                                          "--color", "never"], env | extra, folder)
            expect(terminal.wait() == 0, terminal.output)
            width = int(extra.get("COLUMNS", columns))
            for line in terminal.output.splitlines():
                wide = sum(2 if ord(c) > 0x2e80 else 1 for c in line)
                expect(wide <= width, f"{wide} of {width} columns: {line!r}")
            expect("\x1b" not in terminal.output, "a name reached the terminal raw")
            expect(columns == 20 or "..." in terminal.output, "nothing was cut")


@special
def pipes_are_not_cut(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        small(folder)
        result = run(binary, env | {"COLUMNS": "30"}, "inspect", "--tensors", "m.safetensors",
                     folder=folder)
        expect("attentions.1.transformer_blocks.0.attn1.to_q.weight" in result.stdout and
               "..." not in result.stdout, result.stdout)
        expect(r"\x1b]0;title\x07" in result.stdout, "control characters are not escaped")


@special
def colours(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        small(folder)
        for extra, option, wanted in (({}, "auto", True), ({"NO_COLOR": "1"}, "auto", False),
                                      ({"TERM": "dumb"}, "auto", False), ({}, "never", False),
                                      ({"NO_COLOR": "1"}, "always", True)):
            terminal = Terminal(80, [binary, "inspect", "m.safetensors", "--color", option],
                                env | extra, folder)
            expect(terminal.wait() == 0, terminal.output)
            expect(("\x1b[1m" in terminal.output) == wanted, f"{extra} {option}")
        piped = run(binary, env, "inspect", "m.safetensors", folder=folder).stdout
        expect("\x1b" not in piped, "colour in a pipe")


@special
def no_bar_unless_wanted(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        slow_input(folder, 32)
        for options in (["--no-progress"], ["-q"]):
            terminal = Terminal(80, [binary, "verify", "big.safetensors", *options], env, folder)
            time.sleep(1)
            terminal.type(b"\x03")
            expect(terminal.wait() == 130, terminal.output)
            expect("%" not in terminal.output, f"{options}: {terminal.output!r}")


# ---- pipes and disks ----

@special
def full_disk_is_a_failure(binary, env):
    with open("/dev/full", "wb") as full:
        for args in (["--help"], ["--version"], ["families", "--json"]):
            result = subprocess.run([binary, *args], env=env, stdout=full, stderr=subprocess.PIPE,
                                    check=False, text=True)
            expect(result.returncode == 1 and "standard output" in result.stderr and
                   "(IO)" in result.stderr, f"{args}: {result}")


@special
def closed_pipe_is_quiet(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        files.write(folder, "m.safetensors", {
            "tensors": [[f"name.{i}", "U8", [1]] for i in range(20000)]})
        process = subprocess.Popen([binary, "inspect", "--tensors", "m.safetensors"], env=env,
                                   cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        expect(process.wait(60) in (-signal.SIGPIPE, 1), process.returncode)
        expect(err == b"", err)


# ---- hashes ----

@special
def hashes_are_those_of_the_sites(binary, env):
    has_sha256 = "sha256: yes" in run(binary, env, "--version").stdout
    with tempfile.TemporaryDirectory() as folder:
        small(folder)
        result = run(binary, env, "inspect", "m.safetensors", "--json", "--hash",
                     "sha256,autov2,autov3", folder=folder)
        if not has_sha256:
            expect(result.returncode == 1 and "(UNSUPPORTED)" in result.stderr, result)
            raise Skip("built without libcrypto")
        blob = pathlib.Path(folder, "m.safetensors").read_bytes()
        whole = hashlib.sha256(blob).hexdigest()
        data = hashlib.sha256(blob[8 + int.from_bytes(blob[:8], "little"):]).hexdigest()
        wanted = {"file": "m.safetensors", "sha256": whole, "autov2": whole[:10],
                  "autov3": data[:12]}
        expect(json.loads(result.stdout)["hashes"] == [wanted], result.stdout)
        text = run(binary, env, "inspect", "m.safetensors", "--hash", "autov3", folder=folder)
        expect(data[:12] in text.stdout and whole not in text.stdout, text.stdout)
        result = run(binary, env, "convert", "m.safetensors", "o.safetensors", "--dtype", "fp16",
                     "--json", "--hash", "sha256", folder=folder)
        out = hashlib.sha256(pathlib.Path(folder, "o.safetensors").read_bytes()).hexdigest()
        expect(json.loads(result.stdout)["hashes"] == [{"file": "o.safetensors", "sha256": out}],
               result.stdout)


# ---- help, completions, manual ----

def help_options(binary, env, command):
    text = run(binary, env, *([command] if command else []), "--help").stdout
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", text, re.M))


@special
def help_fits_and_is_complete(binary, env):
    for command in ("",) + COMMANDS:
        for option in ("-h", "--help"):
            result = run(binary, env, *([command] if command else []), option)
            expect(result.returncode == 0 and not result.stderr, f"{command}: {result}")
            for line in result.stdout.splitlines():
                expect(len(line) <= 80 and line == line.rstrip(), f"{command}: {line!r}")
        expect("--json" in help_options(binary, env, command), command)


@special
def manual_has_every_option(binary, env):
    page = (ROOT / "doc/netweight.1.scd").read_text(encoding="utf-8")
    known = set().union(*(help_options(binary, env, c) for c in ("",) + COMMANDS))
    expect(len(known) > 50, f"only {len(known)} options were found")
    missing = sorted(o for o in known if f"*{o}*" not in page)
    expect(not missing, f"not in the manual: {missing}")
    said = set(re.findall(r"^\*(--[a-z0-9-]+)\*", page, re.M))
    expect(said <= known | {"--completions"}, f"no such options: {sorted(said - known)}")
    for command in COMMANDS:
        expect(f"*{command}*" in page, command)


@special
def manual_has_every_function_and_code(_binary, _env):
    page = (ROOT / "doc/libnetweight.3.scd").read_text(encoding="utf-8")
    page = page.replace("\\_", "_")
    header = (ROOT / "include/netweight.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    functions = set(re.findall(r"\b(nw_[a-z0-9_]+)\(", header[header.index("#define NW_CHECK"):]))
    functions -= set(re.findall(r"typedef \w+ (nw_\w+)\(", header))
    groups = re.findall(r"\*(_[a-z]+)\*", page)  # "and the same for _file, ..."
    for name in sorted(functions):
        grouped = any(re.fullmatch(f"nw_checkpoint{g}(_count)?", name) for g in groups)
        expect(name in page or grouped, f"{name} is not in the manual")
    for code in re.findall(r"^ +NW_E_([A-Z_]+)", header, re.M):
        expect(f"|  {code}\n" in page, f"{code} is not in the manual")


def completions(binary, env, shell, folder):
    result = run(binary, env, "--completions", shell)
    expect(result.returncode == 0 and result.stdout, f"{shell}: {result}")
    path = os.path.join(folder, f"completions.{shell}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(result.stdout)
    return path


def shell_or_skip(name):
    if not shutil.which(name):
        raise Skip(f"{name} is not installed")


@special
def bash_completes(binary, env):
    with tempfile.TemporaryDirectory() as folder:
        path = completions(binary, env, "bash", folder)
        subprocess.run(["bash", "-n", path], check=True)
        for line, wanted, unwanted in (
                ("netweight in", "inspect", "plan"), ("netweight plan --bud", "--budget", "--hash"),
                ("netweight load --copy a", "auto always", "never"),
                ("netweight load --copy = al", "always", "auto"),
                ("netweight inspect --tolerate trailing,me", "trailing,metadata", "dtype"),
                ("netweight --ver", "--version --verbose", "--budget"),
                ("netweight inspect --tens", "--tensors", "--budget")):
            words = line.split(" ")
            script = (f"source {path}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1};"
                      " _netweight; echo \"${COMPREPLY[@]}\"")
            out = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True,
                                 env=env).stdout.split()
            expect(set(wanted.split()) <= set(out) and unwanted not in out, f"{line}: {out}")


@special
def zsh_parses(binary, env):
    shell_or_skip("zsh")
    with tempfile.TemporaryDirectory() as folder:
        path = completions(binary, env, "zsh", folder)
        subprocess.run(["zsh", "-n", path], check=True)


ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=READY; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; cd {folder}'
zpty -w z 'zstyle ":completion:*" list-prompt ""; bindkey "^I" complete-word; unsetopt beep'
zpty -w z 'print loaded'
zpty -r -m z line '*loaded*READY*'
zpty -n -w z '{typed}'$'\t'
sleep 1.5
zpty -n -w z $'\n'
zpty -r z text
print -r -- "$text"
while zpty -r -t z text; do print -r -- "$text"; done
zpty -d z
"""


@special
def zsh_completes(binary, env):
    shell_or_skip("zsh")
    with tempfile.TemporaryDirectory() as folder:
        os.rename(completions(binary, env, "zsh", folder), os.path.join(folder, "_netweight"))
        for typed, wanted in (("netweight fam", "netweight families"),
                              ("netweight plan --budg", "--budget="),
                              ("netweight load x --backend=ur", "--backend=uring"),
                              ("netweight inspect --tolerate=tr", "--tolerate=trailing")):
            script = ZSH.replace("{folder}", folder).replace("{typed}", typed)
            out = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True,
                                 env=env | {"HOME": folder}, timeout=60, check=False)
            plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\x08]", "", out.stdout)
            expect(wanted in plain, f"{typed}: {plain!r} {out.stderr!r}")


@special
def fish_completes(binary, env):
    shell_or_skip("fish")
    with tempfile.TemporaryDirectory() as folder:
        path = completions(binary, env, "fish", folder)
        env = env | {"HOME": folder}
        subprocess.run(["fish", "-n", path], check=True, env=env)
        for line, wanted, unwanted in (
                ("netweight in", "inspect", "plan"), ("netweight plan --bud", "--budget", "--hash"),
                ("netweight load --copy a", "always", "never"),
                ("netweight convert a b --backend=", "--backend=uring", "zstd")):
            out = subprocess.run(["fish", "-c", f"source {path}; complete -C '{line}'"], env=env,
                                 check=True, capture_output=True, text=True).stdout
            words = [entry.split("\t")[0] for entry in out.splitlines()]
            expect(wanted in words and unwanted not in words, f"{line}: {words}")


@special
def every_option_refuses_bad_values(binary, env):
    """No argument, too many, and one that is no value."""
    for command in COMMANDS:
        text = run(binary, env, command, "--help").stdout
        for name, value in re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)(?: (\S+))?", text, re.M):
            paths = {"convert": ["a", "b"], "diff": ["a", "b"], "families": []}.get(command, ["a"])
            if not value or not value.isupper() and not re.search(r"[|,=]", value):
                result = run(binary, env, command, *paths, f"{name}=x")
                expect(result.returncode == 2 and "takes no argument" in result.stderr,
                       f"{command} {name}=x: {result}")
                continue
            result = run(binary, env, command, *paths, name)
            expect(result.returncode == 2 and f"{name} needs an argument" in result.stderr,
                   f"{command} {name}: {result}")
            if re.fullmatch(r"[a-z0-9_]+([|,][a-z0-9_]+)+", value) or value in (
                    "SIZE", "SIZE|auto", "N", "TYPE", "KEY=VALUE", "NAME=FILE", "GLOB=NAME",
                    "PATTERN=TYPE", "ABS[,REL]", "MAP"):
                result = run(binary, env, command, *paths, f"{name}=?")
                expect(result.returncode == 2 and f"{name}: '?'" in result.stderr,
                       f"{command} {name}=?: {result}")
