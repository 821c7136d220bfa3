/* SPDX-License-Identifier: Apache-2.0
 * Errors stick: after the first one nothing is read or written any more, and whoever began
 * looks at the code once, at the end. */
#include "layout/yaml_ldm.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

#define LEVELS_MOST   32                 /* resolutions of a U-Net: 2^31 fits */
#define NUMBER_MOST   (INT64_C(1) << 20) /* as nwi_config reads them */
#define SCALE_DEFAULT "0.18215"          /* of Stable Diffusion's first VAE */
#define TIME_DIM      256 /* of each number that SDXL is told: sizes and crops */

struct ldm {
    const struct nwi_json_value *params; /* model.params */
    struct nwi_arena *arena;
    struct nw_error *err;
    int code;                    /* of the first failure */
    struct nwi_json_value *out;  /* the config */
    struct nwi_json_value *last; /* its newest value, or NULL */
};

struct ints {
    bool given;  /* there, and not null */
    bool scalar; /* a number, not a list */
    size_t n;
    int64_t at[LEVELS_MOST];
};

static void fail_nomem(struct ldm *ldm, size_t size)
{
    if (ldm->code == NW_OK)
        ldm->code = nwi_fail_nomem(ldm->err, size);
}

static void fail(struct ldm *ldm, const char *key, const char *what)
{
    if (ldm->code == NW_OK)
        ldm->code =
            nwi_fail(ldm->err, NW_E_BAD_CONFIG, "\"%s\" of the yaml %s", key, what);
}

/* ---- reading ---- */

/* NULL also for null. */
static const struct nwi_json_value *find(const struct nwi_json_value *object,
                                         const char *key)
{
    const struct nwi_json_value *value = nwi_json_get(object, key);
    return value && value->kind != NWI_JSON_IS_NULL ? value : NULL;
}

static const struct nwi_json_value *
need_object(struct ldm *ldm, const struct nwi_json_value *object, const char *key)
{
    const struct nwi_json_value *value = find(object, key);
    if (!value)
        fail(ldm, key, "is missing");
    else if (value->kind != NWI_JSON_IS_OBJECT)
        fail(ldm, key, "is no mapping");
    return ldm->code == NW_OK ? value : NULL;
}

/* The params of a part of the model: "unet_config" and so on. */
static const struct nwi_json_value *part_params(struct ldm *ldm, const char *part)
{
    return need_object(ldm, need_object(ldm, ldm->params, part), "params");
}

static int64_t read_int(struct ldm *ldm, const struct nwi_json_value *value,
                        const char *key)
{
    int64_t number = 0;
    bool negative = false;
    const char *at = value->text;
    if (value->kind != NWI_JSON_IS_NUMBER) {
        fail(ldm, key, "is no whole number");
        return 0;
    }
    negative = *at == '-';
    for (at += negative; *at >= '0' && *at <= '9' && number <= NUMBER_MOST; at++)
        number = 10 * number + (*at - '0');
    if (number > NUMBER_MOST)
        fail(ldm, key, "is too large");
    else if (*at)
        fail(ldm, key, "is no whole number");
    return negative ? -number : number;
}

static int64_t get_int(struct ldm *ldm, const struct nwi_json_value *object,
                       const char *key, int64_t fallback)
{
    const struct nwi_json_value *value = find(object, key);
    return value ? read_int(ldm, value, key) : fallback;
}

static int64_t need_int(struct ldm *ldm, const struct nwi_json_value *object,
                        const char *key)
{
    if (!find(object, key))
        fail(ldm, key, "is missing");
    return get_int(ldm, object, key, 0);
}

static bool get_bool(struct ldm *ldm, const struct nwi_json_value *object,
                     const char *key)
{
    const struct nwi_json_value *value = find(object, key);
    if (value && value->kind != NWI_JSON_IS_BOOL)
        fail(ldm, key, "is neither true nor false");
    return value && value->boolean;
}

