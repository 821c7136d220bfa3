/* SPDX-License-Identifier: Apache-2.0
 * Making skeletons. */
#ifndef NWI_MODEL_H
#define NWI_MODEL_H

#include "model/architecture.h"
#include "model/skeleton.h"

/* Builds the skeleton of one class from a config (whose arena need not outlive it). */
int nwi_model_build(const struct nwi_architecture *architecture,
                    struct nwi_config *config, struct nwi_memory *memory,
                    struct nw_model **out, struct nw_error *err);

/* nw_model_from_config. */
int nwi_model_from_json(const char *json, size_t size, const char *klass,
                        struct nwi_memory *memory, struct nw_model **out,
                        struct nw_error *err);

/* nw_model_from_table (table.c). */
int nwi_model_from_table(const struct nw_model_table *table, struct nwi_memory *memory,
                         struct nw_model **out, struct nw_error *err);

/* The steps that both share (model.c). */
struct nw_model *nwi_model_new(struct nwi_memory *memory);
int nwi_model_index(struct nw_model *model, int code_if_twice, struct nw_error *err);

#endif
