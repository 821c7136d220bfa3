/* SPDX-License-Identifier: Apache-2.0
 * Original yaml configs: the documents themselves, what they say about each class, and what
 * is refused. tests/parity/yaml_test.py compares real files with diffusers. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout/yaml.h"
#include "layout/yaml_ldm.h"
#include "support/support.h"
#include "support/tree.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct scene {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nw_error err;
    struct nwi_json_value *root;
    char text[8192]; /* of the root, as JSON */
    size_t size;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->memory = nwi_memory_new(NULL);
    assert_non_null(scene->memory);
    nwi_arena_init(&scene->arena, scene->memory);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    nwi_arena_release(&scene->arena);
    nwi_memory_release(scene->memory);
    free(scene);
    return 0;
}

static int keep(void *ctx, const char *text, size_t size)
{
    struct scene *scene = ctx;
    if (scene->size + size >= sizeof scene->text)
        return 1;
    memcpy(scene->text + scene->size, text, size);
    scene->size += size;
    scene->text[scene->size] = '\0';
    return 0;
}

static const char *as_json(struct scene *scene, const struct nwi_json_value *value)
{
    struct nwi_json_writer writer;
    scene->size = 0;
    if (!value)
        return "(absent)";
    nwi_json_writer_init(&writer, keep, scene);
    nwt_put_tree(&writer, value);
    assert_int_equal(nwi_json_writer_finish(&writer), NW_OK);
    return scene->text;
}

static int parse(struct scene *scene, const char *text, size_t size)
{
    nwi_error_clear(&scene->err);
    return nwi_yaml_parse(text, size, &scene->arena, &scene->root, &scene->err);
}

static int config(struct scene *scene, const char *text, const char *klass)
{
    nwi_error_clear(&scene->err);
    return nwi_yaml_config(text, strlen(text), klass, &scene->arena, &scene->root,
                           &scene->err);
}

/* ---- documents ---- */

static void documents_are_trees(void **state)
{
    static const struct {
        const char *yaml;
        const char *json;
    } rows[] = {
        {"a: 1", "{\"a\":1}"},
        {"a:\n- 1\n- [x, 'y', \"z\"]\nb: {c: d}", "{\"a\":[1,[\"x\",\"y\",\"z\"]],"
                                                  "\"b\":{\"c\":\"d\"}}"},
        {"[~, null, '', \"~\", 'null', Null]", "[null,null,\"\",\"~\",\"null\",null]"},
        {"a:\nb:", "{\"a\":null,\"b\":null}"},
        {"[true, True, yes, on, 'true']", "[true,true,true,true,\"true\"]"},
        {"[false, False, NO, off, n]", "[false,false,false,false,\"n\"]"},
        {"[1, -2, +3, 0, 0.5, -.5, 1., +00.50, '1']",
         "[1,-2,3,0,0.5,-0.5,1.0,0.50,\"1\"]"},
        {"[1.0e-04, 1e5, 1E+2, 1e, e5]", "[1.0e-04,1e5,1E+2,\"1e\",\"e5\"]"},
        {"[010, 0x1f, 1_000, .inf, ., -, 1.2.3]",
         "[\"010\",\"0x1f\",\"1_000\",\".inf\",\".\",\"-\",\"1.2.3\"]"},
        {"a: |\n  two\n  lines\n", "{\"a\":\"two\\nlines\\n\"}"},
        {"1: a # comment\n", "{\"1\":\"a\"}"},
        {"\xef\xbb\xbf"
         "a: \xc3\xa9",
         "{\"a\":\"\xc3\xa9\"}"},
        {"--- a\n...\n", "\"a\""},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_ok(parse(scene, rows[i].yaml, strlen(rows[i].yaml)), &scene->err);
        assert_string_equal(as_json(scene, scene->root), rows[i].json);
    }
}

