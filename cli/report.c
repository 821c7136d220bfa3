/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "hashes.h"
#include "output.h"

#define NAMES_SHOWN 8 /* of a list, without -v */

/* ---- one plan -------------------------------------------------------------------- */

/* "; 3 missing" and its like, if there are any. */
static void add_count(struct cli_text *out, struct cli_json report, const char *key,
                      const char *words)
{
    struct cli_json value = cli_json_get(report, key);
    uint64_t n = value.size > 0 && value.at[0] == '[' ? cli_json_count(value)
                                                      : cli_json_uint(value);
    if (n > 0)
        cli_text_printf(out, ", %llu %s", (unsigned long long)n, words);
}

static void field_counts(const struct cli *cli, struct cli_json report,
                         struct cli_text *out)
{
    static const char *const rest[][2] = {
        {"tied", "tied"},
        {"by_rule", "by rule"},
        {"initialised", "initialised"},
        {"companions", "companions of quantised ones"},
        {"missing", "missing"},
        {"mismatched", "of another shape"},
        {"unexpected", "unexpected"},
        {"harmless", "left out"},
        {"kept_fp32", "kept in F32"},
    };
    struct cli_text value = {0};
    cli_text_printf(&value, "%llu wanted, %llu loaded",
                    (unsigned long long)cli_json_uint(cli_json_get(report, "wanted")),
                    (unsigned long long)cli_json_uint(cli_json_get(report, "loaded")));
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        add_count(&value, report, rest[i][0], rest[i][1]);
    cli_field(cli, out, "tensors", &value);
}

/* "684 cast, 1 mapped" of the counts that are not 0; `name` gives the word of a row. */
static void field_sum(const struct cli *cli, const char *label, const uint64_t *counts,
                      size_t n, const char *(*name)(int), struct cli_text *out)
{
    struct cli_text value = {0};
    for (size_t i = 0; i < n; i++)
        if (counts[i] > 0)
            cli_text_printf(&value, "%s%llu %s", value.used == 0 ? "" : ", ",
                            (unsigned long long)counts[i], name((int)i));
    cli_field(cli, out, label, &value);
}

static const char *op_word(int op)
{
    static const char *const words[] = {
        [NW_OP_MAP] = "mapped",         [NW_OP_COPY] = "copied",
        [NW_OP_CAST] = "cast",          [NW_OP_DEQUANTISE] = "dequantised",
        [NW_OP_QUANTISE] = "quantised", [NW_OP_FILL] = "filled",
    };
    return words[op];
}

/* What the targets are and how they come to be. */
static void field_targets(const struct cli *cli, const struct nw_plan *plan,
                          struct cli_text *out)
{
    uint64_t by_dtype[NW_DTYPE_COUNT] = {0};
    uint64_t by_op[NW_OP_FILL + 1] = {0};
    size_t n = nw_plan_target_count(plan);
    for (size_t i = 0; i < n; i++) {
        struct nw_target target;
        if (nw_plan_target(plan, i, &target) != NW_OK)
            continue;
        if (target.dtype >= 0 && target.dtype < NW_DTYPE_COUNT)
            by_dtype[target.dtype]++;
        if (target.op <= NW_OP_FILL) /* a mapping is of no use to a file */
            by_op[cli->options.command == CLI_CONVERT && target.op == NW_OP_MAP
                      ? NW_OP_COPY
                      : target.op]++;
    }
    if (n == 0)
        return;
    field_sum(cli, "types", by_dtype, NW_DTYPE_COUNT, nw_dtype_name, out);
    field_sum(cli, "work", by_op, NW_OP_FILL + 1, op_word, out);
}

