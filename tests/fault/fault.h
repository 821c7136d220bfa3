/* SPDX-License-Identifier: Apache-2.0
 * What the fault tests share: checkpoints whose every byte is known from the name of
 * its tensor, and the ways to load them. */
#ifndef NWT_FAULT_H
#define NWT_FAULT_H

#include "test.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netweight.h"
#include "support/support.h"

/* Element i of tensor "t<seed>": multiples of 16 up to 240 survive a cast to any type.
 */
static inline float fault_value(uint32_t seed, uint64_t i)
{
    return (float)(((i * 7 + i / 1009 + seed * 3) % 16) * 16);
}

/* Adds n F32 tensors "t<seed>", "t<seed+1>" ... of elems[i] elements. */
static inline void fault_add(struct nwt_safetensors *b, const uint64_t *elems, size_t n,
                             uint32_t seed)
{
    for (size_t i = 0; i < n; i++, seed++) {
        char name[32];
        float *data = malloc((size_t)elems[i] * 4 + 1);
        assert_non_null(data);
        for (uint64_t k = 0; k < elems[i]; k++)
            data[k] = fault_value(seed, k);
        (void)snprintf(name, sizeof name, "t%u", (unsigned)seed);
        nwt_st_add(b, name, "F32", 1, &elems[i], data, (size_t)elems[i] * 4);
        free(data);
    }
}

static inline void fault_write(const char *path, const uint64_t *elems, size_t n,
                               uint32_t seed)
{
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    fault_add(&b, elems, n, seed);
    nwt_st_write(&b, path);
}

/* One element of a type the tests cast to, as a float. */
static inline float fault_element(const uint8_t *data, int dtype, uint64_t i)
{
    uint32_t bits = 0;
    float value = 0;
    if (dtype == NW_F32) {
        memcpy(&bits, data + i * 4, 4);
    } else if (dtype == NW_BF16) {
        memcpy((uint8_t *)&bits + 2, data + i * 2, 2);
    } else if (data[i]) { /* F8_E4M3, normal: all of ours are */
        bits = (uint32_t)((data[i] >> 3 & 15) + 120) << 23 | (uint32_t)(data[i] & 7)
                                                                 << 20;
    }
    memcpy(&value, &bits, 4);
    return value;
}

static inline bool fault_right(const uint8_t *data, int dtype, const char *name,
                               uint64_t n)
{
    uint32_t seed = (uint32_t)strtoul(name + 1, NULL, 10);
    for (uint64_t i = 0; i < n; i++) {
        float got = fault_element(data, dtype, i);
        float want = fault_value(seed, i);
        if (memcmp(&got, &want, 4) != 0)
            return false;
    }
    return true;
}

/* True if every tensor holds what its name says. */
static inline bool fault_weights_right(const struct nw_weights *weights)
{
    for (size_t i = 0; i < nw_weights_count(weights); i++) {
        struct nw_tensor tensor;
        assert_int_equal(nw_weights_tensor(weights, i, &tensor), NW_OK);
        if (!fault_right(tensor.data, tensor.dtype, tensor.name, tensor.shape[0]))
            return false;
    }
    return true;
}

/* Files of 3 tensors each in a folder, with an index. */
static inline void fault_write_shards(const char *folder, const char *stem,
                                      uint32_t n_shards)
{
    static const uint64_t elems[] = {40000, 3, 300};
    char name[128];
    char index[4096];
    size_t used = (size_t)snprintf(index, sizeof index,
                                   "{\"metadata\":{\"total_size\":%u},\"weight_map\":{",
                                   n_shards * 40303 * 4);
    (void)mkdir(folder, 0777);
    for (uint32_t i = 0; i < n_shards; i++) {
        (void)snprintf(name, sizeof name, "%s-%05u-of-%05u.safetensors", stem, i + 1,
                       n_shards);
        char *path = nwt_path(folder, name);
        fault_write(path, elems, 3, i * 3);
        free(path);
        for (uint32_t k = 0; k < 3; k++)
            used +=
                (size_t)snprintf(index + used, sizeof index - used, "%s\"t%u\":\"%s\"",
                                 i + k ? "," : "", i * 3 + k, name);
    }
    used += (size_t)snprintf(index + used, sizeof index - used, "}}");
    (void)snprintf(name, sizeof name, "%s.safetensors.index.json", stem);
    char *path = nwt_path(folder, name);
    nwt_write(path, index, used);
    free(path);
}

static inline void fault_write_text(const char *folder, const char *name,
                                    const char *text)
{
    char *path = nwt_path(folder, name);
    nwt_write(path, text, strlen(text));
    free(path);
}

