/* SPDX-License-Identifier: MIT
 *
 * What memory is used for, as INFO and MEMORY tell it, and what that says of the server's health.
 *
 *   resident      all of the process that lies in memory now
 *     mapped      chunks for the data
 *       used      pages handed out: what maxmemory limits
 *         allocated   entries, big values and tables; the rest are free places among entries
 */
#ifndef LARDER_SERVER_MEMORY_FIGURES_H
#define LARDER_SERVER_MEMORY_FIGURES_H

#include <stdint.h>

#include "base/buffer.h"
#include "engine/engine.h"

struct server;

struct memory_figures {
    uint64_t resident, mapped, used, allocated;
    uint64_t peak;          /* the most that was ever used */
    uint64_t startup;       /* used before anything was stored */
    uint64_t limit;         /* of `used`; 0: none */
    uint64_t client_output; /* replies that clients have not taken yet */
    uint32_t clients;
    struct engine_stats engine;
};

/* Each figure is read once; they may be some microseconds apart. */
void memory_figures_take(struct server *server, struct memory_figures *out);

/* 0 where there is no whole. */
double memory_ratio(uint64_t part, uint64_t whole);

/* What is amiss and what helps, in words, or that nothing is. */
void memory_diagnose(const struct memory_figures *figures, struct buffer *out);

#endif
