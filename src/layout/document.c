/* SPDX-License-Identifier: Apache-2.0
 * The documents of `netweight inspect --json`, and of a failure. */
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "layout/detection.h"
#include "source/catalog.h"
#include "source/hash.h"
#include "source/rows.h"

static uint64_t total_bytes(const struct nw_checkpoint *ckpt)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ckpt->n_components; i++)
        sum += ckpt->components[i].info.nbytes;
    return sum;
}

/* ---- inspect ---- */

/* Of several files the first that has a key counts. `seen` is empty. */
static int put_metadata(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                        struct nwi_map *seen)
{
    nwi_json_key(w, "metadata");
    nwi_json_object(w);
    for (size_t i = 0; i < ckpt->n_metadata; i++) {
        const struct nw_metadata *row = &ckpt->metadata[i];
        uint32_t existing = NWI_MAP_NONE;
        if (nwi_map_add(seen, row->key, row->key_size, (uint32_t)i, &existing) != NW_OK)
            return NW_E_NOMEM;
        if (existing != NWI_MAP_NONE)
            continue;
        nwi_json_key_n(w, row->key, row->key_size);
        nwi_json_str_n(w, row->value, row->value_size);
    }
    nwi_json_object_end(w);
    return NW_OK;
}

static void put_dtypes(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt)
{
    uint64_t n[NW_DTYPE_COUNT] = {0};
    uint64_t nbytes[NW_DTYPE_COUNT] = {0};
    for (size_t i = 0; i < ckpt->n_tensors; i++) {
        n[ckpt->tensors[i].dtype]++;
        nbytes[ckpt->tensors[i].dtype] += ckpt->tensors[i].nbytes;
    }
    nwi_json_key(w, "dtypes");
    nwi_json_object(w);
    for (int dtype = 0; dtype < NW_DTYPE_COUNT; dtype++) {
        if (n[dtype] == 0)
            continue;
        nwi_json_key(w, nw_dtype_name(dtype));
        nwi_json_object(w);
        nwi_json_put_uint(w, "tensors", n[dtype]);
        nwi_json_put_uint(w, "bytes", nbytes[dtype]);
        nwi_json_object_end(w);
    }
    nwi_json_object_end(w);
}

static void put_absent(struct nwi_json_writer *w, const struct nwi_found *found)
{
    nwi_json_key(w, "absent");
    nwi_json_array(w);
    for (uint32_t i = 0; i < found->n_absent; i++)
        nwi_json_str(w, found->absent[i]);
    nwi_json_array_end(w);
}

static void put_component(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                          const struct nwi_detected *part)
{
    static const char *const states[] = {"present", "partial", "absent"};
    const struct nw_detected *info = &part->info;
    nwi_json_object(w);
    nwi_json_put_str(w, "name", info->name);
    nwi_json_put_str(w, "class", info->klass);
    nwi_json_put_str(w, "library", ckpt->components[info->component].info.library);
    nwi_json_put_str(w, "family", info->family);
    nwi_json_put_str(w, "variant", info->variant);
    nwi_json_put_str(w, "layout", info->layout);
    nwi_json_put_str(w, "prefix", info->family || *info->prefix ? info->prefix : NULL);
    nwi_json_put_str(w, "prediction_type", info->prediction_type);
    nwi_json_put_str(w, "state", states[info->state]);
    put_absent(w, part->found);
    nwi_json_put_uint(w, "tensors", info->n_tensors);
    nwi_json_put_uint(w, "bytes", info->nbytes);
    if (info->why_not)
        nwi_json_put_str(w, "nearest", info->why_not);
    if (info->probed)
        nwi_json_put_str(w, "probed", info->probed);
    nwi_json_object_end(w);
}

static void put_components(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                           const struct nw_detection *detection)
{
    nwi_json_key(w, "components");
    nwi_json_array(w);
    for (size_t i = 0; i < detection->n; i++)
        put_component(w, ckpt, &detection->parts[i]);
    nwi_json_array_end(w);
}

static void put_variants(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt)
{
    nwi_json_key(w, "variants");
    nwi_json_array(w);
    for (size_t i = 0; i < ckpt->n_variants; i++)
        nwi_json_str(w, ckpt->variants[i]);
    nwi_json_array_end(w);
}

