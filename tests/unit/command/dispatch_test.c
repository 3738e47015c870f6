/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <pthread.h>

#include "command/item.h"

static void unknown_commands_are_named_with_their_arguments(void **state)
{
    struct world *world = *state;
    EXPECT("FOO bar baz", "-ERR unknown command 'FOO', with args beginning with: 'bar' 'baz' ");
    EXPECT("foo", "-ERR unknown command 'foo', with args beginning with: ");
    EXPECT("''", "-ERR unknown command '', with args beginning with: ");

    char name[200], argument[100], wanted[600];
    memset(name, 'n', sizeof(name));
    memset(argument, 'a', sizeof(argument));
    struct bytes argv[] = {bytes_of(name, 200), bytes_of(argument, 100), bytes_of(argument, 100),
                           bytes_of(argument, 100)};
    snprintf(wanted, sizeof(wanted),
             "-ERR unknown command '%.128s', with args beginning with: '%.100s' '%.25s' ", name,
             argument, argument);
    assert_string_equal(world_run(world, &world->client, 4, argv, NULL), wanted);

    struct bytes broken[] = {BYTES("a\r\nb"), BYTES("c\nd"), BYTES("x\0y"), bytes_of(NULL, 0)};
    assert_string_equal(world_run(world, &world->client, 4, broken, NULL),
                        "-ERR unknown command 'a  b', with args beginning with: 'c d' 'x' '' ");
}

static void arity_is_checked_first_then_authentication(void **state)
{
    struct world *world = *state;
    world->client.authenticated = false;
    EXPECT("GET", WRONG_ARITY("get"));
    EXPECT("FOO", "-ERR unknown command 'FOO', with args beginning with: ");
    EXPECT("GET k", "-NOAUTH Authentication required.");
    EXPECT("EXEC", "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.");
    world->client.authenticated = true;
    EXPECT("GET k", "MISSING");
}

static enum outcome say_hello(struct call *call)
{
    call->reply->ops->word(call->reply, call->command->name);
    return OUTCOME_DONE;
}

static void subcommands_are_found_and_their_errors_named(void **state)
{
    struct world *world = *state;
    static const struct command rows[] = {
        {.name = "box", .arity = -2, .flags = COMMAND_CONTROL},
        {.name = "open", .handler = say_hello, .arity = 2, .flags = COMMAND_SUB},
        {.name = "hat", .handler = say_hello, .arity = -1},
        {.name = "on", .handler = say_hello, .arity = 2, .flags = COMMAND_SUB},
        {.name = "aside", .handler = say_hello, .arity = 1, .flags = COMMAND_NO_MULTI},
        {.name = "door", .handler = say_hello, .arity = 1, .flags = COMMAND_NO_AUTH},
    };
    assert_int_equal(command_table_add(rows, 6), STATUS_OK);
    EXPECT("BOX OPEN", "+open");
    EXPECT("BOX open x", WRONG_ARITY("box|open"));
    EXPECT("BOX", WRONG_ARITY("box"));
    EXPECT("box shut", "-ERR unknown subcommand 'shut'. Try BOX HELP.");
    EXPECT("HAT", "+hat");
    EXPECT("HAT ON", "+on");
    EXPECT("hat off x", "-ERR unknown subcommand 'off'. Try HAT HELP.");
    EXPECT("ASIDE", "+aside");
    EXPECT("MULTI", "OK");
    EXPECT("HAT ON", "+QUEUED");
    EXPECT("EXEC", "*1 +on");
    EXPECT("MULTI", "OK");
    EXPECT("ASIDE", "-ERR Command not allowed inside a transaction");
    EXPECT("EXEC", "-EXECABORT Transaction discarded because of previous errors.");
    world->client.authenticated = false;
    EXPECT("DOOR", "+door");
}

static void a_blob_becomes_the_value(void **state)
{
    struct world *world = *state;
    enum { SIZE = 50000 };
    static const char *const lines[][2] = {{"SET", "STORED"},  {"APPEND", ":50000"},
                                           {"SETNX", ":1"},    {"GETSET", "MISSING"},
                                           {"MSET", "STORED"}, {"MSETNX", ":1"}};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct blob *blob = blob_create(world->engine, SIZE, LIMIT_HOLDS);
        assert_non_null(blob);
        memset(blob_data(blob), 'x', SIZE);
        struct blob *blobs[] = {NULL, NULL, blob};
        struct bytes argv[] = {bytes_of_text(lines[i][0]), BYTES("k"),
                               bytes_of(blob_data(blob), SIZE)};
        assert_string_equal(world_run(world, &world->client, 3, argv, blobs), lines[i][1]);
        assert_null(blobs[2]);
        EXPECT("STRLEN k", ":50000");
        EXPECT("DEL k", ":1");
    }
}

