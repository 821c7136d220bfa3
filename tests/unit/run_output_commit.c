/* SPDX-License-Identifier: Apache-2.0
 * The commit, stopped before every one of its steps, and every one of them failing: the
 * folder opens as the old set, as the new one, or is refused; never a mixture. */
#include "run_output_scene.h"

#include <errno.h>
#include <sys/wait.h>

#define OLD 10
#define NEW 100

static const uint64_t sizes[] = {40, 40, 40, 40, 10, 30};

/* How a folder is saved, before and now: bytes a shard, 0 = one file. */
struct way {
    uint64_t old_max;
    uint64_t new_max;
    bool leftover; /* a single file of an earlier save lies beside the old shards */
    const char *variant;
};

static const struct way ways[] = {
    {0, 0, false, NULL},     {0, 80, false, NULL},   {80, 0, false, NULL},
    {80, 80, false, NULL},   {80, 40, false, NULL},  {40, 80, false, NULL},
    {80, 80, true, NULL},    {40, 80, true, NULL},   {80, 0, true, NULL},
    {80, 80, false, "fp16"}, {80, 40, true, "fp16"},
};

/* Stops, or fails, before one step. */
struct stop {
    int at;
    int n;
    int sys; /* 0: the process ends; else the errno */
};

static int step(void *ctx, const char *what, const char *name)
{
    struct stop *stop = ctx;
    (void)what;
    (void)name;
    if (stop->n++ != stop->at)
        return 0;
    if (stop->sys == 0)
        _exit(7);
    return stop->sys;
}

struct place {
    char *folder;
    char *source;
    char *target;
    struct scene scene;
};

static void set_up(struct place *place)
{
    place->folder = nwt_folder();
    place->source = nwt_path(place->folder, "in.safetensors");
    place->target = nwt_path(place->folder, "out");
    scene_source(place->source, sizes, sizeof sizes / sizeof sizes[0], 1);
    scene_open(&place->scene, place->source);
}

static void tear_down(struct place *place)
{
    scene_close(&place->scene);
    free(place->target);
    free(place->source);
    nwt_remove(place->folder);
}

static struct nw_write_options options_of(const struct way *way, uint64_t max)
{
    return (struct nw_write_options){
        .flags = NW_WRITE_OVERWRITE, .max_shard_bytes = max, .variant = way->variant};
}

static void save_old(struct place *place, const struct way *way)
{
    struct nw_write_options options = options_of(way, way->old_max);
    if (scene_has(place->folder, "out"))
        nwt_remove(place->target);
    else
        free(place->target);
    place->target = nwt_path(place->folder, "out");
    assert_int_equal(mkdir(place->target, 0777), 0);
    assert_ok(scene_save(&place->scene, place->target, &options, OLD),
              &place->scene.err);
    if (!way->leftover)
        return;
    /* Neither old nor new: must never be what opens. */
    char *leftover = nwt_path(place->target, way->variant ? "model.fp16.safetensors"
                                                          : "model.safetensors");
    scene_source(leftover, sizes, 1, 200);
    free(leftover);
}

static int value_of(const struct place *place, const struct way *way)
{
    return scene_variant_value(place->target, way->variant);
}

static int save_new(struct place *place, const struct way *way, struct stop *stop)
{
    struct nw_write_options options = options_of(way, way->new_max);
    struct nwi_output_hook hook = {step, stop};
    struct nwi_output *output = NULL;
    int code = scene_begin(&place->scene, place->target, &options, &output);
    if (code == NW_OK)
        code = scene_fill(&place->scene, output, NEW);
    if (code == NW_OK) {
        output->hook = &hook;
        code = nwi_output_commit(output, &place->scene.err);
    }
    nwi_output_free(output);
    return code;
}

/* The old set, the new one, or refused; and saving again gives the new one, and nothing
 * is left of what was. */
