/* SPDX-License-Identifier: MIT
 *
 * The checker itself on trial: histories written by hand that it must accept or reject, and random
 * small ones on which it must agree with a search that is too simple to be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "dice.h"
#include "model.h"

/* ---- writing histories */

static struct checker *checker;
static struct history history;
static struct operation *last; /* what the functions below write into */

static void begin_history(uint32_t thread_count)
{
    memset(&history, 0, sizeof(history));
    history.key_count = 4;
    history.thread_count = thread_count;
    history.clock_step_count = 1;
    history.clock_steps[0] = (struct clock_step){0, 100};
}

static void operation(uint32_t thread, uint64_t begin, uint64_t end)
{
    last = &history.operations[thread][history.operation_counts[thread]++];
    *last = (struct operation){.begin = begin, .end = end, .now_ms = 100};
}

static struct step *step(enum step_kind kind, uint32_t count, uint32_t first_key)
{
    struct step *added = &last->steps[last->step_count++];
    added->kind = (uint8_t)kind;
    added->count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++)
        added->keys[i] = (uint8_t)(first_key + i);
    return added;
}

static void told(enum token_kind kind, struct content content)
{
    last->tokens[last->token_count++] = (struct token){content, kind};
}

static void told_word(enum token_kind kind)
{
    told(kind, (struct content){0});
}

static void told_count(enum token_kind kind, int64_t count)
{
    told(kind, (struct content){(uint64_t)count, 0, 0});
}

static void told_value(int64_t value)
{
    if (value == 0)
        told_word(TOKEN_MISSING);
    else
        told(TOKEN_VALUE, content_of_integer(value));
}

/* Whole operations on integer values; a value of 0 means missing. */
static void get(uint32_t thread, uint64_t begin, uint64_t end, uint32_t key, int64_t value)
{
    operation(thread, begin, end);
    step(STEP_GET, 1, key);
    told_value(value);
}

static void set(uint32_t thread, uint64_t begin, uint64_t end, uint32_t key, int64_t value,
                int64_t expires_ms)
{
    operation(thread, begin, end);
    struct step *added = step(STEP_SET, 1, key);
    added->values[0] = content_of_integer(value);
    added->time_ms = expires_ms;
    told_word(TOKEN_OK);
}

static void mset(uint32_t thread, uint64_t begin, uint64_t end, int64_t first, int64_t second)
{
    operation(thread, begin, end);
    struct step *added = step(STEP_MSET, 2, 0);
    added->values[0] = content_of_integer(first);
    added->values[1] = content_of_integer(second);
    told_word(TOKEN_OK);
}

static void mget(uint32_t thread, uint64_t begin, uint64_t end, int64_t first, int64_t second)
{
    operation(thread, begin, end);
    step(STEP_MGET, 2, 0);
    told_count(TOKEN_LIST, 2);
    told_value(first);
    told_value(second);
}

static void incr(uint32_t thread, uint64_t begin, uint64_t end, uint32_t key, int64_t result)
{
    operation(thread, begin, end);
    step(STEP_INCR, 1, key);
    told_count(TOKEN_INTEGER, result);
}

static void watch(uint32_t thread, uint64_t begin, uint64_t end, uint32_t key)
{
    operation(thread, begin, end);
    step(STEP_WATCH, 1, key);
    told_word(TOKEN_OK);
}

/* MULTI, GET key, EXEC; a value of -1: refused. */
static void exec_get(uint32_t thread, uint64_t begin, uint64_t end, uint32_t key, int64_t value)
{
    operation(thread, begin, end);
    last->exec = true;
    step(STEP_GET, 1, key);
    if (value == -1) {
        told_word(TOKEN_NO_LIST);
        return;
    }
    told_count(TOKEN_LIST, 1);
    told_value(value);
}

static void at_time(int64_t now_ms)
{
    last->now_ms = now_ms;
}

#define accept() assert_int_equal(checker_run(checker, &history), VERDICT_SERIALIZABLE)
#define reject() assert_int_equal(checker_run(checker, &history), VERDICT_VIOLATION)

/* ---- real time */

static void a_read_sees_the_write_before_it(void **state)
{
    (void)state;
    begin_history(2);
    set(0, 1, 2, 0, 11, 0);
    get(1, 3, 4, 0, 11);
    accept();
}

