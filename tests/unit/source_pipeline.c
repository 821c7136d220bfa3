/* SPDX-License-Identifier: Apache-2.0
 * Pipeline folders and hub caches. */
#include "source.h"

#include "source/catalog.h"

static const struct nw_open_options strict = {.size = sizeof strict};

static const char model_index[] =
    "{\"_class_name\":\"StableDiffusionPipeline\",\"_diffusers_version\":\"0.42.1\","
    "\"requires_safety_checker\":true,\"feature_extractor\":[null,null],"
    "\"scheduler\":[\"diffusers\",\"DDIMScheduler\"],"
    "\"tokenizer\":[\"transformers\",\"CLIPTokenizer\"],"
    "\"unet\":[\"diffusers\",\"UNet2DConditionModel\"],"
    "\"vae\":[\"diffusers\",\"AutoencoderKL\"],"
    "\"text_encoder\":[\"transformers\",\"CLIPTextModel\"]}";

/* unet (sharded, fp16 too), vae (default only), text_encoder (model.*), no weights in the rest. */
static void write_pipeline(const char *folder)
{
    write_text(folder, "model_index.json", model_index);
    write_text(folder, "README.md", "# model");
    write_text(folder, ".gitattributes", "*");
    WEIGHTS(folder, "v1-5-pruned.safetensors", 99, "w");
    write_text(folder, "scheduler/scheduler_config.json", "{}");
    write_text(folder, "tokenizer/vocab.json", "{}");
    write_text(folder, "tokenizer/merges.txt", "");
    write_text(folder, "unet/config.json",
               "{\"_class_name\":\"UNet2DConditionModel\"}");
    WEIGHTS(folder, "unet/diffusion_pytorch_model-00001-of-00002.safetensors", 1, "a");
    WEIGHTS(folder, "unet/diffusion_pytorch_model-00002-of-00002.safetensors", 1, "w");
    write_text(
        folder, "unet/diffusion_pytorch_model.safetensors.index.json",
        "{\"weight_map\":{\"a\":\"diffusion_pytorch_model-00001-of-00002.safetensors\","
        "\"w\":\"diffusion_pytorch_model-00002-of-00002.safetensors\"}}");
    WEIGHTS(folder, "unet/diffusion_pytorch_model.fp16.safetensors", 16, "a", "w");
    write_text(folder, "vae/config.json", "{\"_class_name\":\"AutoencoderKL\"}");
    WEIGHTS(folder, "vae/diffusion_pytorch_model.safetensors", 2, "v", "w");
    write_text(folder, "text_encoder/config.json",
               "{\"architectures\":[\"CLIPTextModel\"]}");
    WEIGHTS(folder, "text_encoder/model.safetensors", 3, "w");
    WEIGHTS(folder, "text_encoder/model.fp16.safetensors", 48, "w");
}

static void expect_component(const struct nw_checkpoint *ckpt, size_t i,
                             const char *name, const char *klass, size_t n_tensors)
{
    struct nw_component component;
    assert_int_equal(nw_checkpoint_component(ckpt, i, &component), NW_OK);
    assert_string_equal(component.name, name);
    assert_string_equal(component.klass, klass);
    assert_int_equal(component.n_tensors, n_tensors);
    assert_int_equal(component.nbytes, 4 * n_tensors);
    assert_has(component.folder, name);
}

static void test_pipeline(void **state)
{
    struct nw_error err;
    struct nw_stored_tensor row;
    size_t i = 0;
    write_pipeline(*state);
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 3);
    expect_component(ckpt, 0, "text_encoder", "CLIPTextModel", 1);
    expect_component(ckpt, 1, "unet", "UNet2DConditionModel", 2);
    expect_component(ckpt, 2, "vae", "AutoencoderKL", 2);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 5);
    for (size_t k = 0; k < 5; k++) {
        static const uint32_t components[] = {0, 1, 1, 2, 2};
        assert_int_equal(nw_checkpoint_tensor(ckpt, k, &row), NW_OK);
        assert_int_equal(row.component, components[k]);
    }
    assert_true(value_of(ckpt, "unet", "w") == 1);
    assert_true(value_of(ckpt, "vae", "w") == 2);
    assert_true(value_of(ckpt, "text_encoder", "w") == 3);
    assert_true(value_of(ckpt, NULL, "v") == 2);
    assert_code(nw_checkpoint_find(ckpt, NULL, "w", &i, &err), NW_E_ARG, &err);
    assert_code(nw_checkpoint_find(ckpt, "vae", "a", &i, &err), NW_E_NOT_FOUND, &err);
    assert_code(nw_checkpoint_find(ckpt, "x", "a", &i, &err), NW_E_NOT_FOUND, &err);
    assert_has(err.message, "text_encoder, unet, vae");
    assert_int_equal(file_of(ckpt, "v1-5-pruned.safetensors").used, 0);
    assert_int_equal(
        file_of(ckpt, "unet/diffusion_pytorch_model.fp16.safetensors").used, 0);
    assert_string_equal(file_of(ckpt, "model_index.json").container, "config");
    assert_int_equal(nw_checkpoint_variant_count(ckpt), 2);
    assert_int_equal(count_problems(ckpt, false) + count_problems(ckpt, true), 0);
    nw_checkpoint_free(ckpt);
}

