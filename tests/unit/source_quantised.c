/* SPDX-License-Identifier: Apache-2.0
 * Quantised layers are recognised by names, types and shapes; plain ones are left alone. */
#include "source.h"

#include "base/file.h"
#include "source/catalog.h"

/* One tensor of a made-up file. Bytes follow from type and shape; `text` fills the data. */
struct row {
    const char *name;
    const char *dtype;
    uint32_t rank;
    uint64_t shape[2];
    const char *text;
};

#define N_ROWS 8

static size_t row_bytes(const struct row *row)
{
    uint64_t bits = nw_dtype_bits(nw_dtype_from_name(row->dtype, strlen(row->dtype)));
    for (uint32_t i = 0; i < row->rank; i++)
        bits *= row->shape[i];
    return (size_t)(bits / 8);
}

static struct nw_checkpoint *open_rows(const char *folder, const struct row *rows,
                                       const char *metadata)
{
    struct nwt_safetensors b;
    nwt_st_begin(&b);
    for (; rows->name; rows++) {
        size_t nbytes = row_bytes(rows);
        char *data = calloc(1, nbytes + 1);
        assert_non_null(data);
        if (rows->text)
            memcpy(data, rows->text, strlen(rows->text));
        nwt_st_add(&b, rows->name, rows->dtype, rows->rank, rows->shape, data, nbytes);
        free(data);
    }
    if (metadata)
        nwt_st_metadata(&b, "_quantization_metadata", metadata);
    nwt_st_write(&b, at(folder, "q.safetensors"));
    return open_with(at(folder, "q.safetensors"), NULL);
}

static const struct nwi_stored *stored_of(const struct nw_checkpoint *ckpt,
                                          const char *name)
{
    size_t i = 0;
    assert_int_equal(nw_checkpoint_find(ckpt, NULL, name, &i, NULL), NW_OK);
    return &ckpt->tensors[i];
}

/* Every tensor but the first (the weight) and those of `scheme` NULL is a companion of it. */
static void expect_scheme(const char *folder, const struct row *rows,
                          const char *scheme)
{
    struct nw_quantisation quantisation;
    struct nw_checkpoint *ckpt = open_rows(folder, rows, NULL);
    const struct nwi_stored *weight = stored_of(ckpt, rows[0].name);
    if (!weight->scheme || strcmp(weight->scheme, scheme) != 0)
        fail_msg("%s: %s instead of %s", rows[0].name, weight->scheme, scheme);
    assert_true(weight->quantised);
    assert_int_equal(weight->companion_of, NW_NONE);
    for (size_t i = 1; rows[i].name; i++) {
        const struct nwi_stored *companion = stored_of(ckpt, rows[i].name);
        assert_ptr_equal(&ckpt->tensors[companion->companion_of], weight);
        assert_string_equal(companion->scheme, scheme);
        assert_true(companion->quantised);
    }
    assert_int_equal(nw_checkpoint_quantisation_count(ckpt), 1);
    assert_int_equal(nw_checkpoint_quantisation(ckpt, 0, &quantisation), NW_OK);
    assert_string_equal(quantisation.scheme, scheme);
    assert_int_equal(quantisation.n_layers, 1);
    assert_int_equal(quantisation.supported, 0);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 0);
    nw_checkpoint_free(ckpt);
}

#define COMFY(format)                                                                  \
    {                                                                                  \
        "b.q.comfy_quant", "U8", 1, {64}, "{\"format\": \"" format "\"}   "            \
    }

