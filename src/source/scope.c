/* SPDX-License-Identifier: Apache-2.0
 * Every path is made canonical first; what it is compared with is canonical too. */
#include "source/scope.h"

#include <string.h>

#include "base/text.h"

/* The canonical path, NULL if nothing is there. Tells a refused allocation from that.
 */
static int real_path(struct nwi_builder *b, const char *path, const char **real)
{
    *real = nwi_path_real(path, &b->scratch);
    if (*real || nwi_path_kind(path) == NWI_PATH_ABSENT)
        return NW_OK;
    return nwi_builder_nomem(b, strlen(path) + 1);
}

/* "<cache>/models--org--name" of "<cache>/models--org--name/snapshots/<revision>/...":
 * length of that part, 0 if the path is not in a snapshot. */
static size_t entry_length(const char *real)
{
    static const char snapshots[] = "/snapshots/";
    const char *at = strstr(real, snapshots);
    for (; at; at = strstr(at + 1, snapshots)) {
        const char *base = at;
        while (base > real && base[-1] != '/')
            base--;
        if (strncmp(base, "models--", 8) == 0 && at[sizeof snapshots - 1])
            return (size_t)(at - real);
    }
    return 0;
}

int nwi_scope_init(struct nwi_builder *b, const char *path, struct nwi_scope *scope)
{
    *scope = (struct nwi_scope){0};
    if (b->options->flags & NW_OPEN_FOLLOW_LINKS)
        return NW_OK;
    NWI_TRY(real_path(b, path, &scope->root));
    if (!scope->root) {
        int code = nwi_fail(b->err, NW_E_NOT_FOUND, "the folder is not there");
        return nwi_error_in_file(b->err, code, path);
    }
    size_t length = entry_length(scope->root);
    if (length == 0)
        return NW_OK;
    scope->blobs =
        nwi_arena_printf(&b->scratch, "%.*s/blobs", (int)length, scope->root);
    return scope->blobs ? NW_OK : nwi_builder_nomem(b, length);
}

static bool is_inside(const char *real, const char *folder)
{
    size_t size = strlen(folder);
    if (size > 0 && folder[size - 1] == '/')
        return strncmp(real, folder, size) == 0;
    return strncmp(real, folder, size) == 0 &&
           (real[size] == '/' || real[size] == '\0');
}

int nwi_scope_reach(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *path, enum nwi_reach *reach, const char **real)
{
    static const enum nwi_reach reaches[] = {[NWI_PATH_ABSENT] = NWI_REACH_ABSENT,
                                             [NWI_PATH_FILE] = NWI_REACH_FILE,
                                             [NWI_PATH_FOLDER] = NWI_REACH_FOLDER,
                                             [NWI_PATH_OTHER] = NWI_REACH_OTHER};
    const char *canonical = NULL;
    NWI_TRY(real_path(b, path, &canonical));
    if (real)
        *real = canonical;
    if (!canonical)
        *reach = NWI_REACH_ABSENT;
    else if (scope->root && !is_inside(canonical, scope->root) &&
             !(scope->blobs && is_inside(canonical, scope->blobs)))
        *reach = NWI_REACH_OUTSIDE;
    else
        *reach = reaches[nwi_path_kind(path)];
    return NW_OK;
}

/* The 64 hex digits a blob of the hub is named by, or NULL. */
static const char *blob_name(const char *real)
{
    const char *base = real ? nwi_path_base(real) : "";
    size_t size = strspn(base, "0123456789abcdef");
    bool in_blobs = base - real > 7 && strncmp(base - 7, "/blobs/", 7) == 0;
    return size == 64 && base[64] == '\0' && in_blobs ? base : NULL;
}

static int fail_reach(struct nwi_builder *b, const char *path, enum nwi_reach reach,
                      int absent)
{
    struct nwi_place place = {.file = path, .offset = NW_OFFSET_NONE};
    if (reach == NWI_REACH_OUTSIDE)
        return nwi_builder_problem(b, &place, NW_E_UNSAFE_PATH,
                                   "a link that leads out of its folder; follow_links "
                                   "(--follow-links) accepts it");
    if (reach == NWI_REACH_ABSENT)
        return nwi_builder_problem(b, &place, absent, "the file is not there");
    return nwi_builder_problem(b, &place, NW_E_WRONG_FORMAT, "not a regular file");
}

int nwi_scope_open(struct nwi_builder *b, const struct nwi_scope *scope,
                   const char *name, const char *path, int absent, uint32_t *row)
{
    enum nwi_reach reach = NWI_REACH_ABSENT;
    const char *real = NULL;
    struct nwi_file *file = NULL;
    struct nw_error failure;
    *row = NW_NONE;
    NWI_TRY(nwi_scope_reach(b, scope, path, &reach, &real));
    if (reach != NWI_REACH_FILE)
        return fail_reach(b, path, reach, absent);
    nwi_error_clear(&failure);
    bool plain = scope->root && !nwi_path_is_link(path);
    if (nwi_file_open(path, plain, b->memory, &file, &failure) != NW_OK)
        return nwi_builder_absorb(b, &failure);
    NWI_TRY(nwi_builder_add_file(b, name, path, file, row));
    const char *sha256 = blob_name(real);
    if (!sha256)
        return NW_OK;
    sha256 = nwi_arena_copy(b->arena, sha256, 64);
    nwi_builder_file(b, *row)->sha256_name = sha256;
    return sha256 ? NW_OK : nwi_builder_nomem(b, 65);
}

int nwi_scope_slurp(struct nwi_builder *b, const struct nwi_scope *scope,
                    const char *path, uint64_t limit, char **text, size_t *size)
{
    enum nwi_reach reach = NWI_REACH_ABSENT;
    *text = NULL;
    NWI_TRY(nwi_scope_reach(b, scope, path, &reach, NULL));
    if (reach != NWI_REACH_FILE)
        return NW_OK;
    struct nw_error failure;
    nwi_error_clear(&failure);
    if (nwi_file_slurp(path, limit, &b->scratch, text, size, &failure) != NW_OK)
        return nwi_builder_absorb(b, &failure);
    return NW_OK;
}
