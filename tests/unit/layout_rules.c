/* SPDX-License-Identifier: Apache-2.0
 * Rules on small headers, in both directions: which elements every output is made of. */
#include "layout_scene.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* One rule by itself. */
#define ONE(...)                                                                       \
    (&(const struct nwi_rules){.rules = (const struct nwi_rule[]){__VA_ARGS__, {0}}})

static void a_rename_takes_the_whole_tensor(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE(NWI_MAP("a.{i}.{p}", "b.{i}.{p}"));
    check_there(rules, "a.0.w[2,2] a.1.s[] c[1]",
                "b.0.w[2,2] a.0.w:0,1,2,3; b.1.s[] a.1.s:0; ?c");
    check_back(rules, "b.0.w[2,2] b.x.w[1]", "a.0.w[2,2] b.0.w:0,1,2,3; ?b.x.w");
    check_there(NULL, "x[1] y[0]", "x[1] x:0; y[0] y:");
    check_back(NULL, "x[1]", "x[1] x:0");
    check_there(rules, "", "");
}

static void a_split_cuts_rows_and_the_way_back_joins_them(void **state)
{
    (void)state;
    const struct nwi_rules *equal = ONE(NWI_OP(SPLIT, "qkv.{p}", "{q,k,v}.{p}"));
    check_there(equal, "qkv.w[3,2]",
                "q.w[1,2] qkv.w:0,1; k.w[1,2] qkv.w:2,3; "
                "v.w[1,2] qkv.w:4,5");
    check_there(equal, "qkv.b[6]",
                "q.b[2] qkv.b:0,1; k.b[2] qkv.b:2,3; v.b[2] qkv.b:4,5");
    check_there(equal, "qkv.b[4]",
                "MISMATCH: 4 rows cannot be split into 3 parts (qkv.b)");
    check_there(equal, "qkv.b[]",
                "MISMATCH: a tensor without dimensions cannot be split (qkv.b)");
    check_back(equal, "v.w[1,2] q.w[1,2] k.w[1,2]",
               "qkv.w[3,2] q.w:0,1 k.w:0,1 v.w:0,1");
    check_back(equal, "q.w[1,2] v.w[1,2]",
               "NOT_FOUND: k.w is missing: it is part 2 of 3 of qkv.w (k.w)");
    check_back(equal, "q.w[1,2] k.w[1,3] v.w[1,2]",
               "MISMATCH: its shape does not go with that of q.w (k.w)");
    check_back(equal, "q.w[1,2] k.w[2,2] v.w[0,2]",
               "MISMATCH: it has 2 rows, 1 are its part of 3 (k.w)");
}

static void sizes_are_numbers_variables_and_stars(void **state)
{
    (void)state;
    static const struct nwi_rule_variable variables[] = {
        {'H', "in[0]", "x[0]"}, {'G', "gone[0]", "gone[0]"}, {0}};
    static const struct nwi_rule rows[] = {
        NWI_SPLIT_SIZES("l.{p}", "{q,m,n}.{p}", "H,*,*"),
        NWI_SPLIT_SIZES("f.{p}", "{s,t}.{p}", "1,2*H"),
        NWI_SPLIT_SIZES("g.{p}", "{u,v}.{p}", "G,*"),
        NWI_MAP("in", "x"),
        {0}};
    const struct nwi_rules rules = {.variables = variables, .rules = rows};
    check_there(&rules, "in[2] l.b[6] f.b[5]",
                "x[2] in:0,1; q.b[2] l.b:0,1; m.b[2] l.b:2,3; n.b[2] l.b:4,5; "
                "s.b[1] f.b:0; t.b[4] f.b:1,2,3,4");
    check_there(&rules, "in[2] l.b[5]",
                "MISMATCH: 5 rows cannot be split into 3 parts of H,*,* (l.b)");
    check_there(&rules, "in[2] l.b[1]",
                "MISMATCH: 1 rows cannot be split into 3 parts of H,*,* (l.b)");
    check_there(&rules, "in[2] f.b[6]",
                "MISMATCH: 6 rows cannot be split into 2 parts of 1,2*H (f.b)");
    check_there(&rules, "in[2] g.b[6]",
                "MISMATCH: 6 rows cannot be split into 2 parts of G,* (g.b)");
    check_back(&rules, "x[2] q.b[2] m.b[1] n.b[1]",
               "in[2] x:0,1; l.b[4] q.b:0,1 m.b:0 "
               "n.b:0");
    check_back(&rules, "x[2] q.b[1] m.b[1] n.b[2]",
               "MISMATCH: it has 1 rows, 2 are its part of 4 (q.b)");
}

