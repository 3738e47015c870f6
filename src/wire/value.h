/* SPDX-License-Identifier: MIT
 *
 * Stored values in replies, for all wires.
 */
#ifndef LARDER_WIRE_VALUE_H
#define LARDER_WIRE_VALUE_H

#include "command/reply.h"

/* Writes `size` bytes of the value from `first` on. Where they are many and lie in a blob, and the
 * sink can, they are referred to and the blob is held until they are sent. */
void value_write(struct sink *sink, const struct value *value, size_t first, size_t size);

#endif
