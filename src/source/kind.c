/* SPDX-License-Identifier: Apache-2.0 */
#include "source/kind.h"

#include <string.h>

#include "base/text.h"

/* Part of a class name; the first row that fits counts. */
static const struct {
    const char *part;
    const char *kind;
} classes[] = {
    {"ControlNet", "controlnet"},
    {"T2IAdapter", "controlnet"},
    {"Autoencoder", "vae"},
    {"VQModel", "vae"},
    {"LatentUpscaler", "upscaler"},
    {"Transformer1DModel", "denoiser"},
    {"Transformer2DModel", "denoiser"},
    {"Transformer3DModel", "denoiser"},
    {"UNet", "denoiser"},
    {"TextModel", "text_encoder"},
    {"TextEncoder", "text_encoder"},
    {"T5Encoder", "text_encoder"},
};

static const char *kind_of_class(const char *klass)
{
    for (size_t i = 0; klass && i < sizeof classes / sizeof classes[0]; i++) {
        if (strstr(klass, classes[i].part))
            return classes[i].kind;
    }
    return NULL;
}

/* Adapters: low-rank factors under the names of the common trainers. */
static bool is_adapter_name(const char *name)
{
    static const char *const parts[] = {"lora_down",  "lora_up", "lora_A", "lora_B",
                                        "lora.down",  "lora.up", "lokr_w", "hada_w",
                                        "dora_scale", "_lora1.", "_lora2."};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(name, parts[i]))
            return true;
    }
    return nwi_ends_with(name, ".alpha");
}

static bool is_lora(const struct nw_checkpoint *ckpt)
{
    size_t n = 0;
    size_t others = 0;
    for (size_t i = 0; i < ckpt->n_tensors && others <= ckpt->n_tensors / 2; i++) {
        bool factor = is_adapter_name(ckpt->tensors[i].name);
        n += factor;
        others += !factor;
    }
    return n > 0 && n >= others;
}

/* The dimension that both factors share: the first of the down (A) matrix. */
uint64_t nwi_adapter_rank(const struct nw_checkpoint *ckpt)
{
    static const char *const downs[] = {"lora_down.weight", "lora_A.weight",
                                        "lora.down.weight", "lora_A.default.weight",
                                        "lora_A",           "lokr_w1_b",
                                        "hada_w1_b"};
    uint64_t rank = 0;
    for (size_t i = 0; i < ckpt->n_tensors; i++) {
        const struct nwi_stored *tensor = &ckpt->tensors[i];
        for (size_t k = 0; k < sizeof downs / sizeof downs[0]; k++) {
            if (tensor->rank >= 2 && nwi_ends_with(tensor->name, downs[k]) &&
                tensor->shape[0] > rank)
                rank = tensor->shape[0];
        }
    }
    return rank;
}

/* Textual inversion: one matrix of vectors, under one of few names. */
static bool is_embedding(const struct nw_checkpoint *ckpt)
{
    static const char *const names[] = {"emb_params", "clip_l", "clip_g", "t5xxl"};
    if (ckpt->n_tensors == 0 || ckpt->n_tensors > 3)
        return false;
    for (size_t i = 0; i < ckpt->n_tensors; i++) {
        const struct nwi_stored *tensor = &ckpt->tensors[i];
        bool known = tensor->name[0] == '<'; /* diffusers: the token itself */
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            known |= strcmp(tensor->name, names[j]) == 0;
        if (!known || tensor->rank == 0 || tensor->rank > 2)
            return false;
    }
    return true;
}

const char *nwi_checkpoint_kind(const struct nw_checkpoint *ckpt)
{
    if (ckpt->n_components > 1)
        return "checkpoint";
    const char *kind =
        ckpt->n_components ? kind_of_class(ckpt->components[0].info.klass) : NULL;
    if (is_lora(ckpt))
        return "lora";
    if (is_embedding(ckpt))
        return "embedding";
    return kind ? kind : "unknown";
}
