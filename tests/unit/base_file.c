/* SPDX-License-Identifier: Apache-2.0
 * Open inputs, paths and folders. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "support/support.h"
#include "test.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

struct fixture {
    struct nwi_memory *memory;
    struct nwi_arena arena;
    struct nw_error err;
    char *folder;
    char *path; /* folder/data: "0123456789" */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->memory = nwi_memory_new(NULL);
    nwi_arena_init(&f->arena, f->memory);
    nwi_error_clear(&f->err);
    f->folder = nwt_folder();
    f->path = nwt_path(f->folder, "data");
    nwt_write(f->path, "0123456789", 10);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    nwi_arena_release(&f->arena);
    assert_int_equal(nwi_memory_used(f->memory), nwi_memory_self_bytes());
    nwi_memory_release(f->memory);
    free(f->path);
    nwt_remove(f->folder);
    free(f);
    return 0;
}

static struct nwi_file *open_data(struct fixture *f)
{
    struct nwi_file *file = NULL;
    assert_ok(nwi_file_open(f->path, false, f->memory, &file, &f->err), &f->err);
    return file;
}

/* ---- opening ---- */

static void a_regular_file(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = open_data(f);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(file->kind, NWI_FILE_FD);
    assert_int_equal(file->identity.size, 10);
    assert_int_equal(file->identity.inode, st.st_ino);
    assert_string_equal(file->path, f->path);
    assert_int_equal(fcntl(file->fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(file->fd, F_GETFL) & O_NONBLOCK, 0);
    assert_ptr_equal(nwi_file_retain(file), file);
    nwi_file_release(file);
    assert_true(fcntl(file->fd, F_GETFD) >= 0);
    nwi_file_release(file);
    nwi_file_release(NULL);
}

static void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(fd);
}

static void what_is_no_regular_file(void **state)
{
    struct fixture *f = *state;
    char *fifo = nwt_path(f->folder, "fifo");
    char *sock = nwt_path(f->folder, "socket");
    char *absent = nwt_path(f->folder, "absent");
    char *below = nwt_path(f->path, "below");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    make_socket(sock);
    const struct {
        const char *path;
        int code;
    } rows[] = {{f->folder, NW_E_ARG},    {fifo, NW_E_ARG},
                {sock, NW_E_ARG},         {"/dev/null", NW_E_ARG},
                {absent, NW_E_NOT_FOUND}, {below, NW_E_NOT_FOUND},
                {"", NW_E_NOT_FOUND}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct nwi_file *file = (struct nwi_file *)f;
        nwi_error_clear(&f->err);
        assert_code(nwi_file_open(rows[i].path, false, f->memory, &file, &f->err),
                    rows[i].code, &f->err);
        assert_null(file);
        assert_string_equal(f->err.file, rows[i].path);
        assert_true(f->err.message[0] != '\0');
    }
    free(fifo);
    free(sock);
    free(absent);
    free(below);
}

static void links_are_followed_unless_forbidden(void **state)
{
    struct fixture *f = *state;
    char *link = nwt_path(f->folder, "link");
    struct nwi_file *file = NULL;
    assert_int_equal(symlink("data", link), 0);
    assert_ok(nwi_file_open(link, false, f->memory, &file, &f->err), &f->err);
    nwi_file_release(file);
    assert_code(nwi_file_open(link, true, f->memory, &file, &f->err), NW_E_UNSAFE_PATH,
                &f->err);
    assert_null(file);
    nwi_error_clear(&f->err);
    assert_ok(nwi_file_open(f->path, true, f->memory, &file, &f->err), &f->err);
    nwi_file_release(file);
    assert_true(nwi_path_is_link(link));
    assert_false(nwi_path_is_link(f->path));
    free(link);
}

