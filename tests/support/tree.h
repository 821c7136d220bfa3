/* SPDX-License-Identifier: Apache-2.0
 * A tree of values as compact JSON. */
#ifndef NWT_TREE_H
#define NWT_TREE_H

#include "base/json.h"
#include "base/json_write.h"

static inline void nwt_put_tree(struct nwi_json_writer *w,
                                const struct nwi_json_value *value)
{
    bool object = value->kind == NWI_JSON_IS_OBJECT;
    if (value->kind == NWI_JSON_IS_NULL)
        nwi_json_null(w);
    else if (value->kind == NWI_JSON_IS_BOOL)
        nwi_json_bool(w, value->boolean);
    else if (value->kind == NWI_JSON_IS_NUMBER)
        nwi_json_raw_value(w, value->text, value->text_size);
    else if (value->kind == NWI_JSON_IS_STRING)
        nwi_json_str_n(w, value->text, value->text_size);
    if (!object && value->kind != NWI_JSON_IS_ARRAY)
        return;
    if (object)
        nwi_json_object(w);
    else
        nwi_json_array(w);
    for (const struct nwi_json_value *v = value->first; v; v = v->next) {
        if (object)
            nwi_json_key_n(w, v->key, v->key_size);
        nwt_put_tree(w, v); /* NOLINT(misc-no-recursion): the parsers bound the depth */
    }
    if (object)
        nwi_json_object_end(w);
    else
        nwi_json_array_end(w);
}

#endif
