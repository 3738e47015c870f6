/* SPDX-License-Identifier: MIT */
#include "harness.h"

static void set_stores_and_get_answers(void **state)
{
    struct world *world = *state;
    EXPECT("GET k", "MISSING");
    EXPECT("SET k v", "STORED");
    EXPECT("GET k", "\"v\"");
    EXPECT("set k ''", "STORED");
    EXPECT("gEt k", "\"\"");
    EXPECT("SET '' empty-key", "STORED");
    EXPECT("GET ''", "\"empty-key\"");
    EXPECT("SET n -12", "STORED");
    EXPECT("GET n", "\"-12\"");
    EXPECT("STRLEN n", ":3");
}

static void keys_and_values_are_binary_safe(void **state)
{
    struct world *world = *state;
    struct bytes set[] = {BYTES("SET"), BYTES("a\0\r\n\xff"), BYTES("\0v\r\n")};
    assert_string_equal(world_run(world, &world->client, 3, set, NULL), "STORED");
    EXPECT("GET a", "MISSING");
    struct bytes length[] = {BYTES("STRLEN"), set[1]};
    assert_string_equal(world_run(world, &world->client, 2, length, NULL), ":4");
}

static void set_refuses_what_redis_refuses(void **state)
{
    struct world *world = *state;
    EXPECT("SET k", WRONG_ARITY("set"));
    EXPECT("SET k v NX XX", SYNTAX);
    EXPECT("SET k v XX NX", SYNTAX);
    EXPECT("SET k v EX", SYNTAX);
    EXPECT("SET k v EX 10 PX 20", SYNTAX);
    EXPECT("SET k v EX 10 KEEPTTL", SYNTAX);
    EXPECT("SET k v KEEPTTL EX 10", SYNTAX);
    EXPECT("SET k v PERSIST", SYNTAX);
    EXPECT("SET k v FOO", SYNTAX);
    EXPECT("SET k v EX abc", NOT_INTEGER);
    EXPECT("SET k v EX 1.5", NOT_INTEGER);
    EXPECT("SET k v EX 9223372036854775808", NOT_INTEGER);
    EXPECT("SET k v EX 0", BAD_EXPIRE("set"));
    EXPECT("SET k v EX -1", BAD_EXPIRE("set"));
    EXPECT("SET k v PX -9223372036854775808", BAD_EXPIRE("set"));
    EXPECT("SET k v EX 9223372036854775807", BAD_EXPIRE("set"));
    EXPECT("SET k v PX 9223372036854775807", BAD_EXPIRE("set"));
    EXPECT("SET k v EXAT 9223372036854775807", BAD_EXPIRE("set"));
    EXPECT("SET k v PXAT 0", BAD_EXPIRE("set"));
    EXPECT("EXISTS k", ":0");
    EXPECT("SETEX k 0 v", BAD_EXPIRE("setex"));
    EXPECT("PSETEX k -1 v", BAD_EXPIRE("psetex"));
    EXPECT("SETEX k x v", NOT_INTEGER);
    EXPECT("EXISTS k", ":0");
}

static void set_conditions_hold_alone_and_with_get(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v XX", "NOT-STORED");
    EXPECT("SET k v XX GET", "MISSING");
    EXPECT("EXISTS k", ":0");
    EXPECT("SET k 1 NX GET", "MISSING");
    EXPECT("GET k", "\"1\"");
    EXPECT("SET k 2 NX", "NOT-STORED");
    EXPECT("SET k 2 NX GET", "\"1\"");
    EXPECT("GET k", "\"1\"");
    EXPECT("SET k 3 XX", "STORED");
    EXPECT("SET k 4 GET XX", "\"3\"");
    EXPECT("SET k five GET", "\"4\"");
    EXPECT("GET k", "\"five\"");
    EXPECT("SET k x NX NX", "NOT-STORED");
}

