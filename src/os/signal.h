/* SPDX-License-Identifier: MIT
 *
 * The process's signals. For the program's main thread, before others start.
 */
#ifndef LARDER_OS_SIGNAL_H
#define LARDER_OS_SIGNAL_H

enum signal_kind {
    SIGNAL_STOP,  /* SIGTERM, SIGINT */
    SIGNAL_HANGUP /* SIGHUP */
};

/* Writing to a peer that left is an answer, not a reason to die. */
void signal_ignore_pipe(void);
/* From now on `handler` runs for these signals, inside a signal handler on any thread: it may only
 * touch lock-free atomics and call what says that signal handlers may (loop_stop,
 * signal_exit_now). */
void signal_catch(void (*handler)(enum signal_kind kind));
/* Ends the process at once, without cleaning up. From signal handlers too. */
void signal_exit_now(int code) __attribute__((noreturn));

#endif
