/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include "base/alloc.h"
#include "engine/keeper.h"
#include "engine/shard.h"
#include "engine/table.h"
#include "os/random.h"

/* A few shards per worker keep writers apart; each brings slabs of its own that are filled in part,
 * so there are no more than leave each SHARD_BYTES_MIN of the limit, and one where there is nobody
 * to keep apart (docs/decisions/007). */
enum { SHARDS_PER_WORKER = 4, SHARD_BYTES_MIN = 32 * 1024 * 1024 };

static uint32_t choose_shards(const struct engine_config *config)
{
    uint64_t count = config->shards;
    if (count == 0) {
        count = config->workers > 1 ? (uint64_t)config->workers * SHARDS_PER_WORKER : 1;
        uint64_t most = config->memory_max_bytes / SHARD_BYTES_MIN;
        if (config->memory_max_bytes != 0 && count > most)
            count = most;
    }
    if (count > ENGINE_SHARDS_MAX)
        count = ENGINE_SHARDS_MAX;
    return count != 0 ? (uint32_t)count : 1;
}

enum status engine_create(const struct engine_config *config, struct engine **out)
{
    struct engine *engine = alloc_aligned(64, sizeof *engine);
    if (engine == NULL)
        return STATUS_NO_MEMORY;
    memset(engine, 0, sizeof *engine);
    slab_classes_init();
    epoch_init(&engine->epoch);
    epoch_add(&engine->epoch, &engine->keeper_thread.record);
    engine->hash_seed = config->hash_seed != 0 ? config->hash_seed : random_seed();
    engine->start_ms = config->start_ms;
    pages_init(&engine->pages, config->memory_max_bytes, &engine->wake_mapper);
    uint32_t shard_count = choose_shards(config);
    enum status status = STATUS_NO_MEMORY;
    engine->shards = alloc_aligned(64, shard_count * sizeof *engine->shards);
    if (engine->shards == NULL)
        goto fail;
    memset(engine->shards, 0, shard_count * sizeof *engine->shards);
    for (; engine->shard_count < shard_count; engine->shard_count++)
        if (shard_init(&engine->shards[engine->shard_count], engine) != STATUS_OK)
            goto fail;
    if (config->background) {
        status = keeper_start(engine);
        if (status != STATUS_OK)
            goto fail;
    }
    *out = engine;
    return STATUS_OK;
fail:
    engine_destroy(engine);
    return status;
}

void engine_destroy(struct engine *engine)
{
    keeper_stop(engine);
    for (uint32_t i = 0; i < engine->shard_count; i++)
        shard_deinit(&engine->shards[i]);
    blob_bury(engine);
    pages_deinit(&engine->pages);
    alloc_free(engine->shards);
    struct epoch_record *record =
        atomic_load_explicit(&engine->epoch.records, memory_order_relaxed);
    while (record != NULL) {
        struct epoch_record *next = record->next;
        if (record != &engine->keeper_thread.record)
            alloc_free(record); /* the first member of struct engine_thread */
        record = next;
    }
    alloc_free(engine);
}

/* ---- threads */

