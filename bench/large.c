/* SPDX-License-Identifier: MIT
 *
 * The large tier: more keys than the CPU's caches hold, probed at random. Single reads pay for two
 * misses of the caches, one after the other; a batch of 16 has them fetched at once, as a worker
 * does for a pipeline and larder_get_many for a program. The keys to probe lie in the order of
 * probing, so that fetching them costs next to nothing.
 */
#include <stdlib.h>

#include "engine.h"
#include "os/clock.h"
#include "workload.h"

enum {
    PROBE_COUNT = 1 << 20, /* a power of two */
    BATCH = 16,
};

struct large {
    struct store store;
    struct access access;
    char (*present)[KEY_SIZE];
    char (*absent)[KEY_SIZE];
    char out[BATCH][VALUE_SIZE];
};

/* Between batches of 16, as a worker does after a bit more. */
static inline void safe_point(struct large *large, size_t i)
{
    if (i % BATCH_COUNT == 0) {
        engine_thread_online(large->store.thread);
        large->access.now_ms = clock_engine_ms();
    }
}

static struct bytes probe(char (*keys)[KEY_SIZE], size_t i)
{
    return bytes_of(keys[i % PROBE_COUNT], KEY_SIZE);
}

static void run_single(struct large *large, size_t first, size_t operations)
{
    for (size_t i = first; i < first + operations; i++) {
        safe_point(large, i);
        if (workload_get(&large->access, &large->store, probe(large->present, i), large->out[0]) !=
            VALUE_SIZE)
            workload_fail("a probe was answered wrongly");
        workload_use(large->out);
    }
}

static void run_batch(struct large *large, size_t first, size_t operations)
{
    struct key keys[BATCH];
    for (size_t at = first; at < first + operations; at += BATCH) {
        safe_point(large, at);
        for (size_t i = 0; i < BATCH; i++) {
            keys[i] = key_of(large->store.hash_seed, probe(large->present, at + i));
            keyspace_prefetch_bucket(&large->access, keys[i].hash);
        }
        for (size_t i = 0; i < BATCH; i++)
            keyspace_prefetch_entry(&large->access, keys[i].hash);
        for (size_t i = 0; i < BATCH; i++)
            if (workload_get_hashed(&large->access, &keys[i], large->out[i]) != VALUE_SIZE)
                workload_fail("a probe was answered wrongly");
        workload_use(large->out);
    }
}

static void run_miss(struct large *large, size_t first, size_t operations)
{
    for (size_t i = first; i < first + operations; i++) {
        safe_point(large, i);
        if (workload_get(&large->access, &large->store, probe(large->absent, i), large->out[0]) !=
            SIZE_MAX)
            workload_fail("a probe was answered wrongly");
    }
}

static void run_set(struct large *large, size_t first, size_t operations)
{
    for (size_t i = first; i < first + operations; i++) {
        safe_point(large, i);
        workload_set(&large->access, &large->store, probe(large->present, i), true);
    }
}

static const struct {
    const char *row; /* NULL: belongs to the large figures proper */
    uint32_t batch;
    void (*run)(struct large *large, size_t first, size_t operations);
} parts[] = {
    {NULL, 1, run_single},
    {NULL, BATCH, run_batch},
    {"large/miss", 1, run_miss},
    {"large/set", 1, run_set},
};

enum { PART_COUNT = sizeof parts / sizeof *parts };

static void make_probes(struct large *large, uint64_t count)
{
    uint64_t random = 2;
    large->present = calloc(PROBE_COUNT, sizeof *large->present);
    large->absent = calloc(PROBE_COUNT, sizeof *large->absent);
    if (large->present == NULL || large->absent == NULL)
        workload_fail("out of memory");
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        workload_key(large->present[i], workload_random(&random) % count);
        workload_key(large->absent[i], count + workload_random(&random) % count);
    }
}

void large_run(const struct engine_options *options, struct report *report)
{
    size_t operations = (options->operations + BATCH_COUNT - 1) / BATCH_COUNT * BATCH_COUNT;
    struct large *large = calloc(1, sizeof *large);
    double *figures = calloc((size_t)PART_COUNT * options->repetitions, sizeof *figures);
    if (large == NULL || figures == NULL)
        workload_fail("out of memory");
    large->store = workload_join(workload_engine(0));
    large->access = workload_access(&large->store, 0);
    workload_fill(&large->store, options->large_count, true);
    make_probes(large, options->large_count);
    for (uint32_t repetition = 0; repetition < options->repetitions; repetition++) {
        size_t first = repetition * operations;
        for (size_t part = 0; part < PART_COUNT; part++) {
            uint64_t start_ns = clock_monotonic_ns();
            parts[part].run(large, first, operations);
            figures[part * options->repetitions + repetition] =
                (double)(clock_monotonic_ns() - start_ns) / (double)operations;
        }
    }
    for (size_t part = 0; part < PART_COUNT; part++) {
        double ns_per_op =
            workload_median(figures + part * options->repetitions, options->repetitions);
        if (parts[part].row != NULL)
            report->rows[report->row_count++] = (struct report_row){parts[part].row, ns_per_op};
        else
            report->large[report->large_count++] =
                (struct report_large){options->large_count, parts[part].batch, ns_per_op};
    }
    workload_leave(&large->store);
    engine_destroy(large->store.engine);
    free(large->present);
    free(large->absent);
    free(large);
    free(figures);
}
