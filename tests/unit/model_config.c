/* SPDX-License-Identifier: Apache-2.0
 * What configs say: defaults, types, unknown and deprecated keys, configs in configs, what
 * shapes tell against what is written, and which class it is. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "support/support.h"

struct scene {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nwi_config config;
    struct nw_model *model;
    struct nw_error err;
};

static struct nwi_json_value *parse(struct scene *s, const char *text)
{
    struct nwi_json_value *root = NULL;
    assert_ok(nwi_json_parse(text, strlen(text), 0, NW_E_BAD_CONFIG, &s->arena, &root,
                             &s->err),
              &s->err);
    return root;
}

/* A config of its texts, each NULL for none. */
static void start(struct scene *s, const char *given, const char *preset)
{
    s->memory = nwi_memory_new(NULL);
    s->model = NULL;
    nwi_error_clear(&s->err);
    nwi_arena_init(&s->arena, s->memory);
    nwi_config_init(&s->config, given ? parse(s, given) : NULL,
                    preset ? parse(s, preset) : NULL, &s->arena, &s->err);
}

static void stop(struct scene *s)
{
    nw_model_free(s->model);
    nwi_arena_release(&s->arena);
    nwi_memory_release(s->memory);
}

static void assert_failed(const struct scene *s, int code, const char *message)
{
    assert_int_equal(s->config.code, code);
    assert_int_equal(s->err.code, code);
    assert_string_equal(s->err.message, message);
}

/* ---- values ---- */

static void what_is_missing_is_the_default(void **state)
{
    static const int64_t sizes[] = {3, 4};
    static const char *const texts[] = {"x", "y"};
    struct nwi_config_ints ints;
    struct nwi_config_texts list;
    struct scene s;
    (void)state;
    start(&s, "{}", NULL);
    assert_int_equal(nwi_config_int(&s.config, "a", 7), 7);
    assert_int_equal(nwi_config_count(&s.config, "a", 7), 7);
    assert_int_equal(nwi_config_int_or_null(&s.config, "a", NWI_NULL), NWI_NULL);
    assert_true(nwi_config_real(&s.config, "a", 0.5) == 0.5);
    assert_true(nwi_config_bool(&s.config, "a", true));
    assert_string_equal(nwi_config_text(&s.config, "a", "gelu"), "gelu");
    assert_true(nwi_config_is(&s.config, "a", "gelu", "gelu"));
    assert_false(nwi_config_has(&s.config, "a"));
    nwi_config_ints_or(&s.config, "a", sizes, 2, &ints);
    assert_int_equal(ints.n, 2);
    assert_int_equal(ints.at[1], 4);
    assert_false(ints.given);
    nwi_config_texts_or(&s.config, "a", texts, 2, &list);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.at[1], "y");
    assert_int_equal(s.config.code, NW_OK);
    stop(&s);
}

static void null_is_not_the_default(void **state)
{
    static const int64_t sizes[] = {3};
    struct nwi_config_ints ints;
    struct scene s;
    (void)state;
    start(&s, "{\"a\": null}", NULL);
    assert_int_equal(nwi_config_int_or_null(&s.config, "a", 7), NWI_NULL);
    assert_false(nwi_config_bool(&s.config, "a", true));
    assert_null(nwi_config_text(&s.config, "a", "gelu"));
    assert_false(nwi_config_is(&s.config, "a", "gelu", "gelu"));
    assert_false(nwi_config_has(&s.config, "a"));
    nwi_config_ints_or(&s.config, "a", sizes, 1, &ints);
    assert_int_equal(ints.n, 0);
    assert_int_equal(s.config.code, NW_OK);
    assert_int_equal(nwi_config_int(&s.config, "a", 7), 7);
    assert_failed(&s, NW_E_BAD_CONFIG, "\"a\" of the config is not a number, but null");
    stop(&s);
}

