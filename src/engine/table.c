/* SPDX-License-Identifier: MIT */
#include "engine/table.h"

#include "base/alloc.h"

/* Load is entries per 8 slots of the main array. Around 0.8 the sum of slots and overflow buckets
 * per entry is flat (docs/decisions): growing at 0.85 by a quarter keeps it between 0.68 and
 * 0.85; where a large table grows at the pace of its entries, what has not moved yet is fuller. */
enum {
    GROW_PERCENT = 85,
    SHRINK_PERCENT = 25,
    SHRUNK_PERCENT = 60,
    BUCKETS_MIN = PAGE_BUCKETS,
    PACED_BUCKETS = 32 * SEGMENT_BUCKETS, /* growth of smaller tables just runs to its end */
    PACE = 8,                             /* old buckets moved per bucket's worth of new entries */
};

static struct bucket empty_bucket;
static struct bucket *const empty_segments[1] = {&empty_bucket};
static struct view empty_view = {.bucket_count = 1, .segments = empty_segments};

struct view *view_empty(void)
{
    return &empty_view;
}

/* ---- arrays */

static struct array *array_create(uint64_t bucket_count)
{
    uint64_t segment_count = (bucket_count + SEGMENT_BUCKETS - 1) / SEGMENT_BUCKETS;
    struct array *array = alloc_zeroed(1, sizeof *array + segment_count * sizeof(struct bucket *));
    if (array == NULL)
        return NULL;
    array->bucket_count = bucket_count;
    array->segment_count = segment_count;
    return array;
}

static uint32_t segment_pages(const struct array *array, uint64_t segment)
{
    uint64_t first = segment * SEGMENT_BUCKETS;
    uint64_t count = array->bucket_count - first;
    return (uint32_t)((count < SEGMENT_BUCKETS ? count : SEGMENT_BUCKETS) / PAGE_BUCKETS);
}

/* Allocates the segment that holds bucket `index` unless it is there. */
static bool segment_ensure(struct shard *shard, struct array *array, uint64_t index)
{
    uint64_t segment = index >> SEGMENT_SHIFT;
    if (array->segments[segment] != NULL)
        return true;
    uint32_t pages = segment_pages(array, segment);
    void *memory = pages_get(&shard->engine->pages, pages, LIMIT_PASSED);
    if (memory == NULL)
        return false;
    memset(memory, 0, (size_t)pages * PAGE_SIZE);
    array->segments[segment] = memory;
    counter_add(&shard->table_bytes, (uint64_t)pages * PAGE_SIZE);
    return true;
}

static void segment_drop(struct shard *shard, struct array *array, uint64_t segment, bool retire)
{
    uint32_t pages = segment_pages(array, segment);
    struct bucket *memory = array->segments[segment];
    if (memory == NULL)
        return;
    counter_add(&shard->table_bytes, -((uint64_t)pages * PAGE_SIZE));
    if (retire) /* readers may still hold the pointer, and find cleared buckets */
        shard_retire(shard, RETIRED_SEGMENT, memory, (size_t)pages * PAGE_SIZE);
    else
        pages_put(&shard->engine->pages, memory, pages);
    if (!retire)
        array->segments[segment] = NULL;
}

static struct view *view_create(struct array *array)
{
    struct view *view = alloc_zeroed(1, sizeof *view);
    if (view == NULL)
        return NULL;
    view->bucket_count = array->bucket_count;
    view->segments = array->segments;
    view->array = array;
    return view;
}

static void publish_view(struct shard *shard, uint32_t db, struct view *view)
{
    atomic_store_explicit(&shard->views[db], view, memory_order_release);
}

static bool table_create(struct shard *shard, uint32_t db)
{
    struct array *array = array_create(BUCKETS_MIN);
    if (array == NULL)
        return false;
    struct view *view = view_create(array);
    if (view == NULL || !segment_ensure(shard, array, 0)) {
        alloc_free(view);
        alloc_free(array);
        return false;
    }
    publish_view(shard, db, view);
    return true;
}

/* ---- buckets */

static void slot_store(struct bucket *bucket, uint32_t i, uint64_t slot)
{
    atomic_store_explicit(&bucket->slots[i], slot, memory_order_release);
}

