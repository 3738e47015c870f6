/* SPDX-License-Identifier: MIT */
#include "harness.h"

static void del_and_exists_count_keys(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 1 b 2 c 3", "STORED");
    EXPECT("EXISTS a b x a", ":3");
    EXPECT("DEL a", ":1");
    EXPECT("DEL a b x b", ":1");
    EXPECT("UNLINK c x", ":1");
    EXPECT("EXISTS a b c", ":0");
    EXPECT("DBSIZE", ":0");
    EXPECT("EXISTS", WRONG_ARITY("exists"));
}

static void type_names_what_a_key_holds(void **state)
{
    struct world *world = *state;
    EXPECT("TYPE k", "+none");
    EXPECT("SET k v", "STORED");
    EXPECT("TYPE k", "+string");
    EXPECT("INCR n", ":1");
    EXPECT("TYPE n", "+string");
}

static void expire_takes_conditions(void **state)
{
    struct world *world = *state;
    EXPECT("EXPIRE k 10", ":0");
    EXPECT("SET k v", "STORED");
    EXPECT("EXPIRE k 10 XX", ":0");
    EXPECT("EXPIRE k 10 GT", ":0"); /* no expiry counts as the latest */
    EXPECT("EXPIRE k 10 NX", ":1");
    EXPECT("EXPIRE k 20 NX", ":0");
    EXPECT("EXPIRE k 20 LT", ":0");
    EXPECT("EXPIRE k 5 GT", ":0");
    EXPECT("EXPIRE k 10 GT", ":0");
    EXPECT("EXPIRE k 20 GT", ":1");
    EXPECT("EXPIRE k 5 XX LT", ":1");
    EXPECT("PTTL k", ":5000");
    EXPECT("EXPIRE k 6 xx", ":1");
    EXPECT("PERSIST k", ":1");
    EXPECT("PERSIST k", ":0");
    EXPECT("EXPIRE k 7 XX LT", ":0");
    EXPECT("EXPIRE k 7 LT", ":1");
    EXPECT("PEXPIRE k 1500", ":1");
    EXPECT("PTTL k", ":1500");
    EXPECT("TTL k", ":2");
    EXPECT("PEXPIRE k 1499", ":1");
    EXPECT("TTL k", ":1");
    EXPECT("EXPIREAT k 1003", ":1");
    EXPECT("PTTL k", ":3000");
    EXPECT("PEXPIREAT k 1004600", ":1");
    EXPECT("PTTL k", ":4600");
    EXPECT("EXPIRETIME k", ":1005");
    EXPECT("PEXPIRETIME k", ":1004600");
    EXPECT("TTL none", ":-2");
    EXPECT("PEXPIRETIME none", ":-2");
    EXPECT("PERSIST none", ":0");
}

static void expire_refuses_what_redis_refuses(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v", "STORED");
    EXPECT("EXPIRE k abc", NOT_INTEGER);
    EXPECT("EXPIRE k abc FOO", "-ERR Unsupported option FOO");
    EXPECT("EXPIRE k 10 NX XX",
           "-ERR NX and XX, GT or LT options at the same time are not compatible");
    EXPECT("EXPIRE k 10 LT NX",
           "-ERR NX and XX, GT or LT options at the same time are not compatible");
    EXPECT("EXPIRE k 10 GT LT", "-ERR GT and LT options at the same time are not compatible");
    EXPECT("EXPIRE k 9223372036854775807", BAD_EXPIRE("expire"));
    EXPECT("EXPIRE k -9223372036854775808", BAD_EXPIRE("expire"));
    EXPECT("PEXPIRE k 9223372036854775807", BAD_EXPIRE("pexpire"));
    EXPECT("EXPIREAT k 9223372036854775807", BAD_EXPIRE("expireat"));
    EXPECT("PTTL k", ":-1");
    EXPECT("PEXPIREAT k 9223372036854775807", ":1");
    EXPECT("PEXPIRETIME k", ":9223372036854775807");
}

