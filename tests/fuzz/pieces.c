/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

enum {
    SMALL_PIECES_MAX = 10000
}; /* bytes of input that are read in small pieces: it is quadratic */

void pieces_feed(struct feed *feed, struct bytes input, size_t piece_max, struct sink *out)
{
    for (size_t at = 0; at < input.size;) {
        size_t piece = piece_max >= input.size ? input.size : dice_roll(&feed->dice, piece_max) + 1;

        if (piece > input.size - at)
            piece = input.size - at;
        if (!feed_bytes(feed, input.data + at, piece))
            abort();
        at += piece;
    }
    if (feed_unfinished(feed))
        sink_write(out, "...", 3);
}

static void show(const char *what, struct bytes bytes)
{
    fprintf(stderr, "\n%s:\n", what);
    fwrite(bytes.data, 1, bytes.size, stderr);
}

void pieces_compare(pieces_read *read, const struct wire_limits *limits, struct bytes input,
                    const struct bytes *expected)
{
    uint64_t dice = hash_bytes(input.data, input.size, 0);
    const size_t sizes[] = {SIZE_MAX, 1, 4, 30, input.size / 2 + 1};
    struct buffer whole, got;
    struct bytes right;

    buffer_init(&whole, PIECES_OUTPUT_MAX);
    if (expected == NULL)
        read(&whole.sink, limits, input, SIZE_MAX, dice);
    right = expected != NULL ? *expected : buffer_bytes(&whole);
    for (size_t i = expected == NULL; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] < 100 && input.size > SMALL_PIECES_MAX)
            continue;
        buffer_init(&got, PIECES_OUTPUT_MAX);
        read(&got.sink, limits, input, sizes[i], dice + i);
        if (!bytes_equal(right, buffer_bytes(&got))) {
            fprintf(stderr, "pieces of %zu", sizes[i]);
            show("expected", right);
            show("got", buffer_bytes(&got));
            abort();
        }
        buffer_deinit(&got);
    }
    buffer_deinit(&whole);
}
