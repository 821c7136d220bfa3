/* SPDX-License-Identifier: Apache-2.0
 * The file sink from the outside: what is asked for becomes sets of files; begin makes
 * their temporaries, the run fills them, commit gives them their names.
 *
 * Memory that stays from begin to free: places and files, one row a target each (files
 * as many as there could be, so that the footprint does not depend on the size of
 * shards), and texts. Rows for sorting, metadata and configs go before begin returns;
 * the list of what is written takes the place of the rows, which are larger unless
 * shards hold fewer than four tensors. */
#include "run/output.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/text.h"
#include "model/architecture.h"
#include "run/output_parts.h"
#include "tensor/dtype.h"

#define TEXT_ROOM  8192u /* bytes for paths and names; what others need is counted */
#define PAIR_SLOTS 96u   /* bytes of a map for one key, its spare slots included */

/* ---- what is asked for ---- */

static bool is_variant(const char *variant)
{
    size_t size = strlen(variant);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)variant[i] < 0x20 || variant[i] == '/' || variant[i] == 0x7F)
            return false;
    }
    return size <= NWI_OUTPUT_VARIANT_MOST && variant[0] != '.';
}

static int read_options(struct nwi_output *output,
                        const struct nw_write_options *options, struct nw_error *err)
{
    output->overwrite = options->flags & NW_WRITE_OVERWRITE;
    output->max_shard_bytes =
        options->max_shard_bytes ? options->max_shard_bytes : UINT64_MAX;
    NWI_TRY(nwi_output_check_metadata(options, err));
    if (!options->variant || options->variant[0] == '\0')
        return NW_OK;
    if (!is_variant(options->variant))
        return nwi_fail(
            err, NW_E_ARG,
            "a variant is part of a file name: at most %u bytes, no slash, no "
            "dot in front",
            NWI_OUTPUT_VARIANT_MOST);
    output->variant =
        nwi_arena_copy(&output->arena, options->variant, strlen(options->variant));
    return output->variant ? NW_OK : nwi_fail_nomem(err, strlen(options->variant) + 1);
}

static int check_target(const struct nw_target *info, struct nw_error *err)
{
    static const char reserved[] = "__metadata__";
    if (info->name_size == sizeof reserved - 1 &&
        memcmp(info->name, reserved, info->name_size) == 0)
        return nwi_fail(
            err, NW_E_ARG,
            "safetensors reserves the name __metadata__: rename the tensor");
    if (nw_dtype_bits(info->dtype) == 0)
        return nwi_fail(err, NW_E_UNSUPPORTED_TYPE,
                        "an element type that is not known cannot be written");
    return NW_OK;
}

static int check_targets(const struct nw_plan *plan, struct nw_error *err)
{
    for (size_t i = 0; i < plan->n_targets; i++) {
        const struct nw_target *info = &plan->targets[i].info;
        int code = check_target(info, err);
        if (code != NW_OK)
            return nwi_error_in_tensor(err, code, info->name);
    }
    return NW_OK;
}

static bool is_usual(const char *stem)
{
    return stem &&
           (strcmp(stem, "diffusion_pytorch_model") == 0 || strcmp(stem, "model") == 0);
}

/* "diffusers" or "transformers", as far as it is known. */
static const char *library_of(const struct nwi_output *output,
                              const struct nwi_component *component,
                              const struct nw_plan *plan)
{
    const char *klass = plan->bindings.klass;
    const struct nwi_architecture *architecture =
        klass ? nwi_architecture_find(klass) : NULL;
    if (component->info.library)
        return component->info.library;
    if (component->config_path &&
        nwi_output_config_is_diffusers(component->config_path, output->memory))
        return "diffusers";
    return architecture ? architecture->library : NULL;
}

/* First part of the weights' names: the one that loaders look for. A file of any other
 * name does not pass it on. */
static const char *stem_of(const struct nwi_output *output, const struct nw_plan *plan)
{
    const struct nwi_component *component = &output->ckpt->components[plan->component];
    if (is_usual(component->stem) && !output->parts)
        return component->stem;
    const char *library = library_of(output, component, plan);
    bool diffusers = library && strcmp(library, "diffusers") == 0;
    return diffusers ? "diffusion_pytorch_model" : "model";
}

