/* SPDX-License-Identifier: MIT */
#include "server/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_worst_of_each_second_is_kept(void **state)
{
    static struct latency latency;
    struct latency_series series;
    (void)state;
    latency_add(&latency, LATENCY_COMMAND, 10, 30);
    latency_add(&latency, LATENCY_COMMAND, 10, 50);
    latency_add(&latency, LATENCY_COMMAND, 10, 40);
    latency_add(&latency, LATENCY_COMMAND, 12, 20);
    latency_add(&latency, LATENCY_COMMAND, 11, 25); /* a thread that is late */
    latency_copy(&latency, LATENCY_COMMAND, &series);
    assert_int_equal(series.count, 2);
    assert_int_equal(series.samples[0].time_s, 10);
    assert_int_equal(series.samples[0].duration_ms, 50);
    assert_int_equal(series.samples[1].time_s, 12);
    assert_int_equal(series.samples[1].duration_ms, 25);
    assert_int_equal(series.max_ms, 50);
    latency_copy(&latency, LATENCY_FAST_COMMAND, &series);
    assert_int_equal(series.count, 0);
    assert_false(latency_reset(&latency, LATENCY_FAST_COMMAND));
    assert_true(latency_reset(&latency, LATENCY_COMMAND));
    assert_false(latency_reset(&latency, LATENCY_COMMAND));
}

static void the_latest_samples_stay(void **state)
{
    static struct latency latency;
    struct latency_series series;
    (void)state;
    for (uint32_t i = 0; i < LATENCY_SAMPLES + 7; i++)
        latency_add(&latency, LATENCY_EXPIRE_CYCLE, 100 + i, i == 3 ? UINT64_MAX : i);
    latency_copy(&latency, LATENCY_EXPIRE_CYCLE, &series);
    assert_int_equal(series.count, LATENCY_SAMPLES);
    for (uint32_t i = 0; i < LATENCY_SAMPLES; i++) {
        assert_int_equal(series.samples[i].time_s, 107 + i);
        assert_int_equal(series.samples[i].duration_ms, 7 + i);
    }
    assert_int_equal(series.max_ms, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_of_each_second_is_kept),
        cmocka_unit_test(the_latest_samples_stay),
    };
    return cmocka_run_group_tests_name("server/latency", tests, NULL, NULL);
}
