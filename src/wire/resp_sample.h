/* SPDX-License-Identifier: MIT */
#ifndef LARDER_WIRE_RESP_SAMPLE_H
#define LARDER_WIRE_RESP_SAMPLE_H

#include <stdbool.h>

#include "command/reply.h"

/* Replies with a sample of one of RESP's types, by Redis's names and contents (DEBUG PROTOCOL), for
 * tests of clients. `reply` is a RESP one. False: no such type, and nothing was replied. */
bool resp_sample(struct reply *reply, struct bytes type);

#endif
