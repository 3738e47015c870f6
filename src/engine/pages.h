/* SPDX-License-Identifier: MIT
 *
 * Where all memory of the data comes from: runs of 4 KB pages out of 2 MB chunks.
 *
 * Slabs, table segments and big values are runs. A chunk's first page describes the chunk, so any
 * address inside one leads to its run (pages_run_of). The mapper populates chunks ahead of need
 * with huge pages; a worker that finds none ready maps one itself and takes small faults as it
 * goes, since the fault of a huge page takes milliseconds. Only whole chunks go back to the system.
 *
 * Threads: one lock inside; every function may be called from any thread. The limit counts what is
 * handed out; reserve and slack are outside of it.
 */
#ifndef LARDER_ENGINE_PAGES_H
#define LARDER_ENGINE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/limit.h"
#include "os/thread.h"

enum {
    PAGE_SIZE = 4096,
    CHUNK_SIZE = 2 * 1024 * 1024,
    CHUNK_PAGES = CHUNK_SIZE / PAGE_SIZE,
    PAGES_RUN_MAX = CHUNK_PAGES - 1, /* larger runs get a mapping of their own */
};

struct chunk {
    uint64_t free[CHUNK_PAGES / 64]; /* one bit per free page */
    uint32_t free_count;
    uint32_t index;                  /* in pages.chunks */
    uint32_t fresh_from;             /* unused from here on since it was populated or empty */
    uint16_t run_start[CHUNK_PAGES]; /* of the run that holds this page: its first page */
};

struct pages {
    struct lock lock;
    struct chunk **chunks;
    uint16_t *longest; /* per chunk: no free run is longer than this */
    uint32_t chunk_count, chunk_room;
    uint32_t search_from;           /* no chunk before this one has a free page */
    _Atomic uint64_t used_bytes;    /* handed out, large mappings included */
    _Atomic uint64_t free_pages;    /* in chunks: the reserve, and what others have left */
    _Atomic uint64_t fresh_pages;   /* the reserve: see chunk.fresh_from */
    _Atomic uint64_t limit_bytes;   /* 0: none */
    struct signal_flag *low;        /* raised when the reserve runs low; may be NULL */
    _Atomic uint64_t reserve_pages; /* fresh pages wanted */
    int64_t planned_ms;             /* last plan, and what was used then; the mapper's own */
    uint64_t planned_used_bytes;
};

void pages_init(struct pages *pages, uint64_t limit_bytes, struct signal_flag *low);
/* Unmaps all chunks, whatever is handed out. */
void pages_deinit(struct pages *pages);

/* `count` pages in a row, content undefined; NULL when the limit or the system refuses. Runs of
 * more than PAGES_RUN_MAX are a mapping of their own. */
void *pages_get(struct pages *pages, size_t count, enum limit limit);
/* Unmapping a large run takes long: leave it to the mapper. */
void pages_put(struct pages *pages, void *run, size_t count);
/* The start of the run (at most PAGES_RUN_MAX pages) that `address` lies in. */
static inline void *pages_run_of(const void *address)
{
    char *base = (char *)((uintptr_t)address & ~(uintptr_t)(CHUNK_SIZE - 1));
    size_t page = ((uintptr_t)address & (CHUNK_SIZE - 1)) / PAGE_SIZE;
    return base + (size_t)((struct chunk *)base)->run_start[page] * PAGE_SIZE;
}

/* True when `bytes` more would exceed the limit. */
bool pages_over(const struct pages *pages, uint64_t bytes);

/* Decides how much to have ready: a little, plus half of what the last tenth of a second took. */
void pages_plan(struct pages *pages, int64_t now_ms);
/* One step towards the plan: maps and populates a chunk (milliseconds), or unmaps a spare one. True
 * when another step is due. For the mapper. */
bool pages_balance(struct pages *pages);

#endif
