/* SPDX-License-Identifier: Apache-2.0
 * Which backend a run takes, and what it says about it. */
#define _GNU_SOURCE

#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "netweight.h"
#include "support/support.h"

#define TMPFS_MAGIC 0x01021994

static const uint64_t shape[] = {6 << 20}; /* 24 MiB of F32 */
static char *folder;
static char *file;
static void *image;
static size_t image_size;

static int set_up(void **state)
{
    struct nwt_safetensors b;
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    nwt_st_begin(&b);
    nwt_st_add(&b, "a", "F32", 1, shape, NULL, (size_t)shape[0] * 4);
    image = nwt_st_finish(&b, &image_size);
    nwt_write(file, image, image_size);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(image);
    free(file);
    nwt_remove(folder);
    return 0;
}

/* ---- the page cache ---- */

static double resident_part(void)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    size_t n = (image_size + 4095) / 4096;
    unsigned char *pages = malloc(n);
    size_t there = 0;
    assert_true(fd >= 0 && pages);
    void *map = mmap(NULL, image_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mincore(map, image_size, pages), 0);
    for (size_t i = 0; i < n; i++)
        there += pages[i] & 1U;
    (void)munmap(map, image_size);
    (void)close(fd);
    free(pages);
    return (double)there / (double)n;
}

static void make_warm(void)
{
    free(nwt_read(file, NULL));
}

/* False where the file system keeps its pages (tmpfs). */
static bool make_cold(void)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
    return resident_part() < 0.1;
}

static bool direct_reads_work(void)
{
    int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static bool leases_work(void)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool works = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    (void)close(fd);
    return works;
}

static bool feature(const char *name)
{
    struct nw_feature row;
    for (size_t i = 0; nw_feature(i, &row); i++) {
        if (strcmp(row.name, name) == 0)
            return strcmp(row.value, "yes") == 0;
    }
    return false;
}

/* ---- runs ---- */

static struct nw_result_figures run(struct nw_checkpoint *ckpt, int dtype,
                                    uint32_t backend, uint32_t threads)
{
    struct nw_error err;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    struct nw_result_figures figures;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = dtype;
    options.backend = backend;
    options.threads = threads;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_ok(nw_weights_result(weights, &result, &err), &err);
    nw_result_figures(result, &figures);
    nw_result_free(result);
    nw_weights_free(weights);
    nw_plan_free(plan);
    assert_true(figures.reason && figures.reason[0]);
    assert_int_equal(figures.read_bytes,
                     dtype == NW_DTYPE_AUTO ? 0 : (size_t)shape[0] * 4);
    return figures;
}

static struct nw_checkpoint *open_file(void)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
    return ckpt;
}

static void test_warm(void **state)
{
    (void)state;
    struct nw_checkpoint *ckpt = open_file();
    make_warm();
    struct nw_result_figures figures = run(ckpt, NW_BF16, NW_BACKEND_AUTO, 0);
    assert_string_equal(figures.backend, leases_work() ? "mmap" : "pread");
    assert_non_null(strstr(figures.reason, "cache"));
    /* Somebody could cut the file off: no mapping. */
    int writer = open(file, O_WRONLY | O_CLOEXEC);
    assert_true(writer >= 0);
    figures = run(ckpt, NW_BF16, NW_BACKEND_AUTO, 0);
    assert_string_equal(figures.backend, "pread");
    figures = run(ckpt, NW_BF16, NW_BACKEND_MMAP, 0);
    assert_string_equal(figures.backend, "pread");
    (void)close(writer);
    nw_checkpoint_free(ckpt);
}

static void test_cold(void **state)
{
    (void)state;
    if (!make_cold()) {
        print_message("the page cache cannot be emptied here\n");
        skip();
    }
    struct nw_checkpoint *ckpt = open_file();
    struct nw_result_figures figures = run(ckpt, NW_BF16, NW_BACKEND_AUTO, 0);
    const char *expected = !direct_reads_work()   ? "pread"
                           : !feature("io_uring") ? "direct"
                                                  : "uring";
    /* Where the kernel offers no io_uring the plain direct reads take its place. */
    if (strcmp(figures.backend, "direct") != 0)
        assert_string_equal(figures.backend, expected);
    if (direct_reads_work())
        assert_true(resident_part() < 0.5); /* past the cache */
    nw_checkpoint_free(ckpt);
}

