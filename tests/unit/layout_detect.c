/* SPDX-License-Identifier: Apache-2.0
 * What a file is told to be: under stacked prefixes, in parts, as an adapter, by a value,
 * and what is said where nothing fits. */
#include "layout_meeting.h"

#include "base/error.h"

#define UNET                                                                           \
    "input_blocks.0.0.weight[2,4,1,1]", "time_embed.0.weight[2,2]",                    \
        "out.2.weight[2,2]", "input_blocks.1.1.proj_in.weight[2,2,1,1]"
#define UNET_DIFFUSERS                                                                 \
    "conv_in.weight[2,4,1,1]", "time_embedding.linear_1.weight[2,2]",                  \
        "down_blocks.0.resnets.0.conv1.weight[2,2,1,1]", "conv_out.weight[2,2]",       \
        "down_blocks.0.attentions.0.proj_in.weight[2,2,1,1]"
#define DECODER "decoder.conv_in.weight[2,4,1,1]", "post_quant_conv.weight[4,4,1,1]"
#define ENCODER                                                                        \
    "encoder.mid.block_1.conv1.weight[2,2,1,1]",                                       \
        "encoder.down.0.block.0.conv1.weight[2,2,1,1]"
#define Z_CONTROL                                                                      \
    "control_layers.0.adaLN_modulation.0.weight[2,2]",                                 \
        "control_all_x_embedder.2-1.weight[2,2]",                                      \
        "control_noise_refiner.0.after_proj.weight[2,2]"

static struct meeting m;
static char file[4096];

/* Adds tensors under a prefix to the file that is being written. */
static void put(const char *prefix, const char *const *tensors)
{
    for (; *tensors; tensors++) {
        size_t at = strlen(file);
        int n = snprintf(file + at, sizeof file - at, "%s%s%s", at ? " " : "", prefix,
                         *tensors);
        assert_true(n > 0 && at + (size_t)n < sizeof file);
    }
}
#define PUT(prefix, ...) put(prefix, (const char *const[]){__VA_ARGS__, NULL})

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
    size_t at = strlen(m.text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(m.text + at, sizeof m.text - at, format, args);
    va_end(args);
}

static void tell_part(const struct nw_detection *detection, size_t i)
{
    static const char *const states[] = {"", " partial", " absent"};
    struct nw_detected part;
    const char *lacks = NULL;
    assert_int_equal(nw_detection_get(detection, i, &part), NW_OK);
    assert_in_range(part.state, NW_STATE_PRESENT, NW_STATE_ABSENT);
    tell("%s%s:%s", i ? "; " : "", part.name, states[part.state]);
    if (part.state == NW_STATE_ABSENT)
        return;
    tell(" %s %s %s of \"%s\"", part.family ? part.family : "-",
         part.klass ? part.klass : "-", part.layout ? part.layout : "-", part.prefix);
    if (part.variant)
        tell(" %s", part.variant);
    for (size_t k = 0; (lacks = nw_detection_absent(detection, i, k)); k++)
        tell(" without %s", lacks);
    if (part.probed)
        tell(" by %s", part.probed);
    assert_true(!part.family == (part.why_not != NULL));
}

/* Detects what was put, and says the parts in m.text; the file stays open until `end`. */
static void detect(void)
{
    struct nw_detection *detection = NULL;
    meeting_begin(&m, file, "");
    file[0] = '\0';
    assert_ok(nw_detect(m.ckpt, NULL, 0, &detection, &m.err), &m.err);
    for (size_t i = 0; i < nw_detection_count(detection); i++)
        tell_part(detection, i);
    nw_detection_free(detection);
}

static int end(void **state)
{
    (void)state;
    file[0] = '\0';
    meeting_end(&m);
    memset(&m, 0, sizeof m);
    return 0;
}

static void assert_detected(const char *expected)
{
    detect();
    assert_string_equal(m.text, expected);
}

static void refuse(int code, const char *part)
{
    nw_plan_free(m.plan);
    m.plan = NULL;
    assert_code(nw_plan_create(m.ckpt, &m.options, &m.plan, &m.err), code, &m.err);
    if (!strstr(m.err.message, part))
        fail_msg("\"%s\" is not in: %s", part, m.err.message);
}

