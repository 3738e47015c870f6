/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/thread.h"

void workload_fail(const char *what)
{
    fprintf(stderr, "larder-bench: %s\n", what);
    exit(1);
}

void workload_key(char *out, uint64_t number)
{
    memcpy(out, "key:000000000000", KEY_SIZE);
    for (int i = KEY_SIZE - 1; number != 0 && i >= 4; i--, number /= 10)
        out[i] = (char)('0' + number % 10);
}

struct bytes workload_value(void)
{
    static const char value[VALUE_SIZE + 1] =
        "a value of sixty-four bytes, as many caches hold for a session..";
    return bytes_of(value, VALUE_SIZE);
}

uint64_t workload_random(uint64_t *state)
{
    /* SplitMix64. */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double workload_median(double *figures, size_t count)
{
    qsort(figures, count, sizeof *figures, compare);
    return (figures[(count - 1) / 2] + figures[count / 2]) / 2;
}

struct engine *workload_engine(uint32_t shards)
{
    struct engine_config config = {
        .workers = thread_cpu_count(),
        .shards = shards,
        .start_ms = clock_engine_ms(),
        .background = true,
    };
    struct engine *engine;
    enum status status = engine_create(&config, &engine);
    if (status != STATUS_OK)
        workload_fail(status_text(status));
    return engine;
}

struct store workload_join(struct engine *engine)
{
    struct store store = {.engine = engine, .hash_seed = engine_hash_seed(engine)};
    enum status status = engine_thread_register(engine, &store.thread);
    if (status != STATUS_OK)
        workload_fail(status_text(status));
    engine_thread_online(store.thread);
    return store;
}

void workload_leave(struct store *store)
{
    engine_thread_offline(store->thread);
    engine_thread_unregister(store->thread);
}

void workload_fill(struct store *store, uint64_t count, bool ttl)
{
    struct access access = workload_access(store, clock_engine_ms());
    char key[KEY_SIZE];
    for (uint64_t i = 0; i < count; i++) {
        if (i % BATCH_COUNT == 0) {
            engine_thread_online(store->thread);
            access.now_ms = clock_engine_ms();
        }
        workload_key(key, i);
        workload_set(&access, store, bytes_of(key, KEY_SIZE), ttl);
    }
}

size_t workload_get_locked(struct access *access, const struct key *key, char *out)
{
    struct value value;
    lock_key(access->engine, key->hash);
    access->locked = true;
    bool found = keyspace_find(access, key, &value) == FIND_FOUND;
    if (found)
        memcpy(out, value.data, value.size);
    access->locked = false;
    unlock_key(access->engine, key->hash);
    return found ? value.size : SIZE_MAX;
}
