/* SPDX-License-Identifier: MIT
 *
 * A flush of database 0 that is due at some time: memcached's flush_all with a delay. There is at
 * most one; another takes its place. It happens whatever goes on, a pause of the clients too: the
 * first worker whose loop wakes at that time or later does it before it runs any request, and the
 * loop that was asked for it sets its alarm to that.
 */
#ifndef LARDER_SERVER_FLUSH_H
#define LARDER_SERVER_FLUSH_H

#include "server/worker.h"

/* Engine time; 0: what was planned is forgotten. On a worker's thread. */
void flush_plan(struct worker *worker, int64_t at_ms);

static inline bool flush_is_due(const struct server *server, int64_t now_ms)
{
    int64_t at_ms = atomic_load_explicit(&server->flush_at_ms, memory_order_relaxed);

    return __builtin_expect(at_ms != 0, 0) && at_ms <= now_ms;
}
/* Does it, unless another worker has. On a worker's thread, online and without locks. */
void flush_run(struct worker *worker);
/* The worker's alarm rang. */
void flush_watch(struct worker *worker);

#endif