static void numbers_are_whole_and_sensible(void **state)
{
    struct nwi_config_ints ints;
    struct scene s;
    (void)state;
    start(&s, "{\"a\": 2.0, \"b\": true, \"c\": 1048576, \"d\": -1048576, \"e\": 1e3}",
          NULL);
    assert_int_equal(nwi_config_int(&s.config, "a", 0), 2);
    assert_int_equal(nwi_config_int(&s.config, "b", 0), 1);
    assert_int_equal(nwi_config_int(&s.config, "c", 0), 1048576);
    assert_int_equal(nwi_config_int(&s.config, "d", 0), -1048576);
    assert_int_equal(nwi_config_int(&s.config, "e", 0), 1000);
    nwi_config_ints(&s.config, "a", &ints);
    assert_true(ints.scalar);
    nwi_config_spread(&s.config, "a", &ints, 3);
    assert_int_equal(ints.n, 3);
    assert_int_equal(ints.at[2], 2);
    assert_int_equal(s.config.code, NW_OK);
    nwi_config_spread(&s.config, "a", &ints, 2);
    assert_failed(&s, NW_E_BAD_CONFIG, "\"a\" of the config has 3 items, 2 are needed");
    stop(&s);
}

enum question { INT, COUNT, REAL, BOOL, TEXT, INTS, TEXTS, INNER };

static void ask(struct scene *s, enum question question)
{
    struct nwi_config_ints ints;
    struct nwi_config_texts texts;
    struct nwi_config inner;
    switch (question) {
    case INT:
        assert_int_equal(nwi_config_int(&s->config, "k", 5), 5);
        break;
    case COUNT:
        (void)nwi_config_count(&s->config, "k", 5);
        break;
    case REAL:
        assert_true(nwi_config_real(&s->config, "k", 5) == 5);
        break;
    case BOOL:
        (void)nwi_config_bool(&s->config, "k", true);
        break;
    case TEXT:
        assert_string_equal(nwi_config_text(&s->config, "k", "d"), "d");
        break;
    case INTS:
        nwi_config_ints(&s->config, "k", &ints);
        break;
    case TEXTS:
        nwi_config_texts(&s->config, "k", &texts);
        break;
    case INNER:
        nwi_config_inner(&s->config, "k", &inner);
        nwi_config_join(&s->config, &inner);
        break;
    }
}

#define NOT_WHOLE "a whole number of a sensible size"

static const struct {
    enum question question;
    const char *value;
    const char *wanted; /* "... is not WANTED" */
} wrong_types[] = {
    {INT, "\"1\"", NOT_WHOLE},
    {INT, "1.5", NOT_WHOLE},
    {INT, "[1]", NOT_WHOLE},
    {INT, "{}", NOT_WHOLE},
    {INT, "1048577", NOT_WHOLE},
    {INT, "-1048577", NOT_WHOLE},
    {INT, "1e400", NOT_WHOLE},
    {INT, "4611686018427387904", NOT_WHOLE},
    {INT, "null", "a number, but null"},
    {COUNT, "\"1\"", NOT_WHOLE},
    {REAL, "\"1\"", "a number"},
    {REAL, "true", "a number"},
    {REAL, "[]", "a number"},
    {BOOL, "\"true\"", "true or false"},
    {BOOL, "0.5", "true or false"},
    {TEXT, "1", "a text"},
    {TEXT, "[\"a\"]", "a text"},
    {INTS, "\"1\"", "a number or a list of them"},
    {INTS, "[1, \"2\"]", "a list of whole numbers"},
    {INTS, "[[1]]", "a list of whole numbers"},
    {TEXTS, "\"a\"", "a list of texts"},
    {TEXTS, "[1]", "a list of texts"},
    {INNER, "[]", "an object"},
    {INNER, "\"a\"", "an object"},
};

