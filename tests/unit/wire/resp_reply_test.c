/* SPDX-License-Identifier: MIT
 *
 * Every meaning in both versions of RESP, written into windows of every size.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "engine/blob.h"
#include "engine/engine.h"
#include "wire/wire.h"

/* ---- a sink whose windows are as small as it is allowed, and which may refuse at any byte */

struct narrow {
    struct sink sink;
    char window[SINK_RESERVE_MAX];
    size_t window_size; /* of windows that nobody asks more of */
    struct buffer all;
    size_t room; /* bytes until it fails */
    struct blob *referred;
    size_t referred_at;
    bool refuse;
};

static bool narrow_drain(struct narrow *narrow)
{
    size_t size = (size_t)(narrow->sink.at - narrow->window);
    narrow->sink.at = narrow->sink.end = narrow->window;
    if (size > narrow->room) {
        narrow->sink.failed = true;
        return false;
    }
    narrow->room -= size;
    sink_write(&narrow->all.sink, narrow->window, size);
    return true;
}

static bool narrow_grow(struct sink *sink, size_t size)
{
    struct narrow *narrow = (struct narrow *)sink;
    assert_true(size <= SINK_RESERVE_MAX);
    if (sink->failed || !narrow_drain(narrow) || size > narrow->room) {
        sink->failed = true;
        return false;
    }
    sink->end = narrow->window + (size > narrow->window_size ? size : narrow->window_size);
    return true;
}

static bool narrow_append(struct sink *sink, const char *data, size_t size)
{
    struct narrow *narrow = (struct narrow *)sink;
    if (sink->failed || !narrow_drain(narrow) || size > narrow->room)
        return false;
    narrow->room -= size;
    sink_write(&narrow->all.sink, data, size);
    return true;
}

static bool narrow_refer(struct sink *sink, const char *data, size_t size,
                         void (*release)(void *owner), void *owner)
{
    struct narrow *narrow = (struct narrow *)sink;
    if (narrow->refuse || sink->failed || !narrow_drain(narrow)) {
        release(owner);
        return false;
    }
    narrow->referred = owner;
    narrow->referred_at = buffer_bytes(&narrow->all).size;
    sink_write(&narrow->all.sink, data, size);
    return true;
}

static const struct sink_ops copying_ops = {.grow = narrow_grow, .append = narrow_append};
static const struct sink_ops referring_ops = {
    .grow = narrow_grow, .append = narrow_append, .refer = narrow_refer};

static void narrow_init(struct narrow *narrow, const struct sink_ops *ops, size_t window_size,
                        size_t room)
{
    *narrow = (struct narrow){.window_size = window_size, .room = room};
    narrow->sink = (struct sink){.at = narrow->window, .end = narrow->window, .ops = ops};
    buffer_init(&narrow->all, 1 << 20);
}

/* ---- what is written */

#define EMIT(name, call)                                                                           \
    static void emit_##name(struct reply *reply)                                                   \
    {                                                                                              \
        call;                                                                                      \
    }

EMIT(ok, reply->ops->ok(reply))
EMIT(stored, reply->ops->stored(reply))
EMIT(not_stored, reply->ops->not_stored(reply))
EMIT(missing, reply->ops->missing(reply))
EMIT(missing_list, reply->ops->missing_list(reply))
EMIT(empty, reply->ops->bytes(reply, bytes_of(NULL, 0)))
EMIT(bytes, reply->ops->bytes(reply, BYTES("a\r\n\0b")))
EMIT(word, reply->ops->word(reply, "PONG"))
EMIT(text, reply->ops->text(reply, BYTES("# a\r\n")))
EMIT(zero, reply->ops->integer(reply, 0))
EMIT(low, reply->ops->integer(reply, INT64_MIN))
EMIT(number, reply->ops->number(reply, 3.25))
EMIT(infinity, reply->ops->number(reply, -INFINITY))
EMIT(true, reply->ops->boolean(reply, true))
EMIT(false, reply->ops->boolean(reply, false))
EMIT(list, reply->ops->list(reply, 12))
EMIT(set, reply->ops->set(reply, 3))
EMIT(map, reply->ops->map(reply, 7))
EMIT(error, reply->ops->error(reply, "ERR", BYTES("no")))
EMIT(bad, wire_resp.protocol_error(reply, "Protocol error: x"))

static void emit_value_of(struct reply *reply, size_t size)
{
    char data[1200];
    memset(data, 'v', sizeof(data));
    const struct value value = {.data = data, .size = size};
    reply->ops->value(reply, &value);
}

EMIT(value_0, emit_value_of(reply, 0))
EMIT(value_9, emit_value_of(reply, 9))
EMIT(value_10, emit_value_of(reply, 10))
EMIT(value_100, emit_value_of(reply, 100))

#define TEN "vvvvvvvvvv"