static void ifeq_compares_before_it_writes(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v IFEQ x", "NOT-STORED");
    EXPECT("SET k v IFEQ x GET", "MISSING");
    EXPECT("EXISTS k", ":0");
    EXPECT("SET k 10", "STORED");
    EXPECT("SET k b IFEQ 1", "NOT-STORED");
    EXPECT("SET k b IFEQ 010", "NOT-STORED");
    EXPECT("SET k b ifeq 10 EX 5", "STORED");
    EXPECT("TTL k", ":5");
    EXPECT("SET k c IFEQ 10 GET", "\"b\"");
    EXPECT("SET k c IFEQ b GET", "\"b\"");
    EXPECT("GET k", "\"c\"");
    EXPECT("SET k d IFEQ c NX", SYNTAX);
    EXPECT("SET k d XX IFEQ c", SYNTAX);
    EXPECT("SET k d IFEQ c IFEQ c", SYNTAX);
    EXPECT("SET k d IFEQ", SYNTAX);
    EXPECT("GETEX k IFEQ c", SYNTAX);
    EXPECT("SET k '' IFEQ c", "STORED");
    EXPECT("SET k d IFEQ ''", "STORED");
    EXPECT("GET k", "\"d\"");
}

static void delifeq_deletes_what_holds_the_value(void **state)
{
    struct world *world = *state;
    EXPECT("DELIFEQ k v", ":0");
    EXPECT("SET k 7", "STORED");
    EXPECT("DELIFEQ k 8", ":0");
    EXPECT("DELIFEQ k 07", ":0");
    EXPECT("DELIFEQ k 7", ":1");
    EXPECT("EXISTS k", ":0");
    EXPECT("APPEND k abc", ":3");
    EXPECT("APPEND k def", ":6");
    EXPECT("DELIFEQ k abc", ":0");
    EXPECT("DELIFEQ k abcdef", ":1");
    EXPECT("SET k v PX 10", "STORED");
    world->now_ms += 10;
    EXPECT("DELIFEQ k v", ":0");
    EXPECT("DELIFEQ k", WRONG_ARITY("delifeq"));
}

static void set_decides_about_the_expiry(void **state)
{
    struct world *world = *state;
    EXPECT("SET k v EX 10", "STORED");
    EXPECT("PTTL k", ":10000");
    EXPECT("SET k v", "STORED");
    EXPECT("PTTL k", ":-1");
    EXPECT("SET k v PX 1500", "STORED");
    EXPECT("SET k w KEEPTTL", "STORED");
    EXPECT("PTTL k", ":1500");
    EXPECT("SET k v EX 10 EX 20", "STORED");
    EXPECT("PTTL k", ":20000");
    EXPECT("SET k v PXAT 1002000", "STORED");
    EXPECT("PTTL k", ":2000");
    EXPECT("SET k v EXAT 1003", "STORED");
    EXPECT("PTTL k", ":3000");
    EXPECT("SET k v PXAT 9223372036854775807", "STORED");
    EXPECT("PEXPIRETIME k", ":9223372036854775807");
    EXPECT("SET k v EXAT 1", "STORED");
    EXPECT("GET k", "MISSING");
    EXPECT("SETEX k 7 v", "STORED");
    EXPECT("PTTL k", ":7000");
    EXPECT("PSETEX k 70 v", "STORED");
    EXPECT("PTTL k", ":70");
    EXPECT("GETSET k w", "\"v\"");
    EXPECT("PTTL k", ":-1");
}

static void relative_times_start_from_a_fresh_reading(void **state)
{
    struct world *world = *state;
    world->client.clock_ms = harness_clock_ms;
    harness_fresh_ms = world->now_ms + 40;
    EXPECT("SET k v PX 100", "STORED");
    EXPECT("PEXPIRETIME k", ":1000140");
    EXPECT("PTTL k", ":100");
    harness_fresh_ms = world->now_ms - 40; /* a loop's sample is never taken back */
    EXPECT("SET k v PX 100", "STORED");
    EXPECT("PEXPIRETIME k", ":1000100");
}

static void setnx_getset_getdel_do_as_named(void **state)
{
    struct world *world = *state;
    EXPECT("SETNX k v", ":1");
    EXPECT("SETNX k w", ":0");
    EXPECT("GETSET k w", "\"v\"");
    EXPECT("GETSET new w", "MISSING");
    EXPECT("GETDEL k", "\"w\"");
    EXPECT("GETDEL k", "MISSING");
    EXPECT("SET n 5", "STORED");
    EXPECT("GETSET n 6", "\"5\"");
    EXPECT("GETDEL n", "\"6\"");
    EXPECT("DBSIZE", ":1");
}

