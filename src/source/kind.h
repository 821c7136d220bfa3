/* SPDX-License-Identifier: Apache-2.0
 * A guess at what a checkpoint is for, from class and tensor names alone. */
#ifndef NWI_KIND_H
#define NWI_KIND_H

#include "source/catalog.h"

/* "checkpoint" (several components), "denoiser", "vae", "text_encoder", "controlnet"
 * (by their class), "lora", "embedding" (by their names), else "unknown". Static. */
const char *nwi_checkpoint_kind(const struct nw_checkpoint *ckpt);

/* The largest rank of an adapter's factors, 0 if it has none. */
uint64_t nwi_adapter_rank(const struct nw_checkpoint *ckpt);

#endif