enum status engine_thread_register(struct engine *engine, struct engine_thread **out)
{
    lock_acquire(&engine->threads_lock);
    struct epoch_record *record =
        atomic_load_explicit(&engine->epoch.records, memory_order_acquire);
    while (record != NULL && atomic_load_explicit(&record->taken, memory_order_relaxed))
        record = record->next;
    struct engine_thread *thread = (struct engine_thread *)record;
    if (thread == NULL) {
        thread = alloc_aligned(64, sizeof *thread);
        if (thread != NULL) {
            memset(thread, 0, sizeof *thread);
            thread->engine = engine;
            thread->random = random_seed();
            epoch_add(&engine->epoch, &thread->record);
        }
    } else {
        atomic_store_explicit(&record->taken, true, memory_order_relaxed);
    }
    lock_release(&engine->threads_lock);
    *out = thread;
    return thread != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

void engine_thread_unregister(struct engine_thread *thread)
{
    engine_thread_offline(thread);
    lock_acquire(&thread->engine->threads_lock);
    atomic_store_explicit(&thread->record.taken, false, memory_order_relaxed);
    lock_release(&thread->engine->threads_lock);
}

void engine_thread_online(struct engine_thread *thread)
{
    enum { ADVANCE_EVERY = 4 };
    epoch_online(&thread->engine->epoch, &thread->record);
    if (++thread->ticks % ADVANCE_EVERY == 0)
        epoch_advance(&thread->engine->epoch);
}

void engine_thread_offline(struct engine_thread *thread)
{
    epoch_offline(&thread->record);
}

/* ---- whole keyspace */

uint64_t engine_hash_seed(const struct engine *engine)
{
    return engine->hash_seed;
}

uint32_t engine_shard_count(const struct engine *engine)
{
    return engine->shard_count;
}

void engine_memory_max_set(struct engine *engine, uint64_t bytes)
{
    atomic_store_explicit(&engine->pages.limit_bytes, bytes, memory_order_relaxed);
}

uint64_t engine_memory_max(const struct engine *engine)
{
    return counter_get(&engine->pages.limit_bytes);
}

void engine_active_expiry_set(struct engine *engine, bool on)
{
    atomic_store_explicit(&engine->expiry_off, !on, memory_order_relaxed);
}

enum status engine_reserve(struct engine *engine, uint64_t bytes)
{
    return pages_over(&engine->pages, bytes) ? STATUS_NO_MEMORY : STATUS_OK;
}

void engine_db_stats(const struct engine *engine, uint32_t db, uint64_t *keys, uint64_t *expiring)
{
    *keys = *expiring = 0;
    for (uint32_t i = 0; i < engine->shard_count; i++) {
        *keys += counter_get(&engine->shards[i].counts[db].items);
        *expiring += counter_get(&engine->shards[i].counts[db].expiring);
    }
}

uint64_t engine_key_count(const struct engine *engine, uint32_t db)
{
    uint64_t keys, expiring;
    engine_db_stats(engine, db, &keys, &expiring);
    return keys;
}

static void sum_stats(const struct engine *engine, struct engine_stats *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < engine->shard_count; i++) {
        struct shard *shard = &engine->shards[i];
        for (uint32_t db = 0; db < ENGINE_DATABASES; db++) {
            out->keys += counter_get(&shard->counts[db].items);
            out->keys_expiring += counter_get(&shard->counts[db].expiring);
        }
        out->inserted += counter_get(&shard->counters.inserted);
        out->deleted += counter_get(&shard->counters.deleted);
        out->expired += counter_get(&shard->counters.expired);
        out->table_resizes += counter_get(&shard->counters.resizes);
        int64_t lag_ms = atomic_load_explicit(&shard->counters.expire_lag_ms, memory_order_relaxed);
        if (lag_ms > out->expire_lag_ms)
            out->expire_lag_ms = lag_ms;
        out->live_bytes += counter_get(&shard->heap.live_bytes);
        out->table_bytes += counter_get(&shard->table_bytes);
        out->retired_bytes += counter_get(&shard->retired_bytes);
    }
    out->live_bytes += counter_get(&engine->blob_bytes);
    out->used_bytes = counter_get(&engine->pages.used_bytes);
    /* What was freed between the readings is not told as less than nothing elsewhere. */
    if (out->used_bytes < out->live_bytes + out->table_bytes)
        out->used_bytes = out->live_bytes + out->table_bytes;
    out->reserve_bytes = counter_get(&engine->pages.free_pages) * PAGE_SIZE;
    for (struct epoch_record *record =
             atomic_load_explicit(&engine->epoch.records, memory_order_acquire);
         record != NULL; record = record->next) {
        const struct engine_thread *thread = (const struct engine_thread *)record;
        out->hits += counter_get(&thread->hits);
        out->misses += counter_get(&thread->misses);
        out->read_retries += counter_get(&thread->read_retries);
        out->read_locked += counter_get(&thread->read_locked);
    }
}

void engine_stats(struct engine *engine, struct engine_stats *out)
{
    lock_acquire(&engine->threads_lock);
    sum_stats(engine, out);
    const struct engine_stats *since = &engine->baseline;
    out->inserted -= since->inserted;
    out->deleted -= since->deleted;
    out->expired -= since->expired;
    out->table_resizes -= since->table_resizes;
    out->hits -= since->hits;
    out->misses -= since->misses;
    out->read_retries -= since->read_retries;
    out->read_locked -= since->read_locked;
    lock_release(&engine->threads_lock);
}

uint64_t engine_keeper_longest_ns(struct engine *engine)
{
    return atomic_exchange_explicit(&engine->keeper_longest_ns, 0, memory_order_relaxed);
}

void engine_stats_reset(struct engine *engine)
{
    struct engine_stats now;
    lock_acquire(&engine->threads_lock);
    sum_stats(engine, &now);
    engine->baseline = now;
    lock_release(&engine->threads_lock);
}
