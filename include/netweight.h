/* SPDX-License-Identifier: Apache-2.0
 *
 * netweight: loads the weights of diffusion models.
 *
 * One pipeline, stopped wherever you want:
 *
 *     nw_open         files   -> struct nw_checkpoint   headers only: every tensor as stored
 *     nw_plan_create  + wishes -> struct nw_plan        what would happen and what it costs
 *     nw_plan_run              -> struct nw_weights     tensors in memory
 *     nw_plan_write            -> a file or a folder
 *     nw_plan_deliver          -> the caller's own memory or device
 *
 * Conventions, true for every declaration here unless it says otherwise:
 *
 * - Functions that can fail return an enum nw_code (NW_OK is 0) and take a struct nw_error
 *   last; it may be NULL, and is cleared on entry. On failure every out parameter is NULL or
 *   zero and nothing is left to release.
 * - Option structs begin with their size: write `struct nw_x_options o = NW_OPTIONS_INIT(o);`.
 *   NULL, or all zero after the size, means the defaults.
 * - Handles are reference counted downwards (weights keep their plan's checkpoint alive), so
 *   they may be freed in any order; every _free accepts NULL.
 * - One handle, one thread at a time. A finished checkpoint or plan may be read by several
 *   threads at once. Worker threads exist only within a running call.
 * - Strings and arrays reached through a handle are borrowed and live as long as the handle.
 *   Names are UTF-8 and end in a NUL; a name that holds a NUL itself (JSON allows it) has its
 *   true length beside it.
 * - Sizes and offsets are bytes unless the name says otherwise. Shapes are outermost first.
 * - The library never prints, exits, aborts, reads the environment, sets signals or locale.
 */
#ifndef NETWEIGHT_H
#define NETWEIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NW_VERSION_MAJOR 0
#define NW_VERSION_MINOR 1
#define NW_VERSION_PATCH 0

#if defined(__GNUC__)
#define NW_API   __attribute__((visibility("default")))
#define NW_CHECK __attribute__((warn_unused_result))
#else
#define NW_API
#define NW_CHECK
#endif

/* ---- errors ------------------------------------------------------------------------- */

/* Why a call failed. The words are the same in C (NW_E_<WORD>), JSON and Python. */
enum nw_code {
    NW_OK = 0,

    /* What the caller or the machine could not do. */
    NW_E_ARG,         /* an argument or option is wrong or unusable: change the call */
    NW_E_NOMEM,       /* the allocator returned NULL: free memory, or lower the scratch */
    NW_E_IO,          /* the system refused a read or write: see .sys (errno) and .offset */
    NW_E_CANCELLED,   /* a callback asked to stop; everything was rolled back */
    NW_E_DEVICE,      /* an accelerator or a caller's sink failed */
    NW_E_UNSUPPORTED, /* understood, but this build or version does not do it */
    NW_E_LIMIT,       /* larger than a limit that an option can raise (named in the message) */

    /* What is wrong with the files. */
    NW_E_NOT_FOUND,        /* no such file, tensor, component or variant */
    NW_E_WRONG_FORMAT,     /* the content is something else (named in the message) */
    NW_E_TRUNCATED,        /* bytes are missing: download it again */
    NW_E_TRAILING,         /* bytes follow the data; NW_TOLERATE_TRAILING accepts them */
    NW_E_BAD_HEADER,       /* the header is not what the format says */
    NW_E_BAD_EXTENT,       /* a shape and its bytes disagree, tensors overlap or leave holes */
    NW_E_DUPLICATE,        /* one name twice */
    NW_E_UNSUPPORTED_TYPE, /* an unknown element type; NW_TOLERATE_DTYPE lists it */
    NW_E_BAD_CONFIG,       /* a config.json cannot be understood */
    NW_E_MISSING_SHARD,    /* an index names a file that is not there */
    NW_E_INDEX_MISMATCH,   /* index and shards disagree; NW_TOLERATE_INDEX trusts the shards */
    NW_E_UNSAFE_PATH,      /* a name or link leaves its folder */
    NW_E_UNSAFE_PICKLE,    /* a pickle would run code */

    /* What the plan refuses. */
    NW_E_MISSING,        /* wanted tensors are not in the files */
    NW_E_MISMATCH,       /* a stored shape differs from the wanted one */
    NW_E_UNEXPECTED,     /* stored tensors nobody wants, under the policy "error" */
    NW_E_UNKNOWN_LAYOUT, /* no family fits, or two fit equally well */
    NW_E_BUDGET,         /* the predicted peak is larger than the budget */
    NW_E_OVERFLOW,       /* a narrowing cast overflowed under strict_cast */
    NW_E_CHANGED,        /* a file changed between opening and the end of the load */

    NW_CODE_COUNT
};

#define NW_OFFSET_NONE UINT64_MAX

/* What went wrong, in full. The caller owns it and may keep it on the stack. */
struct nw_error {
    int32_t code;      /* enum nw_code; NW_OK until the first failure */
    int32_t sys;       /* errno, 0 if none */
    uint64_t offset;   /* byte in the file, NW_OFFSET_NONE if not about bytes */
    char file[512];    /* a longer path keeps its tail after "..." */
    char tensor[256];  /* likewise */
    char message[400]; /* one sentence, lower case, with both numbers that disagree */
    uint64_t reserved[4];
};

/* The word of a code without its prefix ("TRUNCATED"); "UNKNOWN" outside the enum. Static. */
NW_API const char *nw_code_name(int code);

/* "0.1.0". Static. */
NW_API const char *nw_version(void);

/* A feature of this build or machine: "io_uring", "sha256", "yaml" ... and whether it is there. */
struct nw_feature {
    const char *name;
    const char *value; /* "yes", "no", or a level such as "avx512" */
};

/* The i-th feature; returns 0 past the end, else 1. */
NW_API int nw_feature(size_t i, struct nw_feature *out);

/* Where texts go: receives `size` bytes, returns 0, or non-zero to stop (NW_E_CANCELLED). */
typedef int nw_write_fn(void *ctx, const char *text, size_t size);

