/* SPDX-License-Identifier: MIT
 *
 * Memory straight from the operating system. Sizes and addresses are multiples of OS_PAGE_SIZE.
 * Thread-safe. Functions that can fail for want of memory say so; the others cannot fail in a way
 * a caller could act on.
 */
#ifndef LARDER_OS_MEMORY_H
#define LARDER_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OS_PAGE_SIZE = 4096 };

/* Reserves zeroed memory that costs nothing until touched; NULL when refused. `alignment` is a
 * power of two, at least OS_PAGE_SIZE. */
void *os_map(size_t size, size_t alignment);
void os_unmap(void *address, size_t size);
/* Advises huge pages and touches every page now, so that nobody else takes the faults. May take
 * milliseconds: not for a thread that serves requests. */
void os_populate(void *address, size_t size, bool huge);

/* Bytes of this process resident now, or 0 when unknown. */
uint64_t os_resident_bytes(void);
/* The smaller of the host's memory and the cgroup's limit (v1 or v2). */
uint64_t os_memory_limit_bytes(void);

#endif
