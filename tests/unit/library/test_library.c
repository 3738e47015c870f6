/* SPDX-License-Identifier: MIT
 *
 * The public interface, as an embedding program sees it. Time is driven by the tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <larder.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

#define assert_ok(call) assert_string_equal(larder_status_text(call), larder_status_text(LARDER_OK))

enum { START_MS = 1700000000 };

static struct larder *open_manual(void)
{
    struct larder_options options = {.clock = LARDER_CLOCK_MANUAL,
                                     .start_ms = START_MS,
                                     .threads = 2,
                                     .shards = 4,
                                     .hash_seed = 42};
    struct larder *larder;
    assert_ok(larder_open(&options, &larder));
    return larder;
}

static void set_text(struct larder *larder, const char *key, const char *value)
{
    assert_ok(larder_set(larder, larder_text(key), larder_text(value), NULL, NULL));
}

static void set_for(struct larder *larder, const char *key, const char *value, int64_t ttl_ms)
{
    struct larder_set_options options = {.ttl_ms = ttl_ms};
    assert_ok(larder_set(larder, larder_text(key), larder_text(value), &options, NULL));
}

/* `expected` NULL: the key is missing. */
static void assert_value(struct larder *larder, const char *key, const char *expected)
{
    char buffer[128];
    size_t size;
    bool found;
    assert_ok(larder_get(larder, larder_text(key), buffer, sizeof buffer, &size, &found));
    assert_int_equal(found, expected != NULL);
    assert_int_equal(size, expected != NULL ? strlen(expected) : 0);
    if (expected != NULL)
        assert_memory_equal(buffer, expected, size);
}

static int64_t ttl_of(struct larder *larder, const char *key)
{
    int64_t ttl_ms = -1;
    bool found;
    assert_ok(larder_ttl(larder, larder_text(key), &ttl_ms, &found));
    assert_true(found);
    return ttl_ms;
}

/* A command of blank-separated words. */
static struct larder_reply *command(struct larder *larder, const char *line)
{
    struct larder_bytes argv[32];
    size_t argc = 0;
    for (const char *at = line; *at != 0;) {
        size_t size = strcspn(at, " ");
        argv[argc++] = (struct larder_bytes){at, size};
        at += size + (at[size] == ' ');
    }
    struct larder_reply *reply;
    assert_ok(larder_command(larder, argc, argv, &reply));
    return reply;
}

static void assert_kind(struct larder *larder, const char *line, enum larder_reply_kind kind)
{
    struct larder_reply *reply = command(larder, line);
    assert_int_equal(reply->kind, kind);
    larder_reply_free(reply);
}

static void assert_integer(struct larder *larder, const char *line, int64_t expected)
{
    struct larder_reply *reply = command(larder, line);
    assert_int_equal(reply->kind, LARDER_REPLY_INTEGER);
    assert_int_equal(reply->integer, expected);
    larder_reply_free(reply);
}

static void assert_error(struct larder *larder, const char *line, const char *code)
{
    struct larder_reply *reply = command(larder, line);
    assert_int_equal(reply->kind, LARDER_REPLY_ERROR);
    assert_string_equal(reply->code, code);
    assert_int_equal(strlen(reply->data), reply->size);
    larder_reply_free(reply);
}

/* ---- opening */

static void test_opens_with_defaults_and_a_background_thread(void **state)
{
    (void)state;
    struct larder *larder;
    assert_ok(larder_open(NULL, &larder));
    set_text(larder, "a", "1");
    assert_value(larder, "a", "1");
    assert_false(larder_maintain(larder));
    larder_close(larder);
    larder_close(NULL);
}

static void test_closes_with_entries_and_replies_outstanding(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key%d", i);
        set_text(larder, key, "value");
    }
    struct larder_reply *reply = command(larder, "GET key7");
    larder_close(larder);
    assert_int_equal(reply->kind, LARDER_REPLY_BYTES);
    assert_string_equal(reply->data, "value");
    larder_reply_free(reply);
    larder_reply_free(NULL);
}

static void test_two_handles_share_nothing(void **state)
{
    (void)state;
    struct larder *one = open_manual(), *two = open_manual();
    set_text(one, "a", "of one");
    set_text(two, "a", "of two");
    set_text(two, "b", "only two");
    assert_value(one, "a", "of one");
    assert_value(two, "a", "of two");
    assert_value(one, "b", NULL);
    larder_close(one);
    assert_value(two, "a", "of two");
    /* A new handle may lie where the closed one was. */
    one = open_manual();
    assert_value(one, "a", NULL);
    larder_close(two);
    larder_close(one);
}