static void a_blob_that_is_not_kept_stays_the_requests(void **state)
{
    struct world *world = *state;
    struct blob *blob = blob_create(world->engine, 50000, LIMIT_HOLDS);
    assert_non_null(blob);
    memset(blob_data(blob), 'x', 50000);
    struct blob *blobs[] = {NULL, NULL, blob, NULL};
    struct bytes argv[] = {BYTES("SET"), BYTES("k"), bytes_of(blob_data(blob), 50000), BYTES("XX")};
    assert_string_equal(world_run(world, &world->client, 4, argv, blobs), "NOT-STORED");
    assert_ptr_equal(blobs[2], blob);
    request_release_blobs(blobs, 4);
    assert_null(blobs[2]);
    request_release_blobs(NULL, 4);
}

static const char OOM[] = "-OOM command not allowed when used memory > 'maxmemory'.";

static void writes_that_grow_are_refused_above_the_limit(void **state)
{
    struct world *world = *state;
    EXPECT("MSET k v n 1", "STORED");
    engine_memory_max_set(world->engine, 1);
    EXPECT("SET k w", OOM);
    EXPECT("INCR n", OOM);
    EXPECT("MSET k w n 2", OOM);
    EXPECT("APPEND k w", OOM);
    EXPECT("MGET k n", "*2 \"v\" \"1\"");
    EXPECT("PING", "+PONG");
    EXPECT("MULTI", "OK");
    EXPECT("SET k w", OOM);
    EXPECT("EXEC", "-EXECABORT Transaction discarded because of previous errors.");
    EXPECT("MULTI", "OK");
    EXPECT("GET k", "+QUEUED");
    EXPECT("EXPIRE k 100", "+QUEUED");
    EXPECT("EXEC", "*2 \"v\" :1");
    engine_memory_max_set(world->engine, 0);
    EXPECT("MULTI", "OK");
    EXPECT("SET k w", "+QUEUED");
    engine_memory_max_set(world->engine, 1);
    EXPECT("EXEC", "-EXECABORT Transaction discarded because of: OOM command not allowed when used "
                   "memory > 'maxmemory'.");
    EXPECT("EXEC", "-ERR EXEC without MULTI");
    EXPECT("DEL k", ":1");
    EXPECT("GET n", "\"1\"");
}

/* What stores nothing passes the limit, though a key with an expiry is a new entry. */
static void changes_that_store_nothing_pass_the_limit(void **state)
{
    enum { COUNT = 2000 }; /* more than one slab holds */
    struct world *world = *state;
    char line[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "SET k%d v", i);
        EXPECT(line, "STORED");
    }
    engine_memory_max_set(world->engine, 1);
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "EXPIRE k%d 100", i);
        EXPECT(line, ":1");
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "GETEX k%d PERSIST", i);
        EXPECT(line, "\"v\"");
        snprintf(line, sizeof(line), "RENAME k%d r%d", i, i);
        EXPECT(line, "OK");
    }
    EXPECT("DBSIZE", ":2000");
    EXPECT("TTL r7", ":-1");
    EXPECT("SET r7 v", OOM);
    assert_true(engine_check(world->engine));
}

static void renaming_to_longer_names_does_not_pass_the_limit(void **state)
{
    enum { COUNT = 2000, NAME_SIZE = 4000 };
    struct world *world = *state;
    static char line[NAME_SIZE + 64];
    int refused = 0;
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "SET k%d v%d", i, i);
        EXPECT(line, "STORED");
    }
    engine_memory_max_set(world->engine, 4 << 20);
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "RENAME k%d %0*d", i, NAME_SIZE, i);
        const char *answer = world_line(world, &world->client, line);
        bool renamed = strcmp(answer, "OK") == 0;
        if (!renamed)
            assert_string_equal(answer, OOM);
        refused += !renamed;
        if (renamed)
            snprintf(line, sizeof(line), "GET %0*d", NAME_SIZE, i);
        else
            snprintf(line, sizeof(line), "GET k%d", i);
        char value[16];
        snprintf(value, sizeof(value), "\"v%d\"", i);
        EXPECT(line, value);
    }
    assert_true(refused > 0);
    struct engine_stats stats;
    engine_stats(world->engine, &stats);
    assert_true(stats.used_bytes <= 4 << 20);
    assert_true(engine_check(world->engine));
}

