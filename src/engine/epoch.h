/* SPDX-License-Identifier: MIT
 *
 * Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004; quiescent states as in Hart et
 * al., "Performance of memory reclamation for lockless synchronization", 2007), in the form a cache
 * server wants: a thread announces once per loop iteration or some dozen requests, so a read pays
 * nothing.
 *
 * The global epoch moves from e to e + 1 only when every online thread has announced e. Whoever
 * unlinks is online, so the epoch moves at most once between the unlinking and the end of its
 * operation: if it reads e right after the unlinking, the unlinking is seen by every thread that
 * announces e + 2, even if the read overtook the store. When the epoch is e + 3 every online thread
 * has announced e + 2 or later and holds no older pointer, and what was unlinked may be freed.
 *
 * Threads: a record is written by its owner; the scan in epoch_advance may run in any thread.
 * Records are never freed before engine_destroy, only reused, so the scan needs no lock.
 */
#ifndef LARDER_ENGINE_EPOCH_H
#define LARDER_ENGINE_EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct epoch_record {
    _Atomic uint64_t announced; /* 0: offline */
    _Atomic bool taken;
    struct epoch_record *next; /* set before the record is published */
};

struct epoch {
    _Alignas(64) _Atomic uint64_t global; /* starts at 1 */
    _Atomic(struct epoch_record *) records;
};

void epoch_init(struct epoch *epoch);
/* Publishes a fresh record; it stays in the list for ever. */
void epoch_add(struct epoch *epoch, struct epoch_record *record);
/* Moves the epoch on if all online threads have announced the present one. */
void epoch_advance(struct epoch *epoch);

/* From here on the thread may follow shared pointers; what it got before is no longer protected. */
static inline void epoch_online(struct epoch *epoch, struct epoch_record *record)
{
    uint64_t now = atomic_load_explicit(&epoch->global, memory_order_acquire);
    if (atomic_load_explicit(&record->announced, memory_order_relaxed) == now)
        return;
    /* An exchange, since no later load may be satisfied before the announcement is seen. */
    atomic_exchange_explicit(&record->announced, now, memory_order_seq_cst);
}

static inline void epoch_offline(struct epoch_record *record)
{
    atomic_store_explicit(&record->announced, 0, memory_order_release);
}

static inline bool epoch_safe(const struct epoch *epoch, uint64_t retired_at)
{
    return atomic_load_explicit(&epoch->global, memory_order_acquire) >= retired_at + 3;
}

#endif
