#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of the shared collection is recognised as what it is: recognise.py NETWEIGHT [-v]

The family is the folder's name, the class (of headers made by a class of diffusers or
transformers) stands in the file's name; adapters are recognised as such and refused as models.
What differs is listed in EXCEPTIONS, with the reason. Where it can be planned, in either layout, every
tensor of the file is told once: as part of a result, as harmless or as unexpected. Ends with "N passed, N failed".
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import headers  # noqa: E402

SHARED = HERE.parents[2] / "shared" / "checkpoints"

# Start of the header's path -> (family, class) that is right for it, None where any is, or "not a model".
EXCEPTIONS = json.loads((HERE / "recognised.json").read_text())

# What tells these is a value: it is not zero.
FILLED = {"z_image/diffusers.controlnet-2.1": ["control_noise_refiner.0.before_proj.weight"]}


def filled(row):
    path = row["file"][len("headers/"):]
    return next((names for start, names in FILLED.items() if path.startswith(start)), [])


def expected(row):
    path = row["file"][len("headers/"):]
    for start, value in EXCEPTIONS.items():
        if path.startswith(start):
            return value
    parts = path.split("/")[1].replace(".json.gz", "").replace(".json", "").split(".")
    klass = parts[-1] if parts[0] == "diffusers" else None
    return [path.split("/")[0], klass]


def inspect(netweight, path):
    done = subprocess.run([netweight, "inspect", "--json", path], capture_output=True, text=True)
    return json.loads(done.stdout)


def fates(document):
    """The names that a plan's document tells of, as often as it does: a claimed one once for each plan."""
    for plan in document.get("plans", [document]):
        yield from (left["name"] for left in plan["report"]["harmless"])
        yield from plan["report"]["unexpected"]
        yield from {part["source"] for target in plan["targets"] for part in target["parts"]}


def account(netweight, path, names):
    """None if plans tell of each of the names once, else what is wrong."""
    for layout in ("diffusers", "original"):
        done = subprocess.run([netweight, "plan", "--json", "--map", "--layout", layout, path],
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            continue
        told = collections.Counter(fates(json.loads(done.stdout)))
        wrong = [name for name in {*told, *names} if told[name] != (name in names)]
        if wrong:
            return f"{layout}: told not once: {sorted(wrong)[:3]} and {len(wrong)} in all"
    return None


def check(netweight, row, path):
    """None if all is well, else what is wrong."""
    wanted = expected(row)
    document = inspect(netweight, path)
    if wanted == "adapter":
        done = subprocess.run([netweight, "plan", "--json", "--layout", "diffusers", path],
                              capture_output=True, text=True)
        code = json.loads(done.stdout).get("error", {}).get("code")
        return None if document["kind"] == "lora" and code == "WRONG_FORMAT" else f"{document['kind']}, {code}"
    models = [c for c in document["components"] if c["family"]]
    if wanted == "unknown":
        return None if not models else f"taken for {models[0]['family']}"
    if not models:
        near = [c.get("nearest") for c in document["components"]]
        return f"not recognised: {near[0] if near else 'nothing'}"
    families = {c["family"] for c in models}
    classes = {c["class"] for c in models}
    if wanted[0] and wanted[0] not in families:
        return f"family {families}"
    if wanted[1] and wanted[1] not in classes:
        return f"class {classes}"
    layouts = {c["layout"] for c in models}
    if row["layout"] in ("original", "diffusers") and row["layout"] not in layouts:
        same = [c for c in models if c["layout"] == "diffusers"]
        return None if same and row["layout"] == "original" and wanted[2:] == ["same"] else f"layout {layouts}"
    return None


def main():
    netweight, verbose = sys.argv[1], "-v" in sys.argv
    if not SHARED.exists():
        print("skipped: the shared checkpoints are not here\n0 passed, 0 failed")
        return 0
    rows = [json.loads(line) for line in (SHARED / "manifest.jsonl").read_text().splitlines()]
    rows = [r for r in rows if r["kind"] == "header" and r["shapes"]]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/x.safetensors"
        for row in rows:
            header = headers.read(SHARED / row["file"])
            headers.write(header, path, filled=filled(row))
            problem = check(netweight, row, path) or account(netweight, path, header)
            passed, failed = passed + (not problem), failed + bool(problem)
            if problem or verbose:
                print(f"{'FAILED' if problem else 'ok'} {row['file'][8:]}: {problem or ''}"[:240])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