static const struct nwi_other_file *other_of(const struct nw_checkpoint *ckpt,
                                             const char *name)
{
    for (size_t i = 0; i < ckpt->n_others; i++) {
        if (strcmp(ckpt->others[i].name, name) == 0)
            return &ckpt->others[i];
    }
    return NULL;
}

/* What convert copies: everything but weights, indexes and hidden files. */
static void test_others(void **state)
{
    static const struct {
        const char *name;
        uint32_t component;
    } rows[] = {{"README.md", NW_NONE},
                {"model_index.json", NW_NONE},
                {"scheduler/scheduler_config.json", NW_NONE},
                {"text_encoder/config.json", 0},
                {"tokenizer/merges.txt", NW_NONE},
                {"tokenizer/vocab.json", NW_NONE},
                {"unet/config.json", 1},
                {"vae/config.json", 2}};
    const size_t n = sizeof rows / sizeof rows[0];
    write_pipeline(*state);
    write_text(*state, "vae/flax_model.msgpack", "x");
    write_text(*state, "tokenizer/deep/er.txt", "x");
    assert_int_equal(symlink("/etc/hostname", at(*state, "vae/hostname.txt")), 0);
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    for (size_t i = 0; i < n; i++) {
        const struct nwi_other_file *other = other_of(ckpt, rows[i].name);
        if (!other || other->component != rows[i].component)
            fail_msg("%s", rows[i].name);
        assert_string_equal(other->path, at(*state, rows[i].name));
    }
    assert_int_equal(ckpt->n_others, n);
    assert_true(ckpt->is_pipeline);
    assert_int_equal(problem_of(ckpt, NW_E_UNSAFE_PATH).note, 1);
    nw_checkpoint_free(ckpt);
    struct nw_open_options one = {.size = sizeof one, .component = "vae"};
    ckpt = open_with(*state, &one);
    assert_int_equal(ckpt->n_others, 1);
    nw_checkpoint_free(ckpt);
    ckpt = open_with(at(*state, "unet"), &strict);
    assert_int_equal(ckpt->n_others, 1);
    assert_string_equal(ckpt->others[0].name, "config.json");
    assert_string_equal(ckpt->components[0].config_path,
                        at(*state, "unet/config.json"));
    assert_string_equal(ckpt->components[0].stem, "diffusion_pytorch_model");
    assert_false(ckpt->is_pipeline);
    nw_checkpoint_free(ckpt);
}

static void test_one_component(void **state)
{
    struct nw_open_options options = {.size = sizeof options, .component = "vae"};
    write_pipeline(*state);
    struct nw_checkpoint *ckpt = open_with(*state, &options);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 1);
    expect_component(ckpt, 0, "vae", "AutoencoderKL", 2);
    nw_checkpoint_free(ckpt);
    options.component = "tokenizer";
    assert_has(refuse_with(*state, &options, NW_E_NOT_FOUND).message,
               "text_encoder, unet, vae");
    /* what is wrong with another one does not matter then */
    options.component = "vae";
    write_text(*state, "text_encoder/model.safetensors", "broken, really");
    nw_checkpoint_free(open_with(*state, &options));
    (void)refuse_with(*state, &strict, NW_E_WRONG_FORMAT);
    options.component = NULL;
    options.subfolder = "unet";
    ckpt = open_with(*state, &options);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
    nw_checkpoint_free(ckpt);
}

/* Components without the variant fall back, with a remark; models do not. */
static void test_variant(void **state)
{
    struct nw_open_options options = {.size = sizeof options, .variant = "fp16"};
    write_pipeline(*state);
    struct nw_checkpoint *ckpt = open_with(*state, &options);
    assert_true(value_of(ckpt, "unet", "w") == 16);
    assert_true(value_of(ckpt, "text_encoder", "w") == 48);
    assert_true(value_of(ckpt, "vae", "w") == 2);
    assert_has(file_of(ckpt, "vae/diffusion_pytorch_model.safetensors").reason, "fp16");
    nw_checkpoint_free(ckpt);
    options.component = "vae";
    assert_has(refuse_with(*state, &options, NW_E_NOT_FOUND).message, "default");
    options.component = NULL;
    options.variant = "bf16";
    assert_has(refuse_with(*state, &options, NW_E_NOT_FOUND).message, "default, fp16");
}