static void getex_changes_the_expiry(void **state)
{
    struct world *world = *state;
    EXPECT("GETEX k EX 0", "MISSING");
    EXPECT("SET k v", "STORED");
    EXPECT("GETEX k", "\"v\"");
    EXPECT("PTTL k", ":-1");
    EXPECT("GETEX k EX 10", "\"v\"");
    EXPECT("PTTL k", ":10000");
    EXPECT("GETEX k", "\"v\"");
    EXPECT("PTTL k", ":10000");
    EXPECT("GETEX k PERSIST", "\"v\"");
    EXPECT("PTTL k", ":-1");
    EXPECT("GETEX k PXAT 1000500", "\"v\"");
    EXPECT("PTTL k", ":500");
    EXPECT("GETEX k EX 0", BAD_EXPIRE("getex"));
    EXPECT("GETEX k EX 5 PERSIST", SYNTAX);
    EXPECT("GETEX k PERSIST EX 5", SYNTAX);
    EXPECT("GETEX k KEEPTTL", SYNTAX);
    EXPECT("GETEX k NX", SYNTAX);
    EXPECT("GETEX k EXAT 1", "\"v\"");
    EXPECT("EXISTS k", ":0");
}

static void mget_answers_every_key_in_order(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 1 b two", "STORED");
    EXPECT("MGET a", "*1 \"1\"");
    EXPECT("MGET b x a a", "*4 \"two\" MISSING \"1\" \"1\"");
    EXPECT("APPEND b !", ":4");
    EXPECT("MGET b a", "*2 \"two!\" \"1\"");
    EXPECT("PEXPIRE a 10", ":1");
    world->now_ms += 10;
    EXPECT("MGET b a", "*2 \"two!\" MISSING");
}

/* However often the keys had to be looked at. */
static void mget_counts_each_key_once(void **state)
{
    struct world *world = *state;
    struct engine_stats before, after;
    EXPECT("MSET a 1 b 2", "STORED");
    EXPECT("APPEND b x", ":2"); /* read under the lock only */
    engine_stats(world->engine, &before);
    EXPECT("MGET a b x a", "*4 \"1\" \"2x\" MISSING \"1\"");
    engine_stats(world->engine, &after);
    assert_int_equal(after.hits - before.hits, 3);
    assert_int_equal(after.misses - before.misses, 1);
}

static void mget_of_many_keys_answers_as_mget_of_few(void **state)
{
    struct world *world = *state;
    char line[2048] = "MGET", answer[4096] = "*100";
    for (int i = 0; i < 100; i++) {
        char part[64];
        snprintf(part, sizeof(part), "SET key%d v%d", i, i);
        if (i % 3 != 0)
            EXPECT(part, "STORED");
        snprintf(line + strlen(line), sizeof(line) - strlen(line), " key%d", i);
        snprintf(answer + strlen(answer), sizeof(answer) - strlen(answer),
                 i % 3 != 0 ? " \"v%d\"" : " MISSING", i);
    }
    EXPECT(line, answer);
}

static void mset_stores_all_and_the_last_of_a_key_given_twice(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 1 b 2 a 3", "STORED");
    EXPECT("MGET a b", "*2 \"3\" \"2\"");
    EXPECT("PEXPIRE a 100", ":1");
    EXPECT("MSET a 4", "STORED");
    EXPECT("PTTL a", ":-1");
    EXPECT("MSET a", WRONG_ARITY("mset"));
    EXPECT("MSET a 1 b", WRONG_ARITY("mset"));
    EXPECT("MSETNX a 1 b", WRONG_ARITY("msetnx"));
    EXPECT("MSETNX c 1 a 1", ":0");
    EXPECT("EXISTS c", ":0");
    EXPECT("MSETNX c 1 d 1 c 2", ":1");
    EXPECT("MGET c d", "*2 \"2\" \"1\"");
}

static void mset_of_many_pairs_stores_all(void **state)
{
    struct world *world = *state;
    char line[4096] = "MSET";
    for (int i = 0; i < 100; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), " key%d v%d", i, i);
    EXPECT(line, "STORED");
    EXPECT("DBSIZE", ":100");
    EXPECT("GET key57", "\"v57\"");
}