static void a_time_in_the_past_deletes_the_key(void **state)
{
    struct world *world = *state;
    static const char *const lines[] = {"EXPIRE k -1",   "EXPIRE k 0",     "PEXPIRE k -1",
                                        "EXPIREAT k 0",  "EXPIREAT k 1",   "PEXPIREAT k -5",
                                        "PEXPIREAT k 0", "EXPIREAT k 1000"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        EXPECT("SET k v", "STORED");
        EXPECT(lines[i], ":1");
        EXPECT("EXISTS k", ":0");
        EXPECT("DBSIZE", ":0");
    }
}

static void an_expired_key_stays_dead(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *line, *answer;
    } rows[] = {
        {"GET k", "MISSING"},
        {"PERSIST k", ":0"},
        {"EXPIRE k 10", ":0"},
        {"TTL k", ":-2"},
        {"EXISTS k", ":0"},
        {"TYPE k", "+none"},
        {"DEL k", ":0"},
        {"STRLEN k", ":0"},
        {"GETDEL k", "MISSING"},
        {"GETEX k", "MISSING"},
        {"EXISTS k k", ":0"},
        {"MGET k x", "*2 MISSING MISSING"},
        {"SET k w XX", "NOT-STORED"},
        {"RENAME k l", "-ERR no such key"},
        {"KEYS *", "*0"},
        {"SCAN 0 COUNT 1000", "*2 \"0\" *0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        EXPECT("SET k v PX 10", "STORED");
        world->now_ms += 9;
        EXPECT("GET k", "\"v\"");
        world->now_ms += 1;
        EXPECT(rows[i].line, rows[i].answer);
    }
    EXPECT("SET k v PX 10", "STORED");
    world->now_ms += 10;
    EXPECT("SETNX k w", ":1");
    EXPECT("TTL k", ":-1");
}

static void rename_moves_value_and_expiry(void **state)
{
    struct world *world = *state;
    EXPECT("RENAME a b", "-ERR no such key");
    EXPECT("RENAMENX a b", "-ERR no such key");
    EXPECT("SET a 1 PX 500", "STORED");
    EXPECT("SET b 2", "STORED");
    EXPECT("RENAME a a", "OK");
    EXPECT("RENAMENX a a", ":0");
    EXPECT("RENAMENX a b", ":0");
    EXPECT("RENAME a b", "OK");
    EXPECT("MGET a b", "*2 MISSING \"1\"");
    EXPECT("PTTL b", ":500");
    EXPECT("RENAMENX b a", ":1");
    EXPECT("MGET a b", "*2 \"1\" MISSING");
    EXPECT("APPEND a x", ":2");
    EXPECT("RENAME a c", "OK");
    EXPECT("APPEND c y", ":3");
    EXPECT("GET c", "\"1xy\"");
    EXPECT("DBSIZE", ":1");
}

static void databases_are_apart(void **state)
{
    struct world *world = *state;
    EXPECT("SET k zero", "STORED");
    EXPECT("SELECT 15", "OK");
    EXPECT("GET k", "MISSING");
    EXPECT("SET k fifteen", "STORED");
    EXPECT_BY(&world->other, "GET k", "\"zero\"");
    EXPECT("DBSIZE", ":1");
    EXPECT("SELECT 16", "-ERR DB index is out of range");
    EXPECT("SELECT -1", "-ERR DB index is out of range");
    EXPECT("SELECT abc", NOT_INTEGER);
    EXPECT("SELECT 99999999999999",
           "-ERR value is out of range, value must between -2147483648 and 2147483647");
    EXPECT("FLUSHDB", "OK");
    EXPECT("GET k", "MISSING");
    EXPECT("SELECT 0", "OK");
    EXPECT("GET k", "\"zero\"");
}

