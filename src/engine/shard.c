/* SPDX-License-Identifier: MIT */
#include "engine/shard.h"

#include "base/alloc.h"
#include "base/ensure.h"
#include "engine/table.h"
#include "engine/watch_table.h"

enum { RETIRED_ROOM_MIN = 64, RECLAIM_PER_LOCK = 4, SPARES_KEPT = 4 };

enum status shard_init(struct shard *shard, struct engine *engine)
{
    shard->engine = engine;
    slab_heap_init(&shard->heap, &engine->pages);
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        atomic_init(&shard->views[db], view_empty());
    for (uint8_t db = 0; db < ENGINE_DATABASES; db++)
        shard->table_of[db] = shard->db_of[db] = db;
    shard->retired = alloc_get(RETIRED_ROOM_MIN * sizeof *shard->retired);
    if (shard->retired == NULL)
        return STATUS_NO_MEMORY;
    shard->retired_room = RETIRED_ROOM_MIN;
    return STATUS_OK;
}

static enum retired_kind retired_kind(const struct retired *item)
{
    return item->stamp & 7;
}

/* Entries, buckets and segments go with the pages; blobs that have mappings of their own, and what
 * came from the allocator, must be found. */
void shard_deinit(struct shard *shard)
{
    if (shard->retired == NULL)
        return;
    table_destroy_all(shard);
    while (shard->retired_head != shard->retired_tail) {
        struct retired *item = &shard->retired[shard->retired_head++ & (shard->retired_room - 1)];
        enum retired_kind kind = retired_kind(item);
        if (kind == RETIRED_ENTRY)
            entry_free(shard, item->memory);
        else if (kind == RETIRED_BLOCK)
            alloc_free(item->memory);
    }
    watch_table_deinit(shard);
    slab_heap_deinit(&shard->heap);
    alloc_free(shard->retired);
}

void shard_lock(struct shard *shard)
{
    lock_acquire(&shard->lock);
    counter_add(&shard->writes, 1);
    /* Whoever sees anything written from here on also sees the odd counter. */
    atomic_thread_fence(memory_order_release);
    if (shard->retired_head != shard->retired_tail)
        shard_reclaim(shard, RECLAIM_PER_LOCK);
    while (shard->spare_count > SPARES_KEPT) /* left over from a change of many keys */
        slab_put(&shard->heap, shard_spare_take(shard));
}

void shard_unlock(struct shard *shard)
{
    atomic_store_explicit(&shard->writes, counter_get(&shard->writes) + 1, memory_order_release);
    lock_release(&shard->lock);
}

bool shard_retire_ready(struct shard *shard, uint32_t count)
{
    uint64_t used = shard->retired_tail - shard->retired_head;
    if (used + count <= shard->retired_room)
        return true;
    uint32_t room = shard->retired_room;
    while (used + count > room)
        room *= 2;
    struct retired *ring = alloc_get(room * sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint64_t i = 0; i < used; i++)
        ring[i] = shard->retired[(shard->retired_head + i) & (shard->retired_room - 1)];
    alloc_free(shard->retired);
    shard->retired = ring;
    shard->retired_room = room;
    shard->retired_head = 0;
    shard->retired_tail = used;
    return true;
}

static size_t retired_size(const struct retired *item)
{
    return (size_t)(item->stamp >> 3 & 0xffff) * 8;
}

void shard_retire(struct shard *shard, enum retired_kind kind, void *memory, size_t size)
{
    if (!shard_retire_ready(shard, 1)) {
        ENSURE(kind <= RETIRED_PLAIN); /* everything else asks for room first */
        struct slab *slab = slab_of(memory);
        slab_due_set(&shard->heap, slab, slab_object_index(slab, memory), DUE_ORPHAN);
        return;
    }
    struct retired *item = &shard->retired[shard->retired_tail++ & (shard->retired_room - 1)];
    uint64_t epoch = atomic_load_explicit(&shard->engine->epoch.global, memory_order_relaxed);
    item->memory = memory;
    item->stamp = epoch << RETIRED_EPOCH_SHIFT | (uint64_t)(size + 7) / 8 << 3 | kind;
    counter_add(&shard->retired_bytes, retired_size(item));
}

void shard_retire_entry(struct shard *shard, struct entry *entry)
{
    enum retired_kind kind = entry_is_plain(entry) ? RETIRED_PLAIN : RETIRED_ENTRY;
    shard_retire(shard, kind, entry, entry_size(entry));
}

bool shard_reclaim(struct shard *shard, uint32_t count)
{
    bool freed = false;
    for (; count > 0 && shard->retired_head != shard->retired_tail; count--) {
        struct retired *item = &shard->retired[shard->retired_head & (shard->retired_room - 1)];
        if (!epoch_safe(&shard->engine->epoch, item->stamp >> RETIRED_EPOCH_SHIFT))
            break;
        struct retired taken = *item;
        shard->retired_head++;
        counter_add(&shard->retired_bytes, -(uint64_t)retired_size(&taken));
        freed = true;
        switch (retired_kind(&taken)) {
        case RETIRED_ENTRY:
            entry_free(shard, taken.memory);
            break;
        case RETIRED_PLAIN:
            slab_park(&shard->heap, taken.memory, retired_size(&taken));
            break;
        case RETIRED_BUCKET:
            slab_put(&shard->heap, taken.memory);
            break;
        case RETIRED_SEGMENT:
            pages_put(&shard->engine->pages, taken.memory, retired_size(&taken) / PAGE_SIZE);
            break;
        case RETIRED_BLOCK:
            alloc_free(taken.memory);
            break;
        }
    }
    return freed;
}

bool shard_spares_fill(struct shard *shard, uint32_t count)
{
    while (shard->spare_count < count) {
        void *bucket = slab_get(&shard->heap, BUCKET_SIZE, LIMIT_PASSED);
        if (bucket == NULL)
            return false;
        memcpy(bucket, &shard->spares, sizeof shard->spares);
        shard->spares = bucket;
        shard->spare_count++;
    }
    return true;
}

void *shard_spare_take(struct shard *shard)
{
    ENSURE(shard->spare_count > 0);
    void *bucket = shard->spares;
    memcpy(&shard->spares, bucket, sizeof shard->spares);
    shard->spare_count--;
    return bucket;
}