static void test_asked_for(void **state)
{
    static const uint32_t backends[] = {NW_BACKEND_MMAP, NW_BACKEND_PREAD,
                                        NW_BACKEND_DIRECT, NW_BACKEND_URING};
    static const char *const names[] = {"mmap", "pread", "direct", "uring"};
    (void)state;
    struct nw_checkpoint *ckpt = open_file();
    size_t n = !direct_reads_work() ? 2 : !feature("io_uring") ? 3 : 4;
    for (size_t i = 0; i < n; i++) {
        struct nw_result_figures figures = run(ckpt, NW_F16, backends[i], 2);
        assert_string_equal(figures.backend, names[i]);
        assert_int_equal(figures.threads, 2);
        figures = run(ckpt, NW_F16, backends[i], NW_THREADS_NONE);
        assert_string_equal(figures.backend, names[i]);
        assert_int_equal(figures.threads, 0);
    }
    nw_checkpoint_free(ckpt);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    struct nw_checkpoint *ckpt = open_file();
    struct nw_result_figures figures = run(ckpt, NW_DTYPE_AUTO, NW_BACKEND_AUTO, 0);
    assert_string_equal(figures.backend, "mmap");
    nw_checkpoint_free(ckpt);
}

static int read_at(void *ctx, uint64_t offset, void *dst, size_t size)
{
    (void)ctx;
    memcpy(dst, (const char *)image + offset, size);
    return 0;
}

/* There is only one way to read what is no file, whatever was asked for. */
static void test_no_file(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_input input = {image_size, read_at, NULL};
    (void)state;
    for (uint32_t backend = NW_BACKEND_AUTO; backend <= NW_BACKEND_URING; backend++) {
        assert_ok(nw_open_input(&input, "input", NULL, &ckpt, &err), &err);
        struct nw_result_figures figures = run(ckpt, NW_BF16, backend, 2);
        assert_string_equal(figures.backend, "input");
        nw_checkpoint_free(ckpt);
        assert_ok(nw_open_memory(image, image_size, "memory", NULL, &ckpt, &err), &err);
        figures = run(ckpt, NW_BF16, backend, 2);
        assert_string_equal(figures.backend, "input");
        nw_checkpoint_free(ckpt);
    }
}

/* A descriptor is as good as a path, and may be closed at once. */
static void test_descriptor(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    (void)state;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_ok(nw_open_fd(fd, "descriptor", NULL, &ckpt, &err), &err);
    assert_int_equal(close(fd), 0);
    for (uint32_t backend = NW_BACKEND_AUTO; backend <= NW_BACKEND_PREAD; backend++)
        (void)run(ckpt, NW_BF16, backend, 2);
    nw_checkpoint_free(ckpt);
}

/* tmpfs: no O_DIRECT in older kernels. Asked for, it is refused by name; auto copes. */
static void test_tmpfs(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct statfs fs;
    char path[] = "/dev/shm/netweight-XXXXXX";
    (void)state;
    if (statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS_MAGIC || !mkdtemp(path)) {
        print_message("no tmpfs here\n");
        skip();
    }
    char *copy = nwt_path(path, "one.safetensors");
    nwt_write(copy, image, image_size);
    assert_ok(nw_open(copy, NULL, &ckpt, &err), &err);
    (void)run(ckpt, NW_BF16, NW_BACKEND_AUTO, 0);
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_BF16;
    options.backend = NW_BACKEND_DIRECT;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    int code = nw_plan_run(plan, NULL, &weights, &err);
    assert_true(code == NW_OK || code == NW_E_UNSUPPORTED);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    free(copy);
    nwt_remove(strdup(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm),      cmocka_unit_test(test_cold),
        cmocka_unit_test(test_asked_for), cmocka_unit_test(test_nothing_to_read),
        cmocka_unit_test(test_no_file),   cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_tmpfs),
    };
    return cmocka_run_group_tests_name("run: backend", tests, set_up, tear_down);
}
