/* SPDX-License-Identifier: MIT */
#include "engine/lockset.h"

#include "engine/shard.h"

void lockset_init(struct lockset *set)
{
    set->count = 0;
    set->marked = false;
}

static void add_shard(struct lockset *set, uint32_t index)
{
    if (set->count == 0) {
        set->first = set->last = index;
        set->bits[index / 64] = 0;
    }
    while (set->first / 64 > index / 64) /* words are cleared as the range grows over them */
        set->bits[(set->first = (set->first / 64 - 1) * 64 + 63) / 64] = 0;
    while (set->last / 64 < index / 64)
        set->bits[(set->last = (set->last / 64 + 1) * 64) / 64] = 0;
    if (index < set->first)
        set->first = index;
    if (index > set->last)
        set->last = index;
    uint64_t bit = (uint64_t)1 << (index % 64);
    set->count += (set->bits[index / 64] & bit) == 0;
    set->bits[index / 64] |= bit;
}

void lockset_add(struct lockset *set, const struct engine *engine, uint64_t hash)
{
    uint64_t position;
    add_shard(set, (uint32_t)(shard_of(engine, hash, &position) - engine->shards));
}

void lockset_add_all(struct lockset *set, const struct engine *engine)
{
    for (uint32_t i = 0; i < engine->shard_count; i++)
        add_shard(set, i);
}

/* The lowest member from `index` on, or ENGINE_SHARDS_MAX. */
static uint32_t next_member(const struct lockset *set, uint32_t index)
{
    while (set->count != 0 && index <= set->last) {
        uint64_t word = set->bits[index / 64] >> (index % 64);
        if (word != 0)
            return index + (uint32_t)__builtin_ctzll(word);
        index = (index | 63) + 1;
    }
    return ENGINE_SHARDS_MAX;
}

#define EACH_MEMBER(set, i)                                                                        \
    uint32_t i = (set)->count != 0 ? next_member(set, (set)->first) : ENGINE_SHARDS_MAX;           \
    i != ENGINE_SHARDS_MAX;                                                                        \
    i = next_member(set, i + 1)

void lockset_acquire(struct lockset *set, struct engine *engine, bool mark)
{
    for (EACH_MEMBER(set, i))
        shard_lock(&engine->shards[i]);
    set->marked = mark;
    if (!mark)
        return;
    for (EACH_MEMBER(set, i))
        shard_mark(&engine->shards[i]);
}

void lockset_release(struct lockset *set, struct engine *engine)
{
    if (set->marked)
        for (EACH_MEMBER(set, i))
            shard_unmark(&engine->shards[i]);
    for (EACH_MEMBER(set, i))
        shard_unlock(&engine->shards[i]);
}

void lock_key(struct engine *engine, uint64_t hash)
{
    uint64_t position;
    shard_lock(shard_of(engine, hash, &position));
}

void unlock_key(struct engine *engine, uint64_t hash)
{
    uint64_t position;
    shard_unlock(shard_of(engine, hash, &position));
}

bool snapshot_begin(struct snapshot_check *check, const struct engine *engine,
                    const struct lockset *set)
{
    check->count = 0;
    if (set->count > sizeof check->shards / sizeof check->shards[0])
        return false;
    for (EACH_MEMBER(set, i)) {
        uint64_t writes = atomic_load_explicit(&engine->shards[i].writes, memory_order_acquire);
        if ((writes & 1) != 0)
            return false;
        check->shards[check->count] = i;
        check->writes[check->count++] = writes;
    }
    return true;
}

bool snapshot_valid(const struct snapshot_check *check, const struct engine *engine)
{
    /* Everything read so far is ordered before the second look at the counters. */
    atomic_thread_fence(memory_order_acquire);
    for (uint32_t i = 0; i < check->count; i++)
        if (atomic_load_explicit(&engine->shards[check->shards[i]].writes, memory_order_relaxed) !=
            check->writes[i])
            return false;
    return true;
}
