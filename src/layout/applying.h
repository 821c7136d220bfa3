/* SPDX-License-Identifier: Apache-2.0
 * One call of nwi_rules_apply: what both directions share. apply.c finds rules and
 * collects outputs, apply_forward.c and apply_back.c make views. */
#ifndef NWI_APPLYING_H
#define NWI_APPLYING_H

#include "layout/view.h"

#define NWI_JOIN_MOST 65536u /* parts of one output: heads that are interleaved */

/* How a stored tensor takes part in a quantised layer. */
enum nwi_carry {
    NWI_CARRY_PLAIN, /* its bytes are its values */
    NWI_CARRY_WHOLE, /* a companion of one element, or a description: goes along whole */
    NWI_CARRY_SCALED, /* a weight whose companions are of that kind: rows may move */
    NWI_CARRY_PACKED  /* anything else: only its name may change */
};

struct nwi_applying {
    const struct nwi_header *input;
    const struct nw_checkpoint *ckpt; /* NULL: nothing is quantised */
    enum nwi_direction direction;
    struct nwi_arena *arena;   /* of the results */
    struct nwi_arena *scratch; /* goes with the call */
    struct nwi_rule_set set;
    struct nwi_mapping_of *out;
    size_t capacity;        /* of out->outputs while it grows */
    struct nwi_map names;   /* of the outputs -> row */
    uint8_t *kinds;         /* [ckpt->n_tensors], enum nwi_carry; NULL: all plain */
    struct nwi_match match; /* of the last name */
    struct nw_error *err;
};

/* A rule that a name matched, and the first name it makes. */
struct nwi_found {
    const struct nwi_ready_rule *rule; /* NULL: none */
    const char *name;
    size_t name_size;
};

/* The first active rule whose pattern matches and that can make a name; captures are in
 * a->match. To original, only where back_if holds. */
int nwi_applying_find(struct nwi_applying *a, const char *name, size_t size,
                      struct nwi_found *out);
/* The second pass over one name, in this direction. */
int nwi_applying_post(struct nwi_applying *a, const char **name, size_t *size);
/* One row of it, either way; io->rule is set if it made another name. */
int nwi_applying_post_rule(struct nwi_applying *a, const struct nwi_ready_rule *rule,
                           bool forward, struct nwi_found *io);
/* Adds an output that the map of names does not have yet. Its row is out->n_outputs - 1. */
int nwi_applying_add(struct nwi_applying *a, const struct nwi_mapped *output);

/* Fails, naming the input tensor. */
int nwi_applying_fail(struct nwi_applying *a, uint32_t input, int code,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
int nwi_applying_nomem(struct nwi_applying *a, uint64_t nbytes);
/* DUPLICATE: input `first` and output->input both make output->name. */
int nwi_applying_twice(struct nwi_applying *a, uint32_t first,
                       const struct nwi_mapped *output);

/* carry.c */

int nwi_carry_init(struct nwi_applying *a);
enum nwi_carry nwi_carry_of(const struct nwi_applying *a, uint32_t input);
/* UNSUPPORTED, naming tensor and scheme, where the rule would cut or move what it may
 * not. */
int nwi_carry_check(struct nwi_applying *a, uint32_t input,
                    const struct nwi_ready_rule *rule);
/* Companions of parts that become one tensor: fine if all say the same, byte for byte (then the
 * first stands for all). UNSUPPORTED, IO. */
int nwi_carry_join(struct nwi_applying *a, const uint32_t *inputs, uint32_t n);

/* apply_forward.c */

/* Views that mean the same in both directions: the two halves, the transposed matrix. */
int nwi_swap_parts(struct nwi_applying *a, uint32_t input,
                   const struct nw_part **parts);
int nwi_transposed_part(struct nwi_applying *a, uint32_t input,
                        const struct nw_part **part);
/* One input through its rule: all outputs. */
int nwi_forward(struct nwi_applying *a, uint32_t input, const struct nwi_found *found);
/* The outputs of CONSTANT rules whose tensor is there. */
int nwi_forward_constants(struct nwi_applying *a);

/* apply_back.c: all inputs. */
int nwi_back(struct nwi_applying *a);

#endif
