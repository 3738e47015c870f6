/* SPDX-License-Identifier: MIT
 *
 * RESP requests: what is accepted, what is refused, and that neither depends on how the bytes
 * arrive.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../wire/feed.h"
#include "../../wire/resp_reference.h"
#include "base/alloc.h"
#include "engine/blob.h"
#include "engine/engine.h"

enum { OUTPUT_MAX = 1 << 26 };

static struct engine *engine;
static struct parser worker;

static int set_up(void **state)
{
    (void)state;
    const struct engine_config config = {.start_ms = 1};
    return engine_create(&config, &engine) != STATUS_OK ||
           parser_init(&worker, &wire_limits_default) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    parser_deinit(&worker);
    engine_destroy(engine);
    return 0;
}

/* ---- feeding */

static void describe_request(struct feed *feed, struct request *request)
{
    for (uint32_t i = 0; request->blobs != NULL && i < request->argc; i++) {
        if (request->blobs[i] != NULL) {
            assert_ptr_equal(request->argv[i].data, blob_data(request->blobs[i]));
            if (dice_roll(&feed->dice, 2)) { /* as a handler that keeps the value */
                feed_describe(feed->owner, request->argc, request->argv);
                blob_release(request->blobs[i]);
                request->blobs[i] = NULL;
                return;
            }
        }
    }
    feed_describe(feed->owner, request->argc, request->argv);
}

static void describe_complaint(struct feed *feed, const char *error)
{
    sink_write((struct sink *)feed->owner, "! ", 2);
    sink_write_bytes(feed->owner, bytes_of_text(error));
}

struct pieces {
    size_t first; /* size of the first piece */
    size_t then;  /* of the others; 0: all that is left; SIZE_MAX: random ones up to size_max */
    size_t size_max;
};

static void feed_pieces(struct buffer *out, const struct wire_limits *limits, struct bytes input,
                        struct pieces pieces, uint64_t dice)
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
    assert_true(feed_init(&feed));
    for (size_t at = 0, size = pieces.first; at < input.size; at += size) {
        if (at != 0)
            size = pieces.then == 0          ? input.size
                   : pieces.then == SIZE_MAX ? dice_roll(&feed.dice, pieces.size_max) + 1
                                             : pieces.then;
        if (size > input.size - at)
            size = input.size - at;
        assert_true(feed_bytes(&feed, input.data + at, size));
    }
    if (feed_unfinished(&feed))
        sink_write(&out->sink, "...", 3);
    feed_deinit(&feed);
    parser_reset(&worker);
    worker.limits = &wire_limits_default;
}

static void assert_outcome(const struct wire_limits *limits, struct bytes input,
                           struct pieces pieces, uint64_t dice, struct bytes expected)
{
    struct buffer out;
    buffer_init(&out, OUTPUT_MAX);
    feed_pieces(&out, limits, input, pieces, dice);
    struct bytes got = buffer_bytes(&out);
    if (!bytes_equal(got, expected))
        fail_msg("pieces of %zu, then %zu, dice %" PRIu64
                 "\ninput: %.*s\nexpected: %.*s\ngot: %.*s",
                 pieces.first, pieces.then, dice, (int)input.size, input.data, (int)expected.size,
                 expected.data, (int)got.size, got.data);
    buffer_deinit(&out);
}

/* ---- samples */

struct sample {
    struct bytes input;
    const char *expected; /* as feed_describe, resp_reference */
};

#define SAMPLE(input, expected)                                                                    \
    {                                                                                              \
        {input, sizeof(input) - 1}, expected                                                       \
    }

