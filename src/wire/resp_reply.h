/* SPDX-License-Identifier: MIT
 *
 * RESP's side of replies. `reply->version` is 2 or 3.
 */
#ifndef LARDER_WIRE_RESP_REPLY_H
#define LARDER_WIRE_RESP_REPLY_H

#include "command/reply.h"

extern const struct reply_ops resp_reply_ops;

#endif
