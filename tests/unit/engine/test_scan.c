/* SPDX-License-Identifier: MIT
 *
 * A scan against a model: whatever else is written between its steps, through growth, shrink,
 * expiry, flushes of other databases and swaps that are swapped back, it visits every key that is
 * there from its first step to its last, no key twice that was there all the time, and none that
 * was never there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/number.h"
#include "engine/keyspace.h"
#include "engine/lockset.h"

enum { START_MS = 1000000, KEYS = 8000, KEPT_ONE_IN = 16, SEEDS = 60 };

struct fixture {
    struct engine *engine;
    struct access access;
    uint64_t random;
    bool present[KEYS]; /* now */
    bool steady[KEYS];  /* since the scan began */
    bool ever[KEYS];    /* at any time during the scan */
    uint8_t visits[KEYS];
};

static uint32_t roll(struct fixture *f, uint32_t below)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (uint32_t)((f->random >> 32) % below);
}

static struct key numbered_key(const struct fixture *f, char *text, uint32_t number)
{
    return key_of(engine_hash_seed(f->engine), bytes_of(text, number_format_u64(text, number)));
}

static void set_key(struct fixture *f, uint32_t number)
{
    char text[NUMBER_I64_MAX_SIZE];
    struct key key = numbered_key(f, text, number);
    lock_key(f->engine, key.hash);
    f->access.locked = true;
    assert_int_equal(keyspace_set(&f->access, &key, BYTES("v"), EXPIRES_NEVER, NULL), STATUS_OK);
    f->access.locked = false;
    unlock_key(f->engine, key.hash);
    f->present[number] = f->ever[number] = true;
}

static void delete_key(struct fixture *f, uint32_t number)
{
    char text[NUMBER_I64_MAX_SIZE];
    struct key key = numbered_key(f, text, number);
    lock_key(f->engine, key.hash);
    f->access.locked = true;
    assert_int_equal(keyspace_delete(&f->access, &key), f->present[number]);
    f->access.locked = false;
    unlock_key(f->engine, key.hash);
    f->present[number] = f->steady[number] = false;
}

/* Two databases swap and swap back: a scan in between its steps does not notice. */
static void swap_and_swap_back(struct fixture *f)
{
    struct lockset set;
    for (int i = 0; i < 2; i++) {
        lockset_init(&set);
        lockset_add_all(&set, f->engine);
        lockset_acquire(&set, f->engine, true);
        f->access.locked = true;
        keyspace_swap(&f->access, 0, 3);
        f->access.locked = false;
        lockset_release(&set, f->engine);
    }
}

static void visit(void *argument, struct bytes key, enum value_type type)
{
    struct fixture *f = argument;
    uint64_t number;
    assert_int_equal(type, VALUE_STRING);
    assert_true(number_parse_u64(key, &number) && number < KEYS);
    f->visits[number]++;
}

/* Writes between two steps of the scan: the table grows, shrinks, or stays as it is. */
static void disturb(struct fixture *f, uint32_t mood, uint32_t writes)
{
    for (uint32_t i = 0; i < writes; i++) {
        uint32_t number = roll(f, KEYS);
        bool grow = mood == 0 || (mood == 2 && roll(f, 2) == 0);
        if (grow)
            set_key(f, number);
        else if (number % KEPT_ONE_IN != 0) /* or few would stay for the whole scan */
            delete_key(f, number);
    }
    if (roll(f, 8) == 0)
        swap_and_swap_back(f);
    engine_thread_online(f->access.thread);
    if (roll(f, 4) == 0)
        engine_maintain(f->engine, f->access.now_ms);
}

/* `writes` per step on the average; the mood changes now and then. */
static void scan_once(struct fixture *f, uint32_t count, uint32_t writes)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        f->steady[i] = f->ever[i] = f->present[i];
        f->visits[i] = 0;
    }
    uint32_t mood = roll(f, 3);
    uint64_t cursor = 0;
    do {
        uint64_t next = keyspace_scan(&f->access, cursor, count, visit, f);
        assert_true(next == 0 || next > cursor);
        cursor = next;
        if (roll(f, 40) == 0)
            mood = roll(f, 3);
        disturb(f, mood, roll(f, 2 * writes + 1));
    } while (cursor != 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        if (f->steady[i])
            assert_int_equal(f->visits[i], 1);
        if (!f->ever[i])
            assert_int_equal(f->visits[i], 0);
    }
}

static void a_scan_visits_every_key_that_stays(void **state)
{
    (void)state;
    uint64_t first_seed = (uint64_t)time(NULL);
    struct fixture *f = calloc(1, sizeof(*f));
    uint64_t steady = 0, resizes = 0;
    for (uint64_t seed = first_seed; seed < first_seed + SEEDS; seed++) {
        memset(f, 0, sizeof(*f));
        f->random = (seed + 1) * 0x9e3779b97f4a7c15u;
        uint32_t shards = 1 + roll(f, 5);
        print_message("seed %llu, %u shards\n", (unsigned long long)seed, shards);
        struct engine_config config = {
            .shards = shards, .hash_seed = seed | 1, .start_ms = START_MS};
        assert_int_equal(engine_create(&config, &f->engine), STATUS_OK);
        f->access = (struct access){.engine = f->engine, .now_ms = START_MS};
        assert_int_equal(engine_thread_register(f->engine, &f->access.thread), STATUS_OK);
        engine_thread_online(f->access.thread);
        uint32_t filled = roll(f, KEYS);
        for (uint32_t i = 0; i < filled; i++)
            set_key(f, roll(f, KEYS));
        struct engine_stats before, after;
        engine_stats(f->engine, &before);
        scan_once(f, 1 + roll(f, 60), roll(f, 400));
        engine_stats(f->engine, &after);
        resizes += after.table_resizes - before.table_resizes;
        for (uint32_t i = 0; i < KEYS; i++)
            steady += f->steady[i];
        assert_true(engine_check(f->engine));
        engine_thread_unregister(f->access.thread);
        engine_destroy(f->engine);
    }
    free(f);
    print_message("%llu keys stayed, %llu resizes began\n", (unsigned long long)steady,
                  (unsigned long long)resizes);
    assert_true(steady > 50 * SEEDS && resizes > 3 * SEEDS); /* or little was tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_visits_every_key_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
