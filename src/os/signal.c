/* SPDX-License-Identifier: MIT
 *
 * Signals on Linux. State: the one handler of the process.
 */
#include "os/signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static void (*_Atomic user_handler)(enum signal_kind kind);

static void run_handler(int number)
{
    int saved = errno;
    void (*handler)(enum signal_kind kind) = atomic_load(&user_handler);
    handler(number == SIGHUP ? SIGNAL_HANGUP : SIGNAL_STOP);
    errno = saved;
}

void signal_ignore_pipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void signal_catch(void (*handler)(enum signal_kind kind))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    atomic_store(&user_handler, handler);
    action.sa_handler = run_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void signal_exit_now(int code)
{
    _exit(code);
}