static void append_grows_a_value(void **state)
{
    struct world *world = *state;
    EXPECT("APPEND k ''", ":0");
    EXPECT("EXISTS k", ":1");
    EXPECT("APPEND k ab", ":2");
    EXPECT("APPEND k ''", ":2");
    EXPECT("PEXPIRE k 1000", ":1");
    EXPECT("APPEND k cd", ":4");
    EXPECT("PTTL k", ":1000");
    EXPECT("GET k", "\"abcd\"");
    EXPECT("SET n 1", "STORED");
    EXPECT("APPEND n 2", ":2");
    EXPECT("INCR n", ":13");
    EXPECT("GET n", "\"13\"");
}

static void getrange_clamps_its_indexes(void **state)
{
    struct world *world = *state;
    EXPECT("GETRANGE k 0 -1", "\"\"");
    EXPECT("SET k hello", "STORED");
    EXPECT("GETRANGE k 0 -1", "\"hello\"");
    EXPECT("GETRANGE k 1 3", "\"ell\"");
    EXPECT("GETRANGE k -3 -2", "\"ll\"");
    EXPECT("GETRANGE k -2 -3", "\"\"");
    EXPECT("GETRANGE k 3 1", "\"\"");
    EXPECT("GETRANGE k 4 100", "\"o\"");
    EXPECT("GETRANGE k 5 100", "\"\"");
    EXPECT("GETRANGE k -100 0", "\"h\"");
    EXPECT("GETRANGE k -100 -100", "\"h\"");
    EXPECT("GETRANGE k -100 -101", "\"\"");
    EXPECT("GETRANGE k -9223372036854775808 9223372036854775807", "\"hello\"");
    EXPECT("GETRANGE k 9223372036854775807 -9223372036854775808", "\"\"");
    EXPECT("GETRANGE k a 1", NOT_INTEGER);
    EXPECT("GETRANGE none 1 b", NOT_INTEGER);
    EXPECT("SET n 12345", "STORED");
    EXPECT("GETRANGE n 1 2", "\"23\"");
}

static void substr_is_getrange(void **state)
{
    struct world *world = *state;
    EXPECT("SET k abcdef", "STORED");
    EXPECT("SUBSTR k 1 -2", "\"bcde\"");
    EXPECT("SUBSTR k a 1", NOT_INTEGER);
    EXPECT("SUBSTR k 1", WRONG_ARITY("substr"));
}

/* Whether `part` is `whole` without some bytes. */
static bool is_subsequence(const char *part, size_t size, const char *whole)
{
    for (; size > 0 && *whole != '\0'; whole++) {
        if (*part == *whole) {
            part++;
            size--;
        }
    }
    return size == 0;
}

/* By trying all subsequences of `a`. */
static size_t naive_lcs_size(const char *a, const char *b)
{
    size_t best = 0, size = strlen(a);
    for (uint32_t mask = 0; mask < 1U << size; mask++) {
        char part[32];
        size_t count = 0;
        for (size_t i = 0; i < size; i++)
            if (mask >> i & 1)
                part[count++] = a[i];
        if (count > best && is_subsequence(part, count, b))
            best = count;
    }
    return best;
}

static void lcs_finds_a_longest_common_subsequence(void **state)
{
    struct world *world = *state;
    uint32_t dice = 12345;
    for (int round = 0; round < 300; round++) {
        char line[64], text[2][12];
        for (int i = 0; i < 2; i++) {
            dice = dice * 1664525 + 1013904223;
            size_t size = dice >> 8 & 7;
            for (size_t j = 0; j < size; j++) {
                dice = dice * 1664525 + 1013904223;
                text[i][j] = (char)('a' + (dice >> 16) % 3);
            }
            text[i][size] = '\0';
        }
        snprintf(line, sizeof(line), "MSET a %s b %s", text[0][0] ? text[0] : "''",
                 text[1][0] ? text[1] : "''");
        EXPECT(line, "STORED");
        size_t size = naive_lcs_size(text[0], text[1]);
        snprintf(line, sizeof(line), ":%zu", size);
        EXPECT("LCS a b LEN", line);
        const char *found = world_line(world, &world->client, "LCS a b");
        assert_int_equal(strlen(found), size + 2);
        assert_true(is_subsequence(found + 1, size, text[0]));
        assert_true(is_subsequence(found + 1, size, text[1]));
    }
}