static void flushes_take_a_mode(void **state)
{
    struct world *world = *state;
    static const char *const lines[] = {"FLUSHALL", "FLUSHALL ASYNC", "flushall sync",
                                        "FLUSHDB",  "FLUSHDB ASYNC",  "FLUSHDB SYNC"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        EXPECT("MSET a 1 b 2 c 3", "STORED");
        EXPECT(lines[i], "OK");
        EXPECT("DBSIZE", ":0");
        EXPECT("EXISTS a b c", ":0");
    }
    EXPECT("SET k v", "STORED");
    EXPECT("FLUSHALL FOO", SYNTAX);
    EXPECT("FLUSHDB ASYNC SYNC", SYNTAX);
    EXPECT("DBSIZE", ":1");
    EXPECT_BY(&world->other, "SELECT 3", "OK");
    EXPECT_BY(&world->other, "SET k v", "STORED");
    EXPECT("FLUSHALL", "OK");
    EXPECT_BY(&world->other, "EXISTS k", ":0");
}

static void keys_lists_what_matches(void **state)
{
    struct world *world = *state;
    EXPECT("KEYS *", "*0");
    EXPECT("MSET one 1 two 2 three 3", "STORED");
    EXPECT("KEYS t?o", "*1 \"two\"");
    EXPECT("KEYS none*", "*0");
    EXPECT("KEYS o*", "*1 \"one\"");
    assert_memory_equal(world_line(world, &world->client, "KEYS *"), "*3 ", 3);
    assert_memory_equal(world_line(world, &world->client, "KEYS t*"), "*2 ", 3);
}

static void keys_lists_more_than_fits_a_block(void **state)
{
    struct world *world = *state;
    enum { KEYS = 1500 };
    char line[300], padding[101];
    memset(padding, 'p', 100);
    padding[100] = '\0';
    for (int i = 0; i < KEYS; i++) {
        snprintf(line, sizeof(line), "SET key:%d:%s%s v", i, padding, i == 7 ? padding : "");
        EXPECT(line, "STORED");
    }
    buffer_clear(&world->answer);
    struct reply reply = {.ops = &harness_ops, .sink = &world->answer.sink};
    struct bytes argv[] = {BYTES("KEYS"), BYTES("*")};
    struct request request = {.argc = 2, .argv = argv};
    dispatch_prepare(&world->client, &request);
    dispatch_run(&world->client, &request, world->now_ms, &reply);
    struct bytes answer = buffer_bytes(&world->answer);
    assert_memory_equal(answer.data, "*1500 ", 6);
    size_t quotes = 0;
    for (size_t i = 0; i < answer.size; i++)
        quotes += answer.data[i] == '"';
    assert_int_equal(quotes, 2 * KEYS);
}

static void scan_visits_every_key_once(void **state)
{
    struct world *world = *state;
    enum { KEYS = 1000 };
    bool seen[KEYS] = {false};
    for (int i = 0; i < KEYS; i++) {
        char line[64];
        snprintf(line, sizeof(line), "SET key:%d v", i);
        EXPECT(line, "STORED");
    }
    char line[64] = "SCAN 0 COUNT 7 MATCH key:* TYPE string";
    int rounds = 0, count = 0;
    for (unsigned long long cursor = 1; cursor != 0; rounds++) {
        const char *answer = world_line(world, &world->client, line);
        assert_int_equal(sscanf(answer, "*2 \"%llu\" ", &cursor), 1);
        for (const char *at = strstr(answer, "key:"); at; at = strstr(at + 1, "key:")) {
            int index = atoi(at + 4);
            assert_in_range(index, 0, KEYS - 1);
            assert_false(seen[index]);
            seen[index] = true;
            count++;
        }
        snprintf(line, sizeof(line), "SCAN %llu COUNT 7 MATCH key:* TYPE STRING", cursor);
        assert_true(rounds < 10 * KEYS);
    }
    assert_int_equal(count, KEYS);
    assert_true(rounds > KEYS / 100);
}

