/* SPDX-License-Identifier: Apache-2.0
 * Progress is monotone, complete, on the calling thread and in time; cancelling from
 * any call of it rolls everything back. */
#define _GNU_SOURCE

#include "fault.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static char *folder;
static char *file;
static struct nwt_allocator memory = {.fail_at = -1};

static int set_up(void **state)
{
    static const uint64_t elems[] = {500000, 1, 17, 20000, 5000, 0, 262144, 300000};
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    fault_write(file, elems, 8, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(file);
    nwt_remove(folder);
    return 0;
}

static double now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6;
}

struct watch {
    long cancel_at; /* number of the call that cancels; < 0: none */
    long calls;
    uint64_t done;
    uint64_t total;
    double last_ms; /* of the latest call, or of the start */
    double longest_ms;
    pthread_t thread;
};

static int watch_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct watch *watch = ctx;
    double now = now_ms();
    assert_true(pthread_equal(pthread_self(), watch->thread));
    assert_true(done >= watch->done && done <= total);
    assert_true(watch->calls == 0 || total == watch->total);
    if (now - watch->last_ms > watch->longest_ms)
        watch->longest_ms = now - watch->last_ms;
    watch->last_ms = now;
    watch->done = done;
    watch->total = total;
    return watch->calls++ == watch->cancel_at;
}

static struct watch new_watch(long cancel_at)
{
    return (struct watch){
        .cancel_at = cancel_at, .last_ms = now_ms(), .thread = pthread_self()};
}

static int run_watched(struct nw_plan *plan, struct watch *watch,
                       struct nw_weights **out, struct nw_error *err)
{
    struct nw_run_options options = NW_OPTIONS_INIT(options);
    options.progress = watch_progress;
    options.progress_ctx = watch;
    return nw_plan_run(plan, &options, out, err);
}

static struct nw_checkpoint *open_counted(void)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    options.allocator = nwt_failing_allocator(&memory);
    assert_ok(nw_open(file, &options, &ckpt, &err), &err);
    return ckpt;
}

