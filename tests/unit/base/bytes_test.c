/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void runs_are_equal_when_size_and_bytes_are(void **state)
{
    (void)state;
    assert_true(bytes_equal(BYTES(""), bytes_of(NULL, 0)));
    assert_true(bytes_equal(BYTES("a\0b"), BYTES("a\0b")));
    assert_false(bytes_equal(BYTES("a\0b"), BYTES("a\0c")));
    assert_false(bytes_equal(BYTES("a"), BYTES("ab")));
}

static void case_is_ignored_for_letters_only(void **state)
{
    (void)state;
    assert_true(bytes_equal_text_nocase(BYTES("GeT"), "get"));
    assert_true(bytes_equal_text_nocase(BYTES(""), ""));
    assert_false(bytes_equal_text_nocase(BYTES("ge"), "get"));
    assert_false(bytes_equal_text_nocase(BYTES("gets"), "get"));
    assert_false(bytes_equal_text_nocase(BYTES("get\0"), "get"));
    assert_false(bytes_equal_text_nocase(BYTES("@"), "`"));
    assert_false(bytes_equal_text_nocase(BYTES("["), "{"));
}

static void two_runs_are_compared_without_case(void **state)
{
    (void)state;
    assert_true(bytes_equal_nocase(BYTES("GeT\0x"), BYTES("gEt\0X")));
    assert_true(bytes_equal_nocase(BYTES(""), bytes_of(NULL, 0)));
    assert_false(bytes_equal_nocase(BYTES("get"), BYTES("get\0")));
    assert_false(bytes_equal_nocase(BYTES("get"), BYTES("gat")));
    assert_false(bytes_equal_nocase(BYTES("@"), BYTES("`")));
}

static void words_are_taken_off_one_by_one(void **state)
{
    struct bytes rest = BYTES("  one two\0 3  "), word;
    (void)state;
    assert_true(bytes_next_word(&rest, &word));
    assert_true(bytes_equal(word, BYTES("one")));
    assert_true(bytes_next_word(&rest, &word));
    assert_true(bytes_equal(word, BYTES("two\0")));
    assert_true(bytes_next_word(&rest, &word));
    assert_true(bytes_equal(word, BYTES("3")));
    assert_false(bytes_next_word(&rest, &word));
    assert_int_equal(rest.size, 0);
    rest = bytes_of(NULL, 0);
    assert_false(bytes_next_word(&rest, &word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_equal_when_size_and_bytes_are),
        cmocka_unit_test(case_is_ignored_for_letters_only),
        cmocka_unit_test(two_runs_are_compared_without_case),
        cmocka_unit_test(words_are_taken_off_one_by_one),
    };
    return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
