/* SPDX-License-Identifier: Apache-2.0
 * Same input, same plan, same bytes: whatever the number of threads and the backend.
 * And the lives of handles and tensors: freed in any order, taken, released elsewhere.
 */
#define _GNU_SOURCE

#include "fault.h"

#include <pthread.h>

#define N_TENSORS 40

static char *folder;
static char *file;
static char *pipeline;
static struct nwt_allocator memory = {.fail_at = -1};

static int set_up(void **state)
{
    uint64_t elems[N_TENSORS];
    uint64_t seed = 77;
    (void)state;
    for (size_t i = 0; i < N_TENSORS; i++)
        elems[i] = nwt_random(&seed) % (i % 8 == 7 ? 900000 : i % 3 ? 900 : 30000);
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    pipeline = nwt_path(folder, "pipeline");
    fault_write(file, elems, N_TENSORS, 0);
    fault_write_pipeline(pipeline);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(pipeline);
    free(file);
    nwt_remove(folder);
    return 0;
}

static struct nw_checkpoint *open_counted(const char *path)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    options.allocator = nwt_failing_allocator(&memory);
    assert_ok(nw_open(path, &options, &ckpt, &err), &err);
    return ckpt;
}

/* ---- the same bytes ---- */

static void assert_same_tensors(const struct nw_weights *a, const struct nw_weights *b)
{
    assert_int_equal(nw_weights_count(a), nw_weights_count(b));
    for (size_t i = 0; i < nw_weights_count(a); i++) {
        struct nw_tensor x;
        struct nw_tensor y;
        assert_int_equal(nw_weights_tensor(a, i, &x), NW_OK);
        assert_int_equal(nw_weights_tensor(b, i, &y), NW_OK);
        assert_string_equal(x.name, y.name);
        assert_int_equal(x.dtype, y.dtype);
        assert_int_equal(x.nbytes, y.nbytes);
        if (x.nbytes)
            assert_memory_equal(x.data, y.data, x.nbytes);
    }
}

static void assert_same_digests(const struct nw_weights *a, const struct nw_weights *b)
{
    struct nw_error err;
    struct nw_result *x = NULL;
    struct nw_result *y = NULL;
    assert_ok(nw_weights_result(a, &x, &err), &err);
    assert_ok(nw_weights_result(b, &y, &err), &err);
    for (size_t i = 0; i < nw_weights_count(a); i++) {
        struct nw_target_result p;
        struct nw_target_result q;
        assert_int_equal(nw_result_target(x, i, &p), NW_OK);
        assert_int_equal(nw_result_target(y, i, &q), NW_OK);
        assert_true(p.has_crc32 && q.has_crc32);
        assert_int_equal(p.crc32, q.crc32);
        assert_int_equal(p.overflow, q.overflow);
        assert_int_equal(p.flushed, q.flushed);
    }
    nw_result_free(x);
    nw_result_free(y);
}

static struct nw_weights *load(struct nw_checkpoint *ckpt, const struct fault_way *way,
                               uint64_t scratch)
{
    struct nw_error err;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    struct nw_result_figures figures;
    struct nw_load_options options = fault_options(way);
    options.scratch_bytes = scratch;
    options.flags = NW_LOAD_DIGEST;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_ok(nw_weights_result(weights, &result, &err), &err);
    nw_result_figures(result, &figures);
    if (figures.peak_bytes > figures.predicted_peak_bytes)
        fail_msg("predicted %llu, allocated %llu",
                 (unsigned long long)figures.predicted_peak_bytes,
                 (unsigned long long)figures.peak_bytes);
    nw_result_free(result);
    nw_plan_free(plan);
    return weights;
}

static void test_same_bytes(void **state)
{
    static const uint32_t threads[] = {NW_THREADS_NONE, 1, 2, 7};
    static const int dtypes[] = {NW_DTYPE_AUTO, NW_BF16, NW_F8_E4M3, NW_F64};
    static const uint64_t scratches[] = {1 << 20, 3000000, 0};
    (void)state;
    struct nw_checkpoint *ckpt = open_counted(file);
    for (size_t d = 0; d < 4; d++) {
        struct fault_way way = {dtypes[d], NW_COPY_ALWAYS, NW_BACKEND_PREAD,
                                NW_THREADS_NONE};
        struct nw_weights *first = load(ckpt, &way, 0);
        if (dtypes[d] != NW_F64)
            assert_true(fault_weights_right(first));
        for (uint32_t b = NW_BACKEND_AUTO; b <= NW_BACKEND_URING; b++) {
            for (size_t t = 0; t < 4; t++) {
                way.backend = b;
                way.threads = threads[t];
                way.copy = t % 2 ? NW_COPY_AUTO : NW_COPY_ALWAYS;
                struct nw_weights *again = load(ckpt, &way, scratches[(t + b) % 3]);
                assert_same_tensors(first, again);
                assert_same_digests(first, again);
                nw_weights_free(again);
            }
        }
        nw_weights_free(first);
    }
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.live_bytes, 0);
}

