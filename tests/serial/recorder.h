/* SPDX-License-Identifier: MIT
 *
 * A reply that keeps meanings as a history's tokens. One thread at a time.
 */
#ifndef TESTS_SERIAL_RECORDER_H
#define TESTS_SERIAL_RECORDER_H

#include "base/sink.h"
#include "command/reply.h"
#include "history.h"

struct recorder {
    struct reply reply; /* first: the operations find the recorder through it */
    struct sink sink;   /* takes nothing */
    struct token *tokens;
    uint32_t count; /* tokens told, more than `max` if they did not fit */
    uint32_t max;
};

void recorder_init(struct recorder *recorder);
/* What is told from now on goes to `tokens`. */
void recorder_begin(struct recorder *recorder, struct token *tokens, uint32_t max);

#endif
