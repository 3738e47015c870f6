/* SPDX-License-Identifier: MIT
 *
 * The engine's housekeeping, and the two threads that do it where they are wanted. The keeper works
 * on shards: every step holds one shard's lock for a bounded time (some tens of microseconds). The
 * mapper populates chunks and unmaps big memory, which takes milliseconds and no shard's lock.
 */
#ifndef LARDER_ENGINE_KEEPER_H
#define LARDER_ENGINE_KEEPER_H

#include "engine/engine.h"

/* Starts both; what did start is to be stopped whatever this answers. */
enum status keeper_start(struct engine *engine) MUST_USE;
void keeper_stop(struct engine *engine);

#endif
