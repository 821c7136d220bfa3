/* SPDX-License-Identifier: Apache-2.0
 * Every n-th read fails once, is short, is interrupted, or finds the end of the file:
 * through an input of callbacks, and through the system calls themselves, which this
 * program puts itself in front of. */
#define _GNU_SOURCE

#include "fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum trouble {
    NO_TROUBLE,
    FAILS,       /* -1, EIO */
    INTERRUPTED, /* -1, EINTR */
    SHORT,       /* half of the bytes */
    ENDS         /* 0 */
};

/* Reads of files of this test since arm(); the one with this number is in trouble. */
static _Atomic long reads;
static _Atomic long trouble_at;
static _Atomic int trouble;
static _Atomic bool armed;

static void arm(int kind, long n)
{
    reads = 0;
    trouble = kind;
    trouble_at = n;
    armed = kind != NO_TROUBLE;
}

/* What happens to this read. */
static int next_trouble(void)
{
    if (!armed)
        return NO_TROUBLE;
    return atomic_fetch_add(&reads, 1) == trouble_at ? trouble : NO_TROUBLE;
}

/* True if there was a read with that number. */
static bool disarm(void)
{
    armed = false;
    return reads > trouble_at;
}

static long read_with(int kind, int fd, void *dst, size_t size, off_t offset)
{
    if (kind == FAILS || kind == INTERRUPTED) {
        errno = kind == FAILS ? EIO : EINTR;
        return -1;
    }
    if (kind == ENDS)
        return 0;
    if (kind == SHORT && size > 1)
        size /= 2;
    return syscall(SYS_pread64, fd, dst, size, offset);
}

ssize_t pread(int fd, void *dst, size_t size, off_t offset)
{
    return read_with(next_trouble(), fd, dst, size, offset);
}

ssize_t pread64(int fd, void *dst, size_t size, off64_t offset)
{
    return read_with(next_trouble(), fd, dst, size, offset);
}

/* As the fortified headers name them. */
ssize_t __pread_chk(int fd, void *dst, size_t size, off_t offset, size_t room);
ssize_t __pread_chk(int fd, void *dst, size_t size, off_t offset, size_t room)
{
    assert_true(size <= room);
    return pread(fd, dst, size, offset);
}

ssize_t __pread64_chk(int fd, void *dst, size_t size, off64_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *dst, size_t size, off64_t offset, size_t room)
{
    return __pread_chk(fd, dst, size, offset, room);
}

/* ---- pages of a mapping that cannot be brought in ---- */

static _Atomic long populates;
static _Atomic long populate_fails_at = -1; /* < 0: none */

int madvise(void *start, size_t size, int advice)
{
    if (advice == MADV_POPULATE_READ && populate_fails_at >= 0 &&
        atomic_fetch_add(&populates, 1) == populate_fails_at) {
        errno = EFAULT;
        return -1;
    }
    return (int)syscall(SYS_madvise, start, size, advice);
}

/* ---- an input of callbacks ---- */

struct source {
    const uint8_t *data;
    size_t size;
};

static int read_at(void *ctx, uint64_t offset, void *dst, size_t size)
{
    const struct source *source = ctx;
    assert_true(offset <= source->size && size <= source->size - offset);
    if (next_trouble() == FAILS)
        return EIO;
    memcpy(dst, source->data + offset, size);
    return 0;
}

static char *folder;
static char *file;
static char *shards;
static struct source source;

static int set_up(void **state)
{
    static const uint64_t elems[] = {500000, 1, 17, 20000, 5000, 0, 262144};
    (void)state;
    folder = nwt_folder();
    file = nwt_path(folder, "one.safetensors");
    shards = nwt_path(folder, "shards");
    fault_write(file, elems, 7, 0);
    fault_write_shards(shards, "model", 3);
    source.data = nwt_read(file, &source.size);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free((void *)(uintptr_t)source.data);
    free(file);
    free(shards);
    nwt_remove(folder);
    return 0;
}

static int open_input(struct nw_checkpoint **out, struct nw_error *err)
{
    struct nw_input input = {source.size, read_at, &source};
    return nw_open_input(&input, "callbacks", NULL, out, err);
}

/* What a call may return when a read was in that trouble. A direct read that fails is
 * tried again through the page cache, and there the trouble is over. */
static void assert_trouble(int kind, uint32_t backend, int code,
                           const struct nw_error *err)
{
    if (kind == SHORT || kind == INTERRUPTED) {
        if (code != NW_OK)
            fail_msg("trouble %d: %s (%s)", kind, nw_code_name(code), err->message);
        return;
    }
    if (backend == NW_BACKEND_DIRECT && code == NW_OK)
        return;
    bool right = kind == FAILS ? code == NW_E_IO && err->sys == EIO
                               : code == NW_E_CHANGED || code == NW_E_TRUNCATED;
    if (!right)
        fail_msg("trouble %d: %s (%s)", kind, nw_code_name(code), err->message);
    assert_int_equal(err->code, code);
    assert_true(err->offset < source.size);
    assert_true(err->file[0] && err->message[0]);
}

static void check_open(const char *path, int kind)
{
    static const uint32_t backend = NW_BACKEND_PREAD;
    struct nw_error err;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_checkpoint *ckpt = NULL;
        arm(kind, n);
        int code = path ? nw_open(path, NULL, &ckpt, &err) : open_input(&ckpt, &err);
        more = disarm();
        if (more)
            assert_trouble(kind, backend, code, &err);
        else
            assert_int_equal(code, NW_OK);
        assert_true((code == NW_OK) == (ckpt != NULL));
        nw_checkpoint_free(ckpt);
    }
    assert_true(n > 1);
}