static void test_statuses_have_texts(void **state)
{
    (void)state;
    for (int i = LARDER_OK; i <= LARDER_TRANSACTION_TOO_LARGE; i++)
        assert_true(strlen(larder_status_text((enum larder_status)i)) > 0);
    assert_string_equal(larder_status_text((enum larder_status)9999), "unknown status");
}

/* ---- reading */

static void test_get_cuts_the_copy_and_tells_the_whole_size(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    char buffer[4] = "....";
    size_t size;
    bool found;
    set_text(larder, "a", "abcdef");
    assert_ok(larder_get(larder, larder_text("a"), buffer, 3, &size, &found));
    assert_true(found);
    assert_int_equal(size, 6);
    assert_memory_equal(buffer, "abc.", 4);
    assert_ok(larder_get(larder, larder_text("a"), NULL, 0, &size, &found));
    assert_int_equal(size, 6);
    assert_ok(larder_get(larder, larder_text("b"), buffer, sizeof buffer, &size, &found));
    assert_false(found);
    assert_int_equal(size, 0);
    larder_close(larder);
}

static void test_keys_and_values_are_any_bytes(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct larder_bytes key = {"\0\r\n\xff", 4}, empty = {NULL, 0};
    char buffer[16];
    size_t size;
    bool found;
    assert_ok(larder_set(larder, key, (struct larder_bytes){"v\0v", 3}, NULL, NULL));
    assert_ok(larder_set(larder, empty, empty, NULL, NULL));
    assert_ok(larder_get(larder, key, buffer, sizeof buffer, &size, &found));
    assert_true(found);
    assert_int_equal(size, 3);
    assert_memory_equal(buffer, "v\0v", 3);
    assert_ok(larder_get(larder, empty, buffer, sizeof buffer, &size, &found));
    assert_true(found);
    assert_int_equal(size, 0);
    larder_close(larder);
}

struct seen {
    size_t count;
    size_t found;
    int64_t expires_ms;
    char text[64];
};

static void see(void *argument, size_t index, const struct larder_value *value)
{
    struct seen *seen = argument;
    assert_int_equal(index, seen->count++);
    if (value == NULL)
        return;
    seen->found++;
    seen->expires_ms = value->expires_ms;
    assert_true(value->size < sizeof seen->text);
    memcpy(seen->text, value->data, value->size);
    seen->text[value->size] = 0;
}

static void test_get_with_shows_the_value_and_its_expiry(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct seen seen = {0};
    set_text(larder, "a", "stays");
    assert_ok(larder_get_with(larder, larder_text("a"), see, &seen));
    assert_string_equal(seen.text, "stays");
    assert_true(seen.expires_ms == LARDER_NEVER);
    seen = (struct seen){0};
    set_for(larder, "a", "goes", 5000);
    assert_ok(larder_get_with(larder, larder_text("a"), see, &seen));
    assert_string_equal(seen.text, "goes");
    assert_int_equal(seen.expires_ms, START_MS + 5000);
    seen = (struct seen){0};
    assert_ok(larder_get_with(larder, larder_text("b"), see, &seen));
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.found, 0);
    larder_close(larder);
}

static void see_number(void *argument, size_t index, const struct larder_value *value)
{
    char text[16];
    size_t *next = argument;
    assert_int_equal(index, (*next)++);
    snprintf(text, sizeof text, "%zu", index * 2);
    assert_int_equal(value != NULL, index % 2 == 0);
    if (value != NULL) {
        assert_int_equal(value->size, strlen(text));
        assert_memory_equal(value->data, text, value->size);
    }
}

static void test_get_many_shows_each_key_in_order(void **state)
{
    (void)state;
    enum { COUNT = 131 };
    static char texts[COUNT][16];
    struct larder_bytes keys[COUNT];
    struct larder *larder = open_manual();
    char value[16];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "key%zu", i);
        snprintf(value, sizeof value, "%zu", i * 2);
        keys[i] = larder_text(texts[i]);
        if (i % 2 == 0)
            assert_ok(larder_set(larder, keys[i], larder_text(value), NULL, NULL));
    }
    size_t next = 0;
    assert_ok(larder_get_many(larder, keys, COUNT, see_number, &next));
    assert_int_equal(next, COUNT);
    assert_ok(larder_get_many(larder, keys, 0, see_number, &next));
    assert_int_equal(next, COUNT);
    larder_close(larder);
}

