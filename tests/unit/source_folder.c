/* SPDX-License-Identifier: Apache-2.0
 * Model folders: which set is taken, indexes, variants, and what must never be opened. */
#include "source.h"

static const struct nw_open_options strict = {.size = sizeof strict};
static const struct nw_open_options report = {.size = sizeof report,
                                              .flags = NW_OPEN_REPORT};
static const struct nw_open_options lenient = {.size = sizeof lenient,
                                               .tolerate = NW_TOLERATE_INDEX};

static struct nw_open_options of_variant(const char *variant)
{
    struct nw_open_options options = {.size = sizeof options, .variant = variant};
    return options;
}

#define SHARD(i, n) "model-0000" #i "-of-0000" #n ".safetensors"

/* a.weight in shard 1, b.weight in shard 2, both with `value`. */
static void write_shards(const char *folder, float value)
{
    WEIGHTS(folder, SHARD(1, 2), value, "a.weight");
    WEIGHTS(folder, SHARD(2, 2), value, "b.weight");
    write_text(folder, "model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"a.weight\":\"" SHARD(
                   1, 2) "\",\"b.weight\":\"" SHARD(2, 2) "\"}}");
}

static void opens_as(const char *path, const struct nw_open_options *options,
                     const char *name, float value)
{
    struct nw_checkpoint *ckpt = open_with(path, options);
    assert_true(value_of(ckpt, NULL, name) == value);
    nw_checkpoint_free(ckpt);
}

/* ---- sets ---- */

static void test_one_of_several(void **state)
{
    static const char *const ignored[] = {
        "model-00001-of-00001.safetensors", "consolidated.safetensors",
        "pytorch_model.bin", "model.fp16.safetensors", "flax_model.msgpack"};
    write_shards(*state, 1);
    WEIGHTS(*state, ignored[0], 2, "a.weight", "b.weight");
    WEIGHTS(*state, ignored[1], 3, "a.weight", "b.weight");
    write_text(*state, ignored[2], "not read");
    WEIGHTS(*state, ignored[3], 4, "a.weight", "b.weight");
    write_text(*state, ignored[4], "not read");
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
    assert_true(value_of(ckpt, NULL, "a.weight") == 1);
    assert_true(value_of(ckpt, NULL, "b.weight") == 1);
    for (size_t i = 0; i < 5; i++) {
        struct nw_stored_file file = file_of(ckpt, ignored[i]);
        assert_int_equal(file.used, 0);
        assert_true(file.reason && file.reason[0]);
        assert_true(file.nbytes > 0);
    }
    assert_string_equal(file_of(ckpt, ignored[0]).container, "safetensors");
    assert_has(file_of(ckpt, ignored[3]).reason, "fp16");
    assert_int_equal(file_of(ckpt, SHARD(2, 2)).used, 1);
    assert_string_equal(file_of(ckpt, "model.safetensors.index.json").container,
                        "index");
    assert_int_equal(file_of(ckpt, "model.safetensors.index.json").used, 1);
    assert_int_equal(nw_checkpoint_file_count(ckpt), 8);
    assert_int_equal(count_problems(ckpt, false), 0);
    nw_checkpoint_free(ckpt);
}

/* One more file at a time, each better than those before. */
static void test_order(void **state)
{
    static const char *const better[] = {"foo.safetensors", "pytorch_model.safetensors",
                                         "model.safetensors",
                                         "diffusion_pytorch_model.safetensors"};
    for (size_t i = 0; i < 4; i++) {
        WEIGHTS(*state, better[i], (float)i, "w");
        opens_as(*state, &strict, "w", (float)i);
    }
    WEIGHTS(*state, "diffusion_pytorch_model-00001-of-00001.safetensors", 9, "w");
    write_text(*state, "diffusion_pytorch_model.safetensors.index.json",
               "{\"weight_map\":{\"w\":\"diffusion_pytorch_model-00001-of-00001."
               "safetensors\"}}");
    opens_as(*state, &strict, "w", 9);
}

