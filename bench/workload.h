/* SPDX-License-Identifier: MIT
 *
 * What the engine's tiers have in common: keys, values, random numbers, and the store under test
 * with one thread registered. Single-threaded but for workload_get and workload_set on stores of
 * their own thread.
 *
 * A tier that cannot go on (memory, a probe that should hit and misses) ends the program: there is
 * no figure to give.
 */
#ifndef LARDER_BENCH_WORKLOAD_H
#define LARDER_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/engine.h"
#include "engine/keyspace.h"
#include "engine/lockset.h"

enum {
    KEY_SIZE = 16,
    VALUE_SIZE = 64,
    TTL_MS = 10 * 60 * 1000,
    BATCH_COUNT = 64, /* operations between two safe points and clock samples */
};

void workload_fail(const char *what) __attribute__((noreturn, cold));

/* The key with this number, KEY_SIZE bytes. */
void workload_key(char *out, uint64_t number);
/* A value of VALUE_SIZE bytes, the same always. */
struct bytes workload_value(void);
uint64_t workload_random(uint64_t *state);
double workload_median(double *figures, size_t count);

/* A store as one thread sees it. */
struct store {
    struct engine *engine;
    struct engine_thread *thread;
    uint64_t hash_seed;
};

/* `shards` 0: as the engine chooses. */
struct engine *workload_engine(uint32_t shards);
struct store workload_join(struct engine *engine); /* registers the calling thread, online */
void workload_leave(struct store *store);
/* Keys 0 to count - 1, with or without TTL. */
void workload_fill(struct store *store, uint64_t count, bool ttl);

static inline struct access workload_access(const struct store *store, int64_t now_ms)
{
    return (struct access){.engine = store->engine, .thread = store->thread, .now_ms = now_ms};
}

size_t workload_get_locked(struct access *access, const struct key *key, char *out);

/* Copies the value out and returns its size, or SIZE_MAX when the key is missing. */
static inline size_t workload_get_hashed(struct access *access, const struct key *key, char *out)
{
    struct value value;
    enum find find = keyspace_find(access, key, &value);
    if (__builtin_expect(find == FIND_LOCK, 0))
        return workload_get_locked(access, key, out);
    if (find == FIND_MISSING)
        return SIZE_MAX;
    memcpy(out, value.data, value.size);
    return value.size;
}

static inline size_t workload_get(struct access *access, const struct store *store,
                                  struct bytes key, char *out)
{
    struct key hashed = key_of(store->hash_seed, key);
    return workload_get_hashed(access, &hashed, out);
}

/* With a TTL of ten minutes, or without. */
static inline void workload_set(struct access *access, const struct store *store, struct bytes key,
                                bool ttl)
{
    struct key hashed = key_of(store->hash_seed, key);
    keyspace_prefetch_bucket(access, hashed.hash); /* as the library does */
    lock_key(store->engine, hashed.hash);
    access->locked = true;
    enum status status = keyspace_set(access, &hashed, workload_value(),
                                      ttl ? access->now_ms + TTL_MS : EXPIRES_NEVER, NULL);
    access->locked = false;
    unlock_key(store->engine, hashed.hash);
    if (status != STATUS_OK)
        workload_fail(status_text(status));
}

/* Keeps the compiler from dropping what was written to `memory`. */
static inline void workload_use(const void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