static void descriptors_are_duplicated(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = NULL;
    char got[4] = "";
    int fd = open(f->path, O_RDONLY);
    assert_ok(nwi_file_from_fd(fd, "shown", f->memory, &file, &f->err), &f->err);
    (void)close(fd);
    assert_string_equal(file->path, "shown");
    assert_ok(nwi_file_read(file, 7, got, 3, &f->err), &f->err);
    assert_string_equal(got, "789");
    nwi_file_release(file);
    assert_code(nwi_file_from_fd(-1, NULL, f->memory, &file, &f->err), NW_E_ARG,
                &f->err);
    fd = open(f->path, O_WRONLY);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_from_fd(fd, "w", f->memory, &file, &f->err), NW_E_ARG,
                &f->err);
    assert_null(file);
    (void)close(fd);
    fd = open(f->folder, O_RDONLY | O_DIRECTORY);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_from_fd(fd, "d", f->memory, &file, &f->err), NW_E_ARG,
                &f->err);
    (void)close(fd);
}

/* ---- reading ---- */

static void reading_has_no_position(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = open_data(f);
    char got[16] = "";
    size_t n = 0;
    assert_ok(nwi_file_read(file, 5, got, 5, &f->err), &f->err);
    assert_memory_equal(got, "56789", 5);
    assert_ok(nwi_file_read(file, 0, got, 2, &f->err), &f->err);
    assert_memory_equal(got, "01", 2);
    assert_ok(nwi_file_read(file, 10, got, 0, &f->err), &f->err);
    assert_ok(nwi_file_read(file, 999, got, 0, &f->err), &f->err);
    assert_ok(nwi_file_read_some(file, 8, got, 16, &n, &f->err), &f->err);
    assert_int_equal(n, 2);
    assert_ok(nwi_file_read_some(file, 10, got, 16, &n, &f->err), &f->err);
    assert_int_equal(n, 0);
    assert_ok(nwi_file_read_some(file, UINT64_MAX - 3, got, 16, &n, &f->err), &f->err);
    assert_int_equal(n, 0);
    nwi_file_release(file);
}

static void the_end_is_truncated_or_changed(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = open_data(f);
    char got[16];
    assert_code(nwi_file_read(file, 8, got, 3, &f->err), NW_E_TRUNCATED, &f->err);
    assert_int_equal(f->err.offset, 10);
    assert_string_equal(f->err.file, f->path);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_read(file, 50, got, 1, &f->err), NW_E_TRUNCATED, &f->err);
    assert_int_equal(f->err.offset, 50);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_read(file, UINT64_MAX - 3, got, 2, &f->err), NW_E_TRUNCATED,
                &f->err);
    assert_int_equal(truncate(f->path, 6), 0);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_read(file, 4, got, 4, &f->err), NW_E_CHANGED, &f->err);
    assert_int_equal(f->err.offset, 6);
    assert_non_null(strstr(f->err.message, "6"));
    assert_non_null(strstr(f->err.message, "10"));
    nwi_file_release(file);
}

static void memory_is_a_file(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = NULL;
    char got[8] = "";
    size_t n = 0;
    assert_ok(nwi_file_from_memory("abcdef", 6, NULL, f->memory, &file, &f->err),
              &f->err);
    assert_ok(nwi_file_read(file, 2, got, 4, &f->err), &f->err);
    assert_string_equal(got, "cdef");
    assert_ok(nwi_file_read_some(file, 4, got, 8, &n, &f->err), &f->err);
    assert_int_equal(n, 2);
    assert_ok(nwi_file_check_unchanged(file, &f->err), &f->err);
    assert_code(nwi_file_read(file, 3, got, 4, &f->err), NW_E_TRUNCATED, &f->err);
    assert_int_equal(f->err.offset, 6);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_read(file, UINT64_MAX, got, 4, &f->err), NW_E_TRUNCATED,
                &f->err);
    nwi_file_release(file);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_from_memory(NULL, 6, NULL, f->memory, &file, &f->err),
                NW_E_ARG, &f->err);
    nwi_error_clear(&f->err);
    assert_ok(nwi_file_from_memory(NULL, 0, "none", f->memory, &file, &f->err),
              &f->err);
    assert_code(nwi_file_read(file, 0, got, 1, &f->err), NW_E_TRUNCATED, &f->err);
    assert_int_equal(f->err.offset, 0);
    nwi_file_release(file);
}