static void a_swap_is_its_own_inverse(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE(NWI_OP(SWAP, "a.{p}", "b.{p}"));
    check_there(rules, "a.w[4,2]", "b.w[4,2] a.w:4,5,6,7 a.w:0,1,2,3");
    check_back(rules, "b.w[4,2]", "a.w[4,2] b.w:4,5,6,7 b.w:0,1,2,3");
    check_there(rules, "a.w[3]",
                "MISMATCH: 3 rows have no halves that could change places (a.w)");
    check_there(rules, "a.w[]",
                "MISMATCH: 1 rows have no halves that could change places (a.w)");
}

static void a_transpose_swaps_strides(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE(NWI_OP(TRANSPOSE, "a", "b.weight"));
    check_there(rules, "a[2,3]", "b.weight[3,2] a:0,3,1,4,2,5");
    check_back(rules, "b.weight[3,2]", "a[2,3] b.weight:0,2,4,1,3,5");
    check_there(rules, "a[2]",
                "MISMATCH: a matrix was expected, the tensor's rank is 1 (a)");
}

static void a_reshape_is_row_major_and_flattened_back(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE(
        {.original = "a", .diffusers = "b", .op = NWI_RULE_RESHAPE, .sizes = "2,*"});
    const struct nwi_rules *fixed = ONE(
        {.original = "a", .diffusers = "b", .op = NWI_RULE_RESHAPE, .sizes = "2,3"});
    check_there(rules, "a[6]", "b[2,3] a:0,1,2,3,4,5");
    check_back(rules, "b[2,3]", "a[6] b:0,1,2,3,4,5");
    check_there(rules, "a[5]", "MISMATCH: 5 elements do not have the shape [2,*] (a)");
    check_back(rules, "b[3,2]", "MISMATCH: its shape is not [2,*] (b)");
    check_back(rules, "b[2]", "MISMATCH: its shape is not [2,*] (b)");
    check_there(fixed, "a[6]", "b[2,3] a:0,1,2,3,4,5");
    check_there(fixed, "a[8]", "MISMATCH: 8 elements do not have the shape [2,3] (a)");
}

static void heads_are_taken_apart_and_interleaved_again(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE({.original = "qkv.{p}",
                                         .diffusers = "{q,k,v}.{p}",
                                         .op = NWI_RULE_HEADS,
                                         .sizes = "2"});
    /* Two heads of three times two rows. */
    check_there(rules, "qkv.b[12]",
                "q.b[4] qkv.b:0,1,6,7; k.b[4] qkv.b:2,3,8,9; v.b[4] qkv.b:4,5,10,11");
    check_there(rules, "qkv.w[6,2]",
                "q.w[2,2] qkv.w:0,1,2,3; k.w[2,2] qkv.w:4,5,6,7; "
                "v.w[2,2] qkv.w:8,9,10,11");
    check_back(rules, "q.b[4] k.b[4] v.b[4]",
               "qkv.b[12] q.b:0,1 k.b:0,1 v.b:0,1 q.b:2,3 k.b:2,3 v.b:2,3");
    check_there(rules, "qkv.b[8]",
                "MISMATCH: 8 rows are not made of heads of 3 times 2 (qkv.b)");
    check_back(rules, "q.b[3] k.b[3] v.b[3]",
               "MISMATCH: 3 rows are not made of heads of 2 (q.b)");
    check_back(rules, "q.b[4] k.b[2] v.b[4]",
               "MISMATCH: its shape does not go with that of q.b (k.b)");
    check_back(rules, "q.b[400000] k.b[400000] v.b[400000]",
               "UNSUPPORTED: 200000 heads are over 65536 parts of one tensor (q.b)");
}

