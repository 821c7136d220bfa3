/* SPDX-License-Identifier: Apache-2.0
 * Every n-th allocation fails once, where models, layouts and rules take part: NW_E_NOMEM,
 * nothing leaked. */
#define _GNU_SOURCE

#include "fault.h"

#define UNET                                                                           \
    "{\"_class_name\":\"UNet2DConditionModel\",\"block_out_channels\":[32,64],"        \
    "\"down_block_types\":[\"CrossAttnDownBlock2D\",\"DownBlock2D\"],"                 \
    "\"up_block_types\":[\"UpBlock2D\",\"CrossAttnUpBlock2D\"],"                       \
    "\"cross_attention_dim\":16,\"norm_num_groups\":32,\"more\":1}"
#define VAE                                                                            \
    "{\"_class_name\":\"AutoencoderKL\",\"block_out_channels\":[32,64],"               \
    "\"down_block_types\":[\"DownEncoderBlock2D\",\"DownEncoderBlock2D\"],"            \
    "\"up_block_types\":[\"UpDecoderBlock2D\",\"UpDecoderBlock2D\"],\"odd_key\":[]}"
#define INDEX                                                                          \
    "{\"_class_name\":\"StableDiffusionPipeline\","                                    \
    "\"unet\":[\"diffusers\",\"UNet2DConditionModel\"],"                               \
    "\"vae\":[\"diffusers\",\"AutoencoderKL\"]}"

static char *folder;
static char *pipeline; /* a folder of small models */
static char *original; /* the same in one file, in the names of its publisher */
static char *config;   /* of the VAE */
static struct nwt_allocator memory;

/* ---- files ---- */

static struct nw_model *model_of(const char *json)
{
    struct nw_error err;
    struct nw_model *model = NULL;
    assert_ok(nw_model_from_config(json, strlen(json), NULL, NULL, &model, &err), &err);
    return model;
}

static void write_model(const char *name, const char *json)
{
    struct nwt_safetensors b;
    struct nw_wanted_tensor tensor;
    char *inside = nwt_path(pipeline, name);
    char *path = nwt_path(inside, "diffusion_pytorch_model.safetensors");
    struct nw_model *model = model_of(json);
    (void)mkdir(inside, 0777);
    fault_write_text(inside, "config.json", json);
    nwt_st_begin(&b);
    for (size_t i = 0; nw_model_tensor(model, i, &tensor) == NW_OK; i++) {
        uint64_t n = 1;
        for (uint32_t k = 0; k < tensor.rank; k++)
            n *= tensor.shape[k];
        nwt_st_add(&b, tensor.name, "F16", tensor.rank, tensor.shape, NULL, n * 2);
    }
    nwt_st_write(&b, path);
    nw_model_free(model);
    free(path);
    free(inside);
}

static struct nw_checkpoint *open_now(const char *path)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_open_options options = NW_OPTIONS_INIT(options);
    fault_arm(&memory, -1);
    options.allocator = nwt_failing_allocator(&memory);
    assert_ok(nw_open(path, &options, &ckpt, &err), &err);
    return ckpt;
}

/* The folder's two components in the original layout. */
static void plan_both(struct nw_checkpoint *ckpt, struct nw_plan *plans[2])
{
    static const char *const names[] = {"unet", "vae"};
    struct nw_error err;
    for (size_t i = 0; i < 2; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.component = names[i];
        options.layout = NW_LAYOUT_ORIGINAL;
        options.flags = NW_LOAD_TO_FILE;
        options.threads = NW_THREADS_NONE;
        assert_ok(nw_plan_create(ckpt, &options, &plans[i], &err), &err);
    }
}

static int set_up(void **state)
{
    struct nw_error err;
    struct nw_plan *plans[2] = {0};
    (void)state;
    folder = nwt_folder();
    pipeline = nwt_path(folder, "pipeline");
    original = nwt_path(folder, "original.safetensors");
    config = nwt_path(pipeline, "vae/config.json");
    (void)mkdir(pipeline, 0777);
    fault_write_text(pipeline, "model_index.json", INDEX);
    write_model("unet", UNET);
    write_model("vae", VAE);
    struct nw_checkpoint *ckpt = open_now(pipeline);
    plan_both(ckpt, plans);
    assert_ok(nw_plans_write(plans, 2, original, NULL, NULL, NULL, &err), &err);
    nw_plan_free(plans[0]);
    nw_plan_free(plans[1]);
    nw_checkpoint_free(ckpt);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(pipeline);
    free(original);
    free(config);
    nwt_remove(folder);
    return 0;
}

