/* SPDX-License-Identifier: MIT
 *
 * Meanings as HTTP responses.
 */
#ifndef LARDER_WIRE_HTTP_REPLY_H
#define LARDER_WIRE_HTTP_REPLY_H

#include "command/reply.h"

/* An HTTP request is only ever answered by an item or an error: the rest is NULL. */
extern const struct reply_ops http_reply_ops;

void http_protocol_error(struct reply *reply, const char *error);

#endif