static int fill_set(struct nwi_output *output, size_t row, const struct nw_plan *plan,
                    struct nw_error *err)
{
    struct nwi_output_set *set = &output->sets[row];
    for (size_t i = 0; i < row; i++) {
        if (strcmp(output->sets[i].plan->bindings.component,
                   plan->bindings.component) == 0)
            return nwi_fail(err, NW_E_ARG, "two plans are of the same component");
    }
    NWI_TRY(check_targets(plan, err));
    *set = (struct nwi_output_set){
        .plan = plan,
        .folder = output->pipeline ? plan->bindings.component : "",
        .stem = stem_of(output, plan),
        .dtype = nwi_output_new_dtype(plan),
        .first_target = output->n_targets,
    };
    output->n_targets += plan->n_targets;
    if (output->n_targets > UINT32_MAX)
        return nwi_fail(err, NW_E_LIMIT, "more than %u tensors", UINT32_MAX);
    return NW_OK;
}

/* True if a plan is of a part of a file that holds several. */
static bool any_part(struct nw_plan *const *plans, size_t n_plans)
{
    const struct nw_checkpoint *ckpt = plans[0]->ckpt;
    for (size_t i = 0; i < n_plans; i++) {
        const char *own = ckpt->components[plans[i]->component].info.name;
        if (strcmp(own, plans[i]->bindings.component) != 0)
            return true;
    }
    return false;
}

/* One component of a pipeline becomes a folder of its own, unless the pipeline has no
 * more and was opened whole. One file has no folders. */
static bool is_pipeline(struct nw_plan *const *plans, size_t n_plans, const char *path)
{
    const struct nw_checkpoint *ckpt = plans[0]->ckpt;
    if (nwi_ends_with(path, ".safetensors"))
        return false;
    if (n_plans > 1)
        return true;
    for (size_t i = 0;
         ckpt->is_pipeline && ckpt->n_components == 1 && i < ckpt->n_others; i++) {
        if (ckpt->others[i].component == NW_NONE)
            return true;
    }
    return false;
}

/* ---- memory ---- */

static size_t most_files(const struct nw_plan *plan)
{
    return (size_t)nwi_max(1, nwi_min(plan->n_targets, NWI_OUTPUT_SHARDS_MOST));
}

/* An array that stays until free; NULL with n == 0 too. */
static int room_for(struct nwi_output *output, size_t n, size_t size, void *out,
                    struct nw_error *err)
{
    void *items = nwi_zalloc(output->memory, n * size);
    memcpy(out, &items, sizeof items);
    return items || n == 0 ? NW_OK : nwi_fail_nomem(err, (uint64_t)n * size);
}

static int make_room(struct nwi_output *output, struct nw_error *err)
{
    size_t names_size = 0;
    nwi_output_count_others(output, &output->others_room, &names_size);
    output->dropped_room = output->ckpt->n_metadata;
    for (size_t i = 0; i < output->n_sets; i++)
        output->files_room += most_files(output->sets[i].plan);
    NWI_TRY(room_for(output, output->n_targets, sizeof *output->places, &output->places,
                     err));
    NWI_TRY(room_for(output, output->files_room, sizeof *output->files, &output->files,
                     err));
    NWI_TRY(room_for(output, output->others_room, sizeof *output->others,
                     &output->others, err));
    return room_for(output, output->dropped_room, sizeof *output->dropped,
                    &output->dropped, err);
}

/* The plan counts on these. */
_Static_assert(sizeof(struct nwi_output) + sizeof(struct nwi_output_set) + TEXT_ROOM <=
                   NWI_OUTPUT_BYTES,
               "the sink and its texts");
_Static_assert(sizeof(struct nwi_output_place) + 2 * sizeof(struct nwi_output_row) +
                       sizeof(struct nwi_output_file) <=
                   NWI_OUTPUT_TARGET_BYTES,
               "rows of a target, and a file for each");
_Static_assert(sizeof(struct nwi_output_other) <= NWI_OUTPUT_OTHER_BYTES,
               "a file beside");
_Static_assert(sizeof(char *) + sizeof(struct nwi_output_pair) + PAIR_SLOTS <=
                   NWI_OUTPUT_PAIR_BYTES,
               "a key of the metadata");

/* ---- making the temporaries ---- */

