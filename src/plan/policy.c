/* SPDX-License-Identifier: Apache-2.0
 * Parsing the dtype options once, and deciding for each tensor. */
#include "plan/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/text.h"
#include "tensor/dtype.h"

#define QUOTE_CHARS 120 /* of a caller's text in a message */

/* A piece of an option's text. */
struct piece {
    const char *text;
    size_t size;
};

static bool is_packed_float(int dtype)
{
    return dtype == NW_F4 || dtype == NW_F6_E2M3 || dtype == NW_F6_E3M2;
}

/* `where` names the option that asks for it. */
static int check_target(int dtype, const char *where, struct nw_error *err)
{
    if (dtype == NW_DTYPE_AUTO)
        return NW_OK;
    const char *name = nw_dtype_name(dtype);
    if (!name)
        return nwi_fail(err, NW_E_ARG, "%s asks for dtype %d, which does not exist",
                        where, dtype);
    if (is_packed_float(dtype))
        return nwi_fail(err, NW_E_UNSUPPORTED,
                        "%s asks for %s, which this version cannot convert to", where,
                        name);
    if (!nwi_dtype_is_float(dtype) || dtype == NW_F8_E8M0)
        return nwi_fail(err, NW_E_ARG,
                        "%s asks for %s, which is no floating type to convert to",
                        where, name);
    return NW_OK;
}

/* ---- rules ---- */

/* Inclusive bounds. */
struct range {
    uint64_t min;
    uint64_t max;
};

static bool starts_with(struct piece piece, const char *start)
{
    size_t size = strlen(start);
    return piece.size >= size && memcmp(piece.text, start, size) == 0;
}

static struct piece skip(struct piece piece, size_t n)
{
    return (struct piece){piece.text + n, piece.size - n};
}

/* "<=N", "<N" or "=N", N also as a size ("64KiB"). False if it is anything else. */
static bool parse_range(struct piece piece, struct range *out)
{
    bool less = starts_with(piece, "<");
    bool equal = starts_with(less ? skip(piece, 1) : piece, "=");
    uint64_t n;
    if (!less && !equal)
        return false;
    piece = skip(piece, (size_t)less + (size_t)equal);
    if (!nwi_parse_size(piece.text, piece.size, &n))
        return false;
    out->min = less ? 0 : n;
    out->max = n;
    if (less && !equal)
        *out = n ? (struct range){0, n - 1} : (struct range){1, 0};
    return true;
}

static bool apply_condition(struct nwi_dtype_rule *rule, struct piece condition)
{
    struct range range;
    bool is_rank = starts_with(condition, "rank");
    if (!is_rank && !starts_with(condition, "bytes"))
        return false;
    if (!parse_range(skip(condition, is_rank ? strlen("rank") : strlen("bytes")),
                     &range))
        return false;
    uint64_t *min = is_rank ? &rule->rank_min : &rule->bytes_min;
    uint64_t *max = is_rank ? &rule->rank_max : &rule->bytes_max;
    *min = nwi_max(*min, range.min);
    *max = nwi_min(*max, range.max);
    return true;
}

/* Cuts `text` at the last `c`: *tail gets what follows it. False if there is none. */
static bool cut_last(struct piece *text, char c, struct piece *tail)
{
    for (size_t at = text->size; at-- > 0;) {
        if (text->text[at] != c)
            continue;
        *tail = skip(*text, at + 1);
        text->size = at;
        return true;
    }
    return false;
}

/* An `@` may be part of a name; with a comparison behind it, it must be a condition. */
static bool take_conditions(struct nwi_dtype_rule *rule, struct piece *left)
{
    struct piece before = *left;
    struct piece condition;
    while (cut_last(&before, '@', &condition)) {
        if (!apply_condition(rule, condition))
            return !memchr(condition.text, '<', condition.size);
        *left = before;
    }
    return true;
}

static int fail_rule(const char *text, const char *why, struct nw_error *err)
{
    char quoted[2 * QUOTE_CHARS];
    nwi_quote(quoted, sizeof quoted, text, strlen(text), QUOTE_CHARS);
    return nwi_fail(err, NW_E_ARG,
                    "dtype rule \"%s\" %s (GLOB[@rank<=N|@bytes<SIZE]=DTYPE)", quoted,
                    why);
}

static int parse_rule(const char *text, struct nwi_dtype_rule *rule,
                      struct nw_error *err)
{
    if (!text)
        return nwi_fail(err, NW_E_ARG, "a dtype rule is NULL");
    struct piece left = {text, strlen(text)};
    struct piece dtype;
    *rule = (struct nwi_dtype_rule){.rank_max = UINT64_MAX, .bytes_max = UINT64_MAX};
    if (!cut_last(&left, '=', &dtype))
        return fail_rule(text, "has no \"=\"", err);
    rule->dtype = nw_dtype_from_name(dtype.text, dtype.size);
    if (rule->dtype < 0)
        return fail_rule(text, "does not end in a dtype", err);
    if (!take_conditions(rule, &left))
        return fail_rule(text, "has a condition that is not understood", err);
    if (left.size == 0)
        return fail_rule(text, "has no pattern", err);
    rule->glob = left.text;
    rule->glob_size = left.size;
    char quoted[2 * QUOTE_CHARS];
    char where[2 * QUOTE_CHARS + 16];
    nwi_quote(quoted, sizeof quoted, text, strlen(text), QUOTE_CHARS);
    (void)snprintf(where, sizeof where, "dtype rule \"%s\"", quoted);
    return check_target(rule->dtype, where, err);
}

