/* SPDX-License-Identifier: MIT
 *
 * CLIENT PAUSE: for a while no request runs, or none that writes. A session whose next request has
 * to wait keeps a copy of it and holds its connection (server/session.c); a request is looked at
 * once, when its turn comes, so what runs already is finished. Expiry goes on.
 *
 * Any thread may begin and end a pause. It ends by its time, too: each worker with waiting sessions
 * has set its loop's alarm to that.
 */
#ifndef LARDER_SERVER_PAUSE_H
#define LARDER_SERVER_PAUSE_H

#include "server/session.h"

/* All requests wait; or those that write, as EXEC does when what is queued does. */
enum pause_kind { PAUSE_WRITES, PAUSE_ALL };

/* A pause that goes on already becomes neither shorter nor milder. */
void pause_begin(struct server *server, int64_t end_ms, enum pause_kind kind);
/* NO_MEMORY: not every worker could be told; their sessions wait for the end that was set. */
enum status pause_end(struct server *server) MUST_USE;

/* False for most requests, at the cost of one load. */
static inline bool pause_is_on(const struct server *server)
{
    return __builtin_expect(atomic_load_explicit(&server->pause, memory_order_relaxed) != 0, 0);
}
/* Whether the session's prepared request has to wait. On the session's thread. */
bool pause_holds(const struct session *session, const struct request *request);
/* On the worker's thread, after a session of it began to wait. */
void pause_watch(struct worker *worker);
/* On the worker's thread: lets those go on that wait, who look for themselves whether they may. */
void pause_let_on(struct worker *worker);

#endif
