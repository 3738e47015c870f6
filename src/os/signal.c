/* SPDX-License-Identifier: MIT
 *
 * Signals on Linux. State: the handlers of the process.
 */
#include "os/signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static void (*_Atomic hangup_handler)(void);
static void (*_Atomic stop_handler)(void);

static void run_handler(int number)
{
    int saved = errno;
    void (*handler)(void) = atomic_load(number == SIGHUP ? &hangup_handler : &stop_handler);
    handler();
    errno = saved;
}

static void catch_signal(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = run_handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

void signal_ignore_harmless(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* the write says so itself */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
}

void signal_catch_hangup(void (*handler)(void))
{
    atomic_store(&hangup_handler, handler);
    catch_signal(SIGHUP);
}

void signal_catch_stop(void (*handler)(void))
{
    atomic_store(&stop_handler, handler);
    catch_signal(SIGTERM);
    catch_signal(SIGINT);
}

void signal_exit_now(int code)
{
    _exit(code);
}
