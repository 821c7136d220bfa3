/* SPDX-License-Identifier: Apache-2.0
 * Reading through a mapping under a lease: whoever wants to write has to wait a moment, and
 * nobody gets a signal. */
#define _GNU_SOURCE

#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/thread.h"
#include "run/window.h"
#include "support/support.h"

#define N_FLOATS (3u << 20)

static char *folder;
static char *file;
static uint64_t seed = 20250917;

static int set_up(void **state)
{
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(file);
    nwt_remove(folder);
    return 0;
}

static void write_ones(void)
{
    struct nwt_safetensors b;
    const uint64_t shape[] = {N_FLOATS};
    float *ones = malloc(N_FLOATS * sizeof *ones);
    assert_non_null(ones);
    for (size_t i = 0; i < N_FLOATS; i++)
        ones[i] = 1;
    (void)unlink(file);
    nwt_st_begin(&b);
    nwt_st_add(&b, "a", "F32", 1, shape, ones, N_FLOATS * sizeof *ones);
    nwt_st_write(&b, file);
    free(ones);
}

static struct nwi_file *open_file(struct nwi_memory *memory)
{
    struct nw_error err;
    struct nwi_file *opened = NULL;
    nwi_error_clear(&err);
    assert_ok(nwi_file_open(file, false, memory, &opened, &err), &err);
    return opened;
}

static void test_window_shows_the_file(void **state)
{
    (void)state;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_window window;
    write_ones();
    struct nwi_file *opened = open_file(memory);
    if (!nwi_window_open(&window, opened)) {
        print_message("no leases here\n");
        nwi_file_release(opened);
        nwi_memory_release(memory);
        skip();
    }
    size_t size = 0;
    uint8_t *want = nwt_read(file, &size);
    assert_int_equal(window.size, size);
    assert_true(nwi_window_enter(&window, 5000, 20000));
    assert_memory_equal(window.map + 5000, want + 5000, 15000);
    nwi_window_leave(&window, 5000, 20000);
    assert_false(nwi_window_enter(&window, 0, size + (1 << 20))); /* past the end */
    assert_false(nwi_window_enter(&window, 0, 10));               /* and so closed */
    nwi_window_close(&window);
    free(want);
    nwi_file_release(opened);
    nwi_memory_release(memory);
}

struct writer {
    uint64_t delay_us;
    double waited;
    pthread_t thread;
};

/* Cuts the file to nothing as soon as it is let. */
static void *cut_off(void *arg)
{
    struct writer *writer = arg;
    (void)usleep((useconds_t)writer->delay_us);
    double begin = nwi_now();
    int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    writer->waited = nwi_now() - begin;
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

static void check_ones(const struct nw_weights *weights)
{
    struct nw_tensor tensor;
    assert_int_equal(nw_weights_tensor(weights, 0, &tensor), NW_OK);
    const uint16_t *values = tensor.data;
    for (size_t i = 0; i < N_FLOATS; i++)
        assert_int_equal(values[i], 0x3f80);
}

static void test_writers_wait(void **state)
{
    (void)state;
    for (int n = 0; n < 40; n++) {
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        struct nw_plan *plan = NULL;
        struct nw_weights *weights = NULL;
        struct writer writer = {.delay_us = nwt_random(&seed) % 8000};
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.dtype = NW_BF16;
        options.backend = NW_BACKEND_MMAP;
        options.threads = (uint32_t)(n % 3);
        write_ones();
        assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
        assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
        assert_int_equal(pthread_create(&writer.thread, NULL, cut_off, &writer), 0);
        int code = nw_plan_run(plan, NULL, &weights, &err);
        assert_int_equal(pthread_join(writer.thread, NULL), 0);
        if (code == NW_OK)
            check_ones(weights);
        else if (code != NW_E_CHANGED && code != NW_E_TRUNCATED)
            fail_msg("%s: %s", nw_code_name(code), err.message);
        /* Not for the system's lease-break-time, but until the units inside have left. */
        assert_true(writer.waited < 20);
        nw_weights_free(weights);
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_shows_the_file),
        cmocka_unit_test(test_writers_wait),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