static const struct sample samples[] = {
    /* arrays */
    SAMPLE("*1\r\n$4\r\nPING\r\n", "4:PING \n"),
    SAMPLE("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*1\r\n$4\r\nPING\r\n", "3:GET 3:key \n4:PING \n"),
    SAMPLE("*2\r\n$3\r\nGET\r\n$16\r\n0123456789abcdef\r\n", "3:GET 16:0123456789abcdef \n"),
    SAMPLE("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\n\r\n\r\n", "3:SET 0: 2:\r\n \n"),
    SAMPLE("*10\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n"
           "$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n",
           "1:0 1:1 1:2 1:3 1:4 1:5 1:6 1:7 1:8 1:9 \n"),
    SAMPLE("*2\r\n$4\r\nECHO\r\n$105\r\n" /* three digits */
           "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"
           "0123456789abcdefghijklmnopqrstuvw\r\n",
           "4:ECHO 105:"
           "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"
           "0123456789abcdefghijklmnopqrstuvw \n"),
    SAMPLE(
        "*17\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n"
        "$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n"
        "$1\r\na\r\n$1\r\nb\r\n", /* more than the first argv holds */
        "1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:a 1:b \n"),
    /* as lenient as Redis about line ends in arrays */
    SAMPLE("*1\r\r$4\r PINGxx*1\r\n$4\r\nPING\r\n", "4:PING \n4:PING \n"),
    /* nothing to run */
    SAMPLE("\r\n*1\r\n$4\r\nPING\r\n", "4:PING \n"),
    SAMPLE("\n\r\n  \t \r\n\r\r\nPING\r\n", "4:PING \n"),
    SAMPLE("*0\r\n*-1\r\n*-9223372036854775808\r\nPING\n", "4:PING \n"),
    SAMPLE("", ""),
    /* unfinished */
    SAMPLE("*", "..."),
    SAMPLE("*1\r", "..."),
    SAMPLE("*1\r\n", "..."),
    SAMPLE("*1\r\n$4\r\nPING\r", "..."),
    SAMPLE("*1\r\nx", "..."),
    SAMPLE("*1048576\r\n$1\r\na\r\n", "..."),
    SAMPLE("*1\r\n$536870912\r\nabc", "..."),
    SAMPLE("PING", "..."),
    SAMPLE("PING\r\nPI", "4:PING \n..."),
    /* inline */
    SAMPLE("PING\r\n", "4:PING \n"),
    SAMPLE("PING\n", "4:PING \n"),
    SAMPLE("  SET\tkey  value \v\f\r\n", "3:SET 3:key 5:value \n"),
    SAMPLE("a\vb c\rd\r\n", "3:a\vb 1:c 1:d \n"),
    SAMPLE("SET k \"a b\\r\\n\\t\\b\\a\\\\\\\"\\q\\x41\\x4\\xzz\"\r\n",
           "3:SET 1:k 17:a b\r\n\t\b\a\\\"qAx4xzz \n"),
    SAMPLE("SET k 'it\\'s \\n \"'\r\n", "3:SET 1:k 9:it's \\n \" \n"),
    SAMPLE("SET \"\" ''\r\n", "3:SET 0: 0: \n"),
    SAMPLE("SET a\"b c\" d'e f'\r\n", "3:SET 4:ab c 4:de f \n"),
    SAMPLE("GET \xff\x80\r\n", "3:GET 2:\xff\x80 \n"),
    SAMPLE("$4\r\nPING\r\n", "2:$4 \n4:PING \n"),
    /* refused */
    SAMPLE("SET k \"abc\r\nPING\r\n", "! Protocol error: unbalanced quotes in request"),
    SAMPLE("SET k 'abc\\'\r\n", "! Protocol error: unbalanced quotes in request"),
    SAMPLE("SET k \"abc\\\r\n", "! Protocol error: unbalanced quotes in request"),
    SAMPLE("SET k \"a\"b\r\n", "! Protocol error: unbalanced quotes in request"),
    SAMPLE("SET k 'a'\"b\"\r\n", "! Protocol error: unbalanced quotes in request"),
    SAMPLE("*\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*x\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*01\r\n$4\r\nPING\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*+1\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*-0\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("* 1\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*1\n$4\nPING\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*1048577\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("*9223372036854775808\r\n", "! Protocol error: invalid multibulk length"),
    SAMPLE("PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n",
           "4:PING \n! Protocol error: expected '$', got 'f'"),
    SAMPLE("*1\r\n\r\n", "! Protocol error: expected '$', got ' '"),
    SAMPLE("*1\r\n:1\r\n", "! Protocol error: expected '$', got ':'"),
    SAMPLE("*2\r\n$4\r\nPING\r\n*1\r\n", "! Protocol error: expected '$', got '*'"),
    SAMPLE("*1\r\n$\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$-1\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$x\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$1x\r\na\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$00\r\n\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$536870913\r\n", "! Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$99999999999999999999\r\n", "! Protocol error: invalid bulk length"),
};

enum { SAMPLE_COUNT = sizeof(samples) / sizeof(samples[0]) };

static void requests_and_complaints_are_those_of_redis(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        assert_outcome(&wire_limits_default, samples[i].input, (struct pieces){SIZE_MAX, 0, 0}, i,
                       bytes_of_text(samples[i].expected));
}

static void no_split_changes_the_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        struct bytes input = samples[i].input, expected = bytes_of_text(samples[i].expected);
        for (uint64_t dice = 0; dice < 3; dice++)
            assert_outcome(&wire_limits_default, input, (struct pieces){1, 1, 0}, dice, expected);
        for (size_t first = 1; first < input.size; first++) {
            assert_outcome(&wire_limits_default, input, (struct pieces){first, 0, 0}, first,
                           expected);
            assert_outcome(&wire_limits_default, input, (struct pieces){first, 1, 0}, first,
                           expected);
        }
    }
}

