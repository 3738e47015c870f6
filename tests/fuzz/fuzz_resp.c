/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: RESP requests. Any input must give the same requests and complaints when it arrives
 * whole, in pieces, and when the reference reads it; without touching a byte outside the input (it
 * lies in blocks of exactly its size) and without a leak.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../wire/resp_reference.h"
#include "engine/engine.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void read_in_pieces(struct sink *out, const struct wire_limits *limits, struct bytes input,
                           size_t piece_max, uint64_t dice)
{
    struct feed feed = {
        .wire = &wire_resp,
        .limits = limits,
        .engine = engine,
        .worker = &worker,
        .request = describe_request,
        .complaint = describe_complaint,
        .owner = out,
        .dice = dice,
    };
    if (!feed_init(&feed))
        abort();
    pieces_feed(&feed, input, piece_max, out);
    feed_deinit(&feed);
    parser_reset(&worker);
}

static void compare(const struct wire_limits *limits, struct bytes input)
{
    struct buffer expected;
    buffer_init(&expected, PIECES_OUTPUT_MAX);
    resp_reference(&expected.sink, limits, input);
    struct bytes right = buffer_bytes(&expected);
    pieces_compare(read_in_pieces, limits, input, &right);
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
