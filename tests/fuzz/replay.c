/* SPDX-License-Identifier: Apache-2.0
 * replay FOLDER: runs a fuzz target on every file of a folder, as any compiler can. An input
 * that once crashed is kept there, so it is tried in every test run. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file, in a block of exactly its size so that a sanitizer sees one byte beyond. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0)
        data = malloc(length ? (size_t)length : 1);
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    if (file)
        (void)fclose(file);
    *size = length > 0 ? (size_t)length : 0;
    return data;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    size_t n_inputs = 0;
    if (!folder) {
        fprintf(stderr, "usage: replay FOLDER (%s)\n", strerror(errno));
        return 2;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char path[4096];
        size_t size;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        printf("%s\n", path); /* the last one printed is the one that crashed */
        fflush(stdout);
        uint8_t *data = read_file(path, &size);
        if (!data) {
            fprintf(stderr, "%s: cannot be read\n", path);
            (void)closedir(folder);
            return 1;
        }
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        n_inputs++;
    }
    (void)closedir(folder);
    printf("%zu inputs\n", n_inputs);
    return n_inputs ? 0 : 1; /* an empty corpus tests nothing */
}