static void hostile_documents_are_refused(void **state)
{
    static const struct {
        const char *yaml;
        int code;
        const char *message; /* a part of it */
    } rows[] = {
        {"", NW_E_BAD_CONFIG, "empty"},
        {"# nothing", NW_E_BAD_CONFIG, "empty"},
        {"a: [", NW_E_BAD_CONFIG, "no yaml"},
        {"a:\n\t- b", NW_E_BAD_CONFIG, "line 2"},
        {"a: \xff", NW_E_BAD_CONFIG, "no yaml"},
        {"a: 1\nb: 2\na: 3", NW_E_BAD_CONFIG, "\"a\" occurs twice"},
        {"a: {\"b\": 1, b: 2}", NW_E_BAD_CONFIG, "\"b\" occurs twice"},
        {"? [a]\n: b", NW_E_BAD_CONFIG, "key that is no text"},
        {"a: 1\n---\nb: 2", NW_E_BAD_CONFIG, "second document"},
        {"a: !!python/object:os.system {}", NW_E_BAD_CONFIG, "tag"},
        {"a: !!str 1", NW_E_BAD_CONFIG, "tag"},
        {"a: &x 1", NW_E_LIMIT, "anchor"},
        {"a: &x [lol, lol]\nb: &y [*x, *x]\nc: [*y, *y]", NW_E_LIMIT, "anchor"},
        {"a: *x", NW_E_LIMIT, "alias"},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_code(parse(scene, rows[i].yaml, strlen(rows[i].yaml)), rows[i].code,
                    &scene->err);
        assert_non_null(strstr(scene->err.message, rows[i].message));
        assert_null(scene->root);
    }
}

static char *repeated(const char *text, size_t n, size_t room)
{
    size_t size = strlen(text);
    char *all = calloc(n * size + room + 1, 1);
    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * size, text, size);
    return all;
}

static void depth_is_bounded(void **state)
{
    static const char *const openings[] = {"[", "{a: ", "- "};
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(openings); i++) {
        char *deep = repeated(openings[i], 100000, 0);
        assert_code(parse(scene, deep, strlen(deep)), NW_E_LIMIT, &scene->err);
        free(deep);
    }
    char *good = repeated("[", NWI_YAML_DEPTH, NWI_YAML_DEPTH);
    memset(good + NWI_YAML_DEPTH, ']', NWI_YAML_DEPTH);
    assert_ok(parse(scene, good, strlen(good)), &scene->err);
    free(good);
}

static void size_is_bounded(void **state)
{
    struct scene *scene = *state;
    char *many = repeated("- a\n", NWI_YAML_NODES, 0);
    assert_code(parse(scene, many, strlen(many)), NW_E_LIMIT, &scene->err);
    assert_ok(parse(scene, many, strlen(many) - 4), &scene->err);
    assert_int_equal(scene->root->n_children, NWI_YAML_NODES - 1);
    free(many);
    char *large = repeated("# comment\n", NWI_YAML_BYTES / 10 + 1, 0);
    assert_code(parse(scene, large, strlen(large)), NW_E_LIMIT, &scene->err);
    free(large);
}

static void refused_memory_is_an_error(void **state)
{
    static const char yaml[] = "a: {b: [1, x, true], c: d}\ne: f\n";
    struct nwt_allocator counts = {.fail_at = 0};
    struct nw_allocator allocator = nwt_failing_allocator(&counts);
    int code = NW_E_NOMEM;
    (void)state;
    for (long i = 1; code == NW_E_NOMEM && i < 1000; i++) {
        struct nwi_json_value *root = NULL;
        struct nwi_arena arena;
        struct nw_error err;
        counts = (struct nwt_allocator){.fail_at = i};
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        assert_non_null(memory);
        nwi_arena_init(&arena, memory);
        nwi_error_clear(&err);
        code = nwi_yaml_parse(yaml, sizeof yaml - 1, &arena, &root, &err);
        assert_int_equal(code, err.code);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
    }
    assert_int_equal(code, NW_OK);
}

/* ---- classes ---- */

#define VAE                                                                            \
    "    first_stage_config:\n"                                                        \
    "      target: ldm.models.autoencoder.AutoencoderKL\n"                             \
    "      params:\n"                                                                  \
    "        ddconfig: {double_z: true, z_channels: 4, in_channels: 3, out_ch: 3, "    \
    "ch: 128, ch_mult: [1, 2, 4, 4], num_res_blocks: 2}\n"
#define UNET(more) "      params: {out_channels: 4, num_res_blocks: 2, " more "}\n"
#define SD1_UNET                                                                       \
    UNET("in_channels: 4, model_channels: 320, attention_resolutions: [4, 2, 1], "     \
         "channel_mult: [1, 2, 4, 4], num_heads: 8, transformer_depth: 1, "            \
         "context_dim: 768")
#define SD2_HEADS                                                                      \
    "model_channels: 320, attention_resolutions: [4, 2, 1], channel_mult: [1, 2, 4, "  \
    "4], num_head_channels: 64, use_linear_in_transformer: True, transformer_depth: "  \
    "1, context_dim: 1024"
#define MODEL "model:\n  params:\n"

