/* SPDX-License-Identifier: MIT
 *
 * The admin port: /healthz, /readyz and /metrics over HTTP, for those who watch over the server. It
 * has a thread with a loop of its own, so that it answers while workers are busy and never keeps
 * them from their clients, and knows nothing of keys.
 */
#ifndef LARDER_SERVER_ADMIN_PORT_H
#define LARDER_SERVER_ADMIN_PORT_H

#include "net/listener.h"

struct admin_port;
struct server;

enum { ADMIN_LISTENERS_MAX = 8, ADMIN_CONNECTIONS_MAX = 16 };

/* Takes the listeners over, whatever comes of it. False: the log says why. /metrics and /readyz
 * say that the server is not ready until its `ready` is set. */
bool admin_port_start(struct server *server, const struct listener *listeners, uint32_t count);
/* Before the workers go. Does nothing where there is none. */
void admin_port_end(struct server *server);

#endif
