/* SPDX-License-Identifier: Apache-2.0
 * Files that are cut short, rewritten or replaced while they are being read, at random
 * times: an error, or the bytes that were there; never a signal, never a mixture. */
#define _GNU_SOURCE

#include "fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

enum change {
    CUT,     /* ftruncate to a random size */
    REWRITE, /* other bytes, in place */
    REFILL,  /* cut to nothing, then as long as before with other bytes */
    REPLACE, /* another file renamed over it */
    GROW,    /* bytes behind the end */
    N_CHANGES
};

static const uint64_t elems[] = {1500000, 1, 17, 20000, 300000, 262144};
static char *folder;
static char *file;
static char *other;
static char *target;
static char *image; /* of file, as it is at first */
static size_t image_size;
static char *wrong; /* as long; every value differs */
static uint64_t seed;
static long repeats;

static int set_up(void **state)
{
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "file.safetensors");
    other = nwt_path(folder, "other.safetensors");
    target = nwt_path(folder, "target.safetensors");
    fault_write(file, elems, 6, 0);
    image = nwt_read(file, &image_size);
    wrong = malloc(image_size);
    assert_non_null(wrong);
    memset(wrong, 0xFF, image_size);
    const char *given = getenv("NETWEIGHT_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20240613;
    repeats = getenv("NETWEIGHT_LONG") ? 200 : 5;
    printf("NETWEIGHT_SEED=%llu\n", (unsigned long long)seed);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(wrong);
    free(image);
    free(target);
    free(other);
    free(file);
    nwt_remove(folder);
    return 0;
}

static void nap(uint64_t microseconds)
{
    struct timespec time = {.tv_sec = (time_t)(microseconds / 1000000),
                            .tv_nsec = (long)(microseconds % 1000000) * 1000};
    (void)nanosleep(&time, NULL);
}

static uint64_t now_us(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* ---- who changes it ---- */

struct changer {
    enum change change;
    uint64_t delay_us;
    uint64_t cut; /* bytes left by CUT */
    int fd;       /* -1: opened when the time has come, which may have to wait */
    bool done;    /* read after the join */
    uint64_t opening_us;
};

static void put(int fd, const char *data, size_t size, off_t offset)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, data, size, offset);
        assert_true(n > 0);
        data += n;
        size -= (size_t)n;
        offset += n;
    }
}

static void *change_it(void *arg)
{
    struct changer *changer = arg;
    nap(changer->delay_us);
    uint64_t begin = now_us();
    if (changer->fd < 0)
        changer->fd = open(file, O_WRONLY | O_CLOEXEC);
    changer->opening_us = now_us() - begin;
    int fd = changer->fd;
    switch (changer->change) {
    case CUT:
        changer->done = ftruncate(fd, (off_t)changer->cut) == 0;
        break;
    case REFILL:
        changer->done = ftruncate(fd, 0) == 0;
        put(fd, wrong, image_size, 0);
        break;
    case REWRITE:
        put(fd, wrong + 8, image_size - 8, 8);
        changer->done = true;
        break;
    case REPLACE:
        changer->done = rename(other, file) == 0;
        break;
    case GROW:
        put(fd, wrong, 100, (off_t)image_size);
        changer->done = true;
        break;
    case N_CHANGES:
    default:
        break;
    }
    return NULL;
}

static void restore(void)
{
    nwt_write(other, wrong, image_size);
    (void)remove(file);
    nwt_write(file, image, image_size);
    nap(5000); /* the clock of time stamps goes on */
}

/* Starts a change within `span_us`. */
static pthread_t begin_change(struct changer *changer, enum change change,
                              uint64_t span_us)
{
    pthread_t thread;
    *changer = (struct changer){.change = change};
    changer->delay_us = nwt_random(&seed) % (span_us + 1);
    changer->cut = nwt_random(&seed) % image_size;
    changer->fd = nwt_random(&seed) % 2 ? -1 : open(file, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pthread_create(&thread, NULL, change_it, changer), 0);
    return thread;
}

static void end_change(struct changer *changer, pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(changer->fd >= 0);
    assert_int_equal(close(changer->fd), 0);
    assert_true(changer->done);
    assert_true(changer->opening_us < 5000000); /* nobody is held up for long */
}

static void assert_change_error(int code, const struct nw_error *err)
{
    if (code != NW_E_TRUNCATED && code != NW_E_CHANGED && code != NW_E_IO)
        fail_msg("%s (%s)", nw_code_name(code), err->message);
    assert_int_equal(err->code, code);
    if (!strstr(err->file, "file.safetensors"))
        fail_msg("file \"%s\": %s", err->file, err->message);
    assert_true(err->message[0]);
    /* A size or time that changed is about no byte; everything else is. */
    assert_true(code == NW_E_CHANGED || err->offset < image_size);
}

/* ---- loads ---- */

static void open_file(const struct fault_way *way, uint32_t flags,
                      struct nw_checkpoint **ckpt, struct nw_plan **plan)
{
    struct nw_error err;
    assert_ok(nw_open(file, NULL, ckpt, &err), &err);
    *plan = fault_plan(*ckpt, way, flags);
}

/* How long a run takes that nobody disturbs. */
static uint64_t usual_us(const struct fault_way *way, uint32_t flags)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    restore();
    open_file(way, flags, &ckpt, &plan);
    uint64_t begin = now_us();
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    uint64_t time = now_us() - begin;
    assert_true(flags || fault_weights_right(weights));
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return time;
}

