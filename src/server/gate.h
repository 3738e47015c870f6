/* SPDX-License-Identifier: MIT
 *
 * What the server says to wires whose every request is judged by itself (struct wire_gate): who is
 * admitted, which hosts and which sites' pages are allowed. Thread-safe; what options say now
 * counts.
 */
#ifndef LARDER_SERVER_GATE_H
#define LARDER_SERVER_GATE_H

#include "server/server.h"

/* `limits` are those of admitted requests. */
void gate_init(struct wire_gate *gate, struct server *server, const struct wire_limits *limits);

#endif