/* ---- memory ------------------------------------------------------------------------- */

/* Source of all memory of a handle. All zero: the system's (malloc, and anonymous mappings
 * with huge pages for large tensors). Called from worker threads too, so it must be
 * thread safe. `alloc` returns memory aligned to 64 bytes, or NULL; `free` gets the size
 * that was asked for. */
struct nw_allocator {
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *ptr, size_t size);
    void *ctx;
};

/* What this process may still take. */
struct nw_system_memory {
    uint64_t limit_bytes;     /* of the cgroup, or of the machine */
    uint64_t available_bytes; /* of that, not in use; reclaimable page cache counts as free */
    const char *source;       /* "cgroup" or "meminfo"; static */
};

/* Reads the cgroup (v1 or v2) and /proc/meminfo; the smaller one counts. NW_E_IO. */
NW_API NW_CHECK int nw_system_memory(struct nw_system_memory *out, struct nw_error *err);

/* ---- element types ------------------------------------------------------------------ */

/* Values are part of the ABI; new ones are appended. Spelt as in safetensors. */
enum nw_dtype {
    NW_DTYPE_AUTO = 0, /* as an option: keep what is stored. Never the type of a tensor */
    NW_BOOL,
    NW_U8,
    NW_I8,
    NW_U16,
    NW_I16,
    NW_U32,
    NW_I32,
    NW_U64,
    NW_I64,
    NW_F16,
    NW_BF16,
    NW_F32,
    NW_F64,
    NW_C64, /* two F32: real, imaginary */
    NW_F8_E4M3,
    NW_F8_E5M2,
    NW_F8_E8M0,
    NW_F8_E4M3FNUZ,
    NW_F8_E5M2FNUZ,
    NW_F6_E2M3,
    NW_F6_E3M2,
    NW_F4,
    NW_DTYPE_UNKNOWN, /* a tag this version does not know; only under NW_TOLERATE_DTYPE */
    NW_DTYPE_COUNT
};

/* "F8_E4M3"; "AUTO", "UNKNOWN" for the two that are no types, NULL outside the enum. Static. */
NW_API const char *nw_dtype_name(int dtype);

/* Accepts the safetensors spelling (F8_E4M3), torch's (float8_e4m3fn, torch.bfloat16) and
 * the command's (fp8_e4m3, bf16, auto), in any case. `name` need not end in a NUL.
 * Returns the enum nw_dtype, or -1. */
NW_API int nw_dtype_from_name(const char *name, size_t size);

/* Bits of one element: 4, 6, 8 ... 64; 0 for AUTO and UNKNOWN. */
NW_API uint32_t nw_dtype_bits(int dtype);

/* ---- opening ------------------------------------------------------------------------ */

enum nw_choice {
    NW_CHOICE_AUTO = 0,
    NW_CHOICE_YES,
    NW_CHOICE_NO
};

/* What strict reading refuses and a person may still want. */
enum nw_tolerate_flag {
    NW_TOLERATE_TRAILING = 1 << 0, /* bytes after the data */
    NW_TOLERATE_METADATA = 1 << 1, /* metadata values that are not strings: kept as JSON text */
    NW_TOLERATE_DTYPE = 1 << 2,    /* unknown dtype: listed, left out of plans with the reason */
    NW_TOLERATE_INDEX = 1 << 3     /* index and shards disagree: what the shards hold counts */
};

enum nw_open_flag {
    NW_OPEN_FOLLOW_LINKS = 1 << 0, /* accept links that leave the folder */
    NW_OPEN_REPORT = 1 << 1        /* list problems on the checkpoint instead of failing;
                                      plans on a checkpoint with problems are refused */
};

struct nw_open_options {
    size_t size;
    struct nw_allocator allocator;
    uint32_t flags;           /* enum nw_open_flag */
    uint32_t tolerate;        /* enum nw_tolerate_flag */
    uint64_t header_limit;    /* of one safetensors header or index; 0 = 100,000,000 */
    uint32_t use_safetensors; /* enum nw_choice: AUTO prefers them, NO wants .bin */
    uint32_t cpu_mask;        /* kernels allowed, for tests: 0 = all the CPU has, else the
                                   bits of enum nw_cpu_level that may be used */
    const char *component;    /* of a pipeline folder: only this one is opened; elsewhere
                                 without effect (plans find it in an all-in-one file) */
    const char *subfolder;    /* below the path */
    const char *variant;      /* "fp16", "ema" ... */
    const char *revision;     /* of a hub cache entry; NULL = "main" */
    const char *cache_dir;    /* hub cache in which an "org/name" is looked up; NULL = none */
    const char *const *with;  /* "NAME=PATH": that component comes from another
                                 file, or a model's folder */
    size_t n_with;
};

enum nw_cpu_level {
    NW_CPU_SCALAR = 1 << 0,
    NW_CPU_AVX2 = 1 << 1,   /* with F16C and FMA */
    NW_CPU_AVX512 = 1 << 2, /* F, BW, VL, DQ, VBMI is not needed */
    NW_CPU_NEON = 1 << 3
};

#define NW_OPTIONS_INIT(o) \
    {                      \
        .size = sizeof(o)  \
    }

/* Bytes from anywhere. `read_at` fills exactly `size` bytes and returns 0, or an errno; it is
 * called from worker threads, several at a time, unless threads are NW_THREADS_NONE. */
struct nw_input {
    uint64_t size_bytes;
    int (*read_at)(void *ctx, uint64_t offset, void *dst, size_t size);
    void *ctx;
};

struct nw_checkpoint; /* the catalog of one checkpoint; immutable once open */

/* Opens a file, a model folder, a pipeline folder, a hub cache entry, a snapshot in one, an
 * index file, or an "org/name" in options->cache_dir. Reads headers only, and checks all of
 * them. Any code of the first two groups. Safe to call from several threads. */
NW_API NW_CHECK int nw_open(const char *path, const struct nw_open_options *options,
                            struct nw_checkpoint **out, struct nw_error *err);

