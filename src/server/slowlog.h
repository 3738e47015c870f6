/* SPDX-License-Identifier: MIT
 *
 * The slow log: requests that took long, the newest first. Thread-safe: entries never change, the
 * list of them has a lock, under which nothing is formatted or allocated.
 *
 * Arguments are cut as in Redis: at most SLOWLOG_ARGUMENTS_MAX, of SLOWLOG_SIZE_MAX bytes each, and
 * a text in place of the rest.
 */
#ifndef LARDER_SERVER_SLOWLOG_H
#define LARDER_SERVER_SLOWLOG_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "os/thread.h"

enum { SLOWLOG_ARGUMENTS_MAX = 32, SLOWLOG_SIZE_MAX = 128 };

struct slowlog_entry {
    _Atomic uint32_t holders;
    struct slowlog_entry *older, *newer; /* of the list's */
    uint64_t id;                         /* no two entries have the same */
    int64_t time_s;                      /* when it ended; engine time */
    uint64_t duration_us;
    struct bytes address, name; /* of the client */
    uint32_t argc;
    struct bytes argv[]; /* all bytes lie behind */
};

struct slowlog {
    struct lock lock;
    struct slowlog_entry *newest, *oldest;
    uint64_t count;
    uint64_t id_next;
};

/* What is to be logged; copied. */
struct slowlog_note {
    int64_t time_s;
    uint64_t duration_us;
    struct bytes address, name;
    uint32_t argc;
    const struct bytes *argv; /* of the first SLOWLOG_ARGUMENTS_MAX; of each, bytes up to
                                 SLOWLOG_SIZE_MAX are read, whatever its size */
    uint32_t together;        /* requests that ran together with it and share the duration */
};

/* At most `count_max` entries stay. NO_MEMORY: the request is not in the log. */
enum status slowlog_add(struct slowlog *log, const struct slowlog_note *note, uint64_t count_max)
    MUST_USE;
void slowlog_reset(struct slowlog *log);
uint64_t slowlog_count(struct slowlog *log);

/* The newest entries, at most `count`; `*out` is NULL when there are none. The caller ends it. */
enum status slowlog_newest(struct slowlog *log, uint64_t count, struct slowlog_entry ***out,
                           uint64_t *out_count) MUST_USE;
void slowlog_newest_end(struct slowlog_entry **entries, uint64_t count);

#endif
