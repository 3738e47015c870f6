/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void blocks_can_be_got_resized_and_given_back(void **state)
{
    (void)state;
    char *block = alloc_get(10);
    assert_non_null(block);
    memcpy(block, "0123456789", 10);
    block = alloc_resize(block, 1000);
    assert_non_null(block);
    assert_memory_equal(block, "0123456789", 10);
    alloc_free(block);
    int *zeroed = alloc_zeroed(100, sizeof(*zeroed));
    assert_non_null(zeroed);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zeroed[i], 0);
    alloc_free(zeroed);
    void *aligned = alloc_aligned(4096, 100);
    assert_int_equal((uintptr_t)aligned % 4096, 0);
    alloc_free(aligned);
    alloc_free(NULL);
}

#if LARDER_FAULTS
static void exactly_the_chosen_allocation_fails(void **state)
{
    (void)state;
    alloc_fault_at(3);
    void *blocks[4];
    blocks[0] = alloc_get(1);
    blocks[1] = alloc_zeroed(1, 1);
    assert_false(alloc_fault_fired());
    assert_null(alloc_resize(blocks[0], 100));
    assert_true(alloc_fault_fired());
    blocks[2] = alloc_aligned(64, 64);
    blocks[3] = alloc_get(1);
    for (int i = 0; i < 4; i++) {
        assert_non_null(blocks[i]);
        alloc_free(blocks[i]);
    }
    alloc_fault_at(1);
    assert_true(alloc_fault_now());
    assert_false(alloc_fault_now());
    alloc_fault_at(1);
    alloc_fault_at(0);
    assert_false(alloc_fault_now());
    assert_false(alloc_fault_fired());
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_can_be_got_resized_and_given_back),
#if LARDER_FAULTS
        cmocka_unit_test(exactly_the_chosen_allocation_fails),
#endif
    };
    return cmocka_run_group_tests_name("base/alloc", tests, NULL, NULL);
}
