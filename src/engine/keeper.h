/* SPDX-License-Identifier: MIT
 *
 * The engine's housekeeping, and the thread that does it where one is wanted. Every step holds one
 * shard's lock for a bounded time (some tens of microseconds); populating a chunk and unmapping big
 * memory take milliseconds and hold none.
 */
#ifndef LARDER_ENGINE_KEEPER_H
#define LARDER_ENGINE_KEEPER_H

#include "engine/engine.h"

enum status keeper_start(struct engine *engine) MUST_USE;
void keeper_stop(struct engine *engine);

#endif