/* ---- plans ---- */

static void check_plan(const char *what, const char *path,
                       const struct nw_load_options *options)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = open_now(path);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_plan *plan = NULL;
        fault_arm(&memory, n);
        int code = nw_plan_create(ckpt, options, &plan, &err);
        more = fault_judge(&memory, what, n, code, &err, live);
        assert_true(more == (plan == NULL));
        if (plan)
            assert_true(nw_plan_target_count(plan) > 0);
        nw_plan_free(plan);
        assert_int_equal(memory.live, live);
    }
    assert_true(n > 3);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

static struct nw_load_options vae_options(uint32_t layout)
{
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.component = "vae";
    options.layout = layout;
    return options;
}

static void test_layouts(void **state)
{
    (void)state;
    struct nw_load_options options = vae_options(NW_LAYOUT_DIFFUSERS);
    check_plan("vae of one file", original, &options);
    options.component = "unet";
    options.missing = NW_MISSING_ALLOW; /* its heads are not in the file */
    check_plan("unet of one file", original, &options);
    options = vae_options(NW_LAYOUT_ORIGINAL);
    check_plan("vae to original", pipeline, &options);
    options = vae_options(NW_LAYOUT_STORED);
    check_plan("vae as stored", original, &options);
}

static void test_config(void **state)
{
    (void)state;
    struct nw_load_options options = vae_options(NW_LAYOUT_DIFFUSERS);
    options.config = config;
    check_plan("config", original, &options);
    options.klass = "AutoencoderKL";
    check_plan("config and class", original, &options);
    options.config = pipeline;
    check_plan("config of a folder", original, &options);
}

/* Missing and unexpected names make lists of their own. */
static void test_names_that_do_not_meet(void **state)
{
    static const char *const ignored[] = {"encoder.*"};
    static const char *const hints[] = {"prediction_type=epsilon"};
    (void)state;
    struct nw_load_options options = vae_options(NW_LAYOUT_STORED);
    options.klass = "AutoencoderKL";
    options.missing = NW_MISSING_INIT;
    options.flags = NW_LOAD_IGNORE_MISMATCHED;
    options.ignore = ignored;
    options.n_ignore = 1;
    options.hints = hints;
    options.n_hints = 1;
    options.missing = NW_MISSING_ZERO;
    check_plan("missing", original, &options);
}

/* ---- the caller's own rules and models ---- */

static const char rules_text[] =
    "let N = #decoder.up. | #decoder.up_blocks.\n"
    "when old quant_conv.weight\n"
    "drop encoder.{*} note=not asked for\n"
    "decoder.up.{N-1-i}.{*} => decoder.up_blocks.{i}.{*} need=old\n"
    "{a:quant_conv|post_quant_conv}.{p} => {a:quant_conv|post_quant_conv}.{p}\n"
    "decoder.{*} => decoder.{*}\n";

static void test_rules(void **state)
{
    struct nw_error err;
    struct nw_rules *rules = NULL;
    (void)state;
    long n = 0;
    fault_arm(&memory, -1);
    struct nw_allocator allocator = nwt_failing_allocator(&memory);
    for (bool more = true; more; n++) {
        fault_arm(&memory, n);
        int code = nw_rules_from_text(rules_text, sizeof rules_text - 1, &allocator,
                                      &rules, &err);
        more = fault_judge(&memory, "rules", n, code, &err, 0);
        assert_true(more == (rules == NULL));
    }
    nw_rules_free(rules);
    assert_int_equal(memory.live, 0);
    assert_ok(nw_rules_from_text(rules_text, sizeof rules_text - 1, NULL, &rules, &err),
              &err);
    struct nw_load_options options = vae_options(NW_LAYOUT_DIFFUSERS);
    options.rules = rules;
    options.config = config;
    options.missing = NW_MISSING_ALLOW;
    check_plan("plan by rules", original, &options);
    nw_rules_free(rules);
}

static void test_model_from_config(void **state)
{
    struct nw_error err;
    struct nw_model *model = NULL;
    static const char *const texts[] = {UNET, VAE};
    (void)state;
    struct nw_allocator allocator = nwt_failing_allocator(&memory);
    for (size_t i = 0; i < 2; i++) {
        long n = 0;
        for (bool more = true; more; n++) {
            fault_arm(&memory, n);
            int code = nw_model_from_config(texts[i], strlen(texts[i]), NULL,
                                            &allocator, &model, &err);
            more = fault_judge(&memory, "model", n, code, &err, 0);
            assert_true(more == (model == NULL));
        }
        nw_model_free(model);
        model = NULL;
        assert_int_equal(memory.live, 0);
    }
}

