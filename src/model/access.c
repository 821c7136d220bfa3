/* SPDX-License-Identifier: Apache-2.0
 * Reading a skeleton through the public header. */
#include "model/architecture.h"

const char *nw_model_class(const struct nw_model *model)
{
    return model ? model->klass : "";
}

size_t nw_model_count(const struct nw_model *model)
{
    return model ? model->n_wanted : 0;
}

int nw_model_tensor(const struct nw_model *model, size_t i,
                    struct nw_wanted_tensor *out)
{
    if (!model || !out || i >= model->n_wanted)
        return NW_E_ARG;
    const struct nwi_wanted *wanted = &model->wanted[i];
    *out = (struct nw_wanted_tensor){
        .name = wanted->name,
        .name_size = wanted->name_size,
        .shape = wanted->shape,
        .rank = wanted->rank,
        .kind = wanted->kind,
        .fill = wanted->fill,
        .tied_to = wanted->tied_to,
        .dtype = wanted->dtype,
    };
    return NW_OK;
}

const char *nw_model_block(const struct nw_model *model, size_t i)
{
    return model && i < model->n_blocks ? model->blocks[i] : NULL;
}

const char *nw_model_keep_fp32(const struct nw_model *model, size_t i)
{
    if (!model || !model->keep_fp32)
        return NULL;
    for (size_t k = 0; model->keep_fp32[k]; k++) {
        if (k == i)
            return model->keep_fp32[k];
    }
    return NULL;
}

const char *nw_model_unknown_key(const struct nw_model *model, size_t i)
{
    return model && i < model->n_unknown_keys ? model->unknown_keys[i] : NULL;
}

const char *nw_class(size_t i)
{
    for (size_t k = 0; nwi_architectures[k]; k++) {
        if (k == i)
            return nwi_architectures[k]->klass;
    }
    return NULL;
}