static uint64_t slot_load(const struct bucket *bucket, uint32_t i)
{
    return atomic_load_explicit(&bucket->slots[i], memory_order_relaxed);
}

/* Puts a slot into the chain's first hole; takes a spare bucket when there is none. */
static void chain_insert(struct shard *shard, struct bucket *bucket, uint64_t slot)
{
    for (;;) {
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
            if (slot_load(bucket, i) == 0) {
                slot_store(bucket, i, slot);
                return;
            }
        uint64_t last = slot_load(bucket, BUCKET_LINK);
        if (!slot_is_link(last)) {
            struct bucket *more = shard_spare_take(shard);
            memset(more, 0, sizeof *more);
            slot_store(more, 0, last);
            slot_store(more, 1, slot);
            slot_store(bucket, BUCKET_LINK, (uint64_t)(uintptr_t)more | 1);
            return;
        }
        bucket = slot_link(last);
    }
}

static bool bucket_is_empty(const struct bucket *bucket)
{
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
        if (slot_load(bucket, i) != 0)
            return false;
    return true;
}

/* ---- changes of one key */

static uint64_t items_of(const struct shard *shard, uint32_t db)
{
    return counter_get(&shard->counts[db].items);
}

/* An entry came, an entry went; either may be NULL. */
static void count_expiring(struct shard *shard, uint32_t db, const struct entry *came,
                           const struct entry *went)
{
    uint64_t delta = (uint64_t)(came != NULL && entry_expires(came)) -
                     (uint64_t)(went != NULL && entry_expires(went));
    if (delta != 0) /* else the counter's line stays with whoever has it */
        counter_add(&shard->counts[db].expiring, delta);
}

enum status table_insert_ready(struct shard *shard, uint32_t db, uint32_t count)
{
    if (!shard_spares_fill(shard, count))
        return STATUS_NO_MEMORY;
    if (shard_view(shard, db) == &empty_view && !table_create(shard, db))
        return STATUS_NO_MEMORY;
    return STATUS_OK;
}

void table_insert(struct shard *shard, uint32_t db, uint64_t position, uint64_t hash,
                  struct entry *entry)
{
    struct view *view = shard_view(shard, db);
    chain_insert(shard, view_bucket(view, position), slot_of(hash, entry));
    counter_add(&shard->counts[db].items, 1);
    count_expiring(shard, db, entry, NULL);
    counter_add(&shard->counters.inserted, 1);
}

void table_replace(struct shard *shard, uint32_t db, const struct place *place, uint64_t hash,
                   struct entry *entry)
{
    struct entry *old = slot_entry(slot_load(place->bucket, place->slot));
    slot_store(place->bucket, place->slot, slot_of(hash, entry));
    count_expiring(shard, db, entry, old);
    shard_retire_entry(shard, old);
}

void table_remove(struct shard *shard, uint32_t db, const struct place *place)
{
    struct entry *old = slot_entry(slot_load(place->bucket, place->slot));
    slot_store(place->bucket, place->slot, 0);
    counter_add(&shard->counts[db].items, (uint64_t)-1);
    count_expiring(shard, db, NULL, old);
    counter_add(&shard->counters.deleted, 1);
    /* An overflow bucket that became empty leaves its chain; readers inside it find it empty. */
    if (place->previous != NULL && bucket_is_empty(place->bucket) && shard_retire_ready(shard, 2)) {
        slot_store(place->previous, BUCKET_LINK, 0);
        shard_retire(shard, RETIRED_BUCKET, place->bucket, BUCKET_SIZE);
    }
    shard_retire_entry(shard, old);
}

bool table_locate(const struct shard *shard, const struct entry *entry, struct place *place)
{
    struct bytes key = entry_key(entry);
    uint64_t hash = hash_bytes(key.data, key.size, shard->engine->hash_seed), position;
    shard_of(shard->engine, hash, &position);
    struct view *view = shard_view(shard, shard->db_of[entry_table(entry)]);
    return table_probe(view, position, hash, key, place) == entry;
}

/* ---- resizing */

