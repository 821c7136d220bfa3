/* SPDX-License-Identifier: Apache-2.0
 * Pages of a mapped file that are brought in: the file's bytes, and an error that says what
 * happened to which file where it was cut meanwhile. */
#define _GNU_SOURCE

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "run/mapping.h"
#include "support/support.h"

enum { MAPPED_BYTES = 5 * 65536 + 123 };

struct scene {
    char *folder;
    char *path;
    struct nwi_memory *memory;
    struct nwi_file *file;
    struct nwi_mapping *mapping;
};

static int set_up(void **state)
{
    static char bytes[MAPPED_BYTES];
    static struct scene scene;
    struct nw_error err;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 251);
    scene.folder = nwt_folder();
    scene.path = nwt_path(scene.folder, "model.bin");
    nwt_write(scene.path, bytes, sizeof bytes);
    scene.memory = nwi_memory_new(NULL);
    assert_ok(nwi_file_open(scene.path, false, scene.memory, &scene.file, &err), &err);
    assert_ok(nwi_mapping_new(scene.file, scene.memory, &scene.mapping, &err), &err);
    *state = &scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    nwi_mapping_release(scene->mapping);
    nwi_file_release(scene->file);
    nwi_memory_release(scene->memory);
    free(scene->path);
    nwt_remove(scene->folder);
    return 0;
}

static void pages_come_in(void **state)
{
    struct scene *scene = *state;
    struct nw_error err;
    const uint8_t *data = scene->mapping->data + 70001;
    nwi_error_clear(&err);
    assert_ok(nwi_mapping_populate(scene->mapping, scene->file, data,
                                   MAPPED_BYTES - 70001, &err),
              &err);
    assert_int_equal(data[0], 70001 % 251);
    assert_ok(nwi_mapping_populate(scene->mapping, scene->file, data, 0, &err), &err);
}

/* Linux 5.14 and later tell; before that (and under emulation) only the reading tells. */
static bool system_can_populate(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *own = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(own != MAP_FAILED);
    bool can = madvise(own, page, MADV_POPULATE_READ) == 0;
    assert_int_equal(munmap(own, page), 0);
    return can;
}

static void a_cut_file_is_named(void **state)
{
    struct scene *scene = *state;
    struct nw_error err;
    nwi_error_clear(&err);
    if (!system_can_populate()) {
        print_message("pages cannot be brought in here\n");
        skip();
    }
    assert_int_equal(truncate(scene->path, 4096), 0);
    int code = nwi_mapping_populate(scene->mapping, scene->file,
                                    scene->mapping->data + 140000, 100000, &err);
    assert_int_equal(code, NW_E_CHANGED);
    assert_int_equal(err.code, NW_E_CHANGED);
    assert_non_null(strstr(err.file, "model.bin"));
    assert_non_null(strstr(err.message, "4096"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_come_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_file_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