static void test_without_index(void **state)
{
    write_pipeline(*state);
    assert_int_equal(remove(at(*state, "model_index.json")), 0);
    /* weights of its own: a model */
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 1);
    assert_true(value_of(ckpt, NULL, "w") == 99);
    nw_checkpoint_free(ckpt);
    assert_int_equal(remove(at(*state, "v1-5-pruned.safetensors")), 0);
    ckpt = open_with(*state, &strict);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 3);
    expect_component(ckpt, 0, "text_encoder", "CLIPTextModel", 1);
    nw_checkpoint_free(ckpt);
    /* subfolders with weights but no config anywhere: no pipeline */
    assert_int_equal(remove(at(*state, "unet/config.json")), 0);
    assert_int_equal(remove(at(*state, "vae/config.json")), 0);
    assert_int_equal(remove(at(*state, "text_encoder/config.json")), 0);
    (void)refuse_with(*state, &strict, NW_E_NOT_FOUND);
}

static void test_index_faults(void **state)
{
    write_pipeline(*state);
    write_text(*state, "model_index.json", "{nope");
    (void)refuse_with(*state, &strict, NW_E_BAD_CONFIG);
    write_text(*state, "model_index.json", "[]");
    (void)refuse_with(*state, &strict, NW_E_BAD_CONFIG);
    write_text(*state, "model_index.json",
               "{\"../unet\":[\"diffusers\",\"UNet2DConditionModel\"]}");
    (void)refuse_with(*state, &strict, NW_E_UNSAFE_PATH);
    write_text(*state, "model_index.json",
               "{\"vae\":[\"diffusers\",\"AutoencoderKL\"],\"image_encoder\":["
               "\"transformers\","
               "\"CLIPVisionModelWithProjection\"]}");
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 1);
    assert_has(problem_of(ckpt, NW_E_NOT_FOUND).message, "image_encoder");
    nw_checkpoint_free(ckpt);
    /* names nothing that has weights: then the root's own count */
    write_text(*state, "model_index.json",
               "{\"scheduler\":[\"diffusers\",\"DDIMScheduler\"]}");
    ckpt = open_with(*state, &strict);
    assert_true(value_of(ckpt, NULL, "w") == 99);
    nw_checkpoint_free(ckpt);
    /* given itself, it stands for its folder */
    write_text(*state, "model_index.json", model_index);
    ckpt = open_with(at(*state, "model_index.json"), &strict);
    assert_int_equal(nw_checkpoint_component_count(ckpt), 3);
    nw_checkpoint_free(ckpt);
}

static void test_linked_component(void **state)
{
    struct nw_open_options follow = {.size = sizeof follow,
                                     .flags = NW_OPEN_FOLLOW_LINKS};
    write_pipeline(at(*state, "a"));
    write_text(*state, "b/model_index.json",
               "{\"vae\":[\"diffusers\",\"AutoencoderKL\"]}");
    assert_int_equal(symlink("../a/vae", at(*state, "b/vae")), 0);
    (void)refuse_with(at(*state, "b"), &strict, NW_E_UNSAFE_PATH);
    struct nw_checkpoint *ckpt = open_with(at(*state, "b"), &follow);
    assert_true(value_of(ckpt, "vae", "w") == 2);
    nw_checkpoint_free(ckpt);
}

/* ---- hub caches ---- */

#define COMMIT   "0123456789abcdef0123456789abcdef01234567"
#define ENTRY    "models--org--name"
#define SNAPSHOT ENTRY "/snapshots/" COMMIT
#define BLOB     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void write_cache(const char *cache)
{
    WEIGHTS(cache, ENTRY "/blobs/" BLOB, 4, "w");
    write_text(cache, ENTRY "/blobs/abc", "{\"_class_name\":\"AutoencoderKL\"}");
    write_text(cache, ENTRY "/refs/main", "  " COMMIT "\n");
    write_text(cache, ENTRY "/refs/refs/pr/1", COMMIT);
    write_text(cache, ENTRY "/refs/gone", "ffffffffffffffffffffffffffffffffffffffff");
    write_text(cache, ENTRY "/refs/bad", "../../../x");
    make_folders(at(cache, SNAPSHOT "/vae/x"));
    make_folders(at(cache, ENTRY "/.no_exist/" COMMIT "/x"));
    assert_int_equal(
        symlink("../../blobs/" BLOB,
                at(cache, SNAPSHOT "/diffusion_pytorch_model.safetensors")),
        0);
    assert_int_equal(symlink("../../blobs/abc", at(cache, SNAPSHOT "/config.json")), 0);
    assert_int_equal(
        symlink("../../../blobs/" BLOB,
                at(cache, SNAPSHOT "/vae/diffusion_pytorch_model.safetensors")),
        0);
}