static uint64_t round_buckets(uint64_t count)
{
    count = (count + PAGE_BUCKETS - 1) / PAGE_BUCKETS * PAGE_BUCKETS;
    return count < BUCKETS_MIN ? BUCKETS_MIN : count;
}

/* The size the table should have, or 0 when it is fine as it is. */
static uint64_t wanted_buckets(uint64_t items, uint64_t bucket_count)
{
    uint64_t slots = bucket_count * BUCKET_SLOTS;
    if (items * 100 > slots * GROW_PERCENT)
        return bucket_count < SEGMENT_BUCKETS ? bucket_count * 2
                                              : round_buckets(bucket_count + bucket_count / 4);
    if (bucket_count > BUCKETS_MIN && items * 100 < slots * SHRINK_PERCENT)
        return round_buckets(items * 100 / (SHRUNK_PERCENT * BUCKET_SLOTS));
    return 0;
}

static bool resize_begin(struct shard *shard, uint32_t db, struct view *view, uint64_t buckets)
{
    struct array *array = array_create(buckets);
    if (array == NULL)
        return false;
    struct view *during = view_create(view->array);
    struct view *after = view_create(array);
    if (during == NULL || after == NULL || !shard_retire_ready(shard, 1)) {
        alloc_free(array);
        alloc_free(during);
        alloc_free(after);
        return false;
    }
    during->next_count = buckets;
    during->next_segments = array->segments;
    during->next_array = array;
    during->successor = after;
    publish_view(shard, db, during);
    shard_retire(shard, RETIRED_BLOCK, view, 0);
    counter_add(&shard->counters.resizes, 1);
    return true;
}

static void prefetch_chain(const struct bucket *bucket)
{
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
        uint64_t slot = slot_load(bucket, i);
        if (slot != 0)
            __builtin_prefetch((const void *)(uintptr_t)(slot & SLOT_POINTER_MASK & ~(uint64_t)1));
    }
}

/* Has the next bucket's entries on their way while this one's are moved. */
static void prefetch_ahead(const struct view *view, uint64_t index)
{
    if (index + 1 < view->bucket_count)
        prefetch_chain(view->segments[(index + 1) >> SEGMENT_SHIFT] +
                       ((index + 1) & (SEGMENT_BUCKETS - 1)));
    if (index + 2 < view->bucket_count)
        __builtin_prefetch(view->segments[(index + 2) >> SEGMENT_SHIFT] +
                           ((index + 2) & (SEGMENT_BUCKETS - 1)));
}

/* Secures all that moving bucket `index` may need, so that it cannot fail half way. */
static bool move_ready(struct shard *shard, struct view *view, uint64_t index)
{
    uint64_t low = index_position(index, view->bucket_count);
    uint64_t high = index + 1 == view->bucket_count
                        ? UINT64_MAX
                        : index_position(index + 1, view->bucket_count) - 1;
    uint64_t first = position_index(low, view->next_count) >> SEGMENT_SHIFT;
    uint64_t last = position_index(high, view->next_count) >> SEGMENT_SHIFT;
    for (uint64_t segment = first; segment <= last; segment++)
        if (!segment_ensure(shard, view->next_array, segment << SEGMENT_SHIFT))
            return false;
    uint32_t chain = 1;
    struct bucket *bucket =
        view->segments[index >> SEGMENT_SHIFT] + (index & (SEGMENT_BUCKETS - 1));
    while (slot_is_link(slot_load(bucket, BUCKET_LINK))) {
        bucket = slot_link(slot_load(bucket, BUCKET_LINK));
        chain++;
    }
    /* The chain may all land in one bucket that is full already. */
    return shard_spares_fill(shard, chain + 2) && shard_retire_ready(shard, chain + 4);
}