/* Opens one container through a descriptor, which is duplicated; `name` is used in messages. */
NW_API NW_CHECK int nw_open_fd(int fd, const char *name,
                               const struct nw_open_options *options,
                               struct nw_checkpoint **out, struct nw_error *err);

/* Opens one container in memory; `data` must outlive the checkpoint and all its plans. */
NW_API NW_CHECK int nw_open_memory(const void *data, size_t nbytes, const char *name,
                                   const struct nw_open_options *options,
                                   struct nw_checkpoint **out, struct nw_error *err);

/* Opens one container through callbacks; `input` is copied, its ctx must outlive the
 * checkpoint and all its plans. */
NW_API NW_CHECK int nw_open_input(const struct nw_input *input, const char *name,
                                  const struct nw_open_options *options,
                                  struct nw_checkpoint **out, struct nw_error *err);

NW_API void nw_checkpoint_free(struct nw_checkpoint *ckpt);

/* ---- what is stored ----------------------------------------------------------------- */

#define NW_NONE UINT32_MAX

/* One tensor as stored. */
struct nw_stored_tensor {
    const char *name;
    size_t name_size;
    int32_t dtype; /* enum nw_dtype */
    uint32_t rank;
    const uint64_t *shape; /* [rank], elements */
    uint32_t file;         /* index for nw_checkpoint_file */
    uint32_t component;    /* index for nw_checkpoint_component */
    uint64_t offset;       /* of the data, from the start of the file */
    uint64_t nbytes;
    const char *dtype_text; /* as spelt in the file */
    const char *scheme;     /* quantisation scheme it belongs to ("scaled_fp8"), or NULL */
    uint32_t companion_of;  /* tensor whose scale (or other companion) this is, or NW_NONE */
    uint32_t reserved;
};

/* One file that was looked at. */
struct nw_stored_file {
    const char *name;      /* relative to the opened folder, else the file's own name */
    const char *path;      /* as opened */
    const char *container; /* "safetensors", "gguf", "torch-zip", "torch-legacy", "torch-tar",
                              "dduf", "flashpack", "index", "config", or NULL (unknown) */
    uint64_t nbytes;
    int used;           /* its tensors (or its index) are part of the checkpoint */
    const char *reason; /* why it was not used, or a remark; NULL if there is none */
};

/* One part of a pipeline; a plain checkpoint has exactly one, named "". */
struct nw_component {
    const char *name;    /* "unet", "vae" ... */
    const char *klass;   /* from model_index.json or config.json ("UNet2DConditionModel"); NULL */
    const char *library; /* "diffusers", "transformers"; NULL if not said */
    const char *folder;  /* path of its folder, NULL for a bare file */
    uint64_t n_tensors;
    uint64_t nbytes;
};

/* One thing that is wrong (or, under `note`, worth saying) with the files. */
struct nw_problem {
    int32_t code;       /* enum nw_code */
    int32_t note;       /* 1: tolerated or harmless, the checkpoint can be used */
    uint64_t offset;    /* NW_OFFSET_NONE if not about bytes */
    const char *file;   /* NULL if not about one */
    const char *tensor; /* NULL if not about one */
    const char *message;
};

/* One quantisation scheme met in the files. */
struct nw_quantisation {
    const char *scheme;
    uint64_t n_layers;
    int supported; /* 1: can be dequantised by this version */
};

/* A key and value of the metadata, decoded from JSON, otherwise byte for byte as stored. */
struct nw_metadata {
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
    uint32_t component;
    uint32_t file;
};

NW_API size_t nw_checkpoint_tensor_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_file_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_component_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_problem_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_quantisation_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_metadata_count(const struct nw_checkpoint *ckpt);
NW_API size_t nw_checkpoint_variant_count(const struct nw_checkpoint *ckpt);

/* The i-th of each, tensors in file order (by file, then data offset). Returns NW_OK, or
 * NW_E_ARG past the end. The variant "" is the unnamed one. */
NW_API int nw_checkpoint_tensor(const struct nw_checkpoint *ckpt, size_t i,
                                struct nw_stored_tensor *out);
NW_API int nw_checkpoint_file(const struct nw_checkpoint *ckpt, size_t i,
                              struct nw_stored_file *out);
NW_API int nw_checkpoint_component(const struct nw_checkpoint *ckpt, size_t i,
                                   struct nw_component *out);
NW_API int nw_checkpoint_problem(const struct nw_checkpoint *ckpt, size_t i,
                                 struct nw_problem *out);
NW_API int nw_checkpoint_quantisation(const struct nw_checkpoint *ckpt, size_t i,
                                      struct nw_quantisation *out);
NW_API int nw_checkpoint_metadata(const struct nw_checkpoint *ckpt, size_t i,
                                  struct nw_metadata *out);
NW_API const char *nw_checkpoint_variant(const struct nw_checkpoint *ckpt, size_t i);

/* Index of a tensor by name; `component` NULL means any, if only one has the name.
 * NW_E_NOT_FOUND, NW_E_ARG (several components have it). */
NW_API NW_CHECK int nw_checkpoint_find(const struct nw_checkpoint *ckpt,
                                       const char *component, const char *name,
                                       size_t *out, struct nw_error *err);

/* Reads rows [first, first + n_rows) along the first dimension of tensor i, as stored, into
 * `dst`, which holds exactly n_rows * (nbytes / shape[0]) bytes. A scalar counts as one row.
 * May be called from several threads. NW_E_ARG, NW_E_IO, NW_E_CHANGED, NW_E_UNSUPPORTED (rows
 * that do not end on a byte). */
NW_API NW_CHECK int nw_checkpoint_read(const struct nw_checkpoint *ckpt, size_t i,
                                       uint64_t first, uint64_t n_rows, void *dst,
                                       size_t dst_size, struct nw_error *err);

enum nw_inspect_flag {
    NW_INSPECT_TENSORS = 1 << 0, /* "list": every tensor */
    NW_INSPECT_SHA256 = 1 << 1,  /* "hashes" of every used file; these three read all bytes */
    NW_INSPECT_AUTOV2 = 1 << 2,
    NW_INSPECT_AUTOV3 = 1 << 3
};

