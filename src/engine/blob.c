/* SPDX-License-Identifier: MIT */
#include "engine/blob.h"

#include <stdatomic.h>
#include <stdint.h>

#include "engine/shard.h"

enum { BLOB_HEADER_SIZE = 64 };

struct blob {
    struct engine *engine;
    _Atomic uint32_t holders;
    size_t size;
    size_t page_count;
    struct blob *next; /* among the dead that the mapper will unmap */
};

_Static_assert(sizeof(struct blob) <= BLOB_HEADER_SIZE, "content begins behind the header");

static void free_blob(struct engine *engine, struct blob *blob)
{
    atomic_fetch_sub_explicit(&engine->blob_bytes, blob_footprint(blob), memory_order_relaxed);
    pages_put(&engine->pages, blob, blob->page_count);
}

struct blob *blob_create(struct engine *engine, size_t size, enum limit limit)
{
    size_t page_count = (BLOB_HEADER_SIZE + size + PAGE_SIZE - 1) / PAGE_SIZE;
    struct blob *blob = pages_get(&engine->pages, page_count, limit);
    if (blob == NULL)
        return NULL;
    blob->engine = engine;
    atomic_init(&blob->holders, 1);
    blob->size = size;
    blob->page_count = page_count;
    atomic_fetch_add_explicit(&engine->blob_bytes, blob_footprint(blob), memory_order_relaxed);
    return blob;
}

char *blob_data(struct blob *blob)
{
    return (char *)blob + BLOB_HEADER_SIZE;
}

size_t blob_size(const struct blob *blob)
{
    return blob->size;
}

size_t blob_footprint(const struct blob *blob)
{
    return blob->page_count * PAGE_SIZE;
}

uint32_t blob_holder_count(const struct blob *blob)
{
    return atomic_load_explicit(&blob->holders, memory_order_acquire);
}

bool blob_is_shared(const struct blob *blob)
{
    return blob_holder_count(blob) > 1;
}

void blob_hold(struct blob *blob)
{
    atomic_fetch_add_explicit(&blob->holders, 1, memory_order_relaxed);
}

void blob_release(struct blob *blob)
{
    if (atomic_fetch_sub_explicit(&blob->holders, 1, memory_order_acq_rel) != 1)
        return;
    struct engine *engine = blob->engine;
    if (blob->page_count <= PAGES_RUN_MAX) {
        free_blob(engine, blob);
        return;
    }
    blob->next = atomic_load_explicit(&engine->dead_blobs, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&engine->dead_blobs, &blob->next, blob,
                                                  memory_order_release, memory_order_relaxed))
        ;
    signal_raise(&engine->wake_mapper);
}

bool blob_bury(struct engine *engine)
{
    struct blob *blob = atomic_exchange_explicit(&engine->dead_blobs, NULL, memory_order_acquire);
    bool any = blob != NULL;
    while (blob != NULL) {
        struct blob *next = blob->next;
        free_blob(engine, blob);
        blob = next;
    }
    return any;
}