static void another_type_names_the_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_types / sizeof *wrong_types; i++) {
        struct scene s;
        char given[100];
        char message[100];
        (void)snprintf(given, sizeof given, "{\"k\": %s}", wrong_types[i].value);
        (void)snprintf(message, sizeof message, "\"k\" of the config is not %s",
                       wrong_types[i].wanted);
        start(&s, given, NULL);
        ask(&s, wrong_types[i].question);
        assert_failed(&s, NW_E_BAD_CONFIG, message);
        stop(&s);
    }
}

static void counts_and_lists_are_bounded(void **state)
{
    struct scene s;
    char list[4096] = "{\"k\": [0";
    (void)state;
    start(&s, "{\"k\": -1}", NULL);
    ask(&s, COUNT);
    assert_failed(&s, NW_E_BAD_CONFIG, "\"k\" of the config is -1");
    stop(&s);
    start(&s, "{\"k\": 4097}", NULL);
    ask(&s, COUNT);
    assert_failed(&s, NW_E_LIMIT, "\"k\" of the config is 4097, at most 4096");
    stop(&s);
    for (unsigned i = 0; i < NWI_CONFIG_LIST; i++)
        strcat(list, ",0");
    start(&s, strcat(list, "]}"), NULL);
    ask(&s, INTS);
    assert_failed(&s, NW_E_LIMIT,
                  "\"k\" of the config has 257 items, at most 256 are possible");
    stop(&s);
}

/* The first failure stays, and everything else answers with its default. */
static void errors_stick(void **state)
{
    struct scene s;
    (void)state;
    start(&s, "{\"a\": \"x\", \"b\": 3, \"c\": []}", NULL);
    (void)nwi_config_int(&s.config, "a", 1);
    assert_int_equal(nwi_config_int(&s.config, "b", 8), 8);
    (void)nwi_config_text(&s.config, "c", "d");
    assert_failed(&s, NW_E_BAD_CONFIG, "\"a\" of the config is not " NOT_WHOLE);
    stop(&s);
}

/* ---- keys ---- */

static void keys_that_nobody_asked_for_are_unknown(void **state)
{
    static const char *const plain[] = {"sample_size", NULL};
    struct scene s;
    (void)state;
    start(&s,
          "{\"_class_name\": \"X\", \"z\": 1, \"dim\": 2, \"sample_size\": 4, "
          "\"quantization_config\": {}, \"a\": null}",
          NULL);
    (void)nwi_config_int(&s.config, "dim", 1);
    (void)nwi_config_int(&s.config, "absent", 1);
    nwi_config_known(&s.config, plain);
    assert_string_equal(nwi_config_unknown(&s.config, 0), "z");
    assert_string_equal(nwi_config_unknown(&s.config, 1), "a");
    assert_null(nwi_config_unknown(&s.config, 2));
    stop(&s);
}

static void configs_in_configs_count_their_own(void **state)
{
    struct nwi_config inner;
    struct scene s;
    (void)state;
    start(&s, "{\"text_config\": {\"dim\": 3, \"bad\": \"x\"}, \"dim\": 9}", NULL);
    nwi_config_inner(&s.config, "text_config", &inner);
    assert_int_equal(nwi_config_int(&inner, "dim", 1), 3);
    assert_string_equal(nwi_config_unknown(&inner, 0), "bad");
    assert_int_equal(nwi_config_int(&inner, "bad", 1), 1);
    assert_int_equal(s.config.code, NW_OK);
    nwi_config_join(&s.config, &inner);
    assert_failed(&s, NW_E_BAD_CONFIG, "\"bad\" of the config is not " NOT_WHOLE);
    stop(&s);
    start(&s, NULL, "{\"text_config\": {\"dim\": 3, \"n\": 4}}");
    nwi_config_init(&inner, NULL, NULL, &s.arena, &s.err);
    nwi_config_derive(&inner, "dim", 5);
    nwi_config_derive_inner(&s.config, "text_config", &inner);
    nwi_config_inner(&s.config, "text_config", &inner);
    assert_int_equal(nwi_config_int(&inner, "dim", 1), 5); /* shapes over preset */
    assert_int_equal(nwi_config_int(&inner, "n", 1), 4);
    stop(&s);
}

