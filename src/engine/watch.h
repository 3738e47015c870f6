/* SPDX-License-Identifier: MIT
 *
 * WATCH: a watcher learns whether any of its keys was written, expired or flushed since it
 * registered. Registrations sit in a table of the key's shard, guarded by the shard's lock; the
 * watcher itself is owned by one thread, and only `dirty` is written by others.
 */
#ifndef LARDER_ENGINE_WATCH_H
#define LARDER_ENGINE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/keyspace.h"
#include "engine/lockset.h"

struct watch; /* one registration */

struct watcher {
    _Atomic bool dirty;
    struct watch *first; /* chained by their owner */
    uint32_t count;
};

void watcher_init(struct watcher *watcher);
/* Locked access. A key already watched is left as it is. */
enum status watcher_add(struct watcher *watcher, struct access *access, const struct key *key)
    MUST_USE;
/* Adds the watched keys' shards to `set`. */
void watcher_lock_shards(const struct watcher *watcher, const struct engine *engine,
                         struct lockset *set);
/* Locked access over all the watched keys: true when one of them changed or has expired by now. */
bool watcher_changed(struct watcher *watcher, struct access *access);
/* Takes shard locks itself: none may be held. */
void watcher_clear(struct watcher *watcher, struct engine *engine);

#endif
