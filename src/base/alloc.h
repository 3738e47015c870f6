/* SPDX-License-Identifier: MIT
 *
 * The process's general allocator, with a hook that makes one chosen allocation fail (built only
 * where LARDER_FAULTS is 1). Everything that is not an entry goes through here, so that a test can
 * fail each allocation in turn. Thread-safe. Returns NULL when memory is out: callers answer.
 */
#ifndef LARDER_BASE_ALLOC_H
#define LARDER_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

void *alloc_get(size_t size);
void *alloc_zeroed(size_t count, size_t size);
/* As realloc: on NULL the old block is untouched. */
void *alloc_resize(void *block, size_t size);
/* `alignment` is a power of two; the block is given back with alloc_free too. */
void *alloc_aligned(size_t alignment, size_t size);
void alloc_free(void *block);
/* Gives the system back what has been free for a while, where the allocator does not do so of its
 * own: to be called now and then, by a thread that may wait for it. */
void alloc_trim(void);
/* Hands what the allocator says of itself to `print`, piece by piece. False: it says nothing. */
typedef void alloc_print(const char *text, void *argument);
bool alloc_report(alloc_print *print, void *argument);

#if LARDER_FAULTS
/* The `nth` allocation from now (1 is the next) fails, in any thread; 0 turns the hook off. */
void alloc_fault_at(unsigned long nth);
/* True once the fault has fired since it was set. */
bool alloc_fault_fired(void);
/* For allocators of our own (pages, slabs): true when this allocation is the one to fail. */
bool alloc_fault_now(void);
#else
static inline bool alloc_fault_now(void)
{
    return false;
}
#endif

#endif