/* Writes the document of `netweight inspect --json` (one line). NW_E_CANCELLED, NW_E_NOMEM,
 * NW_E_UNSUPPORTED (hashes in a build without libcrypto). */
NW_API NW_CHECK int nw_checkpoint_json(const struct nw_checkpoint *ckpt, uint32_t flags,
                                       nw_write_fn *write, void *ctx,
                                       struct nw_error *err);

/* Writes {"error": ...} for `err`; every problem of `ckpt` (may be NULL) goes into "all". */
NW_API NW_CHECK int nw_error_json(const struct nw_error *failure,
                                  const struct nw_checkpoint *ckpt, nw_write_fn *write,
                                  void *ctx);

/* ---- what it is -------------------------------------------------------------------- */

struct nw_detection; /* what a checkpoint is made of */

enum nw_state {
    NW_STATE_PRESENT = 0,
    NW_STATE_PARTIAL, /* a part of it is not there: nw_detected_absent */
    NW_STATE_ABSENT   /* a file of this kind has one, this file has not */
};

/* One part: of an all-in-one file (its denoiser, its VAE ...), or a component of a folder. */
struct nw_detected {
    const char *name;            /* "unet", "vae" ...; "other": belongs to no part */
    const char *klass;           /* "UNet2DConditionModel"; NULL if not known */
    const char *family;          /* "sdxl"; NULL if not recognised */
    const char *variant;         /* "inpainting"; NULL if it cannot be told */
    const char *layout;          /* "original", "diffusers"; NULL if not recognised */
    const char *prefix;          /* that its names have in the file; "" if none */
    const char *prediction_type; /* "epsilon", "v_prediction"; NULL if not known */
    const char *why_not;         /* not recognised: the nearest families; else NULL */
    const char *probed;          /* tensor whose values decided; NULL: names and shapes did */
    uint32_t state;              /* enum nw_state */
    uint32_t component;          /* index for nw_checkpoint_component */
    uint64_t n_tensors;
    uint64_t nbytes;
};

/* Recognises every part from names and shapes (one tensor may be read where values decide).
 * `hints`: "KEY=VALUE", may be NULL. NW_E_NOMEM, NW_E_IO. */
NW_API NW_CHECK int nw_detect(const struct nw_checkpoint *ckpt, const char *const *hints,
                              size_t n_hints, struct nw_detection **out,
                              struct nw_error *err);
NW_API void nw_detection_free(struct nw_detection *detection);
NW_API size_t nw_detection_count(const struct nw_detection *detection);
NW_API int nw_detection_get(const struct nw_detection *detection, size_t i,
                            struct nw_detected *out);
/* The k-th thing that part i lacks ("encoder"); NULL past the end. */
NW_API const char *nw_detection_absent(const struct nw_detection *detection, size_t i,
                                       size_t k);

/* A row of what can be recognised. */
struct nw_family {
    const char *name;      /* "sdxl" */
    const char *title;     /* "Stable Diffusion XL" */
    const char *component; /* "unet" */
    const char *klass;     /* NULL: recognised only */
    int converts;          /* 1: between original and diffusers names, both ways */
};
/* The i-th; returns 0 past the end, else 1. Static. */
NW_API int nw_family(size_t i, struct nw_family *out);
/* The k-th variant of family i; NULL past the end. Static. */
NW_API const char *nw_family_variant(size_t i, size_t k);

/* ---- what is wanted ----------------------------------------------------------------- */

enum nw_wanted_kind {
    NW_PARAMETER = 0,
    NW_BUFFER,        /* persistent: part of checkpoints */
    NW_NON_PERSISTENT /* the module computes it: never read, never written */
};

/* What a tensor that the files lack may be filled with, under `missing` init. */
enum nw_fill {
    NW_FILL_NONE = 0, /* only the module itself knows: init is refused */
    NW_FILL_ZERO,
    NW_FILL_ONE,
    NW_FILL_EYE,   /* identity matrix */
    NW_FILL_ARANGE /* 0, 1, 2 ... along the last dimension (position ids) */
};

/* One tensor that a model wants. */
struct nw_wanted_tensor {
    const char *name;
    size_t name_size;
    const uint64_t *shape; /* [rank], elements */
    uint32_t rank;
    uint32_t kind;    /* enum nw_wanted_kind */
    uint32_t fill;    /* enum nw_fill */
    uint32_t tied_to; /* index of an earlier tensor whose memory this is, or NW_NONE */
    int32_t dtype;    /* enum nw_dtype if the class fixes it, else NW_DTYPE_AUTO */
    uint32_t reserved;
};

struct nw_model; /* a skeleton: every tensor wanted; immutable, may be shared by threads */
struct nw_rules; /* a caller's renaming rules; immutable, may be shared by threads */

/* Builds the skeleton that a config.json describes, for every class of nw_class. `klass`
 * overrides what the config names; NULL: _class_name, or architectures[0], or model_type
 * decides. `json` need not end in a NUL and may be freed afterwards; NULL with a class means the
 * class's defaults. NW_E_BAD_CONFIG (no JSON object, a value of the wrong type or sign, a
 * combination that the class refuses), NW_E_LIMIT (4096 modules in a list, 2^20 tensors),
 * NW_E_UNSUPPORTED (a class or option this version does not know), NW_E_NOMEM. */
NW_API NW_CHECK int nw_model_from_config(const char *json, size_t json_size,
                                         const char *klass,
                                         const struct nw_allocator *allocator,
                                         struct nw_model **out, struct nw_error *err);

/* A skeleton that the caller walked himself (a binding, from a live module). Everything is
 * copied. Lists end in NULL, NULL means none. */
struct nw_model_table {
    size_t size;
    const char *klass; /* may be NULL */
    const struct nw_wanted_tensor *tensors;
    size_t n_tensors;
    const char *const *keep_fp32; /* dot components kept in F32 when a dtype is given */
    const char *const *harmless;  /* globs of stored names that nobody misses */
    const char *const *optional;  /* globs of wanted names that may be missing */
    const char *const *blocks;    /* paths of modules that must not be split */
};