/* One entry of a list of the report: a name, or an object with more about it. */
static void add_entry(struct cli_text *value, struct cli_json entry)
{
    struct cli_text raw = {0};
    struct cli_json name = cli_json_get(entry, "name");
    struct cli_json reason = cli_json_get(entry, "reason");
    struct cli_json stored = cli_json_get(entry, "stored");
    cli_json_decode(name.size > 0 ? name : entry, &raw);
    if (reason.size > 0) {
        cli_text_puts(&raw, ": ");
        cli_json_decode(reason, &raw);
    } else if (stored.size > 0) {
        cli_text_puts(&raw, ": stored ");
        cli_json_decode(stored, &raw);
        cli_text_puts(&raw, ", wanted ");
        cli_json_decode(cli_json_get(entry, "wanted"), &raw);
    }
    cli_text_safe(value, raw.data, raw.used);
    value->failed |= raw.failed;
    cli_text_release(&raw);
}

static void add_names(const struct cli *cli, struct cli_json report, const char *key,
                      const char *label, struct cli_text *out)
{
    struct cli_json list = cli_json_get(report, key);
    struct cli_json entry = {0};
    size_t n = cli_json_count(list);
    size_t most = cli->options.verbose > 0 || n <= NAMES_SHOWN ? n : NAMES_SHOWN;
    for (size_t i = 0; i < most && cli_json_next(list, &entry); i++) {
        struct cli_text value = {0};
        add_entry(&value, entry);
        cli_field(cli, out, i == 0 ? label : "", &value);
    }
    if (most < n) {
        struct cli_text value = {0};
        cli_text_printf(&value, "and %zu more (-v lists them)", n - most);
        cli_field(cli, out, "", &value);
    }
}

static void add_plan(const struct cli *cli, const struct nw_plan *plan,
                     struct cli_json document, struct cli_text *out)
{
    struct cli_json report = cli_json_get(document, "report");
    field_counts(cli, report, out);
    field_targets(cli, plan, out);
    add_names(cli, report, "missing", "missing", out);
    add_names(cli, report, "mismatched", "mismatched", out);
    add_names(cli, report, "unexpected", "unexpected", out);
    if (cli->options.verbose > 0) {
        add_names(cli, report, "kept_fp32", "kept fp32", out);
        add_names(cli, report, "harmless", "left out", out);
    }
}

/* ---- cost and result ------------------------------------------------------------- */

static void add_bytes_of(struct cli_text *out, struct cli_json object, const char *key)
{
    cli_text_bytes(out, cli_json_uint(cli_json_get(object, key)));
}

/* Predicted and measured side by side. */
static void add_peak(const struct cli *cli, struct cli_json document,
                     const struct nw_result *result, struct cli_text *out)
{
    struct cli_text value = {0};
    if (result == NULL) {
        add_bytes_of(&value, cli_json_get(document, "cost"), "peak_bytes");
        cli_text_puts(&value, " predicted");
    } else {
        struct nw_result_figures f;
        nw_result_figures(result, &f);
        cli_text_bytes(&value, f.predicted_peak_bytes);
        cli_text_puts(&value, " predicted, ");
        cli_text_bytes(&value, f.peak_bytes);
        cli_text_puts(&value, " measured");
    }
    cli_field(cli, out, "peak", &value);
}

static void add_cost(const struct cli *cli, struct cli_json document,
                     const struct nw_result *result, struct cli_text *out)
{
    struct cli_json cost = cli_json_get(document, "cost");
    struct cli_json machine = cli_json_get(document, "machine");
    struct cli_json fits = cli_json_get(document, "fits");
    struct cli_text value = {0};

    add_bytes_of(&value, cost, "read_bytes");
    cli_field(cli, out, "read", &value);

    add_bytes_of(&value, cost, "final_bytes");
    if (cli_json_uint(cli_json_get(cost, "zero_copy_bytes")) > 0) {
        cli_text_puts(&value, ", of these mapped ");
        add_bytes_of(&value, cost, "zero_copy_bytes");
    }
    cli_field(cli, out, "result", &value);

    add_bytes_of(&value, cost, "scratch_bytes");
    cli_field(cli, out, "scratch", &value);
    add_peak(cli, document, result, out);

    if (cli_json_is_null(machine))
        return;
    add_bytes_of(&value, machine, "available");
    cli_text_puts(&value, " free of ");
    add_bytes_of(&value, machine, "limit");
    cli_text_puts(&value, " (");
    cli_json_decode(cli_json_get(machine, "source"), &value);
    cli_text_puts(&value, cli_json_is(fits, "no") ? "): does not fit"
                          : cli_json_is(fits, "pages")
                              ? "): fits if mapped pages are given "
                                "back"
                          : cli_json_is(fits, "yes") ? "): fits"
                                                     : ")");
    cli_field(cli, out, "memory", &value);
}

