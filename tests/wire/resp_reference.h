/* SPDX-License-Identifier: MIT
 *
 * The slow and obvious reader of RESP requests, against which the real one is compared.
 */
#ifndef LARDER_TESTS_WIRE_RESP_REFERENCE_H
#define LARDER_TESTS_WIRE_RESP_REFERENCE_H

#include "base/sink.h"
#include "wire/wire.h"

/* Reads all of `data` at once and writes to `sink` what feed_describe writes for each request, then
 * "! <error>" if there is one, or "..." if the last request is unfinished. */
void resp_reference(struct sink *sink, const struct wire_limits *limits, struct bytes data);

#endif
