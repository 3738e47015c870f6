/* SPDX-License-Identifier: MIT */
#include "engine/keeper.h"

#include "engine/shard.h"
#include "engine/table.h"
#include "engine/watch_table.h"
#include "os/clock.h"

enum {
    ROUND_MS = 100,
    SLABS_PER_LOCK = 32,    /* whose deadlines are looked through */
    PASSED_PER_LOCK = 4096, /* slabs, these included */
    EXPIRED_PER_LOCK = 64,  /* entries unlinked */
    BUCKETS_PER_LOCK = 32,  /* moved or buried */
    RECLAIMED_PER_LOCK = 256,
    STEP_ASIDE_US = 100, /* a sleeping writer needs about half of it to wake */
};

/* Unlinks an entry whose time has come, or corrects its deadline. True: unlinked. */
static bool sweep_entry(struct shard *shard, struct slab *slab, uint32_t index, int64_t now_ms)
{
    const struct entry *entry = slab_object(slab, index);
    int64_t start_ms = shard->engine->start_ms;
    int64_t expires_ms = entry_expires_ms(entry, start_ms);
    bool off = atomic_load_explicit(&shard->engine->expiry_off, memory_order_relaxed);
    if (expires_ms > now_ms || off) {
        /* What may not go is looked at again in a while: a deadline never lies far behind. */
        slab->due[index] = entry_due(expires_ms > now_ms ? expires_ms : now_ms, now_ms, start_ms);
        return false;
    }
    slab_due_clear(&shard->heap, slab, index);
    struct place place;
    if (!table_locate(shard, entry, &place))
        return false; /* retired or flushed: gone already */
    struct bytes key = entry_key(entry);
    uint32_t db = shard->db_of[entry_table(entry)];
    watch_table_touch(shard, db, key, hash_bytes(key.data, key.size, shard->engine->hash_seed));
    table_remove(shard, db, &place);
    table_step(shard, db, 1);
    counter_add(&shard->counters.expired, 1);
    atomic_store_explicit(&shard->counters.expire_lag_ms, now_ms - expires_ms,
                          memory_order_relaxed);
    return true;
}

static bool nothing_due(const struct slab_record *record, uint16_t now)
{
    return record->due_count == 0 ||
           (record->due_first != DUE_ORPHAN && due_before(now, record->due_first));
}

/* Looks through one slab's deadlines; returns how many entries it unlinked, at most `count`. */
static uint32_t sweep_slab(struct shard *shard, struct slab *slab, int64_t now_ms, uint32_t count)
{
    uint16_t now = entry_due_now(now_ms, shard->engine->start_ms);
    uint32_t unlinked = 0;
    uint16_t first = (uint16_t)(now + DUE_HORIZON);
    for (uint32_t i = 0; i < slab->fresh_count; i++) {
        uint16_t due = slab->due[i];
        if (due == DUE_NEVER)
            continue;
        if (due == DUE_ORPHAN) {
            if (!shard_retire_ready(shard, 1)) {
                first = DUE_ORPHAN;
                continue;
            }
            slab_due_clear(&shard->heap, slab, i);
            shard_retire_entry(shard, slab_object(slab, i));
            continue;
        }
        if (!due_before(now, due) && unlinked < count) {
            unlinked += sweep_entry(shard, slab, i, now_ms);
            due = slab->due[i];
            if (due == DUE_ORPHAN) /* there was no room to note that it waits for readers */
                first = DUE_ORPHAN;
            if (due == DUE_NEVER || due == DUE_ORPHAN)
                continue;
        }
        if (first != DUE_ORPHAN && due_before(due, first))
            first = due;
    }
    shard->heap.slabs[slab->index].due_first = first; /* slabs may have come and gone meanwhile */
    return unlinked;
}

/* One lock's worth of the sweep; false when the round over this shard is done. */
static bool sweep_step(struct shard *shard, int64_t now_ms)
{
    uint16_t now = entry_due_now(now_ms, shard->engine->start_ms);
    uint32_t unlinked = 0, looked = 0;
    for (uint32_t passed = 0;
         passed < PASSED_PER_LOCK && looked < SLABS_PER_LOCK && unlinked < EXPIRED_PER_LOCK;
         passed++) {
        if (shard->sweep_index >= shard->heap.slab_count) {
            shard->sweep_index = 0;
            slab_heap_settle(&shard->heap);
            return false;
        }
        const struct slab_record *record = &shard->heap.slabs[shard->sweep_index];
        if (nothing_due(record, now)) {
            shard->sweep_index++;
            continue;
        }
        looked++;
        unlinked += sweep_slab(shard, record->slab, now_ms, EXPIRED_PER_LOCK - unlinked);
        if (unlinked < EXPIRED_PER_LOCK)
            shard->sweep_index++;
    }
    return true;
}

