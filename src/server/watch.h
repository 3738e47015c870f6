/* SPDX-License-Identifier: MIT
 *
 * memcached's watch: lines that tell what became of items and connections, for clients that asked
 * (server/monitor.h hands the lines on). They are as memcached's, in its form:
 *
 *   ts=1.2 gid=3 type=item_get key=k status=found clsid=1 cfd=9 size=5
 *   ... type=item_store key=k status=stored cmd=set ttl=60 clsid=1 cfd=9 size=5
 *   ... type=deleted key=k cmd=delete clsid=1 size=5
 *   ... type=conn_new rip=127.0.0.1 rport=5555 transport=tcp cfd=9
 *   ... type=conn_close rip=127.0.0.1 rport=5555 transport=tcp reason=normal cfd=9
 *
 * Reads of whole values and stores are told whatever the client speaks, what EXEC runs too;
 * deletes of those that ask by item commands. What a command of Redis's stored is looked up under
 * the locks it still holds.
 *
 * Replies tell it: while somebody watches, a session's reply operations go through those here.
 * Nobody else pays for it.
 */
#ifndef LARDER_SERVER_WATCH_H
#define LARDER_SERVER_WATCH_H

#include "command/reply.h"

struct session;
struct worker;

/* Before any worker. */
void watch_init(void);
/* Makes operations that tell and then do what the session's wire does, of which `own` are those. */
void watch_wrap(const struct reply_ops *own, struct reply_ops *out);
/* On the worker's thread: follows who watches. */
void watch_refresh(struct worker *worker);
/* The operations for replies of a session whose wire is known. */
const struct reply_ops *watch_reply_ops(const struct session *session);

void watch_opened(struct session *session);
void watch_closed(struct session *session);

#endif
