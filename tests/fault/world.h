/* SPDX-License-Identifier: MIT
 *
 * An engine with two clients and a clock of its own, to which orders are put and whose whole
 * content can be summed up. The same orders give the same allocations, so that a fault can be
 * aimed.
 */
#ifndef TESTS_FAULT_WORLD_H
#define TESTS_FAULT_WORLD_H

#include "answer.h"
#include "command/client.h"
#include "script.h"

struct world {
    struct engine *engine;
    struct engine_thread *thread;
    struct client clients[2];
    int64_t now_ms;
    struct answer answer; /* to the last order */
};

/* Aborts when memory is out. */
void world_init(struct world *world, uint32_t shards);
/* Empties the keyspace first and insists that all its memory has come back. */
void world_deinit(struct world *world);
/* Runs one order; the answer is in `answer` (empty for what is not a command). */
const char *world_run(struct world *world, const struct order *order);
/* The same for a few words of text. */
const char *world_say(struct world *world, const char *line);
/* A hash of all keys with their values and expiries. Equal content, equal hash. */
uint64_t world_content(struct world *world);

#endif