static void move_bucket(struct shard *shard, struct view *view, uint64_t index)
{
    struct bucket *head = view->segments[index >> SEGMENT_SHIFT] + (index & (SEGMENT_BUCKETS - 1));
    prefetch_ahead(view, index);
    atomic_store_explicit(&shard->moves, counter_get(&shard->moves) + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (struct bucket *bucket = head; bucket != NULL;) {
        struct bucket *more = NULL;
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
            uint64_t slot = slot_load(bucket, i);
            if (i == BUCKET_LINK && slot_is_link(slot)) {
                more = slot_link(slot);
            } else if (slot != 0) {
                struct bytes key = entry_key(slot_entry(slot));
                uint64_t hash = hash_bytes(key.data, key.size, shard->engine->hash_seed), position;
                shard_of(shard->engine, hash, &position);
                uint64_t target = position_index(position, view->next_count);
                chain_insert(shard,
                             view->next_segments[target >> SEGMENT_SHIFT] +
                                 (target & (SEGMENT_BUCKETS - 1)),
                             slot);
            }
        }
        bucket = more;
    }
    ENGINE_PAUSE(PAUSE_MOVED);
    atomic_store_explicit(&view->frontier,
                          index + 1 == view->bucket_count
                              ? UINT64_MAX
                              : index_position(index + 1, view->bucket_count),
                          memory_order_release);
    for (struct bucket *bucket = head; bucket != NULL;) {
        uint64_t last = slot_load(bucket, BUCKET_LINK);
        struct bucket *more = slot_is_link(last) ? slot_link(last) : NULL;
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
            slot_store(bucket, i, 0);
        if (bucket != head)
            shard_retire(shard, RETIRED_BUCKET, bucket, BUCKET_SIZE);
        bucket = more;
    }
    atomic_store_explicit(&shard->moves, counter_get(&shard->moves) + 1, memory_order_release);
}

static void resize_end(struct shard *shard, uint32_t db, struct view *view)
{
    /* What the last moves left behind; move_ready kept room in the ring for these. */
    publish_view(shard, db, view->successor);
    shard_retire(shard, RETIRED_BLOCK, view->array, 0);
    shard_retire(shard, RETIRED_BLOCK, view, 0);
}

/* How many buckets should have moved by now. A large table grows no faster than twice what the
 * entries ask for: new slabs then take the pages its old segments leave, which would lie idle at
 * the end of a resize that ran ahead. */
static uint64_t buckets_due(const struct view *view, uint64_t items)
{
    uint64_t slots = view->bucket_count * BUCKET_SLOTS;
    if (view->next_count < view->bucket_count || view->bucket_count < PACED_BUCKETS ||
        items * 100 < slots * SHRINK_PERCENT)
        return view->bucket_count;
    uint64_t filled = items * 100 / (GROW_PERCENT * BUCKET_SLOTS);
    uint64_t due = filled > view->bucket_count ? (filled - view->bucket_count) * PACE : 0;
    return due < view->bucket_count ? due : view->bucket_count;
}

bool table_step(struct shard *shard, uint32_t db, uint32_t count)
{
    struct view *view = shard_view(shard, db);
    if (view == &empty_view)
        return false;
    if (view->next_count == 0) {
        uint64_t buckets = wanted_buckets(items_of(shard, db), view->bucket_count);
        if (buckets == 0 || buckets == view->bucket_count ||
            !resize_begin(shard, db, view, buckets))
            return false;
        return true;
    }
    uint64_t due = buckets_due(view, items_of(shard, db));
    for (; count > 0 && view->moved < due; count--) {
        uint64_t index = view->moved;
        if (!move_ready(shard, view, index))
            return false;
        move_bucket(shard, view, index);
        view->moved++;
        if ((view->moved & (SEGMENT_BUCKETS - 1)) == 0 || view->moved == view->bucket_count)
            segment_drop(shard, view->array, index >> SEGMENT_SHIFT, true);
        if (view->moved == view->bucket_count) {
            resize_end(shard, db, view);
            return false;
        }
    }
    return view->moved < due;
}

/* ---- whole tables */

static void counter_swap(_Atomic uint64_t *a, _Atomic uint64_t *b)
{
    uint64_t value = counter_get(a);
    atomic_store_explicit(a, counter_get(b), memory_order_relaxed);
    atomic_store_explicit(b, value, memory_order_relaxed);
}

