/* SPDX-License-Identifier: MIT */
#include "engine/epoch.h"

#include <stddef.h>

void epoch_init(struct epoch *epoch)
{
    atomic_init(&epoch->global, 1);
    atomic_init(&epoch->records, NULL);
}

void epoch_add(struct epoch *epoch, struct epoch_record *record)
{
    atomic_init(&record->announced, 0);
    atomic_init(&record->taken, true);
    record->next = atomic_load_explicit(&epoch->records, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&epoch->records, &record->next, record,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

void epoch_advance(struct epoch *epoch)
{
    uint64_t now = atomic_load_explicit(&epoch->global, memory_order_relaxed);
    /* Pairs with the exchange in epoch_online: either this scan sees the announcement, or that
     * thread's loads see every unlinking made before the scan. */
    atomic_thread_fence(memory_order_seq_cst);
    for (struct epoch_record *record = atomic_load_explicit(&epoch->records, memory_order_acquire);
         record != NULL; record = record->next) {
        uint64_t announced = atomic_load_explicit(&record->announced, memory_order_acquire);
        if (announced != 0 && announced != now)
            return;
    }
    atomic_compare_exchange_strong_explicit(&epoch->global, &now, now + 1, memory_order_acq_rel,
                                            memory_order_relaxed);
}
