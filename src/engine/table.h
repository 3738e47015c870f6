/* SPDX-License-Identifier: MIT
 *
 * The table of one database in one shard: an array of 64-byte buckets in hash order.
 *
 * A slot is a tag (15 bits of the hash and a one) over a 48-bit pointer. A bucket's last slot may
 * be a link to an overflow bucket instead (lowest bit set). bucket = high half of position *
 * bucket_count, for any count, so position order is bucket order.
 *
 * Growth and shrink: a second array fills behind a frontier. Positions below it live in the new
 * array, the rest in the old one; every insert and delete moves a bounded number of buckets, the
 * keeper does the rest, but growth of a large table keeps to the pace of its entries and may rest
 * half way (docs/decisions/008). Arrays are cut into segments of SEGMENT_BUCKETS that come and go
 * with the frontier, so a resize never holds two whole arrays, and old segments are freed after a
 * grace period.
 *
 * Readers get a `view`, an immutable description but for the frontier; it is replaced when a resize
 * begins and ends, and retired. A reader that misses while the shard's move counter was odd or
 * changed may have missed an entry on its way: it looks again (engine/keyspace.c).
 *
 * Threads: table_probe and view_bucket need the thread online; everything else the shard's lock.
 */
#ifndef LARDER_ENGINE_TABLE_H
#define LARDER_ENGINE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/pause.h"
#include "engine/shard.h"

#if defined(__SANITIZE_THREAD__)
#define TABLE_VECTORS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TABLE_VECTORS 0
#endif
#endif
#if !defined(TABLE_VECTORS) && defined(__SSE2__)
#include <emmintrin.h>
#define TABLE_VECTORS 1
#elif !defined(TABLE_VECTORS)
#define TABLE_VECTORS 0
#endif

enum {
    BUCKET_SLOTS = 8,
    BUCKET_SIZE = 64,
    BUCKET_LINK = BUCKET_SLOTS - 1, /* the slot that may be a link */
    SEGMENT_SHIFT = 9,
    SEGMENT_BUCKETS = 1 << SEGMENT_SHIFT,
    PAGE_BUCKETS = PAGE_SIZE / BUCKET_SIZE,
};

#define SLOT_POINTER_MASK (((uint64_t)1 << 48) - 1)

struct bucket {
    _Atomic uint64_t slots[BUCKET_SLOTS];
};

struct array {
    uint64_t bucket_count;
    uint64_t segment_count;
    struct bucket *segments[]; /* a segment is written before the frontier reaches it */
};

struct view {
    uint64_t bucket_count;
    struct bucket *const *segments;
    uint64_t next_count; /* 0: no resize under way */
    struct bucket *const *next_segments;
    _Atomic uint64_t frontier; /* positions below it are in the next array */
    /* ---- under the lock */
    struct array *array, *next_array;
    uint64_t moved;         /* old buckets moved so far */
    struct view *successor; /* allocated when the resize began */
    struct view *dead_next; /* flushed: what remains to be emptied */
    uint64_t dead_epoch;
    uint64_t walked;
};

/* The table every database has until its first key. */
struct view *view_empty(void);

static inline uint64_t position_index(uint64_t position, uint64_t bucket_count)
{
    return (uint64_t)((__uint128_t)position * bucket_count >> 64);
}

/* The lowest position of bucket `index`. */
static inline uint64_t index_position(uint64_t index, uint64_t bucket_count)
{
    return (uint64_t)((((__uint128_t)index << 64) + bucket_count - 1) / bucket_count);
}

static inline struct bucket *view_bucket(const struct view *view, uint64_t position)
{
    if (__builtin_expect(position < atomic_load_explicit(&view->frontier, memory_order_acquire),
                         0)) {
        uint64_t index = position_index(position, view->next_count);
        return view->next_segments[index >> SEGMENT_SHIFT] + (index & (SEGMENT_BUCKETS - 1));
    }
    uint64_t index = position_index(position, view->bucket_count);
    return view->segments[index >> SEGMENT_SHIFT] + (index & (SEGMENT_BUCKETS - 1));
}

static inline struct view *shard_view(const struct shard *shard, uint32_t db)
{
    return atomic_load_explicit(&shard->views[db], memory_order_acquire);
}

static inline bool slot_is_link(uint64_t slot)
{
    return (slot & 1) != 0;
}

static inline struct bucket *slot_link(uint64_t slot)
{
    return (struct bucket *)(uintptr_t)(slot & SLOT_POINTER_MASK & ~(uint64_t)1);
}

static inline struct entry *slot_entry(uint64_t slot)
{
    return (struct entry *)(uintptr_t)(slot & SLOT_POINTER_MASK);
}

/* Never zero, so that neither an empty slot nor a link has it. */
static inline uint16_t hash_tag(uint64_t hash)
{
    return (uint16_t)(hash | 1);
}

static inline uint64_t slot_of(uint64_t hash, const struct entry *entry)
{
    return (uint64_t)hash_tag(hash) << 48 | (uint64_t)(uintptr_t)entry;
}

static inline bool slot_tagged(uint64_t slot, uint64_t hash)
{
    return (uint16_t)(slot >> 48) == hash_tag(hash);
}