static const char sd1[] =
    MODEL "    image_size: 64\n    scale_factor: 0.18215\n"
          "    unet_config:\n" SD1_UNET VAE "    cond_stage_config: {target: "
          "ldm.modules.encoders.modules.FrozenCLIPEmbedder}\n";
static const char sd2_v[] = MODEL
    "    image_size: 96\n    unet_config:\n" UNET("in_channels: 4, " SD2_HEADS) VAE;
static const char inpainting[] =
    MODEL "    image_size: 64\n    unet_config:\n" UNET("in_channels: 9, " SD2_HEADS);
static const char unclip[] =
    MODEL "    unet_config:\n" UNET("in_channels: 4, num_classes: \"sequential\", "
                                    "adm_in_channels: 1536, " SD2_HEADS);
static const char x4[] = MODEL
    "    image_size: 128\n    scale_factor: 0.08333\n"
    "    unet_config:\n" UNET(
        "in_channels: 7, num_classes: 1000, model_channels: 256, "
        "attention_resolutions: "
        "[2, 4, 8], channel_mult: [1, 2, 2, 4], disable_self_attentions: [True, True, "
        "True, False], num_heads: 8, transformer_depth: 1, context_dim: 1024, "
        "use_linear_in_transformer: True") "    first_stage_config: {params: "
                                           "{ddconfig: {z_channels: 4, in_channels: 3, "
                                           "out_ch: 3, ch: 128, ch_mult: [1, 2, 4], "
                                           "num_res_blocks: 2}}}\n";
static const char xl_base[] = MODEL
    "    scale_factor: 0.13025\n"
    "    network_config:\n"
    "      target: sgm.modules.diffusionmodules.openaimodel.UNetModel\n" UNET(
        "adm_in_channels: 2816, num_classes: sequential, in_channels: 4, "
        "model_channels: 320, attention_resolutions: [4, 2], channel_mult: [1, 2, 4], "
        "num_head_channels: 64, use_linear_in_transformer: True, transformer_depth: "
        "[1, 2, 10], context_dim: 2048") VAE
    "    conditioner_config:\n      params:\n        emb_models:\n"
    "          - {target: sgm.modules.encoders.modules.FrozenCLIPEmbedder}\n"
    "          - {target: sgm.modules.encoders.modules.FrozenOpenCLIPEmbedder2}\n";
static const char xl_refiner[] = MODEL "    network_config:\n" UNET(
    "adm_in_channels: 2560, num_classes: sequential, in_channels: 4, "
    "model_channels: 384, attention_resolutions: [4, 2], channel_mult: [1, 2, 4, "
    "4], num_head_channels: 64, use_linear_in_transformer: True, "
    "transformer_depth: 4, context_dim: [1280, 1280, 1280, 1280]");
static const char cldm_v15[] =
    MODEL "    unet_config:\n" SD1_UNET
          "    control_stage_config: {params: {hint_channels: 3, in_channels: 4}}\n";
static const char cldm_v21[] = MODEL "    unet_config:\n" UNET(
    "in_channels: 4, " SD2_HEADS) "    control_stage_config: {params: {hint_channels: "
                                  "5}}\n";
static const char vae_alone[] =
    "model: {params: {ddconfig: {z_channels: 4, in_channels: 3, out_ch: 3, ch: 128, "
    "ch_mult: [1, 2], num_res_blocks: 2}}}";

#define UNET_CLASS "UNet2DConditionModel"
#define CROSS_DOWN "\"CrossAttnDownBlock2D\""
#define CROSS_UP   "\"CrossAttnUpBlock2D\""
#define DOWN       "\"DownBlock2D\""
#define UP         "\"UpBlock2D\""

