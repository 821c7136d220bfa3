/* SPDX-License-Identifier: Apache-2.0
 * Every n-th allocation fails once: NW_E_NOMEM, nothing leaked, the handles usable
 * again.
 */
#define _GNU_SOURCE

#include "fault.h"

static char *folder;
static char *file;
static char *shards;
static char *pipeline;
static struct nwt_allocator memory;

static int set_up(void **state)
{
    static const uint64_t elems[] = {300000, 1, 17, 20000, 5000, 0, 262144};
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    shards = nwt_path(folder, "shards");
    pipeline = nwt_path(folder, "pipeline");
    fault_write(file, elems, 7, 0);
    fault_write_shards(shards, "model", 3);
    fault_write_pipeline(pipeline);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(file);
    free(shards);
    free(pipeline);
    nwt_remove(folder);
    return 0;
}

static void arm(long n)
{
    fault_arm(&memory, n);
}

static int open_counted(const char *path, struct nw_checkpoint **out,
                        struct nw_error *err)
{
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    options.allocator = nwt_failing_allocator(&memory);
    return nw_open(path, &options, out, err);
}

static struct nw_checkpoint *open_now(const char *path)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    arm(-1);
    assert_ok(open_counted(path, &ckpt, &err), &err);
    return ckpt;
}

static bool judge(const char *what, long n, int code, const struct nw_error *err,
                  long live)
{
    return fault_judge(&memory, what, n, code, err, live);
}

static void assert_none_left(void)
{
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.live_bytes, 0);
}

static void check_open(const char *path)
{
    struct nw_error err;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_checkpoint *ckpt = NULL;
        arm(n);
        more = judge(path, n, open_counted(path, &ckpt, &err), &err, 0);
        if (more)
            assert_null(ckpt);
        nw_checkpoint_free(ckpt);
        assert_none_left();
    }
    assert_true(n > 3);
}

static void test_open(void **state)
{
    (void)state;
    check_open(file);
    check_open(shards);
    check_open(pipeline);
}

static void test_plan(void **state)
{
    static const char *const rules[] = {"*@rank<=1=bf16", "t3=auto"};
    static const char *const names[] = {"t*=x.*"};
    struct nw_error err;
    (void)state;
    struct nw_checkpoint *ckpt = open_now(shards);
    long live = memory.live;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_F16;
    options.dtype_rules = rules;
    options.n_dtype_rules = 2;
    options.rename = names;
    options.n_rename = 1;
    options.prefix = "p.";
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_plan *plan = NULL;
        arm(n);
        more =
            judge("plan", n, nw_plan_create(ckpt, &options, &plan, &err), &err, live);
        if (more)
            assert_null(plan);
        nw_plan_free(plan);
        assert_int_equal(memory.live, live);
    }
    nw_checkpoint_free(ckpt);
    assert_none_left();
}

static void check_load(const char *path, const struct fault_way *way)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = open_now(path);
    struct nw_plan *plan = fault_plan(ckpt, way, 0);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_weights *weights = NULL;
        arm(n);
        more = judge(path, n, nw_plan_run(plan, NULL, &weights, &err), &err, live);
        if (more) {
            assert_null(weights);
            assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
        }
        assert_true(fault_weights_right(weights));
        nw_weights_free(weights);
        assert_int_equal(memory.live, live);
    }
    assert_true(n > 3);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_none_left();
}

static void test_load(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    check_load(file, &map);
    check_load(shards, &map);
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        check_load(file, &fault_ways[i]);
        check_load(shards, &fault_ways[i]);
    }
    /* Many threads, again and again: one fails while the others go on. */
    static const struct fault_way many = {NW_F8_E4M3, NW_COPY_AUTO, NW_BACKEND_PREAD,
                                          7};
    for (int i = 0; i < 8; i++)
        check_load(file, &many);
}

