/* SPDX-License-Identifier: Apache-2.0
 * A file and a caller's table that meet in a plan, both written as text:
 * "a.weight[2,2] b[3]" is a file of F32 tensors, every element its number in the file
 * from 1 ("b[3]0": zeros); a table's rows may end in "~" (computed by the module), "0" or "1" (that fill),
 * "=K" (tied to row K). */
#ifndef NWT_LAYOUT_MEETING_H
#define NWT_LAYOUT_MEETING_H

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netweight.h"
#include "support/document.h"
#include "support/support.h"

#define MEETING_ROWS 32u

struct meeting {
    void *bytes;
    struct nw_checkpoint *ckpt;
    struct nw_model_table table;
    struct nw_wanted_tensor rows[MEETING_ROWS];
    uint64_t shapes[MEETING_ROWS][4];
    char names[MEETING_ROWS][128];
    struct nw_model *model;
    struct nw_load_options options;
    struct nw_plan *plan;
    struct nw_error err;
    char text[1024];
};

/* "name[2,3]", up to what follows the bracket. */
static inline const char *meeting_item(const char *at, char name[128],
                                       uint64_t shape[4], uint32_t *rank)
{
    const char *open = strchr(at, '[');
    assert_non_null(open);
    assert_true(open - at < 128);
    memcpy(name, at, (size_t)(open - at));
    name[open - at] = '\0';
    *rank = 0;
    for (at = open + 1; *at != ']'; at += *at == ',') {
        char *end = NULL;
        assert_true(*rank < 4);
        shape[(*rank)++] = strtoull(at, &end, 10);
        at = end;
    }
    return at + 1;
}

static inline void meeting_file(struct meeting *m, const char *tensors)
{
    struct nwt_safetensors b;
    size_t size = 0;
    float value = 1;
    nwt_st_begin(&b);
    while (*tensors) {
        char name[128];
        uint64_t shape[4];
        float data[256];
        uint32_t rank = 0;
        size_t n = 1;
        tensors = meeting_item(tensors, name, shape, &rank);
        for (uint32_t d = 0; d < rank; d++)
            n *= shape[d];
        assert_true(n <= 256);
        for (size_t i = 0; i < n; i++)
            data[i] = *tensors == '0' ? 0 : value++;
        tensors += *tensors == '0';
        nwt_st_add(&b, name, "F32", rank, shape, data, n * sizeof *data);
        tensors += *tensors == ' ';
    }
    m->bytes = nwt_st_finish(&b, &size);
    assert_ok(nw_open_memory(m->bytes, size, "m", NULL, &m->ckpt, &m->err), &m->err);
}

static inline void meeting_row(struct meeting *m, const char **at)
{
    size_t i = m->table.n_tensors++;
    struct nw_wanted_tensor *row = &m->rows[i];
    assert_true(i < MEETING_ROWS);
    *at = meeting_item(*at, m->names[i], m->shapes[i], &row->rank);
    row->name = m->names[i];
    row->shape = m->shapes[i];
    row->tied_to = NW_NONE;
    for (; **at && **at != ' '; (*at)++) {
        if (**at == '~')
            row->kind = NW_NON_PERSISTENT;
        else if (**at == '0' || **at == '1')
            row->fill = **at == '0' ? NW_FILL_ZERO : NW_FILL_ONE;
        else if (**at == '=')
            row->tied_to = (uint32_t)(*++*at - '0');
        else
            fail_msg("what is this: %s", *at);
    }
    *at += **at == ' ';
}

static inline void meeting_table(struct meeting *m, const char *rows)
{
    m->table.size = sizeof m->table;
    m->table.tensors = m->rows;
    while (*rows)
        meeting_row(m, &rows);
}

static inline void meeting_begin(struct meeting *m, const char *file, const char *table)
{
    memset(m, 0, sizeof *m);
    m->options.size = sizeof m->options;
    meeting_file(m, file);
    meeting_table(m, table);
}

static inline void meeting_end(struct meeting *m)
{
    nw_plan_free(m->plan);
    nw_model_free(m->model);
    nw_checkpoint_free(m->ckpt);
    free(m->bytes);
}

/* Plans; the code comes back, and what met stands in m->text: every class of the report
 * that is not empty, and the refusal. Every slot of the model is in one class. */
static inline int meeting_plan(struct meeting *m)
{
    struct nw_report r = {0};
    m->text[0] = '\0';
    if (!m->model)
        assert_ok(nw_model_from_table(&m->table, NULL, &m->model, &m->err), &m->err);
    m->options.model = m->model;
    nw_plan_free(m->plan);
    m->plan = NULL;
    int code = nw_plan_create(m->ckpt, &m->options, &m->plan, &m->err);
    if (!m->plan)
        return code;
    nw_plan_report(m->plan, &r);
    assert_int_equal(r.wanted,
                     r.loaded + r.tied + r.by_rule + r.missing + r.mismatched);
    const struct {
        const char *word;
        uint64_t n;
    } classes[] = {
        {"loaded", r.loaded},         {"tied", r.tied},
        {"by rule", r.by_rule},       {"missing", r.missing},
        {"mismatched", r.mismatched}, {"initialised", r.initialised},
        {"unexpected", r.unexpected}, {"harmless", r.harmless},
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].n)
            at += (size_t)snprintf(m->text + at, sizeof m->text - at, "%s%s %llu",
                                   at ? ", " : "", classes[i].word,
                                   (unsigned long long)classes[i].n);
    }
    return code;
}

#define assert_meets(m, code, expected)                                                \
    do {                                                                               \
        int assert_meets_code = meeting_plan(m);                                       \
        if (assert_meets_code != (code))                                               \
            fail_msg("%s: %s", nw_code_name(assert_meets_code), (m)->err.message);     \
        assert_string_equal((m)->text, expected);                                      \
    } while (0)

/* The document's value at `path`. */
#define assert_listed(m, path, expected)                                               \
    do {                                                                               \
        struct nwt_document assert_listed_doc = {0};                                   \
        const struct nw_plan *assert_listed_plan = (m)->plan;                          \
        assert_ok(nw_plan_json(&assert_listed_plan, 1, 0, NULL, NULL,                  \
                               nwt_document_write, &assert_listed_doc, &(m)->err),     \
                  &(m)->err);                                                          \
        nwt_document_parse(&assert_listed_doc);                                        \
        assert_at(&assert_listed_doc, path, expected);                                 \
        nwt_document_release(&assert_listed_doc);                                      \
    } while (0)

#endif