/* NW_E_ARG (a NULL or repeated name, tied_to that is no earlier row or has another shape),
 * NW_E_LIMIT, NW_E_NOMEM. */
NW_API NW_CHECK int nw_model_from_table(const struct nw_model_table *table,
                                        const struct nw_allocator *allocator,
                                        struct nw_model **out, struct nw_error *err);
NW_API void nw_model_free(struct nw_model *model);

NW_API const char *nw_model_class(const struct nw_model *model); /* "" if not known */
NW_API size_t nw_model_count(const struct nw_model *model);
/* In the order of the reference's module tree. NW_E_ARG past the end. */
NW_API int nw_model_tensor(const struct nw_model *model, size_t i,
                           struct nw_wanted_tensor *out);
/* The i-th module that must not be split over devices, dot path; NULL past the end. */
NW_API const char *nw_model_block(const struct nw_model *model, size_t i);
/* The i-th dot component that is kept in F32 when a dtype is given; NULL past the end. */
NW_API const char *nw_model_keep_fp32(const struct nw_model *model, size_t i);
/* The i-th key of the config that the class does not know; NULL past the end. */
NW_API const char *nw_model_unknown_key(const struct nw_model *model, size_t i);

/* The i-th model class this version can build; NULL past the end. Static. */
NW_API const char *nw_class(size_t i);

/* ---- rules -------------------------------------------------------------------------- */

/* Rules from text, one a line, first match counts. Each relates a name of the layout that a
 * model was published with to one of the class's own (diffusers), and is read both ways:
 *
 *     [OP] ORIGINAL => DIFFUSERS [KEY=VALUE ...]
 *     drop ORIGINAL [back=needed] [note=REST OF THE LINE]
 *
 *     rename     the whole tensor (OP may be left out); squeeze=1 takes ones off the end of
 *                its shape down to rank 2, squeeze=2 all ones; rank=N (or 1C11) on the way back
 *     split      rows into the parts of DIFFUSERS; sizes=H,H,* (numbers, variables, `*` shares
 *                what is left), equal parts without
 *     swap       the two halves of the rows change places
 *     transpose  of a matrix
 *     reshape    to sizes=6,*; flat on the way back
 *     heads      rows interleaved per head, sizes=D rows a head and part
 *     drop       not wanted; back=needed refuses the way back
 *
 * A pattern is text with braces; what one side captures stands on the other too:
 *
 *     {i}          a number            {1+b*S+r}  a sum; two captures are told by division
 *     {a:x|y|z}    one of these; the other side's alternative of the same place
 *     {q,k,v}      DIFFUSERS only: the parts of a split
 *     {p}          one segment without dots      {*}  the rest      {^}  a beginning
 *
 * and before the rules that use them
 *
 *     let H = img_in.weight[0] | x_embedder.weight[0]   a variable (A to Z), one quantity for
 *                     each side: NAME[DIM], #LIST. (modules), <PATTERN (smallest {i}), a
 *                     number; +N or -N may follow
 *     when NAME PREDICATE    a feature, for need=NAME,... and deny=NAME,... of rules: NAME,
 *                     PREFIX*, NAME[DIM]=N, NAME[]=RANK, #LIST.=N (= != < >), $HINT=VALUE,
 *                     A|B, !A; several lines of one name: any of them
 *
 * back_if=PATTERN (!PATTERN) asks on the way back for a name that is (not) there. "#" begins
 * a comment at the start of a line, or alone between blanks.
 *
 * The text may be freed afterwards. NW_E_ARG (with line and column), NW_E_LIMIT (4096 rules),
 * NW_E_NOMEM. */
NW_API NW_CHECK int nw_rules_from_text(const char *text, size_t size,
                                       const struct nw_allocator *allocator,
                                       struct nw_rules **out, struct nw_error *err);
NW_API void nw_rules_free(struct nw_rules *rules);

/* ---- planning ----------------------------------------------------------------------- */

enum nw_fp8_overflow {
    NW_FP8_SATURATE = 0, /* e4m3fn: +-448, as torch 2.13 */
    NW_FP8_NAN           /* NaN, as older torch */
};

enum nw_copy {
    NW_COPY_AUTO = 0, /* same-dtype tensors are mapped where that is possible */
    NW_COPY_ALWAYS,   /* all tensors get memory of their own */
    NW_COPY_NEVER     /* refuse (NW_E_ARG) if anything would be copied */
};

enum nw_backend {
    NW_BACKEND_AUTO = 0, /* by file system and page-cache state */
    NW_BACKEND_MMAP,     /* a mapping under a read lease, so that it cannot fault: whoever wants
                            to write to the file waits a moment; pread where there is none */
    NW_BACKEND_PREAD,
    NW_BACKEND_DIRECT, /* O_DIRECT: past the page cache */
    NW_BACKEND_URING   /* io_uring with direct reads in flight; a build option */
};

enum nw_load_flag {
    NW_LOAD_STRICT_CAST = 1 << 0,       /* overflow of a narrowing cast is NW_E_OVERFLOW */
    NW_LOAD_PREFAULT = 1 << 1,          /* touch every page of mapped tensors before returning */
    NW_LOAD_DIGEST = 1 << 2,            /* CRC-32 (zlib's) of every result tensor */
    NW_LOAD_TO_FILE = 1 << 3,           /* cost and budget are those of nw_plans_write ... */
    NW_LOAD_TO_SINK = 1 << 4,           /* ... or of nw_plans_deliver, instead of nw_plans_run */
    NW_LOAD_FLAT = 1 << 5,              /* no model: what the file holds, under its own names */
    NW_LOAD_EMA = 1 << 6,               /* the averaged weights of a training checkpoint; MISSING
                                           if only some of the part's tensors have one, unless
                                           `missing` says otherwise; NOT_FOUND: none has */
    NW_LOAD_IGNORE_MISMATCHED = 1 << 7, /* a tensor of another shape counts as missing */
    NW_LOAD_NO_KEEP_FP32 = 1 << 8,      /* the class's own list does not count */
    NW_LOAD_REST = 1 << 9               /* what the file holds outside all its parts is told by this
                                           plan too, as harmless or unexpected: for one of the plans
                                           that take a file as a whole */
};