static void test_lone_sets(void **state)
{
    WEIGHTS(*state, "a/sd_xl_base_1.0.safetensors", 1, "w");
    WEIGHTS(*state, "b/thing.fp16.safetensors", 2, "w");
    WEIGHTS(*state, "c/model-00001-of-00001.safetensors", 3, "w");
    WEIGHTS(*state, "d/one.safetensors", 4, "w");
    WEIGHTS(*state, "d/two.safetensors", 4, "w");
    WEIGHTS(*state, "e/net.safetensors", 5, "w");
    WEIGHTS(*state, "e/net.fp16.safetensors", 6, "w");
    opens_as(at(*state, "a"), &strict, "w", 1);
    opens_as(at(*state, "b"), &strict, "w", 2);
    opens_as(at(*state, "c"), &strict, "w", 3);
    struct nw_error err = refuse_with(at(*state, "d"), &strict, NW_E_NOT_FOUND);
    assert_has(err.message, "one.safetensors, two.safetensors");
    opens_as(at(*state, "e"), &strict, "w", 5);
    struct nw_open_options fp16 = of_variant("fp16");
    opens_as(at(*state, "e"), &fp16, "w", 6);
}

static void test_torch_only(void **state)
{
    static const char zip[] = "PK\3\4\0\0\0\0\0\0\0\0archive/data.pklFB";
    struct nw_open_options yes = {.size = sizeof yes, .use_safetensors = NW_CHOICE_YES};
    struct nw_open_options no = {.size = sizeof no, .use_safetensors = NW_CHOICE_NO};
    write_bytes(*state, "a/diffusion_pytorch_model.bin", zip, sizeof zip);
    assert_has(refuse_with(at(*state, "a"), &strict, NW_E_UNSUPPORTED).message,
               "torch zip");
    assert_has(refuse_with(at(*state, "a"), &no, NW_E_UNSUPPORTED).message,
               "torch zip");
    assert_has(refuse_with(at(*state, "a"), &yes, NW_E_NOT_FOUND).message,
               "use_safetensors");
    /* sharded: its index is looked for too */
    write_text(*state, "b/pytorch_model.bin.index.json",
               "{\"weight_map\":{\"w\":\"pytorch_model-00001-of-00001.bin\"}}");
    write_bytes(*state, "b/pytorch_model-00001-of-00001.bin", zip, sizeof zip);
    assert_has(refuse_with(at(*state, "b"), &strict, NW_E_UNSUPPORTED).message,
               "torch zip");
    WEIGHTS(*state, "c/model.safetensors", 1, "w");
    assert_has(refuse_with(at(*state, "c"), &no, NW_E_NOT_FOUND).message, ".bin");
    write_bytes(*state, "c/pytorch_model.bin", zip, sizeof zip);
    opens_as(at(*state, "c"), &strict, "w", 1);
    (void)refuse_with(at(*state, "c"), &no, NW_E_UNSUPPORTED);
    write_text(*state, "d/training_args.bin", "x");
    write_text(*state, "d/openvino_model.bin", "x");
    (void)refuse_with(at(*state, "d"), &strict, NW_E_NOT_FOUND);
    write_bytes(*state, "e/model.gguf", "GGUF\3\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_has(refuse_with(at(*state, "e"), &strict, NW_E_UNSUPPORTED).message, "GGUF");
}

/* What is under a name decides nothing. */
static void test_bin_that_is_safetensors(void **state)
{
    WEIGHTS(*state, "pytorch_model.bin", 3, "w");
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    assert_has(file_of(ckpt, "pytorch_model.bin").reason, "suffix says bin");
    nw_checkpoint_free(ckpt);
}

/* ---- variants ---- */

static void check_variants(const char *folder)
{
    struct nw_open_options fp16 = of_variant("fp16");
    struct nw_open_options bf16 = of_variant("bf16");
    struct nw_checkpoint *ckpt = open_with(folder, &fp16);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
    assert_true(value_of(ckpt, NULL, "a.weight") == 5);
    assert_int_equal(nw_checkpoint_variant_count(ckpt), 2);
    assert_string_equal(nw_checkpoint_variant(ckpt, 0), "");
    assert_string_equal(nw_checkpoint_variant(ckpt, 1), "fp16");
    assert_int_equal(file_of(ckpt, "diffusion_pytorch_model.safetensors").used, 0);
    nw_checkpoint_free(ckpt);
    opens_as(folder, &strict, "a.weight", 0);
    struct nw_error err = refuse_with(folder, &bf16, NW_E_NOT_FOUND);
    assert_has(err.message, "bf16");
    assert_has(err.message, "default, fp16");
}

static void test_variant_spellings(void **state)
{
    const char *stem = "diffusion_pytorch_model";
    char name[200];
    char index[400];
    for (int legacy = 0; legacy < 2; legacy++) {
        const char *folder = at(*state, legacy ? "v1.0/old" : "new");
        static const char *const names[] = {"a.weight", "b.weight"};
        (void)snprintf(index, sizeof index, "{\"weight_map\":{");
        for (int i = 0; i < 2; i++) {
            (void)snprintf(name, sizeof name,
                           legacy ? "%s-0000%d-of-00002.fp16.safetensors"
                                  : "%s.fp16-0000%d-of-00002.safetensors",
                           stem, i + 1);
            WEIGHTS(folder, name, 5, names[i]);
            size_t used = strlen(index);
            (void)snprintf(index + used, sizeof index - used, "%s\"%s\":\"%s\"",
                           i ? "," : "", names[i], name);
        }
        (void)snprintf(index + strlen(index), 3, "}}");
        (void)snprintf(name, sizeof name,
                       legacy ? "%s.safetensors.fp16.index.json"
                              : "%s.safetensors.index.fp16.json",
                       stem);
        write_text(folder, name, index);
        WEIGHTS(folder, "diffusion_pytorch_model.safetensors", 0, "a.weight");
        check_variants(folder);
    }
}

static void test_variant_without_default(void **state)
{
    WEIGHTS(*state, "model.fp16.safetensors", 1, "w");
    WEIGHTS(*state, "model.ema.safetensors", 2, "w");
    struct nw_open_options ema = of_variant("ema");
    opens_as(*state, &ema, "w", 2);
    assert_has(refuse_with(*state, &strict, NW_E_NOT_FOUND).message, "ema, fp16");
}

/* ---- indexes ---- */

static void test_missing_shard(void **state)
{
    write_shards(*state, 1);
    assert_int_equal(remove(at(*state, SHARD(2, 2))), 0);
    struct nw_error err = refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    assert_has(err.message, SHARD(2, 2));
    assert_has(err.message, "b.weight");
    assert_has(err.message, "required according to the checkpoint index");
    assert_has(err.file, SHARD(2, 2));
    assert_string_equal(err.tensor, "b.weight");
    /* before anything is opened: the other shard may be unreadable */
    write_text(*state, SHARD(1, 2), "garbage that is not read");
    (void)refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    WEIGHTS(*state, SHARD(1, 2), 1, "a.weight");
    struct nw_checkpoint *ckpt = open_with(*state, &report);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 1);
    assert_int_equal(problem_of(ckpt, NW_E_MISSING_SHARD).note, 0);
    assert_int_equal(count_problems(ckpt, false), 1);
    nw_checkpoint_free(ckpt);
    write_text(*state, SHARD(2, 2) ".netweight-tmp-7", "x");
    assert_has(refuse_with(*state, &strict, NW_E_MISSING_SHARD).message, "renaming");
}

