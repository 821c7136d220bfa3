#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden_maps.py APPLY_RULES [--shared DIR] [--only GLOB] [--strict] [-v]: families' rules against
the conversion maps that the reference's own converters made (checkpoints/golden), names, shapes
and the source elements of every output; then the way back, which must give every source again.

A map whose family is not there yet is counted, and fails only with --strict."""
import argparse
import collections
import fnmatch
import gzip
import itertools
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIXES = ["model.diffusion_model.", "first_stage_model.", "audio_vae.", "vae.", "net.",
            "control_model.", ""]
# What a file does not say, by map.
HINTS = {}
# Where we differ from the reference on purpose: globs of problems, by map.
KNOWN = {
    # Blur kernels that the model computes itself: the reference hands them on as unexpected keys.
    "wan-Wan2.2-Animate-14B": ["dropped, but wanted: *.kernel", "missing: *.kernel"],
    # The reference leaves these under their original names, which its class does not have.
    "skyreels-v2-DF-1.3B": ["missing: fps_projection.*", "not expected: fps_projection.*"],
    # Constants that only the publisher's own code wants; the class has none to give back.
    "sana-1600M": ["back: !UNSUPPORTED *"],
}


# ---- the reference's maps: what an output is made of, as runs of source elements ----

class View:
    """Contiguous runs [(source, first element, elements)], seen in a shape."""

    def __init__(self, runs, shape):
        self.runs, self.shape = runs, list(shape)

    def rows(self, first, n):
        size = math.prod(self.shape[1:])
        begin, end, at, runs = first * size, (first + n) * size, 0, []
        for source, start, length in self.runs:
            lo, hi = max(begin, at), min(end, at + length)
            if lo < hi:
                runs.append((source, start + lo - at, hi - lo))
            at += length
        return View(runs, [n, *self.shape[1:]])


def merged(runs):
    out = []
    for source, start, length in runs:
        if length and out and out[-1][0] == source and sum(out[-1][1:]) == start:
            out[-1] = (source, out[-1][1], out[-1][2] + length)
        elif length:
            out.append((source, start, length))
    return out


def cut(view, sizes, which):
    assert sum(sizes) == view.shape[0], (sizes, view.shape)
    return view.rows(sum(sizes[:which]), sizes[which])


def evaluate(tree, sources):
    if isinstance(tree, str):
        shape = sources[tree]
        return View([(tree, 0, math.prod(shape))], shape)
    op, args, kwargs = tree["op"], tree["args"], tree.get("kwargs") or {}
    assert kwargs.get("dim", 0) == 0, tree
    if op == "cat":
        views = [evaluate(part, sources) for part in args[0]]
        rows = sum(view.shape[0] for view in views)
        return View([run for view in views for run in view.runs], [rows, *views[0].shape[1:]])
    view = evaluate(args[0], sources)
    if op in ("chunk", "split"):
        size = -(-view.shape[0] // args[1]) if op == "chunk" else args[1]
        sizes = size if isinstance(size, list) else [size] * (view.shape[0] // size)
        return cut(view, sizes, tree["out"])
    if op == "squeeze":
        return View(view.runs, [d for d in view.shape if d != 1])
    if op == "reshape":
        shape = args[1] if isinstance(args[1], list) else args[1:]
        known = -math.prod(shape)
        return View(view.runs, [math.prod(view.shape) // known if d == -1 else d for d in shape])
    if isinstance(args[1], dict):  # rows
        first, stop, _ = args[1]["slice"]
        stop = view.shape[0] if stop is None else stop
        return view.rows(first or 0, stop - (first or 0))
    assert op == "__getitem__" and all(
        index == 0 and d == 1 or index == {"slice": [None] * 3}
        for index, d in zip(args[1], view.shape)), tree
    return View(view.runs, [d for index, d in zip(args[1], view.shape) if index != 0])


def leaves(tree):
    if isinstance(tree, str):
        return [tree]
    return [leaf for arg in tree["args"] if isinstance(arg, (str, dict, list))
            for part in (arg if isinstance(arg, list) else [arg])
            if isinstance(part, str) or isinstance(part, dict) and "op" in part
            for leaf in leaves(part)]


def source_shape(tree, shape):
    """{name: shape} of the sources of one output of that shape, as far as the tree tells."""
    if isinstance(tree, str):
        return {tree: list(shape)}
    op, args = tree["op"], tree["args"]
    if op == "cat":
        out = {}
        for part in args[0]:
            rows = shape[0] // len(args[0])
            out.update(source_shape(part, [rows, *shape[1:]]))
        return out
    if op == "chunk":
        shape = [shape[0] * args[1], *shape[1:]]
    elif op == "split":
        sizes = args[1] if isinstance(args[1], list) else None
        if sizes is None:  # of equal size: how many, the others' numbers tell
            return {leaf: None for leaf in leaves(tree)}
        shape = [sum(sizes), *shape[1:]]
    elif op == "squeeze":
        shape = [1, *shape, 1, 1] if len(shape) == 1 else [*shape, 1, 1]
    elif op == "reshape":
        shape = [math.prod(shape)]
    elif op == "__getitem__" and isinstance(args[1], dict):
        first, stop, _ = args[1]["slice"]
        if stop is not None:  # the slice without an end tells how many rows there are
            return {}
        shape = [first + shape[0], *shape[1:]]
    elif op == "__getitem__":
        kept = iter(shape)
        shape = [1 if index == 0 else next(kept) for index in args[1]]
    return source_shape(args[0], shape)


def sources_of(outputs):
    sources, equal = {}, collections.defaultdict(int)
    for name, output in outputs.items():
        for source, shape in source_shape(output["from"], output["shape"]).items():
            if shape is None:
                equal[source] = max(equal[source], output["from"]["out"] + 1)
                sources[source] = output["shape"]
            else:
                sources[source] = shape
    for source, n in equal.items():
        sources[source] = [sources[source][0] * n, *sources[source][1:]]
    return sources


# ---- the engine ----

class Engine:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def ask(self, head, tensors):
        pipe = self.process.stdin
        pipe.write(head + "\n")
        for name, shape in tensors.items():
            pipe.write(f"{name} {','.join(map(str, shape)) or '-'}\n")
        pipe.write(".\n")
        pipe.flush()
        lines = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "." or line.startswith("!"):
                return lines, line
            lines.append(line)
        raise SystemExit("apply_rules ended: " + head)

    def apply(self, head, tensors):
        """({name: (shape, runs)}, dropped, unmatched)"""
        lines, end = self.ask(head, tensors)
        if end != ".":
            raise ValueError(end)
        outputs, dropped, unmatched = {}, [], []
        for line in lines:
            if line[0] in "-?":
                (dropped if line[0] == "-" else unmatched).append(line[1:].split(" ")[0])
                continue
            name, shape, *parts = line.split(" ")
            runs = [run for part in parts if "@" in part for run in part_runs(part)]
            outputs[name] = json.loads(shape), merged(runs)
        return outputs, dropped, unmatched


def part_runs(part):
    source, rest = part.rsplit("@", 1)
    start, shape, strides = rest.split(":")
    shape, strides = json.loads(shape), json.loads(strides)
    start, length = int(start), 1
    dims = list(zip(shape, strides))
    while dims and (dims[-1][1] == length or dims[-1][0] == 1):
        length *= dims.pop()[0]
    for index in itertools.product(*[range(n) for n, _ in dims]):
        yield source, start + sum(i * stride for i, (_, stride) in zip(index, dims)), length


# ---- the comparison ----

def strip(outputs):
    """The sources without the prefix they share; the longest known one."""
    names = [leaf for output in outputs.values() for leaf in leaves(output["from"])]
    prefix = next(p for p in PREFIXES if all(name.startswith(p) for name in names))

    def walk(tree):
        if isinstance(tree, str):
            return tree[len(prefix):] if tree.startswith(prefix) else tree
        if isinstance(tree, list):
            return [walk(part) for part in tree]
        return {**tree, "args": walk(tree["args"])} if isinstance(tree, dict) and "op" in tree \
            else tree
    return {name: {**output, "from": walk(output["from"])} for name, output in outputs.items()}


def compare(expected, sources, engine, family, hints, known=()):
    """What differs, as lines, less what is known to."""
    problems = []
    got, dropped, unmatched = engine.apply(f"{family} to-diffusers {hints}", sources)
    problems += [f"no rule for {name}" for name in unmatched]
    problems += [f"dropped, but wanted: {name}" for name in dropped]
    problems += [f"missing: {name}" for name in expected if name not in got]
    problems += [f"not expected: {name}" for name in got if name not in expected]
    for name, (shape, runs) in got.items():
        if name not in expected:
            continue
        view = evaluate(expected[name]["from"], sources)
        if shape != expected[name]["shape"] or shape != view.shape:
            problems.append(f"{name}: shape {shape}, not {expected[name]['shape']}")
        if runs != merged(view.runs):
            problems.append(f"{name}: made of {runs}, not {merged(view.runs)}")
    problems = [p for p in problems if not any(fnmatch.fnmatch(p, k) for k in known)]
    problems = problems or compare_back(got, sources, engine, family, hints)
    return [p for p in problems if not any(fnmatch.fnmatch(p, k) for k in known)]


def compare_back(got, sources, engine, family, hints):
    """The way back gives every source that was used again, whole, or under another spelling that
    leads to the same output."""
    shapes = {name: shape for name, (shape, _) in got.items()}
    try:
        back, dropped, unmatched = engine.apply(f"{family} to-original {hints}", shapes)
        again, _, _ = engine.apply(f"{family} to-diffusers {hints}",
                                   {name: shape for name, (shape, _) in back.items()})
    except ValueError as error:
        return [f"back: {error}"]
    problems = [f"back: no rule for {name}" for name in unmatched]
    problems += [f"back: dropped {name}" for name in dropped]
    problems += [f"back and there again: no {name}" for name in got if name not in again]
    wanted = {run[0] for _, runs in got.values() for run in runs}
    for name, (shape, runs) in back.items():
        flat = []
        for part, start, length in runs:
            whole = View(got[part][1], [math.prod(got[part][0])])
            flat += whole.rows(start, length).runs
        source = flat[0][0] if flat else name
        wanted.discard(source)
        if shape != sources[source] or merged(flat) != [(source, 0, math.prod(shape))]:
            problems.append(f"back: {name} is {shape} of {merged(flat)}, not {sources[source]}")
        elif name != source and name in sources:
            problems.append(f"back: {name} is made of {source}")
    return problems + [f"back: missing {name}" for name in sorted(wanted)]


def check(path, engine):
    """(family or "", problems)"""
    name = path.name.removesuffix(".json.gz")
    outputs = strip(json.loads(gzip.decompress(path.read_bytes())))
    sources = sources_of(outputs)
    lines, _ = engine.ask("? to-diffusers", sources)
    if not lines:
        return "", []
    ranked = sorted((-int(line.rsplit(" ", 1)[1]), line.rsplit(" ", 1)[0]) for line in lines)
    best = [family for facts, family in ranked if facts == ranked[0][0]]
    if len(best) > 1:
        return best[0], [f"signatures of {', '.join(best)} fit equally well"]
    try:
        return best[0], compare(outputs, sources, engine, best[0], HINTS.get(name, ""),
                                KNOWN.get(name, []))
    except ValueError as error:
        return best[0], [str(error)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", default="*")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    folder = options.shared / "checkpoints/golden"
    if not folder.is_dir():
        print(f"skipped: no {folder}")
        return 0
    engine = Engine(options.program)
    n_equal, n_unknown, n_failed = 0, 0, 0
    for path in sorted(folder.glob("*.json.gz")):
        if not fnmatch.fnmatch(path.name, options.only):
            continue
        family, problems = check(path, engine)
        n_unknown += not family
        n_failed += bool(problems)
        n_equal += bool(family) and not problems
        if problems or options.v or not family and options.strict:
            print(f"{path.name}: {family or 'no family'}: {len(problems)} problems")
        for line in problems[:None if options.v else 5]:
            print("   ", line[:300])
    print(f"golden maps: {n_equal} equal, {n_failed} not, {n_unknown} without a family")
    return 1 if n_failed or (options.strict and n_unknown) else 0


if __name__ == "__main__":
    sys.exit(main())
