# SPDX-License-Identifier: Apache-2.0
"""The C library through ctypes, as far as the tests need it. NETWEIGHT_LIBRARY is the path of
libnetweight.so, NETWEIGHT that of the command."""
import ctypes as c
import json
import os
import subprocess

LIBRARY = os.environ.get("NETWEIGHT_LIBRARY")
COMMAND = os.environ.get("NETWEIGHT")

CODES = """OK ARG NOMEM IO CANCELLED DEVICE UNSUPPORTED LIMIT NOT_FOUND WRONG_FORMAT TRUNCATED
TRAILING BAD_HEADER BAD_EXTENT DUPLICATE UNSUPPORTED_TYPE BAD_CONFIG MISSING_SHARD
INDEX_MISMATCH UNSAFE_PATH UNSAFE_PICKLE MISSING MISMATCH UNEXPECTED UNKNOWN_LAYOUT BUDGET
OVERFLOW CHANGED""".split()
DTYPES = """AUTO BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 C64 F8_E4M3 F8_E5M2
F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ F6_E2M3 F6_E3M2 F4 UNKNOWN""".split()
BACKENDS = ["auto", "mmap", "pread", "direct", "uring"]
COPY = ["auto", "always", "never"]
OPS = ["map", "copy", "cast", "dequantise", "quantise", "fill"]
NONE_32 = 0xFFFFFFFF
AUTO_64 = 0xFFFFFFFFFFFFFFFF

u32, u64, size_t, ptr, text, i32 = (c.c_uint32, c.c_uint64, c.c_size_t, c.c_void_p,
                                    c.c_char_p, c.c_int32)


def struct(name, *fields):
    return type(name, (c.Structure,), {"_fields_": list(fields)})


class CError(c.Structure):
    _fields_ = [("code", i32), ("sys", i32), ("offset", u64), ("file", c.c_char * 512),
                ("tensor", c.c_char * 256), ("message", c.c_char * 400),
                ("reserved", u64 * 4)]


ALLOC = c.CFUNCTYPE(ptr, ptr, size_t)
FREE = c.CFUNCTYPE(None, ptr, ptr, size_t)
PROGRESS = c.CFUNCTYPE(c.c_int, ptr, u64, u64)
WRITE = c.CFUNCTYPE(c.c_int, ptr, ptr, size_t)
Allocator = struct("Allocator", ("alloc", ptr), ("free", ptr), ("ctx", ptr))
OpenOptions = struct(
    "OpenOptions", ("size", size_t), ("allocator", Allocator), ("flags", u32),
    ("tolerate", u32), ("header_limit", u64), ("use_safetensors", u32), ("cpu_mask", u32),
    ("component", text), ("subfolder", text), ("variant", text), ("revision", text),
    ("cache_dir", text))
Stored = struct(
    "Stored", ("name", ptr), ("name_size", size_t), ("dtype", i32), ("rank", u32),
    ("shape", c.POINTER(u64)), ("file", u32), ("component", u32), ("offset", u64),
    ("nbytes", u64), ("dtype_text", text), ("scheme", text), ("companion_of", u32),
    ("reserved", u32))
Metadata = struct("Metadata", ("key", ptr), ("key_size", size_t), ("value", ptr),
                  ("value_size", size_t), ("component", u32), ("file", u32))
LoadOptions = struct(
    "LoadOptions", ("size", size_t), ("component", text), ("dtype", i32),
    ("fp8_overflow", u32), ("dtype_rules", c.POINTER(text)), ("n_dtype_rules", size_t),
    ("keep_fp32", c.POINTER(text)), ("n_keep_fp32", size_t), ("only", c.POINTER(text)),
    ("n_only", size_t), ("drop", c.POINTER(text)), ("n_drop", size_t),
    ("rename", c.POINTER(text)), ("n_rename", size_t), ("prefix", text),
    ("dequantise", u32), ("copy", u32), ("backend", u32), ("threads", u32),
    ("scratch_bytes", u64), ("budget_bytes", u64), ("flags", u32), ("reserved", u32))
Target = struct("Target", ("name", ptr), ("name_size", size_t), ("dtype", i32),
                ("rank", u32), ("shape", c.POINTER(u64)), ("nbytes", u64), ("op", u32),
                ("n_parts", u32))
Cost = struct("Cost", *[(k, u64) for k in (
    "read_bytes", "final_bytes", "scratch_bytes", "peak_bytes", "zero_copy_bytes",
    "disk_bytes")])
RunOptions = struct("RunOptions", ("size", size_t), ("progress", ptr),
                    ("progress_ctx", ptr))
