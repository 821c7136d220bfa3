/* SPDX-License-Identifier: Apache-2.0
 * The dtype policy: which type a tensor gets, and what is refused. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/policy.h"
#include "support/support.h"

/* One tensor put to a policy. */
struct question {
    const char *name;
    int stored; /* enum nw_dtype */
    uint32_t rank;
    uint64_t size;      /* elements along each dimension */
    const char *scheme; /* not NULL: quantised */
};

/* "F16", "F32 kept", or "CODE [tensor]: message". */
static const char *ask(const struct nw_load_options *options, struct question question,
                       char *text, size_t size)
{
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    struct nwi_policy policy;
    struct nwi_decision decision = {0};
    struct nw_error err;
    uint64_t shape[8];
    for (size_t i = 0; i < 8; i++)
        shape[i] = question.size ? question.size : 4;
    struct nwi_stored stored = {.dtype = (uint8_t)question.stored,
                                .scheme = question.scheme,
                                .quantised = question.scheme != NULL};
    struct nwi_binding binding = {.name = question.name,
                                  .name_size = strlen(question.name),
                                  .shape = shape,
                                  .rank = question.rank};
    nwi_arena_init(&arena, memory);
    nwi_error_clear(&err);
    int code = nwi_policy_init(&policy, options, &arena, &err);
    if (code == NW_OK)
        code = nwi_policy_decide(&policy, &stored, &binding, &decision, &err);
    assert_int_equal(code, err.code);
    if (code == NW_OK)
        (void)snprintf(text, size, "%s%s", nw_dtype_name(decision.dtype),
                       decision.kept_fp32 ? " kept" : "");
    else
        (void)snprintf(text, size, "%s [%s]: %s", nw_code_name(code), err.tensor,
                       err.message);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    return text;
}

static void expect(const struct nw_load_options *options, struct question question,
                   const char *expected)
{
    char text[1024];
    assert_string_equal(ask(options, question, text, sizeof text), expected);
}

static const struct question bf16 = {"a.weight", NW_BF16, 2, 0, NULL};