static void ones_go_and_come_back(void **state)
{
    (void)state;
    const struct nwi_rules *end =
        ONE({.original = "a.{p}", .diffusers = "b.{p}", .squeeze = 1, .rank = 4});
    const struct nwi_rules *all =
        ONE({.original = "a", .diffusers = "b", .squeeze = 2, .rank = NWI_RANK_1C11});
    const struct nwi_rules *cut = ONE({.original = "a.{p}",
                                       .diffusers = "{b,c}.{p}",
                                       .op = NWI_RULE_SPLIT,
                                       .squeeze = 2,
                                       .rank = 4});
    check_there(end, "a.w[2,2,1,1] a.b[2] a.c[2,1,1]",
                "b.w[2,2] a.w:0,1,2,3; b.b[2] a.b:0,1; b.c[2,1] a.c:0,1");
    check_back(end, "b.w[2,2] b.b[2]", "a.w[2,2,1,1] b.w:0,1,2,3; a.b[2] b.b:0,1");
    check_there(all, "a[1,3,1,1]", "b[3] a:0,1,2");
    check_back(all, "b[3]", "a[1,3,1,1] b:0,1,2");
    check_there(cut, "a.w[4,2,1,1]", "b.w[2,2] a.w:0,1,2,3; c.w[2,2] a.w:4,5,6,7");
    check_back(cut, "b.w[2,2] c.w[2,2]", "a.w[4,2,1,1] b.w:0,1,2,3 c.w:0,1,2,3");
}

static void what_is_dropped_stays_away_or_is_needed(void **state)
{
    (void)state;
    const struct nwi_rules *unused =
        ONE(NWI_DROP("norm.{*}", "not used"), NWI_MAP("{*}", "{*}"));
    const struct nwi_rules *needed = ONE({.original = "pos",
                                          .diffusers = "",
                                          .op = NWI_RULE_DROP,
                                          .back = NWI_DROP_NEEDED,
                                          .note = "pos"},
                                         NWI_MAP("{*}", "{*}"));
    check_there(unused, "norm.w[1] x[1]", "x[1] x:0; -norm.w (not used)");
    check_back(unused, "x[1]", "x[1] x:0");
    check_there(needed, "pos[1] x[1]", "x[1] x:0; -pos (pos)");
    check_back(needed, "x[1]",
               "UNSUPPORTED: the original layout needs pos, which the diffusers layout "
               "does not keep (pos)");
}

static void a_constant_has_no_source(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE({.original = "norm.w",
                                         .diffusers = "proj.w",
                                         .op = NWI_RULE_CONSTANT,
                                         .fill = NW_FILL_EYE},
                                        NWI_MAP("{*}", "{*}"));
    check_there(rules, "norm.w[3]", "norm.w[3] norm.w:0,1,2; proj.w[3,3] fill 3");
    check_there(rules, "x[3]", "x[3] x:0,1,2");
    check_back(rules, "norm.w[1] proj.w[1,1]",
               "norm.w[1] norm.w:0; -proj.w (constant)");
}

static void features_choose_among_rules(void **state)
{
    (void)state;
    static const struct nwi_rule_feature features[] = {
        {0, "k[-1]=2"}, {0, "add.w"}, {3, "$mode=edge"}, {0}};
    static const struct nwi_rule rows[] = {
        {.original = "e.{p}", .diffusers = "add.{p}", .need = 1},
        {.original = "e.{p}", .diffusers = "class.{p}", .deny = 1},
        {.original = "k", .diffusers = "edge.k", .need = 8},
        NWI_MAP("k", "k"),
        {0}};
    static const char *const items[] = {"mode=edge"};
    const struct nwi_rules rules = {.features = features, .rules = rows};
    const struct nwi_hints hints = {items, 1};
    struct scene *scene = malloc(sizeof *scene);
    check_there(&rules, "e.w[1] k[1]", "class.w[1] e.w:0; k[1] k:0");
    check_there(&rules, "e.w[1] k[2]", "add.w[1] e.w:0; k[2] k:0,1");
    check_back(&rules, "add.w[1]", "e.w[1] add.w:0");
    check_back(&rules, "class.w[1]", "e.w[1] class.w:0");
    check_back(&rules, "add.w[1] class.w[1]", "e.w[1] add.w:0; ?class.w");
    scene_begin(scene, "k[1]");
    assert_string_equal(scene_apply(scene, &rules, NWI_TO_DIFFUSERS, NULL, &hints),
                        "edge.k[1] k:0");
    scene_end(scene);
    free(scene);
}