static void test_absent_index(void **state)
{
    write_shards(*state, 1);
    assert_int_equal(remove(at(*state, "model.safetensors.index.json")), 0);
    struct nw_error err = refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    assert_has(err.message, "without an index");
    write_text(*state, "model.safetensors.index.json.netweight-tmp-1", "{}");
    err = refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    assert_has(err.message, "interrupted save");
    assert_has(err.message, "renaming");
    /* a lesser set does not stand in, a complete one of the same stem does */
    WEIGHTS(*state, "pytorch_model.safetensors", 7, "a.weight");
    (void)refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    WEIGHTS(*state, "model.safetensors", 8, "a.weight");
    opens_as(*state, &strict, "a.weight", 8);
}

static void test_disagreement(void **state)
{
    static const struct {
        const char *map;
        const char *says;
    } rows[] = {
        {"\"a.weight\":\"" SHARD(1, 2) "\"", "does not name this tensor"},
        {"\"a.weight\":\"" SHARD(1, 2) "\",\"b.weight\":\"" SHARD(
             2, 2) "\",\"c\":\"" SHARD(2, 2) "\"",
         "not in " SHARD(2, 2)},
        {"\"a.weight\":\"" SHARD(2, 2) "\",\"b.weight\":\"" SHARD(1, 2) "\"",
         "not where the index says"},
    };
    char index[400];
    for (size_t i = 0; i < 3; i++) {
        write_shards(*state, 1);
        if (i == 0)
            WEIGHTS(*state, SHARD(1, 2), 1, "a.weight", "b.weight");
        (void)snprintf(index, sizeof index, "{\"weight_map\":{%s}}", rows[i].map);
        write_text(*state, "model.safetensors.index.json", index);
        struct nw_error err = refuse_with(*state, &strict, NW_E_INDEX_MISMATCH);
        assert_has(err.message, rows[i].says);
        struct nw_checkpoint *ckpt = open_with(*state, &lenient);
        assert_int_equal(nw_checkpoint_tensor_count(ckpt), 2);
        assert_int_equal(count_problems(ckpt, false), 0);
        assert_int_equal(problem_of(ckpt, NW_E_INDEX_MISMATCH).note, 1);
        nw_checkpoint_free(ckpt);
    }
}

