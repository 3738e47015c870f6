/* SPDX-License-Identifier: MIT
 *
 * MONITOR and memcached's watch: what happens, on whatever worker, is shown to each client that
 * asked for its class, as lines. MONITOR's class is every request that has run; who watches is told
 * by server/watch.h.
 *
 * A worker writes a line for each request it ran (server/observer.h) and, at the end of its loop's
 * iteration and so before any reply leaves, hands the lines as one block to the inbox of every
 * worker that has monitoring clients. So requests of one connection are shown in order, and a
 * request that was answered before another one was sent is shown before it. The owner of an inbox
 * gives its blocks to its clients at the end of its own iteration.
 *
 * Nobody waits for a monitoring client. Its connection is of the class CONN_PUSHED, so it is
 * dropped when too much is unsent; with more than MONITOR_INBOX_MAX bytes in an inbox, or without
 * memory for them, those whose inbox it is are closed. What one sees has no gaps.
 *
 * While nobody monitors, a request costs nothing here and an iteration of the loop two loads.
 */
#ifndef LARDER_SERVER_MONITOR_H
#define LARDER_SERVER_MONITOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "os/thread.h"

enum { MONITOR_INBOX_MAX = 32 * 1024 * 1024 };

/* What a line is about, by number; a client has a set of them, one bit each. */
enum monitor_class {
    MONITOR_REQUESTS,
    MONITOR_FETCHES,
    MONITOR_MUTATIONS,
    MONITOR_DELETIONS,
    MONITOR_CONNECTIONS,
    MONITOR_CLASSES
};

struct monitor; /* a monitoring client */
struct monitor_block;
struct request;
struct session;
struct worker;

/* A worker's part. Its thread's alone, but for what says otherwise. */
struct monitoring {
    struct buffer lines;   /* of what this worker did and has not handed on: see monitor.c */
    size_t line_start;     /* where the one begins that is being written */
    size_t early_start;    /* where the line begins that was written before its request ran */
    bool early;            /* there is one */
    struct monitor *first; /* this worker's monitoring clients */
    /* How many; written by this thread, read by any. */
    _Atomic uint32_t count;
    struct lock lock; /* guards the inbox: */
    struct monitor_block *inbox_first, *inbox_last;
    size_t inbox_bytes;
    uint64_t block_next;  /* number of the next block */
    bool lost;            /* lines are missing: what follows is of no use to the present clients */
    _Atomic bool arrived; /* there is something in the inbox, or lost; written under the lock */
};

void monitoring_init(struct monitoring *monitoring);
/* After all threads have ended and all sessions have closed. */
void monitoring_deinit(struct monitoring *monitoring);

/* On the session's thread. From now on it is shown lines of these classes, and of no others. */
enum status monitor_begin(struct session *session, uint32_t classes) MUST_USE;
/* It is shown no more. Does nothing to a session that does not monitor. */
void monitor_end(struct session *session);

/* Around what is written to the worker's `lines` as one line; only where somebody wants it. */
void monitor_line_begin(struct worker *worker, enum monitor_class class);
void monitor_line_end(struct worker *worker);

/* A request has run. */
void monitor_show(struct session *session, const struct request *request);
/* A request with blobs, which may give them away, is about to run: monitor_show or monitor_cancel
 * follows, when nothing else has been shown. */
void monitor_show_early(struct session *session, const struct request *request);
void monitor_cancel(struct worker *worker);

/* Hands on what has run here, and gives this worker's clients what has come for them: at the end of
 * each iteration of the loop. */
void monitor_turn(struct worker *worker);

#endif