static void opens(const char *path, const struct nw_open_options *options)
{
    struct nw_checkpoint *ckpt = open_with(path, options);
    assert_true(value_of(ckpt, NULL, "w") == 4);
    nw_checkpoint_free(ckpt);
}

/* The row of the only file with tensors. */
static uint32_t file_row(const struct nw_checkpoint *ckpt)
{
    return ckpt->tensors[0].file;
}

static void test_hub_paths(void **state)
{
    struct nw_open_options vae = {.size = sizeof vae, .subfolder = "vae"};
    write_cache(*state);
    opens(at(*state, ENTRY), &strict);
    opens(at(*state, ENTRY "/"), &strict);
    opens(at(*state, SNAPSHOT), &strict);
    opens(at(*state, SNAPSHOT "/diffusion_pytorch_model.safetensors"), &strict);
    struct nw_checkpoint *ckpt = open_with(at(*state, ENTRY), &strict);
    assert_string_equal(ckpt->files[file_row(ckpt)].sha256_name, BLOB);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 0);
    nw_checkpoint_free(ckpt);
    opens(at(*state, SNAPSHOT "/vae"), &strict);
    opens(at(*state, ENTRY), &vae);
    opens(at(*state, SNAPSHOT), &vae);
    /* out of the entry is out */
    WEIGHTS(*state, "models--org--other/blobs/" BLOB, 5, "w");
    make_folders(at(*state, SNAPSHOT "/evil/x"));
    assert_int_equal(
        symlink("../../../../models--org--other/blobs/" BLOB,
                at(*state, SNAPSHOT "/evil/diffusion_pytorch_model.safetensors")),
        0);
    (void)refuse_with(at(*state, SNAPSHOT "/evil"), &strict, NW_E_UNSAFE_PATH);
}

static void test_hub_revisions(void **state)
{
    struct nw_open_options options = {.size = sizeof options};
    write_cache(*state);
    static const char *const good[] = {"main", "refs/pr/1", COMMIT};
    for (size_t i = 0; i < 3; i++) {
        options.revision = good[i];
        opens(at(*state, ENTRY), &options);
    }
    static const struct {
        const char *revision;
        int code;
        const char *says;
    } bad[] = {
        {"v2", NW_E_NOT_FOUND, "main"},
        {"gone", NW_E_NOT_FOUND, "not in the cache"},
        {"ffffffffffffffffffffffffffffffffffffffff", NW_E_NOT_FOUND,
         "not in the cache"},
        {"bad", NW_E_UNSAFE_PATH, "commit"},
        {"../main", NW_E_ARG, "no revision"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        options.revision = bad[i].revision;
        assert_has(refuse_with(at(*state, ENTRY), &options, bad[i].code).message,
                   bad[i].says);
    }
}

static void test_hub_ids(void **state)
{
    struct nw_open_options options = {.size = sizeof options, .cache_dir = *state};
    write_cache(*state);
    opens("org/name", &options);
    struct nw_error err = refuse_with("org/absent", &options, NW_E_NOT_FOUND);
    assert_has(err.message, "models--org--absent");
    assert_has(err.message, *state);
    assert_has(refuse_with("org/name", &strict, NW_E_NOT_FOUND).message,
               "no hub cache");
    static const char *const paths[] = {"./org/name", "/org/name", "a/b/c",
                                        "~/x",        "org/",      "a b"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_has(refuse_with(paths[i], &options, NW_E_NOT_FOUND).message,
                   "no such file or folder");
    /* a local folder wins over the cache */
    assert_int_equal(chdir(*state), 0);
    WEIGHTS(*state, "org/name/model.safetensors", 6, "w");
    struct nw_checkpoint *ckpt = open_with("org/name", &options);
    assert_true(value_of(ckpt, NULL, "w") == 6);
    nw_checkpoint_free(ckpt);
    assert_int_equal(chdir("/"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pipeline),         TEST(test_others),        TEST(test_one_component),
        TEST(test_variant),          TEST(test_without_index), TEST(test_index_faults),
        TEST(test_linked_component), TEST(test_hub_paths),     TEST(test_hub_revisions),
        TEST(test_hub_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
