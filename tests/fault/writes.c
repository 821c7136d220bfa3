/* SPDX-License-Identifier: Apache-2.0
 * Every n-th write, sync or change of a name fails once, or a write is short, during a
 * conversion over an older one: an error and the old tensors, or success and the new ones;
 * over a sharded folder it may also be refused afterwards, but is never a mixture. The old
 * tensors are F32 and the new ones BF16, so that a mixture would show. */
#define _GNU_SOURCE

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum call {
    WRITE, /* ENOSPC */
    SHORT, /* half of it */
    INTERRUPTED,
    SYNC,   /* EIO */
    RENAME, /* EACCES */
    UNLINK,
    N_CALLS
};

static _Atomic int watched = N_CALLS; /* enum call; N_CALLS: none */
static _Atomic long calls;
static _Atomic long fails_at;

static void arm(int call, long n)
{
    calls = 0;
    fails_at = n;
    watched = call;
}

/* True if there was a call with that number. */
static bool disarm(void)
{
    watched = N_CALLS;
    return calls > fails_at;
}

static bool in_trouble(int call)
{
    return watched == call && atomic_fetch_add(&calls, 1) == fails_at;
}

static int refuse(int sys)
{
    errno = sys;
    return -1;
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset)
{
    if (in_trouble(WRITE))
        return refuse(ENOSPC);
    if (in_trouble(INTERRUPTED))
        return refuse(EINTR);
    if (in_trouble(SHORT) && size > 1)
        size /= 2;
    return syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return write_at(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    return write_at(fd, data, size, offset);
}

int fsync(int fd)
{
    return in_trouble(SYNC) ? refuse(EIO) : (int)syscall(SYS_fsync, fd);
}

int renameat2(int old_fd, const char *old, int new_fd, const char *new, unsigned flags)
{
    if (in_trouble(RENAME))
        return refuse(EACCES);
    return (int)syscall(SYS_renameat2, old_fd, old, new_fd, new, flags);
}

int renameat(int old_fd, const char *old, int new_fd, const char *new)
{
    return renameat2(old_fd, old, new_fd, new, 0);
}

int unlinkat(int fd, const char *name, int flags)
{
    if (in_trouble(UNLINK))
        return refuse(EACCES);
    return (int)syscall(SYS_unlinkat, fd, name, flags);
}

static char *folder;
static char *source;
static char *target;

static int set_up(void **state)
{
    (void)state;
    folder = nwt_folder();
    source = nwt_path(folder, "source");
    fault_write_shards(source, "model", 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(source);
    nwt_remove(folder);
    return 0;
}

static int save(int dtype, uint32_t threads, uint64_t max_shard_bytes,
                struct nw_error *err)
{
    struct nw_checkpoint *ckpt = NULL;
    struct nw_error opening;
    struct fault_way way = {dtype, NW_COPY_AUTO, NW_BACKEND_AUTO, threads};
    assert_ok(nw_open(source, NULL, &ckpt, &opening), &opening);
    struct nw_plan *plan = fault_plan(ckpt, &way, NW_LOAD_TO_FILE);
    struct nw_write_options options = NW_OPTIONS_INIT(options);
    options.flags = NW_WRITE_OVERWRITE;
    options.max_shard_bytes = max_shard_bytes;
    int code = nw_plan_write(plan, target, &options, NULL, NULL, err);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return code;
}

/* The type of all tensors of the target; -1 if it is refused. */
static int saved_dtype(void)
{
    struct nw_error err;
    struct nw_checkpoint *ckpt = NULL;
    struct nw_plan *plan = NULL;
    struct nw_weights *weights = NULL;
    int dtype = -1;
    if (nw_open(target, NULL, &ckpt, &err) != NW_OK)
        return -1;
    assert_ok(nw_plan_create(ckpt, NULL, &plan, &err), &err);
    assert_ok(nw_plan_run(plan, NULL, &weights, &err), &err);
    assert_int_equal(nw_weights_count(weights), 9);
    assert_true(fault_weights_right(weights));
    for (size_t i = 0; i < 9; i++) {
        struct nw_tensor tensor;
        assert_int_equal(nw_weights_tensor(weights, i, &tensor), NW_OK);
        assert_true(dtype < 0 || tensor.dtype == dtype); /* no mixture */
        dtype = tensor.dtype;
    }
    nw_weights_free(weights);
    nw_plan_free(plan);
    nw_checkpoint_free(ckpt);
    return dtype;
}

/* One conversion with call n in trouble; false if there is no call n. */
static bool convert_once(int call, long n, uint32_t threads, uint64_t max_shard_bytes)
{
    struct nw_error err;
    bool one_file = max_shard_bytes == 0;
    assert_ok(save(NW_F32, threads, max_shard_bytes, &err), &err);
    arm(call, n);
    int code = save(NW_BF16, threads, max_shard_bytes / 2, &err);
    bool fired = disarm();
    int dtype = saved_dtype();
    if (code == NW_OK) {
        assert_int_equal(dtype, NW_BF16);
        assert_true(!fired || call != WRITE);
    } else {
        if (code != NW_E_IO || !fired)
            fail_msg("call %d, number %ld: %s (%s)", call, n, nw_code_name(code),
                     err.message);
        assert_true(err.sys != 0 && err.message[0]);
        assert_true(call != SHORT && call != INTERRUPTED);
        /* The last sync is of the folder: the new file stands there by then. */
        if (call == WRITE || (one_file && call != SYNC))
            assert_int_equal(dtype, NW_F32);
        assert_true(dtype >= 0 || !one_file);
        if (call == WRITE || (one_file && call != UNLINK))
            assert_false(fault_has_temporary(folder));
        assert_ok(save(NW_BF16, threads, max_shard_bytes / 2, &err), &err);
        assert_int_equal(saved_dtype(), NW_BF16);
    }
    return fired;
}

static void check(const char *name, uint64_t max_shard_bytes)
{
    static const uint32_t threads[] = {NW_THREADS_NONE, 2};
    target = nwt_path(folder, name);
    for (int call = WRITE; call < N_CALLS; call++) {
        for (size_t t = 0; t < 2; t++) {
            long n = 0;
            while (convert_once(call, n, threads[t], max_shard_bytes))
                n++;
            assert_true(n > 0 || call == UNLINK);
        }
    }
    free(target);
}

static void test_file(void **state)
{
    (void)state;
    check("target.safetensors", 0);
}

static void test_folder(void **state)
{
    (void)state;
    check("target", 170000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_folder),
    };
    return cmocka_run_group_tests_name("fault: writes", tests, set_up, tear_down);
}
