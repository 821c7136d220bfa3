/* SPDX-License-Identifier: Apache-2.0 */
#include "source/hub.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "source/index.h"

#define COMMIT_DIGITS 40
#define REF_LIMIT     4096 /* bytes; a ref is one commit */

static char *join(struct nwi_builder *b, const char *folder, const char *name)
{
    return nwi_path_join(&b->scratch, folder, name);
}

int nwi_hub_is_entry(struct nwi_builder *b, const char *path, bool *entry)
{
    *entry = false;
    if (!nwi_starts_with(nwi_path_base(path), "models--"))
        return NW_OK;
    char *snapshots = join(b, path, "snapshots");
    if (!snapshots)
        return nwi_builder_nomem(b, strlen(path));
    *entry = nwi_path_kind(snapshots) == NWI_PATH_FOLDER;
    return NW_OK;
}

static bool is_commit(const char *text)
{
    return strspn(text, "0123456789abcdef") == COMMIT_DIGITS &&
           strlen(text) == COMMIT_DIGITS;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* "main, v2" of refs, or the commits of snapshots, for a message. */
static int list_folder(struct nwi_builder *b, const char *entry, const char *name,
                       char *out, size_t size)
{
    char **names = NULL;
    size_t n = 0;
    struct nw_error failure;
    char *path = join(b, entry, name);
    size_t used = 0;
    (void)snprintf(out, size, "none");
    if (!path)
        return nwi_builder_nomem(b, strlen(entry));
    nwi_error_clear(&failure);
    if (nwi_folder_list(path, &b->scratch, &names, &n, &failure) == NW_E_NOMEM)
        return nwi_builder_absorb(b, &failure);
    for (size_t i = 0; i < n && used + strlen(names[i]) + 8 < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", names[i]);
    return NW_OK;
}

static int fail_revision(struct nwi_builder *b, const char *entry, const char *revision)
{
    char refs[120];
    char commits[120];
    NWI_TRY(list_folder(b, entry, "refs", refs, sizeof refs));
    NWI_TRY(list_folder(b, entry, "snapshots", commits, sizeof commits));
    int code =
        nwi_fail(b->err, NW_E_NOT_FOUND,
                 "the cache entry has no revision \"%.80s\"; refs: %s; snapshots: %s",
                 revision, refs, commits);
    return nwi_error_in_file(b->err, code, entry);
}

/* The commit in refs/<revision>, white space at its ends aside. */
static int read_ref(struct nwi_builder *b, const char *entry, const char *revision,
                    const char **commit)
{
    char *text = NULL;
    size_t size = 0;
    char *folder = join(b, entry, "refs");
    char *path = folder ? join(b, folder, revision) : NULL;
    if (!path)
        return nwi_builder_nomem(b, strlen(entry));
    if (nwi_path_kind(path) != NWI_PATH_FILE)
        return fail_revision(b, entry, revision);
    NWI_TRY(nwi_file_slurp(path, REF_LIMIT, &b->scratch, &text, &size, b->err));
    while (size > 0 && is_space(text[size - 1]))
        size--;
    while (size > 0 && is_space(*text)) {
        text++;
        size--;
    }
    text[size] = '\0';
    if (nwi_index_name_is_safe(text, size)) {
        *commit = text;
        return NW_OK;
    }
    int code = nwi_fail(b->err, NW_E_UNSAFE_PATH,
                        "the ref does not hold the name of a commit");
    return nwi_error_in_file(b->err, code, path);
}

int nwi_hub_snapshot(struct nwi_builder *b, const char *entry, const char **snapshot)
{
    const char *revision = b->options->revision ? b->options->revision : "main";
    const char *commit = revision;
    if (strstr(revision, "..") || revision[0] == '/' || revision[0] == '\0')
        return nwi_fail(b->err, NW_E_ARG, "\"%.80s\" is no revision", revision);
    if (!is_commit(revision))
        NWI_TRY(read_ref(b, entry, revision, &commit));
    char *folder = join(b, entry, "snapshots");
    char *path = folder ? join(b, folder, commit) : NULL;
    if (!path)
        return nwi_builder_nomem(b, strlen(entry));
    *snapshot = path;
    if (nwi_path_kind(path) == NWI_PATH_FOLDER)
        return NW_OK;
    int code = nwi_fail(
        b->err, NW_E_NOT_FOUND,
        "revision \"%.80s\" is commit %.80s, whose snapshot is not in the cache",
        revision, commit);
    return nwi_error_in_file(b->err, code, entry);
}

/* "org/name" or "name": what the hub allows, and nothing that means a path. */
static bool is_repo_id(const char *id)
{
    const char *slash = strchr(id, '/');
    if (id[0] == '\0' || strchr("./~", id[0]) || (slash && strchr(slash + 1, '/')))
        return false;
    if (slash && slash[1] == '\0')
        return false;
    for (const char *c = id; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9') && !strchr("-_./", *c))
            return false;
    }
    return strstr(id, "..") == NULL;
}

int nwi_hub_find(struct nwi_builder *b, const char *id, const char **entry)
{
    const char *cache = b->options->cache_dir;
    if (!is_repo_id(id))
        return nwi_fail(b->err, NW_E_NOT_FOUND, "no such file or folder");
    if (!cache)
        return nwi_fail(
            b->err, NW_E_NOT_FOUND,
            "no such file or folder, and no hub cache was given to look in");
    const char *slash = strchr(id, '/');
    int org_size = slash ? (int)(slash - id) : 0;
    char *name = nwi_arena_printf(&b->scratch, "models--%.*s%s%s", org_size, id,
                                  slash ? "--" : "", slash ? slash + 1 : id);
    char *path = name ? join(b, cache, name) : NULL;
    if (!path)
        return nwi_builder_nomem(b, strlen(id) + strlen(cache));
    *entry = path;
    if (nwi_path_kind(path) == NWI_PATH_FOLDER)
        return NW_OK;
    return nwi_fail(b->err, NW_E_NOT_FOUND,
                    "no such file or folder, and the hub cache %.200s has no %.120s",
                    cache, name);
}