/* An input of 10 bytes whose byte 7 cannot be read. */
static int read_at(void *ctx, uint64_t offset, void *dst, size_t size)
{
    int *calls = ctx;
    (*calls)++;
    assert_true(offset + size <= 10 && size > 0);
    if (offset <= 7 && offset + size > 7)
        return EIO;
    memset(dst, 'i', size);
    return 0;
}

static void callbacks_are_a_file(void **state)
{
    struct fixture *f = *state;
    int calls = 0;
    struct nw_input input = {10, read_at, &calls};
    struct nwi_file *file = NULL;
    char got[8] = "";
    size_t n = 0;
    assert_ok(nwi_file_from_input(&input, "in", f->memory, &file, &f->err), &f->err);
    assert_ok(nwi_file_read(file, 3, got, 4, &f->err), &f->err);
    assert_string_equal(got, "iiii");
    assert_ok(nwi_file_read_some(file, 8, got, 8, &n, &f->err), &f->err);
    assert_int_equal(n, 2);
    assert_code(nwi_file_read(file, 6, got, 3, &f->err), NW_E_IO, &f->err);
    assert_int_equal(f->err.sys, EIO);
    assert_int_equal(f->err.offset, 6);
    assert_string_equal(f->err.file, "in");
    nwi_error_clear(&f->err);
    calls = 0;
    assert_code(nwi_file_read(file, 10, got, 1, &f->err), NW_E_TRUNCATED, &f->err);
    assert_int_equal(calls, 0);
    nwi_file_release(file);
    input.read_at = NULL;
    nwi_error_clear(&f->err);
    assert_code(nwi_file_from_input(&input, NULL, f->memory, &file, &f->err), NW_E_ARG,
                &f->err);
}

static void a_failing_read_says_where(void **state)
{
    struct fixture *f = *state;
    struct nwi_file *file = open_data(f);
    char got[4];
    (void)close(file->fd);
    file->fd = open(f->path, O_WRONLY);
    assert_code(nwi_file_read(file, 3, got, 4, &f->err), NW_E_IO, &f->err);
    assert_int_equal(f->err.sys, EBADF);
    assert_int_equal(f->err.offset, 3);
    nwi_file_release(file);
}

/* ---- identity ---- */

static void set_times(const char *path, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void changes_are_seen(void **state)
{
    struct fixture *f = *state;
    set_times(f->path, 1000);
    struct nwi_file *file = open_data(f);
    assert_ok(nwi_file_check_unchanged(file, &f->err), &f->err);
    nwt_write(f->path, "0123456789ab", 12);
    assert_code(nwi_file_check_unchanged(file, &f->err), NW_E_CHANGED, &f->err);
    assert_non_null(strstr(f->err.message, "size"));
    assert_non_null(strstr(f->err.message, "from 10 to 12"));
    assert_string_equal(f->err.file, f->path);
    nwi_file_release(file);

    nwi_error_clear(&f->err);
    file = open_data(f);
    set_times(f->path, 2000);
    assert_code(nwi_file_check_unchanged(file, &f->err), NW_E_CHANGED, &f->err);
    assert_non_null(strstr(f->err.message, "modification time"));
    assert_non_null(strstr(f->err.message, "to 2000000000000"));
    nwi_file_release(file);
}

static void a_change_with_forged_mtime_is_seen(void **state)
{
    struct fixture *f = *state;
    set_times(f->path, 1000);
    struct nwi_file *file = open_data(f);
    const struct timespec pause = {.tv_nsec =
                                       30000000}; /* more than a tick of the clock */
    (void)nanosleep(&pause, NULL);
    nwt_write(f->path, "9876543210", 10);
    set_times(f->path, 1000);
    assert_code(nwi_file_check_unchanged(file, &f->err), NW_E_CHANGED, &f->err);
    assert_non_null(strstr(f->err.message, "the change time"));
    nwi_file_release(file);
}

static void another_inode_is_seen(void **state)
{
    struct fixture *f = *state;
    char *other = nwt_path(f->folder, "other");
    nwt_write(other, "0123456789", 10);
    struct nwi_file *file = open_data(f);
    int fd = open(other, O_RDONLY);
    assert_int_equal(dup2(fd, file->fd), file->fd);
    (void)close(fd);
    assert_code(nwi_file_check_unchanged(file, &f->err), NW_E_CHANGED, &f->err);
    assert_non_null(strstr(f->err.message, "inode"));
    nwi_file_release(file);
    free(other);
}

/* ---- whole files ---- */

static void slurping(void **state)
{
    struct fixture *f = *state;
    char *text = NULL;
    size_t size = 0;
    assert_ok(nwi_file_slurp(f->path, 10, &f->arena, &text, &size, &f->err), &f->err);
    assert_int_equal(size, 10);
    assert_string_equal(text, "0123456789");
    assert_code(nwi_file_slurp(f->path, 9, &f->arena, &text, &size, &f->err),
                NW_E_LIMIT, &f->err);
    assert_null(text);
    assert_int_equal(size, 0);
    nwi_error_clear(&f->err);
    assert_code(nwi_file_slurp("/nonexistent", 9, &f->arena, &text, &size, &f->err),
                NW_E_NOT_FOUND, &f->err);
    nwt_write(f->path, NULL, 0);
    nwi_error_clear(&f->err);
    assert_ok(nwi_file_slurp(f->path, 0, &f->arena, &text, &size, &f->err), &f->err);
    assert_string_equal(text, "");
}

/* Enough that their names need several blocks of an arena. */
static void make_files(const char *folder, int n)
{
    for (int i = 0; i < n; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "a-name-of-some-length-%d", i);
        char *path = nwt_path(folder, name);
        nwt_write(path, NULL, 0);
        free(path);
    }
}