WriteOptions = struct(
    "WriteOptions", ("size", size_t), ("flags", u32), ("reserved", u32),
    ("max_shard_bytes", u64), ("variant", text), ("metadata", c.POINTER(text)),
    ("n_metadata", size_t))
Tensor = struct("Tensor", ("name", ptr), ("name_size", size_t), ("dtype", i32),
                ("rank", u32), ("shape", c.POINTER(u64)), ("data", ptr), ("nbytes", u64),
                ("mapped", c.c_int), ("storage", ptr))
Figures = struct(
    "Figures", ("seconds", c.c_double), ("read_bytes", u64), ("backend", text),
    ("reason", text), ("threads", u32), ("peak_bytes", u64), ("predicted_peak_bytes", u64),
    ("baseline_bytes", u64), ("rss_peak_bytes", u64), ("overflow", u64), ("flushed", u64))
TargetResult = struct("TargetResult", ("overflow", u64), ("flushed", u64), ("crc32", u32),
                      ("has_crc32", c.c_int))


class Error(Exception):
    def __init__(self, raw):
        self.code = CODES[raw.code]
        self.sys, self.offset = raw.sys, raw.offset
        self.file, self.tensor, self.message = (
            getattr(raw, k).decode("utf-8", "replace") for k in ("file", "tensor", "message"))
        super().__init__(f"{self.code}: {self.message} [{self.file}] [{self.tensor}]")


lib = c.CDLL(LIBRARY) if LIBRARY else None
if lib:
    lib.nw_checkpoint_tensor_count.restype = size_t
    lib.nw_checkpoint_metadata_count.restype = size_t
    lib.nw_plan_target_count.restype = size_t
    lib.nw_weights_count.restype = size_t
    for name in ("nw_checkpoint_free", "nw_plan_free", "nw_weights_free",
                 "nw_storage_release", "nw_result_free"):
        getattr(lib, name).restype = None
        getattr(lib, name).argtypes = [ptr]


def call(name, *args):
    error = CError()
    if getattr(lib, name)(*args, c.byref(error)):
        raise Error(error)


def strings(values):
    values = [v.encode() if isinstance(v, str) else v for v in values]
    return (text * max(1, len(values)))(*values), len(values)


def document(name, *args):
    """What a function with a write callback says, parsed."""
    parts = []

    @WRITE
    def write(_, data, size):
        parts.append(c.string_at(data, size))
        return 0

    call(name, *args, write, None)
    return json.loads(b"".join(parts))


def named(row):
    name = c.string_at(row.name, row.name_size).decode()
    return name, DTYPES[row.dtype], tuple(row.shape[i] for i in range(row.rank))


class Checkpoint:
    def __init__(self, path, **options):
        o = OpenOptions(size=c.sizeof(OpenOptions), **options)
        self.handle = ptr()
        call("nw_open", os.fsencode(path), c.byref(o), c.byref(self.handle))

    def close(self):
        lib.nw_checkpoint_free(self.handle)
        self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def tensors(self):
        """name -> (index, dtype, shape, offset, nbytes), in file order."""
        result, row = {}, Stored()
        for i in range(lib.nw_checkpoint_tensor_count(self.handle)):
            assert lib.nw_checkpoint_tensor(self.handle, size_t(i), c.byref(row)) == 0
            name, dtype, shape = named(row)
            assert name not in result
            result[name] = i, dtype, shape, row.offset, row.nbytes
        return result

    def metadata(self):
        result, row = {}, Metadata()
        for i in range(lib.nw_checkpoint_metadata_count(self.handle)):
            assert lib.nw_checkpoint_metadata(self.handle, size_t(i), c.byref(row)) == 0
            result[c.string_at(row.key, row.key_size).decode()] = c.string_at(
                row.value, row.value_size).decode()
        return result

    def read(self, index, first, n_rows, nbytes):
        data = c.create_string_buffer(max(1, nbytes))
        call("nw_checkpoint_read", self.handle, size_t(index), u64(first), u64(n_rows), data,
             size_t(nbytes))
        return data.raw[:nbytes]

    def json(self, flags=1):
        return document("nw_checkpoint_json", self.handle, u32(flags))

    def plan(self, **options):
        return Plan(self, **options)


