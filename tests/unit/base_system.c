/* SPDX-License-Identifier: Apache-2.0
 * Memory and CPUs under made-up control groups; this process; monitors. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arith.h"
#include "base/cgroup.h"
#include "base/system.h"
#include "base/thread.h"
#include "support/support.h"
#include "test.h"

#define GIB ((uint64_t)1 << 30)

/* Writes root/path, with the folders above it. */
static void put(const char *root, const char *path, const char *text)
{
    char *full = nwt_path(root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    nwt_write(full, text, strlen(text));
    free(full);
}

/* 16 GiB, of which 8 are available. */
static int set_up(void **state)
{
    char *root = nwt_folder();
    put(root, "proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree:         1000000 kB\n"
        "MemAvailable:    8388608 kB\n");
    *state = root;
    return 0;
}

static int tear_down(void **state)
{
    nwt_remove(*state);
    return 0;
}

static void expect(const char *root, uint64_t limit, uint64_t available,
                   const char *source)
{
    struct nw_system_memory memory;
    struct nw_error err;
    nwi_error_clear(&err);
    assert_ok(nwi_system_memory_at(root, &memory, &err), &err);
    assert_int_equal(memory.limit_bytes, limit);
    assert_int_equal(memory.available_bytes, available);
    assert_string_equal(memory.source, source);
}

static void without_groups(void **state)
{
    expect(*state, 16 * GIB, 8 * GIB, "meminfo");
}

static void without_meminfo(void **state)
{
    (void)state;
    struct nw_system_memory memory;
    struct nw_error err;
    nwi_error_clear(&err);
    assert_code(nwi_system_memory_at("/nonexistent", &memory, &err), NW_E_IO, &err);
    assert_int_equal(memory.available_bytes, 0);
    assert_string_equal(err.file, "/proc/meminfo");
}

static void version_2_smallest_on_the_way_up(void **state)
{
    char *root = *state;
    put(root, "proc/self/cgroup", "0::/user/app\n");
    put(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    put(root, "sys/fs/cgroup/user/app/memory.max", "max\n");
    put(root, "sys/fs/cgroup/user/app/memory.current", "1073741824\n");
    expect(root, 16 * GIB, 8 * GIB, "meminfo");
    put(root, "sys/fs/cgroup/user/memory.max", "4294967296\n");
    put(root, "sys/fs/cgroup/user/memory.current", "3221225472\n");
    expect(root, 4 * GIB, 1 * GIB, "cgroup");
    put(root, "sys/fs/cgroup/user/memory.stat",
        "anon 1\nfile 2147483648\ninactive_file 536870912\nactive_file 536870912\n");
    expect(root, 4 * GIB, 2 * GIB, "cgroup");
    put(root, "sys/fs/cgroup/user/app/memory.max", "2147483648\n");
    expect(root, 2 * GIB, 1 * GIB, "cgroup");
}

static void cache_never_lifts_the_limit(void **state)
{
    char *root = *state;
    put(root, "proc/self/cgroup", "0::/\n");
    put(root, "sys/fs/cgroup/cgroup.controllers", "memory\n");
    put(root, "sys/fs/cgroup/memory.max", "1073741824\n");
    put(root, "sys/fs/cgroup/memory.current", "1000\n");
    put(root, "sys/fs/cgroup/memory.stat", "inactive_file 5000\nactive_file 5000\n");
    expect(root, GIB, GIB, "cgroup");
    put(root, "sys/fs/cgroup/memory.stat", "inactive_file 0\nactive_file 0\n");
    put(root, "sys/fs/cgroup/memory.current", "9073741824\n");
    expect(root, GIB, 0, "cgroup");
}

static void version_1_with_a_hidden_group(void **state)
{
    char *root = *state;
    put(root, "proc/self/cgroup",
        "12:cpuset:/docker/abc\n5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/"
        "\n");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n");
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "2147483648\n");
    put(root, "sys/fs/cgroup/memory/memory.stat",
        "cache 1\ninactive_file 7\ntotal_inactive_file 536870912\ntotal_active_file "
        "0\n");
    expect(root, 3 * GIB, 3 * GIB / 2, "cgroup");
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(root, 16 * GIB, 8 * GIB, "meminfo");
}

static void a_limit_above_what_is_free(void **state)
{
    char *root = *state;
    put(root, "proc/self/cgroup", "4:memory:/x\n");
    put(root, "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "12884901888\n");
    put(root, "sys/fs/cgroup/memory/x/memory.usage_in_bytes", "0\n");
    expect(root, 12 * GIB, 8 * GIB, "meminfo");
}

static void hybrid_mounts(void **state)
{
    char *root = *state;
    put(root, "proc/self/cgroup", "1:name=systemd:/s\n0::/s\n");
    put(root, "sys/fs/cgroup/unified/s/memory.max", "1073741824\n");
    put(root, "sys/fs/cgroup/unified/s/memory.current", "0\n");
    expect(root, GIB, GIB, "cgroup");
}

static void odd_groups(void **state)
{
    char *root = *state;
    struct nwi_cgroup group;
    put(root, "sys/fs/cgroup/cgroup.controllers", "memory\n");
    put(root, "sys/fs/cgroup/memory.max", "garbage\n");
    static const char *const texts[] = {
        "", "\n", "0", "0:", "::::\n", "x\ny\n", "0::/../..\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put(root, "proc/self/cgroup", texts[i]);
        expect(root, 16 * GIB, 8 * GIB, "meminfo");
    }
    put(root, "proc/self/cgroup", "0::/../x\n");
    assert_true(nwi_cgroup_find(root, "memory", 2, &group));
    assert_int_equal(strlen(group.folder), group.mount_size);
    assert_false(nwi_cgroup_up(&group));
    put(root, "proc/self/cgroup", "3:cpu,cpuacct:/a/b\n");
    assert_false(nwi_cgroup_find(root, "acct", 1, &group));
    assert_true(nwi_cgroup_find(root, "cpuacct", 1, &group));
    assert_true(nwi_cgroup_up(&group));
    assert_true(nwi_cgroup_up(&group));
    assert_false(nwi_cgroup_up(&group));
}

static void numbers_in_lines(void **state)
{
    (void)state;
    uint64_t value = 0;
    static const char text[] =
        "ab 1\nabc 2\nabcd: 3 kB\nmax max\nbig 99999999999999999999\n";
    assert_true(nwi_line_number(text, "abc", &value));
    assert_int_equal(value, 2);
    assert_true(nwi_line_number(text, "abcd", &value));
    assert_int_equal(value, 3);
    assert_false(nwi_line_number(text, "a", &value));
    assert_false(nwi_line_number(text, "max", &value));
    assert_false(nwi_line_number(text, "big", &value));
    assert_false(nwi_line_number("ab", "ab", &value));
}

static void quotas_limit_the_cpus(void **state)
{
    char *root = *state;
    uint32_t all = nwi_cpu_count_at(root);
    assert_true(all >= 1);
    put(root, "proc/self/cgroup", "5:cpu,cpuacct:/a\n");
    put(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    put(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(nwi_cpu_count_at(root), all);
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(nwi_cpu_count_at(root), 1);
    put(root, "proc/self/cgroup", "0::/b\n");
    put(root, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
    put(root, "sys/fs/cgroup/b/cpu.max", "max 100000\n");
    assert_int_equal(nwi_cpu_count_at(root), all);
    put(root, "sys/fs/cgroup/b/cpu.max", "150000 100000\n");
    assert_int_equal(nwi_cpu_count_at(root), all < 2 ? all : 2);
    put(root, "sys/fs/cgroup/b/cpu.max", "1000 100000\n");
    assert_int_equal(nwi_cpu_count_at(root), 1);
    put(root, "sys/fs/cgroup/b/cpu.max", "1000 0\n");
    assert_int_equal(nwi_cpu_count_at(root), all);
}

static void this_machine(void **state)
{
    (void)state;
    struct nw_system_memory memory;
    struct nw_error err;
    nwi_error_clear(&err);
    assert_ok(nwi_system_memory(&memory, &err), &err);
    assert_in_range(memory.available_bytes, 1, memory.limit_bytes);
    assert_true(nwi_cpu_count() >= 1);
    assert_int_equal(nwi_cpu_detect() & NW_CPU_SCALAR, NW_CPU_SCALAR);
    assert_int_equal(nwi_cpu_detect(), nwi_cpu_detect());
}

static void resident_memory_follows(void **state)
{
    (void)state;
    const size_t size = 64 << 20;
    if (nwi_resident_bytes() == 0)
        skip();
    bool resets = nwi_reset_resident_peak();
    uint64_t before = nwi_resident_bytes();
    char *data = malloc(size);
    assert_non_null(data);
    memset(data, 1, size);
    assert_true(data[size / 2] == 1);
    assert_true(nwi_resident_bytes() >= before + size / 2);
    free(data);
    assert_true(nwi_resident_peak_bytes() >= before + size / 2);
    if (resets) {
        assert_true(nwi_reset_resident_peak());
        assert_true(nwi_resident_peak_bytes() >= nwi_resident_bytes() / 2);
    }
}

/* ---- monitors ---- */

struct meeting {
    struct nwi_monitor monitor;
    int arrived; /* under the lock */
};

static void *arrive(void *arg)
{
    struct meeting *meeting = arg;
    nwi_monitor_enter(&meeting->monitor);
    meeting->arrived++;
    nwi_monitor_signal(&meeting->monitor);
    nwi_monitor_leave(&meeting->monitor);
    return NULL;
}

static void monitors_wake_and_time_out(void **state)
{
    (void)state;
    struct meeting meeting = {.arrived = 0};
    pthread_t threads[4];
    assert_int_equal(nwi_monitor_init(&meeting.monitor), 0);
    nwi_monitor_enter(&meeting.monitor);
    double start = nwi_now();
    while (nwi_monitor_wait(&meeting.monitor, 50))
        continue;
    assert_true(nwi_now() - start >= 0.049);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, arrive, &meeting), 0);
    while (meeting.arrived < 4)
        assert_true(nwi_monitor_wait(&meeting.monitor, 60000));
    nwi_monitor_leave(&meeting.monitor);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    nwi_monitor_destroy(&meeting.monitor);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(without_groups),
        TEST(without_meminfo),
        TEST(version_2_smallest_on_the_way_up),
        TEST(cache_never_lifts_the_limit),
        TEST(version_1_with_a_hidden_group),
        TEST(a_limit_above_what_is_free),
        TEST(hybrid_mounts),
        TEST(odd_groups),
        TEST(numbers_in_lines),
        TEST(quotas_limit_the_cpus),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(resident_memory_follows),
        cmocka_unit_test(monitors_wake_and_time_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