static void a_stale_read_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    set(0, 1, 2, 0, 11, 0);
    set(0, 3, 4, 0, 12, 0);
    get(1, 5, 6, 0, 11);
    reject();
}

static void a_read_that_overlaps_a_write_may_see_either(void **state)
{
    (void)state;
    for (int64_t seen = 11; seen <= 13; seen++) {
        begin_history(2);
        set(0, 1, 2, 0, 11, 0);
        set(0, 3, 6, 0, 12, 0);
        get(1, 4, 5, 0, seen);
        if (seen <= 12)
            accept();
        else
            reject();
    }
}

static void a_value_does_not_come_back_once_its_successor_was_seen(void **state)
{
    (void)state;
    begin_history(3);
    set(0, 1, 2, 0, 11, 0);
    set(0, 3, 20, 0, 12, 0);
    get(1, 4, 5, 0, 12);
    get(2, 6, 7, 0, 11);
    reject();
}

static void a_missing_answer_for_a_present_key_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    set(0, 1, 2, 0, 11, 0);
    get(1, 3, 4, 0, 0);
    reject();
}

static void a_torn_value_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    set(0, 1, 2, 0, 11, 0);
    set(0, 3, 6, 0, 12, 0);
    operation(1, 4, 5);
    step(STEP_GET, 1, 0);
    told(TOKEN_VALUE, content_of(BYTES("half 11, half 12")));
    reject();
}

/* ---- several keys */

static void half_an_mset_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    mset(0, 1, 10, 11, 12);
    get(1, 2, 3, 0, 11);
    get(1, 4, 5, 1, 0);
    reject();
}

static void half_an_mset_in_one_mget_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    mset(0, 1, 2, 11, 12);
    mset(0, 3, 6, 21, 22);
    mget(1, 4, 5, 21, 12);
    reject();
}

static void mgets_that_disagree_on_the_order_of_two_writes_are_rejected(void **state)
{
    (void)state;
    begin_history(4);
    set(0, 1, 20, 0, 11, 0);
    set(1, 1, 20, 1, 12, 0);
    mget(2, 2, 19, 11, 0);
    mget(3, 2, 19, 0, 12);
    reject();
}

static void rename_moves_in_one_instant(void **state)
{
    (void)state;
    for (int32_t good = 0; good < 2; good++) {
        begin_history(2);
        set(0, 1, 2, 0, 11, 0);
        operation(0, 3, 8);
        step(STEP_RENAME, 2, 0);
        told_word(TOKEN_OK);
        get(1, 4, 5, 0, 0);
        get(1, 6, 7, 1, good ? 11 : 0);
        if (good)
            accept();
        else
            reject();
    }
}

static void two_increments_with_one_result_are_rejected(void **state)
{
    (void)state;
    begin_history(2);
    incr(0, 1, 4, 0, 1);
    incr(1, 2, 3, 0, 1);
    reject();
}

static void increments_count_in_any_order_while_they_overlap(void **state)
{
    (void)state;
    begin_history(3);
    incr(0, 1, 6, 0, 2);
    incr(1, 2, 5, 0, 3);
    incr(2, 3, 4, 0, 1);
    accept();
}

static void append_extends_what_was_there(void **state)
{
    (void)state;
    begin_history(1);
    set(0, 1, 2, 0, 11, 0);
    operation(0, 3, 4);
    step(STEP_APPEND, 1, 0)->values[0] = content_suffix(BYTES(":x"));
    told_count(TOKEN_INTEGER, 4);
    operation(0, 5, 6);
    step(STEP_GET, 1, 0);
    told(TOKEN_VALUE, content_of(BYTES("11:x")));
    accept();
    last->tokens[0].content = content_of(BYTES("11:y"));
    reject();
}

/* ---- transactions */

static void exec_runs_when_nothing_was_written(void **state)
{
    (void)state;
    begin_history(2);
    watch(0, 1, 2, 0);
    exec_get(0, 3, 4, 0, 0);
    set(1, 5, 6, 0, 11, 0);
    accept();
}

static void exec_that_ignores_a_write_to_a_watched_key_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    watch(0, 1, 2, 0);
    set(1, 3, 4, 0, 11, 0);
    exec_get(0, 5, 6, 0, 11);
    reject();
}

