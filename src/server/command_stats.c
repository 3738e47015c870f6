/* SPDX-License-Identifier: MIT */
#include "server/command_stats.h"

#include <string.h>

#include "base/alloc.h"
#include "server/worker.h"

uint64_t histogram_bucket_last_ns(uint32_t bucket)
{
    uint32_t shift = bucket >> HISTOGRAM_SUB_BITS;
    if (shift == 0)
        return bucket;
    shift--;
    uint64_t head = bucket - (shift << HISTOGRAM_SUB_BITS);
    return ((head + 1) << shift) - 1;
}

enum status command_stats_init(struct command_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->count = command_count();
    stats->commands = alloc_zeroed(stats->count, sizeof(*stats->commands));
    return stats->commands != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

void command_stats_deinit(struct command_stats *stats)
{
    alloc_free(stats->commands);
}

static bool is_used(const struct command_counts *counts)
{
    return (counter_get(&counts->calls) | counter_get(&counts->rejected)) != 0;
}

void command_stats_restart(struct command_stats *stats, uint32_t resets)
{
    for (uint32_t i = 0; i < stats->count; i++) {
        struct command_counts *counts = &stats->commands[i];

        if (!is_used(counts))
            continue;
        counter_clear(&counts->calls);
        counter_clear(&counts->time_ns);
        counter_clear(&counts->rejected);
        counter_clear(&counts->failed);
        for (uint32_t j = 0; j < HISTOGRAM_BUCKETS; j++)
            counter_clear(&counts->latency[j]);
    }
    error_counts_clear(&stats->errors);
    for (uint32_t i = 0; i < ITEM_KINDS * ITEM_RESULTS; i++)
        counter_clear(&stats->items.of[i / ITEM_RESULTS][i % ITEM_RESULTS]);
    atomic_store_explicit(&stats->resets, resets, memory_order_release);
}

/* NULL: it has not seen the last reset yet, so all that it counted came before. */
static struct command_stats *stats_of(struct server *server, uint32_t worker)
{
    struct command_stats *stats = &server->workers[worker].observer.stats;
    uint32_t resets = atomic_load_explicit(&stats->resets, memory_order_acquire);

    return resets == atomic_load(&server->stats_resets) ? stats : NULL;
}

void command_stats_sum(struct server *server, uint32_t id, struct command_sum *out)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct command_stats *stats = stats_of(server, i);

        if (stats == NULL || !is_used(&stats->commands[id]))
            continue;
        const struct command_counts *counts = &stats->commands[id];
        out->calls += counter_get(&counts->calls);
        out->time_ns += counter_get(&counts->time_ns);
        out->rejected += counter_get(&counts->rejected);
        out->failed += counter_get(&counts->failed);
        for (uint32_t j = 0; j < HISTOGRAM_BUCKETS; j++) {
            uint64_t calls = counter_get(&counts->latency[j]);
            out->latency[j] += calls;
            out->measured += calls;
        }
    }
}

void command_stats_totals(struct server *server, uint64_t *out_calls, uint64_t *out_time_ns)
{
    *out_calls = *out_time_ns = 0;
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct command_stats *stats = stats_of(server, i);

        for (uint32_t id = 0; stats != NULL && id < stats->count; id++) {
            *out_calls += counter_get(&stats->commands[id].calls);
            *out_time_ns += counter_get(&stats->commands[id].time_ns);
        }
    }
}

void command_stats_errors(struct server *server, struct error_counts *out)
{
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct command_stats *stats = stats_of(server, i);

        if (stats != NULL)
            error_counts_sum(out, &stats->errors);
    }
}

void command_stats_items(struct server *server, struct item_sum *out)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct command_stats *stats = stats_of(server, i);

        for (uint32_t kind = 0; stats != NULL && kind < ITEM_KINDS; kind++)
            for (uint32_t result = 0; result < ITEM_RESULTS; result++)
                out->of[kind][result] += counter_get(&stats->items.of[kind][result]);
    }
}

uint64_t command_sum_percentile_ns(const struct command_sum *sum, double percentile)
{
    double wanted = percentile / 100 * (double)sum->measured;
    uint64_t seen = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += sum->latency[i];
        if (seen > 0 && (double)seen >= wanted)
            return histogram_bucket_last_ns(i);
    }
    return 0;
}