/* One disturbed run; true if it succeeded all the same. */
static bool run_changed(const struct fault_way *way, uint32_t flags, enum change change,
                        uint64_t span_us, bool look)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct changer changer;
    restore();
    open_file(way, flags, &ckpt, &plan);
    pthread_t thread = begin_change(&changer, change, span_us);
    int code = nw_plan_run(plan, NULL, &weights, &err);
    end_change(&changer, thread);
    if (code != NW_OK)
        assert_change_error(code, &err);
    else if (look && !fault_weights_right(weights))
        fail_msg("change %d, backend %u: wrong bytes", (int)change, way->backend);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return code == NW_OK;
}

static void test_copying_loads(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        uint64_t span = usual_us(&fault_ways[i], 0) * 5 / 4;
        long kept = 0;
        for (int change = CUT; change < N_CHANGES; change++)
            for (long n = 0; n < repeats; n++)
                kept += run_changed(&fault_ways[i], 0, (enum change)change, span, true);
        printf("backend %u, dtype %d: %ld of %ld loads were in time\n",
               fault_ways[i].backend, fault_ways[i].dtype, kept, repeats * N_CHANGES);
    }
}

/* Mapped tensors that are touched during the load: what is cut off is an error there,
 * too. Afterwards nobody may look at them. */
static void test_mapped_loads(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    uint32_t flags = NW_LOAD_PREFAULT | NW_LOAD_DIGEST;
    uint64_t span = usual_us(&map, flags) * 5 / 4;
    for (long n = 0; n < repeats * 2; n++)
        (void)run_changed(&map, flags, n % 2 ? CUT : REFILL, span, false);
}

/* A change between opening and the load is always seen; a file that lost its name is
 * still the same file. */
static void check_change_before(const struct fault_way *way, enum change change)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    struct changer changer;
    restore();
    open_file(way, 0, &ckpt, &plan);
    end_change(&changer, begin_change(&changer, change, 0));
    int code = nw_plan_run(plan, NULL, &weights, &err);
    assert_int_equal(code, change == REPLACE ? NW_OK : NW_E_CHANGED);
    if (code == NW_OK)
        assert_true(fault_weights_right(weights));
    else
        assert_change_error(code, &err);
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
}

static void test_change_before_the_run(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    for (int change = CUT; change < N_CHANGES; change++) {
        check_change_before(&map, (enum change)change);
        for (size_t i = 0; i < FAULT_WAYS; i++)
            check_change_before(&fault_ways[i], (enum change)change);
    }
}

static bool target_is(const void *data, size_t size)
{
    size_t got_size = 0;
    char *got = nwt_read(target, &got_size);
    bool same = got_size == size && memcmp(got, data, size) == 0;
    free(got);
    return same;
}

static void test_convert(void **state)
{
    (void)state;
    for (long n = 0; n < repeats * (long)FAULT_WAYS; n++) {
        struct fault_way way = fault_ways[n % (long)FAULT_WAYS];
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        struct nw_plan *plan = NULL;
        struct changer changer;
        way.dtype = NW_DTYPE_AUTO;
        restore();
        nwt_write(target, "old", 3);
        open_file(&way, NW_LOAD_TO_FILE, &ckpt, &plan);
        pthread_t thread = begin_change(
            &changer, (enum change)(n / (long)FAULT_WAYS % N_CHANGES), 20000);
        struct nw_write_options options = NW_OPTIONS_INIT(options);
        options.flags = NW_WRITE_OVERWRITE;
        int code = nw_plan_write(plan, target, &options, NULL, NULL, &err);
        end_change(&changer, thread);
        if (code != NW_OK) {
            assert_change_error(code, &err);
            assert_true(target_is("old", 3));
        } else {
            size_t size = 0;
            free(nwt_read(target, &size));
            assert_true(size >= image_size - 8 && !target_is("old", 3));
        }
        assert_false(fault_has_temporary(folder));
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
        if (code == NW_OK) { /* the values, whatever the order of the tensors */
            struct nw_weights *weights = NULL;
            assert_ok(nw_open(target, NULL, &ckpt, &err), &err);
            plan = fault_plan(ckpt, &fault_ways[0], 0);
            assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
            assert_true(fault_weights_right(weights));
            nw_weights_free(weights);
            nw_plan_free(plan);
            nw_checkpoint_free(ckpt);
        }
    }
}

/* A slice is what was there when the file was opened, or an error. */
static void test_slices(void **state)
{
    (void)state;
    for (int change = CUT; change < N_CHANGES; change++) {
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        struct changer changer;
        float row = 0;
        float want = fault_value(0, 1499999);
        restore();
        assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
        end_change(&changer, begin_change(&changer, (enum change)change, 0));
        int code = nw_checkpoint_read(ckpt, 0, 1499999, 1, &row, 4, &err);
        if (code != NW_OK)
            assert_change_error(code, &err);
        else if (memcmp(&row, &want, 4) != 0)
            fail_msg("change %d: a wrong value", change);
        nw_checkpoint_free(ckpt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change_before_the_run),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_copying_loads),
        cmocka_unit_test(test_mapped_loads),
        cmocka_unit_test(test_convert),
    };
    return cmocka_run_group_tests_name("fault: changes", tests, set_up, tear_down);
}