static void put_quantisation(struct nwi_json_writer *w,
                             const struct nw_checkpoint *ckpt)
{
    nwi_json_key(w, "quantisation");
    nwi_json_array(w);
    for (size_t i = 0; i < ckpt->n_quantisation; i++) {
        const struct nw_quantisation *row = &ckpt->quantisation[i];
        nwi_json_object(w);
        nwi_json_put_str(w, "scheme", row->scheme);
        nwi_json_put_uint(w, "layers", row->n_layers);
        nwi_json_key(w, "supported");
        nwi_json_bool(w, row->supported);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

static void put_problems(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt)
{
    nwi_json_key(w, "problems");
    nwi_json_array(w);
    for (size_t i = 0; i < ckpt->n_problems; i++)
        nwi_put_problem(w, &ckpt->problems[i]);
    nwi_json_array_end(w);
}

static void put_list(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt)
{
    nwi_json_key(w, "list");
    nwi_json_array(w);
    for (size_t i = 0; i < ckpt->n_tensors; i++) {
        const struct nwi_stored *tensor = &ckpt->tensors[i];
        nwi_json_object(w);
        nwi_json_key(w, "name");
        nwi_json_str_n(w, tensor->name, tensor->name_size);
        nwi_json_put_str(w, "dtype", tensor->dtype_text);
        nwi_json_key(w, "shape");
        nwi_json_array(w);
        for (uint32_t d = 0; d < tensor->rank; d++)
            nwi_json_uint(w, tensor->shape[d]);
        nwi_json_array_end(w);
        nwi_json_put_str(w, "file", ckpt->files[tensor->file].info.name);
        nwi_json_put_uint(w, "offset", tensor->offset);
        nwi_json_put_uint(w, "nbytes", tensor->nbytes);
        if (tensor->scheme)
            nwi_json_put_str(w, "scheme", tensor->scheme);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* ---- hashes ---- */

#define HASH_FLAGS (NW_INSPECT_SHA256 | NW_INSPECT_AUTOV2 | NW_INSPECT_AUTOV3)

static int compute_hashes(const struct nw_checkpoint *ckpt, struct nwi_hashes *hashes,
                          struct nw_error *err)
{
    for (size_t i = 0; i < ckpt->n_files; i++) {
        if (!ckpt->files[i].file)
            continue;
        int code = nwi_hash_file(&ckpt->files[i], ckpt->memory, &hashes[i], err);
        if (code != NW_OK)
            return nwi_error_in_file(err, code, ckpt->files[i].info.path);
    }
    return NW_OK;
}

static void put_hashes(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                       const struct nwi_hashes *hashes, uint32_t flags)
{
    nwi_json_key(w, "hashes");
    nwi_json_array(w);
    for (size_t i = 0; i < ckpt->n_files; i++) {
        if (!ckpt->files[i].file)
            continue;
        nwi_json_object(w);
        nwi_json_put_str(w, "file", ckpt->files[i].info.name);
        if (flags & NW_INSPECT_SHA256)
            nwi_json_put_str(w, "sha256", hashes[i].whole);
        if (flags & NW_INSPECT_AUTOV2) {
            nwi_json_key(w, "autov2");
            nwi_json_str_n(w, hashes[i].whole, 10);
        }
        if (flags & NW_INSPECT_AUTOV3) {
            nwi_json_key(w, "autov3");
            nwi_json_str_n(w, hashes[i].data, 12);
        }
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

/* ---- entry points ---- */

static int put_document(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                        const struct nw_detection *detection,
                        const struct nwi_hashes *hashes, uint32_t flags)
{
    struct nwi_map seen = {.memory = ckpt->memory};
    nwi_json_object(w);
    nwi_json_put_str(w, "path", ckpt->path);
    nwi_json_put_uint(w, "tensors", ckpt->n_tensors);
    nwi_json_put_uint(w, "bytes", total_bytes(ckpt));
    int code = put_metadata(w, ckpt, &seen);
    nwi_map_release(&seen);
    if (code != NW_OK)
        return code;
    put_dtypes(w, ckpt);
    nwi_json_put_str(w, "kind", nwi_detection_kind(ckpt, detection));
    nwi_put_files(w, ckpt);
    put_components(w, ckpt, detection);
    put_variants(w, ckpt);
    put_quantisation(w, ckpt);
    put_problems(w, ckpt);
    if (hashes)
        put_hashes(w, ckpt, hashes, flags);
    if (flags & NW_INSPECT_TENSORS)
        put_list(w, ckpt);
    nwi_json_object_end(w);
    return NW_OK;
}

int nw_checkpoint_json(const struct nw_checkpoint *ckpt, uint32_t flags,
                       nw_write_fn *write, void *ctx, struct nw_error *err)
{
    struct nwi_json_writer w;
    struct nwi_hashes *hashes = NULL;
    nwi_error_clear(err);
    if (!ckpt || !write)
        return nwi_fail(err, NW_E_ARG,
                        "a checkpoint and a place to write to are needed");
    struct nw_detection *detection = NULL;
    size_t size = ckpt->n_files * sizeof *hashes;
    int code = nwi_detection_new(ckpt, NULL, &detection, err);
    if (code == NW_OK && (flags & HASH_FLAGS) && size) {
        hashes = nwi_zalloc(ckpt->memory, size);
        code = hashes ? compute_hashes(ckpt, hashes, err) : nwi_fail_nomem(err, size);
    }
    if (code == NW_OK) {
        nwi_json_writer_init(&w, write, ctx);
        code = put_document(&w, ckpt, detection, hashes, flags);
        if (code != NW_OK)
            code = nwi_fail_nomem(err, ckpt->n_metadata);
        else if (nwi_json_writer_finish(&w) != NW_OK)
            code =
                nwi_fail(err, NW_E_CANCELLED, "the receiver of the document stopped");
    }
    nw_detection_free(detection);
    nwi_free(ckpt->memory, hashes, size);
    return code;
}

int nw_error_json(const struct nw_error *failure, const struct nw_checkpoint *ckpt,
                  nw_write_fn *write, void *ctx)
{
    struct nwi_json_writer w;
    if (!failure || !write)
        return NW_E_ARG;
    nwi_json_writer_init(&w, write, ctx);
    nwi_json_object(&w);
    nwi_put_error(&w, failure, ckpt);
    nwi_json_object_end(&w);
    return nwi_json_writer_finish(&w);
}