static void add_run(const struct cli *cli, const struct nw_result *result,
                    struct cli_text *out)
{
    struct nw_result_figures f;
    struct cli_text value = {0};
    nw_result_figures(result, &f);

    cli_text_bytes(&value, f.rss_peak_bytes);
    cli_text_puts(&value, " over a baseline of ");
    cli_text_bytes(&value, f.baseline_bytes);
    cli_field(cli, out, "resident", &value);

    cli_text_seconds(&value, f.seconds);
    if (f.seconds > 0.0 && f.read_bytes > 0) {
        cli_text_puts(&value, ", ");
        cli_text_bytes(&value, (uint64_t)((double)f.read_bytes / f.seconds));
        cli_text_puts(&value, "/s");
    }
    cli_field(cli, out, "time", &value);

    cli_text_printf(&value, "%s", f.backend);
    if (f.reason != NULL && f.reason[0] != '\0')
        cli_text_printf(&value, ": %s", f.reason);
    cli_field(cli, out, "backend", &value);

    if (f.threads == 0)
        cli_text_puts(&value, "the calling thread alone");
    else
        cli_text_printf(&value, "%u", (unsigned)f.threads);
    cli_field(cli, out, "threads", &value);

    if (f.overflow > 0 || f.flushed > 0) {
        cli_text_printf(&value, "%llu too large for the new type, %llu became zero",
                        (unsigned long long)f.overflow, (unsigned long long)f.flushed);
        cli_field(cli, out, "overflow", &value);
    }
}

static void add_texts(const struct cli *cli, const struct nw_result *result,
                      const char *(*text)(const struct nw_result *, size_t),
                      const char *label, struct cli_text *out)
{
    const char *one = NULL;
    for (size_t i = 0; (one = text(result, i)) != NULL; i++) {
        struct cli_text value = {0};
        cli_text_safe(&value, one, strlen(one));
        cli_field(cli, out, i == 0 ? label : "", &value);
    }
}

static void add_written(const struct cli *cli, const struct nw_result *result,
                        struct cli_text *out)
{
    size_t n = nw_result_written_count(result);
    if (n == 0)
        return;
    struct cli_table table;
    cli_table_init(&table, "Lrr");
    cli_table_puts(&table, "file");
    cli_table_puts(&table, "size");
    cli_table_puts(&table, "tensors");
    for (size_t i = 0; i < n; i++) {
        struct nw_written written;
        if (nw_result_written(result, i, &written) != NW_OK)
            continue;
        cli_table_puts(&table, written.name);
        cli_table_bytes(&table, written.nbytes);
        cli_table_number(&table, written.n_tensors);
    }
    cli_title(cli, out, "Written");
    cli_add_table(cli, out, &table);
    add_texts(cli, result, nw_result_dropped_metadata, "dropped", out);
    add_texts(cli, result, nw_result_lacking, "lacking", out);
}

/* ---- targets --------------------------------------------------------------------- */

/* "a.weight + b.weight": the stored tensors that a target is made of. */
static void add_sources(const struct cli_input *input, const struct nw_plan *plan,
                        size_t target, struct cli_table *table)
{
    struct cli_text names = {0};
    struct nw_part part;
    for (size_t i = 0; nw_plan_part(plan, target, i, &part) == NW_OK; i++) {
        struct nw_stored_tensor stored;
        if (nw_checkpoint_tensor(input->ckpt, part.source, &stored) != NW_OK)
            continue;
        cli_text_puts(&names, i == 0 ? "" : " + ");
        cli_text_add(&names, stored.name, stored.name_size);
    }
    table->cells.failed |= names.failed;
    cli_table_text(table, names.data, names.used);
    cli_text_release(&names);
}