/* ---- random input against the reference */

static void add_text(struct buffer *out, const char *text)
{
    sink_write_bytes(&out->sink, bytes_of_text(text));
}

static void add_number(struct buffer *out, const char *format, size_t number)
{
    char text[64];
    snprintf(text, sizeof(text), format, number);
    add_text(out, text);
}

static void add_random_bytes(struct buffer *out, size_t size, uint64_t *dice)
{
    for (size_t i = 0; i < size; i++) {
        char c = dice_roll(dice, 2) ? (char)dice_roll(dice, 256)
                                    : "*$\r\n\r\n\"'\\ 0123456789-xafnrt"[dice_roll(dice, 27)];
        sink_write(&out->sink, &c, 1);
    }
}

static size_t random_size(uint64_t *dice, bool big)
{
    static const size_t sizes[] = {4, 12, 12, 120, 1200, 70000};
    return dice_roll(dice, sizes[dice_roll(dice, big ? 6 : 4)]);
}

static void add_random_request(struct buffer *out, uint64_t *dice, bool big)
{
    if (dice_roll(dice, 4) == 0) {
        for (size_t words = dice_roll(dice, 5); words > 0; words--) {
            static const char *const quotes[] = {"", "", "\"", "'"};
            const char *quote = quotes[dice_roll(dice, 4)];
            add_text(out, quote);
            for (size_t size = dice_roll(dice, 12); size > 0; size--) {
                static const char *const parts[] = {"a",     "B",    "\\x4", "\\n",  "\\'", "\\\"",
                                                    "\\x41", "\xfe", "1",    "\\\\", " ",   "'"};
                add_text(out, parts[dice_roll(dice, *quote ? 12 : 10)]);
            }
            add_text(out, quote);
            add_text(out, dice_roll(dice, 8) ? " " : "\t \v");
        }
        add_text(out, dice_roll(dice, 3) ? "\r\n" : "\n");
        return;
    }
    size_t argc = dice_roll(dice, dice_roll(dice, 8) ? 6 : 40);
    add_number(out, "*%zu\r\n", argc);
    for (; argc > 0; argc--) {
        size_t size = random_size(dice, big);
        add_number(out, "$%zu\r\n", size);
        if (size < 1000)
            add_random_bytes(out, size, dice);
        else
            for (size_t i = 0; i < size; i++)
                sink_write(&out->sink, &"0123456789abcdef"[(i * 7 + argc) % 16], 1);
        add_text(out, "\r\n");
    }
}

