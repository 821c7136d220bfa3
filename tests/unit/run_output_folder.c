/* SPDX-License-Identifier: Apache-2.0
 * Folders: what goes along with the weights, configs, pipelines, and what is refused.
 */
#include "run_output_scene.h"

#include <fcntl.h>
#include <sys/wait.h>

static const uint64_t sizes[] = {40, 40};

/* ---- configs ---- */

static void check_config(const char *text, const char *dtype, const char *expected)
{
    char *folder = nwt_folder();
    char *path = nwt_path(folder, "config.json");
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    struct nw_error err;
    nwi_error_clear(&err);
    nwi_arena_init(&arena, memory);
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_ok(nwi_output_config_write(text, strlen(text), dtype, fd, &arena, &err),
              &err);
    assert_int_equal(close(fd), 0);
    scene_expect(folder, "config.json", expected);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    free(path);
    nwt_remove(folder);
}

static void test_config(void **state)
{
    (void)state;
    check_config(
        "{\n \"torch_dtype\" :\"float32\" , \"x\": 1.50, \"y\":\"\\u00e9\"}\n",
        "bfloat16",
        "{\n \"torch_dtype\" :\"bfloat16\" , \"x\": 1.50, \"y\":\"\\u00e9\"}\n");
    check_config("{\"dtype\":\"torch.float16\"}", "float8_e4m3fn",
                 "{\"dtype\":\"torch.float8_e4m3fn\"}");
    check_config("{\"dtype\":\"float\\u00316\",\"a\":0}", "float32",
                 "{\"dtype\":\"float32\",\"a\":0}");
    check_config(
        "{\"text_config\":{\"dtype\":\"float16\"},\"torch_dtype\":\"float16\"}",
        "float32",
        "{\"text_config\":{\"dtype\":\"float32\"},\"torch_dtype\":\"float32\"}");
    /* Not dtypes of the weights. */
    static const char *const same[] = {
        "{\"torch_dtype\":null}",
        "{\"torch_dtype\":\"auto\"}",
        "{\"dtype\":\"heavy\"}",
        "{\"dtype\":[\"float16\"]}",
        "{\"quantization_config\":{\"dtype\":\"float16\"}}",
        "{\"x\":{\"dtype\":\"float16\"}}",
        "[{\"dtype\":\"float16\"}]",
        "{}",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        check_config(same[i], "float32", same[i]);
}

/* ---- a model folder ---- */

struct place {
    char *folder;
    char *in;
    char *out;
    struct scene scene;
};

#define CONFIG                                                                         \
    "{\"_class_name\": \"UNet2DConditionModel\", \"torch_dtype\": \"float32\"}\n"

static void write_weights(const char *folder, const char *name)
{
    struct nwt_safetensors b;
    char *path = nwt_path(folder, name);
    nwt_st_begin(&b);
    nwt_st_add(&b, "t00", "F32", 1, (const uint64_t[]){10}, NULL, 40);
    nwt_st_add(&b, "t01", "I32", 1, (const uint64_t[]){10}, NULL, 40);
    nwt_st_write(&b, path);
    free(path);
}

static void set_up(struct place *place)
{
    place->folder = nwt_folder();
    place->in = nwt_path(place->folder, "in");
    place->out = nwt_path(place->folder, "out");
    assert_int_equal(mkdir(place->in, 0777), 0);
    write_weights(place->in, "diffusion_pytorch_model.safetensors");
    scene_text(place->in, "config.json", CONFIG);
    scene_text(place->folder, "readme", "read me");
    char *link = nwt_path(place->in, "README.md");
    assert_int_equal(symlink("config.json", link), 0);
    free(link);
}

static void tear_down(struct place *place)
{
    scene_close(&place->scene);
    free(place->in);
    free(place->out);
    nwt_remove(place->folder);
}

static void test_model(void **state)
{
    struct place place;
    struct nw_write_options options = {0};
    (void)state;
    set_up(&place);
    scene_open(&place.scene, place.in);
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    scene_expect(place.out, "config.json", CONFIG);
    scene_expect(place.out, "README.md", CONFIG);
    char *link = nwt_path(place.out, "README.md");
    assert_false(nwi_path_is_link(link));
    free(link);
    assert_true(scene_has(place.out, "diffusion_pytorch_model.safetensors"));
    assert_int_equal(scene_count(place.out), 3);
    /* Again: refused, and nothing is touched; with leave, replaced. */
    assert_code(scene_save(&place.scene, place.out, &options, 0), NW_E_ARG,
                &place.scene.err);
    assert_non_null(
        strstr(place.scene.err.file, "diffusion_pytorch_model.safetensors"));
    assert_int_equal(scene_count(place.out), 3);
    options.flags = NW_WRITE_OVERWRITE;
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    assert_int_equal(scene_count(place.out), 3);
    tear_down(&place);
}

/* A dtype for all: the config says so. Beside a set of another variant a config that
 * would change is refused without leave to overwrite. */
static void test_model_cast(void **state)
{
    struct place place;
    struct nw_write_options options = {.variant = "bf16"};
    (void)state;
    set_up(&place);
    scene_open_as(&place.scene, place.in, NULL,
                  (struct nw_load_options){.dtype = NW_BF16});
    assert_int_equal(mkdir(place.out, 0777), 0);
    scene_text(place.out, "config.json", CONFIG);
    assert_code(scene_save(&place.scene, place.out, &options, 0), NW_E_ARG,
                &place.scene.err);
    assert_int_equal(scene_count(place.out), 1);
    options.flags = NW_WRITE_OVERWRITE;
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    scene_expect(place.out, "config.json",
                 "{\"_class_name\": \"UNet2DConditionModel\", \"torch_dtype\": "
                 "\"bfloat16\"}\n");
    assert_true(scene_has(place.out, "diffusion_pytorch_model.bf16.safetensors"));
    tear_down(&place);
}

/* Onto itself: the link stays one, the config is not written. */
static void test_same_folder(void **state)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    struct nwi_output *output = NULL;
    const struct nw_written *written = NULL;
    (void)state;
    set_up(&place);
    scene_open(&place.scene, place.in);
    assert_ok(scene_begin(&place.scene, place.in, &options, &output), &place.scene.err);
    assert_ok(scene_fill(&place.scene, output, 0), &place.scene.err);
    assert_ok(nwi_output_commit(output, &place.scene.err), &place.scene.err);
    assert_int_equal(nwi_output_written(output, &written), 1);
    assert_string_equal(written[0].name, "diffusion_pytorch_model.safetensors");
    assert_int_equal(written[0].n_tensors, 2);
    nwi_output_free(output);
    char *link = nwt_path(place.in, "README.md");
    assert_true(nwi_path_is_link(link));
    free(link);
    assert_int_equal(scene_count(place.in), 3);
    tear_down(&place);
}

