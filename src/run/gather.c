/* SPDX-License-Identifier: Apache-2.0
 * A range of elements is cut where a part ends and where a part's strides stop being
 * dense; each piece is one read, or comes out of a window where pieces are short and
 * near. */
#include "run/gather.h"

#include <string.h>

#include "base/arith.h"
#include "run/fill.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define NEAR_BYTES   (WINDOW_BYTES / 4) /* extents that far apart share a window */

int nwi_gather_init(struct nwi_gather *gather, const struct nw_plan *plan,
                    struct nwi_memory *memory, struct nw_error *err)
{
    *gather = (struct nwi_gather){.plan = plan};
    gather->stage = nwi_alloc_pages(memory, NWI_GATHER_BYTES + WINDOW_BYTES);
    if (!gather->stage)
        return nwi_fail_nomem(err, NWI_GATHER_BYTES + WINDOW_BYTES);
    gather->window = gather->stage + NWI_GATHER_BYTES;
    return NW_OK;
}

void nwi_gather_release(struct nwi_gather *gather, struct nwi_memory *memory)
{
    nwi_free_pages(memory, gather->stage, NWI_GATHER_BYTES + WINDOW_BYTES);
    *gather = (struct nwi_gather){0};
}

/* One range of a stored tensor. */
struct extent {
    uint64_t offset; /* in the file */
    uint64_t nbytes;
    uint64_t limit; /* where the stored tensor ends in the file */
    uint32_t file;  /* row of files */
    bool near;      /* the next one begins close by */
};

static int read_window(struct nwi_gather *gather, const struct extent *extent,
                       void *dst, struct nw_error *err)
{
    bool inside = extent->file == gather->window_file &&
                  extent->offset >= gather->window_begin &&
                  extent->offset + extent->nbytes <= gather->window_end;
    if (!inside) {
        uint64_t size = nwi_min(WINDOW_BYTES, extent->limit - extent->offset);
        gather->window_begin = gather->window_end = 0;
        NWI_TRY(nwi_file_read(gather->plan->ckpt->files[extent->file].file,
                              extent->offset, gather->window, (size_t)size, err));
        gather->window_file = extent->file;
        gather->window_begin = extent->offset;
        gather->window_end = extent->offset + size;
    }
    memcpy(dst, gather->window + (extent->offset - gather->window_begin),
           (size_t)extent->nbytes);
    return NW_OK;
}

static int read_extent(struct nwi_gather *gather, const struct extent *extent,
                       void *dst, struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = gather->plan->ckpt;
    if (extent->near && extent->nbytes <= NEAR_BYTES)
        return read_window(gather, extent, dst, err);
    return nwi_file_read(ckpt->files[extent->file].file, extent->offset, dst,
                         (size_t)extent->nbytes, err);
}

/* The longest dense run from element `first` of a part, at most n elements. */
static int find_extent(const struct nw_checkpoint *ckpt, const struct nw_part *part,
                       uint64_t first, uint64_t *n, struct extent *out,
                       struct nw_error *err)
{
    const struct nwi_stored *stored = &ckpt->tensors[part->source];
    struct nwi_dense_tail tail = nwi_view_dense_tail(part);
    uint64_t bits = nw_dtype_bits(stored->dtype);
    uint64_t inside = first % tail.n_elems;
    uint64_t at = nwi_view_extent(part, tail.n_outer, first / tail.n_elems) + inside;
    *n = nwi_min(*n, tail.n_elems - inside);
    if (at * bits % 8 || *n * bits % 8)
        return nwi_fail(err, NW_E_UNSUPPORTED,
                        "a part of %s does not lie on whole bytes",
                        nw_dtype_name(stored->dtype));
    uint64_t step = tail.n_outer ? part->strides[tail.n_outer - 1] : UINT64_MAX / bits;
    *out = (struct extent){
        .offset = stored->offset + at * bits / 8,
        .nbytes = *n * bits / 8,
        .limit = stored->offset + stored->nbytes,
        .file = stored->file,
        .near = step <= NEAR_BYTES * 8 / bits,
    };
    return NW_OK;
}

/* The part in which element *first lies; *first becomes its place in that part. */
static const struct nw_part *find_part(const struct nwi_target *target, uint64_t *first)
{
    for (uint32_t i = 0; i < target->info.n_parts; i++) {
        uint64_t n = nwi_view_elems(&target->parts[i]);
        if (*first < n)
            return &target->parts[i];
        *first -= n;
    }
    return NULL;
}

/* Fills `dst` with n elements as they are stored. */
static int read_stored(struct nwi_gather *gather, const struct nwi_target *target,
                       uint64_t first, size_t n, uint8_t *dst, struct nw_error *err)
{
    for (uint64_t done = 0, step; done < n; done += step) {
        struct extent extent = {0};
        uint64_t at = first + done;
        const struct nw_part *part = find_part(target, &at);
        if (!part)
            return nwi_fail(err, NW_E_ARG, "element %llu is past the end of the tensor",
                            (unsigned long long)first + done);
        step = n - done;
        NWI_TRY(find_extent(gather->plan->ckpt, part, at, &step, &extent, err));
        NWI_TRY(read_extent(gather, &extent, dst, err));
        dst += extent.nbytes;
    }
    return NW_OK;
}

int nwi_gather_read(struct nwi_gather *gather, size_t target, uint64_t first, size_t n,
                    void *dst, struct nw_error *err)
{
    const struct nwi_target *from = &gather->plan->targets[target];
    if (from->info.op == NW_OP_FILL) {
        nwi_fill_elements(from, first, n, dst);
        return NW_OK;
    }
    bool cast = from->info.op == NW_OP_CAST;
    int code = read_stored(gather, from, first, n, cast ? gather->stage : dst, err);
    if (code != NW_OK)
        return nwi_error_in_tensor(err, code, from->info.name);
    struct nwi_cast_counts counts = {0};
    if (cast)
        nwi_cast_run(&from->cast, gather->stage, dst, n, &counts);
    return NW_OK;
}
