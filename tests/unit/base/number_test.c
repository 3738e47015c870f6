/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t random_u64(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void whole_numbers_are_read_in_their_one_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"10", true, 10},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"100000000000000000000", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"-0", false, 0},
        {"+1", false, 0},
        {"01", false, 0},
        {"-01", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"--1", false, 0},
        {"1a", false, 0},
        {"0x10", false, 0},
        {"12345678901234567:", false, 0},
        {"1844674407370955161/", false, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 77;
        bool ok = number_parse_i64(bytes_of_text(rows[i].text), &value);
        if (ok != rows[i].ok || value != (ok ? rows[i].value : 77))
            fail_msg("\"%s\"", rows[i].text);
    }
    int64_t value;
    assert_false(number_parse_i64(BYTES("1\0"), &value));
}

static void unsigned_numbers_reach_their_end(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(number_parse_u64(BYTES("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(number_parse_u64(BYTES("18446744073709551616"), &value));
    assert_false(number_parse_u64(BYTES("-1"), &value));
}

static void assert_formats(uint64_t bits)
{
    char expected[32], got[NUMBER_I64_MAX_SIZE];
    int64_t back;
    uint64_t unsigned_back;
    size_t size = number_format_i64(got, (int64_t)bits);
    snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)bits);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(got, expected, size);
    assert_true(number_parse_i64(bytes_of(got, size), &back));
    assert_true(back == (int64_t)bits);
    size = number_format_u64(got, bits);
    snprintf(expected, sizeof(expected), "%" PRIu64, bits);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(got, expected, size);
    assert_true(number_parse_u64(bytes_of(got, size), &unsigned_back));
    assert_true(unsigned_back == bits);
}

static void every_integer_reads_back_as_it_was(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 12000; i++) {
        assert_formats(i);
        assert_formats(0 - i);
    }
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        assert_formats(power - 1);
        assert_formats(power);
        assert_formats(0 - power);
    }
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = random_u64(&seed);
        assert_formats(bits >> (bits & 63));
    }
}

static void floating_point_text_is_taken_whole_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        double value;
    } rows[] = {
        {"0", true, 0},
        {"1.5", true, 1.5},
        {"-1.5e3", true, -1500},
        {".5", true, 0.5},
        {"5.", true, 5},
        {"inf", true, INFINITY},
        {"-inf", true, -INFINITY},
        {"+Infinity", true, INFINITY},
        {"0x10", true, 16},
        {"1e-400", false, 0},
        {"1e400", false, 0},
        {"0e-999999", true, 0},
        {"0x0p5", true, 0},
        {"5e-324", true, 5e-324},
        {"nan", false, 0},
        {"-nan", false, 0},
        {"", false, 0},
        {" 1", false, 0},
        {"\v1", false, 0},
        {"1 ", false, 0},
        {"1,5", false, 0},
        {"e5", false, 0},
        {"1e", false, 0},
        {"abc", false, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double value = 77;
        bool ok = number_parse_double(bytes_of_text(rows[i].text), &value);
        if (ok != rows[i].ok || value != (ok ? rows[i].value : 77))
            fail_msg("\"%s\"", rows[i].text);
    }
    long double wide;
    assert_true(number_parse_long_double(BYTES("1e400"), &wide));
    assert_false(number_parse_long_double(BYTES("1e5000"), &wide));
    assert_false(number_parse_long_double(BYTES("1e-6000"), &wide));
    assert_false(number_parse_long_double(BYTES("nan"), &wide));
    assert_false(number_parse_long_double(BYTES("1\0"), &wide));
    char digits[NUMBER_LONG_DOUBLE_MAX_SIZE + 1];
    memset(digits, '0', sizeof(digits));
    assert_true(number_parse_long_double(bytes_of(digits, sizeof(digits) - 2), &wide));
    assert_false(number_parse_long_double(bytes_of(digits, sizeof(digits)), &wide));
}

static void assert_double(double value, const char *expected)
{
    char text[NUMBER_DOUBLE_MAX_SIZE + 1];
    text[number_format_double(text, value)] = '\0';
    assert_string_equal(text, expected);
}

