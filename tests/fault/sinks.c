/* SPDX-License-Identifier: Apache-2.0
 * What a caller's sink may rely on: place once a tensor and in plan order, every byte
 * once, done after the last; and what happens when one of its calls fails. */
#define _GNU_SOURCE

#include "fault.h"

#include <pthread.h>

#define N_TENSORS 9

struct tensor {
    uint8_t *data;    /* [nbytes] */
    uint8_t *covered; /* [nbytes]: times each byte came through write */
    uint64_t nbytes;
    int dtype;
    char name[32];
    bool staged; /* place gave no destination */
    long placed;
    long done;
    uint64_t written;
};

struct engine {
    pthread_mutex_t lock;
    struct tensor tensors[N_TENSORS];
    size_t next;    /* plan order */
    uint32_t stage; /* bits: tensors to be staged */
    long calls;
    long fail_at;    /* number of the call that fails; < 0: none */
    bool one_thread; /* all calls come from `thread` */
    bool closed;     /* deliver has returned */
    pthread_t thread;
    const char *broken; /* the first rule that was */
};

/* Callbacks run on workers, where a test must not end: what is broken is kept. */
static void require(struct engine *engine, bool holds, const char *what)
{
    if (!holds && !engine->broken)
        engine->broken = what;
}

/* True if this call is to fail. */
static bool enter(struct engine *engine)
{
    (void)pthread_mutex_lock(&engine->lock);
    require(engine, !engine->closed, "no call after the end");
    require(engine,
            !engine->one_thread || pthread_equal(engine->thread, pthread_self()),
            "without threads every call comes from the caller's");
    return engine->calls++ == engine->fail_at;
}

static int leave(struct engine *engine, bool fails)
{
    (void)pthread_mutex_unlock(&engine->lock);
    return fails ? -7 : 0;
}

static int place(void *ctx, size_t i, const struct nw_target *target, void **dst)
{
    struct engine *engine = ctx;
    bool fails = enter(engine);
    struct tensor *tensor = &engine->tensors[i];
    require(engine, i == engine->next++, "place in plan order");
    require(engine, tensor->placed == 0, "place once");
    tensor->placed += !fails;
    tensor->nbytes = target->nbytes;
    tensor->dtype = target->dtype;
    tensor->staged = engine->stage >> i & 1;
    (void)snprintf(tensor->name, sizeof tensor->name, "%s", target->name);
    free(tensor->data);
    free(tensor->covered);
    tensor->data = calloc(1, target->nbytes + 1);
    tensor->covered = calloc(1, target->nbytes + 1);
    *dst = tensor->staged ? NULL : tensor->data;
    return leave(engine, fails);
}

static int write_range(void *ctx, size_t i, uint64_t offset, const void *data,
                       size_t nbytes)
{
    struct engine *engine = ctx;
    bool fails = enter(engine);
    struct tensor *tensor = &engine->tensors[i];
    bool fits = offset <= tensor->nbytes && nbytes <= tensor->nbytes - offset;
    require(engine, tensor->placed == 1 && tensor->staged, "write after place");
    require(engine, tensor->done == 0, "no write after done");
    require(engine, nbytes > 0 && fits, "write within the tensor");
    if (fits && tensor->staged) {
        memcpy(tensor->data + offset, data, nbytes);
        for (size_t k = 0; k < nbytes; k++)
            require(engine, tensor->covered[offset + k]++ == 0, "each byte once");
        tensor->written += nbytes;
    }
    return leave(engine, fails);
}

static int done(void *ctx, size_t i)
{
    struct engine *engine = ctx;
    bool fails = enter(engine);
    struct tensor *tensor = &engine->tensors[i];
    uint64_t size = tensor->dtype == NW_F32 ? 4 : tensor->dtype == NW_BF16 ? 2 : 1;
    require(engine, tensor->placed == 1, "done after place");
    require(engine, tensor->done++ == 0, "done once");
    require(engine, !tensor->staged || tensor->written == tensor->nbytes,
            "done after the last byte");
    require(
        engine,
        fault_right(tensor->data, tensor->dtype, tensor->name, tensor->nbytes / size),
        "right bytes when done");
    return leave(engine, fails);
}

static char *folder;
static char *file;
static struct nwt_allocator memory = {.fail_at = -1};