/* ---- the same plan ---- */

struct text {
    char *data;
    size_t size;
};

static int add_text(void *ctx, const char *data, size_t size)
{
    struct text *text = ctx;
    text->data = realloc(text->data, text->size + size + 1);
    assert_non_null(text->data);
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
    return 0;
}

/* The document without what the machine says of itself, which changes by the second. */
static struct text describe(int dtype)
{
    struct nw_error err;
    struct nw_plan *plan = NULL;
    struct text text = {0};
    struct nw_checkpoint *ckpt = open_counted(file);
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = dtype;
    options.threads = 2;
    assert_ok(nw_plan_create(ckpt, &options, &plan, &err), &err);
    const struct nw_plan *plans[] = {plan};
    assert_ok(
        nw_plan_json(plans, 1, NW_PLAN_JSON_TARGETS, NULL, NULL, add_text, &text, &err),
        &err);
    char *machine = strstr(text.data, "\"available\"");
    assert_non_null(machine);
    while (*machine != '}')
        *machine++ = ' ';
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return text;
}

static void test_same_plan(void **state)
{
    static const int dtypes[] = {NW_DTYPE_AUTO, NW_BF16, NW_F8_E4M3};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct text a = describe(dtypes[i]);
        struct text b = describe(dtypes[i]);
        assert_int_equal(a.size, b.size);
        assert_string_equal(a.data, b.data);
        free(a.data);
        free(b.data);
    }
    assert_int_equal(memory.live, 0);
}

/* ---- lives ---- */

static void free_one(int which, struct nw_checkpoint *ckpt, struct nw_plan *plan,
                     struct nw_weights *weights)
{
    if (which == 0)
        nw_checkpoint_free(ckpt);
    else if (which == 1)
        nw_plan_free(plan);
    else
        nw_weights_free(weights);
}

static void test_any_order(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        const struct fault_way *way = i < 6 ? &map : &fault_ways[i % FAULT_WAYS];
        struct nw_error err;
        struct nw_weights *weights = NULL;
        struct nw_checkpoint *ckpt = open_counted(file);
        struct nw_plan *plan = fault_plan(ckpt, way, 0);
        assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
        for (size_t k = 0; k < 3; k++) {
            if (k > 0 && orders[i % 6][k] == 2)
                assert_true(fault_weights_right(weights));
            free_one(orders[i % 6][k], ckpt, plan, weights);
        }
        assert_int_equal(memory.live, 0);
        assert_int_equal(memory.live_bytes, 0);
    }
}

static void *release_half(void *arg)
{
    struct nw_tensor *tensors = arg;
    for (size_t i = 0; i < N_TENSORS; i += 2)
        nw_storage_release(tensors[i].storage);
    return NULL;
}

static void check_taken(const struct fault_way *way)
{
    struct nw_error err;
    struct nw_weights *weights = NULL;
    struct nw_tensor tensors[N_TENSORS];
    struct nw_tensor tensor;
    pthread_t thread;
    struct nw_checkpoint *ckpt = open_counted(file);
    struct nw_plan *plan = fault_plan(ckpt, way, 0);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    for (size_t i = 0; i < N_TENSORS; i++)
        assert_ok(nw_weights_take(weights, i, &tensors[i], &err), &err);
    assert_code(nw_weights_take(weights, 3, &tensor, &err), NW_E_NOT_FOUND, &err);
    assert_int_equal(nw_weights_tensor(weights, 3, &tensor), NW_E_NOT_FOUND);
    assert_int_equal(nw_weights_tensor(weights, N_TENSORS, &tensor), NW_E_ARG);
    assert_code(nw_weights_get(weights, 0, "t3", &tensor, &err), NW_E_NOT_FOUND, &err);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    char *away = nwt_path(folder, "away.safetensors");
    assert_int_equal(rename(file, away), 0);
    for (size_t i = 0; i < N_TENSORS; i++) {
        assert_true(fault_right(tensors[i].data, tensors[i].dtype, tensors[i].name,
                                tensors[i].shape[0]));
        nw_storage_retain(tensors[i].storage);
    }
    assert_int_equal(pthread_create(&thread, NULL, release_half, tensors), 0);
    for (size_t i = 1; i < N_TENSORS; i += 2)
        nw_storage_release(tensors[i].storage);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rename(away, file), 0);
    free(away);
    for (size_t i = 0; i < N_TENSORS; i++)
        assert_true(fault_right(tensors[i].data, tensors[i].dtype, tensors[i].name,
                                tensors[i].shape[0]));
    assert_int_equal(pthread_create(&thread, NULL, release_half, tensors), 0);
    for (size_t i = 1; i < N_TENSORS; i += 2)
        nw_storage_release(tensors[i].storage);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.live_bytes, 0);
}

