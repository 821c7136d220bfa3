/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "signals.h"
#include "text.h"

#define FIRST_SECONDS  0.3 /* what is done sooner needs no bar */
#define REDRAW_SECONDS 0.1
#define BAR_LEAST      8 /* columns below which the bar is left out */
#define BAR_MOST       40

static double now(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cli_progress_begin(struct cli_progress *progress, const struct cli *cli,
                        const char *label)
{
    *progress = (struct cli_progress){.label = label, .started = now()};
    progress->width = cli->progress ? cli->err_width : 0;
    progress->drawn = progress->started + FIRST_SECONDS - REDRAW_SECONDS;
    cli_signals_defer(true);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->shown)
        (void)fputs("\r\033[K", stderr);
    progress->shown = false;
    if (!progress->lasting)
        cli_signals_defer(false);
}

/* "  45%  1.55 GB of 3.44 GB  812 MB/s  2.3 s left" */
static void figures(struct cli_text *out, uint64_t done, uint64_t total, double seconds)
{
    double rate = (double)done / seconds;
    cli_text_printf(out, "  %3.0f%%  ", 100.0 * (double)done / (double)total);
    cli_text_bytes(out, done);
    cli_text_puts(out, " of ");
    cli_text_bytes(out, total);
    if (rate < 1.0)
        return;
    cli_text_puts(out, "  ");
    cli_text_bytes(out, (uint64_t)rate);
    cli_text_puts(out, "/s");
    if (done < total) {
        uint64_t left = (uint64_t)((double)(total - done) / rate + 0.5);
        cli_text_printf(out, "  %llu:%02u left", (unsigned long long)(left / 60),
                        (unsigned)(left % 60));
    }
}

static void add_bar(struct cli_text *line, size_t columns, uint64_t done,
                    uint64_t total)
{
    size_t filled = (size_t)((double)columns * (double)done / (double)total);
    cli_text_add(line, " [", 2);
    for (size_t i = 0; i < columns; i++)
        cli_text_add(line, i < filled ? "#" : "-", 1);
    cli_text_add(line, "]", 1);
}

static void draw(struct cli_progress *progress, uint64_t done, uint64_t total,
                 double seconds)
{
    struct cli_text line = {0};
    struct cli_text text = {0};
    size_t label = strlen(progress->label);
    figures(&text, done, total, seconds);
    /* one column stays free: some terminals wrap behind the last one */
    size_t used = label + text.used + 4;
    size_t free_columns = progress->width > used ? progress->width - used : 0;
    cli_text_printf(&line, "\r%s", progress->label);
    if (free_columns >= BAR_LEAST)
        add_bar(&line, free_columns > BAR_MOST ? BAR_MOST : free_columns, done, total);
    if (text.used > 0)
        cli_text_add(&line, text.data, text.used);
    if (!line.failed && !text.failed) {
        size_t most = progress->width; /* the carriage return takes no column */
        (void)fwrite(line.data, 1, line.used < most ? line.used : most, stderr);
        (void)fputs("\033[K", stderr);
        progress->shown = true;
    }
    cli_text_release(&line);
    cli_text_release(&text);
}

int cli_progress_update(void *ctx, uint64_t done, uint64_t total)
{
    struct cli_progress *progress = ctx;
    if (cli_signals_caught())
        return 1;
    if (progress->width == 0 || total == 0)
        return 0;
    double at = now();
    if (at - progress->drawn >= REDRAW_SECONDS) {
        progress->drawn = at;
        draw(progress, done, total, at - progress->started);
    }
    return 0;
}
