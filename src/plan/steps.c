/* SPDX-License-Identifier: Apache-2.0
 * Turns the views of every target into contiguous extents and sorts them by place in
 * the files. A view is cut where its strides stop being those of a dense tensor; a
 * transposed matrix stays whole, because it would be cut into single elements. */
#include "plan/plan_parts.h"

#include "base/arith.h"
#include "tensor/view.h"

static size_t count_extents(const struct nw_part *part)
{
    uint64_t n = nwi_view_elems(part);
    return n ? (size_t)(n / nwi_view_dense_tail(part).n_elems) : 0;
}

/* [C, R] elements that the file holds as [R, C], of whole bytes each. */
static bool is_transposed(const struct nw_plan *plan, const struct nwi_target *target)
{
    const struct nw_part *part = target->parts;
    if (target->info.n_parts != 1 || part->rank != 2)
        return false;
    uint64_t columns = part->shape[0];
    return columns > 1 && part->shape[1] > 1 && part->strides[0] == 1 &&
           part->strides[1] == columns &&
           nw_dtype_bits(plan->ckpt->tensors[part->source].dtype) % 8 == 0 &&
           nw_dtype_bits(target->info.dtype) % 8 == 0;
}

/* The whole matrix, in the file's order. */
static size_t add_transposed(struct nw_plan *plan, size_t n, uint32_t target)
{
    const struct nw_part *part = plan->targets[target].parts;
    const struct nwi_stored *stored = &plan->ckpt->tensors[part->source];
    uint64_t bytes = nw_dtype_bits(stored->dtype) / 8;
    plan->steps[n] = (struct nwi_step){
        .offset = stored->offset + part->start * bytes,
        .nbytes = part->shape[0] * part->shape[1] * bytes,
        .file = stored->file,
        .target = target,
    };
    return n + 1;
}

static size_t add_part(struct nw_plan *plan, size_t n, uint32_t target,
                       const struct nw_part *part, uint64_t dst_elem)
{
    const struct nwi_stored *stored = &plan->ckpt->tensors[part->source];
    uint64_t from_bits = nw_dtype_bits(stored->dtype);
    uint64_t to_bits = nw_dtype_bits(plan->targets[target].info.dtype);
    struct nwi_dense_tail tail = nwi_view_dense_tail(part);
    size_t n_extents = count_extents(part);
    for (size_t i = 0; i < n_extents; i++) {
        uint64_t start = nwi_view_extent(part, tail.n_outer, i);
        plan->steps[n++] = (struct nwi_step){
            .offset = stored->offset + start * from_bits / 8,
            .nbytes = tail.n_elems * from_bits / 8,
            .dst_offset = (dst_elem + i * tail.n_elems) * to_bits / 8,
            .file = stored->file,
            .target = target,
        };
    }
    return n;
}

static size_t add_target(struct nw_plan *plan, size_t n, uint32_t i)
{
    const struct nwi_target *target = &plan->targets[i];
    uint64_t dst_elem = 0;
    if (target->transposed)
        return add_transposed(plan, n, i);
    for (uint32_t k = 0; k < target->info.n_parts; k++) {
        n = add_part(plan, n, i, &target->parts[k], dst_elem);
        dst_elem += nwi_view_elems(&target->parts[k]);
    }
    return n;
}

static bool step_before(const struct nwi_step *a, const struct nwi_step *b)
{
    if (a->file != b->file)
        return a->file < b->file;
    if (a->offset != b->offset)
        return a->offset < b->offset;
    if (a->target != b->target)
        return a->target < b->target;
    return a->dst_offset < b->dst_offset;
}

static void sift_down(struct nwi_step *steps, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && step_before(&steps[child], &steps[child + 1]))
            child++;
        if (!step_before(&steps[root], &steps[child]))
            return;
        struct nwi_step swap = steps[root];
        steps[root] = steps[child];
        steps[child] = swap;
    }
}

/* Heap sort: in place (qsort may allocate behind the allocator's back), and never slow.
 */
void nwi_sort_steps(struct nwi_step *steps, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = !step_before(&steps[i], &steps[i - 1]);
    if (sorted)
        return;
    for (size_t i = n / 2; i-- > 0;)
        sift_down(steps, i, n);
    for (size_t end = n; end-- > 1;) {
        struct nwi_step swap = steps[0];
        steps[0] = steps[end];
        steps[end] = swap;
        sift_down(steps, 0, end);
    }
}

static size_t count_steps(const struct nwi_target *target)
{
    size_t n = 0;
    for (uint32_t k = 0; k < target->info.n_parts; k++)
        n += count_extents(&target->parts[k]);
    return target->transposed ? 1 : n;
}

int nwi_plan_steps(struct nw_plan *plan, struct nw_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        plan->targets[i].transposed = is_transposed(plan, &plan->targets[i]);
        n += count_steps(&plan->targets[i]);
    }
    plan->steps = nwi_arena_array(&plan->arena, n, sizeof *plan->steps);
    if (!plan->steps)
        return nwi_fail_nomem(err, n * sizeof *plan->steps);
    for (size_t i = 0; i < plan->n_targets; i++)
        plan->n_steps = add_target(plan, plan->n_steps, (uint32_t)i);
    nwi_sort_steps(plan->steps, plan->n_steps);
    return NW_OK;
}