static int judge(struct place *place, const struct way *way)
{
    struct stop never = {.at = -1};
    int value = value_of(place, way);
    if (value != OLD && value != NEW && value > -1000)
        fail_msg("a mixture: %d", value);
    assert_ok(save_new(place, way, &never), &place->scene.err);
    assert_int_equal(value_of(place, way), NEW);
    size_t n = way->new_max == 0 ? 1 : way->new_max == 80 ? 4 : 6;
    assert_int_equal(scene_count(place->target), n);
    return value;
}

static bool is_killed(struct place *place, const struct way *way, int at)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct stop stop = {.at = at};
        _exit(save_new(place, way, &stop) == NW_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == 7;
}

static void check_killed(const struct way *way)
{
    struct place place;
    int last = OLD;
    set_up(&place);
    for (int at = 0;; at++) {
        save_old(&place, way);
        assert_int_equal(value_of(&place, way), OLD);
        if (!is_killed(&place, way, at))
            break;
        int value = judge(&place, way);
        /* Old, refused, new: never back. */
        assert_false(last == NEW && value != NEW);
        assert_false(last <= -1000 && value == OLD);
        last = value;
        assert_true(at < 100);
    }
    assert_int_equal(value_of(&place, way), NEW);
    tear_down(&place);
}

static void test_killed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        check_killed(&ways[i]);
}

/* A step that fails: as killed, but where the old set is still there, no temporary is.
 */
static void check_failing(const struct way *way)
{
    struct place place;
    set_up(&place);
    for (int at = 0;; at++) {
        struct stop stop = {.at = at, .sys = EIO};
        save_old(&place, way);
        size_t before = scene_count(place.target);
        int code = save_new(&place, way, &stop);
        if (code == NW_OK)
            break;
        assert_int_equal(code, NW_E_IO);
        assert_int_equal(place.scene.err.sys, EIO);
        if (value_of(&place, way) == OLD && !way->leftover && way->new_max != 0)
            assert_int_equal(scene_count(place.target), before);
        (void)judge(&place, way);
    }
    tear_down(&place);
}

static void test_failing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        check_failing(&ways[i]);
}

/* ---- what goes and what stays ---- */

static const char *const foreign[] = {
    "model.ema.safetensors",
    "model.ema-00001-of-00002.safetensors",
    "model.safetensors.index.ema.json",
    "model_ema-00001-of-00002.safetensors",
    "model-00001-of-00002.bin",
    "model.bin.index.json",
    "other-00001-of-00002.safetensors",
    "notes.txt",
    ".other.safetensors.netweight-tmp-4194304999-0123abcd",
    ".model.safetensors.netweight-tmp-1-0123abcd", /* of a process that lives */
};

static const char *const stale[] = {
    "model-00001-of-00009.safetensors",
    "model-00009-of-00004.safetensors",
    ".model.safetensors.netweight-tmp-4194304999-0123abcd",
    ".model-00002-of-00004.safetensors.netweight-tmp-4194304999-0123abcd",
    ".model-00002-of-00004.safetensors.netweight-tmp-0-0123abcd", /* given up */
};

static void check_stale(uint64_t max)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE,
                                       .max_shard_bytes = max};
    const size_t n_foreign = sizeof foreign / sizeof foreign[0];
    const size_t n_stale = sizeof stale / sizeof stale[0];
    set_up(&place);
    assert_int_equal(mkdir(place.target, 0777), 0);
    for (size_t i = 0; i < n_foreign; i++)
        scene_text(place.target, foreign[i], foreign[i]);
    for (size_t i = 0; i < n_stale; i++)
        scene_text(place.target, stale[i], "stale");
    scene_text(place.target, "model.safetensors", "stale");
    assert_ok(scene_save(&place.scene, place.target, &options, NEW), &place.scene.err);
    for (size_t i = 0; i < n_foreign; i++)
        scene_expect(place.target, foreign[i], foreign[i]);
    for (size_t i = 0; i < n_stale; i++)
        assert_false(scene_has(place.target, stale[i]));
    assert_int_equal(scene_has(place.target, "model.safetensors"), max == 0);
    assert_int_equal(scene_count(place.target), n_foreign + (max ? 4 : 1));
    tear_down(&place);
}

