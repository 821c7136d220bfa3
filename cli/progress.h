/* SPDX-License-Identifier: Apache-2.0
 * The bar on standard error, and the way a signal reaches the library. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"

struct cli_progress {
    const char *label; /* what is going on, one word */
    size_t width;      /* columns of the terminal, 0: nothing is shown */
    bool shown;        /* a bar stands on the line */
    double started;    /* seconds, monotonic */
    double drawn;      /* when the bar was last drawn */
    bool lasting; /* set by who leaves something behind: signals stay deferred after the
                     end, so that 130 never stands beside a result */
};

/* Signals are deferred from here to cli_progress_end, or to the end if `lasting` is set. */
void cli_progress_begin(struct cli_progress *progress, const struct cli *cli,
                        const char *label);
void cli_progress_end(struct cli_progress *progress);

/* An nw_progress_fn: ctx is a struct cli_progress. */
int cli_progress_update(void *ctx, uint64_t done, uint64_t total);

#endif
