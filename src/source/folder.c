/* SPDX-License-Identifier: Apache-2.0
 * Choosing. The order: safetensors before torch; the usual stems in their order, of
 * each the index, the old spelling of the index, the single file, shards without an
 * index (which are refused: no lesser set stands in for them); then the only set under
 * another name. Sets are never mixed. */
#include "source/folder.h"

#include <stdio.h>
#include <string.h>

int nwi_folder_read(struct nwi_builder *b, const char *path, const char *prefix,
                    struct nwi_folder *folder)
{
    char **names = NULL;
    size_t n = 0;
    *folder = (struct nwi_folder){.path = path, .prefix = prefix};
    NWI_TRY(nwi_folder_list(path, &b->scratch, &names, &n, b->err));
    folder->names = nwi_arena_array(&b->scratch, n, sizeof *folder->names);
    if (!folder->names)
        return nwi_builder_nomem(b, n * sizeof *folder->names);
    for (size_t i = 0; i < n; i++)
        folder->names[i] = nwi_weight_name(names[i]);
    folder->n = n;
    return NW_OK;
}

static bool is_set_member(const struct nwi_weight_name *name)
{
    return name->form != NWI_NAME_OTHER && name->form != NWI_NAME_TEMPORARY &&
           name->type != NWI_TYPE_FOREIGN;
}

/* ".bin" under other stems is mostly something else: openvino_model.bin,
 * training_args.bin. */
static bool is_candidate(const struct nwi_weight_name *name, enum nwi_name_type type)
{
    return is_set_member(name) && name->type == type &&
           (type != NWI_TYPE_BIN || name->stem_rank != NWI_STEM_OTHER);
}

bool nwi_folder_has_weights(const struct nwi_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++) {
        if (is_set_member(&folder->names[i]) &&
            is_candidate(&folder->names[i], folder->names[i].type))
            return true;
    }
    return false;
}

static bool has_variant(const struct nwi_weight_name *name, const char *variant)
{
    return nwi_name_is(name->variant, name->variant_size, variant);
}

/* ---- the usual stems ---- */

static const struct nwi_weight_name *find_usual(const struct nwi_folder *folder,
                                                enum nwi_name_type type, uint32_t rank,
                                                enum nwi_name_form form,
                                                const char *variant)
{
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (name->form == form && name->type == type && name->stem_rank == rank &&
            has_variant(name, variant))
            return name;
    }
    return NULL;
}

static const struct nwi_weight_name *choose_usual(const struct nwi_folder *folder,
                                                  enum nwi_name_type type,
                                                  const char *variant)
{
    static const enum nwi_name_form forms[] = {NWI_NAME_INDEX, NWI_NAME_INDEX_LEGACY,
                                               NWI_NAME_SINGLE, NWI_NAME_SHARD};
    const struct nwi_weight_name *found = NULL;
    for (uint32_t rank = 0; !found && rank < NWI_STEM_OTHER; rank++) {
        for (size_t i = 0; !found && i < sizeof forms / sizeof forms[0]; i++)
            found = find_usual(folder, type, rank, forms[i], variant);
    }
    return found;
}

/* ---- other stems ---- */

static bool same_set(const struct nwi_weight_name *a, const struct nwi_weight_name *b)
{
    return a->type == b->type && a->stem_size == b->stem_size &&
           a->variant_size == b->variant_size &&
           memcmp(a->stem, b->stem, a->stem_size) == 0 &&
           memcmp(a->variant, b->variant, a->variant_size) == 0;
}

/* How good a name is to begin its set with; 0: it cannot. */
static int lead_rank(const struct nwi_weight_name *name)
{
    static const int ranks[] = {[NWI_NAME_INDEX] = 4,
                                [NWI_NAME_INDEX_LEGACY] = 3,
                                [NWI_NAME_SINGLE] = 2,
                                [NWI_NAME_SHARD] = 1,
                                [NWI_NAME_TEMPORARY] = 0};
    return ranks[name->form];
}

/* `variant` NULL: of any. *n counts the sets. */
static const struct nwi_weight_name *only_set(const struct nwi_folder *folder,
                                              enum nwi_name_type type,
                                              const char *variant, size_t *n)
{
    const struct nwi_weight_name *found = NULL;
    *n = 0;
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (!is_candidate(name, type) || name->stem_rank != NWI_STEM_OTHER ||
            (variant && !has_variant(name, variant)))
            continue;
        bool another = !found || !same_set(found, name);
        if (another || lead_rank(name) > lead_rank(found))
            found = name;
        *n += another;
    }
    return found;
}