static void doubles_are_shown_as_short_as_they_read_back(void **state)
{
    (void)state;
    assert_double(0, "0");
    assert_double(-0.0, "-0");
    assert_double(3, "3");
    assert_double(-17, "-17");
    assert_double(1e15, "1000000000000000");
    assert_double(0.1, "0.1");
    assert_double(3.14, "3.14");
    assert_double(1.0 / 3, "0.3333333333333333");
    assert_double(1e300, "1e+300");
    assert_double(INFINITY, "inf");
    assert_double(-INFINITY, "-inf");
    assert_double(NAN, "nan");
    assert_double(-NAN, "nan");
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(&seed);
        double value, back;
        memcpy(&value, &bits, sizeof(value));
        if (isnan(value))
            continue;
        char text[NUMBER_DOUBLE_MAX_SIZE];
        size_t size = number_format_double(text, value);
        assert_true(size <= NUMBER_DOUBLE_MAX_SIZE);
        assert_true(number_parse_double(bytes_of(text, size), &back));
        assert_true(back == value);
    }
}

static void assert_long_double(const char *in, const char *expected)
{
    char text[NUMBER_LONG_DOUBLE_MAX_SIZE];
    long double value;
    assert_true(number_parse_long_double(bytes_of_text(in), &value));
    text[number_format_long_double(text, value)] = '\0';
    assert_string_equal(text, expected);
}

static void long_doubles_are_shown_without_exponent_or_trailing_zeros(void **state)
{
    (void)state;
    assert_long_double("0", "0");
    assert_long_double("-0", "0");
    assert_long_double("-0.000000000000000000001", "0");
    assert_long_double("10.5", "10.5");
    assert_long_double("3.0e3", "3000");
    assert_long_double("100", "100");
    assert_long_double("0.00000000000000001", "0.00000000000000001");
    assert_long_double("inf", "inf");
    assert_long_double("-inf", "-inf");
    char text[NUMBER_LONG_DOUBLE_MAX_SIZE];
    assert_int_equal(number_format_long_double(text, LDBL_MAX), 4933);
}

static void the_locale_of_the_program_does_not_matter(void **state)
{
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
        print_message("de_DE.UTF-8 is not installed\n");
        skip();
    }
    double value;
    assert_true(number_parse_double(BYTES("1.5"), &value));
    assert_true(value == 1.5);
    assert_double(1.5, "1.5");
    assert_long_double("1.5", "1.5");
    setlocale(LC_NUMERIC, "C");
}

static void sizes_and_durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } sizes[] =
        {
            {"0", 0},           {"512", 512},       {"1k", 1000},        {"1KB", 1024},
            {"64mb", 67108864}, {"2g", 2000000000}, {"1gb", 1073741824}, {"3tb", 3298534883328},
            {"5b", 5},
        },
      durations[] = {
          {"7", 7000000},     {"250ms", 250000},   {"10s", 10000000}, {"5m", 300000000},
          {"2H", 7200000000}, {"1d", 86400000000}, {"100us", 100},
      };
    uint64_t value;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_true(number_parse_size(bytes_of_text(sizes[i].text), &value));
        assert_true(value == sizes[i].value);
    }
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        assert_true(number_parse_duration_us(bytes_of_text(durations[i].text), 1000000, &value));
        assert_true(value == durations[i].value);
    }
    assert_false(number_parse_size(BYTES(""), &value));
    assert_false(number_parse_size(BYTES("mb"), &value));
    assert_false(number_parse_size(BYTES("-1mb"), &value));
    assert_false(number_parse_size(BYTES("1.5gb"), &value));
    assert_false(number_parse_size(BYTES("1 mb"), &value));
    assert_false(number_parse_size(BYTES("1xb"), &value));
    assert_false(number_parse_size(BYTES("18014398509481984kb"), &value));
    assert_false(number_parse_duration_us(BYTES("1w"), 1, &value));
    assert_false(number_parse_duration_us(BYTES("18446744073709551615d"), 1, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read_in_their_one_form),
        cmocka_unit_test(unsigned_numbers_reach_their_end),
        cmocka_unit_test(every_integer_reads_back_as_it_was),
        cmocka_unit_test(floating_point_text_is_taken_whole_or_refused),
        cmocka_unit_test(doubles_are_shown_as_short_as_they_read_back),
        cmocka_unit_test(long_doubles_are_shown_without_exponent_or_trailing_zeros),
        cmocka_unit_test(the_locale_of_the_program_does_not_matter),
        cmocka_unit_test(sizes_and_durations_have_units),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
