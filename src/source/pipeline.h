/* SPDX-License-Identifier: Apache-2.0
 * Pipeline folders: one subfolder a component, named by model_index.json, or without
 * one any folder whose subfolders hold weights. */
#ifndef NWI_PIPELINE_H
#define NWI_PIPELINE_H

#include "source/folder.h"

/* Opens `folder` as a pipeline if it is one; *taken tells. A folder with weights of its
 * own and no model_index.json is none. */
int nwi_pipeline_open(struct nwi_builder *b, const struct nwi_scope *scope,
                      const struct nwi_folder *folder, bool *taken);

/* Adds the files of the folder's subfolders that are no weights to `others`, but for
 * those of the components, which have done so. */
int nwi_pipeline_others(struct nwi_builder *b, const struct nwi_scope *scope,
                        const struct nwi_folder *folder);

#endif
