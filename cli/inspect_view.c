/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect_view.h"

#include <string.h>

#include "output.h"
#include "problems.h"

/* Adds the heading of a table. */
static void head(struct cli_table *table, const char *align, const char *const *words,
                 size_t n)
{
    cli_table_init(table, align);
    for (size_t i = 0; i < n; i++)
        cli_table_puts(table, words[i]);
}

static const char *or_dash(const char *text)
{
    return text == NULL || text[0] == '\0' ? "-" : text;
}

static void add_types(const struct cli *cli, const struct nw_checkpoint *ckpt,
                      struct cli_text *out)
{
    static const char *const words[] = {"type", "tensors", "bytes"};
    uint64_t tensors[NW_DTYPE_COUNT] = {0};
    uint64_t bytes[NW_DTYPE_COUNT] = {0};
    struct cli_table table;
    size_t n = nw_checkpoint_tensor_count(ckpt);
    for (size_t i = 0; i < n; i++) {
        struct nw_stored_tensor t;
        if (nw_checkpoint_tensor(ckpt, i, &t) != NW_OK || t.dtype < 0 ||
            t.dtype >= NW_DTYPE_COUNT)
            continue;
        tensors[t.dtype]++;
        bytes[t.dtype] += t.nbytes;
    }
    if (n == 0)
        return;
    head(&table, "lrr", words, 3);
    for (int i = 0; i < NW_DTYPE_COUNT; i++) {
        if (tensors[i] == 0)
            continue;
        cli_table_puts(&table, nw_dtype_name(i));
        cli_table_number(&table, tensors[i]);
        cli_table_bytes(&table, bytes[i]);
    }
    cli_title(cli, out, "Types");
    cli_add_table(cli, out, &table);
}

/* "present", "no encoder", "absent". */
static void add_state(struct cli_table *table, const struct nw_detection *detection,
                      size_t i, const struct nw_detected *part)
{
    struct cli_text state = {0};
    const char *absent = NULL;
    if (part->state == NW_STATE_PRESENT)
        cli_text_puts(&state, "present");
    else if (part->state == NW_STATE_ABSENT)
        cli_text_puts(&state, "absent");
    for (size_t k = 0; (absent = nw_detection_absent(detection, i, k)) != NULL; k++)
        cli_text_printf(&state, "%sno %s", k == 0 ? "" : ", ", absent);
    cli_table_text(table, state.data, state.used);
    cli_text_release(&state);
}

static void add_part(struct cli_table *table, const struct nw_detection *detection,
                     size_t i)
{
    struct nw_detected part;
    struct cli_text family = {0};
    if (nw_detection_get(detection, i, &part) != NW_OK)
        return;
    cli_text_printf(&family, "%s%s%s", or_dash(part.family), part.variant ? " " : "",
                    part.variant ? part.variant : "");
    cli_table_puts(table, or_dash(part.name));
    cli_table_puts(table, or_dash(part.klass));
    cli_table_text(table, family.data, family.used);
    cli_table_puts(table, or_dash(part.layout));
    add_state(table, detection, i, &part);
    cli_table_number(table, part.n_tensors);
    cli_table_bytes(table, part.nbytes);
    cli_text_release(&family);
}

/* Of an unrecognised file: what is near. */
static void add_nearest(const struct cli *cli, const struct nw_detection *detection,
                        struct cli_text *out)
{
    struct nw_detected part;
    for (size_t i = 0; nw_detection_get(detection, i, &part) == NW_OK; i++) {
        struct cli_text value = {0};
        if (part.why_not == NULL || part.klass != NULL ||
            strncmp(part.why_not, "nearest", 7) != 0)
            continue;
        cli_text_printf(&value, "%s: %s", or_dash(part.name), part.why_not);
        cli_field(cli, out, "not known", &value);
    }
}

static void add_components(const struct cli *cli, const struct nw_checkpoint *ckpt,
                           struct cli_text *out)
{
    static const char *const words[] = {"name",  "class",   "family", "layout",
                                        "state", "tensors", "bytes"};
    struct nw_detection *detection = NULL;
    struct cli_table table;
    if (nw_detect(ckpt, NULL, 0, &detection, NULL) != NW_OK)
        return;
    size_t n = nw_detection_count(detection);
    struct nw_detected only = {0};
    bool nameless = n == 1 && nw_detection_get(detection, 0, &only) == NW_OK &&
                    only.name[0] == '\0' && only.klass == NULL;
    if (n > 0 && !nameless) {
        head(&table, "LLLllrr", words, sizeof words / sizeof *words);
        for (size_t i = 0; i < n; i++)
            add_part(&table, detection, i);
        cli_title(cli, out, "Components");
        cli_add_table(cli, out, &table);
    }
    add_nearest(cli, detection, out);
    nw_detection_free(detection);
}

static void add_quantisation(const struct cli *cli, const struct nw_checkpoint *ckpt,
                             struct cli_text *out)
{
    static const char *const words[] = {"scheme", "layers", "dequantise"};
    size_t n = nw_checkpoint_quantisation_count(ckpt);
    struct cli_table table;
    if (n == 0)
        return;
    head(&table, "Lrl", words, 3);
    for (size_t i = 0; i < n; i++) {
        struct nw_quantisation q;
        if (nw_checkpoint_quantisation(ckpt, i, &q) != NW_OK)
            continue;
        cli_table_puts(&table, q.scheme);
        cli_table_number(&table, q.n_layers);
        cli_table_puts(&table, q.supported ? "yes" : "not by this version");
    }
    cli_title(cli, out, "Quantisation");
    cli_add_table(cli, out, &table);
}