static void values_are_the_references(void **state)
{
    static const struct {
        const char *yaml;
        const char *klass;
        const char *key;
        const char *json;
    } rows[] = {
        {sd1, UNET_CLASS, "_class_name", "\"UNet2DConditionModel\""},
        {sd1, UNET_CLASS, "in_channels", "4"},
        {sd1, UNET_CLASS, "out_channels", "4"},
        {sd1, UNET_CLASS, "sample_size", "64"},
        {sd1, UNET_CLASS, "down_block_types",
         "[" CROSS_DOWN "," CROSS_DOWN "," CROSS_DOWN "," DOWN "]"},
        {sd1, UNET_CLASS, "up_block_types",
         "[" UP "," CROSS_UP "," CROSS_UP "," CROSS_UP "]"},
        {sd1, UNET_CLASS, "block_out_channels", "[320,640,1280,1280]"},
        {sd1, UNET_CLASS, "layers_per_block", "2"},
        {sd1, UNET_CLASS, "cross_attention_dim", "768"},
        {sd1, UNET_CLASS, "attention_head_dim", "8"},
        {sd1, UNET_CLASS, "use_linear_projection", "false"},
        {sd1, UNET_CLASS, "transformer_layers_per_block", "1"},
        {sd1, UNET_CLASS, "class_embed_type", "null"},
        {sd1, UNET_CLASS, "addition_embed_type", "null"},
        {sd1, UNET_CLASS, "num_class_embeds", "(absent)"},
        {sd2_v, UNET_CLASS, "sample_size", "96"},
        {sd2_v, UNET_CLASS, "attention_head_dim", "[5,10,20,20]"},
        {sd2_v, UNET_CLASS, "use_linear_projection", "true"},
        {sd2_v, UNET_CLASS, "cross_attention_dim", "1024"},
        {inpainting, UNET_CLASS, "in_channels", "9"},
        {unclip, UNET_CLASS, "class_embed_type", "\"projection\""},
        {unclip, UNET_CLASS, "addition_embed_type", "null"},
        {unclip, UNET_CLASS, "projection_class_embeddings_input_dim", "1536"},
        {unclip, UNET_CLASS, "sample_size", "(absent)"},
        {x4, UNET_CLASS, "in_channels", "7"},
        {x4, UNET_CLASS, "down_block_types",
         "[" DOWN "," CROSS_DOWN "," CROSS_DOWN "," CROSS_DOWN "]"},
        {x4, UNET_CLASS, "up_block_types",
         "[" CROSS_UP "," CROSS_UP "," CROSS_UP "," UP "]"},
        {x4, UNET_CLASS, "only_cross_attention", "[true,true,true,false]"},
        {x4, UNET_CLASS, "num_class_embeds", "1000"},
        {x4, UNET_CLASS, "class_embed_type", "null"},
        {x4, UNET_CLASS, "attention_head_dim", "8"},
        {x4, "AutoencoderKL", "scaling_factor", "0.08333"},
        {x4, "AutoencoderKL", "block_out_channels", "[128,256,512]"},
        {x4, "AutoencoderKL", "sample_size", "512"},
        {xl_base, UNET_CLASS, "down_block_types",
         "[" DOWN "," CROSS_DOWN "," CROSS_DOWN "]"},
        {xl_base, UNET_CLASS, "up_block_types", "[" CROSS_UP "," CROSS_UP "," UP "]"},
        {xl_base, UNET_CLASS, "transformer_layers_per_block", "[1,2,10]"},
        {xl_base, UNET_CLASS, "attention_head_dim", "[5,10,20]"},
        {xl_base, UNET_CLASS, "addition_embed_type", "\"text_time\""},
        {xl_base, UNET_CLASS, "addition_time_embed_dim", "256"},
        {xl_base, UNET_CLASS, "class_embed_type", "null"},
        {xl_base, UNET_CLASS, "projection_class_embeddings_input_dim", "2816"},
        {xl_base, UNET_CLASS, "cross_attention_dim", "2048"},
        {xl_base, "AutoencoderKL", "scaling_factor", "0.13025"},
        {xl_refiner, UNET_CLASS, "block_out_channels", "[384,768,1536,1536]"},
        {xl_refiner, UNET_CLASS, "attention_head_dim", "[6,12,24,24]"},
        {xl_refiner, UNET_CLASS, "transformer_layers_per_block", "4"},
        {xl_refiner, UNET_CLASS, "cross_attention_dim", "1280"},
        {xl_refiner, UNET_CLASS, "addition_embed_type", "\"text_time\""},
        {xl_refiner, UNET_CLASS, "projection_class_embeddings_input_dim", "2560"},
        {cldm_v15, "ControlNetModel", "_class_name", "\"ControlNetModel\""},
        {cldm_v15, "ControlNetModel", "conditioning_channels", "3"},
        {cldm_v15, "ControlNetModel", "attention_head_dim", "8"},
        {cldm_v15, "ControlNetModel", "cross_attention_dim", "768"},
        {cldm_v15, "ControlNetModel", "up_block_types", "(absent)"},
        {cldm_v15, "ControlNetModel", "out_channels", "(absent)"},
        {cldm_v21, "ControlNetModel", "conditioning_channels", "5"},
        {cldm_v21, "ControlNetModel", "attention_head_dim", "[5,10,20,20]"},
        {cldm_v21, "ControlNetModel", "use_linear_projection", "true"},
        {vae_alone, "AutoencoderKL", "block_out_channels", "[128,256]"},
        {vae_alone, "AutoencoderKL", "scaling_factor", "0.18215"},
        {vae_alone, "AutoencoderKL", "sample_size", "(absent)"},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_ok(config(scene, rows[i].yaml, rows[i].klass), &scene->err);
        const char *json = as_json(scene, nwi_json_get(scene->root, rows[i].key));
        if (strcmp(json, rows[i].json) != 0)
            fail_msg("row %zu: %s of %s is %s, not %s", i, rows[i].key, rows[i].klass,
                     json, rows[i].json);
    }
}

