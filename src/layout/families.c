/* SPDX-License-Identifier: Apache-2.0
 * Every family this version recognises. */
#include "layout/family.h"

#define ROW(name) &nwi_family_##name,
const struct nwi_family *const nwi_families[] = {
#include "layout/family_list.h"
    NULL,
};
#undef ROW
