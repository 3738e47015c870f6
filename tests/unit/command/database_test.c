/* SPDX-License-Identifier: MIT */
#include "harness.h"

#define SAME "-ERR source and destination objects are the same"
#define BAD_DB "-ERR DB index is out of range"
#define BAD_INT "-ERR value is out of range, value must between -2147483648 and 2147483647"

static void maintain(struct world *world)
{
    for (int i = 0; i < 8; i++) {
        engine_thread_online(world->thread);
        while (engine_maintain(world->engine, world->now_ms))
            engine_thread_online(world->thread);
    }
    assert_true(engine_check(world->engine));
}

static void move_takes_value_and_expiry_along(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v PX 5000", "STORED");
    EXPECT("MOVE k 3", ":1");
    EXPECT("EXISTS k", ":0");
    EXPECT("DBSIZE", ":0");
    EXPECT("SELECT 3", "OK");
    EXPECT("GET k", "\"v\"");
    EXPECT("PTTL k", ":5000");
    EXPECT("DBSIZE", ":1");
    EXPECT("APPEND k w", ":2");
    EXPECT("MOVE k 0", ":1");
    EXPECT("SELECT 0", "OK");
    EXPECT("GET k", "\"vw\"");
    world->now_ms += 5000;
    EXPECT("GET k", "MISSING");
    maintain(world);
}

static void move_leaves_what_is_there(void **state)
{
    struct world *world = *state;
    EXPECT("MOVE none 1", ":0");
    EXPECT("SET k here", "STORED");
    EXPECT("SELECT 1", "OK");
    EXPECT("SET k there PX 10", "STORED");
    EXPECT("MOVE k 0", ":0");
    EXPECT("GET k", "\"there\"");
    world->now_ms += 10;
    EXPECT("MOVE k 0", ":0"); /* it has expired */
    EXPECT("SELECT 0", "OK");
    EXPECT("MOVE k 1", ":1"); /* and is in nobody's way */
    EXPECT("SELECT 1", "OK");
    EXPECT("GET k", "\"here\"");
}

static void a_long_key_moves_between_databases(void **state)
{
    struct world *world = *state;
    static char key[9000];
    memset(key, 'k', sizeof(key));
    struct bytes set[] = {BYTES("SET"), bytes_of(key, sizeof(key)), BYTES("v")};
    struct bytes move[] = {BYTES("MOVE"), set[1], BYTES("2")};
    struct bytes get[] = {BYTES("GET"), set[1]};
    assert_string_equal(world_run(world, &world->client, 3, set, NULL), "STORED");
    assert_string_equal(world_run(world, &world->client, 3, move, NULL), ":1");
    maintain(world);
    EXPECT("SELECT 2", "OK");
    assert_string_equal(world_run(world, &world->client, 2, get, NULL), "\"v\"");
}

static void move_refuses_what_redis_refuses(void **state)
{
    struct world *world = *state;
    EXPECT("MOVE k 0", SAME);
    EXPECT("MOVE k 16", BAD_DB);
    EXPECT("MOVE k -1", BAD_DB);
    EXPECT("MOVE k x", NOT_INTEGER);
    EXPECT("MOVE k 4294967296", BAD_INT);
    EXPECT("MOVE k", WRONG_ARITY("move"));
}

static void copy_leaves_the_source_and_copies_the_expiry(void **state)
{
    struct world *world = *state;
    EXPECT("SET a v PX 5000", "STORED");
    EXPECT("COPY a b", ":1");
    EXPECT("MGET a b", "*2 \"v\" \"v\"");
    EXPECT("PTTL b", ":5000");
    EXPECT("SET a w", "STORED");
    EXPECT("COPY a b", ":0");
    EXPECT("GET b", "\"v\"");
    EXPECT("COPY a b REPLACE", ":1");
    EXPECT("GET b", "\"w\"");
    EXPECT("PTTL b", ":-1");
    EXPECT("COPY a a DB 2", ":1");
    EXPECT("COPY a c DB 2 REPLACE", ":1");
    EXPECT("COPY a c replace db 2", ":1");
    EXPECT("COPY none c", ":0");
    EXPECT("DBSIZE", ":2");
    EXPECT("SELECT 2", "OK");
    EXPECT("MGET a b c", "*3 \"w\" MISSING \"w\"");
    EXPECT("DBSIZE", ":2");
    EXPECT("COPY a a", SAME);
    EXPECT("COPY a a DB 2", SAME);
    EXPECT("COPY a b DB 16", BAD_DB);
    EXPECT("COPY a b DB x", NOT_INTEGER);
    EXPECT("COPY a b DB", SYNTAX);
    EXPECT("COPY a b OVER", SYNTAX);
    EXPECT("COPY a", WRONG_ARITY("copy"));
    maintain(world);
}

