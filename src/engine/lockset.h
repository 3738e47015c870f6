/* SPDX-License-Identifier: MIT
 *
 * The shards one command holds. They are locked in index order, so that two commands never wait for
 * each other. With `mark` (a change of several keys) every shard carries a mark from before the
 * first change is published until after the last, which sends lock-free readers to the lock.
 */
#ifndef LARDER_ENGINE_LOCKSET_H
#define LARDER_ENGINE_LOCKSET_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct lockset {
    uint32_t count;       /* shards in the set */
    uint32_t first, last; /* lowest and highest index, when count > 0 */
    bool marked;
    uint64_t bits[ENGINE_SHARDS_MAX / 64]; /* only words first/64 .. last/64 are initialised */
};

void lockset_init(struct lockset *set);
void lockset_add(struct lockset *set, const struct engine *engine, uint64_t hash);
void lockset_add_all(struct lockset *set, const struct engine *engine);
void lockset_acquire(struct lockset *set, struct engine *engine, bool mark);
void lockset_release(struct lockset *set, struct engine *engine);

/* One key, no set. */
void lock_key(struct engine *engine, uint64_t hash);
void unlock_key(struct engine *engine, uint64_t hash);

/* Consistent reads of several shards without locks: note the write counters, read, check. A false
 * check means a write ran meanwhile and what was read may mix two states. */
struct snapshot_check {
    uint32_t count;
    uint32_t shards[32];
    uint64_t writes[32];
};
/* False: too many shards, or a write is running now; lock instead. */
bool snapshot_begin(struct snapshot_check *check, const struct engine *engine,
                    const struct lockset *set);
bool snapshot_valid(const struct snapshot_check *check, const struct engine *engine);

#endif