/* A lone set counts as the default one, whatever looks like a variant in its name. */
static const struct nwi_weight_name *choose_other(const struct nwi_folder *folder,
                                                  enum nwi_name_type type,
                                                  const char *variant)
{
    size_t n = 0;
    const struct nwi_weight_name *found = only_set(folder, type, variant, &n);
    if (n == 0 && variant[0] == '\0')
        found = only_set(folder, type, NULL, &n);
    return n == 1 ? found : NULL;
}

/* ---- all ---- */

const struct nwi_weight_name *nwi_folder_choose(const struct nwi_builder *b,
                                                const struct nwi_folder *folder,
                                                const char *variant)
{
    uint32_t choice = b->options->use_safetensors;
    enum nwi_name_type first =
        choice == NW_CHOICE_NO ? NWI_TYPE_BIN : NWI_TYPE_SAFETENSORS;
    enum nwi_name_type last =
        choice == NW_CHOICE_YES ? NWI_TYPE_SAFETENSORS : NWI_TYPE_LOOSE;
    const struct nwi_weight_name *found = NULL;
    for (enum nwi_name_type type = first; !found && type <= last; type++) {
        found = choose_usual(folder, type, variant);
        if (!found)
            found = choose_other(folder, type, variant);
    }
    return found;
}

int nwi_folder_variants(struct nwi_builder *b, const struct nwi_folder *folder)
{
    bool usual = false;
    for (size_t i = 0; i < folder->n; i++)
        usual |= is_candidate(&folder->names[i], folder->names[i].type) &&
                 folder->names[i].stem_rank != NWI_STEM_OTHER;
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (is_candidate(name, name->type) &&
            (name->stem_rank != NWI_STEM_OTHER) == usual)
            NWI_TRY(nwi_builder_add_variant(b, name->variant, name->variant_size));
    }
    return NW_OK;
}

/* ---- nothing fits ---- */

static void append(char *list, size_t size, const char *text, size_t text_size)
{
    size_t used = strlen(list);
    if (used + text_size + 8 < size)
        (void)snprintf(list + used, size - used, "%s%.*s", used ? ", " : "",
                       (int)text_size, text);
    else if (used + 8 < size && strcmp(list + used - 3, "...") != 0)
        (void)snprintf(list + used, size - used, ", ...");
}

static int fail_variant(struct nwi_builder *b, const struct nwi_folder *folder,
                        const char *variant)
{
    char list[200] = "";
    const char **variants = b->variants.items;
    for (size_t i = 0; i < b->variants.n; i++) {
        const char *name = variants[i][0] ? variants[i] : "default";
        append(list, sizeof list, name, strlen(name));
    }
    int code = nwi_fail(b->err, NW_E_NOT_FOUND,
                        "no weights of the variant \"%s\"; there are: %s",
                        variant[0] ? variant : "default", list);
    return nwi_error_in_file(b->err, code, folder->path);
}

/* Names of the sets under unusual stems. */
static size_t list_others(const struct nwi_folder *folder, char *list, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n; i++) {
        const struct nwi_weight_name *name = &folder->names[i];
        if (!is_candidate(name, NWI_TYPE_SAFETENSORS) &&
            !is_candidate(name, NWI_TYPE_LOOSE))
            continue;
        append(list, size, name->name, strlen(name->name));
        n++;
    }
    return n;
}

int nwi_folder_fail(struct nwi_builder *b, const struct nwi_folder *folder,
                    const char *variant)
{
    char list[200] = "";
    int code = NW_OK;
    NWI_TRY(nwi_folder_variants(b, folder));
    const char **variants = b->variants.items;
    bool there = false;
    for (size_t i = 0; i < b->variants.n; i++)
        there |= strcmp(variants[i], variant) == 0;
    if (b->variants.n && !there)
        return fail_variant(b, folder, variant);
    if (list_others(folder, list, sizeof list) > 1)
        code = nwi_fail(
            b->err, NW_E_NOT_FOUND,
            "several checkpoints and none under a usual name, give one of: %s", list);
    else
        code = nwi_fail(
            b->err, NW_E_NOT_FOUND,
            "no file named %s.safetensors, %s.bin or %s.safetensors in the folder%s",
            nwi_stem(0), nwi_stem(0), nwi_stem(1),
            b->options->use_safetensors == NW_CHOICE_AUTO
                ? ""
                : " that use_safetensors allows");
    return nwi_error_in_file(b->err, code, folder->path);
}