/* ---- prefixes ---- */

static const char *const prefixes[] = {
    "",
    "model.diffusion_model.",
    "diffusion_model.",
    "module.",
    "_orig_mod.",
    "net.",
    "anything.at_all.",
    "module._orig_mod.",
    "_orig_mod.module.",
    "module.model.diffusion_model.",
    "model.diffusion_model._orig_mod.",
    "module.model.diffusion_model._orig_mod.module.",
    "state_dict.module.net.",
    "_forward_module.module.diffusion_model.",
    "model_state_dict.net.model.",
};

/* Whatever stands before it, it is the same model, and the prefix is told. */
static void prefixes_are_taken_off(void **state)
{
    char expected[200];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        PUT(prefixes[i], UNET);
        (void)snprintf(expected, sizeof expected,
                       "unet: sd1 UNet2DConditionModel original of \"%s\" base",
                       prefixes[i]);
        assert_detected(expected);
        (void)end(state);
        PUT(prefixes[i], UNET_DIFFUSERS);
        (void)snprintf(expected, sizeof expected,
                       "unet: sd1 UNet2DConditionModel diffusers of \"%s\" base",
                       prefixes[i]);
        assert_detected(expected);
        (void)end(state);
    }
}

/* A segment that is a number is the model's own, and four foreign ones are too many. */
static void not_every_segment_is_a_prefix(void **state)
{
    PUT("0.", UNET);
    detect();
    assert_non_null(strstr(m.text, " - - -"));
    (void)end(state);
    PUT("a.b.c.d.", UNET);
    assert_detected("unet: sd1 UNet2DConditionModel original of \"a.b.c.d.\" base");
    (void)end(state);
    PUT("a.b.c.d.e.", UNET);
    detect();
    assert_non_null(strstr(m.text, " - - -"));
}

/* More prefixes than any file has: all the rest lies at the root. */
static void prefixes_are_bounded(void **state)
{
    struct nwt_safetensors b;
    struct nw_detection *detection = NULL;
    const uint64_t one = 1;
    size_t size = 0;
    (void)state;
    nwt_st_begin(&b);
    for (int i = 0; i < 1000; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "text_encoders.e%d.transformer.w", i);
        nwt_st_add(&b, name, "F32", 1, &one, NULL, 4);
    }
    m.bytes = nwt_st_finish(&b, &size);
    assert_ok(nw_open_memory(m.bytes, size, "m", NULL, &m.ckpt, &m.err), &m.err);
    assert_ok(nw_detect(m.ckpt, NULL, 0, &detection, &m.err), &m.err);
    assert_in_range(nw_detection_count(detection), 2, 256);
    uint64_t n = 0;
    struct nw_detected part;
    for (size_t i = 0; nw_detection_get(detection, i, &part) == NW_OK; i++)
        n += part.n_tensors;
    assert_int_equal(n, 1000);
    nw_detection_free(detection);
}

/* ---- nothing fits, or too much ---- */

static void where_nothing_is_near_that_is_said(void **state)
{
    (void)state;
    PUT("", "nobody.knows.this[1]", "nor.that[2]");
    assert_detected(": - - - of \"\"");
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_UNKNOWN_LAYOUT, "no family fits: nothing is near");
}

/* The nearest rows, and the first fact that each lacks. */
static void the_nearest_are_named_with_what_they_lack(void **state)
{
    (void)state;
    PUT("", "input_blocks.0.0.weight[2,4,1,1]", "time_embed.0.weight[2,2]",
        "out.2.weight[2,2]");
    assert_detected(": - - - of \"\"");
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_UNKNOWN_LAYOUT, "nearest: ");
    assert_non_null(strstr(m.err.message,
                           "sd1 unet in original names (7 of 8 facts; not: "
                           "input_blocks.1.1.proj_in.weight[]=4)"));
}

/* Two models in one, with as many facts each. */
#define MOCHI                                                                          \
    "x_embedder.proj.weight[2,2]", "blocks.0.attn.qkv_x.weight[2,2]",                  \
        "blocks.0.attn.qkv_y.weight[2,2]", "t5_yproj.weight[2,2]"
