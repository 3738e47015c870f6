/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "harness.h"

static void queued_commands_run_at_exec(void **state)
{
    struct world *world = *state;
    EXPECT("MULTI", "OK");
    EXPECT("SET k 1", "+QUEUED");
    EXPECT("INCR k", "+QUEUED");
    EXPECT("GET k", "+QUEUED");
    EXPECT("MGET k x", "+QUEUED");
    EXPECT("APPEND k x", "+QUEUED");
    EXPECT("INCR k", "+QUEUED");
    EXPECT_BY(&world->other, "GET k", "MISSING");
    EXPECT("EXEC", "*6 STORED :2 \"2\" *2 \"2\" MISSING :2 " NOT_INTEGER);
    EXPECT("GET k", "\"2x\"");
    EXPECT("EXEC", "-ERR EXEC without MULTI");
}

static char observed[200];

static void note_begin(struct client *client, const struct request *request)
{
    (void)client;
    strcat(strcat(observed, request->command->name), " ");
}

static void note_end(struct client *client, const struct request *request, bool errored)
{
    (void)client;
    strcat(strcat(strcat(observed, errored ? "-" : "+"), request->command->name), " ");
}

static void an_observer_is_told_of_what_exec_runs(void **state)
{
    static const struct exec_observer observer = {.begins = note_begin, .ended = note_end};
    struct world *world = *state;
    observed[0] = '\0';
    world->client.exec_observer = &observer;
    EXPECT("MULTI", "OK");
    EXPECT("SET k x", "+QUEUED");
    EXPECT("INCR k", "+QUEUED");
    EXPECT("GET k", "+QUEUED");
    assert_string_equal(observed, "");
    EXPECT("EXEC", "*3 STORED " NOT_INTEGER " \"x\"");
    assert_string_equal(observed, "set +set incr -incr get +get ");
    EXPECT("GET k", "\"x\"");
    EXPECT("WATCH k", "OK");
    EXPECT("SET k y", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("INCR k", "+QUEUED");
    EXPECT("EXEC", "MISSING-LIST");
    assert_string_equal(observed, "set +set incr -incr get +get ");
}

static void an_empty_transaction_answers_an_empty_list(void **state)
{
    struct world *world = *state;
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "*0");
    EXPECT("MULTI", "OK");
    EXPECT("PING", "+QUEUED");
    EXPECT("EXEC", "*1 +PONG");
}

static void discard_forgets_what_was_queued(void **state)
{
    struct world *world = *state;
    EXPECT("DISCARD", "-ERR DISCARD without MULTI");
    EXPECT("MULTI", "OK");
    EXPECT("SET k 1", "+QUEUED");
    EXPECT("DISCARD", "OK");
    EXPECT("GET k", "MISSING");
    EXPECT("EXEC", "-ERR EXEC without MULTI");
}

static void misuse_inside_multi_does_not_spoil_it(void **state)
{
    struct world *world = *state;
    EXPECT("MULTI", "OK");
    EXPECT("MULTI", "-ERR MULTI calls can not be nested");
    EXPECT("WATCH q", "-ERR WATCH inside MULTI is not allowed");
    EXPECT("SET k 1", "+QUEUED");
    EXPECT("EXEC", "*1 STORED");
}

static void a_refused_request_spoils_the_transaction(void **state)
{
    struct world *world = *state;
    static const char *const lines[] = {"FOO", "GET", "DISCARD x"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        EXPECT("MULTI", "OK");
        EXPECT("SET k 1", "+QUEUED");
        assert_int_equal(world_line(world, &world->client, lines[i])[0], '-');
        EXPECT("SET k 2", "+QUEUED");
        EXPECT("EXEC", "-EXECABORT Transaction discarded because of previous errors.");
        EXPECT("GET k", "MISSING");
    }
    EXPECT("MULTI", "OK");
    EXPECT("EXEC x", "-EXECABORT Transaction discarded because of: wrong number of arguments for "
                     "'exec' command");
    EXPECT("EXEC", "-ERR EXEC without MULTI");
    EXPECT("FOO", "-ERR unknown command 'FOO', with args beginning with: ");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "*0");
}