/* What a file says cannot act on a terminal. */
static void test_control_characters(void **state)
{
    write_text(
        *state, "model.safetensors.index.json",
        "{\"weight_map\":{\"a\\u001b[31m\":\"x\\u001b[2J\\u0007.safetensors\"}}");
    struct nw_error err = refuse_with(*state, &strict, NW_E_MISSING_SHARD);
    assert_null(strpbrk(err.message, "\x1b\x07"));
    assert_has(err.message, "x?[2J?.safetensors");
}

static void test_total_size(void **state)
{
    write_shards(*state, 1);
    write_text(
        *state, "model.safetensors.index.json",
        "{\"metadata\":{\"total_size\":999},\"weight_map\":{\"a.weight\":\"" SHARD(
            1, 2) "\",\"b.weight\":\"" SHARD(2, 2) "\"}}");
    struct nw_checkpoint *ckpt = open_with(*state, &strict);
    struct nw_problem problem = problem_of(ckpt, NW_E_INDEX_MISMATCH);
    assert_int_equal(problem.note, 1);
    assert_has(problem.message, "999");
    assert_has(problem.message, "8");
    nw_checkpoint_free(ckpt);
}

/* The index decides which of two tensors of one name counts. */
static void test_name_in_two_shards(void **state)
{
    static const char *const says[] = {SHARD(1, 2), SHARD(2, 2)};
    char index[400];
    for (int i = 0; i < 2; i++) {
        WEIGHTS(*state, SHARD(1, 2), 1, "a", "x", "c");
        WEIGHTS(*state, SHARD(2, 2), 2, "x", "b");
        (void)snprintf(
            index, sizeof index,
            "{\"weight_map\":{\"a\":\"%s\",\"c\":\"%s\",\"b\":\"%s\",\"x\":\"%s\"}}",
            says[0], says[0], says[1], says[i]);
        write_text(*state, "model.safetensors.index.json", index);
        struct nw_checkpoint *ckpt = open_with(*state, &strict);
        assert_int_equal(nw_checkpoint_tensor_count(ckpt), 4);
        assert_true(value_of(ckpt, NULL, "x") == (float)(i + 1));
        assert_true(value_of(ckpt, NULL, "c") == 1);
        assert_true(value_of(ckpt, NULL, "b") == 2);
        assert_int_equal(problem_of(ckpt, NW_E_DUPLICATE).note, 1);
        nw_checkpoint_free(ckpt);
    }
    write_text(
        *state, "model.safetensors.index.json",
        "{\"weight_map\":{\"a\":\"" SHARD(1, 2) "\",\"b\":\"" SHARD(2, 2) "\"}}");
    struct nw_error err = refuse_with(*state, &lenient, NW_E_DUPLICATE);
    assert_string_equal(err.tensor, "x");
}