static void check_way(const struct fault_way *way)
{
    struct nw_error err;
    struct nw_weights *weights = NULL;
    struct nw_cost cost;
    struct nw_checkpoint *ckpt = open_counted();
    struct nw_plan *plan = fault_plan(ckpt, way, 0);
    nw_plan_cost(plan, &cost);
    long live = memory.live;
    struct watch watch = new_watch(-1);
    assert_ok(run_watched(plan, &watch, &weights, &err), &err);
    assert_true(watch.calls > 0);
    assert_int_equal(watch.done, watch.total);
    assert_int_equal(watch.total, cost.read_bytes);
    nw_weights_free(weights);
    /* With threads the number of calls depends on the clock: more than enough tries. */
    long most = way->threads == NW_THREADS_NONE ? watch.calls : 3;
    for (long n = 0; n < most; n++) {
        watch = new_watch(n);
        int code = run_watched(plan, &watch, &weights, &err);
        assert_int_equal(watch.calls, code == NW_OK ? watch.calls : n + 1);
        if (way->threads == NW_THREADS_NONE || code != NW_OK) {
            assert_int_equal(code, NW_E_CANCELLED);
            assert_int_equal(err.code, NW_E_CANCELLED);
            assert_null(weights);
        }
        nw_weights_free(weights);
        assert_int_equal(memory.live, live);
    }
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_true(fault_weights_right(weights));
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

static void test_cancel(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    check_way(&map);
    for (size_t i = 0; i < FAULT_WAYS; i++)
        check_way(&fault_ways[i]);
}

static void check_convert(const struct fault_way *way, const char *name)
{
    struct nw_error err;
    char *target = nwt_path(folder, name);
    struct nw_checkpoint *ckpt = open_counted();
    struct nw_plan *plan = fault_plan(ckpt, way, NW_LOAD_TO_FILE);
    struct nw_write_options write_options = NW_OPTIONS_INIT(write_options);
    write_options.max_shard_bytes = strstr(name, ".safetensors") ? 0 : 2000000;
    struct nw_run_options options = NW_OPTIONS_INIT(options);
    long live = memory.live;
    int code = NW_E_CANCELLED;
    for (long n = 0; code != NW_OK; n++) {
        struct watch watch = new_watch(n);
        options.progress = watch_progress;
        options.progress_ctx = &watch;
        code = nw_plan_write(plan, target, &write_options, &options, NULL, &err);
        assert_int_equal(memory.live, live);
        assert_false(fault_has_temporary(folder));
        if (code == NW_OK) {
            assert_int_equal(watch.done, watch.total);
            break;
        }
        assert_int_equal(code, NW_E_CANCELLED);
        assert_int_not_equal(access(target, F_OK), 0);
        assert_true(n < 100000);
    }
    assert_int_equal(access(target, F_OK), 0);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
    free(target);
}

static void test_cancel_convert(void **state)
{
    static const struct fault_way ways[] = {
        {NW_BF16, NW_COPY_AUTO, NW_BACKEND_PREAD, NW_THREADS_NONE},
        {NW_DTYPE_AUTO, NW_COPY_AUTO, NW_BACKEND_URING, NW_THREADS_NONE},
        {NW_F8_E4M3, NW_COPY_AUTO, NW_BACKEND_MMAP, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "out%zu.safetensors", i);
        check_convert(&ways[i], name);
        (void)snprintf(name, sizeof name, "folder%zu", i);
        check_convert(&ways[i], name);
    }
}

/* ---- an input that takes its time ---- */

struct slow {
    const uint8_t *data;
    size_t size;
    long nap_ms;
};

static int read_slowly(void *ctx, uint64_t offset, void *dst, size_t size)
{
    const struct slow *slow = ctx;
    struct timespec nap = {.tv_sec = slow->nap_ms / 1000,
                           .tv_nsec = slow->nap_ms % 1000 * 1000000};
    (void)nanosleep(&nap, NULL);
    memcpy(dst, slow->data + offset, size);
    return 0;
}

/* The wait between two calls; a busy machine gets as much again, and further tries. */
#define LONGEST_MS 100.0
#define TRIES      5

/* True if the callback was called in time. */
static bool run_slowly(uint32_t threads, long nap_ms, long cancel_at)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct slow slow = {.nap_ms = 0};
    slow.data = nwt_read(file, &slow.size);
    struct nw_input input = {slow.size, read_slowly, &slow};
    assert_ok(nw_open_input(&input, "slow", NULL, &ckpt, &err), &err);
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_BF16;
    options.threads = threads;
    options.scratch_bytes = 1 << 20;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    slow.nap_ms = nap_ms;
    struct watch watch = new_watch(cancel_at);
    double begin = now_ms();
    int code = run_watched(plan, &watch, &weights, &err);
    if (cancel_at < 0) {
        assert_int_equal(code, NW_OK);
        assert_int_equal(watch.done, watch.total);
        assert_true(fault_weights_right(weights));
    } else {
        assert_int_equal(code, NW_E_CANCELLED);
    }
    /* After a cancel what is being read comes to its end; nothing more is begun. */
    bool in_time = watch.longest_ms <= LONGEST_MS;
    if (cancel_at >= 0)
        in_time =
            in_time && now_ms() - begin <
                           (double)(nap_ms * 2) + LONGEST_MS * (double)(cancel_at + 2);
    if (!in_time)
        print_message("%.0f ms between two calls\n", watch.longest_ms);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    free((void *)(uintptr_t)slow.data);
    return in_time;
}

static void check_slow(uint32_t threads, long nap_ms, long cancel_at)
{
    for (int i = 0; i < TRIES; i++) {
        if (run_slowly(threads, nap_ms, cancel_at))
            return;
    }
    fail_msg("late in all %d tries", TRIES);
}

static void test_every_50_ms(void **state)
{
    (void)state;
    check_slow(1, 30, -1);
    check_slow(2, 30, -1);
    check_slow(NW_THREADS_NONE, 30, -1);
    check_slow(1, 120, -1); /* calls also while one read lasts */
    check_slow(2, 200, 1);
    check_slow(1, 200, 0);
}

/* Nothing to read is done at once, and can be cancelled all the same. */
static void test_nothing_to_read(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct nwt_safetensors b;
    static const uint64_t shape[] = {0, 5};
    (void)state;
    char *path = nwt_path(folder, "nothing.safetensors");
    for (int n_tensors = 0; n_tensors < 2; n_tensors++) {
        nwt_st_begin(&b);
        if (n_tensors)
            nwt_st_add(&b, "t0", "F32", 2, shape, NULL, 0);
        nwt_st_write(&b, path);
        assert_ok(nw_open(path, NULL, &ckpt, &err), &err);
        assert_ok(nw_plan_create(ckpt, NULL, &plan, &err), &err);
        struct watch watch = new_watch(-1);
        assert_ok(run_watched(plan, &watch, &weights, &err), &err);
        assert_int_equal(nw_weights_count(weights), n_tensors);
        assert_int_equal(watch.done, 0);
        nw_weights_free(weights);
        if (watch.calls) {
            watch = new_watch(0);
            assert_code(run_watched(plan, &watch, &weights, &err), NW_E_CANCELLED,
                        &err);
        }
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_convert),
        cmocka_unit_test(test_every_50_ms),
        cmocka_unit_test(test_nothing_to_read),
    };
    return cmocka_run_group_tests_name("fault: progress", tests, set_up, tear_down);
}
