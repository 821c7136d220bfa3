/* SPDX-License-Identifier: Apache-2.0
 * The metadata of a written header: the input's, in its order, less what the change has
 * made false, then what the caller says. */
#include <string.h>

#include "base/arith.h"
#include "base/map.h"
#include "base/text.h"
#include "run/output_parts.h"

/* Digests of the tensors that the file itself carries. Hashes of other models (of the
 * one a training began with, of what was merged) stay true, and are not among them. */
static const char *const hash_keys[] = {
    "sshs_model_hash",
    "sshs_legacy_hash",
    "modelspec.*hash*",
    "model_hash",
    "hash",
    "sha256",
    "sha1",
    "md5",
    "crc32",
    "blake3",
    "autov1",
    "autov2",
    "autov3",
};

/* Descriptions of quantised layers, by name. */
static const char *const quantisation_keys[] = {
    "_quantization_metadata",
    "quantization_metadata",
    "quantization_config",
};

static bool matches(const struct nwi_output_pair *pair, const char *const *globs,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (nwi_glob(globs[i], strlen(globs[i]), pair->key, pair->key_size, NULL))
            return true;
    }
    return false;
}

/* What of the input no longer holds. */
struct change {
    bool data;         /* any byte, name or place */
    bool quantisation; /* any tensor that belongs to a scheme */
};

static bool is_false_now(const struct nwi_output_pair *pair,
                         const struct change *change)
{
    if (change->data &&
        matches(pair, hash_keys, sizeof hash_keys / sizeof hash_keys[0]))
        return true;
    return change->quantisation &&
           matches(pair, quantisation_keys,
                   sizeof quantisation_keys / sizeof quantisation_keys[0]);
}

static size_t count_quantised(const struct nwi_output_set *set)
{
    const struct nw_checkpoint *ckpt = set->plan->ckpt;
    const struct nwi_component *component = &ckpt->components[set->plan->component];
    size_t n = 0;
    for (uint32_t i = 0; i < component->n_tensors; i++) {
        const struct nwi_stored *stored = &ckpt->tensors[component->first_tensor + i];
        n += stored->quantised || stored->scheme;
    }
    return n;
}

static size_t count_kept_quantised(const struct nwi_output_set *set)
{
    const struct nw_plan *plan = set->plan;
    size_t n = 0;
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nwi_target *target = &plan->targets[i];
        if (target->info.n_parts == 0)
            continue;
        const struct nwi_stored *stored = &plan->ckpt->tensors[target->parts[0].source];
        n += (stored->quantised || stored->scheme) &&
             nwi_output_is_identity(plan, target);
    }
    return n;
}

static struct change find_change(const struct nwi_output_set *set,
                                 const struct nwi_output_row *rows)
{
    size_t quantised = count_quantised(set);
    return (struct change){
        .data = !nwi_output_is_unchanged(set, rows),
        .quantisation = quantised > 0 && count_kept_quantised(set) != quantised,
    };
}

/* ---- collecting ---- */

/* Adds a pair, or finds the one of that key: shards repeat what the first one says. */
static int add_pair(struct nwi_output_set *set, struct nwi_map *map,
                    const struct nwi_output_pair *pair, uint32_t *row,
                    struct nw_error *err)
{
    uint32_t existing = NWI_MAP_NONE;
    uint32_t next = (uint32_t)set->n_pairs;
    if (nwi_map_add(map, pair->key, pair->key_size, next, &existing) != NW_OK)
        return nwi_fail_nomem(err, pair->key_size);
    *row = existing == NWI_MAP_NONE ? next : existing;
    if (existing == NWI_MAP_NONE)
        set->pairs[set->n_pairs++] = *pair;
    return NW_OK;
}

static int add_input(struct nwi_output_set *set, struct nwi_map *map,
                     struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = set->plan->ckpt;
    uint32_t row = 0;
    for (size_t i = 0; i < ckpt->n_metadata; i++) {
        const struct nw_metadata *metadata = &ckpt->metadata[i];
        if (metadata->component != set->plan->component)
            continue;
        struct nwi_output_pair pair = {
            .key = metadata->key,
            .key_size = metadata->key_size,
            .value = metadata->value,
            .value_size = metadata->value_size,
        };
        NWI_TRY(add_pair(set, map, &pair, &row, err));
    }
    return NW_OK;
}

static int add_given(struct nwi_output_set *set, struct nwi_map *map, const char *entry,
                     struct nw_error *err)
{
    const char *equals = strchr(entry, '=');
    struct nwi_output_pair pair = {.key = entry, .given = true};
    uint32_t row = 0;
    pair.key_size = (size_t)(equals - entry);
    pair.value_size = strlen(equals + 1);
    pair.value = pair.value_size ? equals + 1 : NULL;
    NWI_TRY(add_pair(set, map, &pair, &row, err));
    set->pairs[row].value = pair.value;
    set->pairs[row].value_size = pair.value_size;
    set->pairs[row].given = true;
    return NW_OK;
}

int nwi_output_check_metadata(const struct nw_write_options *options,
                              struct nw_error *err)
{
    char shown[128];
    for (size_t i = 0; i < options->n_metadata; i++) {
        const char *entry = options->metadata[i];
        if (!entry)
            return nwi_fail(err, NW_E_ARG, "metadata entry %zu is NULL", i);
        size_t size = strlen(entry);
        nwi_quote(shown, sizeof shown, entry, size, 40);
        if (!nwi_utf8_valid(entry, size))
            return nwi_fail(err, NW_E_ARG, "metadata \"%s\" is no UTF-8", shown);
        if (entry[0] == '=' || !strchr(entry, '='))
            return nwi_fail(err, NW_E_ARG, "metadata \"%s\" is not KEY=VALUE", shown);
    }
    return NW_OK;
}

static void drop_false(struct nwi_output *output, struct nwi_output_set *set,
                       const struct change *change)
{
    for (size_t i = 0; i < set->n_pairs; i++) {
        struct nwi_output_pair *pair = &set->pairs[i];
        if (pair->given || !is_false_now(pair, change))
            continue;
        pair->value = NULL;
        output->dropped[output->n_dropped++] = pair->key;
    }
}

int nwi_output_metadata(struct nwi_output *output, struct nwi_output_set *set,
                        const struct nwi_output_row *rows,
                        const struct nw_write_options *options, struct nw_error *err)
{
    struct nwi_map map = {0};
    size_t room = output->ckpt->n_metadata + options->n_metadata;
    uint64_t nbytes = 0;
    if (room == 0)
        return NW_OK;
    if (!nwi_mul(room, sizeof *set->pairs, &nbytes))
        return nwi_fail_nomem(err, UINT64_MAX);
    set->pairs = nwi_alloc(output->memory, (size_t)nbytes);
    set->pairs_room = room;
    if (!set->pairs || nwi_map_init(&map, output->memory, room) != NW_OK)
        return nwi_fail_nomem(err, nbytes);
    int code = add_input(set, &map, err);
    for (size_t i = 0; code == NW_OK && i < options->n_metadata; i++)
        code = add_given(set, &map, options->metadata[i], err);
    nwi_map_release(&map);
    if (code != NW_OK)
        return code;
    struct change change = find_change(set, rows);
    drop_false(output, set, &change);
    return NW_OK;
}

void nwi_output_metadata_free(struct nwi_output *output, struct nwi_output_set *set)
{
    nwi_free(output->memory, set->pairs, set->pairs_room * sizeof *set->pairs);
    set->pairs = NULL;
    set->n_pairs = 0;
}