/* ---- a pipeline ---- */

#define MODEL_INDEX                                                                    \
    "{\"_class_name\": \"P\", \"unet\": [\"diffusers\", \"UNet2DConditionModel\"], "   \
    "\"text_encoder\": [\"transformers\", \"CLIPTextModel\"], "                        \
    "\"tokenizer\": [\"transformers\", \"CLIPTokenizer\"]}"

static void set_up_pipeline(struct place *place)
{
    place->folder = nwt_folder();
    place->in = nwt_path(place->folder, "in");
    place->out = nwt_path(place->folder, "out");
    assert_int_equal(mkdir(place->in, 0777), 0);
    scene_folder(place->in, "unet");
    scene_folder(place->in, "text_encoder");
    scene_folder(place->in, "tokenizer");
    scene_text(place->in, "model_index.json", MODEL_INDEX);
    scene_text(place->in, "tokenizer/vocab.json", "{}");
    scene_text(place->in, "unet/config.json", CONFIG);
    scene_text(place->in, "text_encoder/config.json", "{\"torch_dtype\": \"float32\"}");
    char *unet = nwt_path(place->in, "unet");
    char *text = nwt_path(place->in, "text_encoder");
    write_weights(unet, "diffusion_pytorch_model.safetensors");
    write_weights(text, "model.safetensors");
    free(text);
    free(unet);
}