static void a_vae_is_whole(void **state)
{
    struct scene *scene = *state;
    assert_ok(config(scene, sd1, "AutoencoderKL"), &scene->err);
    assert_string_equal(
        as_json(scene, scene->root),
        "{\"_class_name\":\"AutoencoderKL\",\"in_channels\":3,\"out_channels\":3,"
        "\"down_block_types\":[\"DownEncoderBlock2D\",\"DownEncoderBlock2D\","
        "\"DownEncoderBlock2D\",\"DownEncoderBlock2D\"],\"up_block_types\":["
        "\"UpDecoderBlock2D\",\"UpDecoderBlock2D\",\"UpDecoderBlock2D\","
        "\"UpDecoderBlock2D\"],\"block_out_channels\":[128,256,512,512],"
        "\"latent_channels\":4,\"layers_per_block\":2,\"scaling_factor\":0.18215,"
        "\"sample_size\":512}");
}

static void text_encoders_are_the_familys(void **state)
{
    static const char *const classes[] = {"CLIPTextModel",
                                          "CLIPTextModelWithProjection"};
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(classes); i++) {
        assert_ok(config(scene, sd1, classes[i]), &scene->err);
        assert_string_equal(as_json(scene, scene->root), "{}");
        assert_ok(config(scene, xl_base, classes[i]), &scene->err);
        assert_string_equal(as_json(scene, scene->root), "{}");
        assert_code(config(scene, sd2_v, classes[i]), NW_E_BAD_CONFIG, &scene->err);
    }
}

#define LDM(unet) "model: {params: {unet_config: {params: " unet "}}}"
#define GOOD                                                                           \
    "in_channels: 4, out_channels: 4, model_channels: 320, channel_mult: [1], "        \
    "num_res_blocks: 2, attention_resolutions: []"

