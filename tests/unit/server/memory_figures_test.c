/* SPDX-License-Identifier: MIT */
#include "server/memory_figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MB ((uint64_t)1024 * 1024)

/* A server with 100 MB of data, as it should be. */
static struct memory_figures healthy(void)
{
    return (struct memory_figures){
        .resident = 130 * MB,
        .mapped = 115 * MB,
        .used = 110 * MB,
        .allocated = 100 * MB,
        .peak = 110 * MB,
        .limit = 1024 * MB,
        .clients = 10,
        .engine = {.live_bytes = 95 * MB, .table_bytes = 5 * MB},
    };
}

/* How many findings there are, of which one says `expected`. */
static int findings(struct memory_figures figures, const char *expected)
{
    char report[4096];
    struct buffer text;
    int count = 0;

    buffer_init(&text, sizeof(report) - 1);
    memory_diagnose(&figures, &text);
    assert_false(text.sink.failed);
    struct bytes bytes = buffer_bytes(&text);
    snprintf(report, sizeof(report), "%.*s", (int)bytes.size, bytes.data);
    buffer_deinit(&text);
    assert_int_equal(report[strlen(report) - 1], '\n');
    if (strstr(report, expected) == NULL)
        fail_msg("no \"%s\" in:\n%s", expected, report);
    for (const char *line = report; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += *line == '*';
    }
    return count;
}

static void a_healthy_server_is_told_so(void **state)
{
    struct memory_figures empty = {.resident = 8 * MB, .mapped = 2 * MB, .limit = 1024 * MB};

    (void)state;
    assert_int_equal(findings(healthy(), "Nothing is amiss: 110.0 MB are used for 100.0 MB"), 0);
    assert_int_equal(findings(empty, "Nothing is amiss"), 0);
}

static void each_trouble_is_found_by_itself(void **state)
{
    struct memory_figures figures = healthy();

    (void)state;
    figures.limit = 120 * MB;
    assert_int_equal(findings(figures, "110.0 MB of maxmemory's 120.0 MB are used"), 1);
    figures = healthy();
    figures.peak = 300 * MB;
    assert_int_equal(findings(figures, "at its peak the data took 300.0 MB, now 110.0 MB"), 1);
    figures = healthy();
    figures.allocated = figures.engine.live_bytes = 44 * MB;
    assert_int_equal(findings(figures, "110.0 MB are held for 44.0 MB of data"), 1);
    figures = healthy();
    figures.allocated = figures.engine.live_bytes = 80 * MB;
    figures.engine.retired_bytes = 20 * MB;
    assert_int_equal(findings(figures, "20.0 MB that were replaced or deleted wait for"), 1);
    figures = healthy();
    figures.mapped = figures.resident = 200 * MB;
    assert_int_equal(findings(figures, "90.0 MB of free pages lie between pages in use"), 1);
    figures = healthy();
    figures.resident = 70 * MB;
    assert_int_equal(findings(figures, "but only 70.0 MB of the process are in memory"), 1);
    figures = healthy();
    figures.resident = 215 * MB;
    assert_int_equal(findings(figures, "100.0 MB of the process are not data"), 1);
    figures = healthy();
    figures.client_output = 50 * MB;
    assert_int_equal(findings(figures, "50.0 MB of replies wait for clients"), 1);
}

static void what_is_little_or_not_known_is_no_trouble(void **state)
{
    struct memory_figures figures = healthy();

    (void)state;
    figures.limit = 0;    /* none */
    figures.resident = 0; /* not known */
    assert_int_equal(findings(figures, "Nothing is amiss"), 0);
    figures.allocated = 50 * MB; /* slabs that are filled in part */
    assert_int_equal(findings(figures, "Nothing is amiss"), 0);
    figures = (struct memory_figures){.used = 2 * MB, .allocated = MB / 2, .peak = 4 * MB};
    assert_int_equal(findings(figures, "Nothing is amiss"), 0);
    figures = healthy();
    figures.client_output = MB; /* 100 KB each */
    assert_int_equal(findings(figures, "Nothing is amiss"), 0);
    figures.clients = 1;
    assert_int_equal(findings(figures, "1.0 MB of replies"), 1);
}

static void several_troubles_are_all_told(void **state)
{
    struct memory_figures figures = healthy();

    (void)state;
    figures.limit = 110 * MB;
    figures.peak = 1000 * MB;
    figures.resident = 20 * MB;
    assert_int_equal(findings(figures, "Swapping"), 3);
}

static void ratios_of_nothing_are_zero(void **state)
{
    (void)state;
    assert_true(memory_ratio(5, 0) == 0);
    assert_true(memory_ratio(3, 4) == 0.75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_server_is_told_so),
        cmocka_unit_test(each_trouble_is_found_by_itself),
        cmocka_unit_test(what_is_little_or_not_known_is_no_trouble),
        cmocka_unit_test(several_troubles_are_all_told),
        cmocka_unit_test(ratios_of_nothing_are_zero),
    };
    return cmocka_run_group_tests_name("server/memory_figures", tests, NULL, NULL);
}
