/* SPDX-License-Identifier: MIT
 *
 * What happens when memory runs out, at every single allocation.
 *
 * Each script (script.c) runs once without a fault, which gives the right answers, and then once
 * for every n with its nth allocation failing, until it ends before the fault has come. The order
 * that meets the fault either answers as if nothing had been, or says that memory is out and has
 * changed nothing; asked again it gives the right answer, and so does everything after it. EXEC may
 * also run all but one of its commands, whose element says so. In the end all memory must come
 * back.
 *
 * The program is built with LARDER_FAULTS=1 and meant to run under AddressSanitizer. One thread,
 * but for the server of server_fault.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/admin.h"
#include "server_fault.h"
#include "wire_fault.h"
#include "world.h"

#if !LARDER_FAULTS
#error "build everything with LARDER_FAULTS=1"
#endif

/* A script with its right answers. */
struct trial {
    const struct script *script;
    struct orders orders;
    char **answers;     /* per order */
    uint32_t *units;    /* per order: where to begin again when it fails */
    bool *in_multi;     /* per order: it is queued */
    uint64_t *contents; /* per order: after it; filled as needed */
    bool *content_known;
    unsigned long nth; /* the allocation that fails now */
};

static void *cleared(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static bool order_is(const struct order *order, const char *name)
{
    return order->kind == ORDER_COMMAND && bytes_equal_text_nocase(order->argv[0], name);
}

/* What belongs together: from the first WATCH, or from MULTI, to EXEC, DISCARD or UNWATCH. */
static void find_units(struct trial *trial)
{
    uint32_t start = UINT32_MAX;
    bool multi = false;
    for (uint32_t i = 0; i < trial->orders.count; i++) {
        const struct order *order = &trial->orders.first[i];
        bool opens = order_is(order, "WATCH") || order_is(order, "MULTI");
        if (opens && start == UINT32_MAX && order->client == 0)
            start = i;
        trial->units[i] = start == UINT32_MAX ? i : start;
        bool ends = order_is(order, "EXEC") || order_is(order, "DISCARD");
        trial->in_multi[i] = multi && !ends && order->client == 0 && order->kind == ORDER_COMMAND;
        if (order_is(order, "MULTI"))
            multi = true;
        if (ends)
            multi = false;
        if (ends || (order_is(order, "UNWATCH") && order->client == 0))
            start = UINT32_MAX;
    }
}

static void trial_init(struct trial *trial, const struct script *script)
{
    *trial = (struct trial){.script = script, .orders = orders_create(script)};
    uint32_t count = trial->orders.count;
    trial->answers = cleared(count, sizeof(*trial->answers));
    trial->units = cleared(count, sizeof(*trial->units));
    trial->in_multi = cleared(count, sizeof(*trial->in_multi));
    trial->contents = cleared(count, sizeof(*trial->contents));
    trial->content_known = cleared(count, sizeof(*trial->content_known));
    find_units(trial);
    struct world world;
    world_init(&world, script->shards);
    for (uint32_t i = 0; i < count; i++)
        trial->answers[i] = strdup(world_run(&world, &trial->orders.first[i]));
    world_deinit(&world);
}

static void trial_deinit(struct trial *trial)
{
    for (uint32_t i = 0; i < trial->orders.count; i++)
        free(trial->answers[i]);
    free(trial->answers);
    free(trial->units);
    free(trial->in_multi);
    free(trial->contents);
    free(trial->content_known);
    orders_destroy(&trial->orders);
}

/* The keyspace after `count` orders, had there been no fault. */
static uint64_t right_content(struct trial *trial, uint32_t count)
{
    if (count == 0)
        return 0;
    if (!trial->content_known[count - 1]) {
        struct world world;
        world_init(&world, trial->script->shards);
        for (uint32_t i = 0; i < count; i++)
            world_run(&world, &trial->orders.first[i]);
        trial->contents[count - 1] = world_content(&world);
        trial->content_known[count - 1] = true;
        world_deinit(&world);
    }
    return trial->contents[count - 1];
}

static void check_world(struct trial *trial, struct world *world, uint64_t content, uint32_t at,
                        const char *when)
{
    if (!engine_check(world->engine))
        fail_msg("%s: allocation %lu: an invariant is broken %s order %u", trial->script->name,
                 trial->nth, when, at);
    if (world_content(world) != content)
        fail_msg("%s: allocation %lu: the keyspace is not what it should be %s order %u",
                 trial->script->name, trial->nth, when, at);
}

static const char *skip_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end == NULL ? text + strlen(text) : end + 1;
}

