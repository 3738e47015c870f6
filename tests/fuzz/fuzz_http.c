/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: HTTP requests. Any input must give the same requests, with the same terms, whether
 * it arrives whole or in pieces; without touching a byte outside the input (it lies in blocks of
 * exactly its size) and without a leak. Answers are rendered too, of what an engine says, so that
 * nothing that was accepted can break them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/dispatch.h"
#include "engine/engine.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW_MS = 1700000000 };

static struct engine *engine;
static struct engine_thread *thread;
static struct parser worker;

struct reading {
    struct feed feed;
    struct client client;
    struct sink *requests;
    struct buffer answers;
    struct reply reply;
};

static void take_request(struct feed *feed, struct request *request)
{
    struct reading *reading = (struct reading *)feed; /* its first member */
    const struct item_terms *terms = request->terms;
    struct bytes form = bytes_of((const char *)terms->form, sizeof(terms->form));
    struct bytes told[] = {form, bytes_of((const char *)&terms->time.ms, 8)};

    feed_describe(reading->requests, request->argc, request->argv);
    feed_describe(reading->requests, 2, told);
    sink_write(reading->requests, request->last ? "last\n" : "", request->last ? 5 : 0);
    reading->reply.request = request;
    reading->reply.errored = false;
    dispatch_prepare(&reading->client, request);
    engine_thread_online(thread);
    dispatch_run(&reading->client, request, NOW_MS, &reading->reply);
    engine_thread_offline(thread);
    feed->closed = request->last;
    buffer_deinit(&reading->answers);
    buffer_init(&reading->answers, PIECES_OUTPUT_MAX);
}

static void take_complaint(struct feed *feed, const char *error)
{
    (void)feed;
    fprintf(stderr, "HTTP refuses by answering: %s\n", error);
    abort();
}

static void read_in_pieces(struct sink *out, const struct wire_limits *limits, struct bytes input,
                           size_t piece_max, uint64_t dice)
{
    struct reading reading = {
        .feed = {.wire = &wire_http,
                 .limits = limits,
                 .engine = engine,
                 .worker = &worker,
                 .request = take_request,
                 .complaint = take_complaint,
                 .dice = dice},
        .requests = out,
        .reply = {.ops = wire_http.reply_ops},
    };
    client_init(&reading.client, engine, thread);
    reading.client.authenticated = true;
    buffer_init(&reading.answers, PIECES_OUTPUT_MAX);
    reading.reply.sink = &reading.answers.sink;
    if (!feed_init(&reading.feed))
        abort();
    pieces_feed(&reading.feed, input, piece_max, out);
    feed_deinit(&reading.feed);
    parser_reset(&worker);
    client_deinit(&reading.client);
    buffer_deinit(&reading.answers);
}

/* Whether the connection is HTTP's never depends on how many bytes are there. */
static void detect(struct bytes input)
{
    enum detect known = DETECT_MORE;

    for (size_t size = 1; size <= input.size && size < 9000; size++) {
        char *copy = malloc(size);
        if (copy == NULL)
            abort();
        memcpy(copy, input.data, size);
        enum detect answer = wire_http.detect(copy, size);
        free(copy);
        if (known != DETECT_MORE && answer != known)
            abort();
        known = answer;
        if (size > 300 && known != DETECT_MORE)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire_limits tight;
    if (engine == NULL) {
        const struct engine_config config = {.start_ms = 1, .shards = 1};
        uint32_t count;
        const struct command *rows = command_rows(&count);
        tight = wire_limits_unauthenticated;
        tight.argument_size_max = 99;
        tight.query_size_max = 1000;
        if (engine_create(&config, &engine) != STATUS_OK ||
            engine_thread_register(engine, &thread) != STATUS_OK ||
            command_table_add(rows, count) != STATUS_OK ||
            parser_init(&worker, &wire_limits_default) != STATUS_OK)
            abort();
    }
    struct bytes input = bytes_of((const char *)data, size);
    detect(input);
    pieces_compare(read_in_pieces, &wire_limits_default, input, NULL);
    pieces_compare(read_in_pieces, &tight, input, NULL);
    engine_maintain(engine, NOW_MS);
    return 0;
}