static void test_pipeline(void **state)
{
    struct place place;
    struct nw_write_options options = {.max_shard_bytes = 40};
    (void)state;
    set_up_pipeline(&place);
    scene_open_as(&place.scene, place.in, NULL,
                  (struct nw_load_options){.dtype = NW_F16});
    assert_int_equal(place.scene.n_plans, 2);
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    static const char *const names[] = {
        "unet/diffusion_pytorch_model-00001-of-00002.safetensors",
        "unet/diffusion_pytorch_model-00002-of-00002.safetensors",
        "unet/diffusion_pytorch_model.safetensors.index.json",
        "text_encoder/model-00001-of-00002.safetensors",
        "text_encoder/model.safetensors.index.json",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(scene_has(place.out, names[i]));
    scene_expect(place.out, "model_index.json", MODEL_INDEX);
    scene_expect(place.out, "tokenizer/vocab.json", "{}");
    scene_expect(place.out, "text_encoder/config.json",
                 "{\"torch_dtype\": \"float16\"}");
    assert_int_equal(scene_count(place.out), 4);
    options.flags = NW_WRITE_OVERWRITE;
    options.max_shard_bytes = 0;
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    char *unet = nwt_path(place.out, "unet");
    assert_int_equal(scene_count(unet), 2);
    free(unet);
    assert_int_equal(scene_count(place.out), 4);
    tear_down(&place);
}

/* One component alone is a model folder of its own. */
static void test_component(void **state)
{
    struct place place;
    struct nw_write_options options = {0};
    (void)state;
    set_up_pipeline(&place);
    scene_open(&place.scene, place.in);
    for (size_t i = 0; i < 2; i++) {
        struct scene one = place.scene;
        bool unet = strcmp(one.ckpt->components[one.plans[i]->component].info.name,
                           "unet") == 0;
        one.plans[0] = one.plans[i];
        one.n_plans = 1;
        char *out = nwt_path(place.folder, unet ? "only-unet" : "only-text");
        assert_ok(scene_save(&one, out, &options, 0), &one.err);
        assert_true(scene_has(out, unet ? "diffusion_pytorch_model.safetensors"
                                        : "model.safetensors"));
        assert_true(scene_has(out, "config.json"));
        assert_int_equal(scene_count(out), 2);
        free(out);
    }
    tear_down(&place);
    set_up_pipeline(&place);
    struct nw_open_options open = {.size = sizeof open, .component = "unet"};
    scene_open_as(&place.scene, place.in, &open, (struct nw_load_options){0});
    assert_ok(scene_save(&place.scene, place.out, &options, 0), &place.scene.err);
    assert_true(scene_has(place.out, "diffusion_pytorch_model.safetensors"));
    assert_int_equal(scene_count(place.out), 2);
    tear_down(&place);
}

/* Stopped at each step: the old pipeline, the new one, or refused, never some of both. */
static int stop(void *ctx, const char *what, const char *name)
{
    int *left = ctx;
    (void)what;
    (void)name;
    if ((*left)-- == 0)
        _exit(7);
    return 0;
}

static int replace_pipeline(struct place *place, int at, bool fresh)
{
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE,
                                       .max_shard_bytes = 40};
    struct nwi_output *output = NULL;
    struct nwi_output_hook hook = {stop, &at};
    char *out = nwt_path(place->folder, fresh ? "fresh" : "out");
    int code = scene_begin(&place->scene, out, &options, &output);
    if (code == NW_OK)
        code = scene_fill(&place->scene, output, 2);
    if (code == NW_OK)
        output->hook = &hook;
    if (code == NW_OK)
        code = nwi_output_commit(output, &place->scene.err);
    nwi_output_free(output);
    free(out);
    return code;
}

static bool is_stopped(struct place *place, int at, bool fresh)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(replace_pipeline(place, at, fresh) == NW_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == 7;
}

static void check_pipeline_stopped(bool indexed, bool fresh)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    int at = 0;
    set_up_pipeline(&place);
    if (!indexed) {
        char *index = nwt_path(place.in, "model_index.json");
        assert_int_equal(unlink(index), 0);
        free(index);
    }
    scene_open(&place.scene, place.in);
    char *target = nwt_path(place.folder, fresh ? "fresh" : "out");
    for (bool stopped = true; stopped; at++) {
        if (!fresh)
            assert_ok(scene_save(&place.scene, target, &options, 1), &place.scene.err);
        stopped = is_stopped(&place, at, fresh);
        int value = scene_value(target);
        assert_true(stopped ? value <= -1000 || value == 1 || value == 2 : value == 2);
        assert_ok(replace_pipeline(&place, -1, fresh), &place.scene.err);
        assert_int_equal(scene_value(target), 2);
        assert_int_equal(scene_count(target), indexed ? 4 : 3);
        if (fresh)
            nwt_remove(target);
        if (fresh)
            target = nwt_path(place.folder, "fresh");
    }
    assert_true(at > 12);
    free(target);
    tear_down(&place);
}