static void test_open(void **state)
{
    (void)state;
    check_open(NULL, FAILS);
    for (int kind = FAILS; kind <= ENDS; kind++) {
        check_open(file, kind);
        check_open(shards, kind);
    }
}

/* Runs a plan again and again, the n-th read in trouble, until there is no n-th. */
static void check_run(struct nw_plan *plan, int kind, uint32_t backend)
{
    struct nw_error err;
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_weights *weights = NULL;
        arm(kind, n);
        int code = nw_plan_run(plan, NULL, &weights, &err);
        more = disarm();
        if (more)
            assert_trouble(kind, backend, code, &err);
        else if (code != NW_OK)
            fail_msg("%s (%s)", nw_code_name(code), err.message);
        if (code == NW_OK)
            assert_true(fault_weights_right(weights));
        else
            assert_null(weights);
        nw_weights_free(weights);
    }
    if (backend == NW_BACKEND_PREAD || backend == NW_BACKEND_DIRECT)
        assert_true(n > 1);
}

static void test_load_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        assert_ok(nw_open(i % 3 ? file : shards, NULL, &ckpt, &err), &err);
        struct nw_plan *plan = fault_plan(ckpt, &fault_ways[i], 0);
        for (int kind = FAILS; kind <= ENDS; kind++)
            check_run(plan, kind, fault_ways[i].backend);
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
}

/* What a window of the file does not give, a plain read does; for mapped tensors there is
 * no other way. */
static void check_populate(const struct fault_way *way, uint32_t flags)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
    struct nw_plan *plan = fault_plan(ckpt, way, flags);
    long n = 0;
    for (bool more = true; more; n++) {
        struct nw_weights *weights = NULL;
        populates = 0;
        populate_fails_at = n;
        int code = nw_plan_run(plan, NULL, &weights, &err);
        populate_fails_at = -1;
        more = populates > n;
        if (more && flags)
            assert_int_equal(code, NW_E_IO);
        else
            assert_int_equal(code, NW_OK);
        assert_true(code != NW_OK || fault_weights_right(weights));
        nw_weights_free(weights);
    }
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
}

static void test_populate(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    (void)state;
    check_populate(&map, NW_LOAD_PREFAULT);
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        if (fault_ways[i].backend == NW_BACKEND_MMAP)
            check_populate(&fault_ways[i], 0);
    }
}

static void test_load_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        struct nw_error err;
        struct nw_checkpoint *ckpt = NULL;
        assert_ok(open_input(&ckpt, &err), &err);
        struct fault_way way = fault_ways[i];
        way.backend = NW_BACKEND_AUTO;
        struct nw_plan *plan = fault_plan(ckpt, &way, 0);
        check_run(plan, FAILS, NW_BACKEND_PREAD);
        nw_plan_free(plan);
        nw_checkpoint_free(ckpt);
    }
}

/* A mapping is asked for, but these bytes have to be copied. */
static void test_input_is_copied(void **state)
{
    static const struct fault_way map = FAULT_MAP;
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    (void)state;
    assert_ok(open_input(&ckpt, &err), &err);
    struct nw_plan *plan = fault_plan(ckpt, &map, 0);
    check_run(plan, FAILS, NW_BACKEND_PREAD);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
}

static void check_convert(int kind, const struct fault_way *way)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    char *target = nwt_path(folder, "out.safetensors");
    nwt_write(target, "the old file", 12);
    assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
    struct nw_plan *plan = fault_plan(ckpt, way, NW_LOAD_TO_FILE);
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    options.flags = NW_WRITE_OVERWRITE;
    long n = 0;
    for (bool more = true; more; n++) {
        arm(kind, n);
        int code = nw_plan_write(plan, target, &options, NULL, NULL, &err);
        more = disarm();
        if (!more)
            break;
        assert_trouble(kind, way->backend, code, &err);
        assert_false(fault_has_temporary(folder));
        if (code == NW_OK) {
            nwt_write(target, "the old file", 12);
            continue;
        }
        size_t size = 0;
        char *old = nwt_read(target, &size);
        assert_true(size == 12 && memcmp(old, "the old file", 12) == 0);
        free(old);
    }
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    free(target);
}

/* C58 (d): a source that gives too little leaves the old file as it was. */
static void test_convert(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAULT_WAYS; i++) {
        check_convert(FAILS, &fault_ways[i]);
        check_convert(ENDS, &fault_ways[i]);
    }
}

static void test_slice(void **state)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    size_t index = 0;
    float rows[100];
    (void)state;
    assert_ok(nw_open(file, NULL, &ckpt, &err), &err);
    assert_ok(nw_checkpoint_find(ckpt, NULL, "t3", &index, &err), &err);
    for (int kind = FAILS; kind <= ENDS; kind++) {
        arm(kind, 0);
        int code = nw_checkpoint_read(ckpt, index, 7, 100, rows, sizeof rows, &err);
        assert_true(disarm());
        assert_trouble(kind, NW_BACKEND_PREAD, code, &err);
        for (uint64_t i = 0; code == NW_OK && i < 100; i++) {
            float want = fault_value(3, i + 7);
            assert_memory_equal(&rows[i], &want, 4);
        }
    }
    nw_checkpoint_free(ckpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_load_file),
        cmocka_unit_test(test_populate),
        cmocka_unit_test(test_load_input),
        cmocka_unit_test(test_input_is_copied),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_slice),
    };
    return cmocka_run_group_tests_name("fault: reads", tests, set_up, tear_down);
}