/* A pipeline folder with two components: unet (two shards) and vae. */
static inline void fault_write_pipeline(const char *folder)
{
    static const uint64_t elems[] = {5000, 7};
    (void)mkdir(folder, 0777);
    fault_write_text(folder, "model_index.json",
                     "{\"_class_name\":\"StableDiffusionPipeline\","
                     "\"unet\":[\"diffusers\",\"UNet2DConditionModel\"],"
                     "\"vae\":[\"diffusers\",\"AutoencoderKL\"]}");
    char *unet = nwt_path(folder, "unet");
    char *vae = nwt_path(folder, "vae");
    fault_write_shards(unet, "diffusion_pytorch_model", 2);
    fault_write_text(unet, "config.json", "{\"_class_name\":\"UNet2DConditionModel\"}");
    (void)mkdir(vae, 0777);
    fault_write_text(vae, "config.json", "{\"_class_name\":\"AutoencoderKL\"}");
    char *path = nwt_path(vae, "diffusion_pytorch_model.safetensors");
    fault_write(path, elems, 2, 20);
    free(path);
    free(vae);
    free(unet);
}

static inline int fault_check_entry(const char *path, const struct stat *st, int kind,
                                    struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return strstr(path, ".netweight-tmp") != NULL;
}

/* True if a temporary is left anywhere below the folder. */
static inline bool fault_has_temporary(const char *folder)
{
    return nftw(folder, fault_check_entry, 16, FTW_PHYS) != 0;
}

/* Call number `n` (from 0) from now on fails; < 0: none. */
static inline void fault_arm(struct nwt_allocator *memory, long n)
{
    memory->calls = 0;
    memory->fail_at = n;
}

/* After a call during which number n was to fail: false if there was no such number. */
static inline bool fault_judge(struct nwt_allocator *memory, const char *what, long n,
                               int code, const struct nw_error *err, long live)
{
    bool fired = memory->calls > n;
    fault_arm(memory, -1);
    if (code != (fired ? NW_E_NOMEM : NW_OK))
        fail_msg("%s, allocation %ld fails: got %s (%s)", what, n, nw_code_name(code),
                 err->message);
    if (fired && memory->live != live)
        fail_msg("%s, allocation %ld fails: %ld blocks leaked", what, n,
                 memory->live - live);
    assert_true(!fired || err->message[0]);
    return fired;
}

/* A way to load. */
struct fault_way {
    int dtype;
    uint32_t copy;
    uint32_t backend;
    uint32_t threads;
};

#define FAULT_MAP                                                                      \
    {                                                                                  \
        NW_DTYPE_AUTO, NW_COPY_AUTO, NW_BACKEND_AUTO, NW_THREADS_NONE                  \
    }

/* Those that copy or cast: each backend, the caller's thread alone and workers. */
static const struct fault_way fault_ways[] = {
    {NW_DTYPE_AUTO, NW_COPY_ALWAYS, NW_BACKEND_PREAD, NW_THREADS_NONE},
    {NW_BF16, NW_COPY_AUTO, NW_BACKEND_PREAD, 2},
    {NW_F8_E4M3, NW_COPY_AUTO, NW_BACKEND_MMAP, NW_THREADS_NONE},
    {NW_DTYPE_AUTO, NW_COPY_ALWAYS, NW_BACKEND_MMAP, 2},
    {NW_DTYPE_AUTO, NW_COPY_ALWAYS, NW_BACKEND_DIRECT, NW_THREADS_NONE},
    {NW_BF16, NW_COPY_AUTO, NW_BACKEND_DIRECT, 2},
    {NW_F8_E4M3, NW_COPY_AUTO, NW_BACKEND_URING, NW_THREADS_NONE},
    {NW_BF16, NW_COPY_AUTO, NW_BACKEND_URING, 2},
};
#define FAULT_WAYS (sizeof fault_ways / sizeof *fault_ways)

static inline struct nw_load_options fault_options(const struct fault_way *way)
{
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = way->dtype;
    options.copy = way->copy;
    options.backend = way->backend;
    options.threads = way->threads;
    options.scratch_bytes = 1 << 20;
    return options;
}

static inline struct nw_plan *fault_plan(struct nw_checkpoint *ckpt,
                                         const struct fault_way *way, uint32_t flags)
{
    struct nw_error err;
    struct nw_plan *plan = NULL;
    struct nw_load_options options = fault_options(way);
    options.flags = flags;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    return plan;
}

#endif
