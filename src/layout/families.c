/* SPDX-License-Identifier: Apache-2.0
 * Every family this version recognises. */
#include "layout/family.h"

#define ROW(name) extern const struct nwi_family nwi_family_##name;
#include "layout/family_list.h"
#undef ROW

#define ROW(name) &nwi_family_##name,
const struct nwi_family *const nwi_families[] = {
#include "layout/family_list.h"
    NULL,
};
#undef ROW
