/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_content(const struct buffer *buffer, struct bytes expected)
{
    assert_true(bytes_equal(buffer_bytes(buffer), expected));
}

static void what_was_written_survives_growth(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 1 << 20);
    assert_content(&buffer, BYTES(""));
    for (int i = 0; i < 100000; i++) {
        char digit = (char)('0' + i % 10);
        sink_write(&buffer.sink, &digit, 1);
    }
    struct bytes all = buffer_bytes(&buffer);
    assert_int_equal(all.size, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(all.data[i], '0' + i % 10);
    buffer_deinit(&buffer);
}

static void reserved_room_counts_once_it_is_used(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 4096);
    char *at = sink_reserve(&buffer.sink, SINK_RESERVE_MAX);
    assert_non_null(at);
    assert_content(&buffer, BYTES(""));
    memcpy(at, "abc", 3);
    buffer.sink.at += 3;
    assert_content(&buffer, BYTES("abc"));
    buffer_deinit(&buffer);
}

static void the_ceiling_is_reached_exactly_and_nothing_follows_a_failure(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 10);
    sink_write_bytes(&buffer.sink, BYTES("0123456789"));
    assert_false(buffer.sink.failed);
    assert_content(&buffer, BYTES("0123456789"));
    sink_write_bytes(&buffer.sink, BYTES("x"));
    assert_true(buffer.sink.failed);
    assert_null(sink_reserve(&buffer.sink, 1));
    assert_content(&buffer, BYTES("0123456789"));
    buffer_clear(&buffer);
    assert_false(buffer.sink.failed);
    sink_write_bytes(&buffer.sink, BYTES("012345678"));
    sink_write_bytes(&buffer.sink, BYTES("too long"));
    sink_write_bytes(&buffer.sink, BYTES("x")); /* would fit */
    assert_content(&buffer, BYTES("012345678"));
    buffer_deinit(&buffer);
}

static void clear_forgets_the_content(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 100);
    buffer_clear(&buffer);
    sink_write_bytes(&buffer.sink, BYTES("one"));
    buffer_clear(&buffer);
    sink_write_bytes(&buffer.sink, BYTES("two"));
    assert_content(&buffer, BYTES("two"));
    buffer_deinit(&buffer);
    assert_content(&buffer, BYTES(""));
}

static void what_was_written_last_can_be_taken_back_with_its_failure(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 10);
    buffer_cut(&buffer, 0);
    sink_write_bytes(&buffer.sink, BYTES("one"));
    size_t size = buffer_bytes(&buffer).size;
    sink_write_bytes(&buffer.sink, BYTES("two"));
    sink_write_bytes(&buffer.sink, BYTES("more than there is room for"));
    assert_true(buffer.sink.failed);
    buffer_cut(&buffer, size);
    assert_false(buffer.sink.failed);
    sink_write_bytes(&buffer.sink, BYTES("1234567"));
    assert_content(&buffer, BYTES("one1234567"));
    buffer_deinit(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_survives_growth),
        cmocka_unit_test(reserved_room_counts_once_it_is_used),
        cmocka_unit_test(the_ceiling_is_reached_exactly_and_nothing_follows_a_failure),
        cmocka_unit_test(clear_forgets_the_content),
        cmocka_unit_test(what_was_written_last_can_be_taken_back_with_its_failure),
    };
    return cmocka_run_group_tests_name("base/buffer", tests, NULL, NULL);
}