/* The index of the UNet's upsampler is told by what else is there. */
static void back_if_asks_the_diffusers_names(void **state)
{
    (void)state;
    static const struct nwi_rule_variable variables[] = {
        {'S', "<in.{i}.op.w", "#down.0.res.+1"}, {0}};
    static const struct nwi_rule rows[] = {
        NWI_MAP("in.{S+b*S}.op.{p}", "down.{b}.sample.{p}"),
        NWI_MAP("in.{1+b*S+r}.0.{p}", "down.{b}.res.{r}.{p}"),
        {.original = "out.{S-1+b*S}.2.{p}",
         .diffusers = "up.{b}.sample.{p}",
         .back_if = "up.{b}.att.0.w"},
        {.original = "out.{S-1+b*S}.1.{p}",
         .diffusers = "up.{b}.sample.{p}",
         .back_if = "!up.{b}.att.0.w"},
        NWI_MAP("out.{b*S+r}.1.{p}", "up.{b}.att.{r}.{p}"),
        {0}};
    const struct nwi_rules rules = {.variables = variables, .rules = rows};
    check_there(&rules,
                "in.1.0.w[1] in.2.0.w[1] in.3.op.w[1] in.5.0.w[1] out.2.2.w[1] "
                "out.0.1.w[1] out.5.1.w[1]",
                "down.0.res.0.w[1] in.1.0.w:0; down.0.res.1.w[1] in.2.0.w:0; "
                "down.0.sample.w[1] in.3.op.w:0; down.1.res.1.w[1] in.5.0.w:0; "
                "up.0.sample.w[1] out.2.2.w:0; up.0.att.0.w[1] out.0.1.w:0; "
                "up.1.sample.w[1] out.5.1.w:0");
    check_back(&rules,
               "down.0.res.0.w[1] down.0.res.1.w[1] down.0.sample.w[1] "
               "down.1.res.1.w[1] up.0.sample.w[1] up.0.att.0.w[1] "
               "up.1.sample.w[1]",
               "in.1.0.w[1] down.0.res.0.w:0; in.2.0.w[1] down.0.res.1.w:0; "
               "in.3.op.w[1] down.0.sample.w:0; in.5.0.w[1] down.1.res.1.w:0; "
               "out.2.2.w[1] up.0.sample.w:0; out.0.1.w[1] up.0.att.0.w:0; "
               "out.5.1.w[1] up.1.sample.w:0");
    /* Nothing to count: no rule with S matches, and that is all. */
    check_there(&rules, "in.1.0.w[1]", "?in.1.0.w");
}

static void the_first_rule_that_can_make_a_name_counts(void **state)
{
    (void)state;
    static const struct nwi_rule_variable variables[] = {{'N', "#a.", "#b."}, {0}};
    static const struct nwi_rule rows[] = {NWI_OP(SWAP, "a.{N-1}.w", "b.{N-1}.w"),
                                           NWI_MAP("a.{i}.w", "b.{i}.w"),
                                           NWI_MAP("c.{i}", "d.{N-1-i}"),
                                           NWI_MAP("{*}", "rest.{*}"),
                                           {0}};
    const struct nwi_rules rules = {.variables = variables, .rules = rows};
    check_there(&rules, "a.0.w[2] a.1.w[2] c.0[1] c.1[1] c.2[1]",
                "b.0.w[2] a.0.w:0,1; b.1.w[2] a.1.w:1 a.1.w:0; d.1[1] c.0:0; "
                "d.0[1] c.1:0; rest.c.2[1] c.2:0");
}