/* A list of whole numbers, or one of them. */
static void get_ints(struct ldm *ldm, const struct nwi_json_value *object,
                     const char *key, struct ints *out)
{
    const struct nwi_json_value *value = find(object, key);
    *out = (struct ints){.given = value != NULL};
    if (!value)
        return;
    out->scalar = value->kind != NWI_JSON_IS_ARRAY;
    if (out->scalar) {
        out->at[out->n++] = read_int(ldm, value, key);
        return;
    }
    if (value->n_children > LEVELS_MOST) {
        fail(ldm, key, "is too long a list");
        return;
    }
    for (const struct nwi_json_value *v = value->first; v; v = v->next)
        out->at[out->n++] = read_int(ldm, v, key);
}

/* The same, a list that is not empty. */
static void need_list(struct ldm *ldm, const struct nwi_json_value *object,
                      const char *key, struct ints *out)
{
    get_ints(ldm, object, key, out);
    if (!out->given)
        fail(ldm, key, "is missing");
    else if (out->scalar || out->n == 0)
        fail(ldm, key, "is no list of numbers");
}

/* ---- writing ---- */

static struct nwi_json_value *make(struct ldm *ldm, enum nwi_json_kind kind)
{
    struct nwi_json_value *value =
        ldm->code == NW_OK ? nwi_arena_zalloc(ldm->arena, sizeof *value) : NULL;
    if (value)
        value->kind = kind;
    else
        fail_nomem(ldm, sizeof *value);
    return value;
}

static void set_text(struct nwi_json_value *value, const char *text)
{
    value->text = text;
    value->text_size = strlen(text);
}

static struct nwi_json_value *make_int(struct ldm *ldm, int64_t number)
{
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_NUMBER);
    const char *text = value ? nwi_arena_printf(ldm->arena, "%" PRId64, number) : NULL;
    if (text)
        set_text(value, text);
    else
        fail_nomem(ldm, 24);
    return text ? value : NULL;
}

static struct nwi_json_value *make_text(struct ldm *ldm, const char *text)
{
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_STRING);
    if (value)
        set_text(value, text);
    return value;
}

/* Hangs a value in after `last`; NULL (out of memory) is passed over. */
static void hang(struct nwi_json_value *parent, struct nwi_json_value **last,
                 struct nwi_json_value *value)
{
    if (!value)
        return;
    if (*last)
        (*last)->next = value;
    else
        parent->first = value;
    *last = value;
    parent->n_children++;
}

static void put(struct ldm *ldm, const char *key, struct nwi_json_value *value)
{
    if (!value)
        return;
    value->key = key;
    value->key_size = strlen(key);
    hang(ldm->out, &ldm->last, value);
}

static void put_int(struct ldm *ldm, const char *key, int64_t number)
{
    put(ldm, key, make_int(ldm, number));
}

/* NULL: null. */
static void put_text(struct ldm *ldm, const char *key, const char *text)
{
    put(ldm, key, text ? make_text(ldm, text) : make(ldm, NWI_JSON_IS_NULL));
}

static void put_bool(struct ldm *ldm, const char *key, bool truth)
{
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_BOOL);
    if (value)
        value->boolean = truth;
    put(ldm, key, value);
}

static void put_null(struct ldm *ldm, const char *key)
{
    put(ldm, key, make(ldm, NWI_JSON_IS_NULL));
}

/* A list, or the number that stands for one. */
static void put_ints(struct ldm *ldm, const char *key, const struct ints *list)
{
    struct nwi_json_value *last = NULL;
    if (list->scalar) {
        put_int(ldm, key, list->at[0]);
        return;
    }
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_ARRAY);
    for (size_t i = 0; value && i < list->n; i++)
        hang(value, &last, make_int(ldm, list->at[i]));
    put(ldm, key, value);
}

/* Each number times `factor`. */
static void put_scaled(struct ldm *ldm, const char *key, const struct ints *list,
                       int64_t factor)
{
    struct ints scaled = *list;
    for (size_t i = 0; i < scaled.n; i++)
        scaled.at[i] *= factor; /* both at most NUMBER_MOST */
    put_ints(ldm, key, &scaled);
}

/* ---- U-Net ---- */

static const struct nwi_json_value *unet_params(struct ldm *ldm)
{
    bool has_unet = find(ldm->params, "unet_config") != NULL;
    const char *part = has_unet ? "unet_config" : "network_config";
    const char *target = nwi_json_string(find(find(ldm->params, part), "target"));
    if (target && strstr(target, ".video_model.") && ldm->code == NW_OK)
        ldm->code = nwi_fail(ldm->err, NW_E_UNSUPPORTED,
                             "the yaml's model is a U-Net for video (%.100s)", target);
    return part_params(ldm, part);
}

