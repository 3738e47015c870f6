/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: memcached's text protocol. Any input must give the same requests and complaints when
 * it arrives whole and in pieces, in blocks of exactly its size, without a leak; what the requests
 * are answered with is rendered too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../wire/feed.h"
#include "base/hash.h"
#include "command/dispatch.h"
#include "engine/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUTPUT_MAX = 1 << 26, NOW_MS = 1700000000 };

struct listener {
    struct client client;
    struct reply reply;
};

static struct engine *engine;
static struct engine_thread *thread;
static struct parser worker;

static void answer(struct feed *feed, struct request *request)
{
    struct listener *listener = feed->owner;
    struct reply *reply = &listener->reply;

    /* A plain store may be either of two rows that do the same; later reads tell what it did. */
    bool stores = bytes_equal(request->argv[0], BYTES("set")) ||
                  bytes_equal(request->argv[0], BYTES("item-set"));
    if (stores) {
        feed_describe(reply->sink, 1, &request->argv[1]);
        feed_describe(reply->sink, 1, &request->argv[request->argc - 1]);
    } else {
        feed_describe(reply->sink, request->argc, request->argv);
    }
    if (request->terms != NULL && !stores)
        sink_write(reply->sink, (const char *)request->terms->form, sizeof(request->terms->form));
    reply->request = request;
    reply->index = reply->left = 0;
    dispatch_prepare(&listener->client, request);
    dispatch_run(&listener->client, request, NOW_MS, reply);
    feed->closed = request->last;
}

static void complain(struct feed *feed, const char *error)
{
    struct listener *listener = feed->owner;

    listener->reply.request = NULL;
    wire_memcache.protocol_error(&listener->reply, error);
}

/* An empty keyspace, with versions as they would be in a new one. */
static void restart(void)
{
    const struct engine_config config = {.start_ms = 1};

    if (engine != NULL) {
        engine_thread_unregister(thread);
        engine_destroy(engine);
    }
    if (engine_create(&config, &engine) != STATUS_OK ||
        engine_thread_register(engine, &thread) != STATUS_OK)
        abort();
}

/* Pieces of up to `piece_max` bytes. */
static void read_in_pieces(struct buffer *out, const struct wire_limits *limits, struct bytes input,
                           size_t piece_max, uint64_t dice)
{
    struct listener listener = {.reply = {.ops = wire_memcache.reply_ops, .sink = &out->sink}};
    restart();
    struct feed feed = {
        .wire = &wire_memcache,
        .limits = limits,
        .engine = engine,
        .worker = &worker,
        .request = answer,
        .complaint = complain,
        .owner = &listener,
        .dice = dice,
    };
    client_init(&listener.client, engine, thread);
    listener.client.authenticated = !limits->unauthenticated;
    if (!feed_init(&feed))
        abort();
    engine_thread_online(thread);
    for (size_t at = 0; at < input.size;) {
        size_t piece = piece_max >= input.size ? input.size : dice_roll(&feed.dice, piece_max) + 1;
        if (piece > input.size - at)
            piece = input.size - at;
        if (!feed_bytes(&feed, input.data + at, piece))
            abort();
        at += piece;
    }
    engine_thread_offline(thread);
    if (feed_unfinished(&feed))
        sink_write(&out->sink, "...", 3);
    feed_deinit(&feed);
    client_deinit(&listener.client);
    parser_reset(&worker);
}

static void compare(const struct wire_limits *limits, struct bytes input)
{
    struct buffer expected, got;
    uint64_t dice = hash_bytes(input.data, input.size, 0);
    const size_t piece_sizes[] = {1, 4, input.size / 2 + 1};

    buffer_init(&expected, OUTPUT_MAX);
    read_in_pieces(&expected, limits, input, SIZE_MAX, dice);
    for (size_t i = 0; i < sizeof(piece_sizes) / sizeof(piece_sizes[0]); i++) {
        if (piece_sizes[i] < 100 && input.size > 10000)
            continue; /* quadratic */
        buffer_init(&got, OUTPUT_MAX);
        read_in_pieces(&got, limits, input, piece_sizes[i], dice + i);
        if (!bytes_equal(buffer_bytes(&expected), buffer_bytes(&got))) {
            fprintf(stderr, "pieces of %zu\nexpected:\n", piece_sizes[i]);
            fwrite(buffer_bytes(&expected).data, 1, buffer_bytes(&expected).size, stderr);
            fputs("\ngot:\n", stderr);
            fwrite(buffer_bytes(&got).data, 1, buffer_bytes(&got).size, stderr);
            abort();
        }
        buffer_deinit(&got);
    }
    buffer_deinit(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Small, so that short inputs reach them. */
    static const struct wire_limits tight = {.arguments_max = 9,
                                             .argument_size_max = 99,
                                             .inline_size_max = 60,
                                             .query_size_max = SIZE_MAX};
    static const struct wire_limits stranger = {.arguments_max = 9,
                                                .argument_size_max = 99,
                                                .inline_size_max = 60,
                                                .query_size_max = SIZE_MAX,
                                                .unauthenticated = true};
    static bool begun;

    if (!begun) {
        uint32_t count;
        const struct command *rows = command_rows(&count);

        if (command_table_add(rows, count) != STATUS_OK ||
            parser_init(&worker, &wire_limits_default) != STATUS_OK)
            abort();
        begun = true;
    }
    struct bytes input = bytes_of((const char *)data, size);
    compare(&wire_limits_default, input);
    compare(&tight, input);
    compare(&stranger, input);
    return 0;
}
