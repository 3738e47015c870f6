/* SPDX-License-Identifier: MIT */
#include "feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "engine/blob.h"

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

uint64_t dice_roll(uint64_t *dice, uint64_t sides)
{
    uint64_t z = *dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % sides;
}

void feed_describe(struct sink *sink, uint32_t argc, const struct bytes *argv)
{
    char digits[NUMBER_I64_MAX_SIZE];
    for (uint32_t i = 0; i < argc; i++) {
        sink_write(sink, digits, number_format_u64(digits, argv[i].size));
        sink_write(sink, ":", 1);
        sink_write_bytes(sink, argv[i]);
        sink_write(sink, " ", 1);
    }
    sink_write(sink, "\n", 1);
}

bool feed_init(struct feed *feed)
{
    feed->own_used = false;
    feed->closed = false;
    feed->input = NULL;
    feed->input_size = 0;
    feed->blob = NULL;
    feed->discarding = false;
    return parser_init(&feed->own, feed->limits) == STATUS_OK;
}

void feed_deinit(struct feed *feed)
{
    if (feed->blob != NULL)
        blob_release(feed->blob);
    parser_deinit(&feed->own);
    free(feed->input);
}

bool feed_unfinished(const struct feed *feed)
{
    return !feed->closed && (feed->input_size != 0 || feed->own_used);
}

/* Replaces the input by its bytes from `drop` on and `more` behind them. */
static void input_change(struct feed *feed, size_t drop, const char *more, size_t more_size)
{
    MUST(drop <= feed->input_size);
    size_t keep = feed->input_size - drop;
    char *input = malloc(keep + more_size);
    MUST(input != NULL);
    if (keep != 0)
        memcpy(input, feed->input + drop, keep);
    if (more_size != 0)
        memcpy(input + keep, more, more_size);
    free(feed->input);
    feed->input = input;
    feed->input_size = keep + more_size;
}

/* Moves what has come of a big argument from the input to its blob, if it has one. True: it is
 * complete. */
static bool blob_fill(struct feed *feed)
{
    size_t part = feed->blob_size - feed->blob_received;
    if (part > feed->input_size)
        part = feed->input_size;
    if (part != 0 && feed->blob != NULL)
        memcpy(blob_data(feed->blob) + feed->blob_received, feed->input, part);
    feed->blob_received += part;
    input_change(feed, part, NULL, 0);
    if (feed->blob_received != feed->blob_size)
        return false;
    if (feed->blob != NULL)
        parser_blob_received(&feed->own, feed->blob,
                             bytes_of(blob_data(feed->blob), feed->blob_size));
    else
        parser_blob_received(&feed->own, NULL, BYTES(""));
    feed->blob = NULL;
    feed->discarding = false;
    return true;
}

/* After MORE. False: out of memory. */
static bool keep(struct feed *feed, struct parser *parser)
{
    size_t size = feed->input_size;
    MUST(parser->need == 0 || parser->need > size);
    MUST(parser_unfinished(parser) == (size != 0 || feed->own_used));
    if (!parser_unfinished(parser))
        return true;
    if (parser->blob_need != 0) {
        MUST(parser->blob_offset <= size && size - parser->blob_offset < parser->blob_need);
        MUST(parser->need >= parser->blob_offset + parser->blob_need);
    }
    bool told = parser->interim.size != 0;
    if (told && feed->interim != NULL)
        feed->interim(feed, parser->interim);
    parser->interim = bytes_of(NULL, 0);
    bool take_blob = parser->blob_need != 0 && feed->engine != NULL && dice_roll(&feed->dice, 4);
    if (parser == feed->worker) {
        if (!take_blob && !told && !parser->judged && dice_roll(&feed->dice, 2)) {
            parser_reset(parser);
            return true;
        }
        parser_move(parser, &feed->own);
        feed->own_used = true;
        MUST(!parser_unfinished(parser));
    }
    if (!take_blob)
        return true;
    feed->discarding = feed->own.blob_unwanted;
    if (!feed->discarding) {
        feed->blob = blob_create(feed->engine, feed->own.blob_need, LIMIT_HOLDS);
        if (feed->blob == NULL)
            return true; /* go on in place */
    }
    feed->blob_size = feed->own.blob_need;
    feed->blob_received = 0;
    size_t offset = feed->own.blob_offset;
    if (parser_blob_begin(&feed->own, feed->input) != STATUS_OK)
        return false;
    input_change(feed, offset, NULL, 0);
    return true;
}

bool feed_bytes(struct feed *feed, const char *data, size_t size)
{
    if (feed->closed)
        return true;
    input_change(feed, 0, data, size);
    if (feed->wire == NULL && (feed->input_size == 0 || wire_detect(feed->input, feed->input_size,
                                                                    &feed->wire) != DETECT_YES))
        return true;
    while (!feed->closed) {
        if ((feed->blob != NULL || feed->discarding) && !blob_fill(feed))
            return true;
        struct parser *parser = feed->own_used ? &feed->own : feed->worker;
        parser->limits = feed->limits;
        size_t consumed = 0;
        switch (feed->wire->parse(parser, feed->input, feed->input_size, &consumed)) {
        case PARSE_DONE:
            MUST((consumed != 0 || feed->own_used) && consumed <= feed->input_size);
            MUST(!parser_unfinished(parser));
            if (parser->request.argc != 0)
                feed->request(feed, &parser->request);
            if (feed->own_used)
                parser_reset(&feed->own);
            feed->own_used = false;
            input_change(feed, consumed, NULL, 0);
            break;
        case PARSE_MORE:
            if (!keep(feed, parser)) {
                feed->closed = true;
                return false;
            }
            if (feed->blob == NULL && !feed->discarding)
                return true;
            break;
        case PARSE_BAD:
            MUST(parser->error != NULL);
            feed->complaint(feed, parser->error);
            parser_reset(parser);
            feed->closed = true;
            break;
        }
    }
    return true;
}
