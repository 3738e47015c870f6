/* SPDX-License-Identifier: MIT */
#include "engine/slab.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ensure.h"
#include "engine/poison.h"

/* 34 slabs of 15 pages fill a chunk but for its own page and one more. */
enum { STEP = 8, LINEAR_MAX = 256, SLAB_PAGES_MIN = 15, SLAB_PAGES_MAX = 120 };

struct slab_class {
    uint32_t object_size;
    uint32_t objects_offset;
    uint16_t object_count;
    uint16_t page_count;
};

static struct slab_class classes[SLAB_CLASSES_MAX];
static uint16_t class_of_step[SLAB_OBJECT_MAX / STEP + 1]; /* size in steps, rounded up -> class */

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Fits objects into `pages` pages; returns the bytes that serve nobody. */
static size_t class_fit(struct slab_class *class, uint32_t object_size, uint32_t pages)
{
    size_t size = (size_t)pages * PAGE_SIZE, unit = object_size == 64 ? 64 : STEP;
    size_t count = (size - sizeof(struct slab)) / (object_size + sizeof(uint16_t));
    while (round_up(sizeof(struct slab) + count * sizeof(uint16_t), unit) + count * object_size >
           size)
        count--;
    class->object_size = object_size;
    class->object_count = (uint16_t)count;
    class->page_count = (uint16_t)pages;
    class->objects_offset =
        (uint32_t)round_up(sizeof(struct slab) + count * sizeof(uint16_t), unit);
    return size - class->objects_offset - count * object_size;
}

void slab_classes_init(void)
{
    uint32_t count = 0, step = 0;
    for (uint32_t size = STEP; step <= SLAB_OBJECT_MAX / STEP; count++) {
        struct slab_class *class = &classes[count];
        for (uint32_t pages = SLAB_PAGES_MIN; pages <= SLAB_PAGES_MAX; pages *= 2)
            if (class_fit(class, size, pages) <= (size_t)pages * PAGE_SIZE / 100)
                break;
        for (; step <= size / STEP && step <= SLAB_OBJECT_MAX / STEP; step++)
            class_of_step[step] = (uint16_t)count;
        uint32_t next = size < LINEAR_MAX ? size + STEP : size * 51 / 50 / STEP * STEP;
        size = next > size ? next : size + STEP;
    }
    ENSURE(count <= SLAB_CLASSES_MAX);
}

static uint32_t class_of(size_t size)
{
    return class_of_step[(size + STEP - 1) / STEP];
}

void slab_heap_init(struct slab_heap *heap, struct pages *pages)
{
    memset(heap, 0, sizeof *heap);
    heap->pages = pages;
}

void slab_heap_deinit(struct slab_heap *heap)
{
    alloc_free(heap->slabs);
}

static void count_live(struct slab_heap *heap, uint64_t delta)
{
    atomic_store_explicit(&heap->live_bytes,
                          atomic_load_explicit(&heap->live_bytes, memory_order_relaxed) + delta,
                          memory_order_relaxed);
}

static void link_slab(struct slab_heap *heap, struct slab *slab)
{
    struct slab **head = &heap->with_room[slab->class_index];
    slab->previous = NULL;
    slab->next = *head;
    if (*head != NULL)
        (*head)->previous = slab;
    *head = slab;
}

static void unlink_slab(struct slab_heap *heap, struct slab *slab)
{
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        heap->with_room[slab->class_index] = slab->next;
    if (slab->next != NULL)
        slab->next->previous = slab->previous;
}

static struct slab *add_slab(struct slab_heap *heap, uint32_t class_index, enum limit limit)
{
    const struct slab_class *class = &classes[class_index];
    if (heap->slab_count == heap->slab_room) {
        uint32_t room = heap->slab_room != 0 ? heap->slab_room * 2 : 16;
        struct slab_record *slabs = alloc_resize(heap->slabs, room * sizeof *slabs);
        if (slabs == NULL)
            return NULL;
        heap->slabs = slabs;
        heap->slab_room = room;
    }
    struct slab *slab = pages_get(heap->pages, class->page_count, limit);
    if (slab == NULL)
        return NULL;
    memset(slab, 0, sizeof *slab + class->object_count * sizeof slab->due[0]);
    slab->object_size = class->object_size;
    slab->objects_offset = class->objects_offset;
    slab->reciprocal = (uint32_t)(((uint64_t)1 << 32) / class->object_size + 1);
    slab->class_index = (uint16_t)class_index;
    slab->page_count = class->page_count;
    slab->object_count = class->object_count;
    slab->index = heap->slab_count;
    heap->slabs[heap->slab_count++] = (struct slab_record){.slab = slab};
    poison((char *)slab + slab->objects_offset,
           (size_t)slab->page_count * PAGE_SIZE - slab->objects_offset);
    link_slab(heap, slab);
    return slab;
}