static void test_taken(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    check_taken(&map);
    for (size_t i = 0; i < FAULT_WAYS; i++)
        check_taken(&fault_ways[i]);
    nw_storage_release(NULL);
}

/* Each tensor gives its memory back alone, whatever the others do. */
static void test_release_one_by_one(void **state)
{
    (void)state;
    struct nw_error err;
    struct nw_weights *weights = NULL;
    struct nw_tensor tensor;
    struct nw_checkpoint *ckpt = open_counted(file);
    struct nw_plan *plan = fault_plan(ckpt, &fault_ways[0], 0);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    for (size_t i = 0; i < N_TENSORS; i++) {
        assert_int_equal(nw_weights_tensor(weights, i, &tensor), NW_OK);
        uint64_t nbytes = tensor.nbytes;
        size_t before = memory.live_bytes;
        assert_int_equal(nw_weights_release(weights, i), NW_OK);
        if (nbytes >= 64 << 10)
            assert_true(before - memory.live_bytes >= nbytes);
        assert_int_equal(nw_weights_tensor(weights, i, &tensor), NW_E_NOT_FOUND);
    }
    /* Handles are left, no data: pool blocks went with their last tensor. */
    assert_true(memory.live_bytes < 100000);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

static void test_mapping_is_private(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    struct nw_error err;
    struct nw_weights *weights = NULL;
    struct nw_tensor tensor;
    size_t size = 0;
    size_t size_after = 0;
    void *before = nwt_read(file, &size);
    struct nw_checkpoint *ckpt = open_counted(file);
    struct nw_plan *plan = fault_plan(ckpt, &map, 0);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    size_t n_mapped = 0;
    for (size_t i = 0; i < N_TENSORS; i++) {
        assert_int_equal(nw_weights_tensor(weights, i, &tensor), NW_OK);
        n_mapped += tensor.mapped != 0;
        memset(tensor.data, 0x42, tensor.nbytes);
    }
    assert_int_equal(n_mapped, N_TENSORS);
    void *after = nwt_read(file, &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(before, after, size);
    nw_weights_free(weights);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_true(fault_weights_right(weights));
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    free(before);
    free(after);
    assert_int_equal(memory.live, 0);
}

/* ---- several plans ---- */

/* C60: four ranks, each with a quarter; together every byte is read once. */
static void test_read_once(void **state)
{
    static const char *const globs[4][2] = {
        {"t?", "t1?"}, {"t2?", NULL}, {"t3?", NULL}, {"*", NULL}};
    struct nw_error err;
    struct nw_plan *plans[4];
    struct nw_weights *weights = NULL;
    struct nw_result *result = NULL;
    struct nw_result_figures figures;
    uint64_t total = 0;
    (void)state;
    struct nw_checkpoint *ckpt = open_counted(file);
    for (size_t i = 0; i < 4; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.copy = NW_COPY_ALWAYS;
        options.dtype = i == 1 ? NW_BF16 : NW_DTYPE_AUTO;
        options.threads = 2;
        options.only = globs[i];
        options.n_only = i == 0 ? 2 : 1;
        assert_ok(nw_plan_create(ckpt, &options, &plans[i], &err), &err);
    }
    for (size_t i = 0; i < N_TENSORS; i++) {
        struct nw_stored_tensor stored;
        assert_int_equal(nw_checkpoint_tensor(ckpt, i, &stored), NW_OK);
        total += stored.nbytes;
    }
    /* The last plan wants everything once more: no byte is read for it alone. */
    for (size_t n = 3; n <= 4; n++) {
        assert_ok(nw_plans_run(plans, n, NULL, &weights, &err), &err);
        assert_int_equal(nw_weights_count(weights), n == 3 ? N_TENSORS : 2 * N_TENSORS);
        assert_true(fault_weights_right(weights));
        assert_ok(nw_weights_result(weights, &result, &err), &err);
        nw_result_figures(result, &figures);
        assert_int_equal(figures.read_bytes, total);
        assert_true(figures.peak_bytes <= figures.predicted_peak_bytes);
        nw_result_free(result);
        nw_weights_free(weights);
    }
    for (size_t i = 0; i < 4; i++)
        nw_plan_free(plans[i]);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

static void test_pipeline(void **state)
{
    static const char *const names[] = {"unet", "vae"};
    struct nw_error err;
    struct nw_plan *plans[2];
    struct nw_weights *weights = NULL;
    struct nw_tensor tensor;
    (void)state;
    struct nw_checkpoint *ckpt = open_counted(pipeline);
    assert_code(nw_plan_create(ckpt, NULL, &plans[0], &err), NW_E_ARG, &err);
    assert_non_null(strstr(err.message, "vae"));
    for (size_t i = 0; i < 2; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.component = names[i];
        assert_ok(nw_plan_create(ckpt, &options, &plans[i], &err), &err);
    }
    assert_ok(nw_plans_run(plans, 2, NULL, &weights, &err), &err);
    assert_ok(nw_weights_get(weights, 1, "t20", &tensor, &err), &err);
    assert_code(nw_weights_get(weights, 0, "t20", &tensor, &err), NW_E_NOT_FOUND, &err);
    assert_ok(nw_weights_get(weights, 0, "t5", &tensor, &err), &err);
    assert_true(fault_weights_right(weights));
    nw_weights_free(weights);
    nw_plan_free(plans[0]);
    nw_plan_free(plans[1]);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

/* ---- the other ways out ---- */

static int give_none(void *ctx, size_t i, const struct nw_target *target, void **dst)
{
    (void)ctx;
    (void)i;
    (void)target;
    *dst = NULL;
    return 0;
}

static int count_range(void *ctx, size_t i, uint64_t offset, const void *data,
                       size_t nbytes)
{
    (void)i;
    (void)offset;
    (void)data;
    (void)__atomic_add_fetch((uint64_t *)ctx, nbytes, __ATOMIC_SEQ_CST);
    return 0;
}

/* The flags say what cost and budget are for: every plan can go every way. */
static void test_any_way_out(void **state)
{
    static const uint32_t flags[] = {0, NW_LOAD_TO_FILE, NW_LOAD_TO_SINK};
    static const int dtypes[] = {NW_DTYPE_AUTO, NW_BF16};
    static const uint32_t threads[] = {NW_THREADS_NONE, 2};
    struct nw_error err;
    uint64_t got = 0;
    struct nw_sink sink = {give_none, count_range, NULL, &got};
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    (void)state;
    options.flags = NW_WRITE_OVERWRITE;
    char *target = nwt_path(folder, "out.safetensors");
    for (size_t i = 0; i < 12; i++) {
        struct fault_way way = {dtypes[i % 2], NW_COPY_AUTO, NW_BACKEND_AUTO,
                                threads[i / 2 % 2]};
        struct nw_weights *weights = NULL;
        struct nw_cost cost;
        struct nw_checkpoint *ckpt = open_counted(file);
        struct nw_plan *plan = fault_plan(ckpt, &way, flags[i / 4]);
        nw_plan_cost(plan, &cost);
        got = 0;
        assert_ok(nw_plans_deliver(&plan, 1, &sink, NULL, NULL, &err), &err);
        assert_int_equal(got, cost.final_bytes);
        assert_ok(nw_plan_write(plan, target, &options, NULL, NULL, &err), &err);
        assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
        assert_true(fault_weights_right(weights));
        nw_weights_free(weights);
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
    assert_int_equal(memory.live, 0);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_same_plan),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_release_one_by_one),
        cmocka_unit_test(test_mapping_is_private),
        cmocka_unit_test(test_read_once),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_any_way_out),
    };
    return cmocka_run_group_tests_name("fault: same", tests, set_up, tear_down);
}