static void test_broken_index(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"{\"weight_map\":{\"a.weight\":7}}", NW_E_BAD_HEADER},
        {"{\"weight_map\":[]}", NW_E_BAD_HEADER},
        {"{\"weight_map\":{\"a.weight\":", NW_E_BAD_HEADER},
        {"{}", NW_E_BAD_HEADER},
        {"[]", NW_E_BAD_HEADER},
        {"", NW_E_BAD_HEADER},
        {"{\"weight_map\":{\"a\":\"" SHARD(1, 2) "\",\"a\":\"" SHARD(2, 2) "\"}}",
         NW_E_DUPLICATE},
        {"{\"weight_map\":{},\"weight_map\":{}}", NW_E_DUPLICATE},
    };
    write_shards(*state, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_text(*state, "model.safetensors.index.json", rows[i].text);
        struct nw_error err = refuse_with(*state, &strict, rows[i].code);
        assert_has(err.file, "index.json");
        struct nw_checkpoint *ckpt = open_with(*state, &report);
        assert_true(count_problems(ckpt, false) > 0);
        nw_checkpoint_free(ckpt);
    }
    struct nw_open_options small = {.size = sizeof small, .header_limit = 50};
    write_shards(*state, 1);
    assert_has(refuse_with(*state, &small, NW_E_LIMIT).message, "header_limit");
}

static void test_index_path(void **state)
{
    write_shards(*state, 1);
    WEIGHTS(*state, "model.safetensors", 2, "a.weight");
    write_text(*state, "config.json", "{\"_class_name\":\"UNet2DConditionModel\"}");
    struct nw_component component;
    struct nw_checkpoint *ckpt =
        open_with(at(*state, "model.safetensors.index.json"), &strict);
    assert_true(value_of(ckpt, NULL, "b.weight") == 1);
    assert_int_equal(nw_checkpoint_component(ckpt, 0, &component), NW_OK);
    assert_string_equal(component.klass, "UNet2DConditionModel");
    assert_string_equal(component.library, "diffusers");
    nw_checkpoint_free(ckpt);
    /* another name; a config stands for its folder; a file opens itself */
    write_text(*state, "other.json",
               "{\"weight_map\":{\"b.weight\":\"" SHARD(2, 2) "\"}}");
    opens_as(at(*state, "other.json"), &strict, "b.weight", 1);
    opens_as(at(*state, "config.json"), &strict, "b.weight", 1);
    opens_as(at(*state, "model.safetensors"), &strict, "a.weight", 2);
    write_text(*state, "page.json", "{\"error\":\"gone\"}");
    assert_has(refuse_with(at(*state, "page.json"), &strict, NW_E_WRONG_FORMAT).message,
               "JSON text");
}

/* ---- unsafe ---- */