static void a_select_inside_counts_for_what_follows(void **state)
{
    struct world *world = *state;
    EXPECT("SET k zero", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("SELECT 3", "+QUEUED");
    EXPECT("SET k three", "+QUEUED");
    EXPECT("SELECT 4", "+QUEUED");
    EXPECT("GET k", "+QUEUED");
    EXPECT("EXEC", "*4 OK STORED OK MISSING");
    EXPECT("DBSIZE", ":0");
    EXPECT("SELECT 3", "OK");
    EXPECT("GET k", "\"three\"");
    EXPECT_BY(&world->other, "GET k", "\"zero\"");
}

static void commands_on_the_whole_keyspace_run_inside(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 1 b 2", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("DBSIZE", "+QUEUED");
    EXPECT("KEYS a*", "+QUEUED");
    EXPECT("FLUSHALL", "+QUEUED");
    EXPECT("SCAN 0 COUNT 1000", "+QUEUED");
    EXPECT("SET c 3", "+QUEUED");
    EXPECT("KEYS *", "+QUEUED");
    EXPECT("RENAME c d", "+QUEUED");
    EXPECT("DEL d c", "+QUEUED");
    EXPECT("EXEC", "*8 :2 *1 \"a\" OK *2 \"0\" *0 STORED *1 \"c\" OK :1");
}

static void expiry_inside_counts_from_one_moment(void **state)
{
    struct world *world = *state;
    world->client.clock_ms = harness_clock_ms;
    harness_fresh_ms = world->now_ms + 7;
    EXPECT("MULTI", "OK");
    EXPECT("SET k v PX 100", "+QUEUED");
    EXPECT("PEXPIRETIME k", "+QUEUED");
    EXPECT("EXEC", "*2 STORED :1000107");
}

static void a_watched_key_that_changed_stops_exec(void **state)
{
    struct world *world = *state;
    static const char *const changes[] = {
        "SET k 2",      "DEL k",          "INCR k",         "APPEND k x",
        "EXPIRE k 100", "MSET k 1 z 1",   "RENAME k y",     "FLUSHALL",
        "FLUSHDB",      "GETDEL k",       "SETRANGE k 0 x", "EXPIRE k -1",
        "PERSIST k",    "RENAME other k", "GETEX k EX 5",   "APPEND k ''",
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        EXPECT("SET k 1 EX 1000", "STORED");
        EXPECT("SET other 1", "STORED");
        EXPECT("WATCH k", "OK");
        assert_int_not_equal(world_line(world, &world->other, changes[i])[0], '-');
        EXPECT("MULTI", "OK");
        EXPECT("SET done 1", "+QUEUED");
        EXPECT("EXEC", "MISSING-LIST");
        EXPECT("EXISTS done", ":0");
    }
}

static void a_watched_key_that_did_not_change_does_not(void **state)
{
    struct world *world = *state;
    static const char *const others[] = {"SET x 2", "GET k", "SET k 5 NX", "TTL k", "EXISTS k x"};
    EXPECT("SET k 1", "STORED");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        EXPECT("WATCH k", "OK");
        world_line(world, &world->other, others[i]);
        EXPECT("MULTI", "OK");
        EXPECT("INCR done", "+QUEUED");
        assert_memory_equal(world_line(world, &world->client, "EXEC"), "*1 ", 3);
    }
    EXPECT_BY(&world->other, "SELECT 1", "OK");
    EXPECT("WATCH k", "OK");
    EXPECT_BY(&world->other, "SET k 2", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "*0");
}

static void a_watched_missing_key_that_appears_stops_exec(void **state)
{
    struct world *world = *state;
    EXPECT("WATCH k other", "OK");
    EXPECT_BY(&world->other, "SETNX k 1", ":1");
    EXPECT_BY(&world->other, "DEL k", ":1");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "MISSING-LIST");
}

