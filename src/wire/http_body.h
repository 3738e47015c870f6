/* SPDX-License-Identifier: MIT
 *
 * Chunked bodies (RFC 9112, 7.1): measured first, without changing them, and put together in place
 * once all of it is there. No state but the caller's.
 */
#ifndef LARDER_WIRE_HTTP_BODY_H
#define LARDER_WIRE_HTTP_BODY_H

#include "wire/http_head.h"

/* How far the measuring has come. */
struct http_chunks {
    size_t at;    /* where the next chunk's line begins */
    size_t total; /* bytes of the chunks before */
    size_t need;  /* no use to go on with fewer bytes */
};

/* Goes on measuring. DONE: `at` is behind the body. MORE: as the fields say. BAD: what is wrong in
 * `*complaint`. More than `size_max` decoded bytes are too large. */
enum parse http_chunks_measure(struct http_chunks *chunks, const char *data, size_t size,
                               size_t size_max, enum http_complaint *complaint);
/* Moves what is in the chunks of the measured body that begins at `at` together, to its start. */
void http_chunks_join(char *at);

#endif