class Plan:
    def __init__(self, checkpoint, dtype="auto", copy="auto", backend="auto", threads=None,
                 budget=0, scratch=0, flags=0, fp8_nan=False, component=None, prefix=None,
                 dtype_rules=(), keep_fp32=(), only=(), drop=(), rename=()):
        o = LoadOptions(size=c.sizeof(LoadOptions), flags=flags, budget_bytes=budget,
                        scratch_bytes=scratch, fp8_overflow=int(fp8_nan))
        o.dtype = lib.nw_dtype_from_name(dtype.encode(), size_t(len(dtype)))
        assert o.dtype >= 0, dtype
        o.copy, o.backend = COPY.index(copy), BACKENDS.index(backend)
        o.threads = 0 if threads is None else threads or NONE_32
        o.component = component and component.encode()
        o.prefix = prefix and prefix.encode()
        o.dtype_rules, o.n_dtype_rules = strings(dtype_rules)
        o.keep_fp32, o.n_keep_fp32 = strings(keep_fp32)
        o.only, o.n_only = strings(only)
        o.drop, o.n_drop = strings(drop)
        o.rename, o.n_rename = strings(rename)
        self.handle = ptr()
        try:
            call("nw_plan_create", checkpoint.handle, c.byref(o), c.byref(self.handle))
        except Error as error:
            error.refused = self if self.handle else None
            raise

    def close(self):
        lib.nw_plan_free(self.handle)
        self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def cost(self):
        cost = Cost()
        lib.nw_plan_cost(self.handle, c.byref(cost))
        return cost

    def targets(self):
        """name -> (dtype, shape, nbytes, op), in plan order."""
        result, row = {}, Target()
        for i in range(lib.nw_plan_target_count(self.handle)):
            assert lib.nw_plan_target(self.handle, size_t(i), c.byref(row)) == 0
            name, dtype, shape = named(row)
            result[name] = dtype, shape, row.nbytes, OPS[row.op]
        return result

    def json(self, flags=1, result=None):
        return document("nw_plan_json", (ptr * 1)(self.handle), size_t(1), u32(flags),
                        result, None)

    def run(self, progress=None):
        return Weights(self, progress)

    def write(self, path, overwrite=False, max_shard=0, variant=None, metadata=(),
              progress=None):
        """The document of the run."""
        o = WriteOptions(size=c.sizeof(WriteOptions), flags=int(overwrite),
                         max_shard_bytes=max_shard, variant=variant and variant.encode())
        o.metadata, o.n_metadata = strings(metadata)
        run, keep = run_options(progress)
        result = ptr()
        call("nw_plan_write", self.handle, os.fsencode(path), c.byref(o), c.byref(run),
             c.byref(result))
        del keep
        try:
            return self.json(0, result)
        finally:
            lib.nw_result_free(result)


def run_options(progress):
    run = RunOptions(size=c.sizeof(RunOptions))
    keep = progress and PROGRESS(lambda _, done, total: progress(done, total) or 0)
    run.progress = c.cast(keep, ptr) if keep else None
    return run, keep


class Weights:
    def __init__(self, plan, progress=None):
        run, keep = run_options(progress)
        self.handle = ptr()
        call("nw_plan_run", plan.handle, c.byref(run), c.byref(self.handle))
        del keep

    def close(self):
        lib.nw_weights_free(self.handle)
        self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rows(self):
        row = Tensor()
        for i in range(lib.nw_weights_count(self.handle)):
            assert lib.nw_weights_tensor(self.handle, size_t(i), c.byref(row)) == 0
            yield row

    def tensors(self):
        """name -> (dtype, shape, bytes), copies."""
        result = {}
        for row in self.rows():
            name, dtype, shape = named(row)
            result[name] = dtype, shape, c.string_at(row.data, row.nbytes)
        return result

    def mapped(self):
        return {named(row)[0]: bool(row.mapped) for row in self.rows()}

    def figures(self):
        result, out = ptr(), Figures()
        call("nw_weights_result", self.handle, c.byref(result))
        lib.nw_result_figures(result, c.byref(out))
        lib.nw_result_free(result)
        return out

    def per_target(self):
        """A TargetResult a target, in plan order."""
        result, rows = ptr(), []
        call("nw_weights_result", self.handle, c.byref(result))
        for i in range(lib.nw_weights_count(self.handle)):
            row = TargetResult()
            assert lib.nw_result_target(result, size_t(i), c.byref(row)) == 0
            rows.append(row)
        lib.nw_result_free(result)
        return rows


def load(path, open_options=None, **options):
    """name -> (dtype, shape, bytes) of the whole checkpoint."""
    with Checkpoint(path, **(open_options or {})) as ckpt, ckpt.plan(**options) as plan:
        with plan.run() as weights:
            return weights.tensors()


def convert(source, target, write_options=None, **options):
    with Checkpoint(source) as ckpt, ckpt.plan(flags=8, **options) as plan:
        return plan.write(target, **(write_options or {}))


def command(*args, **options):
    """Exit status, parsed standard output (or None), standard error."""
    done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, **options)
    out = json.loads(done.stdout) if done.stdout.strip().startswith(b"{") else None
    return done.returncode, out, done.stderr.decode("utf-8", "replace")