static void lcs_shows_where_the_matches_are(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a ohmytext b mynewtext", "STORED");
    EXPECT("LCS a b", "\"mytext\"");
    EXPECT("LCS a b LEN", ":6");
    EXPECT("LCS a b IDX", "*2 \"matches\" *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 \"len\" :6");
    EXPECT("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN",
           "*2 \"matches\" *1 *3 *2 :4 :7 *2 :5 :8 :4 \"len\" :6");
    EXPECT("LCS a b IDX MINMATCHLEN 5", "*2 \"matches\" *0 \"len\" :6");
    EXPECT("LCS a none IDX", "*2 \"matches\" *0 \"len\" :0");
    EXPECT("LCS a none", "\"\"");
    EXPECT("LCS a a", "\"ohmytext\"");
    EXPECT("APPEND a s", ":9");
    EXPECT("LCS a b", "\"mytext\""); /* read under the lock now */
}

static void lcs_refuses_what_redis_refuses(void **state)
{
    struct world *world = *state;
    EXPECT("LCS a b IDX LEN", "-ERR If you want both the length and indexes, please just use IDX.");
    EXPECT("LCS a b FOO", SYNTAX);
    EXPECT("LCS a b MINMATCHLEN", SYNTAX);
    EXPECT("LCS a b MINMATCHLEN x", NOT_INTEGER);
    EXPECT("LCS a", WRONG_ARITY("lcs"));
    EXPECT("SETRANGE a 20000 x", ":20001");
    EXPECT("COPY a b", ":1");
    EXPECT("LCS a b LEN", "-ERR Insufficient memory, transient memory for LCS exceeds "
                          "proto-max-bulk-len");
}

static void setrange_overwrites_and_pads(void **state)
{
    struct world *world = *state;
    EXPECT("SETRANGE k 0 ''", ":0");
    EXPECT("SETRANGE k 9223372036854775807 ''", ":0");
    EXPECT("EXISTS k", ":0");
    EXPECT("SETRANGE k -1 x", "-ERR offset is out of range");
    EXPECT("SETRANGE k x x", NOT_INTEGER);
    EXPECT("SETRANGE k 536870912 x",
           "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    EXPECT("SETRANGE k 9223372036854775807 x",
           "-ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    EXPECT("EXISTS k", ":0");
    EXPECT("SET k hello", "STORED");
    EXPECT("SETRANGE k 1 EL", ":5");
    EXPECT("GET k", "\"hELlo\"");
    EXPECT("SETRANGE k 4 123", ":7");
    EXPECT("GET k", "\"hELl123\"");
    EXPECT("SETRANGE k 0 ''", ":7");
    EXPECT("SETRANGE z 2 x", ":3");
    struct bytes get[] = {BYTES("GET"), BYTES("z")};
    world_run(world, &world->client, 2, get, NULL);
    assert_memory_equal(buffer_bytes(&world->answer).data, "\"\0\0x\"", 5);
    EXPECT("SET n 777", "STORED");
    EXPECT("SETRANGE n 1 8", ":3");
    EXPECT("INCRBY n 0", ":787");
}

static void counters_count(void **state)
{
    struct world *world = *state;
    EXPECT("INCR n", ":1");
    EXPECT("INCRBY n 41", ":42");
    EXPECT("DECR n", ":41");
    EXPECT("DECRBY n 50", ":-9");
    EXPECT("GET n", "\"-9\"");
    EXPECT("PEXPIRE n 1000", ":1");
    EXPECT("INCR n", ":-8");
    EXPECT("PTTL n", ":1000");
    EXPECT("SET t text", "STORED");
    EXPECT("INCR t", NOT_INTEGER);
    EXPECT("SET t ''", "STORED");
    EXPECT("INCR t", NOT_INTEGER);
    EXPECT("SET t 01", "STORED");
    EXPECT("INCR t", NOT_INTEGER);
    EXPECT("INCRBY n x", NOT_INTEGER);
    EXPECT("INCRBY n 9223372036854775808", NOT_INTEGER);
    EXPECT("SET n 9223372036854775807", "STORED");
    EXPECT("INCR n", "-ERR increment or decrement would overflow");
    EXPECT("DECRBY n -1", "-ERR increment or decrement would overflow");
    EXPECT("DECRBY n -9223372036854775808", "-ERR decrement would overflow");
    EXPECT("GET n", "\"9223372036854775807\"");
    EXPECT("SET n -9223372036854775808", "STORED");
    EXPECT("DECR n", "-ERR increment or decrement would overflow");
    EXPECT("INCRBY n 9223372036854775807", ":-1");
}

static void a_counter_that_just_expired_counts_from_nothing(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 2; i++) {
        EXPECT("SET n 10 PX 5", "STORED");
        world->now_ms += 5;
        EXPECT(i == 0 ? "INCRBY n 0" : "INCR n", i == 0 ? ":0" : ":1");
        EXPECT("TTL n", ":-1");
    }
}

