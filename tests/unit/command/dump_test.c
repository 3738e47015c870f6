/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include "base/alloc.h"
#include "base/crc64.h"
#include "command/payload.h"

#define BAD_SUM "-ERR DUMP payload version or checksum are wrong"
#define BAD_DATA "-ERR Bad data format"

/* A payload of `body` (type and value) with version and checksum. */
static struct bytes seal(struct bytes body, uint32_t version)
{
    static char out[1 << 16];
    assert_true(body.size + 10 <= sizeof(out));
    memcpy(out, body.data, body.size);
    out[body.size] = (char)version;
    out[body.size + 1] = (char)(version >> 8);
    uint64_t sum = crc64(0, bytes_of(out, body.size + 2));
    for (size_t i = 0; i < 8; i++, sum >>= 8)
        out[body.size + 2 + i] = (char)sum;
    return bytes_of(out, body.size + 10);
}

static const char *restore(struct world *world, struct bytes payload, const char *option)
{
    struct bytes argv[] = {BYTES("RESTORE"), BYTES("k"), BYTES("0"), payload,
                           bytes_of_text(option)};
    return world_run(world, &world->client, 5, argv, NULL);
}

#define EXPECT_BODY(body, answer)                                                                  \
    assert_string_equal(restore(world, seal(BYTES(body), 9), "REPLACE"), answer)

static void every_spelling_of_a_string_is_read(void **state)
{
    struct world *world = *state;
    static const struct {
        struct bytes body;
        const char *value;
    } rows[] = {
        {{"\0\0", 2}, "\"\""},
        {{"\0\x03"
          "abc",
          5},
         "\"abc\""},
        {{"\0\x40\x03"
          "abc",
          6},
         "\"abc\""},
        {{"\0\x80\0\0\0\x03"
          "abc",
          9},
         "\"abc\""},
        {{"\0\x81\0\0\0\0\0\0\0\x03"
          "abc",
          13},
         "\"abc\""},
        {{"\0\xc0\x7f", 3}, "\"127\""},
        {{"\0\xc0\x80", 3}, "\"-128\""},
        {{"\0\xc1\xff\x7f", 4}, "\"32767\""},
        {{"\0\xc1\x00\x80", 4}, "\"-32768\""},
        {{"\0\xc2\xff\xff\xff\x7f", 6}, "\"2147483647\""},
        {{"\0\xc2\0\0\0\x80", 6}, "\"-2147483648\""},
        {{"\0\xc3\x04\x09\0a\xc0\0", 8}, "\"aaaaaaaaa\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (uint32_t version = 9; version <= 12; version++) {
            assert_string_equal(restore(world, seal(rows[i].body, version), "REPLACE"), "OK");
            EXPECT("GET k", rows[i].value);
        }
        assert_string_equal(restore(world, seal(rows[i].body, 13), "REPLACE"), BAD_SUM);
        assert_string_equal(restore(world, seal(rows[i].body, 256 + 9), "REPLACE"), BAD_SUM);
    }
    EXPECT("INCR k", "-ERR value is not an integer or out of range");
    EXPECT_BODY("\0\xc0\x07", "OK");
    EXPECT("INCR k", ":8");
}

static void sizes_are_not_believed(void **state)
{
    struct world *world = *state;
    EXPECT("SET k old", "STORED");
    struct engine_stats before, after;
    engine_stats(world->engine, &before);
    EXPECT_BODY("\0\x04"
                "abc",
                BAD_DATA);
    EXPECT_BODY("\0\x02"
                "abc",
                BAD_DATA); /* a byte too many */
    EXPECT_BODY("\0\x40", BAD_DATA);
    EXPECT_BODY("\0\x80\x1f\xff\xff\xff"
                "abc",
                BAD_DATA);
    EXPECT_BODY("\0\x81\xff\xff\xff\xff\xff\xff\xff\xff"
                "abc",
                BAD_DATA);
    EXPECT_BODY("\0\x81\0\0", BAD_DATA);
    EXPECT_BODY("\0\xc0", BAD_DATA);
    EXPECT_BODY("\0\xc1\x01", BAD_DATA);
    EXPECT_BODY("\0\xc2\x01\x02\x03", BAD_DATA);
    EXPECT_BODY("\0\xc4\x01", BAD_DATA);
    EXPECT_BODY("\0\x82\x01", BAD_DATA);
    EXPECT_BODY("\0\xc3\x04\x08\0a\xc0\0", BAD_DATA); /* 9 bytes, not 8 */
    EXPECT_BODY("\0\xc3\x04\x0a\0a\xc0\0", BAD_DATA);
    EXPECT_BODY("\0\xc3\x04\x80\x1f\xff\xff\xff\0a\xc0\0", BAD_DATA);
    EXPECT_BODY("\0\xc3\x04\x81\xff\xff\xff\xff\xff\xff\xff\xff\0a\xc0\0", BAD_DATA);
    EXPECT_BODY("\0\xc3\x05\x09\0a\xc0\0", BAD_DATA);
    EXPECT_BODY("\0\xc3\0\0", BAD_DATA);
    EXPECT_BODY("\0\xc3\xc0\x01\x09\0a\xc0\0", BAD_DATA);
    EXPECT_BODY("\0", BAD_DATA);
    EXPECT_BODY("", BAD_DATA);
    EXPECT_BODY("\x01\x01\x01"
                "a",
                BAD_DATA); /* a list */
    EXPECT_BODY("\xff\x01"
                "a",
                BAD_DATA);
    engine_stats(world->engine, &after);
    assert_int_equal(after.used_bytes, before.used_bytes);
    EXPECT("GET k", "\"old\"");
}

