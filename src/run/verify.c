/* SPDX-License-Identifier: Apache-2.0
 * nw_verify: opens with every problem listed, then reads every byte once: values that
 * are no finite numbers, the hash of hub blobs, files that cannot be read. What reading
 * finds is a problem in the document, not a failure of the call. */
#include <string.h>

#include "base/arith.h"
#include "base/json_write.h"
#include "base/options.h"
#include "base/sha256.h"
#include "run/progress.h"
#include "run/stats.h"
#include "source/rows.h"

#define WINDOW_BYTES ((size_t)4 << 20) /* read at a time */

/* A tensor with values that are no finite numbers. */
struct note {
    const struct nwi_stored *stored;
    struct nwi_stats stats;
};

/* Everything of one call. */
struct verify {
    const char *path;
    struct nw_verify_options options;
    struct nw_checkpoint *ckpt; /* NULL if it could not be opened at all */
    struct nwi_memory *memory;  /* of this call alone */
    struct nwi_arena arena;
    uint8_t *window; /* [WINDOW_BYTES] */
    struct note *notes;
    size_t n_notes;
    size_t notes_capacity;
    struct nw_error *problems; /* found while reading */
    size_t n_problems;
    size_t problems_capacity;
    struct nwi_progress progress;
};

static int add_problem(struct verify *verify, const struct nw_error *problem,
                       struct nw_error *err)
{
    void *items = verify->problems;
    if (!nwi_arena_grow(&verify->arena, &items, verify->n_problems,
                        &verify->problems_capacity, sizeof *problem))
        return nwi_fail_nomem(err, sizeof *problem);
    verify->problems = items;
    verify->problems[verify->n_problems++] = *problem;
    return NW_OK;
}

static int add_note(struct verify *verify, const struct nwi_stored *stored,
                    const struct nwi_stats *stats, struct nw_error *err)
{
    void *items = verify->notes;
    if (stats->n_nan == 0 && stats->n_inf == 0)
        return NW_OK;
    if (!nwi_arena_grow(&verify->arena, &items, verify->n_notes,
                        &verify->notes_capacity, sizeof *verify->notes))
        return nwi_fail_nomem(err, sizeof *verify->notes);
    verify->notes = items;
    verify->notes[verify->n_notes++] = (struct note){stored, *stats};
    return NW_OK;
}

/* ---- reading one file ---- */

/* The file at hand. Its tensors lie side by side in the catalog, by offset. */
struct scan {
    const struct nwi_source_file *source;
    const struct nwi_stored *tensors; /* [n_tensors]; NULL if there is none */
    size_t n_tensors;
    size_t next;             /* first tensor that has not been read to its end */
    struct nwi_stats stats;  /* of its bytes so far */
    struct nwi_sha256 *hash; /* NULL: not wanted, or not in this build */
};

static struct scan begin_scan(const struct nw_checkpoint *ckpt, size_t file)
{
    struct scan scan = {.source = &ckpt->files[file]};
    size_t first = 0;
    while (first < ckpt->n_tensors && ckpt->tensors[first].file != file)
        first++;
    size_t end = first;
    while (end < ckpt->n_tensors && ckpt->tensors[end].file == file)
        end++;
    scan.n_tensors = end - first;
    if (scan.n_tensors > 0)
        scan.tensors = &ckpt->tensors[first];
    return scan;
}

/* Where a window from `begin` ends: never inside an element. */
static uint64_t window_end(const struct scan *scan, uint64_t begin)
{
    uint64_t size = scan->source->file->identity.size;
    uint64_t end = begin + nwi_min(WINDOW_BYTES, size - begin);
    if (end == size)
        return end;
    for (size_t i = scan->next; i < scan->n_tensors; i++) {
        const struct nwi_stored *stored = &scan->tensors[i];
        uint64_t width = nw_dtype_bits(stored->dtype) / 8;
        if (stored->offset >= end)
            break;
        if (end - stored->offset < stored->nbytes && width > 1)
            return end - (end - stored->offset) % width;
    }
    return end;
}