static const struct {
    void (*emit)(struct reply *reply);
    struct bytes resp2, resp3;
} rows[] = {
    {emit_ok, BYTES("+OK\r\n"), BYTES("+OK\r\n")},
    {emit_stored, BYTES("+OK\r\n"), BYTES("+OK\r\n")},
    {emit_not_stored, BYTES("$-1\r\n"), BYTES("_\r\n")},
    {emit_missing, BYTES("$-1\r\n"), BYTES("_\r\n")},
    {emit_missing_list, BYTES("*-1\r\n"), BYTES("_\r\n")},
    {emit_empty, BYTES("$0\r\n\r\n"), BYTES("$0\r\n\r\n")},
    {emit_bytes, BYTES("$5\r\na\r\n\0b\r\n"), BYTES("$5\r\na\r\n\0b\r\n")},
    {emit_word, BYTES("+PONG\r\n"), BYTES("+PONG\r\n")},
    {emit_text, BYTES("$5\r\n# a\r\n\r\n"), BYTES("=9\r\ntxt:# a\r\n\r\n")},
    {emit_zero, BYTES(":0\r\n"), BYTES(":0\r\n")},
    {emit_low, BYTES(":-9223372036854775808\r\n"), BYTES(":-9223372036854775808\r\n")},
    {emit_number, BYTES("$4\r\n3.25\r\n"), BYTES(",3.25\r\n")},
    {emit_infinity, BYTES("$4\r\n-inf\r\n"), BYTES(",-inf\r\n")},
    {emit_true, BYTES(":1\r\n"), BYTES("#t\r\n")},
    {emit_false, BYTES(":0\r\n"), BYTES("#f\r\n")},
    {emit_list, BYTES("*12\r\n"), BYTES("*12\r\n")},
    {emit_set, BYTES("*3\r\n"), BYTES("~3\r\n")},
    {emit_map, BYTES("*14\r\n"), BYTES("%7\r\n")},
    {emit_error, BYTES("-ERR no\r\n"), BYTES("-ERR no\r\n")},
    {emit_bad, BYTES("-ERR Protocol error: x\r\n"), BYTES("-ERR Protocol error: x\r\n")},
    {emit_value_0, BYTES("$0\r\n\r\n"), BYTES("$0\r\n\r\n")},
    {emit_value_9, BYTES("$9\r\nvvvvvvvvv\r\n"), BYTES("$9\r\nvvvvvvvvv\r\n")},
    {emit_value_10, BYTES("$10\r\n" TEN "\r\n"), BYTES("$10\r\n" TEN "\r\n")},
    {emit_value_100, BYTES("$100\r\n" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\r\n"),
     BYTES("$100\r\n" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\r\n")},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static void every_meaning_has_its_bytes_in_both_versions(void **state)
{
    (void)state;
    struct narrow narrow;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (uint32_t version = 2; version <= 3; version++) {
            for (size_t window_size = 0; window_size < 150; window_size++) {
                narrow_init(&narrow, &copying_ops, window_size, 1 << 20);
                struct reply reply = {
                    .ops = wire_resp.reply_ops, .sink = &narrow.sink, .version = version};
                rows[i].emit(&reply);
                rows[i].emit(&reply);
                assert_true(narrow_drain(&narrow));
                struct bytes got = buffer_bytes(&narrow.all);
                struct bytes expected = version == 2 ? rows[i].resp2 : rows[i].resp3;
                assert_int_equal(got.size, expected.size * 2);
                assert_memory_equal(got.data, expected.data, expected.size);
                assert_memory_equal(got.data + expected.size, expected.data, expected.size);
                assert_int_equal(reply.errored, expected.data[0] == '-');
                buffer_deinit(&narrow.all);
            }
        }
    }
}

static void a_failed_sink_swallows_the_rest(void **state)
{
    (void)state;
    struct narrow narrow;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t room = 0; room < rows[i].resp2.size; room++) {
            narrow_init(&narrow, &copying_ops, 0, room);
            struct reply reply = {.ops = wire_resp.reply_ops, .sink = &narrow.sink, .version = 2};
            rows[i].emit(&reply);
            rows[i].emit(&reply);
            if (!narrow.sink.failed)
                assert_false(narrow_drain(&narrow));
            assert_true(buffer_bytes(&narrow.all).size <= room);
            buffer_deinit(&narrow.all);
        }
    }
}

static void big_values_are_referred_to_and_held(void **state)
{
    (void)state;
    struct engine *engine;
    const struct engine_config config = {.start_ms = 1};
    assert_int_equal(engine_create(&config, &engine), STATUS_OK);
    struct blob *blob = blob_create(engine, BLOB_VALUE_SIZE_MIN, LIMIT_HOLDS);
    assert_non_null(blob);
    memset(blob_data(blob), 'b', BLOB_VALUE_SIZE_MIN);
    const struct value value = {.data = blob_data(blob), .size = BLOB_VALUE_SIZE_MIN, .blob = blob};
    struct narrow narrow;
    narrow_init(&narrow, &referring_ops, 10, 1 << 20);
    struct reply reply = {.ops = wire_resp.reply_ops, .sink = &narrow.sink, .version = 2};
    reply.ops->value(&reply, &value);
    assert_true(narrow_drain(&narrow));
    struct bytes got = buffer_bytes(&narrow.all);
    assert_int_equal(got.size, 8 + BLOB_VALUE_SIZE_MIN + 2);
    assert_memory_equal(got.data, "$16384\r\nb", 9);
    assert_memory_equal(got.data + got.size - 3, "b\r\n", 3);
    assert_ptr_equal(narrow.referred, blob);
    assert_int_equal(narrow.referred_at, 8);
    buffer_deinit(&narrow.all);

    /* The reply's hold is its own: the entry may let go first. */
    blob_release(blob);
    assert_int_equal(blob_data(blob)[0], 'b');

    /* A sink that cannot take it has released the hold that was taken for it. */
    narrow_init(&narrow, &referring_ops, 10, 1 << 20);
    narrow.refuse = true;
    reply.ops->value(&reply, &value);
    assert_true(narrow.sink.failed);
    buffer_deinit(&narrow.all);
    blob_release(blob);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_meaning_has_its_bytes_in_both_versions),
        cmocka_unit_test(a_failed_sink_swallows_the_rest),
        cmocka_unit_test(big_values_are_referred_to_and_held),
    };
    return cmocka_run_group_tests_name("wire/resp_reply", tests, NULL, NULL);
}
