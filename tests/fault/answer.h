/* SPDX-License-Identifier: MIT
 *
 * A reply as text, one meaning a line, so that two replies compare as strings. It takes its memory
 * straight from the C library: planned faults do not reach it. Values are shown by size and hash.
 */
#ifndef TESTS_FAULT_ANSWER_H
#define TESTS_FAULT_ANSWER_H

#include <stddef.h>

#include "command/reply.h"

struct answer {
    struct reply reply; /* first: the operations find the answer through it */
    struct sink sink;   /* takes nothing */
    char *text;         /* NUL-terminated */
    size_t size, room;
};

void answer_init(struct answer *answer);
void answer_deinit(struct answer *answer);
void answer_clear(struct answer *answer);

#endif
