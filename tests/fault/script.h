/* SPDX-License-Identifier: MIT
 *
 * Scripts: what is put to the engine, one line a command, as short text that expands.
 *
 *   SET key {100}            an argument of 100 bytes
 *   SET key !{20000}         the same, received into a blob as a server does with big values
 *   MSET [3 k# v#]           the words in brackets three times, # being 0, 1, 2
 *   *5 SET k# v#             the whole line five times
 *   2: SET key value         by the second client
 *   TIME 5000                engine time goes on by 5,000 ms
 *   MAINTAIN                 housekeeping until nothing is left to do
 */
#ifndef TESTS_FAULT_SCRIPT_H
#define TESTS_FAULT_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum { SCRIPT_LINES_MAX = 40 };

struct script {
    const char *name; /* what is tried */
    uint32_t shards;
    const char *lines[SCRIPT_LINES_MAX]; /* up to a NULL */
};

extern const struct script scripts[];
extern const uint32_t script_count;

/* One command, ready to run. */
struct order {
    enum { ORDER_COMMAND, ORDER_TIME, ORDER_MAINTAIN } kind;
    uint32_t client;     /* 0 or 1 */
    int64_t duration_ms; /* TIME */
    uint32_t argc;
    struct bytes *argv;
    bool *in_blob; /* per argument */
};

struct orders {
    uint32_t count, room;
    struct order *first;
};

/* Expands a script; aborts when memory is out. */
struct orders orders_create(const struct script *script);
void orders_destroy(struct orders *orders);
/* The bytes of a request in RESP, which the caller frees; aborts when memory is out. */
char *order_encode(const struct order *order, size_t *out_size);

#endif