static void the_second_pass_renames_what_the_first_made(void **state)
{
    (void)state;
    static const struct nwi_rule rows[] = {
        NWI_OP(SPLIT, "up.{i}.qkv", "blocks.{i}.to_{q,k}"),
        NWI_MAP("up.{i}.{*}", "blocks.{i}.{*}"),
        {0}};
    static const struct nwi_rule post[] = {
        NWI_MAP("{^}.res_blocks.{j}.{*}", "{^}.resnets.{j}.{*}"),
        NWI_MAP("{^}.to_q", "{^}.query"),
        {0}};
    const struct nwi_rules rules = {.rules = rows, .post = post};
    check_there(
        &rules, "up.0.res_blocks.1.w[1] up.2.w[1] up.1.qkv[2]",
        "blocks.0.resnets.1.w[1] up.0.res_blocks.1.w:0; blocks.2.w[1] up.2.w:0; "
        "blocks.1.query[1] up.1.qkv:0; blocks.1.to_k[1] up.1.qkv:1");
    check_back(&rules,
               "blocks.0.resnets.1.w[1] blocks.2.w[1] blocks.1.query[1] "
               "blocks.1.to_k[1]",
               "up.0.res_blocks.1.w[1] blocks.0.resnets.1.w:0; up.2.w[1] blocks.2.w:0; "
               "up.1.qkv[2] blocks.1.query:0 blocks.1.to_k:0");
    check_back(&rules, "blocks.1.to_k[1]",
               "NOT_FOUND: blocks.1.query is missing: it is part 1 of 2 of up.1.qkv "
               "(blocks.1.query)");
}

static void two_inputs_never_share_an_output(void **state)
{
    (void)state;
    const struct nwi_rules *both =
        ONE(NWI_MAP("n.{s:scale|weight}", "m.{s:weight|weight}"));
    const struct nwi_rules *twice = ONE(NWI_OP(SPLIT, "a", "{x,x}"));
    const struct nwi_rules *cross = ONE(NWI_OP(SPLIT, "a", "{x,y}"), NWI_MAP("a", "z"));
    check_there(both, "n.weight[1]", "m.weight[1] n.weight:0");
    check_there(both, "n.scale[1] n.weight[1]",
                "DUPLICATE: \"n.scale\" and \"n.weight\" both become \"m.weight\" "
                "(m.weight)");
    check_back(both, "m.weight[1]", "n.scale[1] m.weight:0");
    check_there(twice, "a[2]", "DUPLICATE: \"a\" and \"a\" both become \"x\" (x)");
    check_back(cross, "x[1] z[1] y[1]",
               "DUPLICATE: \"x\" and \"z\" both become \"a\" (a)");
}

static void numbers_have_a_limit(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE(NWI_MAP("a.{i}", "b.{4*i}"));
    static const struct nwi_rule_variable variables[] = {{'H', "h[0]", "h[0]"}, {0}};
    const struct nwi_rules big = {.variables = variables};
    check_there(rules, "a.1000000000[1]",
                "LIMIT: \"b.{4*i}\" makes a number over 2^31 ()");
    check_there(rules, "a.4000000000[1]", "?a.4000000000");
    check_there(&big, "h[2147483649,0]", "LIMIT: H (h[0]) is 2147483649, over 2^31 ()");
}

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    const struct {
        const struct nwi_rules *rules;
        const char *expected;
    } rows[] = {
        {ONE(NWI_MAP("a.{i}", "b")), "a number is captured on one side only"},
        {ONE(NWI_MAP("a.{a:x|y}", "b")), "an alternative is captured on one side only"},
        {ONE(NWI_MAP("a.{a:x|y}", "{a:x|y|z}")),
         "the sides have different numbers of alternatives"},
        {ONE(NWI_MAP("a.{p}", "b")), "{p}, {*} or {^} stands on one side only"},
        {ONE(NWI_MAP("a.{*}", "b")), "{p}, {*} or {^} stands on one side only"},
        {ONE(NWI_MAP("a", "{q,k}")), "parts without a split"},
        {ONE(NWI_OP(SPLIT, "a", "b")), "a split without parts"},
        {ONE(NWI_OP(SPLIT, "a.{q,k}", "{q,k}")), "parts stand on the original side"},
        {ONE(NWI_SPLIT_SIZES("a", "{q,k}", "1,*,*")), "not as many sizes as parts"},
        {ONE(NWI_OP(RESHAPE, "a", "b")), "a reshape needs sizes"},
        {ONE(NWI_OP(HEADS, "a", "{q,k}")), "heads need one size"},
        {ONE({"a", "b", .sizes = "1"}), "sizes without use"},
        {ONE({"a", "b", .squeeze = 3}), "squeeze is 1 or 2"},
        {ONE({"a", "b", .op = NWI_RULE_SWAP, .squeeze = 1}), "squeeze without use"},
        {ONE({"a", "b", .rank = 4}), "rank without squeeze"},
        {ONE({"a", "b", .squeeze = 1, .rank = NWI_RANK_1C11}),
         "rank 1C11 needs squeeze 2 of a rename"},
        {ONE({"a", "b", .op = NWI_RULE_DROP}), "a dropped tensor has no other name"},
        {ONE({"a.{i}", "b", .op = NWI_RULE_CONSTANT}), "a constant has no captures"},
        {ONE({"a", "b", .op = 99}), "no such operation"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char expected[300];
        (void)snprintf(expected, sizeof expected, "ARG: rule \"%s\": %s ()",
                       rows[i].rules->rules[0].original, rows[i].expected);
        check_there(rows[i].rules, "a[1]", expected);
    }
    check_there(ONE(NWI_SPLIT_SIZES("a", "{q,k}", "1,x")), "a[1]",
                "ARG: rule \"1,x\": a capture has no value here ()");
    check_there(ONE(NWI_MAP("a{", "b")), "a[1]",
                "ARG: pattern \"a{\", byte 1: { without } ()");
    const struct nwi_rules feature = {
        .features = (const struct nwi_rule_feature[]){{0, "a="}, {0}}};
    check_there(&feature, "a[1]", "ARG: feature 0 is none: \"a=\" ()");
    const struct nwi_rules post = {
        .post = (const struct nwi_rule[]){NWI_OP(SWAP, "a", "b"), {0}}};
    check_there(&post, "a[1]", "ARG: rule \"a\": the second pass only renames ()");
}

