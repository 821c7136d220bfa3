/* SPDX-License-Identifier: Apache-2.0
 * The dtype policy: what type each tensor has in the result.
 *
 * Only floating tensors change; integers, booleans and C64 keep their type whatever is
 * asked. For a floating tensor, the first that applies decides:
 *
 *   1. the last of `dtype_rules` that matches (AUTO there: as stored),
 *   2. `keep_fp32`, if a dtype is given and the name has that component: F32,
 *   3. `dtype`, if it is not AUTO,
 *   4. the stored dtype.
 *
 * Packed floats (F4, F6) and quantised tensors can stay as they are; a conversion of
 * them is refused by name, never done without the scales. `dequantise` NO keeps
 * quantised tensors as stored whatever the rules say. */
#ifndef NWI_POLICY_H
#define NWI_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/bindings.h"

/* One of dtype_rules: "GLOB[@CONDITION...]=DTYPE", where a condition is `rank` or
 * `bytes`, one of < <= = >= >, and a number or size. All conditions must hold; bounds
 * are inclusive. */
struct nwi_dtype_rule {
    const char *glob; /* borrowed from the options; no NUL behind it */
    size_t glob_size;
    uint64_t rank_min; /* min > max: never matches */
    uint64_t rank_max;
    uint64_t bytes_min; /* of the tensor as stored */
    uint64_t bytes_max;
    int32_t dtype; /* a cast target, or AUTO */
};

/* Valid as long as the options it was made from. */
struct nwi_policy {
    const struct nwi_dtype_rule *rules; /* [n_rules], on the arena */
    size_t n_rules;
    const char *const *keep_fp32; /* [n_keep_fp32], borrowed */
    size_t n_keep_fp32;
    int32_t dtype;       /* enum nw_dtype */
    uint32_t dequantise; /* enum nw_choice */
};

struct nwi_decision {
    int32_t dtype;  /* of the result; never AUTO */
    bool kept_fp32; /* floating, and F32 because of keep_fp32 */
};

/* Checks and parses the options. ARG naming the text that is wrong, UNSUPPORTED (a
 * packed float as target), NOMEM. */
int nwi_policy_init(struct nwi_policy *policy, const struct nw_load_options *options,
                    struct nwi_arena *arena, struct nw_error *err);

/* `stored` is what the parts of `binding` come from. UNSUPPORTED with the tensor's
 * name. */
int nwi_policy_decide(const struct nwi_policy *policy, const struct nwi_stored *stored,
                      const struct nwi_binding *binding, struct nwi_decision *out,
                      struct nw_error *err);

#endif
