/* SPDX-License-Identifier: Apache-2.0
 * Every class against configs and shapes that no model has: whatever one value is replaced
 * by, and whatever the file's shapes are, the answer is a skeleton of sensible size or
 * BAD_CONFIG, LIMIT or UNSUPPORTED. The values are those that the class itself asks for. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "support/support.h"

#define KEYS_MOST   512u
#define LONG_LIST   100000u
#define MEMORY_MOST ((size_t)1 << 29) /* 2^20 tensors, and what describes them */

/* What a value is replaced by. Numbers that no key can mean are marked: a class that reads
 * the key as a size cannot succeed with them. */
static const char *const mutants[] = {
    "null",
    "true",
    "\"x\"",
    "\"-1\"",
    "{}",
    "[]",
    "[[]]",
    "[\"x\"]",
    "{\"a\":{}}",
    "[null]",
    "[[1,2],[3]]",
    "[-1]",
    "[0]",
    "[1]",
    "[1000000000]",
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "-4611686018427387904",
    "1.5",
    "4096",
    "4097",
    "100000",
    "1048576",
    "1048577",
    "1000000000",
    "4611686018427387904",
    "18446744073709551616",
    "1e300",
    "-1e300",
    "5e-324",
    "[0,0]",
    "[0,0,0]",
    "[1,1,1,1,1,1,1,1,1,1,1]",
    "[1048576,1048576,1048576]",
    "[[[[[[[[[[1]]]]]]]]]]",
    "[{\"a\":1}]",
    "\"\"",
};

struct class_test {
    const struct nwi_architecture *architecture;
    struct nwt_allocator state;
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_json_value *base; /* the smallest config of the class; an object */
    struct nwi_json_value *mutants[sizeof mutants / sizeof *mutants + 2];
    size_t n_mutants;
    const char *where; /* key and replacement, for whom it fails */
    const char *what;
};

static struct class_test t;
static int n_problems;

static struct nwi_json_value *parse(const char *text, size_t size)
{
    struct nw_error err;
    struct nwi_json_value *root = NULL;
    nwi_error_clear(&err);
    assert_ok(nwi_json_parse(text, size, 0, NW_E_BAD_CONFIG, &t.arena, &root, &err),
              &err);
    return root;
}

/* [item,item,...] */
static struct nwi_json_value *long_list(size_t n, const char *item)
{
    struct nwt_buffer b = {0};
    size_t size = strlen(item);
    b.data = malloc(n * (size + 1) + 2);
    assert_non_null(b.data);
    for (size_t i = 0; i < n; i++) {
        b.data[b.size++] = i ? ',' : '[';
        memcpy(b.data + b.size, item, size);
        b.size += size;
    }
    b.data[b.size++] = ']';
    char *text = nwi_arena_copy(&t.arena, b.data, b.size);
    free(b.data);
    return parse(text, b.size);
}

/* ---- one build ---- */

static void problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void problem(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "%s, %s = %s: ", t.architecture->klass, t.where, t.what);
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "\n");
    va_end(args);
    n_problems++;
}

/* Tensors that could be held by a file: their bytes fit 63 bits. */
static void check_model(const struct nw_model *model)
{
    if (model->n_wanted > NWI_MODEL_TENSORS)
        problem("%zu tensors", model->n_wanted);
    for (size_t i = 0; i < model->n_wanted; i++) {
        const struct nwi_wanted *wanted = &model->wanted[i];
        uint64_t total = 1;
        for (uint32_t d = 0; d < wanted->rank; d++) {
            if (total && wanted->shape[d] > INT64_MAX / 16 / total) {
                problem("%s is too large", wanted->name);
                return;
            }
            total *= wanted->shape[d];
        }
    }
}