/* Names on the way out. */
enum nw_layout {
    NW_LAYOUT_AUTO = 0,  /* diffusers' if a class, component, config or model is asked for, else
                            as stored */
    NW_LAYOUT_STORED,    /* as they are in the file */
    NW_LAYOUT_DIFFUSERS, /* of the class */
    NW_LAYOUT_ORIGINAL   /* of the family's own publisher */
};

/* What becomes of wanted tensors that the files lack (and, under
 * NW_LOAD_IGNORE_MISMATCHED, of those that have another shape). */
enum nw_missing {
    NW_MISSING_ERROR = 0, /* NW_E_MISSING; mismatched ones are left out if they are ignored */
    NW_MISSING_INIT,      /* the skeleton's own fill; NW_E_ARG where it has none */
    NW_MISSING_ZERO,      /* zeros */
    NW_MISSING_ALLOW      /* left out */
};

/* What becomes of stored tensors that nobody wants. */
enum nw_unexpected {
    NW_UNEXPECTED_WARN = 0, /* listed in the report */
    NW_UNEXPECTED_ERROR,    /* NW_E_UNEXPECTED */
    NW_UNEXPECTED_IGNORE    /* counted as harmless */
};

#define NW_THREADS_NONE UINT32_MAX
#define NW_BUDGET_AUTO  UINT64_MAX

/* Texts in the lists are those of the command's options of the same name. */
struct nw_load_options {
    size_t size;
    const char *component;          /* NULL: the only one, else NW_E_ARG names them all */
    int32_t dtype;                  /* enum nw_dtype: for all floating tensors */
    uint32_t fp8_overflow;          /* enum nw_fp8_overflow */
    const char *const *dtype_rules; /* "GLOB[@rank<=N|@bytes<SIZE]=DTYPE", last match wins */
    size_t n_dtype_rules;
    const char *const *keep_fp32; /* whole dot components; only where dtype is given */
    size_t n_keep_fp32;
    const char *const *only; /* globs over the result's names; none = all */
    size_t n_only;
    const char *const *drop; /* globs */
    size_t n_drop;
    const char *const *rename; /* "GLOB=REPLACEMENT", each `*` captures, first match;
                                    with "{" on the left: a pair of patterns as nw_rules_from_text
                                    takes them */
    size_t n_rename;
    const char *prefix;        /* put before every name, after the renaming */
    uint32_t dequantise;       /* enum nw_choice */
    uint32_t copy;             /* enum nw_copy */
    uint32_t backend;          /* enum nw_backend */
    uint32_t threads;          /* 0 = automatic, NW_THREADS_NONE = the caller's alone */
    uint64_t scratch_bytes;    /* 0 = 64 MiB; at least 1 MiB */
    uint64_t budget_bytes;     /* 0 = none; NW_BUDGET_AUTO = what is available */
    uint32_t flags;            /* enum nw_load_flag */
    uint32_t layout;           /* enum nw_layout */
    const char *klass;         /* the class wanted ("FluxTransformer2DModel"); NULL: as found */
    const char *config;        /* path of its config.json, of a folder that holds one (a model's,
                               or a pipeline's with the component's subfolder), or of an
                               original yaml; NULL: the one beside the weights, else the
                               family's own with what the shapes tell */
    struct nw_model *model;    /* the skeleton itself, instead of class and config; NULL: none */
    struct nw_rules *rules;    /* the caller's, instead of the family's; NULL: none */
    const char *const *ignore; /* globs of names whose absence or presence is no fault */
    size_t n_ignore;
    const char *const *hints; /* "KEY=VALUE": what a file cannot tell */
    size_t n_hints;
    uint32_t missing;    /* enum nw_missing */
    uint32_t unexpected; /* enum nw_unexpected */
};

struct nw_plan; /* immutable once created; keeps its checkpoint alive */

/* Decides where every byte goes and what it will cost; reads no tensor byte.
 * NW_E_ARG, NW_E_UNSUPPORTED (a float dtype on a quantised tensor, by scheme),
 * NW_E_NOT_FOUND (component, or a pattern of `only` without a match), NW_E_BUDGET, NW_E_NOMEM,
 * NW_E_DUPLICATE (renaming made two names one), and the code of the checkpoint's first problem
 * if it was opened with NW_OPEN_REPORT.
 * With NW_E_BUDGET (and every later refusal of a finished plan) *out is set all the same, so
 * that its document can be shown; such a plan cannot be run. */
NW_API NW_CHECK int nw_plan_create(struct nw_checkpoint *ckpt,
                                   const struct nw_load_options *options,
                                   struct nw_plan **out, struct nw_error *err);
NW_API void nw_plan_free(struct nw_plan *plan);

enum nw_op {
    NW_OP_MAP = 0, /* a private mapping of the file: no copy */
    NW_OP_COPY,
    NW_OP_CAST,
    NW_OP_DEQUANTISE,
    NW_OP_QUANTISE,
    NW_OP_FILL
};

/* What a target is made of: a strided view of a stored tensor. */
struct nw_part {
    uint32_t source; /* index for nw_checkpoint_tensor */
    uint32_t rank;
    uint64_t start;          /* first element */
    const uint64_t *shape;   /* [rank], elements */
    const uint64_t *strides; /* [rank], elements */
};

/* One wanted tensor: its parts joined along dimension 0, with at most one value operation. */
struct nw_target {
    const char *name;
    size_t name_size;
    int32_t dtype;
    uint32_t rank;
    const uint64_t *shape; /* [rank], elements */
    uint64_t nbytes;
    uint32_t op; /* enum nw_op */
    uint32_t n_parts;
};

