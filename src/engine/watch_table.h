/* SPDX-License-Identifier: MIT
 *
 * The shard's side of WATCH: who wants to know of a change to a key. Under the shard's lock. Every
 * write path calls watch_table_touch; a shard nobody watches pays one comparison.
 */
#ifndef LARDER_ENGINE_WATCH_TABLE_H
#define LARDER_ENGINE_WATCH_TABLE_H

#include "engine/shard.h"

void watch_table_touch_slow(struct shard *shard, uint32_t db, struct bytes key, uint64_t hash);
/* All keys of the database that exist now. */
void watch_table_touch_all(struct shard *shard, uint32_t db);
/* Before two databases swap their keys: whatever exists in either changes in both. Every shard is
 * locked. */
void watch_table_touch_swapped(struct shard *shard, const struct access *access, uint32_t db_a,
                               uint32_t db_b);
void watch_table_deinit(struct shard *shard);

static inline void watch_table_touch(struct shard *shard, uint32_t db, struct bytes key,
                                     uint64_t hash)
{
    if (shard->watch_count != 0)
        watch_table_touch_slow(shard, db, key, hash);
}

#endif