static bool is_in(int64_t number, const struct ints *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] == number)
            return true;
    }
    return false;
}

/* A block for each of n resolutions, 1 2 4 ... or, going up, ... 4 2 1. */
static void put_blocks(struct ldm *ldm, const char *key, size_t n,
                       const struct ints *attention, bool up)
{
    struct nwi_json_value *last = NULL;
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_ARRAY);
    for (size_t i = 0; value && i < n; i++) {
        int64_t resolution = INT64_C(1) << (up ? n - 1 - i : i);
        const char *plain = up ? "UpBlock2D" : "DownBlock2D";
        const char *cross = up ? "CrossAttnUpBlock2D" : "CrossAttnDownBlock2D";
        hang(value, &last,
             make_text(ldm, is_in(resolution, attention) ? cross : plain));
    }
    put(ldm, key, value);
}

static void put_heads(struct ldm *ldm, const struct nwi_json_value *unet)
{
    const char *key = "attention_head_dim";
    int64_t heads = get_int(ldm, unet, "num_heads", -1);
    int64_t channels = get_int(ldm, unet, "num_head_channels", -1);
    bool linear = get_bool(ldm, unet, "use_linear_in_transformer");
    struct ints levels;
    need_list(ldm, unet, "channel_mult", &levels);
    if (heads > 0)
        put_int(ldm, key, heads);
    else if (channels > 0)
        put_scaled(ldm, key, &levels, need_int(ldm, unet, "model_channels") / channels);
    else if (linear)
        fail(ldm, "num_head_channels", "is missing");
    else
        put_null(ldm, key);
    put_bool(ldm, "use_linear_projection", linear);
}

static void put_attention(struct ldm *ldm, const struct nwi_json_value *unet)
{
    static const struct ints one = {.given = true, .scalar = true, .n = 1, .at = {1}};
    struct ints depth;
    struct ints context;
    get_ints(ldm, unet, "transformer_depth", &depth);
    get_ints(ldm, unet, "context_dim", &context);
    if (context.given && context.n == 0)
        fail(ldm, "context_dim", "is an empty list");
    else if (context.given)
        put_int(ldm, "cross_attention_dim", context.at[0]);
    else
        put_null(ldm, "cross_attention_dim");
    put_ints(ldm, "transformer_layers_per_block", depth.given ? &depth : &one);
    put_heads(ldm, unet);
}

/* What the model is told beside the text: a vector of adm_in_channels. */
static void put_conditions(struct ldm *ldm, const struct nwi_json_value *unet)
{
    const char *classes = nwi_json_string(find(unet, "num_classes"));
    bool projected = classes && strcmp(classes, "sequential") == 0;
    struct ints context;
    get_ints(ldm, unet, "context_dim", &context);
    /* The widths of SDXL and its refiner, whose vector is text and times. */
    bool is_xl =
        projected && context.n > 0 && (context.at[0] == 2048 || context.at[0] == 1280);
    if (classes && !projected && ldm->code == NW_OK)
        ldm->code = nwi_fail(
            ldm->err, NW_E_UNSUPPORTED,
            "num_classes \"%.60s\" of the yaml has no class of diffusers", classes);
    put_text(ldm, "class_embed_type", projected && !is_xl ? "projection" : NULL);
    put_text(ldm, "addition_embed_type", is_xl ? "text_time" : NULL);
    if (is_xl)
        put_int(ldm, "addition_time_embed_dim", TIME_DIM);
    else
        put_null(ldm, "addition_time_embed_dim");
    if (projected)
        put_int(ldm, "projection_class_embeddings_input_dim",
                need_int(ldm, unet, "adm_in_channels"));
    else
        put_null(ldm, "projection_class_embeddings_input_dim");
}