static void assert_like_reference(uint64_t seed, bool big)
{
    uint64_t dice = seed;
    struct buffer input, expected;
    buffer_init(&input, OUTPUT_MAX);
    buffer_init(&expected, OUTPUT_MAX);
    for (size_t requests = dice_roll(&dice, 6) + 1; requests > 0; requests--)
        add_random_request(&input, &dice, big);
    struct bytes bytes = buffer_bytes(&input);
    if (dice_roll(&dice, 2) && bytes.size != 0) { /* damage some of it */
        for (size_t faults = dice_roll(&dice, 4); faults > 0; faults--)
            input.data[dice_roll(&dice, bytes.size)] = "*$\r\n0919-\"' x"[dice_roll(&dice, 13)];
        if (dice_roll(&dice, 2))
            bytes.size = dice_roll(&dice, bytes.size);
    }
    static const struct wire_limits tight = {.arguments_max = 9,
                                             .argument_size_max = 99,
                                             .inline_size_max = 120,
                                             .query_size_max = SIZE_MAX,
                                             .unauthenticated = true};
    const struct wire_limits *limits = dice_roll(&dice, 3) ? &wire_limits_default : &tight;
    resp_reference(&expected.sink, limits, bytes);
    size_t size_max = big ? 70000 : dice_roll(&dice, 2) ? 3 : 60;
    struct pieces ways[] = {
        {SIZE_MAX, 0, 0},
        {dice_roll(&dice, bytes.size + 1) + 1, 0, 0},
        {dice_roll(&dice, size_max) + 1, SIZE_MAX, size_max},
        {dice_roll(&dice, size_max) + 1, SIZE_MAX, size_max},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        assert_outcome(limits, bytes, ways[i], seed + i, buffer_bytes(&expected));
    buffer_deinit(&input);
    buffer_deinit(&expected);
}

static void random_input_is_read_as_the_reference_reads_it(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) * 1000000;
    print_message("seed %" PRIu64 "\n", seed);
    for (uint64_t i = 0; i < 6000; i++)
        assert_like_reference(seed + i, false);
    for (uint64_t i = 0; i < 150; i++)
        assert_like_reference(seed + i, true);
}

/* ---- limits */

static enum parse parse_whole(struct bytes input)
{
    size_t consumed;
    char *copy = malloc(input.size);
    assert_non_null(copy);
    memcpy(copy, input.data, input.size);
    enum parse parse = wire_resp.parse(&worker, copy, input.size, &consumed);
    free(copy);
    return parse;
}

static void announced_arguments_claim_no_memory(void **state)
{
    (void)state;
    uint32_t room = worker.argv_room; /* an earlier test may have left more than the first room */
    assert_int_equal(parse_whole(BYTES("*1048576\r\n$1\r\na\r\n")), PARSE_MORE);
    assert_int_equal(worker.argv_room, room);
    parser_reset(&worker);
    assert_int_equal(parse_whole(BYTES("*2\r\n$3\r\nGET\r\n$536870912\r\na")), PARSE_MORE);
    assert_int_equal(worker.need, 4 + 9 + 12 + 536870912 + 2);
    assert_int_equal(worker.blob_need, 536870912);
    assert_int_equal(worker.blob_offset, 4 + 9 + 12);
    parser_reset(&worker);
}