static void exec_that_refuses_without_a_reason_is_rejected(void **state)
{
    (void)state;
    begin_history(2);
    watch(0, 1, 2, 0);
    set(1, 3, 4, 1, 11, 0);
    exec_get(0, 5, 6, 0, -1);
    reject();
}

static void exec_refuses_after_a_write_that_overlaps_its_watch(void **state)
{
    (void)state;
    for (int64_t result = -1; result <= 11; result += 12) {
        begin_history(2);
        watch(0, 1, 5, 0);
        set(1, 2, 3, 0, 11, 0);
        exec_get(0, 6, 7, 0, result);
        accept();
    }
}

/* ---- expiry */

static void an_expired_key_does_not_come_back(void **state)
{
    (void)state;
    begin_history(2);
    history.clock_steps[0].now_ms = 106;
    set(0, 1, 2, 0, 11, 105);
    get(1, 3, 4, 0, 0);
    at_time(106);
    get(0, 5, 6, 0, 0);
    accept();
    last->tokens[0] = (struct token){content_of_integer(11), TOKEN_VALUE};
    reject();
}

static void a_key_does_not_outlive_its_expiry_for_a_clock_that_reached_it(void **state)
{
    (void)state;
    begin_history(1);
    history.clock_steps[0].now_ms = 105;
    set(0, 1, 2, 0, 11, 105);
    get(0, 3, 4, 0, 11);
    at_time(104);
    accept();
    at_time(105);
    reject();
}

static void a_key_does_not_vanish_before_any_clock_reached_its_expiry(void **state)
{
    (void)state;
    for (uint64_t stamp = 4; stamp <= 5; stamp++) {
        begin_history(1);
        history.clock_step_count = 2;
        history.clock_steps[1] = (struct clock_step){stamp, 105};
        set(0, 1, 2, 0, 11, 105);
        get(0, 3, 4, 0, 0);
        if (stamp <= 4)
            accept();
        else
            reject();
    }
}

static void a_key_without_expiry_does_not_vanish(void **state)
{
    (void)state;
    begin_history(1);
    history.clock_steps[0].now_ms = 1000;
    set(0, 1, 2, 0, 11, 105);
    set(0, 3, 4, 0, 12, 0);
    get(0, 5, 6, 0, 0);
    reject();
}

static void expiry_between_watch_and_exec_makes_it_refuse(void **state)
{
    (void)state;
    begin_history(1);
    history.clock_steps[0].now_ms = 106;
    set(0, 1, 2, 0, 11, 105);
    watch(0, 3, 4, 0);
    exec_get(0, 5, 6, 0, -1);
    accept();
    at_time(106);
    accept();
    last->token_count = 0;
    told_count(TOKEN_LIST, 1);
    told_value(11);
    reject();
}

/* ---- against a simple search */

/* Tries everything, remembers nothing: any operation or expiry that real time allows comes next. */
static bool simple_search(const struct model *model, const uint32_t *positions)
{
    uint64_t end = UINT64_MAX;
    for (uint32_t t = 0; t < history.thread_count; t++)
        if (positions[t] < history.operation_counts[t] &&
            history.operations[t][positions[t]].end < end)
            end = history.operations[t][positions[t]].end;
    if (end == UINT64_MAX)
        return true;
    for (uint32_t t = 0; t < history.thread_count; t++) {
        const struct operation *candidate = &history.operations[t][positions[t]];
        struct model next = *model;
        uint32_t next_positions[HISTORY_THREADS_MAX];
        if (positions[t] == history.operation_counts[t] || candidate->begin > end ||
            !model_run(&next, candidate, t))
            continue;
        memcpy(next_positions, positions, sizeof(next_positions));
        next_positions[t]++;
        if (simple_search(&next, next_positions))
            return true;
    }
    for (uint32_t key = 0; key < history.key_count; key++) {
        struct model next = *model;
        int64_t expires_ms = model->cells[key].expires_ms;
        if (expires_ms == 0 || history_reached(&history, expires_ms) > end)
            continue;
        model_vanish(&next, key);
        if (simple_search(&next, positions))
            return true;
    }
    return false;
}