static void opening_survives_every_refusal(void **state)
{
    struct fixture *f = *state;
    int code = NW_E_NOMEM;
    make_files(f->folder, 300);
    for (long fail_at = 1; code != NW_OK; fail_at++) {
        struct nwt_allocator counts = {.fail_at = fail_at};
        struct nw_allocator allocator = nwt_failing_allocator(&counts);
        struct nwi_memory *memory = nwi_memory_new(&allocator);
        struct nwi_arena arena;
        char *text = NULL;
        char **names = NULL;
        size_t size = 0;
        nwi_arena_init(&arena, memory);
        nwi_error_clear(&f->err);
        code = nwi_file_slurp(f->path, 100, &arena, &text, &size, &f->err);
        if (code == NW_OK)
            code = nwi_folder_list(f->folder, &arena, &names, &size, &f->err);
        assert_int_equal(code, f->err.code);
        assert_true(code == NW_OK || code == NW_E_NOMEM);
        assert_int_equal(names != NULL, code == NW_OK);
        nwi_arena_release(&arena);
        nwi_memory_release(memory);
        assert_int_equal(counts.live, 0);
        assert_int_equal(counts.live_bytes, 0);
    }
}

static void every_source_survives_every_refusal(void **state)
{
    struct fixture *f = *state;
    int calls = 0;
    struct nw_input input = {10, read_at, &calls};
    for (long fail_at = 1; fail_at <= 2; fail_at++) { /* the struct, its path */
        for (int source = 0; source < 3; source++) {
            struct nwt_allocator counts = {.fail_at = fail_at};
            struct nw_allocator allocator = nwt_failing_allocator(&counts);
            struct nwi_memory *memory = nwi_memory_new(&allocator);
            struct nwi_file *file = NULL;
            int code = NW_OK;
            nwi_error_clear(&f->err);
            if (source == 0)
                code = nwi_file_open(f->path, false, memory, &file, &f->err);
            else if (source == 1)
                code = nwi_file_from_memory("x", 1, NULL, memory, &file, &f->err);
            else
                code = nwi_file_from_input(&input, NULL, memory, &file, &f->err);
            assert_int_equal(code, NW_E_NOMEM);
            assert_int_equal(f->err.code, NW_E_NOMEM);
            assert_null(file);
            nwi_memory_release(memory);
            assert_int_equal(counts.live, 0);
        }
    }
}

/* ---- paths ---- */