static void memory_for_many_arguments_is_given_back(void **state)
{
    (void)state;
    struct buffer input;
    buffer_init(&input, OUTPUT_MAX);
    add_text(&input, "*5000\r\n");
    for (int i = 0; i < 5000; i++)
        add_text(&input, "$1\r\na\r\n");
    assert_int_equal(parse_whole(buffer_bytes(&input)), PARSE_DONE);
    assert_int_equal(worker.request.argc, 5000);
    assert_int_equal(parse_whole(BYTES("*1\r\n$4\r\nPING\r\n")), PARSE_DONE);
    assert_int_equal(worker.request.argc, 1);
    assert_true(worker.argv_room <= 16);
    buffer_deinit(&input);
}

static void add_fill(struct buffer *out, char c, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sink_write(&out->sink, &c, 1);
}

/* `head`, `size` times 'a', `tail`: in pieces of several sizes. */
static void assert_long(const struct wire_limits *limits, const char *head, size_t size,
                        const char *tail, const char *expected)
{
    struct buffer input;
    buffer_init(&input, OUTPUT_MAX);
    add_text(&input, head);
    add_fill(&input, 'a', size);
    add_text(&input, tail);
    const struct pieces ways[] = {{SIZE_MAX, 0, 0}, {100, 1000, 0}, {65535, 1, 0}, {65536, 7, 0}};
    struct buffer out;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        buffer_init(&out, OUTPUT_MAX);
        feed_pieces(&out, limits, buffer_bytes(&input), ways[i], i);
        struct bytes got = buffer_bytes(&out);
        if (got.size > 60)
            got.size = 60;
        assert_true(bytes_equal(got, bytes_of_text(expected)));
        buffer_deinit(&out);
    }
    buffer_deinit(&input);
}

