/* SPDX-License-Identifier: MIT */
#include "engine/watch.h"

#include "base/alloc.h"
#include "engine/shard.h"
#include "engine/table.h"
#include "engine/watch_table.h"

enum { WATCH_BUCKETS_MIN = 256, WATCH_BUCKETS_MAX = 64 * 1024 };

struct watch {
    struct watch *next;          /* in the shard's chain; under the shard's lock */
    struct watch *next_of_owner; /* owned by the watcher's thread */
    struct watcher *owner;
    uint64_t hash;
    uint32_t db;
    size_t key_size;
    char key[];
};

static struct bytes watch_key(const struct watch *watch)
{
    return bytes_of(watch->key, watch->key_size);
}

static bool watch_matches(const struct watch *watch, uint32_t db, struct bytes key, uint64_t hash)
{
    return watch->hash == hash && watch->db == db && bytes_equal(watch_key(watch), key);
}

static struct watch **chain_of(const struct shard *shard, uint64_t hash)
{
    return &shard->watches[hash & (shard->watch_buckets - 1)];
}

/* Room for one more: twice the chains once there are as many watches, up to what one step may
 * move. */
static bool make_room(struct shard *shard)
{
    uint32_t old_count = shard->watch_buckets;
    if (shard->watch_count < old_count || old_count == WATCH_BUCKETS_MAX)
        return true;
    struct watch **old = shard->watches;
    uint32_t count = old_count == 0 ? WATCH_BUCKETS_MIN : old_count * 2;
    struct watch **watches = alloc_zeroed(count, sizeof *watches);
    if (watches == NULL)
        return old != NULL;
    shard->watches = watches;
    shard->watch_buckets = count;
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i] != NULL) {
            struct watch *watch = old[i], **chain = chain_of(shard, watch->hash);
            old[i] = watch->next;
            watch->next = *chain;
            *chain = watch;
        }
    alloc_free(old);
    return true;
}

void watcher_init(struct watcher *watcher)
{
    atomic_init(&watcher->dirty, false);
    watcher->first = NULL;
    watcher->count = 0;
}

enum status watcher_add(struct watcher *watcher, struct access *access, const struct key *key)
{
    uint64_t position;
    struct shard *shard = shard_of(access->engine, key->hash, &position);
    if (!make_room(shard))
        return STATUS_NO_MEMORY;
    struct watch **chain = chain_of(shard, key->hash);
    for (const struct watch *other = *chain; other != NULL; other = other->next)
        if (other->owner == watcher && watch_matches(other, access->db, key->bytes, key->hash))
            return STATUS_OK;
    struct watch *watch = alloc_get(sizeof *watch + key->bytes.size);
    if (watch == NULL)
        return STATUS_NO_MEMORY;
    /* A key that is dead already is unlinked now: its expiry is no later change. */
    struct value ignored;
    keyspace_peek(access, key, &ignored);
    *watch = (struct watch){.next = *chain,
                            .next_of_owner = watcher->first,
                            .owner = watcher,
                            .hash = key->hash,
                            .db = access->db,
                            .key_size = key->bytes.size};
    if (key->bytes.size != 0)
        memcpy(watch->key, key->bytes.data, key->bytes.size);
    *chain = watch;
    watcher->first = watch;
    watcher->count++;
    shard->watch_count++;
    return STATUS_OK;
}

void watcher_lock_shards(const struct watcher *watcher, const struct engine *engine,
                         struct lockset *set)
{
    for (struct watch *watch = watcher->first; watch != NULL; watch = watch->next_of_owner)
        lockset_add(set, engine, watch->hash);
}

bool watcher_changed(struct watcher *watcher, struct access *access)
{
    struct access look = *access;
    for (struct watch *watch = watcher->first; watch != NULL; watch = watch->next_of_owner) {
        struct key key = {watch_key(watch), watch->hash};
        struct value ignored;
        look.db = watch->db;
        keyspace_peek(&look, &key, &ignored); /* an expired key is unlinked, and we are told */
    }
    return atomic_load_explicit(&watcher->dirty, memory_order_relaxed);
}

void watcher_clear(struct watcher *watcher, struct engine *engine)
{
    while (watcher->first != NULL) {
        struct watch *watch = watcher->first;
        watcher->first = watch->next_of_owner;
        uint64_t position;
        struct shard *shard = shard_of(engine, watch->hash, &position);
        shard_lock(shard);
        struct watch **link = chain_of(shard, watch->hash);
        while (*link != watch)
            link = &(*link)->next;
        *link = watch->next;
        shard->watch_count--;
        shard_unlock(shard);
        alloc_free(watch);
    }
    watcher->count = 0;
    atomic_store_explicit(&watcher->dirty, false, memory_order_relaxed);
}

void watch_table_touch_slow(struct shard *shard, uint32_t db, struct bytes key, uint64_t hash)
{
    for (struct watch *watch = *chain_of(shard, hash); watch != NULL; watch = watch->next)
        if (watch_matches(watch, db, key, hash))
            atomic_store_explicit(&watch->owner->dirty, true, memory_order_relaxed);
}

void watch_table_touch_all(struct shard *shard, uint32_t db)
{
    if (shard->watch_count == 0)
        return;
    for (uint32_t i = 0; i < shard->watch_buckets; i++)
        for (struct watch *watch = shard->watches[i]; watch != NULL; watch = watch->next) {
            uint64_t position;
            shard_of(shard->engine, watch->hash, &position);
            if (watch->db == db && table_probe(shard_view(shard, db), position, watch->hash,
                                               watch_key(watch), NULL) != NULL)
                atomic_store_explicit(&watch->owner->dirty, true, memory_order_relaxed);
        }
}

/* A key that has expired by now is unlinked, and its watchers are told. */
static bool watch_key_alive(const struct watch *watch, const struct access *access, uint32_t db)
{
    struct access look = *access;
    look.db = db;
    struct key key = {watch_key(watch), watch->hash};
    struct value ignored;
    return keyspace_peek(&look, &key, &ignored) == FIND_FOUND;
}

void watch_table_touch_swapped(struct shard *shard, const struct access *access, uint32_t db_a,
                               uint32_t db_b)
{
    if (shard->watch_count == 0)
        return;
    for (uint32_t i = 0; i < shard->watch_buckets; i++)
        for (struct watch *watch = shard->watches[i]; watch != NULL; watch = watch->next) {
            if (watch->db != db_a && watch->db != db_b)
                continue;
            bool alive_a = watch_key_alive(watch, access, db_a);
            if (watch_key_alive(watch, access, db_b) || alive_a)
                atomic_store_explicit(&watch->owner->dirty, true, memory_order_relaxed);
        }
}

void watch_table_deinit(struct shard *shard)
{
    alloc_free(shard->watches);
}
