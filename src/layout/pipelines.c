/* SPDX-License-Identifier: Apache-2.0
 * Rows after the pipeline classes of diffusers 0.42.1 and the scheduler settings that the
 * models were published with (the repositories named in each row's comment). */
#include "layout/pipelines.h"

#include <string.h>

#define CLIP_TOKENIZER(name)                                                           \
    {                                                                                  \
        (name), "transformers", "CLIPTokenizer", NULL, NULL                            \
    }
#define T5_TOKENIZER(name)                                                             \
    {                                                                                  \
        (name), "transformers", "T5TokenizerFast", NULL, NULL                          \
    }
#define NOTHING(name)                                                                  \
    {                                                                                  \
        (name), NULL, NULL, NULL, NULL                                                 \
    }
#define SCHEDULER(class_name, settings)                                                \
    {                                                                                  \
        "scheduler", "diffusers", class_name, "scheduler_config.json",                 \
            "{\n  \"_class_name\": \"" class_name "\"" settings "\n}\n"                \
    }

/* Stable Diffusion's betas. */
#define SD_BETAS                                                                       \
    ",\n  \"beta_schedule\": \"scaled_linear\",\n  \"beta_start\": 0.00085"            \
    ",\n  \"beta_end\": 0.012,\n  \"num_train_timesteps\": 1000"                       \
    ",\n  \"steps_offset\": 1"

/* stable-diffusion-v1-5/stable-diffusion-v1-5 */
static const struct nwi_pipeline_part sd1[] = {
    CLIP_TOKENIZER("tokenizer"),
    SCHEDULER("PNDMScheduler", SD_BETAS ",\n  \"clip_sample\": false"
                                        ",\n  \"set_alpha_to_one\": false"
                                        ",\n  \"skip_prk_steps\": true"),
    NOTHING("safety_checker"),
    NOTHING("feature_extractor"),
    NOTHING("image_encoder"),
    {0},
};

/* stabilityai/stable-diffusion-2-1: trained on v; 2-base on epsilon */
static const struct nwi_pipeline_part sd2[] = {
    CLIP_TOKENIZER("tokenizer"),
    SCHEDULER("DDIMScheduler", SD_BETAS ",\n  \"clip_sample\": false"
                                        ",\n  \"set_alpha_to_one\": false"
                                        ",\n  \"prediction_type\": \"v_prediction\""),
    NOTHING("safety_checker"),
    NOTHING("feature_extractor"),
    NOTHING("image_encoder"),
    {0},
};

/* stabilityai/stable-diffusion-xl-base-1.0 */
static const struct nwi_pipeline_part sdxl[] = {
    CLIP_TOKENIZER("tokenizer"),
    CLIP_TOKENIZER("tokenizer_2"),
    SCHEDULER("EulerDiscreteScheduler",
              SD_BETAS ",\n  \"interpolation_type\": \"linear\""
                       ",\n  \"prediction_type\": \"epsilon\""
                       ",\n  \"timestep_spacing\": \"leading\""
                       ",\n  \"use_karras_sigmas\": false"),
    NOTHING("feature_extractor"),
    NOTHING("image_encoder"),
    {0},
};

/* playgroundai/playground-v2.5-1024px-aesthetic */
static const struct nwi_pipeline_part playground[] = {
    CLIP_TOKENIZER("tokenizer"),
    CLIP_TOKENIZER("tokenizer_2"),
    SCHEDULER("EDMDPMSolverMultistepScheduler",
              ",\n  \"num_train_timesteps\": 1000,\n  \"prediction_type\": \"epsilon\""
              ",\n  \"rho\": 7.0,\n  \"sigma_data\": 0.5"
              ",\n  \"sigma_max\": 80.0,\n  \"sigma_min\": 0.002"),
    NOTHING("feature_extractor"),
    NOTHING("image_encoder"),
    {0},
};

/* Laxhar/NoobAI-XL-Vpred-1.0: SDXL's, with what its README sets */
static const struct nwi_pipeline_part sdxl_v[] = {
    CLIP_TOKENIZER("tokenizer"),
    CLIP_TOKENIZER("tokenizer_2"),
    SCHEDULER("EulerDiscreteScheduler",
              SD_BETAS ",\n  \"interpolation_type\": \"linear\""
                       ",\n  \"prediction_type\": \"v_prediction\""
                       ",\n  \"rescale_betas_zero_snr\": true"
                       ",\n  \"timestep_spacing\": \"leading\""
                       ",\n  \"use_karras_sigmas\": false"),
    NOTHING("feature_extractor"),
    NOTHING("image_encoder"),
    {0},
};

/* stabilityai/stable-diffusion-xl-refiner-1.0: the second encoder alone */
static const struct nwi_pipeline_part refiner[] = {
    NOTHING("tokenizer"),
    NOTHING("text_encoder"),
    CLIP_TOKENIZER("tokenizer_2"),
    SCHEDULER("EulerDiscreteScheduler",
              SD_BETAS ",\n  \"interpolation_type\": \"linear\""
                       ",\n  \"prediction_type\": \"epsilon\""
                       ",\n  \"timestep_spacing\": \"leading\""
                       ",\n  \"use_karras_sigmas\": false"),
    {0},
};

/* stabilityai/stable-diffusion-3-medium-diffusers */
static const struct nwi_pipeline_part sd3[] = {
    CLIP_TOKENIZER("tokenizer"),
    CLIP_TOKENIZER("tokenizer_2"),
    T5_TOKENIZER("tokenizer_3"),
    SCHEDULER("FlowMatchEulerDiscreteScheduler",
              ",\n  \"num_train_timesteps\": 1000,\n  \"shift\": 3.0"),
    {0},
};

