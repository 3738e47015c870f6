/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdlib.h>

#if LARDER_FAULTS

#include <stdatomic.h>

/* Allocations left until the one that fails; 0 or less: none will. */
static _Atomic long fault_countdown;
static _Atomic bool fault_fired;

void alloc_fault_at(unsigned long nth)
{
    atomic_store(&fault_fired, false);
    atomic_store(&fault_countdown, (long)nth);
}

bool alloc_fault_fired(void)
{
    return atomic_load(&fault_fired);
}

bool alloc_fault_now(void)
{
    if (atomic_load_explicit(&fault_countdown, memory_order_relaxed) <= 0)
        return false;
    if (atomic_fetch_sub(&fault_countdown, 1) != 1)
        return false;
    atomic_store(&fault_fired, true);
    return true;
}

#endif

void *alloc_get(size_t size)
{
    return alloc_fault_now() ? NULL : malloc(size);
}

void *alloc_zeroed(size_t count, size_t size)
{
    return alloc_fault_now() ? NULL : calloc(count, size);
}

void *alloc_resize(void *block, size_t size)
{
    return alloc_fault_now() ? NULL : realloc(block, size);
}

void *alloc_aligned(size_t alignment, size_t size)
{
    void *block;
    if (alloc_fault_now() || posix_memalign(&block, alignment, size) != 0)
        return NULL;
    return block;
}

void alloc_free(void *block)
{
    free(block);
}

/* mimalloc's; NULL where malloc is somebody else's. */
extern void mi_collect(bool force) __attribute__((weak));
extern void mi_stats_print_out(alloc_print *print, void *argument) __attribute__((weak));

void alloc_trim(void)
{
    if (mi_collect != NULL)
        mi_collect(false);
}

bool alloc_report(alloc_print *print, void *argument)
{
    if (mi_stats_print_out == NULL)
        return false;
    mi_stats_print_out(print, argument);
    return true;
}
