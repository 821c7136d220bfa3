/* SPDX-License-Identifier: Apache-2.0
 * nw_verify: what it reads, counts, and calls wrong. */
#define _POSIX_C_SOURCE 200809L /* mkdir, symlink, truncate */

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "support/document.h"
#include "support/support.h"

/* Verifies and reads the document back; it must be given out. Returns *ok. */
static int verify(const char *path, const struct nw_verify_options *options,
                  struct nwt_document *document)
{
    struct nw_error err;
    int ok = -1;
    memset(document, 0, sizeof *document);
    assert_ok(nw_verify(path, options, &ok, nwt_document_write, document, &err), &err);
    nwt_document_parse(document);
    return ok;
}

static void write_numbers(const char *path)
{
    const uint64_t shapes[][1] = {{3}, {2}, {4}, {5}};
    const float floats[] = {1, NAN, -INFINITY};
    const int16_t ints[] = {-1, 0x7F80}; /* NaN and infinity if they were BF16 */
    const uint8_t fp8[] = {0x7F, 0xFF, 0x7E, 0};
    const uint16_t halves[] = {0, 0x3C00, 0x7BFF, 1, 0x8000};
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    nwt_st_add(&b, "f", "F32", 1, shapes[0], floats, sizeof floats);
    nwt_st_add(&b, "i", "I16", 1, shapes[1], ints, sizeof ints);
    nwt_st_add(&b, "e", "F8_E4M3", 1, shapes[2], fp8, sizeof fp8);
    nwt_st_add(&b, "h", "F16", 1, shapes[3], halves, sizeof halves);
    nwt_st_write(&b, path);
}

static void a_good_file_is_ok_and_its_odd_values_are_noted(void **state)
{
    (void)state;
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    struct nwt_document d;
    write_numbers(path);
    assert_int_equal(verify(path, NULL, &d), 1);
    assert_at(&d, "path", path);
    assert_at(&d, "ok", "true");
    assert_at(&d, "files", "[1]");
    assert_at(&d, "files/0/name", "m.safetensors");
    assert_at(&d, "files/0/container", "safetensors");
    assert_at(&d, "files/0/used", "true");
    assert_at(&d, "files/0/reason", "null");
    assert_at(&d, "problems", "[0]");
    assert_at(&d, "notes", "[2]");
    assert_at(&d, "notes/0/tensor", "f");
    assert_at(&d, "notes/0/nan", "1");
    assert_at(&d, "notes/0/inf", "1");
    assert_at(&d, "notes/1/tensor", "e");
    assert_at(&d, "notes/1/nan", "2");
    assert_at(&d, "notes/1/inf", "0");
    nwt_document_release(&d);
    free(path);
    nwt_remove(folder);
}

static void quick_reads_headers_only(void **state)
{
    (void)state;
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    struct nwt_document d;
    struct nw_verify_options options = NW_OPTIONS_INIT(options);
    options.quick = 1;
    write_numbers(path);
    assert_int_equal(verify(path, &options, &d), 1);
    assert_at(&d, "notes", "[0]");
    nwt_document_release(&d);
    free(path);
    nwt_remove(folder);
}

/* Elements that would lie across two windows, behind a header of any length. */
static void windows_never_cut_an_element(void **state)
{
    (void)state;
    enum { N = 3000001 };
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    const uint64_t byte[] = {1};
    const uint64_t shape[] = {N};
    float *values = malloc(N * sizeof *values);
    for (size_t i = 0; i < N; i++)
        values[i] = i % 2 ? NAN : INFINITY;
    for (uint32_t lead = 0; lead < 4; lead++) {
        struct nwt_safetensors b;
        struct nwt_document d;
        nwt_st_begin(&b);
        for (uint32_t i = 0; i < lead; i++) {
            char name[2] = {(char)('a' + i), '\0'};
            nwt_st_add(&b, name, "U8", 1, byte, NULL, 1);
        }
        nwt_st_add(&b, "big", "F32", 1, shape, values, N * sizeof *values);
        nwt_st_write(&b, path);
        assert_int_equal(verify(path, NULL, &d), 1);
        assert_at(&d, "notes/0/nan", "1500000");
        assert_at(&d, "notes/0/inf", "1500001");
        nwt_document_release(&d);
    }
    free(values);
    free(path);
    nwt_remove(folder);
}

