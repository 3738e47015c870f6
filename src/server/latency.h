/* SPDX-License-Identifier: MIT
 *
 * The latency monitor: for each kind of event, when it took at least `latency-monitor-threshold`.
 * Of one second only the worst is kept. Thread-safe.
 */
#ifndef LARDER_SERVER_LATENCY_H
#define LARDER_SERVER_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "os/thread.h"

enum latency_event {
    LATENCY_COMMAND,        /* a command that may take long did */
    LATENCY_FAST_COMMAND,   /* a command did that should not */
    LATENCY_LOOP_ITERATION, /* a worker served what had arrived at once */
    LATENCY_EXPIRE_CYCLE,   /* the keeper held a shard's lock, for expiry or other housekeeping */
    LATENCY_EVENT_COUNT
};

enum { LATENCY_SAMPLES = 160 };

struct latency_sample {
    int64_t time_s; /* engine time */
    uint32_t duration_ms;
};

struct latency_series {
    struct latency_sample samples[LATENCY_SAMPLES]; /* a ring */
    uint32_t first, count;
    uint32_t max_ms; /* of all time, since the last reset */
};

struct latency {
    struct lock lock;
    struct latency_series series[LATENCY_EVENT_COUNT];
};

const char *latency_event_name(enum latency_event event);
void latency_add(struct latency *latency, enum latency_event event, int64_t time_s,
                 uint64_t duration_ms);
/* True when there was something to forget. */
bool latency_reset(struct latency *latency, enum latency_event event);
/* A copy with its samples in order of time and `first` 0; empty where nothing happened. */
void latency_copy(struct latency *latency, enum latency_event event, struct latency_series *out);

#endif
