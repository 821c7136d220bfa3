/* SPDX-License-Identifier: Apache-2.0
 * What the rows of recognised containers share with the list of foreign files. */
#ifndef NWI_RECOGNISED_H
#define NWI_RECOGNISED_H

#include "source/format.h"

extern const struct nwi_format nwi_format_gguf;
extern const struct nwi_format nwi_format_dduf;
extern const struct nwi_format nwi_format_torch_zip;
extern const struct nwi_format nwi_format_torch_legacy;
extern const struct nwi_format nwi_format_torch_tar;
extern const struct nwi_format nwi_format_flashpack;

bool nwi_probe_is_zip(const struct nwi_probe *probe);
bool nwi_probe_is_tar(const struct nwi_probe *probe);
/* True if the text stands near the beginning or the end, where a zip keeps its names.
 */
bool nwi_probe_zip_names(const struct nwi_probe *probe, const char *name);

#endif
