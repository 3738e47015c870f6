/* SPDX-License-Identifier: MIT
 *
 * Where rendered replies go: a window of writable memory that refills itself.
 *
 * A writer stores through `at` while it has room up to `end` and asks `ops->grow` for a new window
 * when it has not. Who provides the sink decides what is behind it: a connection's blocks, a
 * growing buffer, a fixed array. A sink that could not grow is `failed`: everything written after
 * that is dropped and its owner gives up the receiver. One thread at a time.
 */
#ifndef LARDER_BASE_SINK_H
#define LARDER_BASE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"

struct sink;

struct sink_ops {
    /* Makes room for at least `size` more bytes (size <= SINK_RESERVE_MAX) at `at`. False: no room
     * can be made; the sink is marked failed. May move the window, never what was written. */
    bool (*grow)(struct sink *sink, size_t size);
    /* Appends any number of bytes that did not fit the window. */
    bool (*append)(struct sink *sink, const char *data, size_t size);
    /* Appends `data` without copying it and calls `release(owner)` once it is no longer needed,
     * from the thread that owns the sink. On false `release` has been called already. NULL: the
     * sink always copies. */
    bool (*refer)(struct sink *sink, const char *data, size_t size, void (*release)(void *owner),
                  void *owner);
};

struct sink {
    char *at;                   /* next byte to write */
    char *end;                  /* one past the window */
    const struct sink_ops *ops; /* never NULL */
    bool failed;                /* nothing more can be written */
};

/* The most a writer may ask for with sink_reserve. */
enum { SINK_RESERVE_MAX = 512 };

/* Returns room for `size` bytes, or NULL when the sink failed. Advance `at` past what was used. */
static inline char *sink_reserve(struct sink *sink, size_t size)
{
    if ((size_t)(sink->end - sink->at) < size && !sink->ops->grow(sink, size))
        return NULL;
    return sink->at;
}

static inline void sink_write(struct sink *sink, const char *data, size_t size)
{
    if ((size_t)(sink->end - sink->at) >= size) {
        if (size != 0) { /* at and data may be NULL */
            memcpy(sink->at, data, size);
            sink->at += size;
        }
        return;
    }
    if (!sink->ops->append(sink, data, size))
        sink->failed = true;
}

static inline void sink_write_bytes(struct sink *sink, struct bytes bytes)
{
    sink_write(sink, bytes.data, bytes.size);
}

#endif
