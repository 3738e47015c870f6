/* SPDX-License-Identifier: MIT
 *
 * A worker: one thread with an event loop, the connections it was given, a clock sample and
 * counters. Worker 0 also accepts, and hands each connection to the worker with the fewest.
 *
 * Everything here belongs to the worker's thread, but: counters (its thread writes, anybody reads),
 * the list of sessions, which others read under `sessions_lock` (see server/clients.h), and the
 * inbox of what its monitoring clients are shown (server/monitor.h). No other lock is taken under
 * `sessions_lock`.
 */
#ifndef LARDER_SERVER_WORKER_H
#define LARDER_SERVER_WORKER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/counter.h"
#include "net/loop.h"
#include "server/monitor.h"
#include "server/observer.h"
#include "server/server.h"

/* Requests that are parsed and prefetched together. */
enum { WORKER_BATCH_MAX = 16 };

/* Requests between two safe points, so that what was replaced is reused while caches have it. */
enum { SAFE_POINT_EVERY = 32 };

struct session;

struct worker {
    struct server *server;
    struct loop *loop;
    struct engine_thread *engine_thread;
    struct thread *thread;
    uint32_t index;
    int64_t now_ms; /* engine time, sampled after each wait */
    uint32_t since_safe_point;
    struct wire_limits limits;          /* of authenticated clients */
    struct wire_limits stranger_limits; /* of others */
    struct wire_gate gate;              /* of both; its owner is the server */
    uint32_t request_timeout_ms;        /* for wires that hurry; 0: none */
    struct parser parsers[WORKER_BATCH_MAX];
    counter commands, connections, rejected;
    counter query_drops, output_drops; /* connections closed for what they sent, or did not take */
    counter watching;                  /* sessions that watch keys, now */
    counter accepts_failed;            /* worker 0: times that accepting had to pause */
    _Atomic(const char *) accept_problem; /* static text: why, the last time */
    struct observer observer;
    struct monitoring monitoring;
    struct sink discard; /* for replies that nobody wants */
    char discarded[SINK_RESERVE_MAX];
    struct lock sessions_lock;    /* guards the list and what struct session says */
    struct session *first, *last; /* in order of age */
    uint32_t session_count;
    uint64_t iterations_seen; /* of the loop, at the last heartbeat; the main thread's */
} __attribute__((aligned(64)));

/* On failure nothing is left; `*why` gets static text. */
enum status worker_init(struct worker *worker, struct server *server, uint32_t index,
                        const char **why) MUST_USE;
/* Waits for the thread to end, if it was started. */
void worker_join(struct worker *worker);
void worker_deinit(struct worker *worker);
enum status worker_start(struct worker *worker) MUST_USE;
/* Worker 0 only, before it starts. */
enum status worker_listen(struct worker *worker) MUST_USE;
/* From any thread: takes over what options say about limits of connections, open ones too. False:
 * memory is out. */
bool worker_limits_changed(struct worker *worker) MUST_USE;
/* From any thread: no more connections; open ones are served until what has arrived is answered. */
void worker_drain(struct worker *worker);
/* From any thread: ends the thread. */
void worker_stop(struct worker *worker);

#endif