/* ---- quantised layers ---- */

/* A weight of a scheme with one companion, as a catalog has them. */
struct layer {
    uint64_t weight[2], companion[2];
    struct nwi_stored stored[2];
    struct nw_checkpoint ckpt;
};

static void make_layer(struct layer *layer, const struct scene *scene, int dtype,
                       int companion_dtype)
{
    memset(layer, 0, sizeof *layer);
    for (uint32_t i = 0; i < 2; i++) {
        const struct nwi_header_row *row = &scene->rows[i];
        layer->stored[i] = (struct nwi_stored){
            .name = row->name,
            .name_size = (uint32_t)row->name_size,
            .shape = row->shape,
            .rank = row->rank,
            .scheme = "fp8_scaled",
            .companion_of = i ? 0 : NW_NONE,
            .dtype = (uint8_t)(i ? companion_dtype : dtype),
            .quantised = true,
        };
    }
    layer->ckpt = (struct nw_checkpoint){.tensors = layer->stored, .n_tensors = 2};
}

static void check_layer(const struct nwi_rules *rules, enum nwi_direction direction,
                        int dtype, const char *tensors, const char *expected)
{
    struct scene *scene = malloc(sizeof *scene);
    struct layer layer;
    scene_begin(scene, tensors);
    make_layer(&layer, scene, dtype, strstr(tensors, "comfy") ? NW_U8 : NW_F32);
    assert_string_equal(scene_apply(scene, rules, direction, &layer.ckpt, NULL),
                        expected);
    scene_end(scene);
    free(scene);
}

static void scales_of_one_element_go_to_every_part(void **state)
{
    (void)state;
    const struct nwi_rules *split = ONE(NWI_OP(SPLIT, "a.{p}", "{q,k}.{p}"));
    const struct nwi_rules *swap = ONE(NWI_OP(SWAP, "a.{p}", "b.{p}"));
    check_layer(split, NWI_TO_DIFFUSERS, NW_F8_E4M3, "a.weight[2,1] a.weight_scale[]",
                "q.weight[1,1] a.weight:0; k.weight[1,1] a.weight:1; "
                "q.weight_scale[] a.weight_scale:0; k.weight_scale[] a.weight_scale:0");
    check_layer(split, NWI_TO_DIFFUSERS, NW_I8, "a.weight[2,1] a.comfy_quant[3]",
                "q.weight[1,1] a.weight:0; k.weight[1,1] a.weight:1; "
                "q.comfy_quant[3] a.comfy_quant:0,1,2; "
                "k.comfy_quant[3] a.comfy_quant:0,1,2");
    check_layer(
        swap, NWI_TO_DIFFUSERS, NW_F8_E4M3, "a.weight[2,1] a.weight_scale[1]",
        "b.weight[2,1] a.weight:1 a.weight:0; b.weight_scale[1] a.weight_scale:0");
    check_layer(
        swap, NWI_TO_ORIGINAL, NW_F8_E4M3, "b.weight[2,1] b.weight_scale[1]",
        "a.weight[2,1] b.weight:1 b.weight:0; a.weight_scale[1] b.weight_scale:0");
}