static void scan_refuses_what_redis_refuses(void **state)
{
    struct world *world = *state;
    EXPECT("SCAN abc", "-ERR invalid cursor");
    EXPECT("SCAN 0 COUNT 0", SYNTAX);
    EXPECT("SCAN 0 COUNT x", NOT_INTEGER);
    EXPECT("SCAN 0 MATCH", SYNTAX);
    EXPECT("SCAN 0 FOO bar", SYNTAX);
    EXPECT("SET k v", "STORED");
    EXPECT("SCAN 0 COUNT 1000 TYPE foo", "*2 \"0\" *0");
    EXPECT("SCAN 0 COUNT 1000 MATCH x*", "*2 \"0\" *0");
    EXPECT("SCAN 0 COUNT 9223372036854775807", "*2 \"0\" *1 \"k\"");
}

static void connection_commands_answer(void **state)
{
    struct world *world = *state;
    EXPECT("PING", "+PONG");
    EXPECT("PING hi", "\"hi\"");
    EXPECT("PING a b", WRONG_ARITY("ping"));
    EXPECT("ECHO hi", "\"hi\"");
    EXPECT("ECHO", WRONG_ARITY("echo"));
}

static void object_tells_how_a_value_is_kept(void **state)
{
    struct world *world = *state;
    static char data[20000];
    memset(data, 'x', sizeof(data));
    struct bytes set[] = {BYTES("SET"), BYTES("k"), bytes_of(data, sizeof(data))};
    EXPECT("OBJECT ENCODING k", "MISSING");
    EXPECT("OBJECT REFCOUNT k", "MISSING");
    EXPECT("OBJECT FREQ k", "MISSING");
    EXPECT("OBJECT IDLETIME k", "MISSING");
    EXPECT("SET k 12", "STORED");
    EXPECT("OBJECT ENCODING k", "\"int\"");
    EXPECT("SET k 012", "STORED");
    EXPECT("OBJECT ENCODING k", "\"embstr\"");
    EXPECT("APPEND k 3", ":4");
    EXPECT("object encoding k", "\"raw\"");
    EXPECT("OBJECT REFCOUNT k", ":1");
    set[2].size = 44;
    world_run(world, &world->client, 3, set, NULL);
    EXPECT("OBJECT ENCODING k", "\"embstr\"");
    set[2].size = 45;
    world_run(world, &world->client, 3, set, NULL);
    EXPECT("OBJECT ENCODING k", "\"raw\"");
    set[2].size = sizeof(data);
    world_run(world, &world->client, 3, set, NULL);
    EXPECT("OBJECT ENCODING k", "\"raw\"");
    EXPECT("OBJECT REFCOUNT k", ":1");
    EXPECT("COPY k l", ":1");
    EXPECT("OBJECT REFCOUNT l", ":2");
    EXPECT("SETRANGE l 0 a", ":20000");
    EXPECT("OBJECT REFCOUNT l", ":1");
    EXPECT("OBJECT IDLETIME k", "-ERR idle time not tracked");
    EXPECT("OBJECT", WRONG_ARITY("object"));
    EXPECT("OBJECT ENCODING", WRONG_ARITY("object|encoding"));
    EXPECT("OBJECT AGE k", "-ERR unknown subcommand 'AGE'. Try OBJECT HELP.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(del_and_exists_count_keys),
        WORLD_TEST(type_names_what_a_key_holds),
        WORLD_TEST(expire_takes_conditions),
        WORLD_TEST(expire_refuses_what_redis_refuses),
        WORLD_TEST(a_time_in_the_past_deletes_the_key),
        WORLD_TEST(an_expired_key_stays_dead),
        WORLD_TEST(rename_moves_value_and_expiry),
        WORLD_TEST(databases_are_apart),
        WORLD_TEST(flushes_take_a_mode),
        WORLD_TEST(keys_lists_what_matches),
        WORLD_TEST(keys_lists_more_than_fits_a_block),
        WORLD_TEST(scan_visits_every_key_once),
        WORLD_TEST(scan_refuses_what_redis_refuses),
        WORLD_TEST(connection_commands_answer),
        WORLD_TEST(object_tells_how_a_value_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
