/* SPDX-License-Identifier: Apache-2.0
 * Building a skeleton: an architecture calls these in the order in which the reference's
 * module tree lists its tensors. Names are relative to the module one is in.
 *
 *     NWI_IN(m, "transformer_blocks.%u", i) {
 *         nwi_linear(m, "attn.to_q", dim, dim, true);
 *         nwi_rms_norm(m, "attn.norm_q", head_dim);
 *     }
 *
 * Nothing returns a code: the first failure (a negative size: BAD_CONFIG; too many
 * tensors: LIMIT; NOMEM) sticks in the module, and all later calls do nothing. Sizes are
 * int64_t because they are computed from configs. */
#ifndef NWI_MODULE_H
#define NWI_MODULE_H

#include "base/error.h"
#include "model/config.h"
#include "model/skeleton.h"

#define NWI_MODEL_TENSORS (1u << 20) /* most a skeleton may hold */
#define NWI_MODULE_PATH   512u

struct nwi_module {
    struct nw_model *model;
    struct nwi_config
        *config; /* failures go there, so that there is one place to look */
    size_t room; /* of model->wanted */
    size_t blocks_room;
    size_t path_size;
    char path[NWI_MODULE_PATH]; /* of the module one is in, with the dot behind it */
};

/* ---- where one is ---- */

/* Goes into a module ("blocks.%u", i); NWI_IN leaves it at the end of its body, which must
 * not be left by break, goto or return. */
size_t nwi_enter(struct nwi_module *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nwi_leave(struct nwi_module *m, size_t back);
/* The same for a module that a device map must not split (the class's _no_split_modules). */
size_t nwi_enter_block(struct nwi_module *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define NWI_IN_(m, enter, ...)                                                         \
    for (size_t nwi_back = enter(m, __VA_ARGS__), nwi_once = 1; nwi_once;              \
         nwi_leave(m, nwi_back), nwi_once = 0)
#define NWI_IN(m, ...)    NWI_IN_(m, nwi_enter, __VA_ARGS__)
#define NWI_BLOCK(m, ...) NWI_IN_(m, nwi_enter_block, __VA_ARGS__)

/* ---- single tensors ---- */

struct nwi_dims {
    const int64_t *at;
    size_t n;
};
#define NWI_DIMS(...)                                                                  \
    ((struct nwi_dims){(const int64_t[]){__VA_ARGS__},                                 \
                       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)})
#define NWI_SCALAR ((struct nwi_dims){0})

void nwi_parameter(struct nwi_module *m, const char *name, struct nwi_dims dims);
/* A parameter that the constructor fills with a constant. */
void nwi_parameter_filled(struct nwi_module *m, const char *name, struct nwi_dims dims,
                          enum nw_fill fill);
void nwi_buffer(struct nwi_module *m, const char *name, struct nwi_dims dims);
/* register_buffer(persistent=False). */
void nwi_scratch_buffer(struct nwi_module *m, const char *name, struct nwi_dims dims);
/* Any of these, in full. */
void nwi_want(struct nwi_module *m, const char *name, struct nwi_dims dims,
              enum nw_wanted_kind kind, enum nw_fill fill, int dtype);
/* `name` shares the memory of the tensor at `path`, which was wanted before (a full name,
 * not relative). */
void nwi_tied(struct nwi_module *m, const char *name, const char *path);

/* ---- the layers of torch.nn: "NAME.weight" and, if asked, "NAME.bias" ---- */

void nwi_linear(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                bool bias);
void nwi_conv1d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t kernel, bool bias);
void nwi_conv2d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t kernel, bool bias);
void nwi_conv3d(struct nwi_module *m, const char *name, int64_t in, int64_t out,
                int64_t depth, int64_t height, int64_t width, bool bias);
/* Any convolution: dims of the weight, first one the outputs (bias). */
void nwi_conv(struct nwi_module *m, const char *name, struct nwi_dims dims, bool bias);
/* LayerNorm, GroupNorm, BatchNorm's affine part: weight [dim] and bias [dim]. */
void nwi_norm(struct nwi_module *m, const char *name, int64_t dim);
/* The same without the bias: RMSNorm, LayerNorm(bias=False). */
void nwi_rms_norm(struct nwi_module *m, const char *name, int64_t dim);
void nwi_embedding(struct nwi_module *m, const char *name, int64_t n, int64_t dim);

#endif