/* One operation on two keys with few values, its reply drawn at random. */
static void random_operation(struct dice *dice, uint32_t thread, uint64_t begin, uint64_t end)
{
    uint32_t key = dice_roll(dice, 2);
    int64_t value = dice_roll(dice, 3);
    switch (dice_roll(dice, 6)) {
    case 0:
    case 1:
        get(thread, begin, end, key, value);
        break;
    case 2:
        mget(thread, begin, end, value, dice_roll(dice, 3));
        break;
    case 3:
        set(thread, begin, end, key, 1 + dice_roll(dice, 2), dice_one_in(dice, 2) ? 102 : 0);
        break;
    case 4:
        watch(thread, begin, end, key);
        break;
    case 5:
        exec_get(thread, begin, end, key, value - 1);
        break;
    }
    at_time(100 + dice_roll(dice, 4));
}

static void the_search_agrees_with_a_simple_one(void **state)
{
    (void)state;
    struct dice dice = {20240229};
    uint32_t verdicts[2] = {0};
    for (uint32_t round = 0; round < 30000; round++) {
        begin_history(2 + dice_roll(&dice, 2));
        history.key_count = 2;
        history.clock_step_count = 2;
        history.clock_steps[1] = (struct clock_step){dice_roll(&dice, 12), 103};
        uint64_t free_from[HISTORY_THREADS_MAX] = {0};
        uint32_t count = 2 + dice_roll(&dice, 4);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t thread = dice_roll(&dice, history.thread_count);
            uint64_t begin = free_from[thread] + 1 + dice_roll(&dice, 4);
            uint64_t end = begin + 1 + dice_roll(&dice, 6);
            free_from[thread] = end;
            random_operation(&dice, thread, begin, end);
        }
        struct model model;
        const uint32_t positions[HISTORY_THREADS_MAX] = {0};
        model_init(&model, history.initial, history.key_count);
        enum verdict expected =
            simple_search(&model, positions) ? VERDICT_SERIALIZABLE : VERDICT_VIOLATION;
        if (checker_run(checker, &history) != expected) {
            history_print(&history, stderr);
            fail_msg("the checker should have said %d", (int)expected);
        }
        verdicts[expected == VERDICT_VIOLATION]++;
    }
    assert_true(verdicts[0] > 1000 && verdicts[1] > 1000);
}

static int setup(void **state)
{
    (void)state;
    checker = checker_create();
    return checker == NULL;
}

static int teardown(void **state)
{
    (void)state;
    checker_destroy(checker);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_sees_the_write_before_it),
        cmocka_unit_test(a_stale_read_is_rejected),
        cmocka_unit_test(a_read_that_overlaps_a_write_may_see_either),
        cmocka_unit_test(a_value_does_not_come_back_once_its_successor_was_seen),
        cmocka_unit_test(a_missing_answer_for_a_present_key_is_rejected),
        cmocka_unit_test(a_torn_value_is_rejected),
        cmocka_unit_test(half_an_mset_is_rejected),
        cmocka_unit_test(half_an_mset_in_one_mget_is_rejected),
        cmocka_unit_test(mgets_that_disagree_on_the_order_of_two_writes_are_rejected),
        cmocka_unit_test(rename_moves_in_one_instant),
        cmocka_unit_test(two_increments_with_one_result_are_rejected),
        cmocka_unit_test(increments_count_in_any_order_while_they_overlap),
        cmocka_unit_test(append_extends_what_was_there),
        cmocka_unit_test(exec_runs_when_nothing_was_written),
        cmocka_unit_test(exec_that_ignores_a_write_to_a_watched_key_is_rejected),
        cmocka_unit_test(exec_that_refuses_without_a_reason_is_rejected),
        cmocka_unit_test(exec_refuses_after_a_write_that_overlaps_its_watch),
        cmocka_unit_test(an_expired_key_does_not_come_back),
        cmocka_unit_test(a_key_does_not_outlive_its_expiry_for_a_clock_that_reached_it),
        cmocka_unit_test(a_key_does_not_vanish_before_any_clock_reached_its_expiry),
        cmocka_unit_test(a_key_without_expiry_does_not_vanish),
        cmocka_unit_test(expiry_between_watch_and_exec_makes_it_refuse),
        cmocka_unit_test(the_search_agrees_with_a_simple_one),
    };
    return cmocka_run_group_tests_name("serial/checker", tests, setup, teardown);
}
