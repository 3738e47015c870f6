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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_equal_when_size_and_bytes_are),
        cmocka_unit_test(case_is_ignored_for_letters_only),
    };
    return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