void table_swap(struct shard *shard, uint32_t db_a, uint32_t db_b)
{
    struct view *view = shard_view(shard, db_a);
    publish_view(shard, db_a, shard_view(shard, db_b));
    publish_view(shard, db_b, view);
    counter_swap(&shard->counts[db_a].items, &shard->counts[db_b].items);
    counter_swap(&shard->counts[db_a].expiring, &shard->counts[db_b].expiring);
    uint8_t table = shard->table_of[db_a];
    shard->table_of[db_a] = shard->table_of[db_b];
    shard->table_of[db_b] = table;
    shard->db_of[shard->table_of[db_a]] = (uint8_t)db_a;
    shard->db_of[shard->table_of[db_b]] = (uint8_t)db_b;
}

void table_flush(struct shard *shard, uint32_t db)
{
    struct view *view = shard_view(shard, db);
    if (view == &empty_view)
        return;
    publish_view(shard, db, &empty_view);
    counter_add(&shard->counters.deleted, items_of(shard, db));
    atomic_store_explicit(&shard->counts[db].items, 0, memory_order_relaxed);
    atomic_store_explicit(&shard->counts[db].expiring, 0, memory_order_relaxed);
    view->dead_epoch = atomic_load_explicit(&shard->engine->epoch.global, memory_order_relaxed);
    view->dead_next = NULL;
    /* What a resize has moved already left empty buckets, and whole segments are gone. */
    view->walked = view->moved & ~(uint64_t)(SEGMENT_BUCKETS - 1);
    struct view **last = &shard->dead; /* oldest first: what follows an unsafe one is unsafe too */
    while (*last != NULL)
        last = &(*last)->dead_next;
    *last = view;
}

/* Frees a bucket's entries and its overflow buckets at once: nobody sees them any more. */
static void bury_bucket(struct shard *shard, struct bucket *head)
{
    for (struct bucket *bucket = head; bucket != NULL;) {
        struct bucket *more = NULL;
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
            uint64_t slot = slot_load(bucket, i);
            if (i == BUCKET_LINK && slot_is_link(slot))
                more = slot_link(slot);
            else if (slot != 0)
                entry_free(shard, slot_entry(slot));
        }
        if (bucket != head)
            slab_put(&shard->heap, bucket);
        bucket = more;
    }
}

/* Goes through the array from `*walked`; true when all of it is done. */
static bool bury_array(struct shard *shard, struct array *array, uint64_t *walked, uint32_t *count)
{
    for (; *walked<array->bucket_count && * count> 0; (*count)--, (*walked)++) {
        struct bucket *segment = array->segments[*walked >> SEGMENT_SHIFT];
        if (segment == NULL) {
            *walked = (*walked | (SEGMENT_BUCKETS - 1));
            continue;
        }
        uint64_t within = *walked & (SEGMENT_BUCKETS - 1);
        bury_bucket(shard, segment + within);
        if (within == SEGMENT_BUCKETS - 1 || *walked + 1 == array->bucket_count)
            segment_drop(shard, array, *walked >> SEGMENT_SHIFT, false);
    }
    return *walked >= array->bucket_count;
}

bool table_bury(struct shard *shard, uint32_t count)
{
    while (shard->dead != NULL && count > 0) {
        struct view *view = shard->dead;
        if (!epoch_safe(&shard->engine->epoch, view->dead_epoch))
            return false;
        if (view->array != NULL) {
            if (!bury_array(shard, view->array, &view->walked, &count))
                return true;
            alloc_free(view->array);
            view->array = NULL;
            view->walked = 0;
        }
        if (view->next_array != NULL) {
            if (!bury_array(shard, view->next_array, &view->walked, &count))
                return true;
            alloc_free(view->next_array);
        }
        shard->dead = view->dead_next;
        alloc_free(view->successor);
        alloc_free(view);
    }
    return shard->dead != NULL;
}

void table_destroy_all(struct shard *shard)
{
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        table_flush(shard, db);
    for (struct view *view = shard->dead; view != NULL; view = view->dead_next)
        view->dead_epoch = 0;
    atomic_fetch_add_explicit(&shard->engine->epoch.global, 3, memory_order_relaxed);
    while (table_bury(shard, UINT32_MAX))
        ;
}