static void test_reads_see_values_that_change_in_place(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    set_text(larder, "a", "abc");
    assert_integer(larder, "APPEND a def", 6);
    assert_value(larder, "a", "abcdef");
    larder_close(larder);
}

/* ---- writing */

static void test_set_keeps_its_condition(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct larder_set_options missing = {.condition = LARDER_IF_MISSING};
    struct larder_set_options present = {.condition = LARDER_IF_PRESENT};
    bool stored;
    assert_ok(larder_set(larder, larder_text("a"), larder_text("1"), &present, &stored));
    assert_false(stored);
    assert_value(larder, "a", NULL);
    assert_ok(larder_set(larder, larder_text("a"), larder_text("2"), &missing, &stored));
    assert_true(stored);
    assert_ok(larder_set(larder, larder_text("a"), larder_text("3"), &missing, &stored));
    assert_false(stored);
    assert_value(larder, "a", "2");
    assert_ok(larder_set(larder, larder_text("a"), larder_text("4"), &present, &stored));
    assert_true(stored);
    assert_value(larder, "a", "4");
    larder_close(larder);
}

static void test_a_key_expires_at_its_time(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    set_for(larder, "a", "1", 100);
    assert_int_equal(ttl_of(larder, "a"), 100);
    larder_set_time(larder, START_MS + 99);
    assert_int_equal(ttl_of(larder, "a"), 1);
    assert_value(larder, "a", "1");
    larder_set_time(larder, START_MS); /* time does not go back */
    assert_int_equal(ttl_of(larder, "a"), 1);
    larder_set_time(larder, START_MS + 100);
    assert_value(larder, "a", NULL);
    bool found;
    int64_t ttl_ms = 7;
    assert_ok(larder_ttl(larder, larder_text("a"), &ttl_ms, &found));
    assert_false(found);
    assert_int_equal(ttl_ms, 7);
    larder_close(larder);
}

static void test_set_replaces_or_keeps_the_time_to_live(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct larder_set_options keep = {.keep_ttl = true};
    set_for(larder, "a", "1", 100);
    assert_ok(larder_set(larder, larder_text("a"), larder_text("2"), &keep, NULL));
    assert_value(larder, "a", "2");
    assert_int_equal(ttl_of(larder, "a"), 100);
    set_text(larder, "a", "3");
    assert_true(ttl_of(larder, "a") == LARDER_NEVER);
    set_for(larder, "a", "4", 100);
    set_for(larder, "a", "5", LARDER_NEVER);
    assert_true(ttl_of(larder, "a") == LARDER_NEVER);
    larder_close(larder);
}

static void test_bad_set_options_change_nothing(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct larder_set_options both = {.ttl_ms = 5, .keep_ttl = true};
    struct larder_set_options negative = {.ttl_ms = -1};
    struct larder_set_options endless = {.ttl_ms = LARDER_NEVER - 1};
    struct larder_bytes key = larder_text("a"), value = larder_text("new");
    struct larder_bytes huge = {value.data, (512u << 20) + 1};
    bool stored = false;
    set_text(larder, "a", "old");
    assert_int_equal(larder_set(larder, key, value, &both, &stored), LARDER_SYNTAX);
    assert_int_equal(larder_set(larder, key, value, &negative, &stored), LARDER_NOT_INTEGER);
    assert_int_equal(larder_set(larder, key, value, &endless, &stored), LARDER_NOT_INTEGER);
    assert_int_equal(larder_set(larder, key, huge, NULL, &stored), LARDER_VALUE_TOO_LARGE);
    assert_int_equal(larder_set(larder, huge, value, NULL, &stored), LARDER_VALUE_TOO_LARGE);
    assert_int_equal(larder_expire(larder, key, LARDER_NEVER - 1, &stored), LARDER_NOT_INTEGER);
    assert_false(stored);
    assert_value(larder, "a", "old");
    larder_close(larder);
}

