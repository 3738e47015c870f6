/* SPDX-License-Identifier: MIT
 *
 * Records of an embedding program's threads. Each thread finds its own through a thread-local list
 * that holds one record per engine it has used: mostly one, so a walk is cheaper than anything
 * else.
 *
 * `registry` guards the lists that hang on `struct callers` and the moment a record is detached.
 * Two things may end a record, its thread and callers_deinit; both do it under that lock, and only
 * the thread frees it, so neither can meet freed memory.
 */
#include "engine/caller.h"

#include "base/alloc.h"
#include "base/ensure.h"
#include "os/clock.h"
#include "os/thread.h"

static struct lock registry;
static _Atomic uint64_t last_id;
static _Thread_local struct caller *records_of_thread;

void callers_init(struct callers *callers, struct engine *engine, size_t record_size,
                  void (*begun)(struct caller *caller), void (*ended)(struct caller *caller))
{
    ENSURE(record_size >= sizeof(struct caller));
    *callers = (struct callers){
        .engine = engine,
        .id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1,
        .record_size = record_size,
        .begun = begun,
        .ended = ended,
    };
}

/* Takes a record out of its engine. Under the lock. */
static void detach(struct caller *caller)
{
    struct callers *owner = caller->owner;
    owner->ended(caller);
    engine_thread_unregister(caller->thread); /* goes offline first, if it is in a bracket */
    if (caller->next != NULL)
        caller->next->previous = caller->previous;
    if (caller->previous != NULL)
        caller->previous->next = caller->next;
    else
        owner->first = caller->next;
    atomic_store_explicit(&caller->owner_id, 0, memory_order_relaxed);
}

/* Frees the calling thread's records that are detached. */
static void free_detached(void)
{
    struct caller **link = &records_of_thread;
    while (*link != NULL) {
        struct caller *caller = *link;
        if (atomic_load_explicit(&caller->owner_id, memory_order_relaxed) == 0) {
            *link = caller->next_of_thread;
            alloc_free(caller);
        } else {
            link = &caller->next_of_thread;
        }
    }
}

static void thread_ended(void)
{
    lock_acquire(&registry);
    for (struct caller *caller = records_of_thread; caller != NULL; caller = caller->next_of_thread)
        if (atomic_load_explicit(&caller->owner_id, memory_order_relaxed) != 0)
            detach(caller);
    free_detached();
    lock_release(&registry);
}

void callers_deinit(struct callers *callers)
{
    lock_acquire(&registry);
    while (callers->first != NULL)
        detach(callers->first);
    free_detached();
    lock_release(&registry);
}

void callers_drive_time(struct callers *callers, int64_t now_ms)
{
    callers->manual = true;
    atomic_store_explicit(&callers->manual_ms, now_ms, memory_order_relaxed);
}

void callers_set_time(struct callers *callers, int64_t now_ms)
{
    int64_t old_ms = atomic_load_explicit(&callers->manual_ms, memory_order_relaxed);
    while (old_ms < now_ms &&
           !atomic_compare_exchange_weak_explicit(&callers->manual_ms, &old_ms, now_ms,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

int64_t callers_clock_ms(void)
{
    return clock_engine_ms();
}

uint32_t callers_expected(void)
{
    return thread_cpu_count();
}

int64_t callers_now_ms(const struct callers *callers)
{
    return callers->manual ? atomic_load_explicit(&callers->manual_ms, memory_order_relaxed)
                           : clock_engine_ms();
}

struct caller *caller_find(const struct callers *callers)
{
    struct caller *caller = records_of_thread;
    while (caller != NULL &&
           atomic_load_explicit(&caller->owner_id, memory_order_relaxed) != callers->id)
        caller = caller->next_of_thread;
    return caller;
}

static __attribute__((noinline)) enum status caller_register(struct callers *callers,
                                                             struct caller **out)
{
    struct caller *caller = alloc_zeroed(1, callers->record_size);
    if (caller == NULL)
        return STATUS_NO_MEMORY;
    enum status status = thread_at_end(thread_ended);
    if (status == STATUS_OK)
        status = engine_thread_register(callers->engine, &caller->thread);
    if (status != STATUS_OK) {
        alloc_free(caller);
        return status;
    }
    caller->owner = callers;
    callers->begun(caller);

    lock_acquire(&registry);
    free_detached();
    caller->next = callers->first;
    if (callers->first != NULL)
        callers->first->previous = caller;
    callers->first = caller;
    atomic_store_explicit(&caller->owner_id, callers->id, memory_order_relaxed);
    caller->next_of_thread = records_of_thread;
    records_of_thread = caller;
    lock_release(&registry);
    *out = caller;
    return STATUS_OK;
}

enum status caller_enter(struct callers *callers, struct caller **out)
{
    struct caller *caller = caller_find(callers);
    if (caller == NULL) {
        enum status status = caller_register(callers, &caller);
        if (status != STATUS_OK)
            return status;
    }
    if (caller->depth == 0)
        engine_thread_online(caller->thread);
    if (caller->depth == 0 || callers->manual)
        caller->now_ms = callers_now_ms(callers);
    caller->depth++;
    *out = caller;
    return STATUS_OK;
}

void caller_leave(struct caller *caller)
{
    ENSURE(caller->depth > 0);
    if (--caller->depth == 0)
        engine_thread_offline(caller->thread);
}