static void what_cannot_be_cut_is_refused(void **state)
{
    (void)state;
    const struct nwi_rules *split = ONE(NWI_OP(SPLIT, "a.{p}", "{q,k}.{p}"));
    const struct nwi_rules *swap = ONE(NWI_OP(SWAP, "a.{p}", "b.{p}"));
    const struct nwi_rules *turn = ONE(NWI_OP(TRANSPOSE, "a.{p}", "b.{p}"));
    const struct nwi_rules *same = ONE(NWI_MAP("a.{p}", "b.{p}"));
    check_layer(
        split, NWI_TO_DIFFUSERS, NW_U8, "a.weight[2,1] a.weight_scale[2]",
        "UNSUPPORTED: a tensor of the scheme fp8_scaled cannot be cut into parts "
        "(a.weight)");
    check_layer(swap, NWI_TO_DIFFUSERS, NW_U8, "a.weight_x[2,1] a.weight_scale[2]",
                "UNSUPPORTED: a tensor of the scheme fp8_scaled cannot be cut into "
                "halves (a.weight_x)");
    check_layer(turn, NWI_TO_DIFFUSERS, NW_F8_E4M3, "a.weight[2,1] a.weight_scale[]",
                "UNSUPPORTED: a tensor of the scheme fp8_scaled cannot be transposed "
                "(a.weight)");
    check_layer(split, NWI_TO_ORIGINAL, NW_U8, "q.weight[2,1] q.weight_scale[2]",
                "UNSUPPORTED: a tensor of the scheme fp8_scaled cannot be joined "
                "(q.weight)");
    check_layer(same, NWI_TO_DIFFUSERS, NW_U8, "a.weight[2,1] a.weight_scale[2]",
                "b.weight[2,1] a.weight:0,1; b.weight_scale[2] a.weight_scale:0,1");
}

static void parts_of_two_types_are_not_joined(void **state)
{
    (void)state;
    const struct nwi_rules *split = ONE(NWI_OP(SPLIT, "a", "{q,k}"));
    struct scene *scene = malloc(sizeof *scene);
    struct layer layer;
    scene_begin(scene, "q[1] k[1]");
    make_layer(&layer, scene, NW_BF16, NW_F32);
    layer.stored[0].quantised = layer.stored[1].quantised = false;
    layer.stored[1].companion_of = NW_NONE;
    assert_string_equal(
        scene_apply(scene, split, NWI_TO_ORIGINAL, &layer.ckpt, NULL),
        "MISMATCH: it is F32, but q, which it is joined with, is BF16 (k)");
    scene_end(scene);
    free(scene);
}

/* ---- size ---- */

/* Names of a large model, or names that begin like a rule's and go wrong late. */
static void fill_rows(struct nwi_header_row *rows, size_t n, bool hostile,
                      struct nwi_arena *arena)
{
    static const uint64_t shape[] = {3, 2};
    for (size_t i = 0; i < n; i++) {
        const char *name =
            hostile
                ? nwi_arena_printf(arena, "double_blocks.%zu.img_attn.qkv.weight.%zu",
                                   i, i)
                : nwi_arena_printf(arena, "double_blocks.%zu.img_attn.qkv.weight", i);
        rows[i] = (struct nwi_header_row){name, shape, strlen(name), 2, (uint32_t)i};
    }
}

static uint64_t steps_of(size_t n, bool hostile)
{
    static const struct nwi_rule rows[] = {
        NWI_MAP("double_blocks.{i}.{a:img|txt}_mod.lin.{p}", "t.{i}.{a:x|y}.{p}"),
        NWI_MAP("single_blocks.{i}.modulation.lin.{p}", "s.{i}.{p}"),
        NWI_OP(SPLIT, "double_blocks.{i}.img_attn.qkv.{p}", "t.{i}.to_{q,k,v}.{p}"),
        NWI_MAP("final.{p}", "proj_out.{p}"),
        {0}};
    const struct nwi_rules rules = {.rules = rows};
    struct nwi_memory *memory = nwi_memory_new(NULL);
    struct nwi_arena arena;
    struct nwi_header header;
    struct nwi_mapping_of out;
    struct nw_error err;
    nwi_error_clear(&err);
    nwi_arena_init(&arena, memory);
    struct nwi_header_row *names = nwi_arena_array(&arena, n, sizeof *names);
    fill_rows(names, n, hostile, &arena);
    assert_ok(nwi_header_init(&header, names, n, memory, &err), &err);
    assert_ok(nwi_rules_apply(&rules, NWI_TO_DIFFUSERS, &header, NULL, NULL, &arena,
                              &out, &err),
              &err);
    assert_int_equal(out.n_outputs, hostile ? 0 : 3 * n);
    nwi_header_release(&header);
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    return out.steps;
}

