/* SPDX-License-Identifier: Apache-2.0
 * Predicates and quantities. */
#include "layout_scene.h"

#include "layout/predicate.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const char tensors[] =
    "img_in.weight[3072,64] img_in.bias[3072] blocks.0.a[1] blocks.1.a[1] "
    "blocks.10.b[2] "
    "blocks.x.b[2] down.2.op[1] down.5.op[1] mean-of-means[128] scalar[]";

static void predicates_hold_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {
        {"img_in.weight", true},
        {"img_in", false},
        {"img_in*", true},
        {"img_in.weight*", true},
        {"txt*", false},
        {"*", true},
        {"img_in.weight[1]=64", true},
        {"img_in.weight[1]=65", false},
        {"img_in.weight[1]!=64", false},
        {"img_in.weight[1]!=65", true},
        {"img_in.weight[-1]=64", true},
        {"img_in.weight[-2]=3072", true},
        {"img_in.weight[0]>3071", true},
        {"img_in.weight[0]>3072", false},
        {"img_in.weight[0]<3073", true},
        {"img_in.weight[2]=1", false},
        {"img_in.weight[2]!=1", false},
        {"img_in.weight[-3]!=1", false},
        {"gone[0]!=1", false},
        {"img_in.weight[]=2", true},
        {"scalar[]=0", true},
        {"scalar[]!=0", false},
        {"gone[]!=7", false},
        {"#blocks.=11", true},
        {"#blocks.>10", true},
        {"#blocks.<11", false},
        {"#gone.=0", true},
        {"#gone.<1", true},
        {"mean-of-means[0]=128", true},
        {"$kind=edge", true},
        {"$kind=edg", false},
        {"$kind=edges", false},
        {"$kin=edge", false},
        {"$other=", true},
        {"gone|img_in.bias", true},
        {"gone|gone.too", false},
        {"!gone", true},
        {"!img_in.bias", false},
        {"!gone|gone.too", true},
        {"!gone|img_in.bias", false},
    };
    static const char *const items[] = {"kind=edge", "other=", "kind=second"};
    const struct nwi_hints hints = {items, LENGTH(items)};
    struct scene *scene = malloc(sizeof *scene);
    scene_begin(scene, tensors);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (!nwi_predicate_valid(rows[i].text))
            fail_msg("%s is not valid", rows[i].text);
        if (nwi_predicate_holds(rows[i].text, &scene->header, &hints) != rows[i].holds)
            fail_msg("%s", rows[i].text);
    }
    assert_false(nwi_predicate_holds("$kind=edge", &scene->header, NULL));
    assert_null(nwi_hint(&hints, "none"));
    assert_string_equal(nwi_hint(&hints, "kind"), "edge");
    scene_end(scene);
    free(scene);
}

static void what_is_no_predicate_is_false(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "!",
        "a|",
        "|a",
        "!a|!b",
        "a[",
        "a[0]",
        "a[0]==1",
        "a[0]=",
        "a[0]=x",
        "a[x]=1",
        "a[0]!1",
        "a[0]=1 ",
        "[0]=1",
        "#",
        "#=1",
        "#a",
        "#a=",
        "$",
        "$a",
        "$=b",
        "a=1",
        "a<1",
        "a*b",
        "a.{i}",
        "a[99]=1",
        "a[0]>=1",
        "!!a",
        "a[0]=9999999999999999999",
    };
    struct scene *scene = malloc(sizeof *scene);
    scene_begin(scene, "a[1] b[1]");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (nwi_predicate_valid(rows[i]))
            fail_msg("\"%s\" is valid", rows[i]);
        assert_false(nwi_predicate_holds(rows[i], &scene->header, NULL));
    }
    scene_end(scene);
    free(scene);
}

static void quantities_are_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: none */
    } rows[] = {
        {"img_in.weight[0]", 3072},
        {"img_in.weight[-1]", 64},
        {"img_in.weight[1]-4", 60},
        {"img_in.weight[1]+1", 65},
        {"img_in.weight[2]", -1},
        {"mean-of-means[0]", 128},
        {"gone[0]", -1},
        {"#blocks.", 11},
        {"#blocks.+1", 12},
        {"#blocks.-12", -1},
        {"#gone.", -1},
        {"<down.{i}.op", 2},
        {"<down.{i}.op+1", 3},
        {"<down.{1+i}.op", 1},
        {"<gone.{i}", -1},
        {"<down.{j}.op", -1},
        {"7", 7},
        {"7-2", 5},
        {"2-7", -1},
    };
    struct scene *scene = malloc(sizeof *scene);
    scene_begin(scene, tensors);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int64_t value = -1;
        bool is_there = nwi_quantity_get(rows[i].text, &scene->header, &value) == NW_OK;
        if (is_there != (rows[i].value >= 0) || (is_there && value != rows[i].value))
            fail_msg("%s: %lld", rows[i].text, (long long)value);
        if (i != 15) /* whose pattern has no {i} */
            assert_int_equal(nwi_quantity_check(rows[i].text, &scene->arena), NW_OK);
    }
    static const char *const wrong[] = {"",   "x",   "a[]",     "a[0]x", "#",
                                        "<",  "<a",  "<{j}",    "+1",    "-1",
                                        "1x", "[0]", "<a.{i}}", "#a[0]"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        int64_t value = 0;
        if (nwi_quantity_check(wrong[i], &scene->arena) != NW_E_ARG)
            fail_msg("\"%s\" is valid", wrong[i]);
        assert_int_equal(nwi_quantity_get(wrong[i], &scene->header, &value),
                         NW_E_NOT_FOUND);
    }
    scene_end(scene);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicates_hold_or_not),
        cmocka_unit_test(what_is_no_predicate_is_false),
        cmocka_unit_test(quantities_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
