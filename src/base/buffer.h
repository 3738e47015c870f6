/* SPDX-License-Identifier: MIT
 *
 * A growing run of bytes with a ceiling, which is also a sink: the place for replies where no
 * connection is behind them (the library, tests, benches). Copies everything (`refer` is NULL).
 * Growing moves what was written, so bytes got from buffer_bytes are valid until the next write.
 */
#ifndef LARDER_BASE_BUFFER_H
#define LARDER_BASE_BUFFER_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/sink.h"

struct buffer {
    struct sink sink; /* write through this; failed when memory or the ceiling is reached */
    char *data;       /* owned; NULL until the first write */
    size_t max_size;
};

/* Allocates nothing yet. */
void buffer_init(struct buffer *buffer, size_t max_size);
void buffer_deinit(struct buffer *buffer);
/* What was written since buffer_init or buffer_clear. */
struct bytes buffer_bytes(const struct buffer *buffer);
/* Forgets content and failure, keeps the memory. */
void buffer_clear(struct buffer *buffer);
/* Forgets all but the first `size` bytes, and failure. */
void buffer_cut(struct buffer *buffer, size_t size);

#endif