static void check_answer(int code, struct nw_model *model, const struct nw_error *err)
{
    bool refused =
        code == NW_E_BAD_CONFIG || code == NW_E_LIMIT || code == NW_E_UNSUPPORTED;
    if (code != NW_OK && (!refused || !err->message[0]))
        problem("%s (%s)", err->message, nw_code_name(code));
    if (t.state.live_bytes > MEMORY_MOST)
        problem("%zu bytes", t.state.live_bytes);
    if (code == NW_OK)
        check_model(model);
}

/* Builds, and says the number of tensors; SIZE_MAX if it is refused. */
static size_t build(const struct nwi_json_value *given, struct nwi_config *asked)
{
    struct nwi_arena arena;
    struct nwi_config config;
    struct nw_model *model = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    nwi_arena_init(&arena, t.memory);
    nwi_config_init(&config, given, NULL, asked ? &t.arena : &arena, &err);
    int code = nwi_model_build(t.architecture, &config, t.memory, &model, &err);
    check_answer(code, model, &err);
    size_t n = code == NW_OK ? model->n_wanted : SIZE_MAX;
    if (asked)
        *asked = config;
    nw_model_free(model);
    nwi_arena_release(&arena);
    return n;
}

/* ---- the class's own configs ---- */

static void read_base(void)
{
    char path[1024];
    size_t size = 0;
    size_t least = SIZE_MAX;
    (void)snprintf(path, sizeof path, "%s/model/configs/%s.json", NWT_TESTS,
                   t.architecture->klass);
    char *file = nwt_read(path, &size);
    char *text = nwi_arena_copy(&t.arena, file, size);
    free(file);
    t.where = path;
    t.what = "as it is";
    for (struct nwi_json_value *v = parse(text, size)->first; v; v = v->next) {
        if (v->kind != NWI_JSON_IS_OBJECT || v->n_children == 0)
            continue;
        size_t n = build(v, NULL);
        t.base = n < least ? v : t.base;
        least = n < least ? n : least;
    }
    if (!t.base) { /* the class has no small one */
        t.base = parse("{}", 2);
        least = build(t.base, NULL);
    }
    if (least == SIZE_MAX)
        fail_msg("no config of %s builds", path);
}

static void begin(const struct nwi_architecture *architecture)
{
    t = (struct class_test){.architecture = architecture, .state.fail_at = -1};
    struct nw_allocator allocator = nwt_failing_allocator(&t.state);
    t.memory = nwi_memory_new(&allocator);
    assert_non_null(t.memory);
    nwi_arena_init(&t.arena, t.memory);
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        t.mutants[t.n_mutants++] = parse(mutants[i], strlen(mutants[i]));
    t.mutants[t.n_mutants++] = long_list(NWI_CONFIG_LIST, "1");
    t.mutants[t.n_mutants++] = long_list(LONG_LIST, "8");
    read_base();
}

static void end(void)
{
    nwi_arena_release(&t.arena);
    nwi_memory_release(t.memory);
    assert_int_equal(t.state.live, 0);
    assert_int_equal(t.state.live_bytes, 0);
}

/* ---- one value replaced ---- */

/* `value` is in the base; it is put back. */
static void replace(struct nwi_json_value *value)
{
    struct nwi_json_value saved = *value;
    t.where = saved.key ? saved.key : "an item";
    for (size_t i = 0; i < t.n_mutants; i++) {
        *value = *t.mutants[i];
        value->key = saved.key;
        value->key_size = saved.key_size;
        value->next = saved.next;
        t.what = i < sizeof mutants / sizeof *mutants ? mutants[i] : "a long list";
        (void)build(t.base, NULL);
    }
    *value = saved;
}

/* NOLINTNEXTLINE(misc-no-recursion): the parser bounds the depth */
static void replace_inside(struct nwi_json_value *value)
{
    for (struct nwi_json_value *v = value->first; v; v = v->next) {
        replace(v);
        replace_inside(v);
    }
}