/* The copy of a big value shares its memory, until one of the two is changed. */
static void a_copy_and_its_source_change_apart(void **state)
{
    struct world *world = *state;
    static char value[20000];
    memset(value, 'x', sizeof(value));
    struct bytes set[] = {BYTES("SET"), BYTES("a"), bytes_of(value, sizeof(value))};
    for (int changed_in_place = 0; changed_in_place < 2; changed_in_place++) {
        assert_string_equal(world_run(world, &world->client, 3, set, NULL), "STORED");
        if (changed_in_place)
            EXPECT("APPEND a y", ":20001");
        EXPECT("COPY a b REPLACE", ":1");
        EXPECT("SETRANGE a 0 first", changed_in_place ? ":20001" : ":20000");
        EXPECT("SETRANGE b 1 second", changed_in_place ? ":20001" : ":20000");
        EXPECT("GETRANGE a 0 7", "\"firstxxx\"");
        EXPECT("GETRANGE b 0 7", "\"xsecondx\"");
    }
    EXPECT("SET n 5", "STORED");
    EXPECT("COPY n m", ":1");
    EXPECT("INCR n", ":6");
    EXPECT("GET m", "\"5\"");
    EXPECT("APPEND s a", ":1");
    EXPECT("APPEND s b", ":2");
    EXPECT("COPY s t", ":1");
    EXPECT("APPEND s c", ":3");
    EXPECT("GET t", "\"ab\"");
    maintain(world);
}

static void swapdb_swaps_keys_counts_and_expiries(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 0 b 0 c 0", "STORED");
    EXPECT("SELECT 1", "OK");
    EXPECT("SET a 1 PX 1000", "STORED");
    EXPECT("SWAPDB 0 1", "OK");
    EXPECT("DBSIZE", ":3");
    EXPECT("GET a", "\"0\"");
    EXPECT("PTTL a", ":-1");
    EXPECT("SET d 1", "STORED");
    maintain(world);
    EXPECT("SELECT 0", "OK");
    EXPECT("DBSIZE", ":1");
    EXPECT("PTTL a", ":1000");
    EXPECT("SWAPDB 0 15", "OK");
    EXPECT("SWAPDB 15 1", "OK");
    EXPECT("DBSIZE", ":0");
    EXPECT("SELECT 15", "OK");
    EXPECT("DBSIZE", ":4");
    EXPECT("SWAPDB 3 3", "OK");
    EXPECT("SWAPDB x 1", "-ERR invalid first DB index");
    EXPECT("SWAPDB 1 x", "-ERR invalid second DB index");
    EXPECT("SWAPDB 4294967296 1", "-ERR invalid first DB index");
    EXPECT("SWAPDB 1 16", BAD_DB);
    EXPECT("SWAPDB -1 1", BAD_DB);
    EXPECT("SWAPDB 1", WRONG_ARITY("swapdb"));
    /* Nobody touches it: the sweep finds it in the database where it is now. */
    uint64_t keys, expiring;
    engine_db_stats(world->engine, 1, &keys, &expiring);
    assert_int_equal(keys, 1);
    assert_int_equal(expiring, 1);
    world->now_ms += 2000;
    maintain(world);
    engine_db_stats(world->engine, 1, &keys, &expiring);
    assert_int_equal(keys, 0);
    assert_int_equal(expiring, 0);
    assert_int_equal(engine_key_count(world->engine, 15), 4);
}

/* The flushed table is emptied after its database has got another one by a swap. */
static void a_flushed_database_may_be_swapped_before_its_memory_is_back(void **state)
{
    struct world *world = *state;
    char line[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof(line), "SET key:%d old PX %d", i, 100 + i);
        EXPECT(line, "STORED");
    }
    EXPECT("FLUSHDB", "OK");
    EXPECT("SELECT 1", "OK");
    for (int i = 0; i < 100; i++) {
        snprintf(line, sizeof(line), "SET key:%d new", i);
        EXPECT(line, "STORED");
    }
    EXPECT("SWAPDB 0 1", "OK");
    world->now_ms += 500;
    maintain(world);
    EXPECT("DBSIZE", ":0");
    EXPECT("SELECT 0", "OK");
    EXPECT("DBSIZE", ":100");
    EXPECT("GET key:7", "\"new\"");
    world->now_ms += 5000;
    maintain(world);
    EXPECT("DBSIZE", ":100");
}

/* WATCHes `key` in database 0, lets the other client do `line`, and tells what EXEC says. */
static const char *exec_after(struct world *world, const char *key, const char *line)
{
    char text[64];
    snprintf(text, sizeof(text), "WATCH %s", key);
    EXPECT(text, "OK");
    assert_string_equal(world_line(world, &world->other, line), "OK");
    EXPECT("MULTI", "OK");
    EXPECT("PING", "+QUEUED");
    return world_line(world, &world->client, "EXEC");
}

