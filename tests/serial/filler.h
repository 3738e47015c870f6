/* SPDX-License-Identifier: MIT
 *
 * The thread behind the scene: it keeps the engine busy around the keys of the game. It inserts and
 * deletes keys of its own, so that tables grow and shrink and memory is freed and used again, and
 * it does the engine's housekeeping (engine_maintain) as the one who may.
 *
 * One filler per era. It runs from filler_start to filler_stop, but for the time it is held.
 */
#ifndef TESTS_SERIAL_FILLER_H
#define TESTS_SERIAL_FILLER_H

#include "player.h"

struct filler;

/* `keys_max`: of its own; 0: housekeeping only. Aborts when memory is out. */
struct filler *filler_start(struct stage *stage, uint32_t keys_max, uint64_t seed);
/* Lets it rest, or go on; at once, though what it is doing may still end. */
void filler_hold(struct filler *filler, bool held);
void filler_stop(struct filler *filler);

#endif