static int count_window(struct verify *verify, struct scan *scan, uint64_t begin,
                        uint64_t end, struct nw_error *err)
{
    for (; scan->next < scan->n_tensors; scan->next++) {
        const struct nwi_stored *stored = &scan->tensors[scan->next];
        uint64_t tensor_end = stored->offset + stored->nbytes;
        uint64_t low = nwi_max(begin, stored->offset);
        uint64_t high = nwi_min(end, tensor_end);
        if (stored->offset >= end)
            break;
        if (low < high)
            nwi_stats_add(stored->dtype, verify->window + (low - begin),
                          (size_t)(high - low), &scan->stats);
        if (tensor_end > end)
            break; /* goes on in the next window */
        NWI_TRY(add_note(verify, stored, &scan->stats, err));
        scan->stats = (struct nwi_stats){0};
    }
    return NW_OK;
}

/* Reads to the end of the file. A read that fails ends it: *broken gets the reason. */
static int read_file(struct verify *verify, struct scan *scan, struct nw_error *broken,
                     struct nw_error *err)
{
    const struct nwi_file *file = scan->source->file;
    uint64_t size = file->identity.size;
    for (uint64_t at = 0, end; at < size; at = end) {
        end = window_end(scan, at);
        if (nwi_file_read(file, at, verify->window, (size_t)(end - at), broken) !=
            NW_OK)
            return nwi_progress_add(&verify->progress, size - at, err);
        if (scan->hash)
            nwi_sha256_add(scan->hash, verify->window, (size_t)(end - at));
        NWI_TRY(count_window(verify, scan, at, end, err));
        NWI_TRY(nwi_progress_add(&verify->progress, end - at, err));
    }
    return NW_OK;
}

/* No code says "another hash"; CHANGED is what it means to whoever has the file. */
static void check_hash(const struct scan *scan, struct nw_error *broken)
{
    char hex[NWI_SHA256_HEX];
    if (!scan->hash)
        return;
    nwi_sha256_hex(scan->hash, hex);
    if (strcmp(hex, scan->source->sha256_name) != 0)
        (void)nwi_fail(
            broken, NW_E_CHANGED,
            "the sha256 of the content is %s, its name in the cache promises %s: "
            "download it again",
            hex, scan->source->sha256_name);
}

static int begin_hash(struct scan *scan, struct nw_error *err)
{
#ifdef NWI_HAVE_CRYPTO
    if (scan->source->sha256_name)
        return nwi_sha256_new(&scan->hash, err);
#else
    (void)scan;
    (void)err;
#endif
    return NW_OK;
}

static int verify_file(struct verify *verify, size_t i, struct nw_error *err)
{
    struct scan scan = begin_scan(verify->ckpt, i);
    struct nw_error broken;
    nwi_error_clear(&broken);
    if (!scan.source->file)
        return NW_OK;
    NWI_TRY(begin_hash(&scan, err));
    int code = read_file(verify, &scan, &broken, err);
    if (code == NW_OK && broken.code == NW_OK &&
        nwi_file_check_unchanged(scan.source->file, &broken) == NW_OK)
        check_hash(&scan, &broken);
    if (code == NW_OK && broken.code != NW_OK) {
        (void)nwi_error_in_file(&broken, broken.code, scan.source->info.path);
        code = add_problem(verify, &broken, err);
    }
    nwi_sha256_free(scan.hash);
    return code;
}

static int verify_files(struct verify *verify, struct nw_error *err)
{
    const struct nw_checkpoint *ckpt = verify->ckpt;
    for (size_t i = 0; i < ckpt->n_files; i++) {
        if (ckpt->files[i].file)
            verify->progress.total += ckpt->files[i].file->identity.size;
    }
    verify->window = nwi_alloc_pages(verify->memory, WINDOW_BYTES);
    if (!verify->window)
        return nwi_fail_nomem(err, WINDOW_BYTES);
    for (size_t i = 0; i < ckpt->n_files; i++)
        NWI_TRY(verify_file(verify, i, err));
    return NW_OK;
}

/* ---- the document ---- */

/* Problems of opening that are (or are not) mere notes. */
static void write_opening(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt,
                          bool notes)
{
    size_t n = ckpt ? ckpt->n_problems : 0;
    for (size_t i = 0; i < n; i++) {
        if ((ckpt->problems[i].note != 0) == notes)
            nwi_put_problem(w, &ckpt->problems[i]);
    }
}

