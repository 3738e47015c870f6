/* SPDX-License-Identifier: MIT
 *
 * Entry memory of one shard: slabs of equal objects, carved from page runs.
 *
 * Classes step by 8 bytes to 256 and by at most 2 % to SLAB_OBJECT_MAX. A slab is 15 pages, more
 * where the tail that no object fits into would waste over 1 %. Its head carries, for every object,
 * a coarse deadline (DUE_* below), so that the sweep for expired entries reads two bytes an object
 * instead of the entries.
 *
 * Threads: all of a shard's slabs are guarded by the shard's lock.
 */
#ifndef LARDER_ENGINE_SLAB_H
#define LARDER_ENGINE_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/pages.h"

enum {
    SLAB_PARKED_MAX = 8,                /* per class */
    SLAB_OBJECT_MAX = 16 * 1024 + 1024, /* a value below BLOB_VALUE_SIZE_MIN with an ordinary key */
    SLAB_CLASSES_MAX = 320,
};

/* Deadlines: a time in units of DUE_UNIT_MS, modulo 2^16 and never one of these two. */
enum { DUE_NEVER = 0, DUE_ORPHAN = 0xffff, DUE_UNIT_MS = 250, DUE_HORIZON = 30000 };

struct slab {
    struct slab *next, *previous; /* among its class's slabs with room */
    void *free;                   /* objects given back, chained through their first word */
    uint32_t object_size;
    uint32_t objects_offset; /* from the slab's start */
    uint32_t reciprocal;     /* 2^32 / object_size, rounded up */
    uint32_t index;          /* in slab_heap.slabs */
    uint16_t class_index;
    uint16_t page_count;
    uint16_t object_count;
    uint16_t used_count;
    uint16_t fresh_count; /* objects handed out at least once; the rest follow in order */
    uint16_t due[];       /* per object */
};

/* What the sweep has to know of a slab, side by side, so that it passes a slab with nothing to do
 * without touching it: there may be a hundred thousand. */
struct slab_record {
    struct slab *slab;
    uint16_t due_count; /* objects with a deadline */
    uint16_t due_first; /* no deadline is earlier; valid when due_count > 0 */
};

struct slab_heap {
    struct pages *pages;
    struct slab *with_room[SLAB_CLASSES_MAX];
    struct slab_record *slabs;
    /* Objects given back by slab_park, the next to be handed out; their slabs count them as
     * used. */
    bool parked_lately; /* since the last slab_heap_settle */
    uint8_t parked_count[SLAB_CLASSES_MAX];
    void *parked[SLAB_CLASSES_MAX][SLAB_PARKED_MAX];
    uint32_t slab_count, slab_room;
    _Atomic uint64_t live_bytes; /* of objects in use; written under the lock, read by anybody */
};

/* Fills the class table; once per process, before any heap, single-threaded or repeated
 * harmlessly. */
void slab_classes_init(void);
void slab_heap_init(struct slab_heap *heap, struct pages *pages);
/* The pages go with the chunks (pages_deinit). */
void slab_heap_deinit(struct slab_heap *heap);

/* 8-byte aligned, content undefined; objects of 64 bytes are aligned to 64. NULL: out of memory.
 * `size` is 1 to SLAB_OBJECT_MAX. */
void *slab_get(struct slab_heap *heap, size_t size, enum limit limit);
void slab_put(struct slab_heap *heap, void *object);
/* The same for an object got with this very size and without a deadline. Neither it nor its slab is
 * touched, which a cache may have lost, while its class has few of the kind. */
void slab_park(struct slab_heap *heap, void *object, size_t size);
/* Gives what is parked back to its slabs, so that they can become empty, unless something was
 * parked since the last call: now and then, so that it happens when the heap is quiet. */
void slab_heap_settle(struct slab_heap *heap);
/* Bytes an object of this size really occupies. */
size_t slab_object_size(const void *object);

static inline struct slab *slab_of(const void *object)
{
    return pages_run_of(object);
}

static inline uint32_t slab_object_index(const struct slab *slab, const void *object)
{
    uint32_t offset = (uint32_t)((const char *)object - (const char *)slab) - slab->objects_offset;
    return (uint32_t)(((uint64_t)offset * slab->reciprocal) >> 32);
}

static inline void *slab_object(const struct slab *slab, uint32_t index)
{
    return (char *)slab + slab->objects_offset + (size_t)index * slab->object_size;
}

/* Deadlines compare modulo 2^16 within the horizon. */
static inline bool due_before(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b) < 0;
}

/* Of the object with this index in `slab`, a slab of `heap`. */
void slab_due_set(struct slab_heap *heap, struct slab *slab, uint32_t index, uint16_t due);
void slab_due_clear(struct slab_heap *heap, struct slab *slab, uint32_t index);

#endif