/* What a U-Net and the control net of one have in common. */
static void put_encoder(struct ldm *ldm, const struct nwi_json_value *unet)
{
    struct ints attention;
    struct ints levels;
    struct ints layers;
    get_ints(ldm, unet, "attention_resolutions", &attention);
    if (!attention.given || attention.scalar)
        fail(ldm, "attention_resolutions", "is no list of numbers");
    need_list(ldm, unet, "channel_mult", &levels);
    get_ints(ldm, unet, "num_res_blocks", &layers);
    if (!layers.given)
        fail(ldm, "num_res_blocks", "is missing");
    put_int(ldm, "in_channels", need_int(ldm, unet, "in_channels"));
    put_blocks(ldm, "down_block_types", levels.n, &attention, false);
    put_scaled(ldm, "block_out_channels", &levels,
               need_int(ldm, unet, "model_channels"));
    put_ints(ldm, "layers_per_block", &layers);
    put_attention(ldm, unet);
    put_conditions(ldm, unet);
}

/* A boolean, or one for each resolution. */
static void put_cross_only(struct ldm *ldm, const struct nwi_json_value *unet)
{
    const char *key = "disable_self_attentions";
    const struct nwi_json_value *given = find(unet, key);
    struct nwi_json_value *last = NULL;
    struct nwi_json_value *list = NULL;
    if (!given)
        return;
    if (given->kind != NWI_JSON_IS_ARRAY) {
        put_bool(ldm, "only_cross_attention", get_bool(ldm, unet, key));
        return;
    }
    list = make(ldm, NWI_JSON_IS_ARRAY);
    for (const struct nwi_json_value *v = given->first; list && v; v = v->next) {
        struct nwi_json_value *truth = make(ldm, NWI_JSON_IS_BOOL);
        if (v->kind != NWI_JSON_IS_BOOL)
            fail(ldm, key, "is no list of true and false");
        if (truth)
            truth->boolean = v->boolean;
        hang(list, &last, truth);
    }
    put(ldm, "only_cross_attention", list);
}

static void put_unet(struct ldm *ldm)
{
    const struct nwi_json_value *unet = unet_params(ldm);
    const struct nwi_json_value *classes = find(unet, "num_classes");
    struct ints attention;
    struct ints levels;
    if (!unet)
        return;
    put_encoder(ldm, unet);
    put_int(ldm, "out_channels", need_int(ldm, unet, "out_channels"));
    get_ints(ldm, unet, "attention_resolutions", &attention);
    get_ints(ldm, unet, "channel_mult", &levels);
    put_blocks(ldm, "up_block_types", levels.n, &attention, true);
    put_cross_only(ldm, unet);
    if (classes && classes->kind != NWI_JSON_IS_STRING)
        put_int(ldm, "num_class_embeds", read_int(ldm, classes, "num_classes"));
    if (find(ldm->params, "image_size"))
        put_int(ldm, "sample_size", need_int(ldm, ldm->params, "image_size"));
}

static void put_controlnet(struct ldm *ldm)
{
    const struct nwi_json_value *control = part_params(ldm, "control_stage_config");
    const struct nwi_json_value *unet = unet_params(ldm);
    if (!unet)
        return;
    put_int(ldm, "conditioning_channels", need_int(ldm, control, "hint_channels"));
    put_encoder(ldm, unet);
}

/* ---- VAE ---- */

static void put_same(struct ldm *ldm, const char *key, const char *text, size_t n)
{
    struct nwi_json_value *last = NULL;
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_ARRAY);
    for (size_t i = 0; value && i < n; i++)
        hang(value, &last, make_text(ldm, text));
    put(ldm, key, value);
}

static void put_scale(struct ldm *ldm)
{
    const struct nwi_json_value *given = find(ldm->params, "scale_factor");
    struct nwi_json_value *value = make(ldm, NWI_JSON_IS_NUMBER);
    if (given && given->kind != NWI_JSON_IS_NUMBER)
        fail(ldm, "scale_factor", "is no number");
    else if (value)
        set_text(value, given ? given->text : SCALE_DEFAULT);
    put(ldm, "scaling_factor", value);
}

/* Of the images whose latents have the document's size: each level but one halves them. */
static void put_image_size(struct ldm *ldm, const struct ints *levels)
{
    int64_t size = get_int(ldm, ldm->params, "image_size", 0);
    for (size_t i = 1; i < levels->n; i++)
        size *= 2; /* LEVELS_MOST and NUMBER_MOST keep it below 2^52 */
    if (find(ldm->params, "image_size"))
        put_int(ldm, "sample_size", size);
}

