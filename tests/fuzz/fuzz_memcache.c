/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: memcached's text protocol. Any input must give the same requests and complaints when
 * it arrives whole and in pieces, in blocks of exactly its size, without a leak; what the requests
 * are answered with is rendered too.
 */
#include <stdint.h>
#include <stdlib.h>

#include "command/dispatch.h"
#include "engine/engine.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW_MS = 1700000000 };

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

static void read_in_pieces(struct sink *out, const struct wire_limits *limits, struct bytes input,
                           size_t piece_max, uint64_t dice)
{
    struct listener listener = {.reply = {.ops = wire_memcache.reply_ops, .sink = out}};
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
    pieces_feed(&feed, input, piece_max, out);
    engine_thread_offline(thread);
    feed_deinit(&feed);
    client_deinit(&listener.client);
    parser_reset(&worker);
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
    pieces_compare(read_in_pieces, &wire_limits_default, input, NULL);
    pieces_compare(read_in_pieces, &tight, input, NULL);
    pieces_compare(read_in_pieces, &stranger, input, NULL);
    return 0;
}
