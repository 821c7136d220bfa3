/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "command.h"

/* The only mutable statics of the command: a handler has no other way to reach
 * anything. */
static atomic_bool deferred;
static atomic_bool caught;

static void handle(int signal_number)
{
    (void)signal_number;
    if (!atomic_load(&deferred) || atomic_load(&caught))
        _exit(CLI_INTERRUPTED);
    atomic_store(&caught, true);
}

void cli_signals_install(void)
{
    /* SA_RESETHAND: the second one of its kind meets the default action. */
    struct sigaction action = {.sa_handler = handle, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

void cli_signals_defer(bool on)
{
    atomic_store(&deferred, on);
}

bool cli_signals_caught(void)
{
    return atomic_load(&caught);
}