static int parse_rules(struct nwi_policy *policy, const struct nw_load_options *options,
                       struct nwi_arena *arena, struct nw_error *err)
{
    size_t n = options->n_dtype_rules;
    struct nwi_dtype_rule *rules = nwi_arena_array(arena, n, sizeof *rules);
    if (!rules)
        return nwi_fail_nomem(err, n * sizeof *rules);
    for (size_t i = 0; i < n; i++)
        NWI_TRY(parse_rule(options->dtype_rules[i], &rules[i], err));
    policy->rules = rules;
    policy->n_rules = n;
    return NW_OK;
}

int nwi_policy_init(struct nwi_policy *policy, const struct nw_load_options *options,
                    struct nwi_arena *arena, struct nw_error *err)
{
    *policy = (struct nwi_policy){
        .keep_fp32 = options->keep_fp32,
        .n_keep_fp32 = options->n_keep_fp32,
        .dtype = options->dtype,
        .dequantise = options->dequantise,
    };
    NWI_TRY(check_target(options->dtype, "dtype", err));
    for (size_t i = 0; i < policy->n_keep_fp32; i++) {
        if (!policy->keep_fp32[i] || !policy->keep_fp32[i][0])
            return nwi_fail(err, NW_E_ARG, "keep_fp32 holds an empty name");
    }
    return parse_rules(policy, options, arena, err);
}

/* ---- deciding ---- */

/* Of the part that the binding takes, so that it is right for a piece of a tensor too.
 */
static uint64_t bytes_as_stored(const struct nwi_stored *stored,
                                const struct nwi_binding *binding)
{
    uint64_t n_elems = 1;
    for (uint32_t i = 0; i < binding->rank; i++)
        n_elems *= binding->shape[i];
    return n_elems * nw_dtype_bits(stored->dtype) / 8;
}

static const struct nwi_dtype_rule *find_rule(const struct nwi_policy *policy,
                                              const struct nwi_stored *stored,
                                              const struct nwi_binding *binding)
{
    uint64_t nbytes = bytes_as_stored(stored, binding);
    for (size_t i = policy->n_rules; i-- > 0;) {
        const struct nwi_dtype_rule *rule = &policy->rules[i];
        if (binding->rank >= rule->rank_min && binding->rank <= rule->rank_max &&
            nbytes >= rule->bytes_min && nbytes <= rule->bytes_max &&
            nwi_glob(rule->glob, rule->glob_size, binding->name, binding->name_size,
                     NULL))
            return rule;
    }
    return NULL;
}

static bool is_kept(const struct nwi_policy *policy, const struct nwi_binding *binding)
{
    for (size_t i = 0; i < policy->n_keep_fp32; i++) {
        const char *component = policy->keep_fp32[i];
        if (nwi_has_component(binding->name, binding->name_size, component,
                              strlen(component)))
            return true;
    }
    return false;
}

/* What the options ask for; AUTO = as stored. */
static struct nwi_decision wanted(const struct nwi_policy *policy,
                                  const struct nwi_stored *stored,
                                  const struct nwi_binding *binding)
{
    const struct nwi_dtype_rule *rule = find_rule(policy, stored, binding);
    if (rule)
        return (struct nwi_decision){.dtype = rule->dtype};
    if (policy->dtype != NW_DTYPE_AUTO && is_kept(policy, binding))
        return (struct nwi_decision){.dtype = NW_F32, .kept_fp32 = true};
    return (struct nwi_decision){.dtype = policy->dtype};
}

static int decide_quantised(const struct nwi_policy *policy,
                            const struct nwi_stored *stored,
                            const struct nwi_binding *binding, int32_t asked,
                            struct nw_error *err)
{
    if (policy->dequantise == NW_CHOICE_NO ||
        (policy->dequantise == NW_CHOICE_AUTO && asked == NW_DTYPE_AUTO))
        return NW_OK;
    int code = nwi_fail(err, NW_E_UNSUPPORTED,
                        "the tensor is part of scheme %s, which this version cannot "
                        "dequantise; --dequantise no keeps it as stored",
                        stored->scheme ? stored->scheme : "(unnamed)");
    return nwi_error_in_tensor(err, code, binding->name);
}

int nwi_policy_decide(const struct nwi_policy *policy, const struct nwi_stored *stored,
                      const struct nwi_binding *binding, struct nwi_decision *out,
                      struct nw_error *err)
{
    struct nwi_decision asked = wanted(policy, stored, binding);
    *out = (struct nwi_decision){.dtype = stored->dtype};
    if (stored->quantised)
        return decide_quantised(policy, stored, binding, asked.dtype, err);
    if (asked.dtype == NW_DTYPE_AUTO)
        return NW_OK;
    if (is_packed_float(stored->dtype)) {
        int code = nwi_fail(err, NW_E_UNSUPPORTED,
                            "%s cannot be converted to %s by this version",
                            nw_dtype_name(stored->dtype), nw_dtype_name(asked.dtype));
        return nwi_error_in_tensor(err, code, binding->name);
    }
    if (nwi_dtype_is_float(stored->dtype))
        *out = asked;
    return NW_OK;
}
