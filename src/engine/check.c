/* SPDX-License-Identifier: MIT
 *
 * The engine's invariants, walked whole: what a debugger would want to know first. For tests only.
 */
#include <stdio.h>

#include "engine/shard.h"
#include "engine/table.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "engine_check: %s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

struct census {
    uint64_t entries, expiring, overflow;
};

static uint64_t load(const struct bucket *bucket, uint32_t i)
{
    return atomic_load_explicit(&bucket->slots[i], memory_order_relaxed);
}

static bool check_entry(const struct shard *shard, uint32_t db, const struct bucket *head,
                        uint64_t slot, struct census *census)
{
    struct entry *entry = slot_entry(slot);
    struct bytes key = entry_key(entry);
    uint64_t hash = hash_bytes(key.data, key.size, shard->engine->hash_seed), position;
    CHECK(shard_of(shard->engine, hash, &position) == shard);
    CHECK(slot_tagged(slot, hash));
    CHECK(shard->db_of[entry_table(entry)] == db);
    CHECK(view_bucket(shard_view(shard, db), position) == head);
    struct place place;
    CHECK(table_locate(shard, entry, &place)); /* so no key stands there twice */
    struct slab *slab = slab_of(entry);
    uint32_t index = slab_object_index(slab, entry);
    bool expires = entry_expires(entry);
    CHECK(slab_object(slab, index) == (void *)entry);
    CHECK((slab->due[index] != DUE_NEVER) == expires);
    uint16_t due_first = shard->heap.slabs[slab->index].due_first;
    CHECK(!expires || due_first == DUE_ORPHAN || !due_before(slab->due[index], due_first));
    census->entries++;
    census->expiring += expires;
    return true;
}

static bool check_bucket(const struct shard *shard, uint32_t db, const struct bucket *head,
                         struct census *census)
{
    for (const struct bucket *bucket = head; bucket != NULL;) {
        const struct bucket *more = NULL;
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
            uint64_t slot = load(bucket, i);
            if (i == BUCKET_LINK && slot_is_link(slot)) {
                more = slot_link(slot);
                census->overflow++;
            } else if (slot != 0) {
                if (!check_entry(shard, db, head, slot, census))
                    return false;
            }
        }
        bucket = more;
    }
    return true;
}

static bool check_array(const struct shard *shard, uint32_t db, const struct array *array,
                        uint64_t from, uint64_t to, struct census *census)
{
    for (uint64_t i = from; i < to; i++) {
        const struct bucket *segment = array->segments[i >> SEGMENT_SHIFT];
        if (segment != NULL &&
            !check_bucket(shard, db, segment + (i & (SEGMENT_BUCKETS - 1)), census))
            return false;
    }
    return true;
}

static bool check_shard(struct shard *shard)
{
    struct census all = {0};
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++) {
        const struct view *view = shard_view(shard, db);
        CHECK(shard->db_of[shard->table_of[db]] == db);
        struct census census = {0};
        if (view->array != NULL &&
            !check_array(shard, db, view->array, view->moved, view->bucket_count, &census))
            return false;
        if (view->next_array != NULL &&
            !check_array(shard, db, view->next_array, 0, view->next_count, &census))
            return false;
        CHECK(census.entries == counter_get(&shard->counts[db].items));
        CHECK(census.expiring == counter_get(&shard->counts[db].expiring));
        all.entries += census.entries;
        all.overflow += census.overflow;
    }
    uint64_t orphans = 0, retired = 0, used = 0, live_bytes = 0;
    for (uint64_t i = shard->retired_head; i != shard->retired_tail; i++)
        retired += (shard->retired[i & (shard->retired_room - 1)].stamp & 7) <= RETIRED_BUCKET;
    for (uint32_t i = 0; i < shard->heap.slab_count; i++) {
        const struct slab *slab = shard->heap.slabs[i].slab;
        CHECK(slab->index == i);
        CHECK(slab->used_count <= slab->fresh_count && slab->fresh_count <= slab->object_count);
        used += slab->used_count;
        live_bytes += (uint64_t)slab->used_count * slab->object_size;
        uint32_t due = 0;
        for (uint32_t j = 0; j < slab->object_count; j++) {
            due += slab->due[j] != DUE_NEVER;
            orphans += slab->due[j] == DUE_ORPHAN;
        }
        CHECK(due == shard->heap.slabs[i].due_count);
    }
    for (uint32_t i = 0; i < SLAB_CLASSES_MAX; i++)
        for (uint32_t j = 0; j < shard->heap.parked_count[i]; j++) {
            CHECK(slab_of(shard->heap.parked[i][j])->class_index == i);
            used--;
            live_bytes -= slab_object_size(shard->heap.parked[i][j]);
        }
    CHECK(live_bytes == counter_get(&shard->heap.live_bytes));
    /* Flushed tables still hold entries of their own. */
    if (shard->dead == NULL)
        CHECK(used == all.entries + all.overflow + orphans + retired + shard->spare_count);
    CHECK((counter_get(&shard->marks) & 1) == 0);
    CHECK((counter_get(&shard->moves) & 1) == 0);
    return true;
}

bool engine_check(struct engine *engine)
{
    bool good = true;
    for (uint32_t i = 0; i < engine->shard_count && good; i++) {
        shard_lock(&engine->shards[i]);
        good = check_shard(&engine->shards[i]);
        shard_unlock(&engine->shards[i]);
    }
    return good;
}