#define MOTIF                                                                          \
    "text_proj.weight[2,2]", "layers.0.adaLN_sa_ln.weight[2,2]",                       \
        "layers.0.self_attention.to_q.weight[2,2]"

static void a_tie_decides_nothing(void **state)
{
    PUT("", MOCHI);
    detect();
    assert_non_null(strstr(m.text, "mochi MochiTransformer3DModel original"));
    (void)end(state);
    PUT("", MOCHI, MOTIF);
    assert_detected(": - - - of \"\"");
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_UNKNOWN_LAYOUT, "and others fit equally well; nearest: ");
    assert_non_null(strstr(m.err.message, "mochi transformer"));
}

/* One model under both its names: which of them is meant is not for us to say. */
static void a_tie_of_layouts_decides_nothing(void **state)
{
    (void)state;
    PUT("", "txtfusion.projector.weight[2,2]", "first.weight[2,2]",
        "tmlp.0.weight[2,2]", "txtmlp.0.scale[2]", "text_fusion.projector.weight[2,2]",
        "img_in.weight[2,2]", "time_mod_proj.weight[2,2]", "txt_in.norm.weight[2]");
    assert_detected(": - - - of \"\"");
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_UNKNOWN_LAYOUT, "and others fit equally well; nearest: ");
}

/* The more facts the better: a UNet with the names of a VAE in it is a UNet. */
static void most_facts_win(void **state)
{
    (void)state;
    PUT("", UNET, "decoder.mid.block_1.conv1.weight[2,2,1,1]",
        "decoder.up.0.block.0.conv1.weight[2,2,1,1]",
        "encoder.down.0.block.0.conv1.weight[2,2,1,1]", DECODER);
    detect();
    assert_non_null(strstr(m.text, "sd1 UNet2DConditionModel original"));
}

/* ---- parts ---- */

static void what_a_file_lacks_is_told(void **state)
{
    (void)state;
    PUT("model.diffusion_model.", UNET);
    PUT("first_stage_model.", DECODER);
    assert_detected(
        "unet: sd1 UNet2DConditionModel original of \"model.diffusion_model.\" "
        "base; vae: partial sd1 AutoencoderKL original of "
        "\"first_stage_model.\" 4-channels without encoder; text_encoder: "
        "absent");
    m.options.component = "text_encoder";
    refuse(NW_E_NOT_FOUND,
           "the file has no text_encoder: it is absent from this checkpoint");
    m.options.component = "tokenizer";
    refuse(NW_E_NOT_FOUND, "there are: unet, vae");
    m.options.component = NULL;
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_ARG, "name one (component): unet, vae");
}

/* Nor does it hide the parts of a file. */
static void the_parts_may_be_inside_of_something(void **state)
{
    PUT("pipe.net.model.diffusion_model.", UNET);
    PUT("pipe.net.first_stage_model.", DECODER);
    assert_detected(
        "unet: sd1 UNet2DConditionModel original of "
        "\"pipe.net.model.diffusion_model.\" base; vae: partial sd1 AutoencoderKL "
        "original of \"pipe.net.first_stage_model.\" 4-channels without encoder; "
        "text_encoder: absent");
    (void)end(state);
    PUT("a.b.c.d.e.model.diffusion_model.", UNET);
    PUT("a.b.c.d.e.first_stage_model.", DECODER);
    detect();
    assert_non_null(strstr(m.text, " - - -"));
}

static void the_other_half_may_be_absent(void **state)
{
    (void)state;
    PUT("", ENCODER);
    detect();
    assert_non_null(strstr(m.text, "AutoencoderKL original"));
    assert_non_null(strstr(m.text, "vae: partial"));
    assert_non_null(strstr(m.text, "without decoder"));
}

/* A denoiser on its own is meant to be on its own. */
static void a_denoiser_alone_lacks_nothing(void **state)
{
    (void)state;
    PUT("model.diffusion_model.", UNET);
    detect();
    assert_null(strstr(m.text, "absent"));
}