static void the_cost_is_linear_in_the_names(void **state)
{
    (void)state;
    for (int hostile = 0; hostile < 2; hostile++) {
        uint64_t few = steps_of(2000, hostile);
        uint64_t many = steps_of(200000, hostile);
        assert_in_range(many, 1, 200000 * 16);
        assert_in_range(many, few * 90, few * 110);
    }
}

static void refused_memory_leaves_nothing(void **state)
{
    (void)state;
    const struct nwi_rules *rules = ONE({.original = "a.{p}",
                                         .diffusers = "{q,k}.{p}",
                                         .op = NWI_RULE_SPLIT,
                                         .sizes = "*,*"},
                                        NWI_MAP("{*}", "{*}"));
    for (int direction = 0; direction < 2; direction++) {
        for (long fail_at = 0;; fail_at++) {
            static const uint64_t shape[] = {2, 2};
            static const struct nwi_header_row there[] = {{"a.w", shape, 3, 2, 0},
                                                          {"b", shape, 1, 2, 1}};
            static const struct nwi_header_row back[] = {{"q.w", shape, 3, 2, 0},
                                                         {"k.w", shape, 3, 2, 1}};
            struct nwt_allocator counts = {.fail_at = -1};
            struct nw_allocator allocator = nwt_failing_allocator(&counts);
            struct nwi_memory *memory = nwi_memory_new(&allocator);
            struct nwi_arena arena;
            struct nwi_header header;
            struct nwi_mapping_of out;
            struct nw_error err;
            nwi_error_clear(&err);
            nwi_arena_init(&arena, memory);
            assert_ok(
                nwi_header_init(&header, direction ? back : there, 2, memory, &err),
                &err);
            counts.fail_at = counts.calls + fail_at;
            int code = nwi_rules_apply(rules, (enum nwi_direction)direction, &header,
                                       NULL, NULL, &arena, &out, &err);
            nwi_header_release(&header);
            nwi_arena_release(&arena);
            nwi_memory_release(memory);
            assert_int_equal(counts.live, 0);
            if (code == NW_OK)
                break;
            assert_int_equal(code, NW_E_NOMEM);
            assert_int_equal(out.n_outputs, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rename_takes_the_whole_tensor),
        cmocka_unit_test(a_split_cuts_rows_and_the_way_back_joins_them),
        cmocka_unit_test(sizes_are_numbers_variables_and_stars),
        cmocka_unit_test(a_swap_is_its_own_inverse),
        cmocka_unit_test(a_transpose_swaps_strides),
        cmocka_unit_test(a_reshape_is_row_major_and_flattened_back),
        cmocka_unit_test(heads_are_taken_apart_and_interleaved_again),
        cmocka_unit_test(ones_go_and_come_back),
        cmocka_unit_test(what_is_dropped_stays_away_or_is_needed),
        cmocka_unit_test(a_constant_has_no_source),
        cmocka_unit_test(features_choose_among_rules),
        cmocka_unit_test(back_if_asks_the_diffusers_names),
        cmocka_unit_test(the_first_rule_that_can_make_a_name_counts),
        cmocka_unit_test(the_second_pass_renames_what_the_first_made),
        cmocka_unit_test(two_inputs_never_share_an_output),
        cmocka_unit_test(numbers_have_a_limit),
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(scales_of_one_element_go_to_every_part),
        cmocka_unit_test(what_cannot_be_cut_is_refused),
        cmocka_unit_test(parts_of_two_types_are_not_joined),
        cmocka_unit_test(the_cost_is_linear_in_the_names),
        cmocka_unit_test(refused_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
