/* SPDX-License-Identifier: MIT */
#include "command/error_counts.h"

#include "harness.h"

static uint64_t count_of(const struct error_counts *counts, const char *code)
{
    for (uint32_t i = 0; i < counts->codes_count; i++)
        if (strcmp(counts->codes[i].code, code) == 0)
            return counter_get(&counts->codes[i].count);
    return 0;
}

static void errors_are_counted_by_code(void **state)
{
    struct world *world = *state;
    static struct error_counts counts;
    struct bytes unknown[] = {BYTES("NOSUCH")}, get[] = {BYTES("GET"), BYTES("k")};
    struct reply reply = {.ops = &harness_ops, .sink = &world->answer.sink, .errors = &counts};
    struct request requests[] = {{.argc = 1, .argv = unknown}, {.argc = 2, .argv = get}};

    for (int i = 0; i < 2; i++) {
        dispatch_prepare(&world->client, &requests[i]);
        dispatch_run(&world->client, &requests[i], world->now_ms, &reply);
    }
    assert_int_equal(count_of(&counts, "ERR"), 1);
    world->client.authenticated = false;
    assert_int_equal(dispatch_run(&world->client, &requests[1], world->now_ms, &reply),
                     DISPATCH_REJECTED);
    assert_int_equal(count_of(&counts, "NOAUTH"), 1);
    assert_int_equal(counter_get(&counts.total), 2);

    struct error_counts sum = {0};
    error_counts_sum(&sum, &counts);
    error_counts_sum(&sum, &counts);
    assert_int_equal(count_of(&sum, "NOAUTH"), 2);
    assert_int_equal(counter_get(&sum.total), 4);
    error_counts_clear(&counts);
    assert_int_equal(count_of(&counts, "ERR"), 0);
    assert_int_equal(counter_get(&counts.total), 0);
}

static void codes_without_a_place_are_counted_together(void **state)
{
    static struct error_counts counts, sum;
    char code[ERROR_CODE_SIZE_MAX + 2];
    (void)state;
    for (int i = 0; i < ERROR_CODES_MAX + 3; i++) {
        snprintf(code, sizeof(code), "CODE%d", i);
        error_counts_add(&counts, code);
    }
    memset(code, 'A', sizeof(code) - 1);
    code[sizeof(code) - 1] = '\0';
    error_counts_add(&counts, code);
    error_counts_add(&counts, "CODE1");
    assert_int_equal(counter_get(&counts.others), 4);
    assert_int_equal(count_of(&counts, "CODE1"), 2);
    assert_int_equal(counter_get(&counts.total), ERROR_CODES_MAX + 5);
    error_counts_sum(&sum, &counts);
    assert_int_equal(counter_get(&sum.others), 4);
    assert_int_equal(counter_get(&sum.total), ERROR_CODES_MAX + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(errors_are_counted_by_code),
        WORLD_TEST(codes_without_a_place_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