static int create_file(struct nwi_output *output, const struct nwi_output_set *set,
                       uint32_t row, const struct nwi_output_row *rows, size_t n,
                       struct nw_error *err)
{
    struct nwi_output_file *file = &output->files[row];
    char name[NWI_OUTPUT_PATH];
    int fd = -1;
    nwi_output_file_name(output, row, name);
    NWI_TRY(nwi_output_create(output, name, &fd, err));
    atomic_store(&file->state, NWI_OUTPUT_TEMPORARY);
    uint64_t data = atomic_load(&file->left);
    int code = nwi_output_reserve(fd, file->nbytes, err);
    if (code == NW_OK)
        code = nwi_output_header_write(fd, set, rows, n, file->nbytes - data, err);
    if (code == NW_OK && data == 0) {
        code = nwi_output_fsync(fd, err);
        atomic_store(&file->state, NWI_OUTPUT_SYNCED);
    }
    (void)close(fd);
    return nwi_output_in_file(output, name, err, code);
}

static int create_index(struct nwi_output *output, struct nwi_output_set *set,
                        struct nwi_output_row *rows, struct nwi_output_row *spare,
                        struct nw_error *err)
{
    char name[NWI_OUTPUT_PATH];
    int fd = -1;
    nwi_output_order_by_name(rows, spare, set->plan->n_targets);
    nwi_output_index_name(output, set, false, name);
    NWI_TRY(nwi_output_create(output, name, &fd, err));
    set->index_state = NWI_OUTPUT_TEMPORARY;
    int code = nwi_output_index_write(output, set, rows, fd, err);
    if (code == NW_OK)
        code = nwi_output_fsync(fd, err);
    if (code == NW_OK)
        set->index_state = NWI_OUTPUT_SYNCED;
    (void)close(fd);
    return nwi_output_in_file(output, name, err, code);
}

static int create_files(struct nwi_output *output, struct nwi_output_set *set,
                        const struct nwi_output_row *rows, struct nw_error *err)
{
    size_t left = set->plan->n_targets;
    for (uint32_t i = 0; i < set->n_files; i++) {
        size_t n = nwi_output_run_length(rows, left);
        NWI_TRY(create_file(output, set, set->first_file + i, rows, n, err));
        rows += n;
        left -= n;
    }
    return NW_OK;
}

static int begin_sorted(struct nwi_output *output, struct nwi_output_set *set,
                        const struct nw_write_options *options,
                        struct nwi_output_row *rows, struct nwi_output_row *spare,
                        struct nw_error *err)
{
    nwi_output_order(output, set, rows, spare);
    NWI_TRY(nwi_output_metadata(output, set, rows, options, err));
    NWI_TRY(nwi_output_place_all(output, set, rows, err));
    NWI_TRY(create_files(output, set, rows, err));
    return set->n_files > 1 ? create_index(output, set, rows, spare, err) : NW_OK;
}

static int begin_set(struct nwi_output *output, struct nwi_output_set *set,
                     const struct nw_write_options *options, struct nw_error *err)
{
    NWI_TRY(nwi_output_pack(output, set, err));
    size_t n = (size_t)nwi_max(set->plan->n_targets, 1);
    size_t nbytes = 2 * n * sizeof(struct nwi_output_row);
    struct nwi_output_row *rows = nwi_alloc(output->memory, nbytes);
    if (!rows)
        return nwi_fail_nomem(err, nbytes);
    int code = begin_sorted(output, set, options, rows, rows + n, err);
    nwi_output_metadata_free(output, set);
    nwi_free(output->memory, rows, nbytes);
    return code;
}

static int fill_sets(struct nwi_output *output, struct nw_plan *const *plans,
                     struct nw_error *err)
{
    for (size_t i = 0; i < output->n_sets; i++)
        NWI_TRY(fill_set(output, i, plans[i], err));
    return NW_OK;
}

static int begin_sets(struct nwi_output *output, const struct nw_write_options *options,
                      struct nw_error *err)
{
    for (size_t i = 0; i < output->n_sets; i++)
        NWI_TRY(begin_set(output, &output->sets[i], options, err));
    return NW_OK;
}

