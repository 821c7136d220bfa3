/* SPDX-License-Identifier: Apache-2.0
 * BERT's encoder and CLAP's text tower, which is RoBERTa's (transformers 5.24, models/bert,
 * models/clap): embeddings, layers and pooler, into the module one is in. */
#ifndef NWI_BLOCKS_BERT_H
#define NWI_BLOCKS_BERT_H

#include "model/config.h"
#include "model/module.h"
#include "source/header.h"

struct nwi_bert_class {
    int64_t vocab;
    int64_t positions;
    int64_t types;
    bool clap; /* the ids are stored, positions come last, any module may be split */
};

extern const struct nwi_bert_class nwi_bert;
extern const struct nwi_bert_class nwi_clap_text;

/* Returns the width. */
int64_t nwi_bert_model(struct nwi_module *m, struct nwi_config *c,
                       const struct nwi_bert_class *klass);

/* From the tensors under `at` ("", "text_model."). */
void nwi_bert_derive(struct nwi_config *c, const struct nwi_header *h, const char *at);

#endif
