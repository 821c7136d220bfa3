/* SPDX-License-Identifier: Apache-2.0
 * yaml_config CLASS FILE: what an original yaml says about a class, as JSON, or "!CODE
 * message"; "-" for the class: the document itself. tests/parity compares it with diffusers. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "layout/yaml.h"
#include "support/tree.h"

static int print(void *ctx, const char *text, size_t size)
{
    (void)ctx;
    return fwrite(text, 1, size, stdout) != size;
}

static int read_config(const char *klass, const char *path, struct nwi_arena *arena,
                       struct nwi_json_value **out, struct nw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    NWI_TRY(nwi_file_slurp(path, NWI_YAML_BYTES, arena, &text, &size, err));
    if (strcmp(klass, "-") == 0)
        return nwi_yaml_parse(text, size, arena, out, err);
    return nwi_yaml_config(text, size, klass, arena, out, err);
}

int main(int argc, char **argv)
{
    struct nwi_json_value *config = NULL;
    struct nwi_json_writer writer;
    struct nwi_arena arena;
    struct nw_error err;
    struct nwi_memory *memory = nwi_memory_new(NULL);
    if (argc != 3 || !memory) {
        fprintf(stderr, "usage: yaml_config CLASS FILE\n");
        return 2;
    }
    nwi_arena_init(&arena, memory);
    nwi_error_clear(&err);
    int code = read_config(argv[1], argv[2], &arena, &config, &err);
    nwi_json_writer_init(&writer, print, NULL);
    if (code == NW_OK) {
        nwt_put_tree(&writer, config);
        code = nwi_json_writer_finish(&writer);
    } else {
        printf("!%s %s", nw_code_name(code), err.message);
    }
    printf("\n");
    nwi_arena_release(&arena);
    nwi_memory_release(memory);
    return code != NW_OK;
}
