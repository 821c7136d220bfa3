/* SPDX-License-Identifier: Apache-2.0
 * BertModel (transformers 5.24, models/bert/modeling_bert.py): the first text encoder of
 * Hunyuan-DiT. */
#include "model/architecture.h"
#include "model/blocks_bert.h"
#include "model/transformers_keys.h"

static void build(struct nwi_module *m, struct nwi_config *c)
{
    (void)nwi_bert_model(m, c, &nwi_bert);
}

static void derive(struct nwi_config *c, const struct nwi_header *h)
{
    nwi_bert_derive(c, h, "");
}

const struct nwi_architecture nwi_arch_bert_model = {
    .klass = "BertModel",
    .library = "transformers",
    .build = build,
    .derive = derive,
    .harmless = nwi_transformers_harmless,
    .plain_keys = nwi_transformers_keys,
    .model_type = "bert",
};