static void a_watched_key_that_expires_stops_exec(void **state)
{
    struct world *world = *state;
    EXPECT("SET k 1 PX 10", "STORED");
    EXPECT("WATCH k", "OK");
    EXPECT("MULTI", "OK");
    EXPECT("SET done 1", "+QUEUED");
    world->now_ms += 10;
    EXPECT("EXEC", "MISSING-LIST");
}

static void unwatch_discard_and_exec_forget_watched_keys(void **state)
{
    struct world *world = *state;
    static const char *const lines[] = {"UNWATCH", "DISCARD", "EXEC"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        EXPECT("SET k 1", "STORED");
        EXPECT("WATCH k k", "OK");
        if (i > 0)
            EXPECT("MULTI", "OK");
        world_line(world, &world->client, lines[i]);
        EXPECT_BY(&world->other, "SET k 2", "STORED");
        EXPECT("MULTI", "OK");
        EXPECT("EXEC", "*0");
    }
}

static void each_of_many_watched_keys_counts(void **state)
{
    struct world *world = *state;
    enum { COUNT = 2000, STEP = 97 }; /* so many that the table of watches grows */
    static const struct {
        const char *key, *answer;
    } changes[] = {{"other", "*0"}, {"key", "MISSING-LIST"}};
    char line[64];
    for (int round = 0; round < COUNT; round += STEP) {
        for (size_t change = 0; change < 2; change++) {
            for (int i = 0; i < COUNT; i++) {
                snprintf(line, sizeof(line), "WATCH key%d", i);
                EXPECT(line, "OK");
            }
            snprintf(line, sizeof(line), "INCR %s%d", changes[change].key, round);
            EXPECT_BY(&world->other, line, ":1");
            EXPECT("MULTI", "OK");
            EXPECT("EXEC", changes[change].answer);
        }
    }
}

static void unwatch_inside_is_queued(void **state)
{
    struct world *world = *state;
    EXPECT("WATCH k", "OK");
    EXPECT("MULTI", "OK");
    EXPECT("UNWATCH", "+QUEUED");
    EXPECT("SET k 1", "+QUEUED");
    EXPECT("EXEC", "*2 OK STORED");
}

static void ones_own_change_counts_too(void **state)
{
    struct world *world = *state;
    EXPECT("WATCH k", "OK");
    EXPECT("SET k 1", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "MISSING-LIST");
}

static void a_client_may_leave_in_the_middle(void **state)
{
    struct world *world = *state;
    EXPECT("WATCH k", "OK");
    EXPECT("MULTI", "OK");
    EXPECT("SET k 1", "+QUEUED");
    client_reset(&world->client);
    EXPECT("EXEC", "-ERR EXEC without MULTI");
    EXPECT("WATCH k", "OK");
    EXPECT("MULTI", "OK");
    EXPECT("SET k 1", "+QUEUED");
    /* The teardown ends the client. */
}

static void blobs_are_taken_into_the_queue(void **state)
{
    struct world *world = *state;
    enum { SIZE = 100000 };
    struct blob *blob = blob_create(world->engine, SIZE, LIMIT_HOLDS);
    assert_non_null(blob);
    memset(blob_data(blob), 'b', SIZE);
    struct bytes argv[] = {BYTES("SET"), BYTES("k"), bytes_of(blob_data(blob), SIZE)};
    struct blob *blobs[] = {NULL, NULL, blob};
    EXPECT("MULTI", "OK");
    assert_string_equal(world_run(world, &world->client, 3, argv, blobs), "+QUEUED");
    assert_null(blobs[2]);
    EXPECT("STRLEN k", "+QUEUED");
    EXPECT("EXEC", "*2 STORED :100000");

    blobs[2] = blob_create(world->engine, SIZE, LIMIT_HOLDS);
    argv[2] = bytes_of(blob_data(blobs[2]), SIZE);
    EXPECT("MULTI", "OK");
    assert_string_equal(world_run(world, &world->client, 3, argv, blobs), "+QUEUED");
    EXPECT("DISCARD", "OK");
}