static void test_delete_tells_whether_there_was_a_key(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    bool deleted;
    set_text(larder, "a", "1");
    assert_ok(larder_delete(larder, larder_text("a"), &deleted));
    assert_true(deleted);
    assert_ok(larder_delete(larder, larder_text("a"), &deleted));
    assert_false(deleted);
    set_for(larder, "a", "1", 10);
    larder_set_time(larder, START_MS + 10);
    assert_ok(larder_delete(larder, larder_text("a"), &deleted));
    assert_false(deleted);
    assert_ok(larder_delete(larder, larder_text("a"), NULL));
    larder_close(larder);
}

static void test_incr_counts_and_refuses_what_it_cannot_count(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    int64_t value = 0;
    assert_ok(larder_incr(larder, larder_text("n"), 5, &value));
    assert_int_equal(value, 5);
    assert_ok(larder_incr(larder, larder_text("n"), -7, &value));
    assert_int_equal(value, -2);
    assert_value(larder, "n", "-2");
    set_for(larder, "n", "9223372036854775806", 100);
    assert_ok(larder_incr(larder, larder_text("n"), 1, NULL));
    assert_int_equal(larder_incr(larder, larder_text("n"), 1, &value), LARDER_INTEGER_OVERFLOW);
    assert_int_equal(value, -2);
    assert_value(larder, "n", "9223372036854775807");
    assert_int_equal(ttl_of(larder, "n"), 100);
    larder_set_time(larder, START_MS + 100);
    assert_ok(larder_incr(larder, larder_text("n"), 0, &value));
    assert_int_equal(value, 0);
    assert_true(ttl_of(larder, "n") == LARDER_NEVER);
    set_text(larder, "n", "007");
    assert_int_equal(larder_incr(larder, larder_text("n"), 1, &value), LARDER_NOT_INTEGER);
    assert_value(larder, "n", "007");
    larder_close(larder);
}

static void test_expire_changes_deletes_and_persists(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    bool found;
    assert_ok(larder_expire(larder, larder_text("a"), 100, &found));
    assert_false(found);
    set_text(larder, "a", "1");
    assert_ok(larder_expire(larder, larder_text("a"), 100, &found));
    assert_true(found);
    assert_int_equal(ttl_of(larder, "a"), 100);
    assert_ok(larder_expire(larder, larder_text("a"), LARDER_NEVER, NULL));
    assert_true(ttl_of(larder, "a") == LARDER_NEVER);
    assert_ok(larder_expire(larder, larder_text("a"), 0, &found));
    assert_true(found);
    assert_value(larder, "a", NULL);
    set_text(larder, "a", "1");
    assert_ok(larder_expire(larder, larder_text("a"), INT64_MIN, &found));
    assert_true(found);
    assert_value(larder, "a", NULL);
    larder_close(larder);
}

struct big {
    const char *expected;
    size_t size;
    bool same;
};

static void see_big(void *argument, size_t index, const struct larder_value *value)
{
    struct big *big = argument;
    (void)index;
    big->same = value != NULL && value->size == big->size &&
                memcmp(value->data, big->expected, big->size) == 0;
}

static void test_big_values_come_back_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {16383, 16384, 16385, 1 << 20, 5000001};
    struct larder *larder = open_manual();
    struct larder_set_options present = {.condition = LARDER_IF_PRESENT};
    char *data = malloc(5000001);
    assert_non_null(data);
    for (size_t i = 0; i < 5000001; i++)
        data[i] = (char)(i * 31 >> 3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct big big = {data, sizes[i], false};
        bool stored;
        assert_ok(larder_set(larder, larder_text("big"), (struct larder_bytes){data, sizes[i]},
                             NULL, NULL));
        assert_ok(larder_get_with(larder, larder_text("big"), see_big, &big));
        assert_true(big.same);
        /* Not stored: its memory goes back. */
        assert_ok(larder_set(larder, larder_text("none"), (struct larder_bytes){data, sizes[i]},
                             &present, &stored));
        assert_false(stored);
        struct larder_reply *reply = command(larder, "GET big");
        assert_int_equal(reply->size, sizes[i]);
        assert_memory_equal(reply->data, data, sizes[i]);
        larder_reply_free(reply);
    }
    free(data);
    larder_close(larder);
}