static const char oom[] = "error OOM ";

static bool is_oom(const char *answer)
{
    return strncmp(answer, oom, strlen(oom)) == 0 ||
           (strncmp(answer, "error EXECABORT ", 16) == 0 && strstr(answer, "OOM") != NULL);
}

/* EXEC at order `at` answered with a list that has an error for one element more than it should.
 * Everything must be as in a world where that command was never queued. */
static void check_partial_exec(struct trial *trial, struct world *world, uint32_t at)
{
    struct world twin;
    const char *told = skip_line(world->answer.text), *right = skip_line(trial->answers[at]);
    uint32_t failed = at;
    for (uint32_t i = at; i-- > 0 && !order_is(&trial->orders.first[i], "MULTI");)
        failed = i;
    for (; *told != '\0' && strncmp(told, oom, strlen(oom)) != 0; failed++) {
        told = skip_line(told);
        right = skip_line(right);
    }
    if (strncmp(world->answer.text, "list ", 5) != 0 || *told == '\0')
        fail_msg("%s: allocation %lu: EXEC (order %u) answered\n%s", trial->script->name,
                 trial->nth, at, world->answer.text);
    world_init(&twin, trial->script->shards);
    for (uint32_t i = 0; i <= at; i++)
        if (i != failed)
            world_run(&twin, &trial->orders.first[i]);
    uint64_t content = world_content(&twin);
    /* The answers without their first lines and the failed element. */
    size_t before = (size_t)(told - skip_line(world->answer.text));
    const char *expected = skip_line(twin.answer.text);
    if (strncmp(expected, skip_line(world->answer.text), before) != 0 ||
        strcmp(expected + before, skip_line(told)) != 0)
        fail_msg("%s: allocation %lu: EXEC (order %u) answered\n%sbut without what failed\n%s",
                 trial->script->name, trial->nth, at, world->answer.text, twin.answer.text);
    world_deinit(&twin);
    check_world(trial, world, content, at, "after part of");
}

/* Order `at` met the fault and did not answer as usual. Returns the order to go on with. */
static uint32_t recover(struct trial *trial, struct world *world, uint32_t at)
{
    const struct order *order = &trial->orders.first[at];
    const char *answer = world->answer.text;
    if (!alloc_fault_fired())
        fail_msg("%s: allocation %lu: order %u answered without a fault\n%srather than\n%s",
                 trial->script->name, trial->nth, at, answer, trial->answers[at]);
    if (order_is(order, "EXEC") && !is_oom(answer)) {
        check_partial_exec(trial, world, at);
        return trial->orders.count;
    }
    if (!is_oom(answer))
        fail_msg("%s: allocation %lu: order %u answered\n%srather than out of memory or\n%s",
                 trial->script->name, trial->nth, at, answer, trial->answers[at]);
    if (trial->in_multi[at] && strncmp(world_say(world, "EXEC"), "error EXECABORT ", 16) != 0)
        fail_msg("%s: allocation %lu: EXEC ran although order %u was not queued",
                 trial->script->name, trial->nth, at);
    if (trial->units[at] != at)
        assert_string_equal(world_say(world, "UNWATCH"), "ok\n");
    check_world(trial, world, right_content(trial, at), at, "before");
    return trial->units[at];
}