#define FLOW_SHIFTS                                                                    \
    ",\n  \"base_image_seq_len\": 256,\n  \"base_shift\": 0.5"                         \
    ",\n  \"max_image_seq_len\": 4096,\n  \"max_shift\": 1.15"                         \
    ",\n  \"num_train_timesteps\": 1000"

/* black-forest-labs/FLUX.1-dev */
static const struct nwi_pipeline_part flux[] = {
    CLIP_TOKENIZER("tokenizer"),
    T5_TOKENIZER("tokenizer_2"),
    SCHEDULER("FlowMatchEulerDiscreteScheduler",
              FLOW_SHIFTS ",\n  \"shift\": 3.0,\n  \"use_dynamic_shifting\": true"),
    {0},
};

/* black-forest-labs/FLUX.1-schnell */
static const struct nwi_pipeline_part schnell[] = {
    CLIP_TOKENIZER("tokenizer"),
    T5_TOKENIZER("tokenizer_2"),
    SCHEDULER("FlowMatchEulerDiscreteScheduler",
              FLOW_SHIFTS ",\n  \"shift\": 1.0,\n  \"use_dynamic_shifting\": false"),
    {0},
};

/* Lightricks/LTX-Video */
static const struct nwi_pipeline_part ltx[] = {
    T5_TOKENIZER("tokenizer"),
    SCHEDULER("FlowMatchEulerDiscreteScheduler",
              ",\n  \"base_image_seq_len\": 1024,\n  \"base_shift\": 0.95"
              ",\n  \"max_image_seq_len\": 4096,\n  \"max_shift\": 2.05"
              ",\n  \"num_train_timesteps\": 1000,\n  \"shift\": 1.0"
              ",\n  \"shift_terminal\": 0.1,\n  \"use_dynamic_shifting\": true"),
    {0},
};

#define NO_CHECKER ",\n  \"requires_safety_checker\": false"
#define XL_EXTRA                                                                       \
    ",\n  \"force_zeros_for_empty_prompt\": true,\n  \"add_watermarker\": null"

/* A variant's row stands before its family's. */
static const struct nwi_pipeline pipelines[] = {
    {"sd1", "inpainting", "StableDiffusionInpaintPipeline", sd1, NO_CHECKER},
    {"sd1", "instruct-pix2pix", "StableDiffusionInstructPix2PixPipeline", sd1,
     NO_CHECKER},
    {"sd1", NULL, "StableDiffusionPipeline", sd1, NO_CHECKER},
    {"sd2", "inpainting", "StableDiffusionInpaintPipeline", sd2, NO_CHECKER},
    {"sd2", NULL, "StableDiffusionPipeline", sd2, NO_CHECKER},
    {"sdxl", "inpainting", "StableDiffusionXLInpaintPipeline", sdxl, XL_EXTRA},
    {"sdxl", "playground-v2-5", "StableDiffusionXLPipeline", playground, XL_EXTRA},
    {"sdxl", "v-prediction", "StableDiffusionXLPipeline", sdxl_v, XL_EXTRA},
    {"sdxl", "refiner", "StableDiffusionXLImg2ImgPipeline", refiner,
     ",\n  \"force_zeros_for_empty_prompt\": false,\n"
     "  \"requires_aesthetics_score\": true"},
    {"sdxl", NULL, "StableDiffusionXLPipeline", sdxl, XL_EXTRA},
    {"sd3", NULL, "StableDiffusion3Pipeline", sd3, ""},
    {"flux", "schnell", "FluxPipeline", schnell, ""},
    {"flux", NULL, "FluxPipeline", flux, ""},
    {"ltx", NULL, "LTXPipeline", ltx, ""},
};

const struct nwi_pipeline *nwi_pipeline_find(const char *family, const char *variant)
{
    for (size_t i = 0; family && i < sizeof pipelines / sizeof *pipelines; i++) {
        const struct nwi_pipeline *row = &pipelines[i];
        if (strcmp(row->family, family) == 0 &&
            (!row->variant || (variant && strcmp(row->variant, variant) == 0)))
            return row;
    }
    return NULL;
}

/* ",\n  NAME: [LIBRARY, CLASS]" behind `text`; NULL if there is no memory. */
static char *add(struct nwi_arena *arena, const char *text, const char *name,
                 const char *library, const char *klass)
{
    if (!library)
        return nwi_arena_printf(arena, "%s,\n  \"%s\": [null, null]", text, name);
    return nwi_arena_printf(arena, "%s,\n  \"%s\": [\"%s\", \"%s\"]", text, name,
                            library, klass);
}

static bool is_model(const struct nwi_pipeline_model *models, size_t n,
                     const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(models[i].name, name) == 0)
            return true;
    }
    return false;
}

int nwi_pipeline_index(const struct nwi_pipeline *pipeline,
                       const struct nwi_pipeline_model *models, size_t n,
                       struct nwi_arena *arena, const char **out, struct nw_error *err)
{
    char *text =
        nwi_arena_printf(arena, "{\n  \"_class_name\": \"%s\"", pipeline->klass);
    for (size_t i = 0; text && i < n; i++)
        text = add(arena, text, models[i].name, models[i].library, models[i].klass);
    for (const struct nwi_pipeline_part *part = pipeline->parts; text && part->name;
         part++) {
        if (!is_model(models, n, part->name))
            text = add(arena, text, part->name, part->library, part->klass);
    }
    if (text)
        text = nwi_arena_printf(arena, "%s%s\n}\n", text, pipeline->extra);
    if (!text)
        return nwi_fail_nomem(err, 4096);
    *out = text;
    return NW_OK;
}
