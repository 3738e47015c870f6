/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buffer.h"

struct example {
    struct bytes line;
    struct bytes word; /* data NULL: the line is bad */
    size_t taken;      /* of the line */
};

static void a_word_is_read_as_redis_reads_it(void **state)
{
    static const struct example examples[] = {
        {{"plain next", 10}, {"plain", 5}, 5},
        {{"\"a b\" next", 10}, {"a b", 3}, 5},
        {{"'a b'", 5}, {"a b", 3}, 5},
        {{"\"\"", 2}, {"", 0}, 2},
        {{"pre\"fix\"", 8}, {"prefix", 6}, 8},
        {{"\"\\x41\\x0aB\\n\\r\\t\\a\\b\"", 21}, {"A\nB\n\r\t\a\b", 8}, 21},
        {{"\"\\xZZ\"", 6}, {"xZZ", 3}, 6},
        {{"\"\\x00\"", 6}, {"\0", 1}, 6},
        {{"\"\\\"\\\\\\q\"", 8}, {"\"\\q", 3}, 8},
        {{"'it\\'s \\n'", 10}, {"it's \\n", 7}, 10},
        {{"\"open", 5}, {NULL, 0}, 0},
        {{"'open", 5}, {NULL, 0}, 0},
        {{"\"open\\\"", 7}, {NULL, 0}, 0},
        {{"\"a\"b", 4}, {NULL, 0}, 0},
        {{"'a'b", 4}, {NULL, 0}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *each = &examples[i];
        char line[128], *to = line;
        const char *from = line;

        memcpy(line, each->line.data, each->line.size);
        bool good = word_read(&from, line + each->line.size, &to);
        assert_int_equal(good, each->word.data != NULL);
        if (!good)
            continue;
        assert_int_equal(from - line, each->taken);
        assert_true(bytes_equal(bytes_of(line, (size_t)(to - line)), each->word));
    }
}

static void a_word_that_was_written_is_read_back_as_it_was(void **state)
{
    struct buffer buffer;
    char all[256];

    (void)state;
    buffer_init(&buffer, 4096);
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    for (size_t from = 0; from < 256; from++) {
        for (size_t size = 0; size <= 3 && from + size <= 256; size++) {
            buffer_clear(&buffer);
            word_write(&buffer.sink, bytes_of(all + from, size));
            struct bytes written = buffer_bytes(&buffer);
            char line[128], *to = line;
            const char *at = line;

            assert_true(written.size > 0 && written.size < sizeof(line));
            memcpy(line, written.data, written.size);
            assert_true(word_read(&at, line + written.size, &to));
            assert_int_equal(at - line, written.size);
            assert_true(
                bytes_equal(bytes_of(line, (size_t)(to - line)), bytes_of(all + from, size)));
        }
    }
    buffer_deinit(&buffer);
}

static void a_word_that_needs_no_quotes_gets_none(void **state)
{
    struct buffer buffer;

    (void)state;
    buffer_init(&buffer, 4096);
    word_write(&buffer.sink, BYTES("allkeys-lru"));
    word_write(&buffer.sink, BYTES("#x"));
    word_write(&buffer.sink, BYTES(""));
    assert_true(bytes_equal(buffer_bytes(&buffer), BYTES("allkeys-lru\"#x\"\"\"")));
    buffer_deinit(&buffer);
}

static void quotes_show_what_cannot_be_printed_as_redis_does(void **state)
{
    struct buffer buffer;

    (void)state;
    buffer_init(&buffer, 4096);
    word_quote(&buffer.sink, BYTES("a b"));
    word_quote(&buffer.sink, (struct bytes){NULL, 0});
    word_quote(&buffer.sink, BYTES("\0\1\r\n\t\a\b\"\\'\x7f\xff~ {"));
    assert_true(
        bytes_equal(buffer_bytes(&buffer),
                    BYTES("\"a b\"\"\"\"\\x00\\x01\\r\\n\\t\\a\\b\\\"\\\\'\\x7f\\xff~ {\"")));
    buffer_deinit(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_read_as_redis_reads_it),
        cmocka_unit_test(a_word_that_was_written_is_read_back_as_it_was),
        cmocka_unit_test(a_word_that_needs_no_quotes_gets_none),
        cmocka_unit_test(quotes_show_what_cannot_be_printed_as_redis_does),
    };
    return cmocka_run_group_tests_name("base/words", tests, NULL, NULL);
}