/* A table of the names and shapes of a few tensors, one tied and one that is nowhere. */
static struct nw_model *table_model(const struct nw_allocator *allocator, int *code,
                                    struct nw_error *err)
{
    static const uint64_t shape[] = {32, 3, 3, 3};
    static const uint64_t bias[] = {32};
    static const char *const keep[] = {"conv_in", NULL};
    static const char *const harmless[] = {"decoder.*", "quant_conv.*", NULL};
    static const char *const optional[] = {"gone", NULL};
    static const char *const blocks[] = {"encoder", NULL};
    static const struct nw_wanted_tensor tensors[] = {
        {"encoder.conv_in.weight", 22, shape, 4, 0, 0, NW_NONE, 0, 0},
        {"encoder.conv_in.bias", 20, bias, 1, 0, 0, NW_NONE, 0, 0},
        {"tied", 4, bias, 1, 0, 0, 1, 0, 0},
        {"gone", 4, bias, 1, NW_BUFFER, NW_FILL_ONE, NW_NONE, 0, 0}};
    struct nw_model_table table = NW_OPTIONS_INIT(table);
    struct nw_model *model = NULL;
    table.tensors = tensors;
    table.n_tensors = sizeof tensors / sizeof *tensors;
    table.keep_fp32 = keep;
    table.harmless = harmless;
    table.optional = optional;
    table.blocks = blocks;
    *code = nw_model_from_table(&table, allocator, &model, err);
    return model;
}

static void test_model_from_table(void **state)
{
    struct nw_error err;
    int code = NW_OK;
    long n = 0;
    (void)state;
    struct nw_allocator allocator = nwt_failing_allocator(&memory);
    for (bool more = true; more; n++) {
        fault_arm(&memory, n);
        struct nw_model *model = table_model(&allocator, &code, &err);
        more = fault_judge(&memory, "table", n, code, &err, 0);
        assert_true(more == (model == NULL));
        nw_model_free(model);
        assert_int_equal(memory.live, 0);
    }
    struct nw_load_options options = vae_options(NW_LAYOUT_AUTO);
    options.model = table_model(NULL, &code, &err);
    options.dtype = NW_BF16;
    options.missing = NW_MISSING_INIT;
    assert_ok(code, &err);
    check_plan("plan of a table", original, &options);
    check_plan("plan of a table, no names changed", pipeline, &options);
    nw_model_free(options.model);
}

/* ---- documents and files ---- */

static int swallow(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    (void)text;
    (void)size;
    return 0;
}

static void test_detection(void **state)
{
    struct nw_error err;
    (void)state;
    struct nw_checkpoint *ckpt = open_now(original);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_detection *detection = NULL;
        fault_arm(&memory, n);
        int code = nw_detect(ckpt, NULL, 0, &detection, &err);
        more = fault_judge(&memory, "detection", n, code, &err, live);
        nw_detection_free(detection);
        assert_int_equal(memory.live, live);
    }
    n = 0;
    for (bool more = true; more; n++) {
        fault_arm(&memory, n);
        int code = nw_checkpoint_json(ckpt, 0, swallow, NULL, &err);
        more = fault_judge(&memory, "document", n, code, &err, live);
    }
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
}

/* Several plans in one file. */
static void test_write_one_file(void **state)
{
    struct nw_error err;
    struct nw_plan *plans[2] = {0};
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    (void)state;
    char *target = nwt_path(folder, "again.safetensors");
    struct nw_checkpoint *ckpt = open_now(pipeline);
    options.flags = NW_WRITE_OVERWRITE;
    plan_both(ckpt, plans);
    long live = memory.live;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_result *result = NULL;
        fault_arm(&memory, n);
        int code = nw_plans_write(plans, 2, target, &options, NULL, &result, &err);
        more = fault_judge(&memory, "write", n, code, &err, live);
        assert_true(more == (result == NULL));
        nw_result_free(result);
        assert_int_equal(memory.live, live);
        assert_false(fault_has_temporary(folder));
        assert_int_equal(access(target, F_OK), more ? -1 : 0);
    }
    nw_plan_free(plans[0]);
    nw_plan_free(plans[1]);
    nw_checkpoint_free(ckpt);
    assert_int_equal(memory.live, 0);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_names_that_do_not_meet),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_model_from_config),
        cmocka_unit_test(test_model_from_table),
        cmocka_unit_test(test_detection),
        cmocka_unit_test(test_write_one_file),
    };
    return cmocka_run_group_tests_name("fault: models", tests, set_up, tear_down);
}