static void test_the_limit_refuses_writes_but_not_reads(void **state)
{
    (void)state;
    struct larder_options options = {.memory_max_bytes = 8 << 20, .no_background = true};
    struct larder *larder;
    assert_ok(larder_open(&options, &larder));
    static char value[1000];
    struct larder_bytes bytes = {value, sizeof value};
    enum larder_status status = LARDER_OK;
    char key[16];
    int count = 0;
    while (status == LARDER_OK && count < 20000) {
        snprintf(key, sizeof key, "key%d", count);
        status = larder_set(larder, larder_text(key), bytes, NULL, NULL);
        if (status == LARDER_OK)
            count++;
    }
    assert_int_equal(status, LARDER_NO_MEMORY);
    assert_true(count > 1000);
    bool found;
    size_t size;
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_ok(larder_get(larder, larder_text(key), NULL, 0, &size, &found));
        assert_true(found);
    }
    snprintf(key, sizeof key, "key%d", count);
    assert_ok(larder_get(larder, larder_text(key), NULL, 0, &size, &found));
    assert_false(found);
    static char large[100000];
    struct larder_bytes argv[] = {larder_text("SET"), larder_text("a"), {large, sizeof large}};
    struct larder_reply *reply;
    assert_ok(larder_command(larder, 3, argv, &reply));
    assert_int_equal(reply->kind, LARDER_REPLY_ERROR);
    assert_string_equal(reply->code, "OOM");
    larder_reply_free(reply);
    larder_close(larder);
}

/* ---- brackets */

static void test_brackets_nest_and_see_driven_time(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    set_for(larder, "a", "1", 100);
    assert_ok(larder_enter(larder));
    assert_ok(larder_enter(larder));
    larder_leave(larder);
    assert_value(larder, "a", "1");
    larder_set_time(larder, START_MS + 100);
    assert_value(larder, "a", NULL);
    set_for(larder, "b", "1", 100);
    assert_kind(larder, "SET c 1 PX 100", LARDER_REPLY_STORED);
    assert_int_equal(ttl_of(larder, "b"), 100);
    assert_int_equal(ttl_of(larder, "c"), 100);
    larder_leave(larder);
    assert_value(larder, "b", "1");
    larder_close(larder);
}

/* ---- commands */

static void test_replies_are_meanings(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    assert_kind(larder, "SET a 1", LARDER_REPLY_STORED);
    assert_kind(larder, "SET a 2 NX", LARDER_REPLY_NOT_STORED);
    assert_kind(larder, "GET none", LARDER_REPLY_MISSING);
    assert_kind(larder, "PING", LARDER_REPLY_WORD);
    assert_integer(larder, "INCR a", 2);
    assert_error(larder, "NOSUCHCOMMAND", "ERR");
    assert_error(larder, "GET", "ERR");
    assert_error(larder, "SET a b c", "ERR");

    struct larder_reply *reply = command(larder, "MGET a none a");
    assert_int_equal(reply->kind, LARDER_REPLY_LIST);
    assert_int_equal(reply->count, 3);
    assert_int_equal(reply->items[0].kind, LARDER_REPLY_BYTES);
    assert_string_equal(reply->items[0].data, "2");
    assert_int_equal(reply->items[1].kind, LARDER_REPLY_MISSING);
    assert_int_equal(reply->items[2].size, 1);
    larder_reply_free(reply);

    reply = command(larder, "SCAN 0");
    assert_int_equal(reply->kind, LARDER_REPLY_LIST);
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->items[1].kind, LARDER_REPLY_LIST);
    larder_reply_free(reply);
    larder_close(larder);
}

static void check_tree(const struct larder_reply *reply, int depth)
{
    assert_true(depth < 12);
    assert_in_range(reply->kind, LARDER_REPLY_OK, LARDER_REPLY_ERROR);
    if (reply->size > 0)
        assert_int_equal(reply->data[reply->size], 0);
    for (size_t i = 0; i < reply->count; i++)
        check_tree(&reply->items[i], depth + 1);
}