static void lines_are_limited_to_64_kb(void **state)
{
    (void)state;
    const struct wire_limits *limits = &wire_limits_default;
    static const char inline_error[] = "! Protocol error: too big inline request",
                      count_error[] = "! Protocol error: too big mbulk count string",
                      size_error[] = "! Protocol error: too big bulk count string";
    assert_long(limits, "", 65536, "", "...");
    assert_long(limits, "", 65537, "", inline_error);
    assert_long(limits, "", 65537, "\r\n", inline_error);
    assert_long(limits, "", 65535, "\r\n",
                "65535:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_long(limits, "*1", 65534, "", "...");
    assert_long(limits, "*1", 65535, "", count_error);
    assert_long(limits, "*1", 65535, "\r\n", count_error);
    assert_long(limits, "*1", 65534, "\r\n", "! Protocol error: invalid multibulk length");
    assert_long(limits, "*1\r\n$1", 65534, "", "...");
    assert_long(limits, "*1\r\n$1", 65535, "", size_error);
    assert_long(limits, "*1\r\nx", 65536, "", size_error);
}

static void strangers_get_ten_arguments_of_16_kb(void **state)
{
    (void)state;
    const struct wire_limits *limits = &wire_limits_unauthenticated;
    static const char count_error[] = "! Protocol error: unauthenticated multibulk length",
                      size_error[] = "! Protocol error: unauthenticated bulk length";
    assert_long(limits, "*11\r\n", 0, "", count_error);
    assert_long(limits, "*10\r\n", 0, "", "...");
    assert_long(limits, "*1048577\r\n", 0, "", count_error);
    assert_long(limits, "*2147483648\r\n", 0, "", "! Protocol error: invalid multibulk length");
    assert_long(limits, "*2\r\n$4\r\nAUTH\r\n$16385\r\n", 0, "", size_error);
    assert_long(limits, "*2\r\n$4\r\nAUTH\r\n$3000000000\r\n", 0, "",
                "! Protocol error: invalid bulk length");
    assert_long(limits, "*2\r\n$4\r\nAUTH\r\n$16384\r\n", 16384, "\r\n",
                "4:AUTH 16384:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_long(limits, "AUTH ", 16385, "\r\n", size_error);
    assert_long(limits, "1 2 3 4 5 6 7 8 9 10 1", 1, "\r\n", count_error);
}

static void unfinished_requests_are_bounded(void **state)
{
    (void)state;
    struct wire_limits limits = wire_limits_default;
    limits.query_size_max = 1000;
    assert_long(&limits, "*2\r\n$3\r\nGET\r\n$2000\r\n", 975, "", "...");
    assert_long(&limits, "*2\r\n$3\r\nGET\r\n$2000\r\n", 990, "",
                "! Protocol error: too big request");
}

/* ---- the parser's contract, step by step */

static void an_unfinished_request_moves_and_leaves_the_worker_free(void **state)
{
    (void)state;
    struct parser own;
    size_t consumed;
    assert_int_equal(parser_init(&own, &wire_limits_default), STATUS_OK);
    char part[] = "*2\r\n$3\r\nGET\r\n$3\r\nk";
    assert_int_equal(wire_resp.parse(&worker, part, sizeof(part) - 1, &consumed), PARSE_MORE);
    assert_true(parser_unfinished(&worker));
    assert_int_equal(worker.need, 4 + 9 + 9);
    parser_move(&worker, &own);
    assert_false(parser_unfinished(&worker));
    assert_true(parser_unfinished(&own));
    assert_int_equal(own.need, 4 + 9 + 9);
    char other[] = "*1\r\n$4\r\nPING\r\n";
    assert_int_equal(wire_resp.parse(&worker, other, sizeof(other) - 1, &consumed), PARSE_DONE);
    memset(part, 'x', sizeof(part)); /* the bytes have moved */
    char whole[] = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\nPING\r\n";
    assert_int_equal(wire_resp.parse(&own, whole, sizeof(whole) - 1, &consumed), PARSE_DONE);
    assert_int_equal(consumed, 4 + 9 + 9);
    assert_false(parser_unfinished(&own));
    assert_true(bytes_equal(own.request.argv[0], BYTES("GET")));
    assert_true(bytes_equal(own.request.argv[1], BYTES("key")));
    assert_null(own.request.blobs);
    parser_deinit(&own);
}

static struct bytes receive_blob(struct parser *parser, char fill)
{
    size_t size = parser->blob_need;
    struct blob *blob = blob_create(engine, size, LIMIT_HOLDS);
    assert_non_null(blob);
    memset(blob_data(blob), fill, size);
    struct bytes content = bytes_of(blob_data(blob), size);
    parser_blob_received(parser, blob, content);
    return content;
}

static void big_arguments_can_be_received_elsewhere(void **state)
{
    (void)state;
    struct parser own;
    size_t consumed;
    assert_int_equal(parser_init(&own, &wire_limits_default), STATUS_OK);
    char head[] = "*5\r\n$4\r\nMSET\r\n$2\r\nk1\r\n$70000\r\nv";
    size_t head_size = sizeof(head) - 1;
    assert_int_equal(wire_resp.parse(&worker, head, head_size, &consumed), PARSE_MORE);
    assert_int_equal(worker.blob_need, 70000);
    assert_int_equal(worker.blob_offset, head_size - 1);
    assert_int_equal(worker.need, head_size - 1 + 70002);
    parser_move(&worker, &own);
    assert_int_equal(parser_blob_begin(&own, head), STATUS_OK);
    memset(head, 'x', sizeof(head)); /* nothing of it is needed any more */
    struct bytes first = receive_blob(&own, 'a');
    assert_true(parser_unfinished(&own));
    /* Also when only half of the line's end is there. */
    char middle[] = "\r\n$2\r\nk2\r\n$65537\r\n";
    for (size_t size = 0; size < sizeof(middle) - 1; size++) {
        assert_int_equal(wire_resp.parse(&own, middle, size, &consumed), PARSE_MORE);
        assert_int_equal(own.blob_need, 0);
    }
    assert_int_equal(wire_resp.parse(&own, middle, sizeof(middle) - 1, &consumed), PARSE_MORE);
    assert_int_equal(own.blob_need, 65537);
    assert_int_equal(own.blob_offset, sizeof(middle) - 1);
    assert_int_equal(parser_blob_begin(&own, middle), STATUS_OK);
    memset(middle, 'x', sizeof(middle));
    struct bytes second = receive_blob(&own, 'b');
    char tail[] = "\r\nPING\r\n";
    assert_int_equal(wire_resp.parse(&own, tail, sizeof(tail) - 1, &consumed), PARSE_DONE);
    assert_int_equal(consumed, 2);
    const struct request *request = &own.request;
    assert_int_equal(request->argc, 5);
    assert_true(bytes_equal(request->argv[0], BYTES("MSET")));
    assert_true(bytes_equal(request->argv[1], BYTES("k1")));
    assert_ptr_equal(request->argv[2].data, first.data);
    assert_int_equal(request->argv[2].size, 70000);
    assert_true(bytes_equal(request->argv[3], BYTES("k2")));
    assert_ptr_equal(request->argv[4].data, second.data);
    assert_int_equal(request->argv[4].size, 65537);
    assert_null(request->blobs[0]);
    assert_null(request->blobs[1]);
    assert_non_null(request->blobs[2]);
    assert_null(request->blobs[3]);
    /* The command keeps one; the other is released by the next call. */
    struct blob *kept = request->blobs[4];
    request->blobs[4] = NULL;
    assert_int_equal(wire_resp.parse(&own, tail + 2, sizeof(tail) - 3, &consumed), PARSE_DONE);
    assert_int_equal(own.request.argc, 1);
    assert_null(own.request.blobs);
    assert_int_equal(blob_data(kept)[65536], 'b');
    blob_release(kept);
    parser_deinit(&own);
}

static void a_big_argument_may_be_thrown_away(void **state)
{
    (void)state;
    size_t consumed;
    char head[] = "*3\r\n$70000\r\n", tail[] = "\r\n$0\r\n\r\n$1\r\nx\r\n";
    assert_int_equal(wire_resp.parse(&worker, head, sizeof(head) - 1, &consumed), PARSE_MORE);
    assert_int_equal(parser_blob_begin(&worker, head), STATUS_OK);
    parser_blob_received(&worker, NULL, BYTES(""));
    assert_int_equal(wire_resp.parse(&worker, tail, sizeof(tail) - 1, &consumed), PARSE_DONE);
    assert_int_equal(consumed, sizeof(tail) - 1);
    assert_int_equal(worker.request.argc, 3);
    assert_true(bytes_equal(worker.request.argv[0], BYTES("")));
    assert_true(bytes_equal(worker.request.argv[1], BYTES("")));
    assert_true(bytes_equal(worker.request.argv[2], BYTES("x")));
    parser_reset(&worker);
}

static void only_quotes_make_a_request_unfit_to_be_read_again(void **state)
{
    (void)state;
    size_t consumed;
    static const struct {
        const char *text;
        bool rewritten;
    } rows[] = {{"*1\r\n$4\r\nPING\r\n", false},
                {"GET \"k\"\r\n", true},
                {"GET  k \r\n", false},
                {"\r\n", false},
                {"'GET' k\n", true},
                {"*1\r\n$4\r\nPING\r\n", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *copy = strdup(rows[i].text);
        assert_int_equal(wire_resp.parse(&worker, copy, strlen(copy), &consumed), PARSE_DONE);
        assert_int_equal(consumed, strlen(rows[i].text));
        assert_int_equal(worker.rewritten, rows[i].rewritten);
        assert_int_equal(memcmp(copy, rows[i].text, consumed) != 0, rows[i].rewritten);
        free(copy);
    }
    parser_reset(&worker);
}

static void small_arguments_are_not_announced(void **state)
{
    (void)state;
    assert_int_equal(parse_whole(BYTES("*2\r\n$3\r\nGET\r\n$65536\r\na")), PARSE_MORE);
    assert_int_equal(worker.blob_need, 0);
    assert_int_equal(worker.need, 4 + 9 + 8 + 65536 + 2);
    parser_reset(&worker);
    /* Nor is one of which only the line's end is missing. */
    struct buffer input;
    buffer_init(&input, OUTPUT_MAX);
    add_text(&input, "*1\r\n$65537\r\n");
    add_fill(&input, 'a', 65537);
    assert_int_equal(parse_whole(buffer_bytes(&input)), PARSE_MORE);
    assert_int_equal(worker.blob_need, 0);
    parser_reset(&worker);
    buffer_deinit(&input);
}

static void detection_takes_any_first_byte(void **state)
{
    (void)state;
    const struct wire *wire = NULL;
    assert_int_equal(wire_detect("", 0, &wire), DETECT_MORE);
    assert_null(wire);
    /* Of other wires some begin with a letter, of which more must be seen, and one with 0x80. */
    for (int c = 0; c < 256; c++) {
        char line[] = {(char)c, ' ', 'k', '\r', '\n'};
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter)
            assert_int_equal(wire_detect(line, 1, &wire), DETECT_YES);
        assert_int_equal(wire_detect(line, sizeof(line), &wire), DETECT_YES);
        assert_true(wire == &wire_resp || c == 0x80);
    }
}

#if LARDER_FAULTS
static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct buffer input;
    buffer_init(&input, OUTPUT_MAX);
    add_text(&input, "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n*40\r\n");
    for (int i = 0; i < 39; i++)
        add_text(&input, "$1\r\na\r\n");
    add_text(&input, "$66000\r\n");
    add_fill(&input, 'a', 66000);
    add_text(&input, "\r\n");
    bool fired = true;
    for (unsigned long nth = 1; fired; nth++) {
        struct parser shared;
        alloc_fault_at(nth);
        if (parser_init(&shared, &wire_limits_default) == STATUS_OK) {
            struct buffer out;
            buffer_init(&out, OUTPUT_MAX);
            sink_write(&out.sink, "", 0);
            struct feed feed = {
                .wire = &wire_resp,
                .limits = &wire_limits_default,
                .engine = engine,
                .worker = &shared,
                .request = describe_request,
                .complaint = describe_complaint,
                .owner = &out.sink,
                .dice = nth,
            };
            struct bytes all = buffer_bytes(&input);
            bool fine = feed_init(&feed);
            for (size_t at = 0; fine && at < all.size; at += 150)
                fine = feed_bytes(&feed, all.data + at, all.size - at < 150 ? all.size - at : 150);
            feed_deinit(&feed);
            buffer_deinit(&out);
        }
        fired = alloc_fault_fired();
        parser_deinit(&shared);
    }
    alloc_fault_at(0);
    buffer_deinit(&input);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_complaints_are_those_of_redis),
        cmocka_unit_test(no_split_changes_the_outcome),
        cmocka_unit_test(random_input_is_read_as_the_reference_reads_it),
        cmocka_unit_test(announced_arguments_claim_no_memory),
        cmocka_unit_test(memory_for_many_arguments_is_given_back),
        cmocka_unit_test(lines_are_limited_to_64_kb),
        cmocka_unit_test(strangers_get_ten_arguments_of_16_kb),
        cmocka_unit_test(unfinished_requests_are_bounded),
        cmocka_unit_test(an_unfinished_request_moves_and_leaves_the_worker_free),
        cmocka_unit_test(big_arguments_can_be_received_elsewhere),
        cmocka_unit_test(a_big_argument_may_be_thrown_away),
        cmocka_unit_test(only_quotes_make_a_request_unfit_to_be_read_again),
        cmocka_unit_test(small_arguments_are_not_announced),
        cmocka_unit_test(detection_takes_any_first_byte),
#if LARDER_FAULTS
        cmocka_unit_test(every_allocation_may_fail),
#endif
    };
    return cmocka_run_group_tests_name("wire/resp", tests, set_up, tear_down);
}
