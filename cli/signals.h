/* SPDX-License-Identifier: Apache-2.0
 * SIGINT and SIGTERM. As long as nothing has to be undone they end the command at once
 * with status 130; while the library runs they set a flag, which the progress callback
 * reads, so that the library can roll back. A second one kills. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

void cli_signals_install(void);

/* From here on (true) signals set the flag, or (false) end the command again. */
void cli_signals_defer(bool on);

/* Whether a signal came while they were deferred. */
bool cli_signals_caught(void);

#endif
