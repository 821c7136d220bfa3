/* SPDX-License-Identifier: Apache-2.0
 * What the options' policies say of a matching. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "layout/matching.h"

/* ---- names that differ by what stands before them ---- */

/* Bytes of `longer` before "NAME" where it ends in ".NAME"; 0 if it does not. */
static size_t size_before(const char *longer, size_t longer_size, const char *name,
                          size_t size)
{
    size_t before = longer_size > size ? longer_size - size : 0;
    bool ends =
        before && longer[before - 1] == '.' && memcmp(longer + before, name, size) == 0;
    return ends ? before : 0;
}

/* How many names of the file are wanted once `prefix` is off them. */
static size_t count_without(const struct matching *m, const char *prefix, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < m->in->mapping->n_outputs; i++) {
        const struct nwi_mapped *mapped = &m->in->mapping->outputs[i];
        n += mapped->name_size > size && memcmp(mapped->name, prefix, size) == 0 &&
             nwi_map_find(&m->in->model->names, mapped->name + size,
                          mapped->name_size - size) != NWI_MAP_NONE;
    }
    return n;
}

/* How many missing tensors the file has once `prefix` is off their names. */
static size_t count_lacking(const struct matching *m, const char *prefix, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < m->in->model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &m->in->model->wanted[i];
        n += m->states[i] == WANTED_MISSING && wanted->name_size > size &&
             memcmp(wanted->name, prefix, size) == 0 &&
             nwi_header_has(m->in->given, wanted->name + size);
    }
    return n;
}

/* What a prefix on one of the sides explains, if it explains most of what is missing; "" if
 * there is none. Linear: the first missing name and the first of the file that ends in it
 * (or that it ends in) say the prefix. NULL: no memory. */
static const char *prefix_hint(const struct matching *m)
{
    const struct nwi_mapping_of *mapping = m->in->mapping;
    const struct nwi_wanted *wanted = m->first_missing;
    for (size_t i = 0; wanted && i < mapping->n_outputs; i++) {
        const struct nwi_mapped *mapped = &mapping->outputs[i];
        size_t more = size_before(mapped->name, mapped->name_size, wanted->name,
                                  wanted->name_size);
        size_t less = size_before(wanted->name, wanted->name_size, mapped->name,
                                  mapped->name_size);
        const char *prefix = more ? mapped->name : wanted->name;
        size_t n = 0;
        char text[80];
        if (!more && !less)
            continue;
        n = more ? count_without(m, prefix, more) : count_lacking(m, prefix, less);
        if (2 * n <= m->out->missing.n)
            return "";
        nwi_quote(text, sizeof text, prefix, more + less, 60);
        return nwi_arena_printf(m->in->arena,
                                more ? "; the names of the file begin with \"%s\""
                                     : "; the names of the file lack the \"%s\" that "
                                       "the wanted ones begin with",
                                text);
    }
    return "";
}

/* ---- the verdict ---- */

/* "3 wanted tensors are not in the file, first "a.weight"" */
static int refuse(struct matching *m, int code, size_t n, const char *what,
                  const char *first)
{
    char name[200];
    const char *hint = code == NW_E_MISSING ? prefix_hint(m) : "";
    nwi_quote(name, sizeof name, first, strlen(first), 120);
    if (hint)
        m->out->refusal = nwi_arena_printf(m->in->arena, "%zu %s, %s\"%s\"%s", n, what,
                                           n > 1 ? "first " : "", name, hint);
    if (!m->out->refusal)
        return nwi_fail_nomem(m->err, 4096);
    m->out->refused = code;
    m->out->refused_tensor = n == 1 ? first : NULL;
    return NW_OK;
}

int nwi_match_verdict(struct matching *m)
{
    struct nwi_bindings *out = m->out;
    const struct nw_load_options *options = m->in->options;
    if (out->n_mismatched && !(options->flags & NW_LOAD_IGNORE_MISMATCHED))
        return refuse(m, NW_E_MISMATCH, out->n_mismatched,
                      "stored tensors have another shape than wanted",
                      out->mismatched[0].name);
    if (out->missing.n && options->missing == NW_MISSING_ERROR)
        return refuse(m, NW_E_MISSING, out->missing.n,
                      "wanted tensors are not in the file", out->missing.items[0]);
    if (out->unexpected.n && options->unexpected == NW_UNEXPECTED_ERROR)
        return refuse(m, NW_E_UNEXPECTED, out->unexpected.n,
                      "tensors of the file are not wanted", out->unexpected.items[0]);
    return NW_OK;
}
