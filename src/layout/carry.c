/* SPDX-License-Identifier: Apache-2.0
 * What rules may do to the tensors of quantised layers. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "layout/applying.h"

/* One element, or the JSON text that describes the layer: means the same for every part. */
static bool goes_whole(const struct nwi_stored *stored)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < stored->rank; i++)
        n *= stored->shape[i];
    return n == 1 ||
           (stored->dtype == NW_U8 && nwi_ends_with(stored->name, "comfy_quant"));
}

static bool is_byte_float(const struct nwi_stored *stored)
{
    return stored->dtype == NW_F8_E4M3 || stored->dtype == NW_F8_E5M2;
}

/* A weight with a scheme: packed, until a companion shows that rows are independent. Plain
 * bytes without any companion have the scale 1. */
static enum nwi_carry first_guess(const struct nwi_stored *stored)
{
    if (stored->companion_of != NW_NONE)
        return goes_whole(stored)  ? NWI_CARRY_WHOLE
               : stored->quantised ? NWI_CARRY_PACKED
                                   : NWI_CARRY_PLAIN;
    if (!stored->quantised)
        return NWI_CARRY_PLAIN;
    return is_byte_float(stored) ? NWI_CARRY_SCALED : NWI_CARRY_PACKED;
}

int nwi_carry_init(struct nwi_applying *a)
{
    const struct nw_checkpoint *ckpt = a->ckpt;
    if (!ckpt)
        return NW_OK;
    a->kinds = nwi_arena_zalloc(a->scratch, ckpt->n_tensors);
    uint8_t *has_large = nwi_arena_zalloc(a->scratch, ckpt->n_tensors);
    if (!a->kinds || !has_large)
        return nwi_applying_nomem(a, ckpt->n_tensors);
    for (size_t i = 0; i < ckpt->n_tensors; i++)
        a->kinds[i] = (uint8_t)first_guess(&ckpt->tensors[i]);
    for (size_t i = 0; i < ckpt->n_tensors; i++) {
        uint32_t weight = ckpt->tensors[i].companion_of;
        if (weight == NW_NONE || !ckpt->tensors[weight].quantised)
            continue;
        has_large[weight] |= a->kinds[i] != NWI_CARRY_WHOLE;
        a->kinds[weight] = has_large[weight] ? NWI_CARRY_PACKED : NWI_CARRY_SCALED;
    }
    return NW_OK;
}

enum nwi_carry nwi_carry_of(const struct nwi_applying *a, uint32_t input)
{
    uint32_t source = a->input->rows[input].source;
    if (!a->kinds || source >= a->ckpt->n_tensors)
        return NWI_CARRY_PLAIN;
    return (enum nwi_carry)a->kinds[source];
}

static const char *deed(enum nwi_rule_op op, enum nwi_direction direction)
{
    switch (op) {
    case NWI_RULE_SPLIT:
        return direction == NWI_TO_DIFFUSERS ? "cut into parts" : "joined";
    case NWI_RULE_SWAP:
        return "cut into halves";
    case NWI_RULE_TRANSPOSE:
        return "transposed";
    case NWI_RULE_RESHAPE:
        return "reshaped";
    case NWI_RULE_HEADS:
        return "cut into heads";
    case NWI_RULE_RENAME:
    case NWI_RULE_DROP:
    case NWI_RULE_CONSTANT:
        break;
    }
    return NULL;
}

int nwi_carry_check(struct nwi_applying *a, uint32_t input,
                    const struct nwi_ready_rule *rule)
{
    enum nwi_rule_op op = (enum nwi_rule_op)rule->rule->op;
    const char *verb = deed(op, a->direction);
    enum nwi_carry kind = nwi_carry_of(a, input);
    bool is_joined = a->direction == NWI_TO_ORIGINAL &&
                     (op == NWI_RULE_SPLIT || op == NWI_RULE_HEADS);
    bool in_rows =
        is_joined ? op == NWI_RULE_SPLIT : op == NWI_RULE_SPLIT || op == NWI_RULE_SWAP;
    if (!verb || kind == NWI_CARRY_PLAIN || kind == NWI_CARRY_WHOLE)
        return NW_OK; /* whole ones that are joined: nwi_carry_join */
    if (kind == NWI_CARRY_SCALED && in_rows)
        return NW_OK;
    const char *scheme = a->ckpt->tensors[a->input->rows[input].source].scheme;
    return nwi_applying_fail(a, input, NW_E_UNSUPPORTED,
                             "a tensor of the scheme %.60s cannot be %s",
                             scheme ? scheme : "(unknown)", verb);
}

/* ---- joining ---- */

#define WHOLE_MOST 4096u /* bytes of a description */

static int read_whole(const struct nwi_applying *a, uint32_t input, uint8_t *out,
                      size_t *size)
{
    const struct nwi_stored *stored = &a->ckpt->tensors[a->input->rows[input].source];
    const struct nwi_file *file = a->ckpt->files[stored->file].file;
    *size = 0;
    if (!file || stored->nbytes > WHOLE_MOST)
        return NW_OK;
    *size = (size_t)stored->nbytes;
    return nwi_file_read(file, stored->offset, out, *size, a->err);
}

int nwi_carry_join(struct nwi_applying *a, const uint32_t *inputs, uint32_t n)
{
    uint8_t first[WHOLE_MOST];
    uint8_t other[WHOLE_MOST];
    size_t first_size = 0;
    size_t other_size = 0;
    if (n > 1)
        NWI_TRY(read_whole(a, inputs[0], first, &first_size));
    for (uint32_t i = 1; i < n; i++) {
        NWI_TRY(read_whole(a, inputs[i], other, &other_size));
        if (first_size == 0 || other_size != first_size ||
            memcmp(first, other, first_size) != 0)
            return nwi_applying_fail(a, inputs[i], NW_E_UNSUPPORTED,
                                     "it is not what %.200s is, and one tensor of both "
                                     "can have one scale only",
                                     a->input->rows[inputs[0]].name);
    }
    return NW_OK;
}