static void test_stale(void **state)
{
    (void)state;
    check_stale(0);
    check_stale(80);
}

/* The old spelling of a variant is superseded by the new one. */
static void test_legacy(void **state)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE, .variant = "fp16"};
    (void)state;
    for (uint64_t max = 0; max <= 80; max += 80) {
        set_up(&place);
        assert_int_equal(mkdir(place.target, 0777), 0);
        scene_text(place.target, "model.safetensors.fp16.index.json", "{}");
        scene_text(place.target, "model-00001-of-00002.fp16.safetensors", "");
        scene_text(place.target, "model-00001-of-00002.bf16.safetensors", "");
        options.max_shard_bytes = max;
        assert_ok(scene_save(&place.scene, place.target, &options, NEW),
                  &place.scene.err);
        assert_int_equal(scene_variant_value(place.target, "fp16"), NEW);
        assert_true(scene_has(place.target, "model-00001-of-00002.bf16.safetensors"));
        assert_int_equal(scene_count(place.target), max ? 5 : 2);
        tear_down(&place);
    }
}

/* One file asked for by name: its neighbours are none of its business. */
static void test_single(void **state)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    (void)state;
    set_up(&place);
    char *target = nwt_path(place.folder, "model.safetensors");
    scene_text(place.folder, "model.safetensors.index.json", "mine");
    scene_text(place.folder, "model-00001-of-00002.safetensors", "mine");
    scene_text(place.folder, ".model.safetensors.netweight-tmp-4194304999-0123abcd",
               "x");
    nwt_write(target, "old", 3);
    assert_int_equal(chmod(target, 0640), 0);
    assert_ok(scene_save(&place.scene, target, &options, NEW), &place.scene.err);
    assert_int_equal(scene_value(target), NEW);
    struct stat st;
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    scene_expect(place.folder, "model.safetensors.index.json", "mine");
    scene_expect(place.folder, "model-00001-of-00002.safetensors", "mine");
    assert_int_equal(scene_count(place.folder), 4);
    free(target);
    tear_down(&place);
}

/* Saving over the file that is open, and one that a link points to: the link is
 * replaced. */
static void test_over_itself(void **state)
{
    struct place place;
    struct nw_write_options options = {.flags = NW_WRITE_OVERWRITE};
    (void)state;
    set_up(&place);
    assert_ok(scene_save(&place.scene, place.source, &options, NEW), &place.scene.err);
    assert_int_equal(scene_value(place.source), NEW);
    char *link = nwt_path(place.folder, "link.safetensors");
    assert_int_equal(symlink("in.safetensors", link), 0);
    assert_ok(scene_save(&place.scene, link, &options, 150), &place.scene.err);
    assert_int_equal(scene_value(place.source), NEW);
    assert_int_equal(scene_value(link), 150);
    assert_false(nwi_path_is_link(link));
    free(link);
    tear_down(&place);
}

/* What came to the place while the file was written is not replaced without leave. */
static void test_race(void **state)
{
    struct place place;
    struct nw_write_options options = {0};
    struct nwi_output *output = NULL;
    (void)state;
    set_up(&place);
    char *target = nwt_path(place.folder, "new.safetensors");
    assert_ok(scene_begin(&place.scene, target, &options, &output), &place.scene.err);
    assert_ok(scene_fill(&place.scene, output, NEW), &place.scene.err);
    nwt_write(target, "theirs", 6);
    assert_code(nwi_output_commit(output, &place.scene.err), NW_E_IO, &place.scene.err);
    assert_int_equal(place.scene.err.sys, EEXIST);
    nwi_output_free(output);
    scene_expect(place.folder, "new.safetensors", "theirs");
    assert_int_equal(scene_count(place.folder), 2);
    free(target);
    tear_down(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed), cmocka_unit_test(test_failing),
        cmocka_unit_test(test_stale),  cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_single), cmocka_unit_test(test_over_itself),
        cmocka_unit_test(test_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