static void test_unsafe_names(void **state)
{
    static const char *const names[] = {"/etc/hostname",
                                        "../model/" SHARD(1, 2),
                                        "x/../../y",
                                        "a\\u0000b",
                                        "..",
                                        ".",
                                        "",
                                        "sub/x",
                                        "a\\\\b"};
    char index[300];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_shards(at(*state, "model"), 1);
        (void)snprintf(
            index, sizeof index,
            "{\"weight_map\":{\"a.weight\":\"" SHARD(1, 2) "\",\"w\":\"%s\"}}",
            names[i]);
        write_text(at(*state, "model"), "model.safetensors.index.json", index);
        struct nw_error err =
            refuse_with(at(*state, "model"), &strict, NW_E_UNSAFE_PATH);
        assert_string_equal(err.tensor, "w");
        assert_has(err.message, "path separator");
        assert_true(err.offset > 0 && err.offset < strlen(index));
        struct nw_checkpoint *ckpt = open_with(at(*state, "model"), &report);
        assert_int_equal(nw_checkpoint_tensor_count(ckpt), 1);
        assert_int_equal(problem_of(ckpt, NW_E_UNSAFE_PATH).note, 0);
        nw_checkpoint_free(ckpt);
    }
}

static void test_links(void **state)
{
    struct nw_open_options follow = {.size = sizeof follow,
                                     .flags = NW_OPEN_FOLLOW_LINKS};
    WEIGHTS(*state, "outside.safetensors", 7, "w");
    make_folders(at(*state, "m/x"));
    assert_int_equal(
        symlink("../outside.safetensors", at(*state, "m/model.safetensors")), 0);
    assert_has(refuse_with(at(*state, "m"), &strict, NW_E_UNSAFE_PATH).message,
               "follow-links");
    opens_as(at(*state, "m"), &follow, "w", 7);
    /* the path itself may be a link, and links may stay inside */
    assert_int_equal(symlink("m/model.safetensors", at(*state, "l.safetensors")), 0);
    opens_as(at(*state, "l.safetensors"), &strict, "w", 7);
    WEIGHTS(*state, "n/real/w.safetensors", 8, "w");
    assert_int_equal(symlink("real/w.safetensors", at(*state, "n/model.safetensors")),
                     0);
    opens_as(at(*state, "n"), &strict, "w", 8);
    assert_int_equal(symlink("n", at(*state, "o")), 0);
    opens_as(at(*state, "o"), &strict, "w", 8);
    /* a link to nothing, and to itself */
    make_folders(at(*state, "p/x"));
    assert_int_equal(symlink("gone", at(*state, "p/model.safetensors")), 0);
    (void)refuse_with(at(*state, "p"), &strict, NW_E_MISSING_SHARD);
    make_folders(at(*state, "q/x"));
    assert_int_equal(symlink("model.safetensors", at(*state, "q/model.safetensors")),
                     0);
    (void)refuse_with(at(*state, "q"), &strict, NW_E_MISSING_SHARD);
    /* a folder, or a pipe, under the name of weights */
    make_folders(at(*state, "r/model.safetensors/x"));
    (void)refuse_with(at(*state, "r"), &strict, NW_E_WRONG_FORMAT);
    make_folders(at(*state, "s/x"));
    assert_int_equal(mkfifo(at(*state, "s/model.safetensors"), 0600), 0);
    (void)refuse_with(at(*state, "s"), &strict, NW_E_WRONG_FORMAT);
}

/* Shards and the index behind links: the same rule, and nothing is opened. */
static void test_linked_shards(void **state)
{
    write_shards(at(*state, "m"), 1);
    assert_int_equal(remove(at(*state, "m/" SHARD(2, 2))), 0);
    WEIGHTS(*state, "away.safetensors", 1, "b.weight");
    assert_int_equal(symlink("../away.safetensors", at(*state, "m/" SHARD(2, 2))), 0);
    struct nw_error err = refuse_with(at(*state, "m"), &strict, NW_E_UNSAFE_PATH);
    assert_has(err.file, SHARD(2, 2));
    struct nw_checkpoint *ckpt = open_with(at(*state, "m"), &report);
    assert_int_equal(nw_checkpoint_tensor_count(ckpt), 1);
    nw_checkpoint_free(ckpt);
}

/* ---- the rest of the folder ---- */