static void incrbyfloat_adds_decimals(void **state)
{
    struct world *world = *state;
    EXPECT("INCRBYFLOAT f 3.0e3", "\"3000\"");
    EXPECT("INCRBYFLOAT f 1.5", "\"3001.5\"");
    EXPECT("PEXPIRE f 1000", ":1");
    EXPECT("INCRBYFLOAT f -1.5", "\"3000\"");
    EXPECT("PTTL f", ":1000");
    EXPECT("INCR f", ":3001");
    EXPECT("INCRBYFLOAT f nan", "-ERR value is not a valid float");
    EXPECT("INCRBYFLOAT f x", "-ERR value is not a valid float");
    EXPECT("INCRBYFLOAT f 1e5000", "-ERR value is not a valid float");
    EXPECT("INCRBYFLOAT f inf", "-ERR increment would produce NaN or Infinity");
    EXPECT("GET f", "\"3001\"");
    EXPECT("SET t text", "STORED");
    EXPECT("INCRBYFLOAT t 1", "-ERR value is not a valid float");
}

static void big_values_are_kept_whole(void **state)
{
    struct world *world = *state;
    enum { SIZE = 40000 };
    char *big = test_malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        big[i] = (char)('a' + i % 26);
    struct bytes set[] = {BYTES("SET"), BYTES("k"), bytes_of(big, SIZE)};
    assert_string_equal(world_run(world, &world->client, 3, set, NULL), "STORED");
    struct bytes get[] = {BYTES("GET"), BYTES("k")};
    world_run(world, &world->client, 2, get, NULL);
    assert_memory_equal(buffer_bytes(&world->answer).data + 1, big, SIZE);
    EXPECT("APPEND k tail", ":40004");
    EXPECT("GETRANGE k 39998 -1", "\"kltail\"");
    EXPECT("STRLEN k", ":40004");
    test_free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(set_stores_and_get_answers),
        WORLD_TEST(keys_and_values_are_binary_safe),
        WORLD_TEST(set_refuses_what_redis_refuses),
        WORLD_TEST(set_conditions_hold_alone_and_with_get),
        WORLD_TEST(ifeq_compares_before_it_writes),
        WORLD_TEST(delifeq_deletes_what_holds_the_value),
        WORLD_TEST(set_decides_about_the_expiry),
        WORLD_TEST(relative_times_start_from_a_fresh_reading),
        WORLD_TEST(setnx_getset_getdel_do_as_named),
        WORLD_TEST(getex_changes_the_expiry),
        WORLD_TEST(mget_answers_every_key_in_order),
        WORLD_TEST(mget_counts_each_key_once),
        WORLD_TEST(mget_of_many_keys_answers_as_mget_of_few),
        WORLD_TEST(mset_stores_all_and_the_last_of_a_key_given_twice),
        WORLD_TEST(mset_of_many_pairs_stores_all),
        WORLD_TEST(append_grows_a_value),
        WORLD_TEST(getrange_clamps_its_indexes),
        WORLD_TEST(substr_is_getrange),
        WORLD_TEST(lcs_finds_a_longest_common_subsequence),
        WORLD_TEST(lcs_shows_where_the_matches_are),
        WORLD_TEST(lcs_refuses_what_redis_refuses),
        WORLD_TEST(setrange_overwrites_and_pads),
        WORLD_TEST(counters_count),
        WORLD_TEST(a_counter_that_just_expired_counts_from_nothing),
        WORLD_TEST(incrbyfloat_adds_decimals),
        WORLD_TEST(big_values_are_kept_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