static void test_pipeline_stopped(void **state)
{
    (void)state;
    check_pipeline_stopped(true, false);
    check_pipeline_stopped(false, false);
    check_pipeline_stopped(true, true);
    check_pipeline_stopped(false, true);
}

/* ---- what is refused, with nothing left behind ---- */

static void refuse(struct place *place, const char *name,
                   const struct nw_write_options *options, int expected)
{
    struct nwi_output *output = NULL;
    char *path = nwt_path(place->folder, name);
    size_t before = scene_count(place->folder);
    assert_code(scene_begin(&place->scene, path, options, &output), expected,
                &place->scene.err);
    assert_null(output);
    assert_int_equal(scene_count(place->folder), before);
    assert_int_equal(nwi_memory_used(place->scene.memory), nwi_memory_self_bytes());
    free(path);
}

static void test_refused(void **state)
{
    struct place place = {.folder = nwt_folder()};
    struct nw_write_options options = {0};
    char *source = nwt_path(place.folder, "in.safetensors");
    (void)state;
    place.in = nwt_path(place.folder, "in");
    place.out = nwt_path(place.folder, "out");
    scene_source(source, sizes, 2, 0);
    scene_open(&place.scene, source);
    scene_folder(place.folder, "dir.safetensors");
    scene_text(place.folder, "file", "");
    char *fifo = nwt_path(place.folder, "fifo.safetensors");
    assert_int_equal(mkfifo(fifo, 0666), 0);
    refuse(&place, "in.safetensors", &options, NW_E_ARG); /* exists */
    refuse(&place, "absent/out.safetensors", &options, NW_E_NOT_FOUND);
    refuse(&place, "absent/out", &options, NW_E_NOT_FOUND);
    refuse(&place, "file/out.safetensors", &options, NW_E_NOT_FOUND);
    refuse(&place, "out.gguf", &options, NW_E_UNSUPPORTED);
    options.flags = NW_WRITE_OVERWRITE;
    refuse(&place, "dir.safetensors", &options, NW_E_ARG);
    refuse(&place, "fifo.safetensors", &options, NW_E_ARG);
    refuse(&place, "file", &options, NW_E_ARG);
    options.max_shard_bytes = 79;
    refuse(&place, "out.safetensors", &options, NW_E_ARG);
    options.max_shard_bytes = 0;
    options.variant = "fp16";
    refuse(&place, "out.safetensors", &options, NW_E_ARG);
    char longest[NWI_OUTPUT_VARIANT_MOST + 2] = "";
    memset(longest, 'v', sizeof longest - 1);
    const char *const variants[] = {"a/b", ".x", "a\nb", "..", longest};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        options.variant = variants[i];
        refuse(&place, "out", &options, NW_E_ARG);
    }
    free(fifo);
    free(source);
    tear_down(&place);
}

static void test_refused_plans(void **state)
{
    struct place place;
    struct nw_write_options options = {0};
    (void)state;
    set_up_pipeline(&place);
    scene_open(&place.scene, place.in);
    refuse(&place, "out.safetensors", &options, NW_E_ARG); /* two components */
    place.scene.n_plans = 1;
    struct nwi_target *target = &place.scene.plans[0]->targets[0];
    struct nw_target info = target->info;
    target->info.name = "__metadata__";
    target->info.name_size = 12;
    refuse(&place, "out.safetensors", &options, NW_E_ARG);
    assert_string_equal(place.scene.err.tensor, "__metadata__");
    target->info = info;
    target->info.dtype = NW_DTYPE_UNKNOWN;
    refuse(&place, "out.safetensors", &options, NW_E_UNSUPPORTED_TYPE);
    target->info = info;
    place.scene.n_plans = 2;
    tear_down(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),           cmocka_unit_test(test_model),
        cmocka_unit_test(test_model_cast),       cmocka_unit_test(test_same_folder),
        cmocka_unit_test(test_pipeline),         cmocka_unit_test(test_component),
        cmocka_unit_test(test_pipeline_stopped), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