static int set_up(void **state)
{
    static const uint64_t elems[N_TENSORS] = {300000, 1,      17,     20000, 0,
                                              5000,   262144, 300000, 3};
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    fault_write(file, elems, N_TENSORS, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(file);
    nwt_remove(folder);
    return 0;
}

static void reset(struct engine *engine, uint32_t stage, long fail_at, bool one_thread)
{
    memset(engine, 0, sizeof *engine);
    assert_int_equal(pthread_mutex_init(&engine->lock, NULL), 0);
    engine->stage = stage;
    engine->fail_at = fail_at;
    engine->one_thread = one_thread;
    engine->thread = pthread_self();
}

static void release(struct engine *engine)
{
    for (size_t i = 0; i < N_TENSORS; i++) {
        free(engine->tensors[i].data);
        free(engine->tensors[i].covered);
    }
    (void)pthread_mutex_destroy(&engine->lock);
}

static int deliver(struct engine *engine, struct nw_plan *plan, bool with_done,
                   struct nw_result **out, struct nw_error *err)
{
    struct nw_sink sink = {place, write_range, with_done ? done : NULL, engine};
    int code = nw_plans_deliver(&plan, 1, &sink, NULL, out, err);
    engine->closed = true;
    if (engine->broken)
        fail_msg("broken: %s", engine->broken);
    return code;
}

static void assert_complete(const struct engine *engine)
{
    assert_int_equal(engine->next, N_TENSORS);
    for (size_t i = 0; i < N_TENSORS; i++)
        assert_int_equal(engine->tensors[i].done, 1);
}

static void check_way(const struct fault_way *way, uint32_t stage)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_result *result = NULL;
    struct engine engine;
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    options.allocator = nwt_failing_allocator(&memory);
    assert_ok(nw_open(file, &options, &ckpt, &err), &err);
    struct nw_plan *plan = fault_plan(ckpt, way, NW_LOAD_TO_SINK);
    bool one_thread = way->threads == NW_THREADS_NONE;
    long live = memory.live;

    reset(&engine, stage, -1, one_thread);
    assert_ok(deliver(&engine, plan, true, &result, &err), &err);
    assert_complete(&engine);
    struct nw_result_figures figures;
    nw_result_figures(result, &figures);
    assert_true(figures.peak_bytes <= figures.predicted_peak_bytes);
    nw_result_free(result);
    long calls = engine.calls;
    release(&engine);
    assert_int_equal(memory.live, live);

    long step = getenv("NETWEIGHT_LONG") ? 1 : 1 + calls / 25;
    for (long n = 0; n < calls; n += step) {
        reset(&engine, stage, n, one_thread);
        int code = deliver(&engine, plan, true, NULL, &err);
        /* With threads a range may be cut otherwise, so that there is no call n. */
        if (engine.calls > n) {
            assert_int_equal(code, NW_E_DEVICE);
            assert_int_equal(err.code, NW_E_DEVICE);
            assert_true(err.message[0]);
        }
        release(&engine);
        assert_int_equal(memory.live, live);
    }

    reset(&engine, stage, -1, one_thread);
    assert_ok(deliver(&engine, plan, false, NULL, &err), &err);
    release(&engine);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

static void test_sinks(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        check_way(&fault_ways[i], 0);     /* all into the caller's memory */
        check_way(&fault_ways[i], 0x1FF); /* all staged */
        check_way(&fault_ways[i], 0x0D6); /* some */
    }
}

/* Every n-th allocation fails once. */
static void test_allocations(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct engine engine;
    (void)state;
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    options.allocator = nwt_failing_allocator(&memory);
    assert_ok(nw_open(file, &options, &ckpt, &err), &err);
    struct nw_plan *plan = fault_plan(ckpt, &fault_ways[1], NW_LOAD_TO_SINK);
    long live = memory.live;
    int code = NW_E_NOMEM;
    for (long n = 0; code != NW_OK; n++) {
        reset(&engine, 0x155, -1, false);
        memory.calls = 0;
        memory.fail_at = n;
        code = deliver(&engine, plan, true, NULL, &err);
        memory.fail_at = -1;
        assert_true(code == NW_OK || code == NW_E_NOMEM);
        assert_true((code == NW_OK) == (memory.calls <= n));
        assert_int_equal(memory.live, live);
        release(&engine);
    }
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests_name("fault: sinks", tests, set_up, tear_down);
}
