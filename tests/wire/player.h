/* SPDX-License-Identifier: MIT
 *
 * Plays transcripts in-process: engine, commands and wire, but no socket and no clock. Time stands
 * still but for the transcript's own steps. One thread.
 */
#ifndef LARDER_TESTS_WIRE_PLAYER_H
#define LARDER_TESTS_WIRE_PLAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "transcript.h"

enum play {
    PLAY_WHOLE,     /* each step's bytes arrive at once */
    PLAY_PIPELINED, /* all that one connection sends until another step intervenes, at once */
    PLAY_BYTES,     /* each byte by itself */
    PLAY_SPLIT,     /* each step's bytes in two pieces */
};

struct player;

/* NULL: out of memory. Adds the commands to the table: at most one player per process. */
struct player *player_create(void);
void player_destroy(struct player *player);
/* Plays one case on an empty keyspace. `split`: size of the first piece for PLAY_SPLIT. On failure
 * `message` says where and what. */
bool player_play(struct player *player, const struct transcript *transcript, enum play play,
                 size_t split, char *message, size_t message_size);
/* The size of the longest send: splits below it differ. */
size_t player_split_max(const struct transcript *transcript);

#endif