static void a_changed_or_cut_payload_is_refused(void **state)
{
    struct world *world = *state;
    struct bytes payload = seal(BYTES("\0\x03"
                                      "abc"),
                                9);
    char bytes[64];
    for (size_t i = 0; i < payload.size * 8; i++) {
        memcpy(bytes, payload.data, payload.size);
        bytes[i / 8] ^= (char)(1 << i % 8);
        assert_string_equal(restore(world, bytes_of(bytes, payload.size), "REPLACE"), BAD_SUM);
    }
    for (size_t size = 0; size < payload.size; size++)
        assert_string_equal(restore(world, bytes_of(payload.data, size), "REPLACE"), BAD_SUM);
    EXPECT("EXISTS k", ":0");
}

static void put_size(char *at, size_t size)
{
    at[0] = (char)0x80;
    for (int i = 0; i < 4; i++)
        at[1 + i] = (char)(size >> (24 - 8 * i));
}

/* Packs `count` times the byte x. */
static struct bytes packed_run(uint32_t count)
{
    enum { HEAD = 12 };
    static char body[8192];
    size_t at = HEAD;
    memcpy(body + at, "\0x", 2);
    at += 2;
    uint32_t left = count - 1;
    for (; left >= 264; left -= 264, at += 3)
        memcpy(body + at, "\xe0\xff\0", 3);
    for (; left > 0; left--, at += 2)
        memcpy(body + at, "\0x", 2);
    memcpy(body, "\0\xc3", 2);
    put_size(body + 2, at - HEAD);
    put_size(body + 7, count);
    return bytes_of(body, at);
}

static void packed_values_of_any_size_are_unpacked(void **state)
{
    struct world *world = *state;
    static const uint32_t sizes[] = {1, 300, 16383, 16384, 100000, 400000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char size[16];
        snprintf(size, sizeof(size), ":%u", sizes[i]);
        assert_string_equal(restore(world, seal(packed_run(sizes[i]), 9), "REPLACE"), "OK");
        EXPECT("STRLEN k", size);
        EXPECT("GETRANGE k -1 -1", "\"x\"");
        EXPECT("GETRANGE k 0 0", "\"x\"");
    }
    EXPECT("APPEND k y", ":400001");
}

/* Asks for `line`, whose answer is one string, and copies that. */
static size_t copy_answer(struct world *world, const char *line, char *out)
{
    assert_int_equal(world_line(world, &world->client, line)[0], '"');
    struct bytes answer = buffer_bytes(&world->answer);
    memcpy(out, answer.data + 1, answer.size - 3);
    return answer.size - 3;
}

static void what_dump_answers_restore_takes(void **state)
{
    struct world *world = *state;
    static char data[50000], payload[50100], before[50000], after[50000];
    static const size_t sizes[] = {0, 1, 63, 64, 16383, 16384, 50000};
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)('a' + i * i % 23);
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct bytes set[] = {BYTES("SET"), BYTES("k"), bytes_of(data, sizes[i / 2])};
        world_run(world, &world->client, 3, set, NULL);
        if (i % 2 != 0) /* from now on it is kept in a form that changes in place */
            world_line(world, &world->client, "SETRANGE k 0 7");
        size_t size = copy_answer(world, "GET k", before);
        size_t payload_size = copy_answer(world, "DUMP k", payload);
        EXPECT("DEL k", ":1");
        assert_string_equal(restore(world, bytes_of(payload, payload_size), "REPLACE"), "OK");
        assert_int_equal(copy_answer(world, "GET k", after), size);
        assert_memory_equal(after, before, size);
    }
}