/* ---- what shapes tell ---- */

/* A given config counts alone; without one, shapes over the preset over the default. */
static void shapes_stand_over_presets(void **state)
{
    struct scene s;
    (void)state;
    start(&s, NULL, "{\"a\": 1, \"b\": 2}");
    nwi_config_derive(&s.config, "a", 5);
    nwi_config_derive(&s.config, "a", 6);
    nwi_config_derive(&s.config, "b", -1); /* the file does not say */
    assert_int_equal(nwi_config_int(&s.config, "a", 9), 6);
    assert_int_equal(nwi_config_int(&s.config, "b", 9), 2);
    assert_int_equal(nwi_config_int(&s.config, "c", 9), 9);
    stop(&s);
    start(&s, "{\"a\": 3}", "{\"b\": 2}");
    nwi_config_derive(&s.config, "a", 5);
    assert_int_equal(nwi_config_int(&s.config, "a", 9), 3);
    assert_int_equal(nwi_config_int(&s.config, "b", 9), 9);
    stop(&s);
}

static void contradictions_are_named(void **state)
{
    static const int64_t channels[] = {320, 640};
    struct nwi_config_conflict conflict;
    struct scene s;
    (void)state;
    start(&s, "{\"same\": 4.0, \"n\": 3, \"list\": [320, 1280], \"text\": \"silu\"}",
          NULL);
    nwi_config_derive_text(&s.config, "text", "gelu");
    nwi_config_derive_ints(&s.config, "list", channels, 2);
    nwi_config_derive(&s.config, "n", 2);
    nwi_config_derive(&s.config, "same", 4);
    nwi_config_derive(&s.config, "not given", 4);
    assert_true(nwi_config_conflict(&s.config, 0, &conflict));
    assert_string_equal(conflict.key, "n");
    assert_string_equal(conflict.given, "3");
    assert_string_equal(conflict.derived, "2");
    assert_true(nwi_config_conflict(&s.config, 1, &conflict));
    assert_string_equal(conflict.key, "list");
    assert_string_equal(conflict.given, "[320, 1280]");
    assert_string_equal(conflict.derived, "[320, 640]");
    assert_true(nwi_config_conflict(&s.config, 2, &conflict));
    assert_string_equal(conflict.given, "silu");
    assert_false(nwi_config_conflict(&s.config, 3, &conflict));
    stop(&s);
}

/* The shortest number for which int(ratio * whole) is the part. */
static void ratios_come_back(void **state)
{
    static const int64_t wholes[] = {1, 3, 7, 320, 1152, 5120};
    (void)state;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        for (int64_t part = 1; part < 3 * wholes[i]; part += 1 + part / 16) {
            struct scene s;
            start(&s, NULL, NULL);
            nwi_config_derive_ratio(&s.config, "r", part, wholes[i]);
            double ratio = nwi_config_real(&s.config, "r", -1);
            assert_int_equal((int64_t)(ratio * (double)wholes[i]), part);
            stop(&s);
        }
    }
}

/* ---- which class ---- */

static int make(struct scene *s, const char *json, const char *klass)
{
    nw_model_free(s->model);
    s->model = NULL;
    return nw_model_from_config(json, json ? strlen(json) : 0, klass, NULL, &s->model,
                                &s->err);
}