static void test_long_and_deep_replies_are_whole_trees(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    assert_kind(larder, "MSET a 1 b 2", LARDER_REPLY_STORED);
    assert_kind(larder, "MULTI", LARDER_REPLY_OK);
    assert_kind(larder, "MGET a none b", LARDER_REPLY_WORD);
    assert_kind(larder, "SCAN 0 COUNT 100", LARDER_REPLY_WORD);
    assert_kind(larder, "MGET none", LARDER_REPLY_WORD);
    assert_kind(larder, "INCR b", LARDER_REPLY_WORD);
    struct larder_reply *nested = command(larder, "EXEC");
    check_tree(nested, 0);
    assert_int_equal(nested->count, 4);
    assert_string_equal(nested->items[0].items[2].data, "2");
    assert_string_equal(nested->items[1].items[0].data, "0");
    assert_int_equal(nested->items[1].items[1].count, 2);
    assert_int_equal(nested->items[2].items[0].kind, LARDER_REPLY_MISSING);
    assert_int_equal(nested->items[3].integer, 3);
    larder_reply_free(nested);

    enum { COUNT = 2000 };
    static struct larder_bytes argv[1 + COUNT];
    argv[0] = larder_text("MGET");
    for (size_t i = 1; i <= COUNT; i++)
        argv[i] = larder_text(i % 2 == 0 ? "a" : "none");
    set_text(larder, "a", "some value");
    struct larder_reply *reply;
    assert_ok(larder_command(larder, 1 + COUNT, argv, &reply));
    assert_int_equal(reply->count, COUNT);
    check_tree(reply, 0);
    assert_string_equal(reply->items[COUNT - 1].data, "some value");
    larder_reply_free(reply);
    assert_int_equal(larder_command(larder, 0, argv, &reply), LARDER_SYNTAX);
    larder_close(larder);
}

static void test_select_holds_for_functions_too(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    set_text(larder, "a", "in 0");
    assert_kind(larder, "SELECT 3", LARDER_REPLY_OK);
    assert_value(larder, "a", NULL);
    set_text(larder, "a", "in 3");
    assert_kind(larder, "SELECT 0", LARDER_REPLY_OK);
    assert_value(larder, "a", "in 0");
    larder_close(larder);
}

static void test_a_transaction_belongs_to_its_thread_and_watches(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    set_text(larder, "a", "1");
    assert_kind(larder, "WATCH a", LARDER_REPLY_OK);
    assert_kind(larder, "MULTI", LARDER_REPLY_OK);
    assert_kind(larder, "INCR a", LARDER_REPLY_WORD);
    assert_kind(larder, "GET a", LARDER_REPLY_WORD);
    struct larder_reply *reply = command(larder, "EXEC");
    assert_int_equal(reply->kind, LARDER_REPLY_LIST);
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->items[0].integer, 2);
    assert_string_equal(reply->items[1].data, "2");
    larder_reply_free(reply);

    assert_kind(larder, "WATCH a", LARDER_REPLY_OK);
    assert_kind(larder, "MULTI", LARDER_REPLY_OK);
    assert_kind(larder, "INCR a", LARDER_REPLY_WORD);
    set_text(larder, "a", "7"); /* functions act at once */
    assert_kind(larder, "EXEC", LARDER_REPLY_MISSING_LIST);
    assert_value(larder, "a", "7");

    /* Closing with a transaction open and a key watched. */
    assert_kind(larder, "WATCH a", LARDER_REPLY_OK);
    assert_kind(larder, "MULTI", LARDER_REPLY_OK);
    assert_kind(larder, "INCR a", LARDER_REPLY_WORD);
    larder_close(larder);
}

/* ---- threads */

struct worker {
    struct larder *larder;
    int rounds;
    bool bracket;
    const char *line; /* a command to end with, or NULL */
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    if (worker->bracket)
        assert_ok(larder_enter(worker->larder));
    for (int i = 0; i < worker->rounds; i++) {
        assert_ok(larder_incr(worker->larder, larder_text("count"), 1, NULL));
        set_for(worker->larder, "shared", i % 2 == 0 ? "even" : "odd", 1000);
        size_t size;
        bool found;
        char buffer[8];
        assert_ok(larder_get(worker->larder, larder_text("shared"), buffer, sizeof buffer, &size,
                             &found));
        assert_true(found);
        assert_true(size == 3 || size == 4);
        assert_memory_equal(buffer, size == 3 ? "odd" : "even", size);
    }
    if (worker->line != NULL)
        larder_reply_free(command(worker->larder, worker->line));
    if (worker->bracket)
        larder_leave(worker->larder);
    return NULL;
}

