/* SPDX-License-Identifier: MIT
 *
 * The control: a bare open-addressing map with the hash, key compare and value copy that a cache
 * needs, and nothing else. What it costs is the floor that the engine is compared with. One thread.
 */
#ifndef LARDER_BENCH_CONTROL_H
#define LARDER_BENCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct control;

/* Room for `count_max` entries at half load. NULL: memory is out. */
struct control *control_create(size_t count_max, uint64_t hash_seed);
void control_destroy(struct control *control);
/* False: memory is out. At most count_max different keys. */
bool control_set(struct control *control, struct bytes key, struct bytes value);
/* Copies the value out and returns its size, or SIZE_MAX when the key is missing. */
size_t control_get(const struct control *control, struct bytes key, char *out);

#endif