/* The blobs are never touched, so they take address space only. */
static void a_transaction_may_hold_a_gigabyte(void **state)
{
    enum { SIZE = 400 << 20 };
    struct world *world = *state;
    EXPECT("MULTI", "OK");
    for (int i = 0; i < 3; i++) {
        struct blob *blob = blob_create(world->engine, SIZE, LIMIT_HOLDS);
        assert_non_null(blob);
        struct bytes argv[] = {BYTES("ECHO"), bytes_of(blob_data(blob), SIZE)};
        struct blob *blobs[] = {NULL, blob};
        const char *answer = world_run(world, &world->client, 2, argv, blobs);
        assert_string_equal(answer, i < 2 ? "+QUEUED" : "-ERR a transaction queues at most 1 GB");
        request_release_blobs(blobs, 2);
    }
    EXPECT("EXEC", "-EXECABORT Transaction discarded because of previous errors.");
    EXPECT("MULTI", "OK");
    EXPECT("PING", "+QUEUED");
    EXPECT("EXEC", "*1 +PONG");
}

#if LARDER_FAULTS
/* Whatever allocation fails: an answer, EXEC all or nothing, nothing lost (the sanitizer looks). */
static void any_allocation_may_fail(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 0 b 0", "STORED");
    bool fired = true;
    for (unsigned long nth = 1; fired; nth++) {
        alloc_fault_at(nth);
        bool watched = strcmp(world_line(world, &world->client, "WATCH a"), "OK") == 0;
        bool multi = strcmp(world_line(world, &world->client, "MULTI"), "OK") == 0;
        bool queued = strcmp(world_line(world, &world->client, "MSET a 1 b 2"), "+QUEUED") == 0;
        char answer[256];
        snprintf(answer, sizeof(answer), "%s", world_line(world, &world->client, "EXEC"));
        fired = alloc_fault_fired();
        alloc_fault_at(0);
        if (!multi)
            assert_string_equal(answer, "-ERR EXEC without MULTI");
        else if (!queued)
            assert_memory_equal(answer, "-EXECABORT", 10);
        else if (strcmp(answer, "*1 STORED") != 0)
            assert_memory_equal(answer, "*1 -OOM", 7);
        if (!fired)
            assert_true(watched && multi && queued);
        const char *values = world_line(world, &world->client, "MGET a b");
        assert_true(strcmp(values, "*2 \"0\" \"0\"") == 0 || strcmp(values, "*2 \"1\" \"2\"") == 0);
        EXPECT("UNWATCH", "OK");
        EXPECT("MSET a 0 b 0", "STORED");
        assert_true(nth < 1000);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(queued_commands_run_at_exec),
        WORLD_TEST(an_observer_is_told_of_what_exec_runs),
        WORLD_TEST(an_empty_transaction_answers_an_empty_list),
        WORLD_TEST(discard_forgets_what_was_queued),
        WORLD_TEST(misuse_inside_multi_does_not_spoil_it),
        WORLD_TEST(a_refused_request_spoils_the_transaction),
        WORLD_TEST(a_select_inside_counts_for_what_follows),
        WORLD_TEST(commands_on_the_whole_keyspace_run_inside),
        WORLD_TEST(expiry_inside_counts_from_one_moment),
        WORLD_TEST(a_watched_key_that_changed_stops_exec),
        WORLD_TEST(a_watched_key_that_did_not_change_does_not),
        WORLD_TEST(a_watched_missing_key_that_appears_stops_exec),
        WORLD_TEST(a_watched_key_that_expires_stops_exec),
        WORLD_TEST(unwatch_discard_and_exec_forget_watched_keys),
        WORLD_TEST(each_of_many_watched_keys_counts),
        WORLD_TEST(unwatch_inside_is_queued),
        WORLD_TEST(ones_own_change_counts_too),
        WORLD_TEST(a_client_may_leave_in_the_middle),
        WORLD_TEST(blobs_are_taken_into_the_queue),
        WORLD_TEST(a_transaction_may_hold_a_gigabyte),
#if LARDER_FAULTS
        WORLD_TEST(any_allocation_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