static void put_vae(struct ldm *ldm)
{
    /* A VAE's own config has its values where others have theirs of the whole model. */
    bool alone =
        !find(ldm->params, "first_stage_config") && find(ldm->params, "ddconfig");
    const struct nwi_json_value *vae = need_object(
        ldm, alone ? ldm->params : part_params(ldm, "first_stage_config"), "ddconfig");
    struct ints levels;
    if (!vae)
        return;
    need_list(ldm, vae, "ch_mult", &levels);
    put_int(ldm, "in_channels", need_int(ldm, vae, "in_channels"));
    put_int(ldm, "out_channels", need_int(ldm, vae, "out_ch"));
    put_same(ldm, "down_block_types", "DownEncoderBlock2D", levels.n);
    put_same(ldm, "up_block_types", "UpDecoderBlock2D", levels.n);
    put_scaled(ldm, "block_out_channels", &levels, need_int(ldm, vae, "ch"));
    put_int(ldm, "latent_channels", need_int(ldm, vae, "z_channels"));
    put_int(ldm, "layers_per_block", need_int(ldm, vae, "num_res_blocks"));
    put_scale(ldm);
    put_image_size(ldm, &levels);
}

/* ---- text encoders ---- */

/* FrozenCLIPEmbedder, WeightedFrozenCLIPEmbedder, FrozenOpenCLIPEmbedder2 ... */
static bool names_clip(const struct nwi_json_value *part)
{
    const char *target = nwi_json_string(find(part, "target"));
    const char *dot = target ? strrchr(target, '.') : NULL;
    return target && strstr(dot ? dot : target, "CLIPEmbedder") != NULL;
}

static void find_clip(struct ldm *ldm)
{
    const struct nwi_json_value *parts =
        find(find(find(ldm->params, "conditioner_config"), "params"), "emb_models");
    bool found = names_clip(find(ldm->params, "cond_stage_config"));
    bool is_list = parts && parts->kind == NWI_JSON_IS_ARRAY;
    for (const struct nwi_json_value *v = is_list ? parts->first : NULL; v; v = v->next)
        found = found || names_clip(v);
    if (!found && ldm->code == NW_OK)
        ldm->code =
            nwi_fail(ldm->err, NW_E_BAD_CONFIG, "the yaml names no CLIP encoder");
}

/* ---- classes ---- */

static const struct reader {
    const char *klass;
    void (*read)(struct ldm *ldm);
    bool is_empty; /* the document has no values for it */
} readers[] = {
    {"UNet2DConditionModel", put_unet, false},
    {"ControlNetModel", put_controlnet, false},
    {"AutoencoderKL", put_vae, false},
    {"CLIPTextModel", find_clip, true},
    {"CLIPTextModelWithProjection", find_clip, true},
};

static const struct reader *reader_of(const char *klass)
{
    for (size_t i = 0; klass && i < sizeof readers / sizeof *readers; i++) {
        if (strcmp(readers[i].klass, klass) == 0)
            return &readers[i];
    }
    return NULL;
}

int nwi_yaml_ldm(const struct nwi_json_value *root, const char *klass,
                 struct nwi_arena *arena, struct nwi_json_value **out,
                 struct nw_error *err)
{
    struct ldm ldm = {.arena = arena, .err = err};
    const struct reader *reader = reader_of(klass);
    *out = NULL;
    if (!reader)
        return nwi_fail(err, NW_E_UNSUPPORTED,
                        "an original yaml tells nothing about the class %.100s",
                        klass ? klass : "(unknown)");
    ldm.params = need_object(&ldm, need_object(&ldm, root, "model"), "params");
    ldm.out = make(&ldm, NWI_JSON_IS_OBJECT);
    if (ldm.code == NW_OK && !reader->is_empty)
        put_text(&ldm, "_class_name", reader->klass);
    if (ldm.code == NW_OK)
        reader->read(&ldm);
    if (ldm.code == NW_OK)
        *out = ldm.out;
    return ldm.code;
}