static void a_wrong_file_is_judged(void **state)
{
    (void)state;
    static const char page[] = "<!DOCTYPE html><html><body>Not Found</body></html>";
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    struct nwt_document d;
    struct stat st;
    write_numbers(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    assert_int_equal(verify(path, NULL, &d), 0);
    assert_at(&d, "ok", "false");
    assert_at(&d, "problems/0/code", "TRUNCATED");
    nwt_document_release(&d);
    nwt_write(path, page, sizeof page - 1);
    assert_int_equal(verify(path, NULL, &d), 0);
    assert_at(&d, "problems", "[1]");
    assert_at(&d, "problems/0/code", "WRONG_FORMAT");
    nwt_document_release(&d);
    free(path);
    nwt_remove(folder);
}

static void what_is_not_there_cannot_be_judged(void **state)
{
    (void)state;
    struct nw_error err;
    struct nwt_document d = {0};
    int ok = 7;
    assert_code(nw_verify("/nowhere/at/all.safetensors", NULL, &ok, nwt_document_write,
                          &d, &err),
                NW_E_NOT_FOUND, &err);
    assert_int_equal(ok, 0);
    assert_null(d.text);
    assert_code(nw_verify(NULL, NULL, &ok, nwt_document_write, &d, &err), NW_E_ARG,
                &err);
    assert_code(nw_verify("x", NULL, &ok, NULL, NULL, &err), NW_E_ARG, &err);
}

/* Counts calls; asks to stop at the one that `stop_at` names. */
struct watch {
    uint64_t n_calls;
    uint64_t stop_at;
    uint64_t done;
    uint64_t total;
};

static int watch(void *ctx, uint64_t done, uint64_t total)
{
    struct watch *w = ctx;
    assert_true(done >= w->done && done <= total);
    w->done = done;
    w->total = total;
    return ++w->n_calls == w->stop_at;
}

static void progress_ends_at_the_total_and_may_cancel(void **state)
{
    (void)state;
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    struct watch w = {0};
    struct nwt_document d;
    struct stat st;
    struct nw_error err;
    int ok = 1;
    struct nw_verify_options options = NW_OPTIONS_INIT(options);
    options.progress = watch;
    options.progress_ctx = &w;
    write_numbers(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(verify(path, &options, &d), 1);
    nwt_document_release(&d);
    assert_int_equal(w.done, st.st_size);
    assert_int_equal(w.total, st.st_size);
    w = (struct watch){.stop_at = 1};
    assert_code(nw_verify(path, &options, &ok, nwt_document_write, &d, &err),
                NW_E_CANCELLED, &err);
    assert_null(d.text);
    assert_int_equal(ok, 0);
    free(path);
    nwt_remove(folder);
}

/* ---- hub cache blobs ---- */

static void make_folder(const char *folder, const char *name)
{
    char *path = nwt_path(folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static void sha256_of(const char *path, char hex[NWI_SHA256_HEX])
{
    struct nwi_sha256 *hash;
    struct nw_error err;
    size_t size;
    void *data = nwt_read(path, &size);
    nwi_error_clear(&err);
    assert_ok(nwi_sha256_new(&hash, &err), &err);
    nwi_sha256_add(hash, data, size);
    nwi_sha256_hex(hash, hex);
    nwi_sha256_free(hash);
    free(data);
}

static bool has_sha256(void)
{
    struct nw_feature feature;
    for (size_t i = 0; nw_feature(i, &feature); i++) {
        if (strcmp(feature.name, "sha256") == 0)
            return strcmp(feature.value, "yes") == 0;
    }
    return false;
}

static void a_blob_must_be_what_its_name_says(void **state)
{
    (void)state;
    static const char snapshot[] = "models--o--n/snapshots/0123";
    char *folder = nwt_folder();
    char hex[NWI_SHA256_HEX];
    char target[128];
    char blob_name[128];
    struct nwt_document d;
    if (!has_sha256())
        skip();
    make_folder(folder, "models--o--n");
    make_folder(folder, "models--o--n/blobs");
    make_folder(folder, "models--o--n/snapshots");
    make_folder(folder, snapshot);
    char *whole = nwt_path(folder, "whole");
    write_numbers(whole);
    sha256_of(whole, hex);
    (void)snprintf(blob_name, sizeof blob_name, "models--o--n/blobs/%s", hex);
    (void)snprintf(target, sizeof target, "../../blobs/%s", hex);
    char *blob = nwt_path(folder, blob_name);
    char *path = nwt_path(folder, snapshot);
    char *name = nwt_path(path, "model.safetensors");
    assert_int_equal(rename(whole, blob), 0);
    assert_int_equal(symlink(target, name), 0);
    assert_int_equal(verify(path, NULL, &d), 1);
    nwt_document_release(&d);
    size_t size;
    char *bytes = nwt_read(blob, &size);
    bytes[size - 1] ^= 1; /* the header is as good as before */
    nwt_write(blob, bytes, size);
    assert_int_equal(verify(path, NULL, &d), 0);
    assert_at(&d, "problems", "[1]");
    assert_at(&d, "problems/0/code", "CHANGED");
    nwt_document_release(&d);
    free(bytes);
    free(whole);
    free(blob);
    free(path);
    free(name);
    nwt_remove(folder);
}

static void every_refused_allocation_is_nomem(void **state)
{
    (void)state;
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "m.safetensors");
    int code = NW_E_NOMEM;
    write_numbers(path);
    for (long at = 0; code == NW_E_NOMEM; at++) {
        struct nwt_allocator counter = {.fail_at = at};
        struct nw_verify_options options = NW_OPTIONS_INIT(options);
        struct nwt_document d = {0};
        struct nw_error err;
        int ok;
        options.open.allocator = nwt_failing_allocator(&counter);
        code = nw_verify(path, &options, &ok, nwt_document_write, &d, &err);
        assert_int_equal(code, err.code);
        assert_int_equal(counter.live, 0);
        assert_true(code == NW_OK || d.text == NULL);
        free(d.text);
        assert_true(at < 1000);
    }
    assert_int_equal(code, NW_OK);
    free(path);
    nwt_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_ok_and_its_odd_values_are_noted),
        cmocka_unit_test(quick_reads_headers_only),
        cmocka_unit_test(windows_never_cut_an_element),
        cmocka_unit_test(a_wrong_file_is_judged),
        cmocka_unit_test(what_is_not_there_cannot_be_judged),
        cmocka_unit_test(progress_ends_at_the_total_and_may_cancel),
        cmocka_unit_test(a_blob_must_be_what_its_name_says),
        cmocka_unit_test(every_refused_allocation_is_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
