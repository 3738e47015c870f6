/* SPDX-License-Identifier: MIT
 *
 * A shard and the engine around it: the internal state that the engine's files share.
 *
 * A shard owns the tables (one view per database), the entries' slabs, what waits for readers to
 * leave, and one lock for writers. Its first lines are read by lock-free readers and written only
 * by changes of several keys (marks) and by moves of a growing table (moves, views); what every
 * write touches lies on other lines.
 *
 * Order for readers: mark (acquire), view, slot, value, and the mark again: a value read between
 * two looks at the same even mark is no intermediate one. Writers: the mark is odd from before the
 * first publication until after the last, slots are stored with release. See docs/ARCHITECTURE.md.
 */
#ifndef LARDER_ENGINE_SHARD_H
#define LARDER_ENGINE_SHARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "engine/engine.h"
#include "engine/entry.h"
#include "engine/epoch.h"
#include "engine/keyspace.h"
#include "engine/pages.h"
#include "engine/slab.h"
#include "os/thread.h"

struct view;  /* engine/table.h */
struct watch; /* engine/watch.c */

enum retired_kind {
    RETIRED_ENTRY,
    RETIRED_PLAIN,   /* an entry_is_plain one */
    RETIRED_BUCKET,  /* an overflow bucket */
    RETIRED_SEGMENT, /* of a bucket array */
    RETIRED_BLOCK,   /* from alloc_get */
};

enum { RETIRED_EPOCH_SHIFT = 19 };

struct retired {
    void *memory;
    uint64_t stamp; /* epoch << RETIRED_EPOCH_SHIFT | size in 8 bytes << 3 | kind */
};

struct table_counts {
    _Atomic uint64_t items; /* written under the lock, read by anybody */
    _Atomic uint64_t expiring;
};

struct shard_counters { /* written under the lock, read by anybody */
    _Atomic uint64_t inserted, deleted, expired, resizes;
    _Atomic int64_t expire_lag_ms;
};

struct shard {
    /* ---- read without the lock */
    _Alignas(64) _Atomic uint64_t marks; /* odd while a change of several keys is published */
    _Atomic uint64_t moves;              /* odd while a bucket's entries move */
    struct engine *engine;
    _Atomic(struct view *) views[ENGINE_DATABASES];
    /* ---- under the lock, but for atomics */
    _Alignas(64) struct lock lock;
    _Atomic uint64_t writes; /* odd while the lock is held by somebody who may write */
    struct retired *retired; /* ring */
    uint64_t retired_head, retired_tail;
    uint32_t retired_room; /* a power of two */
    uint32_t spare_count;
    void *spares; /* overflow buckets ready for use, chained through their first word */
    _Atomic uint64_t retired_bytes; /* written under the lock, read by anybody */
    _Atomic uint64_t table_bytes;   /* likewise */
    /* Entries carry the number of their table, so that databases can swap tables without touching
     * them. Which number a database has now, and the other way round. */
    uint8_t table_of[ENGINE_DATABASES], db_of[ENGINE_DATABASES];
    struct table_counts counts[ENGINE_DATABASES];
    struct shard_counters counters;
    struct slab_heap heap;
    struct view *dead;      /* flushed tables to be emptied */
    struct watch **watches; /* chains; NULL until the first WATCH */
    uint32_t watch_buckets; /* of them: 0, or a power of two */
    uint64_t watch_count;
    uint64_t versions;    /* given out so far */
    uint32_t sweep_index; /* next slab the sweep looks at */
};

struct engine_thread {
    _Alignas(64) struct epoch_record record;
    struct engine *engine;
    uint32_t ticks;
    uint64_t random; /* state of keyspace_random */
    _Atomic uint64_t hits, misses, read_retries, read_locked;
};

struct engine {
    struct shard *shards;
    uint32_t shard_count;
    uint64_t hash_seed;
    int64_t start_ms;
    struct epoch epoch;
    struct pages pages;
    _Atomic(struct blob *) dead_blobs; /* too large to unmap in a worker */
    _Atomic uint64_t blob_bytes;       /* pages of all blobs, the dead included */
    _Atomic bool expiry_off;           /* see engine_active_expiry_set */
    struct lock threads_lock;          /* registering threads; baseline */
    struct engine_stats baseline;      /* counters as they were at the last reset */
    struct signal_flag wake;           /* the keeper has something to do */
    struct signal_flag wake_mapper;    /* the mapper has */
    _Atomic bool stopping;
    struct engine_thread keeper_thread; /* of the keeper, or of whoever is inside engine_maintain */
    _Atomic uint64_t keeper_longest_ns; /* longest hold of a shard's lock; see engine.h */
    struct thread *keeper, *mapper;     /* NULL: the owner calls engine_maintain */
};

/* The shard of a hash and, in `*position`, the place within it (design: the low half). */
static inline struct shard *shard_of(const struct engine *engine, uint64_t hash, uint64_t *position)
{
    __uint128_t product = (__uint128_t)hash * engine->shard_count;
    *position = (uint64_t)product;
    return &engine->shards[(uint64_t)(product >> 64)];
}

enum status shard_init(struct shard *shard, struct engine *engine) MUST_USE;
void shard_deinit(struct shard *shard);

/* Taking the lock opens a write: the write counter is odd until it is released. */
void shard_lock(struct shard *shard);
void shard_unlock(struct shard *shard);

/* Around the publications of a change of several entries; the counter is odd within. */
static inline void shard_mark(struct shard *shard)
{
    /* Publications are release stores, so whoever sees one sees the mark. */
    atomic_store_explicit(&shard->marks,
                          atomic_load_explicit(&shard->marks, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline void shard_unmark(struct shard *shard)
{
    atomic_store_explicit(&shard->marks,
                          atomic_load_explicit(&shard->marks, memory_order_relaxed) + 1,
                          memory_order_release);
}

static inline bool shard_marked(const struct shard *shard)
{
    return (atomic_load_explicit(&shard->marks, memory_order_relaxed) & 1) != 0;
}

/* Ensures that `count` more things can be retired. False: not now. Under the lock, as all below. */
bool shard_retire_ready(struct shard *shard, uint32_t count);
/* Memory of `size` bytes, below 512 KB, that readers may still see: freed once they have left.
 * Entries can always be retired: when there is no room to note one, its slab remembers it for the
 * sweep. */
void shard_retire(struct shard *shard, enum retired_kind kind, void *memory, size_t size);
void shard_retire_entry(struct shard *shard, struct entry *entry);
/* Frees up to `count` retired things whose time has come; false when nothing was ready. */
bool shard_reclaim(struct shard *shard, uint32_t count);

/* Overflow buckets in hand, so that publishing cannot fail half way. */
bool shard_spares_fill(struct shard *shard, uint32_t count);
void *shard_spare_take(struct shard *shard);

#endif
