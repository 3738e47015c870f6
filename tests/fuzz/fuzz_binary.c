/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: packets of memcached's binary protocol. Any input must give the same requests,
 * terms and complaints however it arrives, without touching a byte outside it (it lies in blocks of
 * exactly its size) and without a leak. Whatever is asked for is a command with as many arguments
 * as it has, and its key lies within memcached's bounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "engine/engine.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEY_MAX = 250 };

static struct engine *engine;
static struct parser worker;

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "must hold: %s\n", what);
        abort();
    }
}

static void describe_time(struct sink *sink, struct item_time time)
{
    char text[64];
    sink_write(sink, text,
               (size_t)snprintf(text, sizeof(text), " %d,%lld", time.form,
                                time.form > ITEM_TIME_NEVER ? (long long)time.ms : 0));
}

/* Only what the options say is there. */
static void describe_terms(struct sink *sink, bool counts, const struct item_terms *terms)
{
    char text[160];
    int size = snprintf(text, sizeof(text), "mode %d options %x flags %x form %llx %llx",
                        terms->mode, terms->options, terms->flags,
                        (unsigned long long)terms->form[0], (unsigned long long)terms->form[1]);
    sink_write(sink, text, (size_t)size);
    describe_time(sink, terms->time);
    if (terms->options & ITEM_VIVIFIES)
        describe_time(sink, terms->vivify_time);
    if (terms->options & ITEM_COMPARES)
        sink_write(sink, (const char *)&terms->compare, sizeof(terms->compare));
    if (counts) {
        sink_write(sink, (const char *)&terms->delta, sizeof(terms->delta));
        sink_write(sink, (const char *)&terms->initial, sizeof(terms->initial));
    }
    sink_write(sink, "\n", 1);
}

static void describe_request(struct feed *feed, struct request *request)
{
    const struct command *command = command_find(request->argv[0]);
    must(request->terms != NULL, "every request has terms");
    if (command != NULL) { /* else it is one of the server's */
        must(command_arity_ok(command, request->argc), "the command has these arguments");
        if (command->key_first > 0)
            must(request->argv[1].size > 0 && request->argv[1].size <= KEY_MAX, "a key's size");
    }
    feed_describe(feed->owner, request->argc, request->argv);
    describe_terms(feed->owner, bytes_equal(request->argv[0], BYTES("item-count")), request->terms);
    feed->closed = request->last;
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
        .wire = &wire_binary,
        .limits = limits,
        .engine = engine,
        .worker = &worker,
        .request = describe_request,
        .complaint = describe_complaint,
        .owner = out,
        .dice = dice,
    };
    must(feed_init(&feed), "there is memory");
    pieces_feed(&feed, input, piece_max, out);
    feed_deinit(&feed);
    parser_reset(&worker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Small, so that short inputs reach them. */
    static const struct wire_limits tight = {.arguments_max = 9,
                                             .argument_size_max = 99,
                                             .inline_size_max = 40,
                                             .query_size_max = SIZE_MAX};
    if (engine == NULL) {
        const struct engine_config config = {.start_ms = 1};
        uint32_t count;
        const struct command *rows = command_rows(&count);
        must(command_table_add(rows, count) == STATUS_OK, "the commands fit");
        must(engine_create(&config, &engine) == STATUS_OK, "there is memory");
        must(parser_init(&worker, &wire_limits_default) == STATUS_OK, "there is memory");
    }
    struct bytes input = bytes_of((const char *)data, size);
    pieces_compare(read_in_pieces, &wire_limits_default, input, NULL);
    pieces_compare(read_in_pieces, &tight, input, NULL);
    pieces_compare(read_in_pieces, &wire_limits_unauthenticated, input, NULL);
    return 0;
}