static inline bool entry_has_key(const struct entry *entry, struct bytes key)
{
    /* An entry with a long key shows size 0 here. */
    if (__builtin_expect(key.size - 1 >= KEY_SHORT_MAX, 0))
        return bytes_equal(entry_key(entry), key);
    return (uint32_t)entry->key_size_table >> 4 == key.size &&
           memory_equal(entry->rest, key.data, key.size);
}

/* Where an entry stands. */
struct place {
    struct bucket *bucket;   /* that holds the slot */
    struct bucket *previous; /* in its chain, or NULL */
    uint32_t slot;
};

/* Which slots carry the hash's tag: slot i in bit 2 * i + 1. A slot may change at once: look at
 * each again, atomically.
 *
 * With SSE2 two slots are loaded at a time. x86 loads an aligned vector's 8-byte halves whole and
 * in order with other loads, which is all that a miss relies on. */
static inline uint32_t bucket_matches(const struct bucket *bucket, uint64_t hash)
{
#if TABLE_VECTORS
    const __m128 *pairs = (const __m128 *)(const void *)bucket->slots;
    /* The upper halves of four slots each, then the upper quarters of all eight. */
    __m128i low = _mm_castps_si128(_mm_shuffle_ps(pairs[0], pairs[1], 0xdd));
    __m128i high = _mm_castps_si128(_mm_shuffle_ps(pairs[2], pairs[3], 0xdd));
    __m128i tags = _mm_packs_epi32(_mm_srai_epi32(low, 16), _mm_srai_epi32(high, 16));
    __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)hash_tag(hash)));
    return (uint32_t)_mm_movemask_epi8(equal) & 0xaaaa;
#else
    uint32_t matches = 0;
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
        uint64_t slot = atomic_load_explicit(&bucket->slots[i], memory_order_acquire);
        matches |= (uint32_t)slot_tagged(slot, hash) << (2 * i + 1);
    }
    return matches;
#endif
}

/* The first slot of bucket_matches' answer, which is not zero. */
static inline uint32_t bucket_first(uint32_t matches)
{
    return (uint32_t)__builtin_ctz(matches) / 2;
}

/* The entry with this key, or NULL. Without the lock the answer "none" needs the move counter's
 * consent. `place` (may be NULL) is good until the table changes. */
static inline struct entry *table_probe(const struct view *view, uint64_t position, uint64_t hash,
                                        struct bytes key, struct place *place)
{
    struct bucket *bucket = view_bucket(view, position), *previous = NULL;
    for (;;) {
        ENGINE_PAUSE(PAUSE_BUCKET_CHOSEN);
        for (uint32_t matches = bucket_matches(bucket, hash); matches != 0;
             matches &= matches - 1) {
            uint32_t i = bucket_first(matches);
            uint64_t slot = atomic_load_explicit(&bucket->slots[i], memory_order_acquire);
            if (!slot_tagged(slot, hash))
                continue;
            ENGINE_PAUSE(PAUSE_SLOT_READ);
            struct entry *entry = slot_entry(slot);
            if (__builtin_expect(entry_has_key(entry, key), 1)) {
                if (place != NULL)
                    *place = (struct place){bucket, previous, i};
                return entry;
            }
        }
        uint64_t last = atomic_load_explicit(&bucket->slots[BUCKET_LINK], memory_order_acquire);
        if (__builtin_expect(!slot_is_link(last), 1))
            return NULL;
        previous = bucket;
        bucket = slot_link(last);
    }
}

/* Makes sure that table_insert of `count` keys will find what it needs; NO_MEMORY else. */
enum status table_insert_ready(struct shard *shard, uint32_t db, uint32_t count) MUST_USE;
/* The key must not be there, and table_insert_ready must have agreed. Publishes the entry. */
void table_insert(struct shard *shard, uint32_t db, uint64_t position, uint64_t hash,
                  struct entry *entry);
/* Publishes `entry` in place of the one at `place`, which is retired. */
void table_replace(struct shard *shard, uint32_t db, const struct place *place, uint64_t hash,
                   struct entry *entry);
/* Unlinks and retires the entry at `place`. */
void table_remove(struct shard *shard, uint32_t db, const struct place *place);
/* The place of this very entry, or false when the table has it no more. */
bool table_locate(const struct shard *shard, const struct entry *entry, struct place *place);

/* Moves up to `count` buckets of a resize, or begins one where the load asks for it. True: more to
 * do. May do nothing while memory is short. Every insert and remove is followed by a step, once no
 * place and no spare bucket is counted on any more. */
bool table_step(struct shard *shard, uint32_t db, uint32_t count);
/* The databases swap their tables. Under all locks, with marks. */
void table_swap(struct shard *shard, uint32_t db_a, uint32_t db_b);
/* Sets the table aside to be emptied by table_bury, and starts an empty one. */
void table_flush(struct shard *shard, uint32_t db);
/* Frees up to `count` buckets' worth of flushed entries. True: more to do. */
bool table_bury(struct shard *shard, uint32_t count);
/* At the very end: releases blobs of live entries and all arrays. */
void table_destroy_all(struct shard *shard);

#endif