static void a_small_limit_is_reached_and_kept(void **state)
{
    struct world *world = *state;
    world_close(world);
    world_open(world, 16 << 20);
    char value[1024], line[1200];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    int stored = 0;
    for (;; stored++) {
        snprintf(line, sizeof(line), "SET key:%d %s", stored, value);
        const char *answer = world_line(world, &world->client, line);
        if (strcmp(answer, "STORED") != 0) {
            assert_string_equal(answer, OOM);
            break;
        }
        assert_true(stored < 100000);
    }
    assert_true(stored > 1000);
    EXPECT("STRLEN key:0", ":1023");
}

/* ---- several threads */

enum { THREADS = 3, ROUNDS = 4000 };

struct player {
    struct world world; /* its own client and answer; the engine is shared */
    int index;
    bool torn;
};

/* Writers keep a and b equal, one way or another; readers must never see them differ. */
static void *play(void *argument)
{
    struct player *player = argument;
    struct world *world = &player->world;
    for (int i = 0; i < ROUNDS; i++) {
        char line[64], first[32], second[32];
        if (player->index == 0) {
            if (i % 3 == 0) {
                snprintf(line, sizeof(line), "MSET a %d b %d", i, i);
                world_line(world, &world->client, line);
            } else if (i % 3 == 1) {
                world_line(world, &world->client, "MULTI");
                world_line(world, &world->client, "INCR a");
                world_line(world, &world->client, "INCR b");
                world_line(world, &world->client, "EXEC");
            } else {
                world_line(world, &world->client, "DEL a b");
            }
        } else if (sscanf(world_line(world, &world->client, "MGET a b"), "*2 %31s %31s", first,
                          second) != 2 ||
                   strcmp(first, second) != 0) {
            player->torn = true;
        }
    }
    engine_thread_offline(world->thread);
    return NULL;
}

static void readers_never_see_half_of_a_write(void **state)
{
    struct world *world = *state;
    engine_thread_offline(world->thread);
    struct player *players = calloc(THREADS, sizeof(*players));
    pthread_t threads[THREADS];
    assert_non_null(players);
    for (int i = 0; i < THREADS; i++) {
        struct world *own = &players[i].world;
        players[i].index = i;
        own->engine = world->engine;
        own->now_ms = world->now_ms;
        assert_int_equal(engine_thread_register(own->engine, &own->thread), STATUS_OK);
        world_client(own, &own->client);
        buffer_init(&own->answer, 1 << 20);
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(players[i].torn);
        client_deinit(&players[i].world.client);
        buffer_deinit(&players[i].world.answer);
        engine_thread_unregister(players[i].world.thread);
    }
    free(players);
}

static void what_was_asked_before_in_its_place_changes_nothing(void **state)
{
    struct world *world = *state;
    struct item_terms terms = {.mode = ITEM_SET};
    struct bytes argv[] = {BYTES("item-get"), BYTES("k"), BYTES("")};
    struct request request = {.argc = 3, .argv = argv, .terms = &terms};

    for (int i = 0; i < 2; i++) {
        dispatch_prepare(&world->client, &request);
        assert_string_equal(request.command->name, "item-get");
    }
    request.terms = NULL; /* no client may name it */
    dispatch_prepare(&world->client, &request);
    assert_null(request.command);

    /* Nor is a subcommand's name one of its own. */
    request.command = command_find_full(BYTES("object|freq"));
    argv[0] = bytes_of_text(request.command->name);
    dispatch_prepare(&world->client, &request);
    assert_null(request.command);

    request.command = command_find(BYTES("get"));
    argv[0] = bytes_of_text("set");
    dispatch_prepare(&world->client, &request);
    assert_string_equal(request.command->name, "set");

    request.command = command_find(BYTES("object"));
    argv[0] = bytes_of_text(request.command->name);
    argv[1] = BYTES("freq");
    dispatch_prepare(&world->client, &request);
    assert_string_equal(request.command->name, "freq");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(unknown_commands_are_named_with_their_arguments),
        WORLD_TEST(arity_is_checked_first_then_authentication),
        WORLD_TEST(subcommands_are_found_and_their_errors_named),
        WORLD_TEST(a_blob_becomes_the_value),
        WORLD_TEST(a_blob_that_is_not_kept_stays_the_requests),
        WORLD_TEST(writes_that_grow_are_refused_above_the_limit),
        WORLD_TEST(changes_that_store_nothing_pass_the_limit),
        WORLD_TEST(renaming_to_longer_names_does_not_pass_the_limit),
        WORLD_TEST(a_small_limit_is_reached_and_kept),
        WORLD_TEST(readers_never_see_half_of_a_write),
        WORLD_TEST(what_was_asked_before_in_its_place_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