static void auto_keeps_every_type(void **state)
{
    (void)state;
    const char *const keep[] = {"norm"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.keep_fp32 = keep; /* acts only where a dtype is given */
    options.n_keep_fp32 = 1;
    for (int dtype = NW_BOOL; dtype < NW_DTYPE_UNKNOWN; dtype++)
        expect(&options, (struct question){"a.norm.w", dtype, 1, 0, NULL},
               nw_dtype_name(dtype));
}

static void only_floating_types_change(void **state)
{
    (void)state;
    static const int kept[] = {NW_BOOL, NW_U8,  NW_I8,  NW_U16, NW_I16,
                               NW_U32,  NW_I32, NW_U64, NW_I64, NW_C64};
    static const int cast[] = {NW_F16,         NW_BF16,        NW_F32,
                               NW_F64,         NW_F8_E4M3,     NW_F8_E5M2,
                               NW_F8_E4M3FNUZ, NW_F8_E5M2FNUZ, NW_F8_E8M0};
    const char *const keep[] = {"ids"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_BF16;
    options.keep_fp32 = keep;
    options.n_keep_fp32 = 1;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        expect(&options, (struct question){"ids", kept[i], 1, 0, NULL},
               nw_dtype_name(kept[i]));
    for (size_t i = 0; i < sizeof cast / sizeof *cast; i++)
        expect(&options, (struct question){"x", cast[i], 1, 0, NULL}, "BF16");
}

static void keep_fp32_matches_whole_components(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int stored;
        const char *expected;
    } rows[] = {
        {"a.norm.weight", NW_F32, "F32 kept"},
        {"a.norm.weight", NW_BF16, "F32 kept"},
        {"a.norm.weight", NW_F64, "F32 kept"},
        {"norm", NW_F16, "F32 kept"},
        {"a.norm1.weight", NW_F32, "F16"},
        {"norm_proj.weight", NW_F32, "F16"},
        {"a.Norm.weight", NW_F32, "F16"},
        {"a.norm.ids", NW_I64, "I64"},
        {"x.scale_shift_table", NW_BF16, "F32 kept"},
        {"a.b", NW_F32, "F16"}, /* an entry with a dot never matches */
    };
    const char *const keep[] = {"norm", "scale_shift_table", "a.b"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_F16;
    options.keep_fp32 = keep;
    options.n_keep_fp32 = 3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(&options, (struct question){rows[i].name, rows[i].stored, 1, 0, NULL},
               rows[i].expected);
}

static void the_last_matching_rule_wins(void **state)
{
    (void)state;
    const char *const rules[] = {"*=fp8_e4m3", "*.norm.*=fp32", "*.bias=auto"};
    const char *const keep[] = {"norm"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype_rules = rules;
    options.n_dtype_rules = 3;
    expect(&options, (struct question){"a.w", NW_BF16, 2, 0, NULL}, "F8_E4M3");
    expect(&options, (struct question){"a.norm.w", NW_BF16, 2, 0, NULL}, "F32");
    expect(&options, (struct question){"a.norm.bias", NW_BF16, 2, 0, NULL}, "BF16");
    expect(&options, (struct question){"a.ids", NW_I64, 2, 0, NULL}, "I64");
    /* A rule beats keep_fp32, which beats dtype. */
    options.dtype = NW_F16;
    options.keep_fp32 = keep;
    options.n_keep_fp32 = 1;
    expect(&options, (struct question){"a.norm.bias", NW_BF16, 2, 0, NULL}, "BF16");
    options.n_dtype_rules = 0;
    expect(&options, (struct question){"a.norm.bias", NW_BF16, 2, 0, NULL}, "F32 kept");
    expect(&options, (struct question){"a.bias", NW_BF16, 2, 0, NULL}, "F16");
}

static void conditions_look_at_rank_and_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        uint32_t rank;
        uint64_t size;
        bool matches; /* then F8_E5M2, else BF16 */
    } rows[] = {
        {"*@rank<=1=fp8_e5m2", 0, 4, true},
        {"*@rank<=1=fp8_e5m2", 1, 4, true},
        {"*@rank<=1=fp8_e5m2", 2, 4, false},
        {"*@rank<1=fp8_e5m2", 0, 4, true},
        {"*@rank<1=fp8_e5m2", 1, 4, false},
        {"*@rank=2=fp8_e5m2", 2, 4, true},
        {"*@rank=2=fp8_e5m2", 1, 4, false},
        {"*@rank<0=fp8_e5m2", 0, 4, false},
        {"*@bytes<8=fp8_e5m2", 1, 4, false},
        {"*@bytes<=8=fp8_e5m2", 1, 4, true},
        {"*@bytes<1KiB=fp8_e5m2", 1, 511, true},
        {"*@bytes<1KiB=fp8_e5m2", 1, 512, false},
        {"*@bytes=1KiB=fp8_e5m2", 1, 512, true},
        {"*@bytes<0=fp8_e5m2", 1, 4, false},
        {"*@rank=1@bytes<1kB=fp8_e5m2", 1, 4, true},
        {"*@rank=1@bytes<1kB=fp8_e5m2", 1, 500, false},
        {"*@rank=1@bytes<1kB=fp8_e5m2", 2, 4, false},
        {"*@rank<=1@rank=1=fp8_e5m2", 0, 4, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.dtype_rules = &rows[i].rule;
        options.n_dtype_rules = 1;
        expect(&options,
               (struct question){"a", NW_BF16, rows[i].rank, rows[i].size, NULL},
               rows[i].matches ? "F8_E5M2" : "BF16");
    }
}

/* Neither `@` nor `=` is out of bounds in a name. */
static void names_may_hold_the_separators(void **state)
{
    (void)state;
    const char *const rules[] = {"a@b=c=fp32", "a@rank=torch.float16"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype_rules = rules;
    options.n_dtype_rules = 2;
    expect(&options, (struct question){"a@b=c", NW_BF16, 1, 0, NULL}, "F32");
    expect(&options, (struct question){"a@rank", NW_BF16, 1, 0, NULL}, "F16");
}

static void bad_rules_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *expected;
    } rows[] = {
#define FORM " (GLOB[@rank<=N|@bytes<SIZE]=DTYPE)"
        {"*", "ARG []: dtype rule \"*\" has no \"=\"" FORM},
        {"*=fp7", "ARG []: dtype rule \"*=fp7\" does not end in a dtype" FORM},
        {"*@rank<=1", "ARG []: dtype rule \"*@rank<=1\" does not end in a dtype" FORM},
        {"*@rank<=x=fp32", "ARG []: dtype rule \"*@rank<=x=fp32\" has a condition that "
                           "is not understood" FORM},
        {"*@size<4=fp32", "ARG []: dtype rule \"*@size<4=fp32\" has a condition that "
                          "is not understood" FORM},
        {"=fp32", "ARG []: dtype rule \"=fp32\" has no pattern" FORM},
        {"@rank<2=fp32", "ARG []: dtype rule \"@rank<2=fp32\" has no pattern" FORM},
        {"*=int8",
         "ARG []: dtype rule \"*=int8\" asks for I8, which is no floating type to "
         "convert to"},
        {"*=F4",
         "UNSUPPORTED []: dtype rule \"*=F4\" asks for F4, which this version cannot "
         "convert to"},
        {NULL, "ARG []: a dtype rule is NULL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.dtype_rules = &rows[i].rule;
        options.n_dtype_rules = 1;
        expect(&options, bf16, rows[i].expected);
    }
}

static void only_cast_targets_can_be_asked_for(void **state)
{
    (void)state;
    for (int dtype = -1; dtype <= NW_DTYPE_COUNT; dtype++) {
        char text[512];
        struct nw_load_options options = NW_OPTIONS_INIT(options);
        options.dtype = dtype;
        (void)ask(&options, bf16, text, sizeof text);
        bool packed = dtype == NW_F4 || dtype == NW_F6_E2M3 || dtype == NW_F6_E3M2;
        bool target = dtype == NW_F64 || dtype == NW_F32 || dtype == NW_F16 ||
                      dtype == NW_BF16 || dtype == NW_F8_E4M3 || dtype == NW_F8_E5M2 ||
                      dtype == NW_F8_E4M3FNUZ || dtype == NW_F8_E5M2FNUZ;
        if (target)
            assert_string_equal(text, nw_dtype_name(dtype));
        else if (dtype == NW_DTYPE_AUTO)
            assert_string_equal(text, "BF16");
        else
            assert_memory_equal(text, packed ? "UNSUPPORTED" : "ARG", packed ? 11 : 3);
    }
}

static void packed_floats_are_kept_or_refused(void **state)
{
    (void)state;
    struct question f4 = {"q", NW_F4, 2, 0, NULL};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    expect(&options, f4, "F4");
    options.dtype = NW_BF16;
    expect(&options, f4,
           "UNSUPPORTED [q]: F4 cannot be converted to BF16 by this version");
}

static void quantised_tensors_are_never_cast(void **state)
{
    (void)state;
    const char *refused =
        "UNSUPPORTED [l.weight]: the tensor is part of scheme scaled_fp8, "
        "which this version cannot dequantise; --dequantise no keeps it as "
        "stored";
    const char *const as_stored[] = {"l.*=auto"};
    struct question weight = {"l.weight", NW_F8_E4M3, 2, 0, "scaled_fp8"};
    struct question packed = {"l.weight", NW_I8, 2, 0, "scaled_fp8"};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    expect(&options, weight, "F8_E4M3");
    options.dtype =
        NW_F8_E4M3; /* its own type is no exception: the scales would be lost */
    expect(&options, weight, refused);
    options.dtype = NW_BF16;
    expect(&options, weight, refused);
    expect(&options, packed, refused);
    options.dequantise = NW_CHOICE_NO;
    expect(&options, weight, "F8_E4M3");
    expect(&options, packed, "I8");
    options.dequantise = NW_CHOICE_AUTO;
    options.dtype_rules = as_stored;
    options.n_dtype_rules = 1;
    expect(&options, weight, "F8_E4M3");
    options.dequantise = NW_CHOICE_YES;
    expect(&options, weight, refused);
    options.n_dtype_rules = 0;
    options.dtype = NW_DTYPE_AUTO;
    expect(&options, weight, refused);
    expect(&options, bf16, "BF16");
}

static void empty_keep_entries_are_refused(void **state)
{
    (void)state;
    const char *const keep[] = {""};
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.keep_fp32 = keep;
    options.n_keep_fp32 = 1;
    expect(&options, bf16, "ARG []: keep_fp32 holds an empty name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_keeps_every_type),
        cmocka_unit_test(only_floating_types_change),
        cmocka_unit_test(keep_fp32_matches_whole_components),
        cmocka_unit_test(the_last_matching_rule_wins),
        cmocka_unit_test(conditions_look_at_rank_and_bytes),
        cmocka_unit_test(names_may_hold_the_separators),
        cmocka_unit_test(bad_rules_are_named),
        cmocka_unit_test(only_cast_targets_can_be_asked_for),
        cmocka_unit_test(packed_floats_are_kept_or_refused),
        cmocka_unit_test(quantised_tensors_are_never_cast),
        cmocka_unit_test(empty_keep_entries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
