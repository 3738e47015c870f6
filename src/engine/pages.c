/* SPDX-License-Identifier: MIT */
#include "engine/pages.h"

#include "base/alloc.h"
#include "engine/poison.h"
#include "os/memory.h"

_Static_assert(sizeof(struct chunk) <= PAGE_SIZE, "the description fits the chunk's first page");

/* The reserve: a quarter of a megabyte at rest, up to 16 MB while memory is being taken fast. */
enum {
    RESERVE_PAGES_MIN = 64,
    RESERVE_PAGES_MAX = 4096,
    FRESH_PAGES_MIN = 15, /* no slab has fewer */
    PLAN_MS = 100,
};

void pages_init(struct pages *pages, uint64_t limit_bytes, struct signal_flag *low)
{
    *pages = (struct pages){.low = low};
    atomic_init(&pages->limit_bytes, limit_bytes);
    atomic_init(&pages->reserve_pages, RESERVE_PAGES_MIN);
}

void pages_deinit(struct pages *pages)
{
    for (uint32_t i = 0; i < pages->chunk_count; i++) {
        unpoison(pages->chunks[i], CHUNK_SIZE);
        os_unmap(pages->chunks[i], CHUNK_SIZE);
    }
    alloc_free(pages->chunks);
    alloc_free(pages->longest);
}

/* Finds `count` free pages in a row; sets `longest` to the longest run seen. CHUNK_PAGES: none. */
static uint32_t chunk_search(const struct chunk *chunk, uint32_t count, uint16_t *longest)
{
    uint32_t best = 0;
    for (uint32_t page = 1; page < CHUNK_PAGES;) {
        uint64_t word = chunk->free[page / 64] >> (page % 64);
        if (word == 0) {
            page = (page | 63) + 1;
            continue;
        }
        page += (uint32_t)__builtin_ctzll(word);
        uint32_t end = page;
        while (end < CHUNK_PAGES) {
            uint64_t used = ~chunk->free[end / 64] >> (end % 64);
            if (used != 0) {
                end += (uint32_t)__builtin_ctzll(used);
                break;
            }
            end = (end | 63) + 1;
        }
        if (end - page >= count)
            return page;
        if (end - page > best)
            best = end - page;
        page = end;
    }
    *longest = (uint16_t)best;
    return CHUNK_PAGES;
}

static void chunk_set(struct chunk *chunk, uint32_t first, uint32_t count, bool is_free)
{
    for (uint32_t page = first; page < first + count; page++) {
        uint64_t bit = (uint64_t)1 << (page % 64);
        if (is_free)
            chunk->free[page / 64] |= bit;
        else
            chunk->free[page / 64] &= ~bit;
    }
    if (is_free)
        chunk->free_count += count;
    else
        chunk->free_count -= count;
}

/* Pages of `chunk` from this one on are fresh; a tail too short for a slab counts for nothing.
 * Called with the lock. */
static void set_fresh(struct pages *pages, struct chunk *chunk, uint32_t from)
{
    if (from > CHUNK_PAGES - FRESH_PAGES_MIN)
        from = CHUNK_PAGES;
    atomic_fetch_add_explicit(&pages->fresh_pages, (uint64_t)chunk->fresh_from - from,
                              memory_order_relaxed);
    chunk->fresh_from = from;
}

/* Adds a mapped chunk. Called with the lock. */
static bool chunk_add(struct pages *pages, struct chunk *chunk, bool populated)
{
    if (pages->chunk_count == pages->chunk_room) {
        uint32_t room = pages->chunk_room != 0 ? pages->chunk_room * 2 : 64;
        struct chunk **chunks = alloc_resize(pages->chunks, room * sizeof *chunks);
        if (chunks == NULL)
            return false;
        pages->chunks = chunks;
        uint16_t *longest = alloc_resize(pages->longest, room * sizeof *longest);
        if (longest == NULL)
            return false;
        pages->longest = longest;
        pages->chunk_room = room;
    }
    chunk->index = pages->chunk_count;
    chunk->free_count = 0;
    chunk->fresh_from = CHUNK_PAGES;
    chunk_set(chunk, 1, PAGES_RUN_MAX, true);
    if (populated)
        set_fresh(pages, chunk, 1);
    poison((char *)chunk + PAGE_SIZE, CHUNK_SIZE - PAGE_SIZE);
    pages->chunks[pages->chunk_count] = chunk;
    pages->longest[pages->chunk_count] = PAGES_RUN_MAX;
    pages->chunk_count++;
    atomic_fetch_add_explicit(&pages->free_pages, PAGES_RUN_MAX, memory_order_relaxed);
    return true;
}

/* Takes a run out of some chunk. Called with the lock. */
static void *take_run(struct pages *pages, uint32_t count)
{
    while (pages->search_from < pages->chunk_count && pages->longest[pages->search_from] == 0)
        pages->search_from++;
    for (uint32_t i = pages->search_from; i < pages->chunk_count; i++) {
        if (pages->longest[i] < count)
            continue;
        struct chunk *chunk = pages->chunks[i];
        uint32_t first = chunk_search(chunk, count, &pages->longest[i]);
        if (first == CHUNK_PAGES)
            continue;
        chunk_set(chunk, first, count, false);
        if (first + count > chunk->fresh_from)
            set_fresh(pages, chunk, first + count);
        if (chunk->free_count == 0)
            pages->longest[i] = 0;
        for (uint32_t page = first; page < first + count; page++)
            chunk->run_start[page] = (uint16_t)first;
        atomic_fetch_sub_explicit(&pages->free_pages, count, memory_order_relaxed);
        return (char *)chunk + (size_t)first * PAGE_SIZE;
    }
    return NULL;
}

