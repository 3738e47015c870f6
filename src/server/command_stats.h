/* SPDX-License-Identifier: MIT
 *
 * What one worker counts of the commands it runs: calls, time, failures and a histogram of latency
 * for each row of the command table, and errors by code. The worker writes, anybody reads.
 *
 * CONFIG RESETSTAT cannot zero what others write. It raises the server's number of resets instead;
 * a worker that sees a newer number zeroes its own counts and takes the number over, and until then
 * readers leave its counts out. So a reset is complete at once for whoever reads.
 *
 * A histogram has 32 buckets for each doubling of nanoseconds, so that a percentile is off by 3 %
 * at most.
 */
#ifndef LARDER_SERVER_COMMAND_STATS_H
#define LARDER_SERVER_COMMAND_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/status.h"
#include "command/command.h"
#include "command/error_counts.h"
#include "command/item_counts.h"

enum {
    HISTOGRAM_SUB_BITS = 5,
    HISTOGRAM_BITS = 40, /* what lasts 18 minutes and more counts in the last bucket */
    HISTOGRAM_BUCKETS = (HISTOGRAM_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS
};

static inline uint32_t histogram_bucket(uint64_t duration_ns)
{
    if (duration_ns >> HISTOGRAM_BITS != 0)
        return HISTOGRAM_BUCKETS - 1;
    if (duration_ns >> HISTOGRAM_SUB_BITS == 0)
        return (uint32_t)duration_ns;
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(duration_ns)) - HISTOGRAM_SUB_BITS;
    return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(duration_ns >> shift);
}

/* The longest duration that belongs to the bucket. */
uint64_t histogram_bucket_last_ns(uint32_t bucket);

struct command_counts {
    counter calls, time_ns;
    counter rejected; /* refused before they ran */
    counter failed;   /* ran and answered with an error */
    counter latency[HISTOGRAM_BUCKETS];
};

struct command_stats {
    struct command_counts *commands; /* one per command->id */
    uint32_t count;
    _Atomic uint32_t resets; /* the server's number when these began to count */
    struct error_counts errors;
    struct item_counts items;
};

/* For the commands that the tables hold now. Memory is touched only for commands that are used. */
enum status command_stats_init(struct command_stats *stats) MUST_USE;
void command_stats_deinit(struct command_stats *stats);
/* By the worker: starts to count again, under the new number. */
void command_stats_restart(struct command_stats *stats, uint32_t resets);

/* `calls` of one command that took `duration_ns` together. */
static inline void command_counts_add(struct command_counts *counts, uint64_t calls,
                                      uint64_t duration_ns, bool with_latency)
{
    counter_add(&counts->calls, calls);
    counter_add(&counts->time_ns, duration_ns);
    if (with_latency) {
        uint64_t each_ns = calls == 1 ? duration_ns : duration_ns / calls;
        counter_add(&counts->latency[histogram_bucket(each_ns)], calls);
    }
}

/* ---- sums over workers, for whoever reports */

struct server;

struct command_sum {
    uint64_t calls, time_ns, rejected, failed;
    uint64_t measured; /* calls in `latency`: fewer than `calls` where tracking was off meanwhile */
    uint64_t latency[HISTOGRAM_BUCKETS];
};

void command_stats_sum(struct server *server, uint32_t id, struct command_sum *out);
/* Calls and time of all commands; those that EXEC ran count with EXEC too. */
void command_stats_totals(struct server *server, uint64_t *out_calls, uint64_t *out_time_ns);
/* `out` is zeroed by the caller. */
void command_stats_errors(struct server *server, struct error_counts *out);
/* What became of item commands, summed. */
struct item_sum {
    uint64_t of[ITEM_KINDS][ITEM_RESULTS];
};
void command_stats_items(struct server *server, struct item_sum *out);
/* The latency that `percentile` percent of the measured calls did not exceed; 0 without any. */
uint64_t command_sum_percentile_ns(const struct command_sum *sum, double percentile);

#endif
