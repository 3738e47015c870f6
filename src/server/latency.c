/* SPDX-License-Identifier: MIT */
#include "server/latency.h"

#include <string.h>

const char *latency_event_name(enum latency_event event)
{
    static const char *const names[] = {"command", "fast-command", "loop-iteration",
                                        "expire-cycle"};

    return names[event];
}

static struct latency_sample *nth(struct latency_series *series, uint32_t n)
{
    return &series->samples[(series->first + n) % LATENCY_SAMPLES];
}

void latency_add(struct latency *latency, enum latency_event event, int64_t time_s,
                 uint64_t duration_ms)
{
    struct latency_series *series = &latency->series[event];
    uint32_t ms = duration_ms < UINT32_MAX ? (uint32_t)duration_ms : UINT32_MAX;

    lock_acquire(&latency->lock);
    if (ms > series->max_ms)
        series->max_ms = ms;
    struct latency_sample *last = series->count > 0 ? nth(series, series->count - 1) : NULL;
    if (last != NULL && time_s <= last->time_s) { /* another thread may have been a bit later */
        if (ms > last->duration_ms)
            last->duration_ms = ms;
    } else {
        if (series->count == LATENCY_SAMPLES)
            series->first = (series->first + 1) % LATENCY_SAMPLES;
        else
            series->count++;
        *nth(series, series->count - 1) = (struct latency_sample){time_s, ms};
    }
    lock_release(&latency->lock);
}

bool latency_reset(struct latency *latency, enum latency_event event)
{
    lock_acquire(&latency->lock);
    bool any = latency->series[event].count > 0;
    memset(&latency->series[event], 0, sizeof(latency->series[event]));
    lock_release(&latency->lock);
    return any;
}

void latency_copy(struct latency *latency, enum latency_event event, struct latency_series *out)
{
    struct latency_series *series = &latency->series[event];

    lock_acquire(&latency->lock);
    for (uint32_t i = 0; i < series->count; i++)
        out->samples[i] = *nth(series, i);
    out->first = 0;
    out->count = series->count;
    out->max_ms = series->max_ms;
    lock_release(&latency->lock);
}