bool pages_over(const struct pages *pages, uint64_t bytes)
{
    uint64_t limit = atomic_load_explicit(&pages->limit_bytes, memory_order_relaxed);
    return limit != 0 &&
           atomic_load_explicit(&pages->used_bytes, memory_order_relaxed) + bytes > limit;
}

void *pages_get(struct pages *pages, size_t count, enum limit limit)
{
    size_t size = count * PAGE_SIZE;
    if ((limit == LIMIT_HOLDS && pages_over(pages, size)) || alloc_fault_now())
        return NULL;
    void *run;
    if (count > PAGES_RUN_MAX) {
        run = os_map(size, PAGE_SIZE);
    } else {
        lock_acquire(&pages->lock);
        run = take_run(pages, (uint32_t)count);
        if (run == NULL) {
            struct chunk *chunk = os_map(CHUNK_SIZE, CHUNK_SIZE);
            if (chunk != NULL && !chunk_add(pages, chunk, false))
                os_unmap(chunk, CHUNK_SIZE);
            run = take_run(pages, (uint32_t)count);
        }
        lock_release(&pages->lock);
        if (run != NULL)
            unpoison(run, size);
        if (pages->low != NULL &&
            atomic_load_explicit(&pages->fresh_pages, memory_order_relaxed) <
                atomic_load_explicit(&pages->reserve_pages, memory_order_relaxed) / 2)
            signal_raise(pages->low);
    }
    if (run != NULL)
        atomic_fetch_add_explicit(&pages->used_bytes, size, memory_order_relaxed);
    return run;
}

void pages_put(struct pages *pages, void *run, size_t count)
{
    size_t size = count * PAGE_SIZE;
    atomic_fetch_sub_explicit(&pages->used_bytes, size, memory_order_relaxed);
    if (count > PAGES_RUN_MAX) {
        os_unmap(run, size);
        return;
    }
    poison(run, size);
    struct chunk *chunk = (struct chunk *)((uintptr_t)run & ~(uintptr_t)(CHUNK_SIZE - 1));
    uint32_t first = (uint32_t)((char *)run - (char *)chunk) / PAGE_SIZE;
    lock_acquire(&pages->lock);
    chunk_set(chunk, first, (uint32_t)count, true);
    /* The freed run may have joined its neighbours: only an upper bound is known. */
    pages->longest[chunk->index] = (uint16_t)chunk->free_count;
    if (chunk->index < pages->search_from)
        pages->search_from = chunk->index;
    if (chunk->free_count == PAGES_RUN_MAX)
        set_fresh(pages, chunk, 1);
    atomic_fetch_add_explicit(&pages->free_pages, count, memory_order_relaxed);
    lock_release(&pages->lock);
}

/* Removes and returns a wholly free chunk, the last one of them, or NULL. Called with the lock. */
static struct chunk *remove_free_chunk(struct pages *pages)
{
    for (uint32_t i = pages->chunk_count; i-- > 0;) {
        struct chunk *chunk = pages->chunks[i];
        if (chunk->free_count != PAGES_RUN_MAX)
            continue;
        set_fresh(pages, chunk, CHUNK_PAGES);
        uint32_t last = --pages->chunk_count;
        pages->chunks[i] = pages->chunks[last];
        pages->chunks[i]->index = i;
        pages->longest[i] = pages->longest[last];
        if (pages->search_from > i)
            pages->search_from = i;
        atomic_fetch_sub_explicit(&pages->free_pages, PAGES_RUN_MAX, memory_order_relaxed);
        return chunk;
    }
    return NULL;
}

void pages_plan(struct pages *pages, int64_t now_ms)
{
    if (now_ms < pages->planned_ms + PLAN_MS)
        return;
    uint64_t used_bytes = atomic_load_explicit(&pages->used_bytes, memory_order_relaxed);
    uint64_t wanted = RESERVE_PAGES_MIN;
    if (used_bytes > pages->planned_used_bytes)
        wanted += (used_bytes - pages->planned_used_bytes) / 2 / PAGE_SIZE;
    if (wanted > RESERVE_PAGES_MAX)
        wanted = RESERVE_PAGES_MAX;
    atomic_store_explicit(&pages->reserve_pages, wanted, memory_order_relaxed);
    pages->planned_ms = now_ms;
    pages->planned_used_bytes = used_bytes;
}

bool pages_balance(struct pages *pages)
{
    uint64_t wanted = atomic_load_explicit(&pages->reserve_pages, memory_order_relaxed);
    uint64_t spare = atomic_load_explicit(&pages->fresh_pages, memory_order_relaxed);
    if (spare < wanted && !pages_over(pages, (uint64_t)spare * PAGE_SIZE)) {
        struct chunk *chunk = os_map(CHUNK_SIZE, CHUNK_SIZE);
        if (chunk == NULL)
            return false;
        os_populate(chunk, CHUNK_SIZE, true);
        lock_acquire(&pages->lock);
        bool added = chunk_add(pages, chunk, true);
        lock_release(&pages->lock);
        if (!added)
            os_unmap(chunk, CHUNK_SIZE);
        return added && spare + PAGES_RUN_MAX < wanted;
    }
    if (spare > wanted + CHUNK_PAGES) {
        lock_acquire(&pages->lock);
        struct chunk *chunk = remove_free_chunk(pages);
        lock_release(&pages->lock);
        if (chunk == NULL)
            return false;
        unpoison(chunk, CHUNK_SIZE);
        os_unmap(chunk, CHUNK_SIZE);
        return true;
    }
    return false;
}