static const struct {
    const char *scheme;
    struct row rows[N_ROWS];
} schemes[] = {
    {"scaled_fp8",
     {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
      {"b.q.scale_weight", "F32", 0, {0}, NULL},
      {"b.q.scale_input", "F32", 1, {1}, NULL}}},
    {"scaled_fp8",
     {{"b.q.weight", "F8_E5M2", 2, {2, 2}, NULL},
      {"b.q.weight_scale", "F32", 0, {0}, NULL},
      {"b.q.input_scale", "F32", 0, {0}, NULL}}},
    {"scaled_fp8",
     {{"weight", "F8_E4M3", 2, {2, 2}, NULL}, {"weight_scale", "F32", 1, {1}, NULL}}},
    {"fp8_block",
     {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
      {"b.q.weight_scale_inv", "F32", 2, {1, 1}, NULL}}},
    {"fp8_block",
     {{"b.q.weight", "F8_E4M3", 2, {256, 200}, NULL},
      {"b.q.weight_scale_inv", "F32", 2, {2, 2}, NULL}}},
    {"fp8_block",
     {{"b.q.weight", "F8_E4M3", 2, {256, 200}, NULL},
      {"b.q.weight_scale", "BF16", 2, {2, 2}, NULL}}},
    {"bfl_fp8r",
     {{"b.q.weight", "F8_E4M3", 2, {4, 8}, NULL},
      {"b.q.weight_scale", "F32", 1, {4}, NULL}}},
    {"fp8_rowwise",
     {{"b.q.weight", "F8_E4M3", 2, {4, 8}, NULL},
      {"b.q.weight_scale", "F32", 2, {4, 1}, NULL}}},
    {"mxfp8",
     {{"b.q.weight", "F8_E4M3", 2, {32, 64}, NULL},
      {"b.q.weight_scale", "U8", 2, {128, 4}, NULL}}},
    {"int8_tensorwise",
     {{"b.q.weight", "I8", 2, {4, 8}, NULL},
      {"b.q.weight_scale", "F32", 2, {4, 1}, NULL}}},
    {"bfl_nvfp4",
     {{"b.q.weight", "U8", 2, {4, 16}, NULL},
      {"b.q.weight_scale", "F8_E4M3", 2, {4, 2}, NULL},
      {"b.q.weight_scale_2", "F32", 0, {0}, NULL},
      {"b.q.input_scale", "F32", 0, {0}, NULL}}},
    {"nvfp4",
     {{"b.q.weight", "U8", 2, {4, 16}, NULL},
      {"b.q.weight_scale", "F8_E4M3", 2, {4, 2}, NULL},
      {"b.q.weight_scale_2", "F32", 0, {0}, NULL}}},
    {"comfy_nvfp4",
     {{"b.q.weight", "U8", 2, {16, 16}, NULL},
      {"b.q.weight_scale", "F8_E4M3", 2, {128, 4}, NULL},
      {"b.q.weight_scale_2", "F32", 0, {0}, NULL},
      {"b.q.input_scale", "F32", 0, {0}, NULL},
      COMFY("nvfp4")}},
    {"float8_e4m3fn",
     {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
      {"b.q.weight_scale", "F32", 0, {0}, NULL},
      COMFY("float8_e4m3fn")}},
    {"mxfp8",
     {{"b.q.weight", "F8_E4M3", 2, {32, 64}, NULL},
      {"b.q.weight_scale", "U8", 2, {128, 4}, NULL},
      COMFY("mxfp8")}},
    {"int8_tensorwise+convrot",
     {{"l.weight", "I8", 2, {2, 256}, NULL},
      {"l.weight_scale", "F32", 2, {2, 1}, NULL},
      {"l.comfy_quant",
       "U8",
       1,
       {89},
       "{\"format\":\"int8_tensorwise\",\"convrot\":true,\"convrot_groupsize\":256}    "
       "    "}}},
    {"convrot_w4a4",
     {{"b.q.weight", "I8", 2, {2, 128}, NULL},
      {"b.q.weight_scale", "F32", 2, {2, 1}, NULL},
      COMFY("convrot_w4a4")}},
    {"asym_w4a8_int8",
     {{"b.q.weight", "I8", 2, {4, 8}, NULL},
      {"b.q.weight_s_rel", "F8_E4M3", 2, {4, 2}, NULL},
      {"b.q.weight_s_channel", "F32", 1, {4}, NULL},
      {"b.q.weight_codebook", "F32", 1, {16}, NULL}}},
    {"awq_w4a16",
     {{"b.q.weight", "I8", 2, {4, 8}, NULL},
      {"b.q.weight_scale", "BF16", 2, {2, 4}, NULL},
      {"b.q.weight_zeros", "BF16", 2, {2, 4}, NULL}}},
    {"some_new_format",
     {{"b.q.weight", "U8", 2, {4, 8}, NULL}, COMFY("some_new_format")}},
    {"comfy_unknown",
     {{"b.q.weight", "U8", 2, {4, 8}, NULL}, {"b.q.comfy_quant", "U8", 1, {2}, "{}"}}},
    {"bnb_nf4",
     {{"b.q.weight", "U8", 2, {64, 1}, NULL},
      {"b.q.weight.absmax", "U8", 1, {2}, NULL},
      {"b.q.weight.quant_map", "F32", 1, {16}, NULL},
      {"b.q.weight.nested_absmax", "F32", 1, {1}, NULL},
      {"b.q.weight.nested_quant_map", "F32", 1, {256}, NULL},
      {"b.q.weight.quant_state.bitsandbytes__nf4", "U8", 1, {80}, NULL}}},
    {"bnb_fp4",
     {{"b.q.weight", "U8", 2, {64, 1}, NULL},
      {"b.q.weight.absmax", "F32", 1, {2}, NULL},
      {"b.q.weight.quant_state.bitsandbytes__fp4", "U8", 1, {80}, NULL}}},
    {"bnb_int8",
     {{"b.q.weight", "I8", 2, {4, 8}, NULL},
      {"b.q.SCB", "F32", 1, {4}, NULL},
      {"b.q.weight_format", "U8", 0, {0}, NULL}}},
    {"nunchaku_svdq",
     {{"b.qkv_proj.qweight", "I8", 2, {128, 64}, NULL},
      {"b.qkv_proj.wscales", "BF16", 2, {2, 128}, NULL},
      {"b.qkv_proj.smooth", "BF16", 1, {128}, NULL},
      {"b.qkv_proj.lora_down", "BF16", 2, {128, 32}, NULL},
      {"b.qkv_proj.lora_up", "BF16", 2, {128, 32}, NULL}}},
    {"nunchaku_awq",
     {{"b.norm.qweight", "I32", 2, {4, 8}, NULL},
      {"b.norm.wscales", "BF16", 2, {2, 16}, NULL},
      {"b.norm.wzeros", "BF16", 2, {2, 16}, NULL}}},
    {"gptq",
     {{"b.q.qweight", "I32", 2, {8, 64}, NULL},
      {"b.q.qzeros", "I32", 2, {1, 8}, NULL},
      {"b.q.scales", "F16", 2, {1, 64}, NULL},
      {"b.q.g_idx", "I32", 1, {64}, NULL}}},
    {"awq",
     {{"b.q.qweight", "I32", 2, {64, 8}, NULL},
      {"b.q.qzeros", "I32", 2, {1, 8}, NULL},
      {"b.q.scales", "F16", 2, {1, 64}, NULL}}},
    {"quanto",
     {{"b.q.weight._data", "I8", 2, {4, 8}, NULL},
      {"b.q.weight._scale", "BF16", 2, {4, 1}, NULL},
      {"b.q.input_scale", "BF16", 0, {0}, NULL},
      {"b.q.output_scale", "BF16", 0, {0}, NULL}}},
    {"compressed_tensors",
     {{"b.q.weight_packed", "I32", 2, {4, 8}, NULL},
      {"b.q.weight_scale", "BF16", 2, {4, 1}, NULL},
      {"b.q.weight_shape", "I64", 1, {2}, NULL}}},
};

