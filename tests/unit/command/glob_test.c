/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "command/glob.h"

static bool match(const char *pattern, const char *text)
{
    return glob_match(bytes_of_text(pattern), bytes_of_text(text));
}

static void literals_match_themselves(void **state)
{
    (void)state;
    assert_true(match("", ""));
    assert_false(match("", "a"));
    assert_true(match("abc", "abc"));
    assert_false(match("abc", "ab"));
    assert_false(match("ab", "abc"));
    assert_false(match("abc", "aBc"));
}

static void stars_take_any_run(void **state)
{
    (void)state;
    assert_true(match("*", ""));
    assert_true(match("*", "anything"));
    assert_true(match("**", ""));
    assert_true(match("a*", "a"));
    assert_true(match("a*c", "abbbc"));
    assert_false(match("a*c", "abbbcd"));
    assert_true(match("*b*", "abc"));
    assert_true(match("a**b***c", "a-b--c"));
    assert_true(match("*abab", "ababab"));
    assert_false(match("*abab", "ababa"));
}

static void question_marks_take_one_byte(void **state)
{
    (void)state;
    assert_true(match("?", "a"));
    assert_false(match("?", ""));
    assert_false(match("?", "ab"));
    assert_true(match("h?llo", "hello"));
    assert_true(match("?*", "a"));
    assert_false(match("?*", ""));
}

static void sets_take_one_of_their_bytes(void **state)
{
    (void)state;
    assert_true(match("h[ae]llo", "hallo"));
    assert_false(match("h[ae]llo", "hillo"));
    assert_true(match("[a-c]", "b"));
    assert_true(match("[c-a]", "b"));
    assert_false(match("[a-c]", "d"));
    assert_true(match("[^a-c]", "d"));
    assert_false(match("[^a-c]", "b"));
    assert_true(match("[a\\]b]", "]"));
    assert_true(match("[\\-a]", "-"));
    assert_false(match("[abc]", ""));
}

static void odd_patterns_mean_what_redis_makes_of_them(void **state)
{
    (void)state;
    assert_true(match("[abc", "b"));
    assert_false(match("[abc", "bc"));
    assert_false(match("[", "["));
    assert_false(match("[]", "a"));
    assert_false(match("[]a]", "a"));
    assert_true(match("[^]", "a"));
    assert_true(match("a[^]b", "axb"));
    assert_true(match("\\", "\\"));
    assert_true(match("[a-", "-"));
    assert_true(match("[a-]", "]"));
}

static void a_backslash_takes_the_next_byte_literally(void **state)
{
    (void)state;
    assert_true(match("\\*", "*"));
    assert_false(match("\\*", "a"));
    assert_true(match("\\?\\[a", "?[a"));
    assert_true(match("\\\\", "\\"));
}

static void bytes_of_any_value_are_matched(void **state)
{
    (void)state;
    assert_true(glob_match(bytes_of("a\0*", 3), bytes_of("a\0b\0", 4)));
    assert_true(glob_match(bytes_of("[\x80-\xff]", 5), bytes_of("\xfe", 1)));
    assert_false(glob_match(bytes_of("[\x80-\xff]", 5), bytes_of("a", 1)));
}

static void many_stars_take_no_exponential_time(void **state)
{
    (void)state;
    char pattern[2001], text[4001];
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(pattern + i, "a*", 2);
    pattern[2000] = 'b';
    memset(text, 'a', sizeof(text));
    assert_false(glob_match(bytes_of(pattern, 2001), bytes_of(text, 4000)));
    text[4000] = 'b';
    assert_true(glob_match(bytes_of(pattern, 2001), bytes_of(text, 4001)));
}

/* The definition, by trying every length for every star. */
static bool match_naively(const char *pattern, const char *text)
{
    if (*pattern == '\0')
        return *text == '\0';
    if (*pattern == '*')
        return match_naively(pattern + 1, text) || (*text && match_naively(pattern, text + 1));
    if (*text == '\0')
        return false;
    if (*pattern == '[') { /* only [ab] and [^a] are made below */
        bool negated = pattern[1] == '^';
        bool in = negated ? *text != pattern[2] : *text == pattern[1] || *text == pattern[2];
        return in && match_naively(pattern + 4, text + 1);
    }
    return (*pattern == '?' || *pattern == *text) && match_naively(pattern + 1, text + 1);
}

static void random_patterns_match_as_the_definition_says(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "b", "*", "?", "[ab]", "[^a]", "*"};
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 50000; round++) {
        char pattern[64] = "", text[16] = "";
        uint64_t bits = seed;
        for (int i = 0; i < 5; i++, bits /= 7)
            strcat(pattern, parts[bits % 7]);
        size_t size = bits % 9;
        for (size_t i = 0; i < size; i++, bits /= 2)
            text[i] = bits % 2 ? 'a' : 'b';
        if (match(pattern, text) != match_naively(pattern, text))
            fail_msg("round %d: pattern %s, text %s", round, pattern, text);
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
}

static void a_thousand_stars_are_too_many_where_redis_says_so(void **state)
{
    (void)state;
    static char pattern[2 * 1001 + 1], text[1002];
    for (size_t i = 0; i < 1001; i++)
        memcpy(pattern + 2 * i, "*?", 2);
    memset(text, 'a', sizeof(text));
    assert_true(glob_match(bytes_of(pattern, 2000), bytes_of(text, 1000)));
    assert_false(glob_match(bytes_of(pattern, 2002), bytes_of(text, 1001)));
    assert_true(glob_match(bytes_of(pattern, 2001), bytes_of(text, 1001))); /* nothing behind it */
    memset(pattern, '*', sizeof(pattern) - 1);                              /* one run */
    pattern[sizeof(pattern) - 1] = 'a';
    assert_true(glob_match(bytes_of(pattern, sizeof(pattern)), bytes_of(text, 5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_match_themselves),
        cmocka_unit_test(stars_take_any_run),
        cmocka_unit_test(question_marks_take_one_byte),
        cmocka_unit_test(sets_take_one_of_their_bytes),
        cmocka_unit_test(odd_patterns_mean_what_redis_makes_of_them),
        cmocka_unit_test(a_backslash_takes_the_next_byte_literally),
        cmocka_unit_test(bytes_of_any_value_are_matched),
        cmocka_unit_test(many_stars_take_no_exponential_time),
        cmocka_unit_test(random_patterns_match_as_the_definition_says),
        cmocka_unit_test(a_thousand_stars_are_too_many_where_redis_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
