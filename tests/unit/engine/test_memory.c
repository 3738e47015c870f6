/* SPDX-License-Identifier: MIT
 *
 * Pages, slabs and epochs: what the table and the entries stand on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/epoch.h"
#include "engine/pages.h"
#include "engine/slab.h"

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void seed_random(void)
{
    random_state = (uint64_t)time(NULL) | 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
}

struct run {
    unsigned char *memory;
    size_t count;
    unsigned char fill;
};

static void page_runs_never_overlap_and_are_found_from_any_address(void **state)
{
    (void)state;
    enum { RUNS = 300, STEPS = 4000 };
    static struct run runs[RUNS];
    struct pages pages;
    seed_random();
    pages_init(&pages, 0, NULL);
    uint64_t expected = 0;
    for (int step = 0; step < STEPS; step++) {
        struct run *run = &runs[next_random() % RUNS];
        if (run->memory == NULL) {
            run->count = next_random() % 8 == 0 ? 1 + next_random() % 600 : 1 + next_random() % 20;
            run->memory = pages_get(&pages, run->count, LIMIT_HOLDS);
            run->fill = (unsigned char)next_random();
            assert_non_null(run->memory);
            memset(run->memory, run->fill, run->count * PAGE_SIZE);
            expected += run->count;
        } else {
            size_t size = run->count * PAGE_SIZE, at = next_random() % size;
            assert_int_equal(run->memory[at], run->fill);
            assert_int_equal(run->memory[0], run->fill);
            assert_int_equal(run->memory[size - 1], run->fill);
            if (run->count <= PAGES_RUN_MAX)
                assert_ptr_equal(pages_run_of(run->memory + at), run->memory);
            pages_put(&pages, run->memory, run->count);
            run->memory = NULL;
            expected -= run->count;
        }
        assert_int_equal(pages.used_bytes, expected * PAGE_SIZE);
    }
    for (int i = 0; i < RUNS; i++)
        if (runs[i].memory != NULL)
            pages_put(&pages, runs[i].memory, runs[i].count);
    assert_int_equal(pages.used_bytes, 0);
    assert_int_equal(pages.free_pages, (uint64_t)pages.chunk_count * PAGES_RUN_MAX);
    for (int round = 1; round < 20; round++) {
        pages_plan(&pages, round * 100);
        while (pages_balance(&pages))
            ;
    }
    assert_true(pages.chunk_count <= 3); /* whole free chunks went back, the reserve stayed */
    pages_deinit(&pages);
}

static void the_reserve_is_what_was_never_used(void **state)
{
    (void)state;
    enum { RUNS = 600, RUN_PAGES = 15 };
    static void *runs[RUNS];
    struct pages pages;
    pages_init(&pages, 0, NULL);
    for (int i = 0; i < RUNS; i++) {
        pages_plan(&pages, i * 10);
        while (pages_balance(&pages))
            ;
        uint32_t chunk_count = pages.chunk_count;
        runs[i] = pages_get(&pages, RUN_PAGES, LIMIT_HOLDS);
        assert_non_null(runs[i]);
        assert_int_equal(pages.chunk_count, chunk_count); /* it was there already */
    }
    /* Holes that no run of more pages can use. */
    for (int i = 0; i < RUNS; i += 3)
        pages_put(&pages, runs[i], RUN_PAGES);
    assert_true(pages.free_pages >= RUNS / 3 * RUN_PAGES);
    for (int i = 0; i < 100; i++) {
        pages_plan(&pages, (RUNS + i) * 10);
        while (pages_balance(&pages))
            ;
        uint32_t chunk_count = pages.chunk_count;
        assert_non_null(pages_get(&pages, RUN_PAGES + 1, LIMIT_HOLDS));
        assert_int_equal(pages.chunk_count, chunk_count);
    }
    pages_deinit(&pages);
}

static void pages_stop_at_the_limit(void **state)
{
    (void)state;
    struct pages pages;
    pages_init(&pages, 64 * PAGE_SIZE, NULL);
    void *most = pages_get(&pages, 60, LIMIT_HOLDS);
    assert_non_null(most);
    assert_null(pages_get(&pages, 5, LIMIT_HOLDS));
    assert_true(pages_over(&pages, 5 * PAGE_SIZE));
    void *rest = pages_get(&pages, 4, LIMIT_HOLDS);
    assert_non_null(rest);
    pages_put(&pages, most, 60);
    most = pages_get(&pages, 60, LIMIT_HOLDS);
    assert_non_null(most);
    pages_put(&pages, most, 60);
    pages_put(&pages, rest, 4);
    pages_deinit(&pages);
}

static void slab_classes_waste_at_most_two_percent_or_eight_bytes(void **state)
{
    (void)state;
    struct pages pages;
    struct slab_heap heap;
    pages_init(&pages, 0, NULL);
    slab_classes_init();
    slab_heap_init(&heap, &pages);
    for (size_t size = 1; size <= SLAB_OBJECT_MAX; size++) {
        void *object = slab_get(&heap, size, LIMIT_HOLDS);
        assert_non_null(object);
        size_t got = slab_object_size(object);
        assert_true(got >= size);
        assert_true(got - size < 8 || (got - size) * 50 <= size + 50 * 7);
        assert_int_equal((uintptr_t)object % 8, 0);
        if (size > 56 && size <= 64)
            assert_int_equal((uintptr_t)object % 64, 0);
        memset(object, 1, size);
        slab_put(&heap, object);
    }
    slab_heap_deinit(&heap);
    pages_deinit(&pages);
}

