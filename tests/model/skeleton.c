/* SPDX-License-Identifier: Apache-2.0
 * Prints the skeleton of a config: one line a tensor ("NAME KIND DTYPE SHAPE TIED_TO"),
 * "@block PATH", "@fp32 NAME" and "@unknown KEY" after them. Reads one request a line on
 * standard input, "CLASS CONFIG" (the class may be "-": the config says it), and ends each
 * answer with "." or "!CODE message". The comparison with the reference classes talks to it.
 *
 * A "~" before the class asks for the skeleton of what the shapes of that skeleton tell about the
 * config, over the config itself; a "?" for the same over the class's defaults alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "netweight.h"
#include "source/header.h"

#define LINE_MOST (1u << 20)

static char line[LINE_MOST];

static void print_tensor(const struct nw_model *model,
                         const struct nw_wanted_tensor *tensor)
{
    static const char *const kinds[] = {"parameter", "buffer", "scratch"};
    struct nw_wanted_tensor first;
    printf("%s %s %s [", tensor->name, kinds[tensor->kind],
           nw_dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < tensor->rank; i++)
        printf(i ? ",%llu" : "%llu", (unsigned long long)tensor->shape[i]);
    printf("]");
    if (tensor->tied_to != NW_NONE &&
        nw_model_tensor(model, tensor->tied_to, &first) == NW_OK)
        printf(" %s", first.name);
    printf("\n");
}

static void print_model(const struct nw_model *model)
{
    struct nw_wanted_tensor tensor;
    const char *text = NULL;
    for (size_t i = 0; nw_model_tensor(model, i, &tensor) == NW_OK; i++)
        print_tensor(model, &tensor);
    for (size_t i = 0; (text = nw_model_block(model, i)); i++)
        printf("@block %s\n", text);
    for (size_t i = 0; (text = nw_model_keep_fp32(model, i)); i++)
        printf("@fp32 %s\n", text);
    for (size_t i = 0; (text = nw_model_unknown_key(model, i)); i++)
        printf("@unknown %s\n", text);
}

/* What the shapes of `model` tell, over `preset` (may be NULL), as a skeleton. */
static int derive_from(const struct nw_model *model,
                       const struct nwi_json_value *preset, struct nwi_arena *arena,
                       struct nw_model **out, struct nw_error *err)
{
    const struct nwi_architecture *architecture = nwi_architecture_find(model->klass);
    struct nwi_header_row *rows = calloc(model->n_wanted + 1, sizeof *rows);
    struct nwi_header header;
    struct nwi_config config;
    size_t n = 0;
    for (size_t i = 0; rows && i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        if (wanted->kind != NW_NON_PERSISTENT)
            rows[n++] = (struct nwi_header_row){
                wanted->name, wanted->shape, wanted->name_size, wanted->rank, NW_NONE};
    }
    int code = nwi_header_init(&header, rows, n, model->memory, err);
    if (code == NW_OK) {
        nwi_config_init(&config, NULL, preset, arena, err);
        if (architecture->derive)
            architecture->derive(&config, &header);
        code = nwi_model_build(architecture, &config, model->memory, out, err);
    }
    nwi_header_release(&header);
    free(rows);
    return code;
}

static int derived(char mode, const char *klass, const char *json,
                   struct nw_model **out, struct nw_error *err)
{
    struct nw_model *model = NULL;
    struct nwi_json_value *root = NULL;
    struct nwi_arena arena;
    int code = nw_model_from_config(json, strlen(json), klass, NULL, &model, err);
    if (code != NW_OK)
        return code;
    nwi_arena_init(&arena, model->memory);
    code = nwi_json_parse(json, strlen(json), 0, NW_E_BAD_CONFIG, &arena, &root, err);
    if (code == NW_OK)
        code = derive_from(model, mode == '~' ? root : NULL, &arena, out, err);
    nwi_arena_release(&arena);
    nw_model_free(model);
    return code;
}

static int answer(const char *klass, const char *json, struct nw_model **out,
                  struct nw_error *err)
{
    char mode = '=';
    if (*klass == '~' || *klass == '?')
        mode = *klass++;
    if (strcmp(klass, "-") == 0)
        klass = NULL;
    if (mode != '=')
        return derived(mode, klass, json, out, err);
    return nw_model_from_config(json, strlen(json), klass, NULL, out, err);
}

int main(void)
{
    while (fgets(line, sizeof line, stdin)) {
        struct nw_error err = {0};
        struct nw_model *model = NULL;
        char *json = strchr(line, ' ');
        if (!json)
            return 2;
        *json++ = '\0';
        if (answer(line, json, &model, &err) == NW_OK) {
            print_model(model);
            printf(".\n");
        } else {
            printf("!%s %s\n", nw_code_name(err.code), err.message);
        }
        nw_model_free(model);
        if (fflush(stdout) != 0)
            return 1;
    }
    return 0;
}