static void add_metadata(const struct cli *cli, const struct nw_checkpoint *ckpt,
                         struct cli_text *out)
{
    static const char *const words[] = {"key", "value"};
    size_t n = nw_checkpoint_metadata_count(ckpt);
    struct cli_table table;
    if (n == 0)
        return;
    head(&table, "LL", words, 2);
    for (size_t i = 0; i < n; i++) {
        struct nw_metadata m;
        if (nw_checkpoint_metadata(ckpt, i, &m) != NW_OK)
            continue;
        cli_table_text(&table, m.key, m.key_size);
        cli_table_text(&table, m.value, m.value_size);
    }
    cli_title(cli, out, "Metadata");
    cli_add_table(cli, out, &table);
}

static void add_files(const struct cli *cli, const struct nw_checkpoint *ckpt,
                      struct cli_text *out)
{
    static const char *const words[] = {"file", "container", "bytes", "used", "reason"};
    size_t n = nw_checkpoint_file_count(ckpt);
    struct cli_table table;
    head(&table, "LlrlL", words, 5);
    for (size_t i = 0; i < n; i++) {
        struct nw_stored_file f;
        if (nw_checkpoint_file(ckpt, i, &f) != NW_OK)
            continue;
        cli_table_puts(&table, f.name);
        cli_table_puts(&table, or_dash(f.container));
        cli_table_bytes(&table, f.nbytes);
        cli_table_puts(&table, f.used ? "yes" : "no");
        cli_table_puts(&table, f.reason == NULL ? "" : f.reason);
    }
    cli_title(cli, out, "Files");
    cli_add_table(cli, out, &table);
}

static void add_problems(const struct cli *cli, const struct nw_checkpoint *ckpt,
                         struct cli_text *out)
{
    size_t n = nw_checkpoint_problem_count(ckpt);
    size_t most =
        cli->options.verbose > 0 || n < CLI_PROBLEMS_SHOWN ? n : CLI_PROBLEMS_SHOWN;
    if (n > 0)
        cli_title(cli, out, "Problems");
    for (size_t i = 0; i < most; i++) {
        struct nw_problem p;
        if (nw_checkpoint_problem(ckpt, i, &p) != NW_OK)
            continue;
        struct cli_problem line = {nw_code_name(p.code), p.file, p.tensor, p.message,
                                   p.note != 0};
        cli_add_problem(cli, out, &line);
    }
    cli_add_more(out, n - most);
}

static void add_tensors(const struct cli *cli, const struct nw_checkpoint *ckpt,
                        struct cli_text *out)
{
    static const char *const words[] = {"name",  "type",   "shape",
                                        "bytes", "offset", "file"};
    size_t n = nw_checkpoint_tensor_count(ckpt);
    struct cli_table table;
    head(&table, "LlLrrL", words, 6);
    for (size_t i = 0; i < n; i++) {
        struct nw_stored_tensor t;
        struct nw_stored_file f;
        if (nw_checkpoint_tensor(ckpt, i, &t) != NW_OK)
            continue;
        cli_table_text(&table, t.name, t.name_size);
        cli_table_puts(&table, t.dtype_text);
        cli_table_shape(&table, t.shape, t.rank);
        cli_table_number(&table, t.nbytes);
        cli_table_number(&table, t.offset);
        cli_table_puts(&table,
                       nw_checkpoint_file(ckpt, t.file, &f) == NW_OK ? f.name : "");
    }
    cli_title(cli, out, "Tensors");
    cli_add_table(cli, out, &table);
}

static void add_summary(const struct cli *cli, const struct nw_checkpoint *ckpt,
                        struct cli_text *out)
{
    uint64_t bytes = 0;
    size_t used = 0;
    size_t n_files = nw_checkpoint_file_count(ckpt);
    size_t n_components = nw_checkpoint_component_count(ckpt);
    size_t n_variants = nw_checkpoint_variant_count(ckpt);
    struct cli_text value = {0};
    for (size_t i = 0; i < n_components; i++) {
        struct nw_component c;
        if (nw_checkpoint_component(ckpt, i, &c) == NW_OK)
            bytes += c.nbytes;
    }
    for (size_t i = 0; i < n_files; i++) {
        struct nw_stored_file f;
        if (nw_checkpoint_file(ckpt, i, &f) == NW_OK && f.used)
            used++;
    }
    cli_text_printf(&value, "%zu, ", nw_checkpoint_tensor_count(ckpt));
    cli_text_bytes(&value, bytes);
    cli_field(cli, out, "tensors", &value);
    cli_text_printf(&value, "%zu used of %zu", used, n_files);
    cli_field(cli, out, "files", &value);
    if (n_variants == 0 ||
        (n_variants == 1 && nw_checkpoint_variant(ckpt, 0)[0] == '\0'))
        return;
    for (size_t i = 0; i < n_variants; i++) {
        const char *name = nw_checkpoint_variant(ckpt, i);
        cli_text_puts(&value, i == 0 ? "" : ", ");
        if (name[0] == '\0')
            cli_text_puts(&value, "(unnamed)");
        else
            cli_text_safe(&value, name, strlen(name));
    }
    cli_field(cli, out, "variants", &value);
}

void cli_inspect_view(const struct cli *cli, const char *path,
                      const struct nw_checkpoint *ckpt, struct cli_text *out)
{
    cli_title(cli, out, path);
    add_summary(cli, ckpt, out);
    add_types(cli, ckpt, out);
    add_components(cli, ckpt, out);
    add_quantisation(cli, ckpt, out);
    add_metadata(cli, ckpt, out);
    add_files(cli, ckpt, out);
    add_problems(cli, ckpt, out);
    if (cli->options.tensors)
        add_tensors(cli, ckpt, out);
}
