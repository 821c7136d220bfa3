/* SPDX-License-Identifier: Apache-2.0
 * Names of the files of a save, and which names an earlier save may have left.
 *
 *     STEM[.VARIANT].safetensors                        one file
 *     STEM[.VARIANT]-00001-of-00002.safetensors         shards
 *     STEM.safetensors.index[.VARIANT].json             their index
 *     STEM-00001-of-00002.VARIANT.safetensors           shards, old spelling: only read
 *     STEM.safetensors.VARIANT.index.json               index, old spelling: only read
 *     .FINAL.netweight-tmp-PID-RANDOM                   a temporary; PID 0: given up */
#define _GNU_SOURCE /* getrandom */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "run/output_parts.h"

#define MARK      NWI_TEMPORARY_MARK "-"
#define NAME_MOST ((size_t)255) /* bytes of one name in a folder */

void nwi_output_join(const char *folder, const char *name, char *out)
{
    const char *slash = folder[0] == '\0' ? "" : "/";
    int size = snprintf(out, NWI_OUTPUT_PATH, "%s%s%s", folder, slash, name);
    assert(size > 0 && (size_t)size < NWI_OUTPUT_PATH);
    (void)size;
}

void nwi_output_folder_of(const char *name, char *out)
{
    const char *slash = strrchr(name, '/');
    size_t size = slash ? (size_t)(slash - name) : 0;
    assert(size < NWI_OUTPUT_PATH);
    memcpy(out, name, size);
    out[size] = '\0';
}

/* "." and the variant, in its place or nowhere. */
static const char *dot(const struct nwi_output *output)
{
    return output->variant ? "." : "";
}

static const char *variant(const struct nwi_output *output)
{
    return output->variant ? output->variant : "";
}

void nwi_output_single_name(const struct nwi_output *output,
                            const struct nwi_output_set *set, char *out)
{
    char name[NWI_OUTPUT_PATH / 2];
    if (output->single)
        (void)snprintf(name, sizeof name, "%s", output->single);
    else
        (void)snprintf(name, sizeof name, "%s%s%s.safetensors", set->stem, dot(output),
                       variant(output));
    nwi_output_join(set->folder, name, out);
}

void nwi_output_file_name(const struct nwi_output *output, size_t file, char *out)
{
    const struct nwi_output_set *set = &output->sets[output->files[file].set];
    char name[NWI_OUTPUT_PATH / 2];
    if (set->n_files == 1) {
        nwi_output_single_name(output, set, out);
        return;
    }
    (void)snprintf(name, sizeof name, "%s%s%s-%05zu-of-%05" PRIu32 ".safetensors",
                   set->stem, dot(output), variant(output), file - set->first_file + 1,
                   set->n_files);
    nwi_output_join(set->folder, name, out);
}

void nwi_output_index_name(const struct nwi_output *output,
                           const struct nwi_output_set *set, bool legacy, char *out)
{
    char name[NWI_OUTPUT_PATH / 2];
    if (legacy)
        (void)snprintf(name, sizeof name, "%s.safetensors%s%s.index.json", set->stem,
                       dot(output), variant(output));
    else
        (void)snprintf(name, sizeof name, "%s.safetensors.index%s%s.json", set->stem,
                       dot(output), variant(output));
    nwi_output_join(set->folder, name, out);
}

void nwi_output_draw_suffix(struct nwi_output *output)
{
    uint32_t random = 0;
    struct timespec now = {0};
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        random = (uint32_t)now.tv_nsec ^ (uint32_t)(uintptr_t)output;
    }
    (void)snprintf(output->suffix, sizeof output->suffix, MARK "%ld-%08" PRIx32,
                   (long)getpid(), random);
}

void nwi_output_temp_name(const struct nwi_output *output, const char *name, char *out)
{
    const char *slash = strrchr(name, '/');
    size_t folder_size = slash ? (size_t)(slash - name) + 1 : 0;
    const char *base = name + folder_size;
    size_t base_size = strlen(base);
    size_t most = NAME_MOST - 1 - strlen(output->suffix);
    if (base_size > most) /* a name of full length: its end is cut off */
        base_size = most;
    int size = snprintf(out, NWI_OUTPUT_PATH, "%.*s.%.*s%s", (int)folder_size, name,
                        (int)base_size, base, output->suffix);
    assert(size > 0 && (size_t)size < NWI_OUTPUT_PATH);
    (void)size;
}

/* ---- matching ---- */

/* Moves past `text`; false, and not moved, if something else stands there. */
static bool eat(const char **at, const char *text)
{
    size_t size = strlen(text);
    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

/* ".VARIANT", or nothing where there is no variant. */
static bool eat_variant(const char **at, const char *variant_name)
{
    if (!variant_name)
        return true;
    const char *start = *at;
    if (eat(at, ".") && eat(at, variant_name))
        return true;
    *at = start;
    return false;
}

static bool eat_five_digits(const char **at, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < 5; i++) {
        char c = (*at)[i];
        if (c < '0' || c > '9')
            return false;
        *out = *out * 10 + (uint32_t)(c - '0');
    }
    *at += 5;
    return true;
}

/* "-ddddd-of-ddddd" */
static bool eat_numbers(const char **at, uint32_t numbers[2])
{
    return eat(at, "-") && eat_five_digits(at, &numbers[0]) && eat(at, "-of-") &&
           eat_five_digits(at, &numbers[1]);
}

static bool is_index(const char *at, const char *variant_name)
{
    const char *legacy = at;
    if (eat(&at, ".safetensors.index") && eat_variant(&at, variant_name) &&
        strcmp(at, ".json") == 0)
        return true;
    return variant_name && eat(&legacy, ".safetensors") &&
           eat_variant(&legacy, variant_name) && strcmp(legacy, ".index.json") == 0;
}

static bool is_shard(const char *at, const char *variant_name, uint32_t numbers[2])
{
    return eat_variant(&at, variant_name) && eat_numbers(&at, numbers) &&
           strcmp(at, ".safetensors") == 0;
}

static bool is_legacy_shard(const char *at, const char *variant_name,
                            uint32_t numbers[2])
{
    return variant_name && eat_numbers(&at, numbers) &&
           eat_variant(&at, variant_name) && strcmp(at, ".safetensors") == 0;
}

enum nwi_save_kind nwi_save_kind(const char *name, const char *stem,
                                 const char *variant_name, uint32_t numbers[2])
{
    const char *at = name;
    numbers[0] = numbers[1] = 0;
    if (!eat(&at, stem))
        return NWI_SAVE_NONE;
    if (is_index(at, variant_name))
        return NWI_SAVE_INDEX;
    if (is_shard(at, variant_name, numbers))
        return NWI_SAVE_SHARD;
    if (is_legacy_shard(at, variant_name, numbers))
        return NWI_SAVE_LEGACY_SHARD;
    bool single = eat_variant(&at, variant_name) && strcmp(at, ".safetensors") == 0;
    return single ? NWI_SAVE_SINGLE : NWI_SAVE_NONE;
}

bool nwi_output_is_temp(const char *name, size_t *final_size, uint64_t *pid)
{
    const char *mark = name[0] == '.' ? strstr(name + 1, MARK) : NULL;
    if (!mark)
        return false;
    const char *at = mark + strlen(MARK);
    *pid = 0;
    for (; *at >= '0' && *at <= '9' && *pid < UINT32_MAX; at++)
        *pid = *pid * 10 + (uint64_t)(*at - '0');
    *final_size = (size_t)(mark - (name + 1));
    return at > mark + strlen(MARK) && *at == '-' &&
           strspn(at + 1, "0123456789abcdef") == 8 && at[9] == '\0';
}
