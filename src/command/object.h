/* SPDX-License-Identifier: MIT
 *
 * How a value is kept, in the words of Redis.
 */
#ifndef LARDER_COMMAND_OBJECT_H
#define LARDER_COMMAND_OBJECT_H

#include "engine/keyspace.h"

/* Static text: "int", "embstr" or "raw". */
const char *object_encoding_name(const struct value *value);
/* How many share the memory of the value. */
uint32_t object_holder_count(const struct value *value);

#endif