static void test_threads_start_and_end_as_they_like(void **state)
{
    (void)state;
    enum { GENERATIONS = 20, THREADS = 4, ROUNDS = 50 };
    struct larder *larder;
    assert_ok(larder_open(NULL, &larder));
    for (int generation = 0; generation < GENERATIONS; generation++) {
        pthread_t threads[THREADS];
        struct worker workers[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){larder, ROUNDS, i % 2 == 0, i == 1 ? "WATCH count" : NULL};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    int64_t count;
    assert_ok(larder_incr(larder, larder_text("count"), 0, &count));
    assert_int_equal(count, GENERATIONS * THREADS * ROUNDS);
    struct larder_stats stats;
    larder_stats(larder, &stats);
    assert_int_equal(stats.hits, GENERATIONS * THREADS * ROUNDS);
    larder_close(larder);
}

struct outliving {
    struct larder *larder;
    pthread_barrier_t barrier;
};

static void *outlive(void *argument)
{
    struct outliving *outliving = argument;
    set_text(outliving->larder, "a", "1");
    larder_reply_free(command(outliving->larder, "WATCH a"));
    larder_reply_free(command(outliving->larder, "MULTI"));
    pthread_barrier_wait(&outliving->barrier); /* the handle is closed now */
    pthread_barrier_wait(&outliving->barrier);
    struct larder *own = open_manual();
    set_text(own, "b", "2");
    assert_value(own, "b", "2");
    assert_value(own, "a", NULL);
    larder_close(own);
    return NULL;
}

static void test_a_thread_outlives_the_handle_it_used(void **state)
{
    (void)state;
    struct outliving outliving = {.larder = open_manual()};
    pthread_t thread;
    pthread_barrier_init(&outliving.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, outlive, &outliving), 0);
    pthread_barrier_wait(&outliving.barrier);
    larder_close(outliving.larder);
    pthread_barrier_wait(&outliving.barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&outliving.barrier);
}

static void *end_inside_a_bracket(void *argument)
{
    assert_ok(larder_enter(argument));
    set_text(argument, "a", "left behind");
    return NULL;
}

/* In every build, release included: going on would write to what is not there. */
static void test_leaving_what_was_not_entered_ends_the_process(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) != NULL) /* what it says is no news here */
            larder_leave(larder);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    larder_close(larder);
}

static void test_a_thread_may_end_inside_a_bracket(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_inside_a_bracket, larder), 0);
    pthread_join(thread, NULL);
    assert_value(larder, "a", "left behind");
    for (int i = 0; i < 1000; i++)
        set_text(larder, "a", i % 2 == 0 ? "even" : "odd");
    while (larder_maintain(larder))
        ;
    struct larder_stats stats;
    larder_stats(larder, &stats);
    assert_int_equal(stats.keys, 1);
    larder_close(larder);
}

/* ---- housekeeping */

static void test_stats_count_what_happened(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    struct larder_stats stats;
    set_text(larder, "a", "1");
    set_for(larder, "b", "2", 100);
    set_text(larder, "c", "3");
    assert_ok(larder_delete(larder, larder_text("c"), NULL));
    assert_value(larder, "a", "1");
    assert_value(larder, "a", "1");
    assert_value(larder, "none", NULL);
    larder_stats(larder, &stats);
    assert_int_equal(stats.keys, 2);
    assert_int_equal(stats.keys_expiring, 1);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.inserted, 3);
    assert_int_equal(stats.deleted, 1);
    assert_int_equal(stats.memory_max_bytes, 0);
    assert_true(stats.used_bytes >= stats.live_bytes && stats.live_bytes > 0);
    larder_close(larder);
}

static void test_maintenance_reclaims_expired_keys_nobody_touches(void **state)
{
    (void)state;
    struct larder *larder = open_manual();
    char key[16];
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof key, "key%d", i);
        set_for(larder, key, "value", 100);
    }
    struct larder_stats stats;
    for (int round = 1; round <= 100; round++) {
        larder_set_time(larder, START_MS + 100 + round * 100);
        while (larder_maintain(larder))
            ;
    }
    larder_stats(larder, &stats);
    assert_int_equal(stats.keys, 0);
    assert_int_equal(stats.expired, 500);
    larder_close(larder);
}

