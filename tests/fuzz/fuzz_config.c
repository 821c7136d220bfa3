/* SPDX-License-Identifier: Apache-2.0
 * A class on the first line, then the text of a config.json. "-" is no class (the config says
 * it); what is the name of none picks one by its bytes. Whatever is in it: a model that keeps
 * to its own rules, or one of four codes with a message; and what the shapes of a model tell
 * is answered likewise. Memory ends at MEMORY_MOST, which is NOMEM. */
#include <stdio.h>

#include "check.h"
#include "model/model.h"
#include "source/header.h"

#define MEMORY_MOST ((size_t)48 << 20)

static size_t held;

static void *take(void *ctx, size_t size)
{
    (void)ctx;
    void *memory = NULL;
    if (size > MEMORY_MOST - held ||
        !(memory = aligned_alloc(64, (size + 63) / 64 * 64)))
        return NULL;
    held += size;
    return memory;
}

static void give(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    if (!memory)
        return;
    require(held >= size);
    held -= size;
    free(memory);
}

static const char *pick_class(const char *line, size_t size)
{
    size_t n = 0;
    size_t sum = 0;
    if (size == 1 && *line == '-')
        return NULL;
    for (; nw_class(n); n++) {
        if (strlen(nw_class(n)) == size && memcmp(nw_class(n), line, size) == 0)
            return nw_class(n);
    }
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (uint8_t)line[i];
    return sum % (n + 1) == n ? "NoClassAtAll" : nw_class(sum % (n + 1));
}

static void check_code(int code, const struct nw_error *err)
{
    require(code == err->code);
    require(code == NW_OK || err->message[0] != '\0');
    require(code == NW_OK || code == NW_E_BAD_CONFIG || code == NW_E_LIMIT ||
            code == NW_E_UNSUPPORTED || code == NW_E_NOMEM);
}

static void check_tensor_row(const struct nw_model *model, size_t i)
{
    struct nw_wanted_tensor tensor;
    struct nw_wanted_tensor first;
    uint64_t n = 1;
    require(nw_model_tensor(model, i, &tensor) == NW_OK);
    require(tensor.name_size > 0 && tensor.name[tensor.name_size] == '\0');
    require(nwi_map_find(&model->names, tensor.name, tensor.name_size) == i);
    require(tensor.kind <= NW_NON_PERSISTENT && tensor.fill <= NW_FILL_ARANGE);
    for (uint32_t k = 0; k < tensor.rank; k++)
        require(!__builtin_mul_overflow(n, tensor.shape[k], &n));
    require(n <= UINT64_MAX / 8);
    if (tensor.tied_to == NW_NONE)
        return;
    require(tensor.tied_to < i);
    require(nw_model_tensor(model, tensor.tied_to, &first) == NW_OK);
    require(first.rank == tensor.rank &&
            memcmp(first.shape, tensor.shape, tensor.rank * sizeof(uint64_t)) == 0);
}

static void check_model(const struct nw_model *model)
{
    require(nw_model_count(model) <= (size_t)1 << 20);
    for (size_t i = 0; i < nw_model_count(model); i++)
        check_tensor_row(model, i);
    for (size_t i = 0; nw_model_block(model, i); i++)
        require(*nw_model_block(model, i) != '\0');
    for (size_t i = 0; nw_model_unknown_key(model, i); i++)
        continue;
    require(nwi_architecture_find(nw_model_class(model)) != NULL);
}

/* The model that the shapes of this one tell. */
static int derive(const struct nw_model *model, const struct nwi_header *header,
                  struct nw_error *err)
{
    const struct nwi_architecture *architecture = nwi_architecture_find(model->klass);
    struct nw_model *told = NULL;
    struct nwi_config config;
    struct nwi_arena arena;
    nwi_arena_init(&arena, model->memory);
    nwi_config_init(&config, NULL, NULL, &arena, err);
    if (architecture->derive)
        architecture->derive(&config, header);
    int code = nwi_model_build(architecture, &config, model->memory, &told, err);
    if (code == NW_OK)
        check_model(told);
    nw_model_free(told);
    nwi_arena_release(&arena);
    return code;
}

static void check_derive(const struct nw_model *model)
{
    struct nwi_header header = {0};
    struct nw_error err;
    size_t n = 0;
    struct nwi_header_row *rows = calloc(model->n_wanted + 1, sizeof *rows);
    require(rows != NULL);
    for (size_t i = 0; i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        if (wanted->kind != NW_NON_PERSISTENT)
            rows[n++] = (struct nwi_header_row){
                wanted->name, wanted->shape, wanted->name_size, wanted->rank, NW_NONE};
    }
    nwi_error_clear(&err);
    int code = nwi_header_init(&header, rows, n, model->memory, &err);
    if (code == NW_OK)
        code = derive(model, &header, &err);
    check_code(code, &err);
    nwi_header_release(&header);
    free(rows);
}

