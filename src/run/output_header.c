/* SPDX-License-Identifier: Apache-2.0
 * The head of a safetensors file, never whole in memory: one pass counts, one writes.
 *
 *     u64 LE   length of the JSON, padding included
 *     JSON     {"__metadata__":{"KEY":"VALUE"},
 *               "NAME":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}, ..}
 *     spaces   up to a multiple of 8
 *     data     from here on, in the order of the entries; offsets count from here */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/json_write.h"
#include "run/output_parts.h"

#define LENGTH_FIELD 8u
#define READERS_MOST 100000000u /* longest header that safetensors itself opens */

static void write_pairs(struct nwi_json_writer *w, const struct nwi_output_set *set)
{
    bool any = false;
    for (size_t i = 0; i < set->n_pairs; i++) {
        const struct nwi_output_pair *pair = &set->pairs[i];
        if (!pair->value)
            continue;
        if (!any) {
            nwi_json_key(w, "__metadata__");
            nwi_json_object(w);
        }
        any = true;
        nwi_json_key_n(w, pair->key, pair->key_size);
        nwi_json_str_n(w, pair->value, pair->value_size);
    }
    if (any)
        nwi_json_object_end(w);
}

static void write_tensor(struct nwi_json_writer *w, const struct nw_target *info,
                         uint64_t offset)
{
    nwi_json_key_n(w, info->name, info->name_size);
    nwi_json_object(w);
    nwi_json_put_str(w, "dtype", nw_dtype_name(info->dtype));
    nwi_json_key(w, "shape");
    nwi_json_array(w);
    for (uint32_t d = 0; d < info->rank; d++)
        nwi_json_uint(w, info->shape[d]);
    nwi_json_array_end(w);
    nwi_json_key(w, "data_offsets");
    nwi_json_array(w);
    nwi_json_uint(w, offset);
    nwi_json_uint(w, offset + info->nbytes);
    nwi_json_array_end(w);
    nwi_json_object_end(w);
}

/* The JSON without its padding. Offsets may wrap while the sizes are still unchecked:
 * then the caller finds out when it adds them up. */
static void write_json(struct nwi_json_writer *w, const struct nwi_output_set *set,
                       const struct nwi_output_row *rows, size_t n)
{
    uint64_t offset = 0;
    nwi_json_object(w);
    write_pairs(w, set);
    for (size_t i = 0; i < n; i++) {
        write_tensor(w, &rows[i].target->info, offset);
        offset += rows[i].target->info.nbytes;
    }
    nwi_json_object_end(w);
}

static int count_only(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 0;
}

int nwi_output_header_size(const struct nwi_output_set *set,
                           const struct nwi_output_row *rows, size_t n, uint64_t *out,
                           struct nw_error *err)
{
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, count_only, NULL);
    write_json(&w, set, rows, n);
    *out = LENGTH_FIELD + nwi_round_up(w.written, 8);
    if (*out - LENGTH_FIELD > READERS_MOST)
        return nwi_fail(err, NW_E_LIMIT,
                        "a header of %" PRIu64
                        " bytes is longer than the %u that readers "
                        "accept: write shards (max_shard_bytes)",
                        *out - LENGTH_FIELD, READERS_MOST);
    return NW_OK;
}

/* Where the JSON goes. */
struct stream {
    int fd;
    uint64_t at;
    struct nw_error *err;
    int code;
};

static int write_text(void *ctx, const char *text, size_t size)
{
    struct stream *stream = ctx;
    stream->code = nwi_output_pwrite(stream->fd, stream->at, text, size, stream->err);
    stream->at += size;
    return stream->code != NW_OK;
}

int nwi_output_header_write(int fd, const struct nwi_output_set *set,
                            const struct nwi_output_row *rows, size_t n, uint64_t size,
                            struct nw_error *err)
{
    struct stream stream = {.fd = fd, .at = LENGTH_FIELD, .err = err};
    uint8_t length[LENGTH_FIELD];
    for (size_t i = 0; i < LENGTH_FIELD; i++)
        length[i] = (uint8_t)((size - LENGTH_FIELD) >> (8 * i));
    NWI_TRY(nwi_output_pwrite(fd, 0, length, sizeof length, err));
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, write_text, &stream);
    write_json(&w, set, rows, n);
    if (nwi_json_writer_finish(&w) != NW_OK)
        return stream.code;
    return nwi_output_pwrite(fd, stream.at, "       ", (size_t)(size - stream.at), err);
}
