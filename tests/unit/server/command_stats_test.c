/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/admin.h"
#include "server/worker.h"

static void buckets_are_in_order_and_narrow(void **state)
{
    uint32_t last = 0;
    (void)state;
    for (uint64_t ns = 0; ns < (uint64_t)1 << 41; ns += ns / 100 + 1) {
        uint32_t bucket = histogram_bucket(ns);
        assert_in_range(bucket, last, HISTOGRAM_BUCKETS - 1);
        if (ns >> HISTOGRAM_BITS == 0) {
            uint64_t end = histogram_bucket_last_ns(bucket);
            assert_true(end >= ns && end - ns <= ns / 32);
            assert_int_equal(histogram_bucket(end), bucket);
            assert_int_equal(histogram_bucket(end + 1),
                             bucket + 1 < HISTOGRAM_BUCKETS ? bucket + 1 : HISTOGRAM_BUCKETS - 1);
        }
        last = bucket;
    }
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

/* Two workers without threads, which is all that sums look at. */
static struct server *make_server(void)
{
    struct server *server = calloc(1, sizeof(*server));
    assert_non_null(server);
    server->worker_count = 2;
    server->workers = aligned_alloc(64, 2 * sizeof(*server->workers));
    assert_non_null(server->workers);
    memset(server->workers, 0, 2 * sizeof(*server->workers));
    assert_int_equal(admin_tables_add(), STATUS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(command_stats_init(&server->workers[i].observer.stats), STATUS_OK);
    return server;
}

static void free_server(struct server *server)
{
    for (int i = 0; i < 2; i++)
        command_stats_deinit(&server->workers[i].observer.stats);
    free(server->workers);
    free(server);
}

static void counts_of_all_workers_are_summed_and_a_reset_ends_them_at_once(void **state)
{
    struct server *server = make_server();
    struct command_stats *stats[] = {&server->workers[0].observer.stats,
                                     &server->workers[1].observer.stats};
    uint32_t id = command_find(BYTES("get"))->id;
    uint64_t calls, time_ns;
    struct command_sum sum;
    (void)state;

    command_counts_add(&stats[0]->commands[id], 3, 3000, true);
    command_counts_add(&stats[1]->commands[id], 1, 50000, true);
    command_counts_add(&stats[1]->commands[id], 1, 7, false);
    counter_add(&stats[1]->commands[id].rejected, 1);
    command_stats_sum(server, id, &sum);
    assert_int_equal(sum.calls, 5);
    assert_int_equal(sum.time_ns, 53007);
    assert_int_equal(sum.measured, 4);
    assert_int_equal(sum.rejected, 1);
    assert_in_range(command_sum_percentile_ns(&sum, 0), 1000, 1031);
    assert_in_range(command_sum_percentile_ns(&sum, 75), 1000, 1031);
    assert_in_range(command_sum_percentile_ns(&sum, 99), 50000, 51562);

    atomic_store(&server->stats_resets, 1);
    command_stats_sum(server, id, &sum);
    assert_int_equal(sum.calls | sum.rejected | sum.measured, 0);
    assert_int_equal(command_sum_percentile_ns(&sum, 50), 0);
    command_stats_restart(stats[0], 1);
    command_counts_add(&stats[0]->commands[id], 2, 10, true);
    command_stats_totals(server, &calls, &time_ns);
    assert_int_equal(calls, 2);
    assert_int_equal(time_ns, 10);
    free_server(server);
}

/* Whether two requests of a command that follow each other share a reading of the clock. */
static bool share(const char *name, bool exact)
{
    const struct observer observer = {.exact = exact};
    const struct command *command = command_find(bytes_of_text(name));
    return !observer_run_ends(&observer, command, command);
}

static void only_requests_of_a_short_command_share_a_reading_of_the_clock(void **state)
{
    static const char *const short_ones[] = {"get", "set", "incr", "append", "ping"};
    static const char *const others[] = {"mget", "exists", "touch", "unlink", "mset",
                                         "copy", "info",   "keys",  "nosuch"};
    const struct observer observer = {.exact = false};
    (void)state;
    assert_int_equal(admin_tables_add(), STATUS_OK);
    for (size_t i = 0; i < sizeof(short_ones) / sizeof(short_ones[0]); i++) {
        assert_true(share(short_ones[i], false));
        assert_false(share(short_ones[i], true));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(share(others[i], false));
    assert_true(
        observer_run_ends(&observer, command_find(BYTES("get")), command_find(BYTES("set"))));
}

static void ticks_are_nanoseconds_once_converted(void **state)
{
    (void)state;
    clock_ticks_init();
    assert_int_equal(clock_ns_to_ticks(UINT64_MAX), UINT64_MAX);
    for (uint64_t ns = 1000; ns < UINT64_C(1) << 50; ns *= 10) {
        uint64_t back = clock_ticks_to_ns(clock_ns_to_ticks(ns));
        assert_in_range(back, ns - ns / 100 - 1, ns + ns / 100 + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_in_order_and_narrow),
        cmocka_unit_test(counts_of_all_workers_are_summed_and_a_reset_ends_them_at_once),
        cmocka_unit_test(only_requests_of_a_short_command_share_a_reading_of_the_clock),
        cmocka_unit_test(ticks_are_nanoseconds_once_converted),
    };
    return cmocka_run_group_tests_name("server/command_stats", tests, NULL, NULL);
}