/* Every key that the class asks for, also where its config says nothing. */
static void replace_asked(void)
{
    struct nwi_config asked;
    t.where = "nothing";
    t.what = "as it is";
    assert_true(build(t.base, &asked) != SIZE_MAX);
    assert_true(asked.n_asked > 0);
    for (size_t i = 0; i < asked.n_asked; i++) {
        if (nwi_json_get(t.base, asked.asked[i]))
            continue;
        struct nwi_json_value extra = {.kind = NWI_JSON_IS_NULL,
                                       .key = asked.asked[i],
                                       .key_size = strlen(asked.asked[i]),
                                       .next = t.base->first};
        t.base->first = &extra;
        t.base->n_children++;
        replace(&extra);
        t.base->first = extra.next;
        t.base->n_children--;
    }
}

/* All numbers at once: products of them. */
/* NOLINTNEXTLINE(misc-no-recursion): the parser bounds the depth */
static void set_numbers(struct nwi_json_value *value, const char *text)
{
    for (struct nwi_json_value *v = value->first; v; v = v->next) {
        if (v->kind == NWI_JSON_IS_NUMBER)
            v->text = text;
        set_numbers(v, text);
    }
}

static void replace_numbers(void)
{
    static const char *const numbers[] = {"0", "1", "-1", "64", "3000", "1048576"};
    t.where = "every number";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        t.what = numbers[i];
        set_numbers(t.base, numbers[i]);
        (void)build(t.base, NULL);
    }
}

static void values_of_every_class(void **state)
{
    (void)state;
    for (size_t i = 0; nwi_architectures[i]; i++) {
        begin(nwi_architectures[i]);
        replace_inside(t.base);
        replace_asked();
        replace_numbers();
        end();
    }
    assert_int_equal(n_problems, 0);
}

/* ---- shapes and names of a file ---- */

struct file {
    struct nw_model *model; /* whose names they are */
    struct nwi_header_row *rows;
    uint64_t (*shapes)[8];
    size_t n;
};

static void make_file(struct file *file)
{
    struct nwi_config config;
    struct nw_error err;
    nwi_error_clear(&err);
    nwi_config_init(&config, t.base, NULL, &t.arena, &err);
    assert_ok(nwi_model_build(t.architecture, &config, t.memory, &file->model, &err),
              &err);
    file->n = file->model->n_wanted;
    file->rows = calloc(file->n + 1, sizeof *file->rows);
    file->shapes = calloc(file->n + 1, sizeof *file->shapes);
    assert_non_null(file->rows);
    assert_non_null(file->shapes);
    for (size_t i = 0; i < file->n; i++) {
        const struct nwi_wanted *wanted = &file->model->wanted[i];
        file->rows[i] = (struct nwi_header_row){.name = wanted->name,
                                                .name_size = wanted->name_size,
                                                .shape = file->shapes[i],
                                                .rank = wanted->rank,
                                                .source = NW_NONE};
        assert_in_range(wanted->rank, 0, 8);
        if (wanted->rank)
            memcpy(file->shapes[i], wanted->shape, wanted->rank * sizeof(uint64_t));
    }
}

static void free_file(struct file *file)
{
    nw_model_free(file->model);
    free(file->rows);
    free(file->shapes);
}

/* The skeleton of what the file's shapes tell over the class's defaults. */
static void build_from(const struct file *file)
{
    struct nwi_arena arena;
    struct nwi_config config;
    struct nwi_header header;
    struct nw_model *model = NULL;
    struct nw_error err;
    nwi_error_clear(&err);
    nwi_arena_init(&arena, t.memory);
    assert_ok(nwi_header_init(&header, file->rows, file->n, t.memory, &err), &err);
    nwi_config_init(&config, NULL, NULL, &arena, &err);
    if (t.architecture->derive)
        t.architecture->derive(&config, &header);
    int code = nwi_model_build(t.architecture, &config, t.memory, &model, &err);
    check_answer(code, model, &err);
    nw_model_free(model);
    nwi_header_release(&header);
    nwi_arena_release(&arena);
}