static void remove_slab(struct slab_heap *heap, struct slab *slab)
{
    unlink_slab(heap, slab);
    struct slab_record last = heap->slabs[--heap->slab_count];
    heap->slabs[slab->index] = last;
    last.slab->index = slab->index;
    pages_put(heap->pages, slab, slab->page_count);
}

void *slab_get(struct slab_heap *heap, size_t size, enum limit limit)
{
    if (alloc_fault_now())
        return NULL;
    uint32_t class_index = class_of(size);
    if (heap->parked_count[class_index] > 0) {
        void *parked = heap->parked[class_index][--heap->parked_count[class_index]];
        count_live(heap, classes[class_index].object_size);
        unpoison(parked, classes[class_index].object_size);
        return parked;
    }
    struct slab *slab = heap->with_room[class_index];
    if (slab == NULL) {
        slab = add_slab(heap, class_index, limit);
        if (slab == NULL)
            return NULL;
    }
    void *object = slab->free;
    if (object != NULL) {
        unpoison(object, slab->object_size);
        memcpy(&slab->free, object, sizeof slab->free);
        __builtin_prefetch(slab->free, 1); /* the next call reads it */
    } else {
        object = slab_object(slab, slab->fresh_count++);
        unpoison(object, slab->object_size);
    }
    if (++slab->used_count == slab->object_count)
        unlink_slab(heap, slab);
    count_live(heap, slab->object_size);
    return object;
}

/* Takes an object that is no longer counted as live into its slab. */
static void give_back(struct slab_heap *heap, struct slab *slab, void *object)
{
    memcpy(object, &slab->free, sizeof slab->free);
    slab->free = object;
    poison(object, slab->object_size);
    if (slab->used_count-- == slab->object_count)
        link_slab(heap, slab);
    /* An empty slab goes back unless it is the only one with room: the next object would fetch it
     * again. */
    else if (slab->used_count == 0 && (slab->next != NULL || slab->previous != NULL))
        remove_slab(heap, slab);
}

void slab_put(struct slab_heap *heap, void *object)
{
    struct slab *slab = slab_of(object);
    if (heap->slabs[slab->index].due_count != 0)
        slab_due_clear(heap, slab, slab_object_index(slab, object));
    count_live(heap, -(uint64_t)slab->object_size);
    give_back(heap, slab, object);
}

void slab_park(struct slab_heap *heap, void *object, size_t size)
{
    uint32_t class_index = class_of(size);
    if (heap->parked_count[class_index] == SLAB_PARKED_MAX) {
        slab_put(heap, object);
        return;
    }
    assert(slab_of(object)->class_index == class_index);
    heap->parked[class_index][heap->parked_count[class_index]++] = object;
    heap->parked_lately = true;
    count_live(heap, -(uint64_t)classes[class_index].object_size);
    poison(object, classes[class_index].object_size);
    /* It is written soon, and its lines may not have been seen for long. */
    enum { PREFETCH_MAX = 1024 };
    for (size_t at = 0; at < size && at < PREFETCH_MAX; at += 64)
        __builtin_prefetch((char *)object + at, 1);
}

void slab_heap_settle(struct slab_heap *heap)
{
    bool quiet = !heap->parked_lately;
    heap->parked_lately = false;
    for (uint32_t i = 0; quiet && i < SLAB_CLASSES_MAX; i++)
        while (heap->parked_count[i] > 0) {
            void *object = heap->parked[i][--heap->parked_count[i]];
            unpoison(object, classes[i].object_size);
            give_back(heap, slab_of(object), object);
        }
}

size_t slab_object_size(const void *object)
{
    return slab_of(object)->object_size;
}

void slab_due_set(struct slab_heap *heap, struct slab *slab, uint32_t index, uint16_t due)
{
    struct slab_record *record = &heap->slabs[slab->index];
    if (record->due_count == 0 || due == DUE_ORPHAN || due_before(due, record->due_first))
        record->due_first = due;
    record->due_count += slab->due[index] == DUE_NEVER;
    slab->due[index] = due;
}

void slab_due_clear(struct slab_heap *heap, struct slab *slab, uint32_t index)
{
    heap->slabs[slab->index].due_count -= slab->due[index] != DUE_NEVER;
    slab->due[index] = DUE_NEVER;
}