struct nw_cost {
    uint64_t read_bytes;      /* bytes of the files that will be read */
    uint64_t final_bytes;     /* of all result tensors */
    uint64_t scratch_bytes;   /* the ring and everything else that goes when the load ends */
    uint64_t peak_bytes;      /* most that the engine allocates at a time, catalog included */
    uint64_t zero_copy_bytes; /* of final_bytes, mapped instead of copied */
    uint64_t disk_bytes;      /* written to disk as part of the load */
};

/* How names and tensors met; lists are printed by nw_plan_json. */
struct nw_report {
    uint64_t wanted;
    uint64_t loaded;
    uint64_t tied;
    uint64_t by_rule;
    uint64_t missing;
    uint64_t mismatched;
    uint64_t unexpected;
    uint64_t harmless;
    uint64_t kept_fp32;
    uint64_t unaligned;   /* same-dtype tensors copied because they lie unaligned in the file */
    uint64_t initialised; /* of missing and mismatched: filled by a rule */
    uint64_t companions;  /* scales and the like that go along with quantised weights; no class
                             names them: results beyond `wanted` */
};

NW_API size_t nw_plan_target_count(const struct nw_plan *plan);
NW_API int nw_plan_target(const struct nw_plan *plan, size_t i, struct nw_target *out);
NW_API int nw_plan_part(const struct nw_plan *plan, size_t target, size_t i,
                        struct nw_part *out);
NW_API void nw_plan_cost(const struct nw_plan *plan, struct nw_cost *out);
/* Of several plans of one checkpoint that will run together: the ring is shared, so this is less
 * than the sum. */
NW_API void nw_plans_cost(const struct nw_plan *const *plans, size_t n_plans,
                          struct nw_cost *out);
NW_API void nw_plan_report(const struct nw_plan *plan, struct nw_report *out);

enum nw_plan_json_flag {
    NW_PLAN_JSON_TARGETS = 1 << 0 /* "targets": every tensor with its parts (--map) */
};

struct nw_result;

/* Writes the documents of `netweight plan` (and, with a result, of `load` and `convert`) for
 * one plan, or as {"plans": [...]} with totals for several. `failure` (NULL or NW_OK: none)
 * becomes "error". `result` may be NULL. */
NW_API NW_CHECK int nw_plan_json(const struct nw_plan *const *plans, size_t n_plans,
                                 uint32_t flags, const struct nw_result *result,
                                 const struct nw_error *failure, nw_write_fn *write,
                                 void *ctx, struct nw_error *err);

/* ---- running ------------------------------------------------------------------------ */

/* Called on the calling thread, at least every 50 ms while bytes move, `done` rising to
 * exactly `total` (source bytes). Non-zero cancels. */
typedef int nw_progress_fn(void *ctx, uint64_t done, uint64_t total);

struct nw_run_options {
    size_t size;
    nw_progress_fn *progress;
    void *progress_ctx;
};

/* A file that was written. */
struct nw_written {
    const char *name; /* relative to the folder, else the file's own name */
    uint64_t nbytes;
    uint64_t n_tensors;
};

struct nw_weights; /* the loaded tensors of one or several plans */

/* Runs plans of one checkpoint (one a component) together: each byte is read once, memory is
 * rolled back whole on failure. The names of plan k are looked up with plan index k.
 * NW_E_ARG (plans of different checkpoints, or refused ones), NW_E_NOMEM, NW_E_IO,
 * NW_E_BUDGET, NW_E_CANCELLED, NW_E_CHANGED, NW_E_OVERFLOW. */
NW_API NW_CHECK int nw_plans_run(struct nw_plan *const *plans, size_t n_plans,
                                 const struct nw_run_options *options,
                                 struct nw_weights **out, struct nw_error *err);

/* The same for one plan. */
NW_API NW_CHECK int nw_plan_run(struct nw_plan *plan, const struct nw_run_options *options,
                                struct nw_weights **out, struct nw_error *err);

/* A tensor in memory. It is reference counted on its own: `storage` keeps data, name and
 * shape alive, whatever happens to the handles. */
struct nw_tensor {
    const char *name;
    size_t name_size;
    int32_t dtype;
    uint32_t rank;
    const uint64_t *shape; /* [rank], elements */
    void *data;            /* row major, writable; a mapping is private, so that the file
                               never changes; NULL if nbytes is 0 */
    uint64_t nbytes;
    int mapped; /* 1: pages of the file, 0: memory of its own */
    struct nw_storage *storage;
};

NW_API size_t nw_weights_count(const struct nw_weights *weights);

/* Borrow: the i-th tensor (plans in order, targets in order). NW_E_ARG past the end,
 * NW_E_NOT_FOUND if it was taken or released. */
NW_API int nw_weights_tensor(const struct nw_weights *weights, size_t i,
                             struct nw_tensor *out);

/* Borrow by name; searched in plan `plan`. NW_E_NOT_FOUND. */
NW_API NW_CHECK int nw_weights_get(const struct nw_weights *weights, size_t plan,
                                   const char *name, struct nw_tensor *out,
                                   struct nw_error *err);

/* Take the i-th tensor out of the handle: the caller owns the reference in out->storage and
 * gives it back with nw_storage_release, from any thread, before or after the handles go. */
NW_API NW_CHECK int nw_weights_take(struct nw_weights *weights, size_t i,
                                    struct nw_tensor *out, struct nw_error *err);

/* Give back the memory of the i-th tensor now. */
NW_API int nw_weights_release(struct nw_weights *weights, size_t i);

NW_API void nw_weights_free(struct nw_weights *weights);

/* Any thread. NULL is allowed for release. */
NW_API void nw_storage_retain(struct nw_storage *storage);
NW_API void nw_storage_release(struct nw_storage *storage);

/* What a run did. Owned by the caller, released with nw_result_free. */
struct nw_result;