static void swapdb_touches_watched_keys_that_exist_in_either_database(void **state)
{
    struct world *world = *state;
    EXPECT("SELECT 1", "OK");
    EXPECT("SET there 1", "STORED");
    EXPECT("SET dead 1 PX 10", "STORED");
    EXPECT("SELECT 0", "OK");
    EXPECT("SET here 0", "STORED");
    assert_string_equal(exec_after(world, "here", "SWAPDB 0 1"), "MISSING-LIST");
    assert_string_equal(exec_after(world, "here", "SWAPDB 1 0"), "MISSING-LIST");
    assert_string_equal(exec_after(world, "there", "SWAPDB 0 1"), "MISSING-LIST");
    assert_string_equal(exec_after(world, "there", "SWAPDB 0 1"), "MISSING-LIST");
    assert_string_equal(exec_after(world, "nowhere", "SWAPDB 0 1"), "*1 +PONG");
    assert_string_equal(exec_after(world, "here", "SWAPDB 2 3"), "*1 +PONG");
    EXPECT("SWAPDB 0 1", "OK");
    world->now_ms += 10;
    assert_string_equal(exec_after(world, "dead", "SWAPDB 0 1"), "*1 +PONG");
}

static void moves_and_copies_touch_watched_keys_where_they_arrive(void **state)
{
    struct world *world = *state;
    EXPECT_BY(&world->other, "SELECT 1", "OK");
    EXPECT("WATCH k", "OK");
    EXPECT_BY(&world->other, "SET k v", "STORED"); /* of another database */
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "*0");
    EXPECT("WATCH k", "OK");
    EXPECT_BY(&world->other, "COPY k k DB 0", ":1");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "MISSING-LIST");
    EXPECT("DEL k", ":1");
    EXPECT("WATCH k", "OK");
    EXPECT_BY(&world->other, "MOVE k 0", ":1");
    EXPECT("MULTI", "OK");
    EXPECT("EXEC", "MISSING-LIST");
}

static void databases_change_inside_a_transaction(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v", "STORED");
    EXPECT("MULTI", "OK");
    EXPECT("MOVE k 1", "+QUEUED");
    EXPECT("SELECT 1", "+QUEUED");
    EXPECT("COPY k l", "+QUEUED");
    EXPECT("SWAPDB 0 1", "+QUEUED");
    EXPECT("DBSIZE", "+QUEUED");
    EXPECT("SELECT 0", "+QUEUED");
    EXPECT("MGET k l", "+QUEUED");
    EXPECT("FLUSHDB", "+QUEUED");
    EXPECT("RANDOMKEY", "+QUEUED");
    EXPECT("EXEC", "*9 :1 OK :1 OK :0 OK *2 \"v\" \"v\" OK MISSING");
}

static void randomkey_answers_each_key_as_often(void **state)
{
    struct world *world = *state;
    enum { KEYS = 400, DRAWS = 40000 };
    static uint32_t drawn[KEYS];
    EXPECT("RANDOMKEY", "MISSING");
    for (int few = 1; few >= 0; few--) {
        int keys = few ? 3 : KEYS;
        char line[32];
        for (int i = 0; i < keys; i++) {
            snprintf(line, sizeof(line), "SET %d v", i);
            EXPECT(line, "STORED");
        }
        memset(drawn, 0, sizeof(drawn));
        for (int i = 0; i < DRAWS; i++) {
            int key = atoi(world_line(world, &world->client, "RANDOMKEY") + 1);
            assert_in_range(key, 0, keys - 1);
            drawn[key]++;
        }
        /* 100 or 13,333 times each, give or take 7 and more standard deviations. */
        for (int i = 0; i < keys; i++)
            assert_in_range(drawn[i], few ? 12500 : 25, few ? 14100 : 200);
    }
    EXPECT("FLUSHDB", "OK");
    EXPECT("SET dead v PX 10", "STORED");
    world->now_ms += 10;
    EXPECT("RANDOMKEY", "MISSING");
    EXPECT("SET alive v", "STORED");
    EXPECT("RANDOMKEY", "\"alive\"");
    EXPECT("TOUCH alive dead alive", ":2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(move_takes_value_and_expiry_along),
        WORLD_TEST(move_leaves_what_is_there),
        WORLD_TEST(a_long_key_moves_between_databases),
        WORLD_TEST(move_refuses_what_redis_refuses),
        WORLD_TEST(copy_leaves_the_source_and_copies_the_expiry),
        WORLD_TEST(a_copy_and_its_source_change_apart),
        WORLD_TEST(swapdb_swaps_keys_counts_and_expiries),
        WORLD_TEST(a_flushed_database_may_be_swapped_before_its_memory_is_back),
        WORLD_TEST(swapdb_touches_watched_keys_that_exist_in_either_database),
        WORLD_TEST(moves_and_copies_touch_watched_keys_where_they_arrive),
        WORLD_TEST(databases_change_inside_a_transaction),
        WORLD_TEST(randomkey_answers_each_key_as_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
