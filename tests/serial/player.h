/* SPDX-License-Identifier: MIT
 *
 * A player is one thread that asks the engine at random, through the command layer as a server's
 * worker does: it samples its clock, prepares a few requests, prefetches their keys, runs them in
 * order, and announces now and then that it holds no pointers. What it asked and was told goes into
 * the round's history.
 *
 * The stage is what the players of an era share. While a round runs its fields are read only, but
 * for the two counters; the history is written by each player in its own columns, and its clock
 * steps by player 0, which also moves time.
 */
#ifndef TESTS_SERIAL_PLAYER_H
#define TESTS_SERIAL_PLAYER_H

#include <stdatomic.h>

#include "command/client.h"
#include "dice.h"
#include "engine/engine.h"
#include "history.h"
#include "recorder.h"

enum { CLOCK_SKEW_MAX_MS = 4 }; /* the difference between any two clocks */

struct stage {
    struct engine *engine;
    struct history *history; /* of the present round */
    _Atomic uint64_t stamp;
    _Atomic int64_t base_ms; /* the slowest clock; others are up to CLOCK_SKEW_MAX_MS ahead */
    uint32_t key_count, thread_count;
    char keys[HISTORY_KEYS_MAX][24];
    /* What is asked. */
    uint32_t operations_max;           /* per player and round, roughly */
    uint32_t weights[STEP_KIND_COUNT]; /* how often each command comes; 0: never */
    uint32_t weight_sum;
    uint32_t transactions_one_in; /* 0: none */
    bool expiry;                  /* with times to live */
    bool fresh_clocks;            /* commands may read the clock again while they run */
    bool big_values;              /* up to blobs */
    uint32_t pauses_one_in;       /* 0: none */
};

struct player {
    struct stage *stage;
    uint32_t index;
    struct dice dice;
    struct engine_thread *thread;
    struct client client;
    struct recorder recorder;
    uint32_t skew_ms;
    uint64_t values_made;
    bool online;
    bool watching;
    struct operation *open; /* the transaction being planned */
    char *text;             /* arguments of the present batch */
    size_t text_used;
};

/* Called in the player's own thread; aborts when memory is out, as everything here. */
void player_enter(struct player *player, struct stage *stage, uint32_t index, uint64_t seed);
void player_leave(struct player *player);
/* One round's worth of operations. The player is offline before and after. */
void player_play(struct player *player);
/* Reads all keys, as operations of the history, and says what they hold, while nobody writes. */
void player_read_all(struct player *player, struct cell *out);
int64_t player_clock_ms(const struct player *player);

/* Chooses `stage->keys` so that they lie in one shard, or spread. */
void stage_choose_keys(struct stage *stage, bool one_shard, struct dice *dice);
/* Random delays at the engine's pause points, for the calling thread. */
void pauses_set(uint64_t seed, uint32_t one_in);

#endif