struct nw_result_figures {
    double seconds;
    uint64_t read_bytes;
    const char *backend; /* "mmap", "pread", "direct", "uring", "input" */
    const char *reason;  /* why `auto` took it */
    uint32_t threads;    /* 0 = the calling thread alone */
    uint64_t peak_bytes; /* most that the engine had allocated at a time */
    uint64_t predicted_peak_bytes;
    uint64_t baseline_bytes; /* resident size before the run */
    uint64_t rss_peak_bytes; /* VmHWM less that */
    uint64_t overflow;       /* values beyond the range of their new type */
    uint64_t flushed;        /* non-zero values that became zero */
};

/* Copies what the run that made these weights did. NW_E_NOMEM. */
NW_API NW_CHECK int nw_weights_result(const struct nw_weights *weights,
                                      struct nw_result **out, struct nw_error *err);
NW_API void nw_result_figures(const struct nw_result *result,
                              struct nw_result_figures *out);

/* Per target (plans in order): counts of its cast, and its CRC-32 if it was asked for. */
struct nw_target_result {
    uint64_t overflow;
    uint64_t flushed;
    uint32_t crc32;
    int has_crc32;
};
NW_API int nw_result_target(const struct nw_result *result, size_t i,
                            struct nw_target_result *out);
NW_API size_t nw_result_written_count(const struct nw_result *result);
NW_API int nw_result_written(const struct nw_result *result, size_t i,
                             struct nw_written *out);
/* The i-th metadata key that was dropped because the change made it false; NULL past the end. */
NW_API const char *nw_result_dropped_metadata(const struct nw_result *result, size_t i);
/* The i-th part that a pipeline folder made of an all-in-one file still lacks ("tokenizer"): no
 * file of weights holds it, and the config folder did not have it. NULL past the end. */
NW_API const char *nw_result_lacking(const struct nw_result *result, size_t i);
NW_API void nw_result_free(struct nw_result *result);

/* ---- writing ------------------------------------------------------------------------ */

enum nw_write_flag {
    NW_WRITE_OVERWRITE = 1 << 0 /* replace what an earlier save of the same name left */
};

struct nw_write_options {
    size_t size;
    uint32_t flags; /* enum nw_write_flag */
    uint32_t reserved;
    uint64_t max_shard_bytes;    /* 0 = one file whatever its size */
    const char *variant;         /* put into the names of a folder's files */
    const char *const *metadata; /* "KEY=VALUE"; "KEY=" deletes */
    size_t n_metadata;
};

/* Writes the result as safetensors: `path` ending in .safetensors is one file, anything else
 * a folder of weights (sharded if they exceed max_shard_bytes, with an index) and, if the
 * input has one, its config.json with the dtype brought up to date. Several plans make a
 * pipeline folder: a subfolder each, and the other files of the input copied.
 * Nothing under the final names changes before all bytes are on the disk. `out` may be NULL.
 * The codes of nw_plans_run, and NW_E_ARG if the target exists without NW_WRITE_OVERWRITE, or
 * one file was asked for and max_shard_bytes is exceeded. */
NW_API NW_CHECK int nw_plans_write(struct nw_plan *const *plans, size_t n_plans,
                                   const char *path,
                                   const struct nw_write_options *write_options,
                                   const struct nw_run_options *run_options,
                                   struct nw_result **out, struct nw_error *err);
NW_API NW_CHECK int nw_plan_write(struct nw_plan *plan, const char *path,
                                  const struct nw_write_options *write_options,
                                  const struct nw_run_options *run_options,
                                  struct nw_result **out, struct nw_error *err);

/* Where an embedding engine wants its tensors. All return 0, or non-zero to fail the run
 * (NW_E_DEVICE). Called from worker threads (NW_THREADS_NONE: from the caller's), for one
 * tensor from several at a time; `i` counts targets, plans in order. */
struct nw_sink {
    /* Sets *dst to nbytes of the caller's memory, or to NULL to be served through `write`.
     * Called once a tensor, in plan order, before its first byte. */
    int (*place)(void *ctx, size_t i, const struct nw_target *target, void **dst);
    /* Bytes [offset, offset + nbytes) of the result, if place gave no destination. The
     * ranges of a tensor may come in any order. */
    int (*write)(void *ctx, size_t i, uint64_t offset, const void *data, size_t nbytes);
    /* Once a tensor, after its last byte. May be NULL. */
    int (*done)(void *ctx, size_t i);
    void *ctx;
};

/* Runs plans into a sink (copied). The codes of nw_plans_run, and NW_E_DEVICE. */
NW_API NW_CHECK int nw_plans_deliver(struct nw_plan *const *plans, size_t n_plans,
                                     const struct nw_sink *sink,
                                     const struct nw_run_options *options,
                                     struct nw_result **out, struct nw_error *err);

/* ---- checking and comparing --------------------------------------------------------- */

struct nw_verify_options {
    size_t size;
    struct nw_open_options open; /* its own size field is ignored */
    int quick;                   /* headers only */
    nw_progress_fn *progress;
    void *progress_ctx;
};

/* Reads everything that `path` holds and writes the document of `netweight verify --json`.
 * *ok tells whether it is free of problems. Fails only where there is nothing to judge
 * (NW_E_NOT_FOUND, NW_E_IO at opening, NW_E_ARG, NW_E_NOMEM, NW_E_CANCELLED). */
NW_API NW_CHECK int nw_verify(const char *path, const struct nw_verify_options *options,
                              int *ok, nw_write_fn *write, void *ctx, struct nw_error *err);

struct nw_diff_options {
    size_t size;
    int values;           /* compare element by element, after the plans' casts */
    double tolerance_abs; /* elements differ if |a - b| > abs + rel * |b| */
    double tolerance_rel;
    nw_progress_fn *progress;
    void *progress_ctx;
};

/* Compares the results of two plans (names, dtypes, shapes, and values if asked) and the
 * metadata of their checkpoints; writes the document of `netweight diff --json`. Memory is a
 * few MiB whatever the sizes. */
NW_API NW_CHECK int nw_diff(struct nw_plan *a, struct nw_plan *b,
                            const struct nw_diff_options *options, int *equal,
                            nw_write_fn *write, void *ctx, struct nw_error *err);

#ifdef __cplusplus
}
#endif

#endif