static void wrong_values_are_refused(void **state)
{
    static const struct {
        const char *yaml;
        const char *klass;
        int code;
        const char *message;
    } rows[] = {
        {sd1, NULL, NW_E_UNSUPPORTED, "(unknown)"},
        {sd1, "FluxTransformer2DModel", NW_E_UNSUPPORTED, "FluxTransformer2DModel"},
        {"[]", UNET_CLASS, NW_E_BAD_CONFIG, "\"model\" of the yaml is missing"},
        {"model: 1", UNET_CLASS, NW_E_BAD_CONFIG, "no mapping"},
        {"model: {params: ~}", UNET_CLASS, NW_E_BAD_CONFIG, "\"params\""},
        {"model: {params: {}}", UNET_CLASS, NW_E_BAD_CONFIG, "\"network_config\""},
        {"model: {params: {}}", "AutoencoderKL", NW_E_BAD_CONFIG, "first_stage_config"},
        {sd1, "ControlNetModel", NW_E_BAD_CONFIG, "\"control_stage_config\""},
        {LDM("{}"), UNET_CLASS, NW_E_BAD_CONFIG, "is "},
        {LDM("[1]"), UNET_CLASS, NW_E_BAD_CONFIG, "no mapping"},
        {LDM("{" GOOD "}"), UNET_CLASS, NW_OK, ""},
        {LDM("{" GOOD ", context_dim: []}"), UNET_CLASS, NW_E_BAD_CONFIG,
         "context_dim"},
        {LDM("{" GOOD ", context_dim: [[1]]}"), UNET_CLASS, NW_E_BAD_CONFIG, "whole"},
        {LDM("{" GOOD ", context_dim: 7.5}"), UNET_CLASS, NW_E_BAD_CONFIG, "whole"},
        {LDM("{" GOOD ", num_heads: 1048577}"), UNET_CLASS, NW_E_BAD_CONFIG, "large"},
        {LDM("{" GOOD ", num_heads: -99999999999999999999999}"), UNET_CLASS,
         NW_E_BAD_CONFIG, "large"},
        {LDM("{" GOOD ", num_heads: -1, num_head_channels: 0}"), UNET_CLASS, NW_OK, ""},
        {LDM("{" GOOD ", use_linear_in_transformer: yes}"), UNET_CLASS, NW_E_BAD_CONFIG,
         "num_head_channels"},
        {LDM("{" GOOD ", use_linear_in_transformer: 1}"), UNET_CLASS, NW_E_BAD_CONFIG,
         "neither true nor false"},
        {LDM("{" GOOD ", num_classes: sequential}"), UNET_CLASS, NW_E_BAD_CONFIG,
         "\"adm_in_channels\""},
        {LDM("{" GOOD ", num_classes: continuous}"), UNET_CLASS, NW_E_UNSUPPORTED,
         "continuous"},
        {LDM("{" GOOD ", num_classes: [1]}"), UNET_CLASS, NW_E_BAD_CONFIG, "whole"},
        {LDM("{" GOOD ", disable_self_attentions: [1]}"), UNET_CLASS, NW_E_BAD_CONFIG,
         "disable_self_attentions"},
        {LDM("{" GOOD ", disable_self_attentions: true}"), UNET_CLASS, NW_OK, ""},
        {LDM("{channel_mult: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
             "22,23,24,25,26,27,28,29,30,31,32,33], attention_resolutions: []}"),
         UNET_CLASS, NW_E_BAD_CONFIG, "too long"},
        {"model: {params: {network_config: {target: sgm.video_model.VideoUNet, params: "
         "{" GOOD "}}}}",
         UNET_CLASS, NW_E_UNSUPPORTED, "VideoUNet"},
        {"model: {params: {scale_factor: x, ddconfig: {z_channels: 4, in_channels: 3, "
         "out_ch: 3, ch: 8, ch_mult: [1], num_res_blocks: 2}}}",
         "AutoencoderKL", NW_E_BAD_CONFIG, "scale_factor"},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int code = config(scene, rows[i].yaml, rows[i].klass);
        if (code != rows[i].code || !strstr(scene->err.message, rows[i].message))
            fail_msg("row %zu: %s, \"%s\"", i, nw_code_name(code), scene->err.message);
        assert_int_equal(scene->err.code, code);
    }
}

/* Levels of a hostile list of 33 are never shifted by; 32 of them are. */
static void the_deepest_unet_is_told(void **state)
{
    static const char yaml[] = LDM(
        "{in_channels: 4, out_channels: 4, model_channels: 1048576, num_res_blocks: "
        "2, attention_resolutions: [1, 4], channel_mult: [1,2,3,4,5,6,7,8,9,10,11,"
        "12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,1048576]}");
    struct scene *scene = *state;
    assert_ok(config(scene, yaml, UNET_CLASS), &scene->err);
    const struct nwi_json_value *types = nwi_json_get(scene->root, "up_block_types");
    assert_int_equal(types->n_children, 32);
    assert_string_equal(types->first->text, "UpBlock2D");
}

static void names(void **state)
{
    (void)state;
    assert_true(nwi_yaml_is_name("a/v1-inference.yaml"));
    assert_true(nwi_yaml_is_name("b.yml"));
    assert_false(nwi_yaml_is_name("config.json"));
}

static void without_libyaml_it_says_so(void **state)
{
    struct scene *scene = *state;
    assert_code(config(scene, sd1, UNET_CLASS), NW_E_UNSUPPORTED, &scene->err);
    assert_non_null(strstr(scene->err.message, "libyaml"));
}

static bool has_yaml(void)
{
    struct nw_feature feature;
    for (size_t i = 0; nw_feature(i, &feature); i++) {
        if (strcmp(feature.name, "yaml") == 0)
            return strcmp(feature.value, "yes") == 0;
    }
    return false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test_setup_teardown(documents_are_trees, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_documents_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(depth_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(size_is_bounded, setup, teardown),
        cmocka_unit_test(refused_memory_is_an_error),
        cmocka_unit_test_setup_teardown(values_are_the_references, setup, teardown),
        cmocka_unit_test_setup_teardown(a_vae_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(text_encoders_are_the_familys, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_values_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_deepest_unet_is_told, setup, teardown),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(names),
        cmocka_unit_test_setup_teardown(without_libyaml_it_says_so, setup, teardown),
    };
    if (has_yaml())
        return cmocka_run_group_tests(tests, NULL, NULL);
    print_message("built without libyaml: original configs are not tested\n");
    return cmocka_run_group_tests(without, NULL, NULL);
}
