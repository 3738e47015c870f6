/* SPDX-License-Identifier: MIT */
#include "server/slowlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"

static enum status add(struct slowlog *log, const char *text, uint64_t count_max)
{
    struct bytes argv[] = {bytes_of_text(text)};
    struct slowlog_note note = {.time_s = 5,
                                .duration_us = 7,
                                .address = BYTES("1.2.3.4:5"),
                                .name = BYTES("me"),
                                .argc = 1,
                                .argv = argv};
    return slowlog_add(log, &note, count_max);
}

/* The entries' first arguments, newest first. */
static const char *words(struct slowlog *log, uint64_t count)
{
    static char text[200];
    struct slowlog_entry **entries;
    uint64_t got;
    text[0] = '\0';
    assert_int_equal(slowlog_newest(log, count, &entries, &got), STATUS_OK);
    for (uint64_t i = 0; i < got; i++)
        strncat(strcat(text, i > 0 ? " " : ""), entries[i]->argv[0].data, entries[i]->argv[0].size);
    slowlog_newest_end(entries, got);
    return text;
}

static void the_newest_stay(void **state)
{
    struct slowlog log = {.count = 0};
    (void)state;
    assert_string_equal(words(&log, 10), "");
    assert_int_equal(add(&log, "a", 3), STATUS_OK);
    assert_int_equal(add(&log, "b", 3), STATUS_OK);
    assert_int_equal(add(&log, "c", 3), STATUS_OK);
    assert_int_equal(add(&log, "d", 3), STATUS_OK);
    assert_string_equal(words(&log, UINT64_MAX), "d c b");
    assert_string_equal(words(&log, 2), "d c");
    assert_string_equal(words(&log, 0), "");
    assert_int_equal(add(&log, "e", 1), STATUS_OK);
    assert_string_equal(words(&log, 10), "e");
    assert_int_equal(slowlog_count(&log), 1);
    assert_int_equal(add(&log, "f", 0), STATUS_OK);
    assert_int_equal(slowlog_count(&log), 0);
    assert_int_equal(add(&log, "g", 9), STATUS_OK);
    assert_int_equal(log.newest->id, 6);
    slowlog_reset(&log);
    assert_string_equal(words(&log, 10), "");
}

static void entries_outlive_the_log_while_they_are_read(void **state)
{
    struct slowlog log = {.count = 0};
    struct slowlog_entry **entries;
    uint64_t count;
    (void)state;
    assert_int_equal(add(&log, "a", 3), STATUS_OK);
    assert_int_equal(slowlog_newest(&log, 1, &entries, &count), STATUS_OK);
    slowlog_reset(&log);
    assert_int_equal(count, 1);
    assert_true(bytes_equal(entries[0]->address, BYTES("1.2.3.4:5")));
    assert_true(bytes_equal(entries[0]->name, BYTES("me")));
    assert_int_equal(entries[0]->duration_us, 7);
    slowlog_newest_end(entries, count);
}

static void much_is_cut(void **state)
{
    struct slowlog log = {.count = 0};
    struct bytes argv[SLOWLOG_ARGUMENTS_MAX + 2];
    char big[SLOWLOG_SIZE_MAX + 1], wanted[200];
    (void)state;
    memset(big, 'x', sizeof(big));
    for (size_t i = 0; i < sizeof(argv) / sizeof(argv[0]); i++)
        argv[i] = bytes_of(big, SLOWLOG_SIZE_MAX);
    argv[1].size++;
    argv[2].size = (size_t)1 << 30; /* only its head is read */
    struct slowlog_note note = {.argc = SLOWLOG_ARGUMENTS_MAX, .argv = argv};
    assert_int_equal(slowlog_add(&log, &note, 9), STATUS_OK);
    assert_int_equal(log.newest->argc, SLOWLOG_ARGUMENTS_MAX);
    assert_true(bytes_equal(log.newest->argv[0], argv[0]));
    snprintf(wanted, sizeof(wanted), "%.*s... (1 more bytes)", SLOWLOG_SIZE_MAX, big);
    assert_true(bytes_equal(log.newest->argv[1], bytes_of_text(wanted)));
    snprintf(wanted, sizeof(wanted), "%.*s... (1073741696 more bytes)", SLOWLOG_SIZE_MAX, big);
    assert_true(bytes_equal(log.newest->argv[2], bytes_of_text(wanted)));

    note.argc = SLOWLOG_ARGUMENTS_MAX + 2;
    note.together = 15;
    assert_int_equal(slowlog_add(&log, &note, 9), STATUS_OK);
    assert_int_equal(log.newest->argc, SLOWLOG_ARGUMENTS_MAX + 1);
    assert_true(
        bytes_equal(log.newest->argv[SLOWLOG_ARGUMENTS_MAX - 1], BYTES("... (3 more arguments)")));
    assert_true(bytes_equal(log.newest->argv[SLOWLOG_ARGUMENTS_MAX],
                            BYTES("... (and 15 more of a pipeline)")));
    slowlog_reset(&log);
}

#if LARDER_FAULTS
static void any_allocation_may_fail(void **state)
{
    struct slowlog log = {.count = 0};
    struct slowlog_entry **entries;
    uint64_t count;
    (void)state;
    assert_int_equal(add(&log, "a", 3), STATUS_OK);
    alloc_fault_at(1);
    assert_int_equal(add(&log, "b", 3), STATUS_NO_MEMORY);
    alloc_fault_at(1);
    assert_int_equal(slowlog_newest(&log, 9, &entries, &count), STATUS_NO_MEMORY);
    alloc_fault_at(0);
    assert_string_equal(words(&log, 9), "a");
    slowlog_reset(&log);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stay),
        cmocka_unit_test(entries_outlive_the_log_while_they_are_read),
        cmocka_unit_test(much_is_cut),
#if LARDER_FAULTS
        cmocka_unit_test(any_allocation_may_fail),
#endif
    };
    return cmocka_run_group_tests_name("server/slowlog", tests, NULL, NULL);
}