/* What no tensor of the class looks like: ranks and dimensions. */
static const struct {
    const char *what;
    uint32_t rank;
    uint64_t shape[8];
} odd_shapes[] = {
    {"a scalar", 0, {0}},
    {"empty", 1, {0}},
    {"empty, and wide", 2, {0, (uint64_t)1 << 62}},
    {"empty, and tall", 2, {(uint64_t)1 << 62, 0}},
    {"one", 1, {1}},
    {"one and one", 2, {1, 1}},
    {"long", 1, {(uint64_t)1 << 40}},
    {"wide", 4, {3, (uint64_t)1 << 40, 1, 1}},
    {"deep", 8, {1, 2, 3, 4, 5, 6, 7, 8}},
    {"as large as numbers go", 5, {0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
};

static void set_shape(struct file *file, size_t i, size_t odd)
{
    file->rows[i].rank = odd_shapes[odd].rank;
    memcpy(file->shapes[i], odd_shapes[odd].shape, sizeof file->shapes[i]);
}

static void odd_one_by_one(struct file *file, size_t odd)
{
    for (size_t i = 0; i < file->n; i++) {
        struct nwi_header_row row = file->rows[i];
        uint64_t shape[8];
        memcpy(shape, file->shapes[i], sizeof shape);
        t.where = row.name;
        set_shape(file, i, odd);
        build_from(file);
        file->rows[i] = row;
        memcpy(file->shapes[i], shape, sizeof shape);
    }
}

static void odd_together(struct file *file, size_t odd)
{
    t.where = "every tensor";
    for (size_t i = 0; i < file->n; i++)
        set_shape(file, i, odd);
    build_from(file);
}

static void shapes_of_every_class(void **state)
{
    (void)state;
    const size_t n_odd = sizeof odd_shapes / sizeof *odd_shapes;
    for (size_t a = 0; nwi_architectures[a]; a++) {
        struct file file;
        begin(nwi_architectures[a]);
        make_file(&file);
        for (size_t i = 0; i < 2 * n_odd; i++) {
            t.what = odd_shapes[i % n_odd].what;
            if (i < n_odd)
                odd_one_by_one(&file, i);
            else
                odd_together(&file, i - n_odd);
        }
        free_file(&file);
        end();
    }
    assert_int_equal(n_problems, 0);
}

/* The name with its first number replaced where that is 0, else NULL: two names stay
 * two. */
static const char *renumbered(const char *name, const char *number)
{
    size_t at = 0;
    for (size_t i = 1; name[i] && !at; i++)
        at = name[i - 1] == '.' && name[i] >= '0' && name[i] <= '9' ? i : 0;
    size_t size = strspn(name + at, "0123456789");
    if (!at || size != 1 || name[at] != '0' || name[at + 1] != '.')
        return NULL;
    return nwi_arena_printf(&t.arena, "%.*s%s%s", (int)at, name, number,
                            name + at + size);
}

/* Blocks that are numbered as no model numbers them: one, and all of them. */
static void numbers_of_every_class(void **state)
{
    static const char *const numbers[] = {
        "4095",
        "4096",
        "1048576",
        "2147483648",
        "4294967295",
        "18446744073709551616",
        "00000000000000000000000000000000000000000000000000000000000000000000000000001",
    };
    (void)state;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        for (size_t a = 0; nwi_architectures[a]; a++) {
            struct file file;
            begin(nwi_architectures[a]);
            make_file(&file);
            t.what = numbers[k];
            for (size_t i = 0; i < file.n; i++) {
                const char *name = renumbered(file.rows[i].name, numbers[k]);
                t.where = file.rows[i].name;
                file.rows[i].name = name ? name : file.rows[i].name;
                file.rows[i].name_size = strlen(file.rows[i].name);
                if (name && i < 8)
                    build_from(&file);
            }
            build_from(&file);
            free_file(&file);
            end();
        }
    }
    assert_int_equal(n_problems, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_class),
        cmocka_unit_test(shapes_of_every_class),
        cmocka_unit_test(numbers_of_every_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