#if LARDER_FAULTS
/* All that a program may do. True when nothing failed; whatever failed must have failed cleanly. */
static bool session(void)
{
    struct larder_options options = {.clock = LARDER_CLOCK_MANUAL, .shards = 2, .threads = 1};
    static const char *const lines[] = {"SET b 2", "MSET c 1 d 2", "APPEND b xyz", "WATCH b",
                                        "MULTI",   "INCR c",       "EXEC",         "SCAN 0"};
    struct larder *larder;
    bool all = true, found = false;
    size_t size;
    if (larder_open(&options, &larder) != LARDER_OK)
        return false;
    static char big[20000];
    all &= larder_set(larder, larder_text("a"), (struct larder_bytes){big, sizeof big}, NULL,
                      NULL) == LARDER_OK;
    enum larder_status status = larder_get(larder, larder_text("a"), NULL, 0, &size, &found);
    if (status == LARDER_OK && found)
        assert_int_equal(size, sizeof big);
    all &= status == LARDER_OK;
    all &= larder_incr(larder, larder_text("n"), 1, NULL) == LARDER_OK;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct larder_bytes argv[8];
        size_t argc = 0;
        for (const char *at = lines[i]; *at != 0;) {
            size_t word = strcspn(at, " ");
            argv[argc++] = (struct larder_bytes){at, word};
            at += word + (at[word] == ' ');
        }
        struct larder_reply *reply;
        status = larder_command(larder, argc, argv, &reply);
        assert_true(status == LARDER_OK || status == LARDER_NO_MEMORY);
        if (status == LARDER_OK) {
            check_tree(reply, 0);
            all &= reply->kind != LARDER_REPLY_ERROR;
            larder_reply_free(reply);
        } else {
            all = false;
        }
    }
    larder_close(larder);
    return all;
}

static void test_each_failed_allocation_is_answered(void **state)
{
    (void)state;
    unsigned long failures = 0;
    for (unsigned long nth = 1;; nth++) {
        assert_true(nth < 10000);
        alloc_fault_at(nth);
        bool all = session();
        bool fired = alloc_fault_fired();
        alloc_fault_at(0);
        if (!fired) {
            assert_true(all);
            break;
        }
        failures += !all;
    }
    assert_true(failures > 10);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_with_defaults_and_a_background_thread),
        cmocka_unit_test(test_closes_with_entries_and_replies_outstanding),
        cmocka_unit_test(test_two_handles_share_nothing),
        cmocka_unit_test(test_statuses_have_texts),
        cmocka_unit_test(test_get_cuts_the_copy_and_tells_the_whole_size),
        cmocka_unit_test(test_keys_and_values_are_any_bytes),
        cmocka_unit_test(test_get_with_shows_the_value_and_its_expiry),
        cmocka_unit_test(test_get_many_shows_each_key_in_order),
        cmocka_unit_test(test_reads_see_values_that_change_in_place),
        cmocka_unit_test(test_set_keeps_its_condition),
        cmocka_unit_test(test_a_key_expires_at_its_time),
        cmocka_unit_test(test_set_replaces_or_keeps_the_time_to_live),
        cmocka_unit_test(test_bad_set_options_change_nothing),
        cmocka_unit_test(test_delete_tells_whether_there_was_a_key),
        cmocka_unit_test(test_incr_counts_and_refuses_what_it_cannot_count),
        cmocka_unit_test(test_expire_changes_deletes_and_persists),
        cmocka_unit_test(test_big_values_come_back_whole),
        cmocka_unit_test(test_the_limit_refuses_writes_but_not_reads),
        cmocka_unit_test(test_brackets_nest_and_see_driven_time),
        cmocka_unit_test(test_replies_are_meanings),
        cmocka_unit_test(test_long_and_deep_replies_are_whole_trees),
        cmocka_unit_test(test_select_holds_for_functions_too),
        cmocka_unit_test(test_a_transaction_belongs_to_its_thread_and_watches),
        cmocka_unit_test(test_threads_start_and_end_as_they_like),
        cmocka_unit_test(test_a_thread_outlives_the_handle_it_used),
        cmocka_unit_test(test_leaving_what_was_not_entered_ends_the_process),
        cmocka_unit_test(test_a_thread_may_end_inside_a_bracket),
        cmocka_unit_test(test_stats_count_what_happened),
        cmocka_unit_test(test_maintenance_reclaims_expired_keys_nobody_touches),
#if LARDER_FAULTS
        cmocka_unit_test(test_each_failed_allocation_is_answered),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