static void test_subfolder(void **state)
{
    struct nw_open_options options = {.size = sizeof options, .subfolder = "unet"};
    WEIGHTS(*state, "diffusion_pytorch_model.safetensors", 1, "w");
    WEIGHTS(*state, "unet/diffusion_pytorch_model.safetensors", 2, "w");
    opens_as(*state, &options, "w", 2);
    opens_as(*state, &strict, "w", 1);
    options.subfolder = "vae";
    (void)refuse_with(*state, &options, NW_E_NOT_FOUND);
    options.subfolder = "";
    opens_as(*state, &options, "w", 1);
    options.subfolder = "unet";
    (void)refuse_with(at(*state, "diffusion_pytorch_model.safetensors"), &options,
                      NW_E_ARG);
    make_folders(at(*state, "vae/x"));
    options.subfolder = "vae";
    (void)refuse_with(*state, &options, NW_E_NOT_FOUND);
}

static void test_config(void **state)
{
    struct nw_component component;
    WEIGHTS(*state, "t/model.safetensors", 1, "w");
    write_text(*state, "t/config.json", "{\"architectures\":[\"CLIPTextModel\"]}");
    struct nw_checkpoint *ckpt = open_with(at(*state, "t"), &strict);
    assert_int_equal(nw_checkpoint_component(ckpt, 0, &component), NW_OK);
    assert_string_equal(component.name, "");
    assert_string_equal(component.klass, "CLIPTextModel");
    assert_string_equal(component.library, "transformers");
    assert_string_equal(file_of(ckpt, "config.json").container, "config");
    nw_checkpoint_free(ckpt);
    static const char *const bad[] = {"{nope", "", "[1]", "3", "{\"a\":\"\xFF\"}"};
    for (size_t i = 0; i < 5; i++) {
        write_text(*state, "t/config.json", bad[i]);
        struct nw_error err = refuse_with(at(*state, "t"), &strict, NW_E_BAD_CONFIG);
        assert_has(err.file, "config.json");
        /* beside a file that was named itself it is only worth a note */
        ckpt = open_with(at(*state, "t/model.safetensors"), &strict);
        assert_int_equal(problem_of(ckpt, NW_E_BAD_CONFIG).note, 1);
        nw_checkpoint_free(ckpt);
    }
}

static void test_non_ascii(void **state)
{
    const char *name = "\xE6\xA8\xA1\xE5\x9E\x8B \xF0\x9F\x98\x80/v1.5 \xC3\xA9";
    const char *folder = at(*state, name);
    write_shards(folder, 3);
    opens_as(folder, &strict, "b.weight", 3);
    assert_int_equal(remove(at(folder, SHARD(1, 2))), 0);
    struct nw_error err = refuse_with(folder, &strict, NW_E_MISSING_SHARD);
    assert_has(err.file, name);
}

/* It may be a part of an all-in-one file: plans decide. */
static void test_component_of_a_model(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_open_options options = {.size = sizeof options, .component = "unet"};
    struct nw_load_options load = {.size = sizeof load, .component = "unet"};
    WEIGHTS(*state, "model.safetensors", 1, "w");
    assert_ok(nw_open(*state, &options, &ckpt, &err), &err);
    assert_code(nw_plan_create(ckpt, &load, &plan, &err), NW_E_NOT_FOUND, &err);
    assert_null(plan);
    nw_checkpoint_free(ckpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_of_several),
        TEST(test_order),
        TEST(test_lone_sets),
        TEST(test_torch_only),
        TEST(test_bin_that_is_safetensors),
        TEST(test_variant_spellings),
        TEST(test_variant_without_default),
        TEST(test_missing_shard),
        TEST(test_absent_index),
        TEST(test_disagreement),
        TEST(test_total_size),
        TEST(test_control_characters),
        TEST(test_name_in_two_shards),
        TEST(test_broken_index),
        TEST(test_index_path),
        TEST(test_unsafe_names),
        TEST(test_links),
        TEST(test_linked_shards),
        TEST(test_subfolder),
        TEST(test_config),
        TEST(test_non_ascii),
        TEST(test_component_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