static void restore_minds_its_options(void **state)
{
    struct world *world = *state;
    struct bytes payload = seal(BYTES("\0\x01v"), 9);
    static const struct {
        const char *ttl, *options[3], *answer;
    } rows[] = {
        {"0", {NULL}, "OK"},
        {"0", {NULL}, "-BUSYKEY Target key name already exists."},
        {"-1", {NULL}, "-BUSYKEY Target key name already exists."},
        {"-1", {"REPLACE"}, "-ERR Invalid TTL value, must be >= 0"},
        {"x", {"REPLACE"}, NOT_INTEGER},
        {"9223372036854775807", {"REPLACE"}, BAD_EXPIRE("restore")},
        {"0", {"IDLETIME", "5", "REPLACE"}, "OK"},
        {"0", {"FREQ", "255", "replace"}, "OK"},
        {"0", {"IDLETIME", "-1", "REPLACE"}, "-ERR Invalid IDLETIME value, must be >= 0"},
        {"0", {"FREQ", "256", "REPLACE"}, "-ERR Invalid FREQ value, must be >= 0 and <= 255"},
        {"0", {"FREQ", "-1", "REPLACE"}, "-ERR Invalid FREQ value, must be >= 0 and <= 255"},
        {"0", {"FREQ", "x", "REPLACE"}, NOT_INTEGER},
        {"0", {"IDLETIME"}, SYNTAX},
        {"0", {"OVER"}, SYNTAX},
        {"5000", {"REPLACE"}, "OK"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bytes argv[8] = {BYTES("RESTORE"), BYTES("k"), bytes_of_text(rows[i].ttl), payload};
        uint32_t argc = 4;
        while (argc < 7 && rows[i].options[argc - 4] != NULL) {
            argv[argc] = bytes_of_text(rows[i].options[argc - 4]);
            argc++;
        }
        assert_string_equal(world_run(world, &world->client, argc, argv, NULL), rows[i].answer);
    }
    EXPECT("PTTL k", ":5000");
    struct bytes both[] = {BYTES("RESTORE"), BYTES("k"), BYTES("0"),        payload,
                           BYTES("FREQ"),    BYTES("1"), BYTES("IDLETIME"), BYTES("1")};
    assert_string_equal(world_run(world, &world->client, 8, both, NULL), SYNTAX);
    struct bytes at[] = {BYTES("RESTORE"), BYTES("k"),      BYTES("1003000"),
                         payload,          BYTES("ABSTTL"), BYTES("REPLACE")};
    assert_string_equal(world_run(world, &world->client, 6, at, NULL), "OK");
    EXPECT("PTTL k", ":3000");
    at[2] = BYTES("1000"); /* long ago */
    assert_string_equal(world_run(world, &world->client, 6, at, NULL), "OK");
    EXPECT("EXISTS k", ":0");
    EXPECT("DUMP none", "MISSING");
    EXPECT("DUMP", WRONG_ARITY("dump"));
    EXPECT("RESTORE k 0", WRONG_ARITY("restore"));
}

#if LARDER_FAULTS
static void restore_that_finds_no_memory_changes_nothing(void **state)
{
    struct world *world = *state;
    static const uint32_t sizes[] = {300, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t failures = 0;
        EXPECT("SET k old PX 5000", "STORED");
        struct bytes payload = seal(packed_run(sizes[i]), 9);
        for (unsigned long nth = 1;; nth++) {
            alloc_fault_at(nth);
            const char *answer = restore(world, payload, "REPLACE");
            bool fired = alloc_fault_fired();
            alloc_fault_at(0);
            if (!fired)
                break;
            failures++;
            if (strcmp(answer, "OK") == 0) /* it could do without */
                continue;
            assert_string_equal(answer, "-OOM command not allowed when used memory > 'maxmemory'.");
            EXPECT("GET k", "\"old\"");
            EXPECT("PTTL k", ":5000");
        }
        assert_true(failures > 0);
        EXPECT("STRLEN k", sizes[i] == 300 ? ":300" : ":100000");
        assert_true(engine_check(world->engine));
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(every_spelling_of_a_string_is_read),
        WORLD_TEST(sizes_are_not_believed),
        WORLD_TEST(a_changed_or_cut_payload_is_refused),
        WORLD_TEST(packed_values_of_any_size_are_unpacked),
        WORLD_TEST(what_dump_answers_restore_takes),
        WORLD_TEST(restore_minds_its_options),
#if LARDER_FAULTS
        WORLD_TEST(restore_that_finds_no_memory_changes_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