/* `first`: how many targets the plans before have, for the digests. */
static void add_targets(const struct cli *cli, const struct cli_input *input,
                        size_t row, const struct nw_result *result, size_t first,
                        struct cli_text *out)
{
    const struct nw_plan *plan = input->plans[row];
    static const char *const ops[] = {"map",        "copy",     "cast",
                                      "dequantise", "quantise", "fill"};
    bool digest = result != NULL && cli->options.digest;
    struct cli_table table;
    cli_table_init(&table, digest ? "LlLrllL" : "LlLrlL");
    static const char *const heads[] = {"name", "type", "shape", "bytes", "work"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        cli_table_puts(&table, heads[i]);
    if (digest)
        cli_table_puts(&table, "crc32");
    cli_table_puts(&table, "from");
    for (size_t i = 0; i < nw_plan_target_count(plan); i++) {
        struct nw_target target;
        struct nw_target_result crc = {0};
        char text[16] = "";
        if (nw_plan_target(plan, i, &target) != NW_OK)
            continue;
        cli_table_text(&table, target.name, target.name_size);
        cli_table_puts(&table, nw_dtype_name(target.dtype));
        cli_table_shape(&table, target.shape, target.rank);
        cli_table_number(&table, target.nbytes);
        cli_table_puts(&table,
                       target.op < sizeof ops / sizeof *ops ? ops[target.op] : "");
        if (digest && nw_result_target(result, first + i, &crc) == NW_OK &&
            crc.has_crc32)
            (void)snprintf(text, sizeof text, "%08x", (unsigned)crc.crc32);
        if (digest)
            cli_table_puts(&table, text);
        add_sources(input, plan, i, &table);
    }
    cli_title(cli, out, input->n_plans > 1 ? input->names[row] : "Tensors");
    cli_add_table(cli, out, &table);
}

/* ---- all of it ------------------------------------------------------------------- */

void cli_report(const struct cli *cli, const struct cli_input *input,
                struct cli_json document, const struct nw_result *result,
                struct cli_text *out)
{
    struct cli_json plans = cli_json_get(document, "plans");
    struct cli_json one = {0};
    size_t first = 0;
    for (size_t i = 0; i < input->n_plans; i++) {
        bool several = cli_json_next(plans, &one);
        const char *name = several ? input->names[i] : input->path;
        cli_title(cli, out, name);
        add_plan(cli, input->plans[i], several ? one : document, out);
    }
    if (input->n_plans > 1)
        cli_title(cli, out, input->path);
    add_cost(cli, document, result, out);
    if (result != NULL) {
        add_run(cli, result, out);
        add_written(cli, result, out);
        cli_add_hashes(cli, document, out);
    }
    for (size_t i = 0; cli_plan_flags(cli) != 0 && i < input->n_plans; i++) {
        add_targets(cli, input, i, result, first, out);
        first += nw_plan_target_count(input->plans[i]);
    }
}

int cli_report_finish(const struct cli *cli, struct cli_input *input,
                      const struct nw_result *result)
{
    struct nw_error err;
    struct cli_text text = {0};
    int status = CLI_DONE;
    if (cli->options.json || !cli->options.quiet) {
        uint32_t flags = cli->options.json ? cli_plan_flags(cli) : 0;
        int code = cli_input_document(input, result, flags, &text, &err);
        if (code == NW_OK && result != NULL && cli->options.hash != 0)
            code = cli_splice_hashes(cli, cli->options.paths.items[1], &text, &err);
        if (code != NW_OK) {
            cli_text_release(&text);
            return cli_input_fail(cli, input, &err);
        }
        if (!cli->options.json) {
            struct cli_text human = {0};
            struct cli_json document = {text.data, text.used};
            cli_report(cli, input, document, result, &human);
            cli_text_release(&text);
            text = human;
        }
        status = cli_print(cli, &text);
    }
    if (input->refused && status == CLI_DONE) {
        cli_complain(cli, &input->failure);
        status = CLI_REFUSED;
    }
    cli_input_release(input);
    return status;
}
