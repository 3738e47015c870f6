/* SPDX-License-Identifier: MIT
 *
 * The process's signals. For the program's main thread, before others start.
 */
#ifndef LARDER_OS_SIGNAL_H
#define LARDER_OS_SIGNAL_H

/* SIGPIPE: writing to a peer that left is an answer, not a reason to die. SIGUSR1 and SIGUSR2,
 * which mean nothing here and would end the process. */
void signal_ignore_harmless(void);
/* From now on `handler` runs for SIGHUP, or for SIGTERM and SIGINT, inside a signal handler on any
 * thread: it may only touch lock-free atomics and call what says that signal handlers may
 * (signal_exit_now, for one). */
void signal_catch_hangup(void (*handler)(void));
void signal_catch_stop(void (*handler)(void));
/* Ends the process at once, without cleaning up. From signal handlers too. */
void signal_exit_now(int code) __attribute__((noreturn));

#endif
