/* SPDX-License-Identifier: Apache-2.0 */
#include "hashes.h"

#include "output.h"

uint32_t cli_hash_flags(const struct cli *cli)
{
    static const uint32_t flags[] = {NW_INSPECT_SHA256, NW_INSPECT_AUTOV2,
                                     NW_INSPECT_AUTOV3}; /* in the order of the words */
    uint32_t all = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if ((cli->options.hash >> i & 1U) != 0)
            all |= flags[i];
    return all;
}

static void add_cell(struct cli_table *table, struct cli_json value)
{
    struct cli_text raw = {0};
    cli_json_decode(value, &raw);
    table->cells.failed |= raw.failed;
    cli_table_text(table, raw.data, raw.used);
    cli_text_release(&raw);
}

void cli_add_hashes(const struct cli *cli, struct cli_json document,
                    struct cli_text *out)
{
    struct cli_json list = cli_json_get(document, "hashes");
    struct cli_json file = {0};
    struct cli_table table;
    if (cli_json_count(list) == 0)
        return;
    cli_table_init(&table, "Lll");
    cli_table_puts(&table, "file");
    cli_table_puts(&table, "hash");
    cli_table_puts(&table, "value");
    while (cli_json_next(list, &file)) {
        struct cli_json key = {0};
        struct cli_json value = {0};
        while (cli_json_member(file, &key, &value)) {
            if (cli_json_is(key, "file") || cli_json_is_null(value))
                continue;
            add_cell(&table, cli_json_get(file, "file"));
            add_cell(&table, key);
            add_cell(&table, value);
        }
    }
    cli_title(cli, out, "Hashes");
    cli_add_table(cli, out, &table);
}

int cli_splice_hashes(const struct cli *cli, const char *path,
                      struct cli_text *document, struct nw_error *err)
{
    struct nw_open_options open = NW_OPTIONS_INIT(open);
    struct nw_checkpoint *ckpt = NULL;
    struct cli_text inspected = {0};
    int code = nw_open(path, &open, &ckpt, err);
    if (code == NW_OK)
        code = cli_received(&inspected,
                            nw_checkpoint_json(ckpt, cli_hash_flags(cli),
                                               cli_text_write, &inspected, err),
                            err);
    if (code == NW_OK) {
        struct cli_json all = {inspected.data, inspected.used};
        cli_json_splice(document, "hashes", cli_json_get(all, "hashes"));
    }
    cli_text_release(&inspected);
    nw_checkpoint_free(ckpt);
    return code;
}