static void the_class_is_the_callers_then_the_configs(void **state)
{
    struct scene s;
    (void)state;
    start(&s, NULL, NULL);
    assert_ok(make(&s, "{\"_class_name\": \"AutoencoderTiny\"}", NULL), &s.err);
    assert_string_equal(nw_model_class(s.model), "AutoencoderTiny");
    assert_ok(make(&s, "{\"_class_name\": \"AutoencoderTiny\"}", "AutoencoderKL"),
              &s.err);
    assert_string_equal(nw_model_class(s.model), "AutoencoderKL");
    assert_ok(make(&s,
                   "{\"architectures\": [\"CLIPTextModel\"], \"model_type\": \"t5\"}",
                   NULL),
              &s.err);
    assert_string_equal(nw_model_class(s.model), "CLIPTextModel");
    assert_ok(make(&s, "{\"model_type\": \"t5\"}", NULL), &s.err);
    assert_string_equal(nw_model_class(s.model), "T5EncoderModel");
    assert_ok(make(&s, NULL, "AutoencoderTiny"), &s.err);
    assert_code(make(&s, "{\"_class_name\": \"Nobody\"}", NULL), NW_E_UNSUPPORTED,
                &s.err);
    assert_non_null(strstr(s.err.message, "Nobody"));
    assert_code(make(&s, "{}", "Nobody"), NW_E_UNSUPPORTED, &s.err);
    assert_code(make(&s, "{\"_class_name\": 3}", NULL), NW_E_BAD_CONFIG, &s.err);
    assert_code(make(&s, "{}", NULL), NW_E_BAD_CONFIG, &s.err);
    assert_non_null(strstr(s.err.message, "names no class"));
    assert_code(make(&s, "[]", "AutoencoderKL"), NW_E_BAD_CONFIG, &s.err);
    assert_code(make(&s, "{", "AutoencoderKL"), NW_E_BAD_CONFIG, &s.err);
    stop(&s);
}

static void unknown_keys_of_a_model_are_named(void **state)
{
    struct scene s;
    (void)state;
    start(&s, NULL, NULL);
    assert_ok(
        make(&s, "{\"frobnicate\": 1, \"_diffusers_version\": \"0\"}", "AutoencoderKL"),
        &s.err);
    assert_string_equal(nw_model_unknown_key(s.model, 0), "frobnicate");
    assert_null(nw_model_unknown_key(s.model, 1));
    stop(&s);
}

/* Every class that has deprecated keys reads them as what they are called now. */
static void deprecated_keys_are_read(void **state)
{
    size_t n = 0;
    (void)state;
    for (size_t i = 0; nwi_architectures[i]; i++) {
        const struct nwi_key_alias *alias = nwi_architectures[i]->aliases;
        for (; alias && alias->old; alias++, n++) {
            struct scene s;
            char json[200];
            char key[100];
            start(&s, NULL, NULL);
            (void)snprintf(key, sizeof key, "\"%s\"", alias->now);
            (void)snprintf(json, sizeof json, "{\"%s\": {\"no\": 1}}", alias->old);
            (void)make(&s, json, nwi_architectures[i]->klass);
            if (s.model && nw_model_unknown_key(s.model, 0))
                fail_msg("%s: %s is not read", nwi_architectures[i]->klass, alias->old);
            if (!s.model && !strstr(s.err.message, key))
                fail_msg("%s: %s: %s", nwi_architectures[i]->klass, alias->old,
                         s.err.message);
            stop(&s);
        }
    }
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_the_default),
        cmocka_unit_test(null_is_not_the_default),
        cmocka_unit_test(numbers_are_whole_and_sensible),
        cmocka_unit_test(another_type_names_the_key),
        cmocka_unit_test(counts_and_lists_are_bounded),
        cmocka_unit_test(errors_stick),
        cmocka_unit_test(keys_that_nobody_asked_for_are_unknown),
        cmocka_unit_test(configs_in_configs_count_their_own),
        cmocka_unit_test(shapes_stand_over_presets),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(ratios_come_back),
        cmocka_unit_test(the_class_is_the_callers_then_the_configs),
        cmocka_unit_test(unknown_keys_of_a_model_are_named),
        cmocka_unit_test(deprecated_keys_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
