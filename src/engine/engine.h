/* SPDX-License-Identifier: MIT
 *
 * The engine: keys and values in memory, shared by any number of threads.
 *
 * Life of a thread that uses it: register once, then `engine_thread_online` before touching keys
 * and again at every safe point (a worker: once per loop iteration), `engine_thread_offline` before
 * it waits. What a read returns stays valid until the thread's next online or offline call: that is
 * all that reclamation asks of readers (engine/epoch.h). Reads and writes of keys:
 * engine/keyspace.h.
 */
#ifndef LARDER_ENGINE_ENGINE_H
#define LARDER_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { ENGINE_DATABASES = 16, ENGINE_SHARDS_MAX = 1024 };

struct engine;
struct engine_thread;

struct engine_config {
    uint64_t memory_max_bytes; /* 0: no limit */
    uint32_t workers;          /* threads expected to write at once; 0: 1 */
    uint32_t shards;           /* 0: chosen from workers and memory_max_bytes */
    uint64_t hash_seed;        /* 0: random */
    int64_t start_ms;          /* engine time now, ms since 1970 (clock_engine_ms, or virtual) */
    bool background; /* run the keeper and the mapper; else the owner calls engine_maintain */
};

/* On failure nothing is left behind. */
enum status engine_create(const struct engine_config *config, struct engine **out) MUST_USE;
/* No other thread may be inside. Frees everything, registered threads too. */
void engine_destroy(struct engine *engine);

/* ---- threads */
enum status engine_thread_register(struct engine *engine, struct engine_thread **out) MUST_USE;
void engine_thread_unregister(struct engine_thread *thread);
void engine_thread_online(struct engine_thread *thread);
void engine_thread_offline(struct engine_thread *thread);

/* ---- whole keyspace */
uint64_t engine_hash_seed(const struct engine *engine);
uint32_t engine_shard_count(const struct engine *engine);
void engine_memory_max_set(struct engine *engine, uint64_t bytes);
uint64_t engine_memory_max(const struct engine *engine);
/* NO_MEMORY when `bytes` more would exceed the limit. Call before locking. */
enum status engine_reserve(struct engine *engine, uint64_t bytes) MUST_USE;
/* Keys in one database; exact while no write runs. */
uint64_t engine_key_count(const struct engine *engine, uint32_t db);

/* One bounded round of housekeeping at time `now_ms`: expired keys, retired memory, table growth,
 * flushed tables, memory for what comes next. Returns true when more is waiting. The
 * background threads share it out; a program without them must call it now and then. One caller at
 * a time. */
bool engine_maintain(struct engine *engine, int64_t now_ms);

/* Whether housekeeping looks for keys that have expired, as it does from the start. Where it does
 * not, they stay until somebody asks for them, and are missing all the same. From any thread. */
void engine_active_expiry_set(struct engine *engine, bool on);

struct engine_stats {
    uint64_t keys;          /* all databases */
    uint64_t keys_expiring; /* of these, with a TTL */
    uint64_t used_bytes;    /* pages held by entries, tables and big values */
    uint64_t live_bytes;    /* of these, really occupied by entries (slab slots) and big values */
    uint64_t table_bytes;   /* bucket arrays */
    uint64_t retired_bytes; /* waiting for readers to leave */
    uint64_t reserve_bytes; /* pages free in chunks: made ready ahead, or left behind */
    uint64_t hits, misses;  /* reads of one key */
    uint64_t expired;       /* keys removed because their time came */
    uint64_t inserted, deleted;
    uint64_t read_retries, read_locked; /* lock-free reads that had to look twice, or to lock */
    uint64_t table_resizes;             /* growths and shrinks begun */
    int64_t expire_lag_ms;              /* how late the last reclaimed expired key was */
};

/* The longest time that housekeeping held a shard's lock, so that writers had to wait, since it was
 * asked for last. */
uint64_t engine_keeper_longest_ns(struct engine *engine);
/* Sums all shards and threads; approximate while others run. */
void engine_stats(struct engine *engine, struct engine_stats *out);
/* Counters (hits to table_resizes) start from zero again. */
void engine_stats_reset(struct engine *engine);
/* Per database: keys, and of these how many expire. */
void engine_db_stats(const struct engine *engine, uint32_t db, uint64_t *keys, uint64_t *expiring);

/* Walks everything and compares what must agree; prints what does not to stderr. For tests: takes
 * every shard's lock in turn, for long. */
bool engine_check(struct engine *engine);

#endif