static void test_schemes(void **state)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        expect_scheme(*state, schemes[i].rows, schemes[i].scheme);
}

static void expect_plain(const char *folder, const struct row *rows, int note)
{
    struct nw_checkpoint *ckpt = open_rows(folder, rows, NULL);
    for (size_t i = 0; rows[i].name; i++) {
        assert_false(stored_of(ckpt, rows[i].name)->quantised);
        assert_null(stored_of(ckpt, rows[i].name)->scheme);
    }
    assert_int_equal(nw_checkpoint_quantisation_count(ckpt), 0);
    if (note)
        assert_int_equal(problem_of(ckpt, note).note, 1);
    else
        assert_int_equal(nw_checkpoint_problem_count(ckpt), 0);
    nw_checkpoint_free(ckpt);
}

static void test_plain(void **state)
{
    static const struct {
        int note;
        struct row rows[N_ROWS];
    } rows[] = {
        {0,
         {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
          {"b.q.bias", "F8_E4M3", 1, {2}, NULL}}},
        /* a marker, and no scale anywhere: scale 1 */
        {0,
         {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
          {"scaled_fp8", "F8_E4M3", 1, {0}, NULL}}},
        /* named fp8, and no scale: the same */
        {0, {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL}, COMFY("float8_e4m3fn")}},
        /* activations only */
        {0,
         {{"b.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
          {"b.q.input_scale", "F32", 0, {0}, NULL}}},
        /* a stale scale */
        {NW_E_MISMATCH,
         {{"b.q.weight", "BF16", 2, {2, 2}, NULL},
          {"b.q.weight_scale", "F32", 0, {0}, NULL}}},
        {NW_E_MISMATCH,
         {{"b.q.weight", "F32", 2, {2, 2}, NULL}, COMFY("int8_tensorwise")}},
        /* companions of nothing */
        {NW_E_MISSING, {{"b.q.weight_scale", "F32", 0, {0}, NULL}}},
        {NW_E_MISSING, {{"b.q.comfy_quant", "U8", 1, {2}, "{}"}}},
        /* names that mean something else elsewhere */
        {0,
         {{"b.norm.weight", "F32", 1, {4}, NULL},
          {"b.norm.scales", "F32", 1, {4}, NULL},
          {"b.lora_down", "F32", 1, {4}, NULL},
          {"b.smooth", "F32", 1, {4}, NULL}}},
        {0,
         {{"q.lora_down.weight", "F16", 2, {4, 8}, NULL},
          {"q.alpha", "F16", 0, {0}, NULL}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_plain(*state, rows[i].rows, rows[i].note);
}

/* The prefix stays with the names, the marker goes with the scheme, plain layers stay plain;
 * a matrix that should have a scale is told of. */
static void test_marker(void **state)
{
    static const struct row rows[] = {
        {"model.diffusion_model.q.weight", "F8_E4M3", 2, {2, 2}, "8@\270\060"},
        {"model.diffusion_model.q.scale_weight", "F32", 0, {0}, NULL},
        {"model.diffusion_model.q.scale_input", "F32", 0, {0}, NULL},
        {"model.diffusion_model.k.weight", "F8_E4M3", 2, {2, 2}, NULL},
        {"model.diffusion_model.k.bias", "BF16", 1, {2}, NULL},
        {"model.diffusion_model.scaled_fp8", "F8_E4M3", 1, {0}, NULL},
        {NULL, NULL, 0, {0}, NULL},
    };
    struct nw_checkpoint *ckpt = open_rows(*state, rows, NULL);
    assert_true(stored_of(ckpt, rows[0].name)->quantised);
    assert_false(stored_of(ckpt, rows[3].name)->quantised);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 1);
    assert_int_equal(problem_of(ckpt, NW_E_MISSING).note, 1);
    assert_string_equal(problem_of(ckpt, NW_E_MISSING).tensor, rows[3].name);
    assert_false(stored_of(ckpt, rows[4].name)->quantised);
    assert_string_equal(stored_of(ckpt, rows[5].name)->scheme, "scaled_fp8");
    assert_true(stored_of(ckpt, rows[5].name)->quantised);
    nw_checkpoint_free(ckpt);
}

/* The header's metadata describes layers too; both sources may speak, and may disagree. */
static void test_metadata(void **state)
{
    static const struct row rows[] = {
        {"net.blk.0.q.weight", "F8_E4M3", 2, {2, 2}, NULL},
        {"net.blk.0.q.weight_scale", "F32", 0, {0}, NULL},
        {"net.blk.0.q.comfy_quant", "U8", 1, {26}, "{\"format\":\"float8_e4m3fn\"}"},
        {"net.blk.1.q.weight", "I8", 2, {2, 2}, NULL},
        {"net.blk.1.q.weight_scale", "F32", 0, {0}, NULL},
        {NULL, NULL, 0, {0}, NULL},
    };
    struct nw_checkpoint *ckpt =
        open_rows(*state, rows,
                  "{\"format_version\":1,\"layers\":{\"net.blk.0.q\":{\"format\":"
                  "\"float8_e4m3fn\"},\"net.blk.1.q\":{\"format\":\"int8_"
                  "tensorwise\","
                  "\"convrot\":true}}}");
    assert_string_equal(stored_of(ckpt, rows[0].name)->scheme, "float8_e4m3fn");
    assert_string_equal(stored_of(ckpt, rows[4].name)->scheme,
                        "int8_tensorwise+convrot");
    assert_int_equal(nw_checkpoint_quantisation_count(ckpt), 2);
    assert_int_equal(nw_checkpoint_problem_count(ckpt), 0);
    nw_checkpoint_free(ckpt);
    ckpt = open_rows(*state, rows,
                     "{\"layers\":{\"net.blk.0.q\":{\"format\":\"mxfp8\"},"
                     "\"gone\":{\"format\":\"mxfp8\"}}}");
    assert_has(problem_of(ckpt, NW_E_MISMATCH).message, "float8_e4m3fn");
    assert_has(problem_of(ckpt, NW_E_MISSING).message, "gone");
    assert_int_equal(count_problems(ckpt, false), 0);
    nw_checkpoint_free(ckpt);
    ckpt = open_rows(*state, rows, "not json");
    assert_int_equal(problem_of(ckpt, NW_E_BAD_CONFIG).note, 1);
    nw_checkpoint_free(ckpt);
}

/* A float type for a quantised layer is refused by name, not cast without its scales. */
static void test_no_silent_cast(void **state)
{
    struct nw_error err;
    struct nw_plan *plan = NULL;
    struct nw_load_options options = NW_OPTIONS_INIT(options);
    options.dtype = NW_BF16;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct nw_checkpoint *ckpt = open_rows(*state, schemes[i].rows, NULL);
        assert_code(nw_plan_create(ckpt, &options, &plan, &err), NW_E_UNSUPPORTED,
                    &err);
        assert_has(err.message, schemes[i].scheme);
        assert_int_equal(nw_plan_create(ckpt, NULL, &plan, &err), NW_OK);
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
}

static void test_config(void **state)
{
    WEIGHTS(*state, "m/model.safetensors", 1, "w");
    write_text(*state, "m/config.json",
               "{\"quantization_config\":{\"quant_method\":\"exotic\"}}");
    struct nw_checkpoint *ckpt = open_with(at(*state, "m"), NULL);
    assert_has(problem_of(ckpt, NW_E_UNSUPPORTED).message, "exotic");
    assert_int_equal(problem_of(ckpt, NW_E_UNSUPPORTED).note, 1);
    nw_checkpoint_free(ckpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_schemes),  TEST(test_plain),          TEST(test_marker),
        TEST(test_metadata), TEST(test_no_silent_cast), TEST(test_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