static void slab_objects_keep_their_bytes_and_deadlines(void **state)
{
    (void)state;
    enum { OBJECTS = 3000, STEPS = 40000 };
    static struct run objects[OBJECTS];
    struct pages pages;
    struct slab_heap heap;
    seed_random();
    pages_init(&pages, 0, NULL);
    slab_classes_init();
    slab_heap_init(&heap, &pages);
    for (int step = 0; step < STEPS; step++) {
        struct run *object = &objects[next_random() % OBJECTS];
        if (object->memory == NULL) {
            object->count = 9 + next_random() % (next_random() % 10 == 0 ? 9000 : 300);
            object->memory = slab_get(&heap, object->count, LIMIT_HOLDS);
            object->fill = (unsigned char)(1 + next_random() % 200);
            memset(object->memory, object->fill, object->count);
            struct slab *slab = slab_of(object->memory);
            slab_due_set(&heap, slab, slab_object_index(slab, object->memory), object->fill);
        } else {
            struct slab *slab = slab_of(object->memory);
            uint32_t index = slab_object_index(slab, object->memory);
            assert_ptr_equal(slab_object(slab, index), object->memory);
            assert_int_equal(slab->due[index], object->fill);
            assert_int_equal(object->memory[0], object->fill);
            assert_int_equal(object->memory[object->count - 1], object->fill);
            slab_put(&heap, object->memory);
            object->memory = NULL;
        }
    }
    for (int i = 0; i < OBJECTS; i++)
        if (objects[i].memory != NULL)
            slab_put(&heap, objects[i].memory);
    assert_int_equal(heap.live_bytes, 0);
    slab_heap_deinit(&heap);
    pages_deinit(&pages);
}

static void parked_objects_come_first_and_go_back_when_it_is_quiet(void **state)
{
    (void)state;
    enum { SIZE = 600, OBJECTS = SLAB_PARKED_MAX + 3 };
    struct pages pages;
    struct slab_heap heap;
    void *objects[OBJECTS];
    pages_init(&pages, 0, NULL);
    slab_classes_init();
    slab_heap_init(&heap, &pages);
    void *other = slab_get(&heap, SIZE / 2, LIMIT_HOLDS);
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = slab_get(&heap, SIZE, LIMIT_HOLDS);
    uint64_t live_bytes = heap.live_bytes;
    for (int i = 0; i < OBJECTS; i++)
        slab_park(&heap, objects[i], SIZE); /* the last of them find no place and go back */
    assert_int_equal(slab_of(objects[0])->used_count, SLAB_PARKED_MAX);
    assert_int_equal(heap.live_bytes, slab_object_size(other));
    for (int i = SLAB_PARKED_MAX; i-- > 0;) {
        void *again = slab_get(&heap, SIZE - 1, LIMIT_HOLDS);
        assert_ptr_equal(again, objects[i]);
        memset(again, 1, SIZE);
    }
    assert_int_equal(live_bytes - heap.live_bytes, 3 * slab_object_size(objects[0]));
    for (int i = 0; i < SLAB_PARKED_MAX; i++)
        slab_park(&heap, objects[i], SIZE);
    slab_heap_settle(&heap); /* not quiet yet */
    assert_int_equal(slab_of(objects[0])->used_count, SLAB_PARKED_MAX);
    slab_heap_settle(&heap);
    assert_int_equal(slab_of(objects[0])->used_count, 0);
    slab_put(&heap, other);
    assert_int_equal(heap.live_bytes, 0);
    slab_heap_deinit(&heap);
    pages_deinit(&pages);
}

static void nothing_is_safe_while_a_thread_may_still_look(void **state)
{
    (void)state;
    struct epoch epoch;
    struct epoch_record a = {.announced = 0}, b = {.announced = 0};
    epoch_init(&epoch);
    epoch_add(&epoch, &a);
    epoch_add(&epoch, &b);
    epoch_online(&epoch, &a);
    epoch_online(&epoch, &b);
    uint64_t retired_at = epoch.global;
    for (int i = 0; i < 5; i++) {
        epoch_online(&epoch, &a);
        epoch_advance(&epoch);
        assert_false(epoch_safe(&epoch, retired_at)); /* b has not announced again */
    }
    for (int i = 0; i < 2; i++) {
        assert_false(epoch_safe(&epoch, retired_at));
        epoch_online(&epoch, &b);
        epoch_online(&epoch, &a);
        epoch_advance(&epoch);
    }
    assert_true(epoch_safe(&epoch, retired_at));
    retired_at = epoch.global;
    epoch_offline(&b); /* whoever waits holds nothing back */
    for (int i = 0; i < 3; i++) {
        epoch_online(&epoch, &a);
        epoch_advance(&epoch);
    }
    assert_true(epoch_safe(&epoch, retired_at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_runs_never_overlap_and_are_found_from_any_address),
        cmocka_unit_test(the_reserve_is_what_was_never_used),
        cmocka_unit_test(pages_stop_at_the_limit),
        cmocka_unit_test(slab_classes_waste_at_most_two_percent_or_eight_bytes),
        cmocka_unit_test(slab_objects_keep_their_bytes_and_deadlines),
        cmocka_unit_test(parked_objects_come_first_and_go_back_when_it_is_quiet),
        cmocka_unit_test(nothing_is_safe_while_a_thread_may_still_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