static int begin(struct nwi_output *output, struct nw_plan *const *plans,
                 const char *path, const struct nw_write_options *options,
                 struct nw_error *err)
{
    int sys = nwi_monitor_init(&output->monitor);
    if (sys != 0)
        return nwi_fail_sys(err, sys, "cannot make a lock");
    output->monitor_ready = true;
    NWI_TRY(read_options(output, options, err));
    NWI_TRY(fill_sets(output, plans, err));
    NWI_TRY(make_room(output, err));
    NWI_TRY(nwi_output_open_target(output, path, err));
    NWI_TRY(begin_sets(output, options, err));
    NWI_TRY(nwi_output_write_others(output, err));
    return nwi_output_list_written(output, err);
}

/* Nothing but memory; NULL if there is none. */
static struct nwi_output *new_output(struct nw_plan *const *plans, size_t n_plans,
                                     const char *path, struct nwi_memory *memory)
{
    size_t sets_size = n_plans * sizeof(struct nwi_output_set);
    struct nwi_output *output = nwi_zalloc(memory, sizeof *output);
    struct nwi_output_set *sets = nwi_zalloc(memory, sets_size);
    if (!output || !sets) {
        nwi_free(memory, output, sizeof *output);
        nwi_free(memory, sets, sets_size);
        return NULL;
    }
    output->memory = nwi_memory_retain(memory);
    output->ckpt = plans[0]->ckpt;
    output->sets = sets;
    output->n_sets = n_plans;
    output->pipeline = is_pipeline(plans, n_plans, path);
    output->parts = any_part(plans, n_plans);
    output->root = -1;
    for (size_t i = 0; i < NWI_OUTPUT_SLOTS; i++)
        output->slots[i].fd = -1;
    nwi_arena_init(&output->arena, memory);
    nwi_output_draw_suffix(output);
    return output;
}

/* NOLINTNEXTLINE(readability-function-size): once, and every parameter is another thing */
int nwi_output_begin(struct nw_plan *const *plans, size_t n_plans, const char *path,
                     const struct nw_write_options *options, struct nwi_memory *memory,
                     struct nwi_output **out, struct nw_error *err)
{
    *out = NULL;
    if (n_plans == 0)
        return nwi_fail(err, NW_E_ARG, "there is no plan to write");
    struct nwi_output *output = new_output(plans, n_plans, path, memory);
    if (!output)
        return nwi_fail_nomem(err, sizeof *output);
    int code = begin(output, plans, path, options, err);
    if (code != NW_OK) {
        nwi_output_free(output);
        return code;
    }
    *out = output;
    return NW_OK;
}

static int place_nowhere(void *ctx, size_t target, void **dst, struct nw_error *err)
{
    (void)ctx;
    (void)target;
    (void)err;
    *dst = NULL;
    return NW_OK;
}

struct nwi_sink nwi_output_sink(struct nwi_output *output)
{
    return (struct nwi_sink){
        .ctx = output,
        .place = place_nowhere,
        .write = nwi_output_write,
    };
}

/* ---- the end ---- */

size_t nwi_output_written(const struct nwi_output *output,
                          const struct nw_written **out)
{
    *out = output->written;
    return output->n_written;
}

size_t nwi_output_dropped(const struct nwi_output *output, const char *const **out)
{
    *out = output->dropped;
    return output->n_dropped;
}

size_t nwi_output_lacking(const struct nwi_output *output, const char *const **out)
{
    *out = output->lacking;
    return output->n_lacking;
}

void nwi_output_free(struct nwi_output *output)
{
    if (!output)
        return;
    struct nwi_memory *memory = output->memory;
    nwi_output_close_slots(output);
    nwi_save_roll_back(output);
    if (output->root >= 0)
        (void)close(output->root);
    if (output->monitor_ready)
        nwi_monitor_destroy(&output->monitor);
    nwi_free(memory, output->places, output->n_targets * sizeof *output->places);
    nwi_free(memory, output->files, output->files_room * sizeof *output->files);
    nwi_free(memory, output->others, output->others_room * sizeof *output->others);
    nwi_free(memory, output->dropped, output->dropped_room * sizeof *output->dropped);
    nwi_free(memory, output->written, output->written_room * sizeof *output->written);
    nwi_free(memory, output->written_names, output->written_names_size);
    nwi_free(memory, output->sets, output->n_sets * sizeof *output->sets);
    nwi_arena_release(&output->arena);
    nwi_free(memory, output, sizeof *output);
    nwi_memory_release(memory);
}
