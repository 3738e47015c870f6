/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: RESP requests. Any input must give the same requests and complaints when it arrives
 * whole, in pieces, and when the reference reads it; without touching a byte outside the input (it
 * lies in blocks of exactly its size) and without a leak.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../wire/feed.h"
#include "../wire/resp_reference.h"
#include "base/hash.h"
#include "engine/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUTPUT_MAX = 1 << 26 };

static struct engine *engine;
static struct parser worker;

static void describe_request(struct feed *feed, struct request *request)
{
    feed_describe(feed->owner, request->argc, request->argv);
}

static void describe_complaint(struct feed *feed, const char *error)
{
    sink_write((struct sink *)feed->owner, "! ", 2);
    sink_write_bytes(feed->owner, bytes_of_text(error));
}

/* Pieces of up to `piece_max` bytes. */
static void read_in_pieces(struct buffer *out, const struct wire_limits *limits, struct bytes input,
                           size_t piece_max, uint64_t dice)
{
    struct feed feed = {
        .wire = &wire_resp,
        .limits = limits,
        .engine = engine,
        .worker = &worker,
        .request = describe_request,
        .complaint = describe_complaint,
        .owner = &out->sink,
        .dice = dice,
    };
    if (!feed_init(&feed))
        abort();
    for (size_t at = 0; at < input.size;) {
        size_t piece = piece_max >= input.size ? input.size : dice_roll(&feed.dice, piece_max) + 1;
        if (piece > input.size - at)
            piece = input.size - at;
        if (!feed_bytes(&feed, input.data + at, piece))
            abort();
        at += piece;
    }
    if (feed_unfinished(&feed))
        sink_write(&out->sink, "...", 3);
    feed_deinit(&feed);
    parser_reset(&worker);
}

static void compare(const struct wire_limits *limits, struct bytes input)
{
    struct buffer expected, got;
    buffer_init(&expected, OUTPUT_MAX);
    resp_reference(&expected.sink, limits, input);
    uint64_t dice = hash_bytes(input.data, input.size, 0);
    const size_t piece_sizes[] = {SIZE_MAX, 1, 4, input.size / 2 + 1};
    for (size_t i = 0; i < sizeof(piece_sizes) / sizeof(piece_sizes[0]); i++) {
        if (piece_sizes[i] < 100 && input.size > 10000)
            continue; /* quadratic */
        buffer_init(&got, OUTPUT_MAX);
        read_in_pieces(&got, limits, input, piece_sizes[i], dice + i);
        if (!bytes_equal(buffer_bytes(&expected), buffer_bytes(&got))) {
            fprintf(stderr, "pieces of %zu:\nexpected: %.*s\ngot: %.*s\n", piece_sizes[i],
                    (int)buffer_bytes(&expected).size, expected.data, (int)buffer_bytes(&got).size,
                    got.data);
            abort();
        }
        buffer_deinit(&got);
    }
    buffer_deinit(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The smallest there may be, so that short inputs reach them. */
    static const struct wire_limits tight = {.arguments_max = 9,
                                             .argument_size_max = 99,
                                             .inline_size_max = 40,
                                             .query_size_max = SIZE_MAX,
                                             .unauthenticated = true};
    if (engine == NULL) {
        const struct engine_config config = {.start_ms = 1};
        if (engine_create(&config, &engine) != STATUS_OK ||
            parser_init(&worker, &wire_limits_default) != STATUS_OK)
            abort();
    }
    struct bytes input = bytes_of((const char *)data, size);
    compare(&wire_limits_default, input);
    compare(&tight, input);
    return 0;
}
