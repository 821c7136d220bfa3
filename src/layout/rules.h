/* SPDX-License-Identifier: Apache-2.0
 * Rules: how the names of two layouts correspond, as rows that are read in both
 * directions. One side is called original (what the model was published with), the other
 * diffusers (what the class of diffusers or transformers names its tensors).
 *
 * A pattern relates one name to one name; both sides use one grammar:
 *
 *     text              itself
 *     {i} {j} {b} ...   a decimal integer without leading zeros
 *     {1+b*S+r}         an affine form over numbers, UPPER-case variables and at most two
 *                       captures; two unknown ones are told apart by division (b*S+r)
 *     {a:x|y|z}         one of these; the same letter on the other side takes the
 *                       alternative of the same place
 *     {q,k,v}           on the diffusers side: the parts of a split, in order
 *     {p}               one segment without dots (weight, bias, weight_scale ...)
 *     {*}               the rest of the name
 *     {^}               a beginning that is not empty, as short as possible
 *
 * Rows are ordered: the first whose pattern matches (and whose features hold) counts. An
 * alternative that begins like another stands before it. */
#ifndef NWI_RULES_H
#define NWI_RULES_H

#include "layout/predicate.h"
#include "source/catalog.h"

enum nwi_rule_op {
    NWI_RULE_RENAME,
    NWI_RULE_SPLIT,     /* along dimension 0, into the parts of the diffusers pattern */
    NWI_RULE_SWAP,      /* the two halves of dimension 0 change places */
    NWI_RULE_TRANSPOSE, /* of a matrix */
    NWI_RULE_RESHAPE,   /* to `sizes`, row major */
    NWI_RULE_HEADS, /* rows interleaved per head, `sizes` rows a head and part, into the
                           parts of the diffusers pattern */
    NWI_RULE_DROP,  /* not wanted; `note` says why */
    NWI_RULE_CONSTANT /* no source: the diffusers side is made with `fill`, square, as
                           large as dimension 0 of the tensor that `original` names */
};

/* What the way back does with a tensor that the way there dropped. */
enum nwi_drop_back {
    NWI_DROP_UNUSED, /* the original loader does without it: left out */
    NWI_DROP_NEEDED  /* it needs it: to original is refused, naming it */
};

struct nwi_rule {
    const char *original;
    const char *diffusers; /* "" for DROP */
    uint8_t op;            /* enum nwi_rule_op */
    uint8_t squeeze; /* 1: ones at the end of the shape go, down to rank 2; 2: all go */
    uint8_t rank; /* RENAME, SPLIT with squeeze: rank of the original, ones put back at
                              the end (3, 4), or NWI_RANK_1C11 */
    uint8_t fill; /* CONSTANT: enum nw_fill */
    uint8_t back; /* DROP: enum nwi_drop_back */
    const char
        *sizes;    /* SPLIT: NULL = equal parts, else "H,H,H,*" (numbers, variables; `*`
                              shares what is left); RESHAPE: shape with one `*`; HEADS: rows */
    uint32_t need; /* features that must hold, as bits */
    uint32_t deny; /* features that must not */
    const char
        *back_if; /* to original only: a diffusers pattern whose name must exist ("!":
                              must not) */
    const char *note; /* DROP: the reason that reports give */
};

#define NWI_RANK_1C11 255u /* [C] was [1,C,1,1] */

/* A number that patterns and sizes use: a quantity of predicate.h for each direction. */
struct nwi_rule_variable {
    char name; /* 'A' to 'Z' */
    const char *original;
    const char *diffusers;
};

/* A fact that rows ask for; nwi_predicate's grammar. Several rows of one bit: any of them. */
struct nwi_rule_feature {
    uint8_t bit; /* 0 to 31 */
    const char *when;
};

/* All const, in read-only data. Lists end in a row of zeros; NULL is none. */
struct nwi_rules {
    const struct nwi_rule_variable *variables;
    const struct nwi_rule_feature *features;
    const struct nwi_rule *rules;
    const struct nwi_rule
        *post; /* a second pass over the diffusers names, RENAME only */
};

/* Short rows for tables; what a macro lacks is written out. */
#define NWI_MAP(o, d)                                                                  \
    {                                                                                  \
        .original = (o), .diffusers = (d)                                              \
    }
#define NWI_OP(name, o, d)                                                             \
    {                                                                                  \
        .original = (o), .diffusers = (d), .op = NWI_RULE_##name                       \
    }
#define NWI_SPLIT_SIZES(o, d, z)                                                       \
    {                                                                                  \
        .original = (o), .diffusers = (d), .op = NWI_RULE_SPLIT, .sizes = (z)          \
    }
#define NWI_DROP(o, why)                                                               \
    {                                                                                  \
        .original = (o), .diffusers = "", .op = NWI_RULE_DROP, .note = (why)           \
    }

enum nwi_direction { NWI_TO_DIFFUSERS, NWI_TO_ORIGINAL };

/* One tensor that rules made. Everything on the arena. */
struct nwi_mapped {
    const char *name; /* ends in NUL */
    size_t name_size;
    const uint64_t *shape;
    const struct nw_part *parts; /* joined along dimension 0; none: `fill` */
    uint32_t rank;
    uint32_t n_parts;
    uint32_t input; /* row of the input header it comes from (the first one) */
    uint8_t fill;   /* enum nw_fill, where there are no parts */
};

/* What became of one input. */
enum nwi_fate {
    NWI_UNMATCHED, /* no rule knows it */
    NWI_CLAIMED,
    NWI_DROPPED
};

struct nwi_mapping_of {
    struct nwi_mapped *outputs; /* in the order of their first inputs */
    size_t n_outputs;
    uint8_t *fates;       /* [input->n], enum nwi_fate */
    const char **reasons; /* [input->n], of what was dropped; else NULL */
    uint64_t steps;       /* what matching cost: tokens tried */
};

/* Applies rules to every row of `input`. `rules` NULL: every name is its own. To original,
 * unmatched names are reported like forward ones.
 * `ckpt` may be NULL; with it, companions of quantised tensors go along: a companion of one
 * element goes to every part of a split, and what no rule can carry (a packed tensor that
 * would be cut, a scale along rows that are swapped) is UNSUPPORTED, naming the tensor.
 * MISMATCH (a split that does not come out even, a shape of the wrong rank), DUPLICATE (two
 * inputs, one output), NOT_FOUND (to original: a part of a split is missing), UNSUPPORTED (to
 * original: dropped, but needed), LIMIT (a pattern's number over 2^31), NOMEM. */
int nwi_rules_apply(const struct nwi_rules *rules, enum nwi_direction direction,
                    const struct nwi_header *input, const struct nw_checkpoint *ckpt,
                    const struct nwi_hints *hints, struct nwi_arena *arena,
                    struct nwi_mapping_of *out, struct nw_error *err);

#endif
