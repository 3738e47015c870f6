/* SPDX-License-Identifier: MIT
 *
 * Commands run against a real engine under a driven clock, with replies as readable text:
 *
 *   OK, STORED, NOT-STORED, MISSING, MISSING-LIST, +word, "bytes", :7, #t, *2 and the two elements,
 *   -CODE text
 *
 * One thread, no keeper. A test's state is a `struct world`; it may bring more clients.
 */
#ifndef LARDER_TESTS_UNIT_COMMAND_HARNESS_H
#define LARDER_TESTS_UNIT_COMMAND_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/number.h"
#include "command/client.h"
#include "command/command.h"
#include "command/dispatch.h"
#include "engine/blob.h"
#include "engine/engine.h"

enum { WORLD_START_MS = 1000000 };

struct world {
    struct engine *engine;
    struct engine_thread *thread;
    struct client client, other;
    int64_t now_ms; /* given to every command */
    struct buffer answer;
    char text[1 << 16];
};

/* What a client's clock_ms shows; it has no argument, so it is global. */
static int64_t harness_fresh_ms;

static inline int64_t harness_clock_ms(void)
{
    return harness_fresh_ms;
}

/* ---- replies as text */

static inline void show(struct reply *reply, const char *text)
{
    sink_write(reply->sink, text, strlen(text));
    sink_write(reply->sink, " ", 1);
}

static inline void show_number(struct reply *reply, char kind, int64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%c%lld", kind, (long long)number);
    show(reply, text);
}

static inline void show_ok(struct reply *reply)
{
    show(reply, "OK");
}

static inline void show_stored(struct reply *reply)
{
    show(reply, "STORED");
}

static inline void show_not_stored(struct reply *reply)
{
    show(reply, "NOT-STORED");
}

static inline void show_missing(struct reply *reply)
{
    show(reply, "MISSING");
}

static inline void show_missing_list(struct reply *reply)
{
    show(reply, "MISSING-LIST");
}

static inline void show_bytes(struct reply *reply, struct bytes bytes)
{
    sink_write(reply->sink, "\"", 1);
    sink_write_bytes(reply->sink, bytes);
    sink_write(reply->sink, "\" ", 2);
}

static inline void show_value(struct reply *reply, const struct value *value)
{
    show_bytes(reply, bytes_of(value->data, value->size));
}

static inline void show_word(struct reply *reply, const char *word)
{
    sink_write(reply->sink, "+", 1);
    show(reply, word);
}

static inline void show_integer(struct reply *reply, int64_t integer)
{
    show_number(reply, ':', integer);
}

static inline void show_double(struct reply *reply, double number)
{
    show_number(reply, ',', (int64_t)number);
}

static inline void show_boolean(struct reply *reply, bool boolean)
{
    show(reply, boolean ? "#t" : "#f");
}

static inline void show_list(struct reply *reply, uint64_t count)
{
    show_number(reply, '*', (int64_t)count);
}

static inline void show_error(struct reply *reply, const char *code, struct bytes text)
{
    reply->errored = true;
    sink_write(reply->sink, "-", 1);
    show(reply, code);
    sink_write_bytes(reply->sink, text);
    sink_write(reply->sink, " ", 1);
}

static const struct reply_ops harness_ops = {
    .ok = show_ok,
    .stored = show_stored,
    .not_stored = show_not_stored,
    .missing = show_missing,
    .missing_list = show_missing_list,
    .value = show_value,
    .bytes = show_bytes,
    .word = show_word,
    .text = show_bytes,
    .integer = show_integer,
    .number = show_double,
    .boolean = show_boolean,
    .list = show_list,
    .set = show_list,
    .map = show_list,
    .error = show_error,
};

/* ---- the world */

static inline void world_client(struct world *world, struct client *client)
{
    client_init(client, world->engine, world->thread);
    client->authenticated = true;
}

static inline void world_open(struct world *world, uint64_t memory_max_bytes)
{
    uint32_t count;
    const struct command *rows = command_rows(&count);
    assert_int_equal(command_table_add(rows, count), STATUS_OK);
    struct engine_config config = {
        .memory_max_bytes = memory_max_bytes,
        .shards = 4,
        .hash_seed = 42,
        .start_ms = WORLD_START_MS,
    };
    assert_int_equal(engine_create(&config, &world->engine), STATUS_OK);
    assert_int_equal(engine_thread_register(world->engine, &world->thread), STATUS_OK);
    engine_thread_online(world->thread);
    world->now_ms = WORLD_START_MS;
    world_client(world, &world->client);
    world_client(world, &world->other);
    buffer_init(&world->answer, 64 * 1024 * 1024);
}

static inline void world_close(struct world *world)
{
    client_deinit(&world->client);
    client_deinit(&world->other);
    buffer_deinit(&world->answer);
    engine_thread_offline(world->thread);
    engine_thread_unregister(world->thread);
    engine_destroy(world->engine);
}

static inline int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world_open(world, 0);
    *state = world;
    return 0;
}

static inline int world_teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* Runs one request; the answer is NUL-terminated text until the next. `blobs` as in a request. */
static inline const char *world_run(struct world *world, struct client *client, uint32_t argc,
                                    struct bytes *argv, struct blob **blobs)
{
    buffer_clear(&world->answer);
    struct reply reply = {.ops = &harness_ops, .sink = &world->answer.sink, .version = 2};
    struct request request = {.argc = argc, .argv = argv, .blobs = blobs};
    engine_thread_online(world->thread);
    dispatch_prepare(client, &request);
    dispatch_prefetch_bucket(client, &request);
    dispatch_prefetch_entry(client, &request);
    dispatch_run(client, &request, world->now_ms, &reply);

    struct bytes answer = buffer_bytes(&world->answer);
    assert_true(answer.size > 0); /* exactly one reply ends with a blank */
    assert_true(answer.size < sizeof(world->text));
    memcpy(world->text, answer.data, answer.size);
    world->text[answer.size - 1] = '\0';
    return world->text;
}

/* One line, words split at single blanks; '' is the empty word. */
static inline const char *world_line(struct world *world, struct client *client, const char *line)
{
    struct bytes argv[256];
    uint32_t argc = 0;
    for (const char *at = line;;) {
        size_t size = strcspn(at, " ");
        assert_true(argc < 256);
        argv[argc++] = size == 2 && memcmp(at, "''", 2) == 0 ? BYTES("") : bytes_of(at, size);
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    return world_run(world, client, argc, argv, NULL);
}

#define EXPECT_BY(client, line, answer)                                                            \
    assert_string_equal(world_line(world, (client), (line)), (answer))
#define EXPECT(line, answer) EXPECT_BY(&world->client, line, answer)
#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

#define SYNTAX "-ERR syntax error"
#define NOT_INTEGER "-ERR value is not an integer or out of range"
#define WRONG_ARITY(name) "-ERR wrong number of arguments for '" name "' command"
#define BAD_EXPIRE(name) "-ERR invalid expire time in '" name "' command"

#endif