/* True: the fault came. */
static bool run_with_fault(struct trial *trial)
{
    struct world world;
    bool recovered = false;
    world_init(&world, trial->script->shards);
    alloc_fault_at(trial->nth);
    for (uint32_t i = 0; i < trial->orders.count;) {
        bool fired = alloc_fault_fired();
        const char *answer = world_run(&world, &trial->orders.first[i]);
        if (strcmp(answer, trial->answers[i]) == 0) {
            i++;
            if (!fired && alloc_fault_fired())
                check_world(trial, &world, right_content(trial, i), i - 1, "after");
            continue;
        }
        if (fired)
            fail_msg("%s: allocation %lu: order %u answered later\n%srather than\n%s",
                     trial->script->name, trial->nth, i, answer, trial->answers[i]);
        i = recover(trial, &world, i);
        recovered = i == trial->orders.count ? true : recovered;
    }
    bool fired = alloc_fault_fired();
    alloc_fault_at(0);
    if (fired && !recovered)
        check_world(trial, &world, right_content(trial, trial->orders.count), trial->orders.count,
                    "after");
    world_say(&world, "SELECT 0");
    assert_string_equal(world_say(&world, "SET works still"), "stored\n");
    assert_true(strstr(world_say(&world, "GET works"), "still") != NULL);
    world_deinit(&world);
    return fired;
}

static void a_script_survives_every_failing_allocation(void **state)
{
    struct trial trial;
    trial_init(&trial, *state);
    do
        trial.nth++;
    while (run_with_fault(&trial));
    print_message("%lu allocations\n", trial.nth - 1);
    trial_deinit(&trial);
}

static void an_engine_is_created_whole_or_not_at_all(void **state)
{
    (void)state;
    bool fired = true;
    for (unsigned long nth = 1; fired; nth++) {
        struct engine_config config = {.shards = 4, .hash_seed = 42, .start_ms = 1, .workers = 2};
        struct engine *engine = NULL;
        struct engine_thread *thread = NULL;
        alloc_fault_at(nth);
        enum status status = engine_create(&config, &engine);
        enum status thread_status = STATUS_NO_MEMORY;
        if (status == STATUS_OK)
            thread_status = engine_thread_register(engine, &thread);
        fired = alloc_fault_fired();
        alloc_fault_at(0);
        if (!fired)
            assert_int_equal(thread_status, STATUS_OK);
        if (status != STATUS_OK) {
            assert_int_equal(status, STATUS_NO_MEMORY);
            continue;
        }
        if (thread_status != STATUS_OK) {
            assert_int_equal(thread_status, STATUS_NO_MEMORY);
            assert_int_equal(engine_thread_register(engine, &thread), STATUS_OK);
        }
        assert_true(engine_check(engine));
        engine_thread_unregister(thread);
        engine_destroy(engine);
    }
}

int main(void)
{
    enum { OTHERS = 4, TESTS_MAX = 64 };
    static struct CMUnitTest tests[TESTS_MAX];
    tests[0] = (struct CMUnitTest)cmocka_unit_test(an_engine_is_created_whole_or_not_at_all);
    tests[1] = (struct CMUnitTest)cmocka_unit_test(a_pipeline_survives_every_failing_allocation);
    tests[2] = (struct CMUnitTest)cmocka_unit_test(a_server_starts_whole_or_not_at_all);
    tests[3] = (struct CMUnitTest)cmocka_unit_test(a_server_survives_every_failing_allocation);
    if (script_count + OTHERS > TESTS_MAX || admin_tables_add() != STATUS_OK)
        return 2;
    for (uint32_t i = 0; i < script_count; i++)
        tests[OTHERS + i] = (struct CMUnitTest){
            .name = scripts[i].name,
            .test_func = a_script_survives_every_failing_allocation,
            .initial_state = (void *)(uintptr_t)&scripts[i],
        };
    return _cmocka_run_group_tests("fault", tests, OTHERS + script_count, NULL, NULL);
}