/* ---- mutation: another value, or a key that the class asks for ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_most,
                               unsigned seed);

static const char *const values[] = {"0",
                                     "1",
                                     "2",
                                     "3",
                                     "5",
                                     "8",
                                     "16",
                                     "64",
                                     "77",
                                     "-1",
                                     "255",
                                     "4096",
                                     "4097",
                                     "65536",
                                     "1e6",
                                     "1048576",
                                     "1048577",
                                     "0.5",
                                     "-0.0",
                                     "1e308",
                                     "null",
                                     "true",
                                     "false",
                                     "[]",
                                     "{}",
                                     "\"\"",
                                     "\"none\"",
                                     "\"x\"",
                                     "[0]",
                                     "[2]",
                                     "[1,2,4]",
                                     "[[1]]",
                                     "[true]",
                                     "[8,16,16]",
                                     "[null]",
                                     "[[],1]",
                                     "[4096,4096]",
                                     "[32,64]",
                                     "[1,1,1,1]",
                                     "\"rms_norm\"",
                                     "[65536,65536]"};
#define VALUES (sizeof values / sizeof *values)

/* The `seed`-th key that the class asks for with its defaults, or NULL. */
static const char *asked_key(const uint8_t *data, size_t size, unsigned seed)
{
    const uint8_t *stop = size > 0 ? memchr(data, '\n', size) : NULL;
    const char *klass =
        stop ? pick_class((const char *)data, (size_t)(stop - data)) : NULL;
    const struct nwi_architecture *architecture =
        klass ? nwi_architecture_find(klass) : NULL;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nw_model *model = NULL;
    const char *key = NULL;
    struct nwi_config config;
    struct nwi_arena arena;
    nwi_arena_init(&arena, memory);
    nwi_config_init(&config, NULL, NULL, &arena, NULL);
    if (architecture &&
        nwi_model_build(architecture, &config, memory, &model, NULL) == NW_OK)
        key = config.n_asked > 0 ? config.asked[seed % config.n_asked] : NULL;
    nw_model_free(model);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    return key;
}

/* Bytes [at, at + old) become `text`; the new size, the old one if there is no room. */
static size_t put(uint8_t *data, size_t size, size_t most, size_t at, size_t old,
                  const char *text)
{
    size_t n = strlen(text);
    if (size - old + n > most)
        return size;
    memmove(data + at + n, data + at + old, size - at - old);
    memcpy(data + at, text, n);
    return size - old + n;
}

/* A value, or an entry of a list, becomes another one. */
static size_t put_value(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size_t at = size > 0 ? seed / VALUES % size : 0;
    while (at < size && !memchr(":[,", data[at], 3))
        at++;
    if (at >= size)
        return size;
    size_t end = ++at;
    while (end < size && !memchr(",]}", data[end], 3))
        end++;
    return put(data, size, most, at, end - at, values[seed % VALUES]);
}

static size_t put_key(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    char text[200];
    const char *key = asked_key(data, size, seed / VALUES);
    const uint8_t *brace = size > 0 ? memchr(data, '{', size) : NULL;
    if (!key)
        return size;
    (void)snprintf(text, sizeof text, "\"%.100s\":%s%s", key, values[seed % VALUES],
                   brace ? "," : "}");
    if (brace)
        return put(data, size, most, (size_t)(brace - data) + 1, 0, text);
    size = put(data, size, most, size, 0, "\n{");
    return put(data, size, most, size, 0, text);
}

/* The same config for another class. */
static size_t put_class(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    const uint8_t *stop = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n = 0;
    while (nw_class(n))
        n++;
    return put(data, size, most, 0, stop ? (size_t)(stop - data) : size,
               nw_class(seed % n));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_most,
                               unsigned seed)
{
    if (seed % 64 == 2)
        return put_class(data, size, size_most, seed / 64);
    if (seed % 4 == 0)
        return put_key(data, size, size_most, seed / 4);
    if (seed % 4 == 1)
        return put_value(data, size, size_most, seed / 4);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    return LLVMFuzzerMutate(data, size, size_most);
#else
    return size;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nw_allocator limited = {take, give, NULL};
    const char *text = (const char *)data;
    const char *stop = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t line = stop ? (size_t)(stop - text) : size;
    size_t skip = stop ? line + 1 : size;
    const char *klass = pick_class(text, line);
    struct nw_model *model = NULL;
    struct nw_error err;
    bool none = skip == size && klass; /* no text: the class's defaults */
    int code = nw_model_from_config(none ? NULL : text + skip, size - skip, klass,
                                    &limited, &model, &err);
    check_code(code, &err);
    require((code == NW_OK) == (model != NULL));
    if (model) {
        check_model(model);
        check_derive(model);
    }
    nw_model_free(model);
    require(held == 0);
    return 0;
}
