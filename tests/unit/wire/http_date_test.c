/* SPDX-License-Identifier: MIT */
#include "wire/http_date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static void the_three_forms_tell_the_same_time(void **state)
{
    static const char *const texts[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_true(http_date_parse(bytes_of_text(texts[i]), &ms));
        assert_int_equal(ms, 784111777000);
    }
}

/* The C library is the model. */
static void dates_of_400_years_are_what_the_calendar_says(void **state)
{
    (void)state;
    for (time_t at = 0; at < 400 * 366ll * 86400; at += 86400 * 3 + 7919) {
        struct tm parts;
        char text[64];
        int64_t ms;

        assert_non_null(gmtime_r(&at, &parts));
        assert_true(strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0);
        assert_true(http_date_parse(bytes_of_text(text), &ms));
        assert_int_equal(ms, (int64_t)at * 1000);
        assert_true(strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts) > 0);
        assert_true(http_date_parse(bytes_of_text(text), &ms));
        assert_int_equal(ms, (int64_t)at * 1000);
    }
}

static void two_digits_of_a_year_lie_around_2000(void **state)
{
    int64_t early, late;

    (void)state;
    assert_true(http_date_parse(BYTES("Thursday, 01-Jan-70 00:00:00 GMT"), &early));
    assert_int_equal(early, 0);
    assert_true(http_date_parse(BYTES("Tuesday, 31-Dec-69 23:59:59 GMT"), &late));
    assert_int_equal(late, 3155759999000);
}

static void what_is_no_date_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "0",
        "-1",
        "Sun",
        "Sun, ",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 23:60:00 GMT",
        "Sun, 06 Nov 1994 23:00:61 GMT",
        "Sun, 06 Nov 1994 2x:00:00 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 06 08:49:37 199x",
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(http_date_parse(bytes_of_text(texts[i]), &ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_forms_tell_the_same_time),
        cmocka_unit_test(dates_of_400_years_are_what_the_calendar_says),
        cmocka_unit_test(two_digits_of_a_year_lie_around_2000),
        cmocka_unit_test(what_is_no_date_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