static void write_notes(struct nwi_json_writer *w, const struct verify *verify)
{
    nwi_json_key(w, "notes");
    nwi_json_array(w);
    for (size_t i = 0; i < verify->n_notes; i++) {
        const struct note *note = &verify->notes[i];
        nwi_json_object(w);
        nwi_json_key(w, "tensor");
        nwi_json_str_n(w, note->stored->name, note->stored->name_size);
        nwi_json_put_str(w, "file", verify->ckpt->files[note->stored->file].info.name);
        nwi_json_put_uint(w, "nan", note->stats.n_nan);
        nwi_json_put_uint(w, "inf", note->stats.n_inf);
        nwi_json_object_end(w);
    }
    write_opening(w, verify->ckpt, true);
    nwi_json_array_end(w);
}

static bool is_ok(const struct verify *verify)
{
    return verify->ckpt && verify->n_problems == 0 &&
           nwi_checkpoint_refuse(verify->ckpt, NULL) == NW_OK;
}

/* `opening` is why there is no checkpoint, if there is none. */
static int write_document(const struct verify *verify, const struct nw_error *opening,
                          nw_write_fn *write, void *ctx, struct nw_error *err)
{
    struct nwi_json_writer w;
    nwi_json_writer_init(&w, write, ctx);
    nwi_json_object(&w);
    nwi_json_put_str(&w, "path", verify->path);
    nwi_json_key(&w, "ok");
    nwi_json_bool(&w, is_ok(verify));
    nwi_put_files(&w, verify->ckpt);
    nwi_json_key(&w, "problems");
    nwi_json_array(&w);
    write_opening(&w, verify->ckpt, false);
    if (!verify->ckpt)
        nwi_put_failure(&w, opening);
    for (size_t i = 0; i < verify->n_problems; i++)
        nwi_put_failure(&w, &verify->problems[i]);
    nwi_json_array_end(&w);
    write_notes(&w, verify);
    nwi_json_object_end(&w);
    if (nwi_json_writer_finish(&w) == NW_OK)
        return NW_OK;
    return nwi_fail(err, NW_E_CANCELLED, "the document's receiver asked to stop");
}

/* ---- the whole ---- */

/* True where the files were seen, and are wrong; false where there is nothing to judge.
 */
static bool is_judgement(int code)
{
    return code != NW_E_ARG && code != NW_E_NOMEM && code != NW_E_IO &&
           code != NW_E_CANCELLED && code != NW_E_DEVICE && code != NW_E_NOT_FOUND;
}

static int read_all(struct verify *verify, struct nw_error *err)
{
    verify->memory = nwi_memory_sibling(verify->ckpt->memory);
    if (!verify->memory)
        return nwi_fail_nomem(err, sizeof *verify);
    nwi_arena_init(&verify->arena, verify->memory);
    return verify->options.quick ? NW_OK : verify_files(verify, err);
}

static void release(struct verify *verify)
{
    if (verify->memory) {
        nwi_free_pages(verify->memory, verify->window, WINDOW_BYTES);
        nwi_arena_release(&verify->arena);
        nwi_memory_release(verify->memory);
    }
    nw_checkpoint_free(verify->ckpt);
}

int nw_verify(const char *path, const struct nw_verify_options *options, int *ok,
              nw_write_fn *write, void *ctx, struct nw_error *err)
{
    struct verify verify = {.path = path};
    struct nw_error opening;
    nwi_error_clear(err);
    if (ok)
        *ok = 0;
    if (!path || !ok || !write)
        return nwi_fail(
            err, NW_E_ARG,
            "a check needs a path, a place for its answer and a function to "
            "write to");
    NWI_TRY(nwi_options_read(&verify.options, sizeof verify.options, options,
                             "verify options", err));
    verify.options.open.size = sizeof verify.options.open;
    verify.options.open.flags |= NW_OPEN_REPORT;
    verify.progress.call = verify.options.progress;
    verify.progress.ctx = verify.options.progress_ctx;
    int code = nw_open(path, &verify.options.open, &verify.ckpt, &opening);
    if (code != NW_OK && !is_judgement(code)) {
        if (err)
            *err = opening;
        return code;
    }
    code = verify.ckpt ? read_all(&verify, err) : NW_OK;
    if (code == NW_OK)
        code = write_document(&verify, &opening, write, ctx, err);
    if (code == NW_OK)
        *ok = is_ok(&verify);
    release(&verify);
    return code;
}