static void parts_of_paths(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *path;
        const char *base;
        const char *dir;
    } rows[] = {
        {"a", "a", "."},     {"a/b", "b", "a"},   {"/a", "a", "/"},
        {"a/b/", "b/", "a"}, {"a//b", "b", "a"},  {"/a/b.c", "b.c", "/a"},
        {"./a", "a", "."},   {"//a", "a", "/"},   {"", "", "."},
        {"a/", "a/", "."},   {"../x", "x", ".."},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_string_equal(nwi_path_base(rows[i].path), rows[i].base);
        assert_string_equal(nwi_path_dir(&f->arena, rows[i].path), rows[i].dir);
    }
    assert_string_equal(nwi_path_dir(&f->arena, "/"), "/");
    assert_string_equal(nwi_path_join(&f->arena, "a", "b"), "a/b");
    assert_string_equal(nwi_path_join(&f->arena, "a/", "b"), "a/b");
    assert_string_equal(nwi_path_join(&f->arena, "/", "b"), "/b");
    assert_string_equal(nwi_path_join(&f->arena, "", "b"), "b");
    assert_string_equal(nwi_path_join(&f->arena, NULL, "b"), "b");
}

static void kinds_of_paths(void **state)
{
    struct fixture *f = *state;
    char *link = nwt_path(f->folder, "dangling");
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(nwi_path_kind(f->path), NWI_PATH_FILE);
    assert_int_equal(nwi_path_kind(f->folder), NWI_PATH_FOLDER);
    assert_int_equal(nwi_path_kind("/dev/null"), NWI_PATH_OTHER);
    assert_int_equal(nwi_path_kind(link), NWI_PATH_ABSENT);
    assert_true(nwi_path_is_link(link));
    assert_null(nwi_path_real(link, &f->arena));
    free(link);
}

static void real_paths_have_no_links(void **state)
{
    struct fixture *f = *state;
    char *link = nwt_path(f->folder, "here");
    assert_int_equal(symlink(".", link), 0);
    const char *through = nwi_path_join(&f->arena, link, "here/data");
    const char *direct = nwi_path_real(f->path, &f->arena);
    assert_non_null(direct);
    assert_true(nwi_ends_with(direct, "/data"));
    assert_string_equal(nwi_path_real(through, &f->arena), direct);
    free(link);
}

static void folders_are_listed_in_bytewise_order(void **state)
{
    struct fixture *f = *state;
    static const char *const made[] = {"b", "B", "a.2", "a.10", "\xC3\xA9", ".hidden"};
    static const char *const sorted[] = {".hidden", "B",    "a.10",    "a.2",
                                         "b",       "data", "\xC3\xA9"};
    char **names = NULL;
    size_t n = 0;
    for (size_t i = 0; i < LENGTH(made); i++) {
        char *path = nwt_path(f->folder, made[i]);
        nwt_write(path, NULL, 0);
        free(path);
    }
    assert_ok(nwi_folder_list(f->folder, &f->arena, &names, &n, &f->err), &f->err);
    assert_int_equal(n, LENGTH(sorted));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i], sorted[i]);
    assert_code(nwi_folder_list(f->path, &f->arena, &names, &n, &f->err),
                NW_E_NOT_FOUND, &f->err);
    assert_int_equal(f->err.sys, ENOTDIR);
    assert_null(names);
    assert_int_equal(n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_regular_file),
        TEST(what_is_no_regular_file),
        TEST(links_are_followed_unless_forbidden),
        TEST(descriptors_are_duplicated),
        TEST(reading_has_no_position),
        TEST(the_end_is_truncated_or_changed),
        TEST(memory_is_a_file),
        TEST(callbacks_are_a_file),
        TEST(a_failing_read_says_where),
        TEST(changes_are_seen),
        TEST(a_change_with_forged_mtime_is_seen),
        TEST(another_inode_is_seen),
        TEST(slurping),
        TEST(opening_survives_every_refusal),
        TEST(every_source_survives_every_refusal),
        TEST(parts_of_paths),
        TEST(kinds_of_paths),
        TEST(real_paths_have_no_links),
        TEST(folders_are_listed_in_bytewise_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