static bool tables_step(struct shard *shard)
{
    bool more = table_bury(shard, BUCKETS_PER_LOCK);
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        more |= table_step(shard, db, BUCKETS_PER_LOCK);
    return more;
}

/* Whoever asks takes the figure away; one that is stored at the same moment may be lost. */
static void note_hold(struct engine *engine, uint64_t held_ns)
{
    if (held_ns > atomic_load_explicit(&engine->keeper_longest_ns, memory_order_relaxed))
        atomic_store_explicit(&engine->keeper_longest_ns, held_ns, memory_order_relaxed);
}

/* What each lock of the shard is taken for in one round. The work per round is bounded, so that a
 * flood in one shard does not keep the others waiting. */
static bool maintain_shard(struct shard *shard, int64_t now_ms)
{
    struct engine *engine = shard->engine;
    enum { STEPS_PER_ROUND = 256 };
    bool sweeping = true, more = true;
    for (int step = 0; (sweeping || more) && step < STEPS_PER_ROUND; step++) {
        epoch_online(&engine->epoch, &engine->keeper_thread.record);
        shard_lock(shard);
        uint64_t locked_ns = clock_monotonic_ns();
        more = shard_reclaim(shard, RECLAIMED_PER_LOCK);
        if (sweeping)
            sweeping = sweep_step(shard, now_ms);
        more |= tables_step(shard);
        bool awaited = lock_awaited(&shard->lock);
        shard_unlock(shard);
        note_hold(engine, clock_monotonic_ns() - locked_ns);
        epoch_offline(&engine->keeper_thread.record);
        if (awaited) /* or it would have the lock again before the writer has woken */
            clock_sleep_us(STEP_ASIDE_US);
    }
    return more || sweeping;
}

/* Takes no shard's lock, so that a flood of writes cannot keep memory from being made ready. */
static bool maintain_memory(struct engine *engine, int64_t now_ms)
{
    bool more = blob_bury(engine);
    pages_plan(&engine->pages, now_ms);
    while (pages_balance(&engine->pages))
        ;
    return more;
}

static bool maintain_shards(struct engine *engine, int64_t now_ms)
{
    bool more = false;
    for (uint32_t i = 0; i < engine->shard_count; i++) {
        epoch_advance(&engine->epoch);
        more |= maintain_shard(&engine->shards[i], now_ms);
    }
    return more;
}

bool engine_maintain(struct engine *engine, int64_t now_ms)
{
    bool more = maintain_memory(engine, now_ms);
    return maintain_shards(engine, now_ms) || more;
}

static void keeper_run(void *argument)
{
    struct engine *engine = argument;
    while (!atomic_load_explicit(&engine->stopping, memory_order_acquire)) {
        if (!maintain_shards(engine, clock_engine_ms()))
            signal_wait(&engine->wake, ROUND_MS);
    }
}

static void mapper_run(void *argument)
{
    struct engine *engine = argument;
    while (!atomic_load_explicit(&engine->stopping, memory_order_acquire)) {
        if (!maintain_memory(engine, clock_engine_ms()))
            signal_wait(&engine->wake_mapper, ROUND_MS);
    }
}

enum status keeper_start(struct engine *engine)
{
    enum status status = thread_start("larder-keeper", keeper_run, engine, &engine->keeper);
    if (status == STATUS_OK)
        status = thread_start("larder-mapper", mapper_run, engine, &engine->mapper);
    return status;
}

static void stop(struct thread **thread, struct signal_flag *wake)
{
    if (*thread == NULL)
        return;
    signal_raise(wake);
    thread_join(*thread);
    *thread = NULL;
}

void keeper_stop(struct engine *engine)
{
    atomic_store_explicit(&engine->stopping, true, memory_order_release);
    stop(&engine->keeper, &engine->wake);
    stop(&engine->mapper, &engine->wake_mapper);
}