/* Several components in one run. */
static void test_load_pipeline(void **state)
{
    struct nw_error err;
    (void)state;
    struct nw_checkpoint *ckpt = open_now(pipeline);
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_BF16;
    struct nw_plan *plans[2] = {0};
    options.component = "unet";
    assert_ok(nw_plan_create(ckpt, &options, &plans[0], &err), &err);
    options.component = "vae";
    assert_ok(nw_plan_create(ckpt, &options, &plans[1], &err), &err);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_weights *weights = NULL;
        arm(n);
        more = judge("pipeline", n, nw_plans_run(plans, 2, NULL, &weights, &err), &err,
                     live);
        if (!more) {
            assert_int_equal(nw_weights_count(weights), 8);
            assert_true(fault_weights_right(weights));
        }
        nw_weights_free(weights);
        assert_int_equal(memory.live, live);
    }
    nw_plan_free(plans[0]);
    nw_plan_free(plans[1]);
    nw_checkpoint_free(ckpt);
    assert_none_left();
}

/* What was written is whole and right. */
static void assert_readable(const char *path)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    assert_ok(nw_open(path, NULL, &ckpt, &err), &err);
    assert_ok(nw_plan_create(ckpt, NULL, &plan, &err), &err);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_int_equal(nw_weights_count(weights), 9);
    assert_true(fault_weights_right(weights));
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
}

static void check_convert(const char *name, uint64_t max_shard_bytes,
                          const struct fault_way *way)
{
    struct nw_error err;
    char *target = nwt_path(folder, name);
    struct nw_checkpoint *ckpt = open_now(shards);
    struct nw_plan *plan = fault_plan(ckpt, way, NW_LOAD_TO_FILE);
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    options.max_shard_bytes = max_shard_bytes;
    options.flags = NW_WRITE_OVERWRITE;
    assert_ok(nw_plan_write(plan, target, &options, NULL, NULL, &err), &err);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_result *result = NULL;
        arm(n);
        more =
            judge(name, n, nw_plan_write(plan, target, &options, NULL, &result, &err),
                  &err, live);
        if (more)
            assert_null(result);
        nw_result_free(result);
        assert_int_equal(memory.live, live);
        assert_false(fault_has_temporary(folder));
        assert_readable(target);
    }
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_none_left();
    free(target);
}

static void test_convert(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < FAULT_WAYS; i += 2) {
        check_convert("out.safetensors", 0, &fault_ways[i]);
        check_convert("out", 170000, &fault_ways[i + 1]);
    }
}

static int swallow(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 0;
}

static int call_reader(int which, struct nw_checkpoint *ckpt,
                       const struct nw_plan *const *plans, struct nw_error *err)
{
    float rows[3];
    if (which == 0)
        return nw_checkpoint_read(ckpt, 1, 0, 3, rows, sizeof rows, err);
    if (which == 1)
        return nw_checkpoint_json(ckpt, NW_INSPECT_TENSORS, swallow, NULL, err);
    return nw_plan_json(plans, 1, NW_PLAN_JSON_TARGETS, NULL, NULL, swallow, NULL, err);
}

/* Slices and documents need little memory, but what they need may fail. */
static void test_slices_and_documents(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    struct nw_error err;
    (void)state;
    struct nw_checkpoint *ckpt = open_now(shards);
    struct nw_plan *plan = fault_plan(ckpt, &map, 0);
    const struct nw_plan *plans[] = {plan};
    long live = memory.live;
    for (int which = 0; which < 3; which++) {
        long n = 0;
        for (bool more = true; more; n++) {
            arm(n);
            more =
                judge("reader", n, call_reader(which, ckpt, plans, &err), &err, live);
        }
    }
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    assert_none_left();
}

/* C56: 100 small tensors. */
static void test_c56_small_tensors(void **state)
{
    uint64_t elems[100];
    (void)state;
    for (size_t i = 0; i < 100; i++)
        elems[i] = 4;
    char *path = nwt_path(folder, "c56.safetensors");
    fault_write(path, elems, 100, 0);
    for (size_t i = 0; i < FAULT_WAYS; i++)
        check_load(path, &fault_ways[i]);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_load_pipeline),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_slices_and_documents),
        cmocka_unit_test(test_c56_small_tensors),
    };
    return cmocka_run_group_tests_name("fault: allocations", tests, set_up, tear_down);
}
