/* SPDX-License-Identifier: MIT
 *
 * A count with one writer at a time (its thread, or whoever holds a lock) and any number of
 * readers, who may see it a moment late.
 */
#ifndef LARDER_BASE_COUNTER_H
#define LARDER_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

/* No read-modify-write is needed, since nobody else writes. */
static inline void counter_add(counter *counted, uint64_t amount)
{
    uint64_t now = atomic_load_explicit(counted, memory_order_relaxed);
    atomic_store_explicit(counted, now + amount, memory_order_relaxed);
}

static inline uint64_t counter_get(const counter *counted)
{
    return atomic_load_explicit(counted, memory_order_relaxed);
}

static inline void counter_clear(counter *counted)
{
    atomic_store_explicit(counted, 0, memory_order_relaxed);
}

#endif
