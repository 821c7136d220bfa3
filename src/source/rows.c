/* SPDX-License-Identifier: Apache-2.0 */
#include "source/rows.h"

void nwi_put_files(struct nwi_json_writer *w, const struct nw_checkpoint *ckpt)
{
    nwi_json_key(w, "files");
    nwi_json_array(w);
    for (size_t i = 0; ckpt && i < ckpt->n_files; i++) {
        const struct nw_stored_file *file = &ckpt->files[i].info;
        nwi_json_object(w);
        nwi_json_put_str(w, "name", file->name);
        nwi_json_put_str(w, "container", file->container);
        nwi_json_put_uint(w, "bytes", file->nbytes);
        nwi_json_key(w, "used");
        nwi_json_bool(w, file->used != 0);
        nwi_json_put_str(w, "reason", file->reason);
        nwi_json_object_end(w);
    }
    nwi_json_array_end(w);
}

static void put_text(struct nwi_json_writer *w, const char *key, const char *text)
{
    nwi_json_put_str(w, key, text && *text ? text : NULL);
}

/* The fields that problems and failures have in common. */
static void put_fields(struct nwi_json_writer *w, const struct nw_problem *problem)
{
    put_text(w, "code", nw_code_name(problem->code));
    put_text(w, "file", problem->file);
    put_text(w, "tensor", problem->tensor);
    nwi_json_key(w, "offset");
    if (problem->offset == NW_OFFSET_NONE)
        nwi_json_null(w);
    else
        nwi_json_uint(w, problem->offset);
    nwi_json_put_str(w, "message", problem->message);
}

void nwi_put_problem(struct nwi_json_writer *w, const struct nw_problem *problem)
{
    nwi_json_object(w);
    put_fields(w, problem);
    nwi_json_key(w, "note");
    nwi_json_bool(w, problem->note != 0);
    nwi_json_object_end(w);
}

static struct nw_problem as_problem(const struct nw_error *failure)
{
    return (struct nw_problem){
        .code = failure->code,
        .offset = failure->offset,
        .file = failure->file,
        .tensor = failure->tensor,
        .message = failure->message,
    };
}

void nwi_put_failure(struct nwi_json_writer *w, const struct nw_error *failure)
{
    struct nw_problem problem = as_problem(failure);
    nwi_json_object(w);
    put_fields(w, &problem);
    nwi_json_object_end(w);
}

void nwi_put_error(struct nwi_json_writer *w, const struct nw_error *failure,
                   const struct nw_checkpoint *ckpt)
{
    struct nw_problem problem = as_problem(failure);
    size_t n_problems = ckpt ? ckpt->n_problems : 0;
    nwi_json_key(w, "error");
    nwi_json_object(w);
    put_fields(w, &problem);
    nwi_json_key(w, "all");
    nwi_json_array(w);
    for (size_t i = 0; i < n_problems; i++)
        nwi_put_problem(w, &ckpt->problems[i]);
    if (n_problems == 0)
        nwi_put_failure(w, failure);
    nwi_json_array_end(w);
    nwi_json_object_end(w);
}