static void what_belongs_to_no_part_is_other(void **state)
{
    (void)state;
    PUT("model.diffusion_model.", UNET);
    PUT("", "betas[4]", "alphas[4]");
    detect();
    assert_non_null(strstr(m.text, "other: - - - of \"\""));
    assert_non_null(strstr(m.text, "unet: sd1"));
}

/* ---- names that need no converting ---- */

static void names_of_the_class_pass_unchanged(void **state)
{
    struct nw_target target;
    struct nw_stored_tensor stored;
    (void)state;
    PUT("", "controlnet_cond_embedding.conv_in.weight[2,3,1,1]", UNET_DIFFUSERS,
        "controlnet_down_blocks.0.weight[2,2,1,1]",
        "controlnet_mid_block.weight[2,2,1,1]");
    detect();
    assert_non_null(strstr(m.text, "controlnet: "));
    assert_non_null(strstr(m.text, "ControlNetModel diffusers of \"\""));
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    m.options.missing = NW_MISSING_ALLOW;
    m.options.flags = NW_LOAD_IGNORE_MISMATCHED;
    meeting_table(&m, "conv_in.weight[2,4,1,1] conv_out.weight[2,2] "
                      "controlnet_mid_block.weight[2,2,1,1]");
    assert_meets(&m, NW_OK, "loaded 3, unexpected 5");
    for (size_t i = 0; nw_plan_target(m.plan, i, &target) == NW_OK; i++) {
        struct nw_part part;
        assert_int_equal(nw_plan_part(m.plan, i, 0, &part), NW_OK);
        assert_int_equal(nw_checkpoint_tensor(m.ckpt, part.source, &stored), NW_OK);
        assert_string_equal(target.name, stored.name);
    }
}

/* ---- adapters ---- */

#define KOHYA "lora_unet_down_blocks_0_attentions_0_proj_in"

static void adapters_are_no_models(void **state)
{
    (void)state;
    PUT("", KOHYA ".lora_down.weight[4,8]", KOHYA ".lora_up.weight[8,4]",
        KOHYA ".alpha[]");
    detect();
    m.options.layout = NW_LAYOUT_DIFFUSERS;
    refuse(NW_E_WRONG_FORMAT, "this is a LoRA (rank 4)");
    (void)end(state);
    PUT("base_model.model.unet.a.to_q.", "lora_A.weight[4,8]", "lora_B.weight[8,4]");
    PUT("base_model.model.unet.b.to_q.", "lora_A.weight[6,8]", "lora_B.weight[8,6]");
    detect();
    m.options.klass = "UNet2DConditionModel";
    refuse(NW_E_WRONG_FORMAT, "this is a LoRA (rank 6)");
}

/* ---- a value that decides ---- */

static void the_tensor_that_was_looked_at_is_named(void **state)
{
    (void)state;
    PUT("", Z_CONTROL, "control_noise_refiner.0.before_proj.weight[2,2]0");
    detect();
    assert_non_null(strstr(m.text, "ZImageControlNetModel original"));
    assert_non_null(strstr(m.text, " by control_noise_refiner.0.before_proj.weight"));
    (void)end(state);
    PUT("net.", Z_CONTROL, "control_noise_refiner.0.before_proj.weight[2,2]");
    detect();
    assert_null(strstr(m.text, "ZImageControlNetModel original"));
}

#define TEST(function) cmocka_unit_test_teardown(function, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prefixes_are_taken_off),
        TEST(not_every_segment_is_a_prefix),
        TEST(prefixes_are_bounded),
        TEST(where_nothing_is_near_that_is_said),
        TEST(the_nearest_are_named_with_what_they_lack),
        TEST(a_tie_decides_nothing),
        TEST(a_tie_of_layouts_decides_nothing),
        TEST(most_facts_win),
        TEST(what_a_file_lacks_is_told),
        TEST(the_parts_may_be_inside_of_something),
        TEST(the_other_half_may_be_absent),
        TEST(a_denoiser_alone_lacks_nothing),
        TEST(what_belongs_to_no_part_is_other),
        TEST(names_of_the_class_pass_unchanged),
        TEST(adapters_are_no_models),
        TEST(the_tensor_that_was_looked_at_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
