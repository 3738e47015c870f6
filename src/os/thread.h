/* SPDX-License-Identifier: MIT
 *
 * Threads and the two ways they wait for one another.
 */
#ifndef LARDER_OS_THREAD_H
#define LARDER_OS_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* ---- lock: spins for at most about a microsecond, then sleeps (futex). Not recursive, not fair.
 * Zero is unlocked. 4 bytes. */
struct lock {
    _Atomic uint32_t state; /* 0 free, 1 held, 2 held and somebody sleeps */
};

void lock_acquire_slow(struct lock *lock);
void lock_release_slow(struct lock *lock);

static inline bool lock_try(struct lock *lock)
{
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void lock_acquire(struct lock *lock)
{
    if (!lock_try(lock))
        lock_acquire_slow(lock);
}

/* Whether somebody may be asleep until the lock is free; for its holder. */
static inline bool lock_awaited(const struct lock *lock)
{
    return atomic_load_explicit(&lock->state, memory_order_relaxed) == 2;
}

static inline void lock_release(struct lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
        lock_release_slow(lock);
}

/* ---- signal: one thread sleeps until another raises it or time runs out. Zero is lowered. */
struct signal_flag {
    _Atomic uint32_t raised;
};

void signal_raise(struct signal_flag *flag);
/* Lowers the flag and returns; waits for at most `timeout_ms` when it is not raised. */
void signal_wait(struct signal_flag *flag, uint32_t timeout_ms);

/* ---- threads */
struct thread;

/* `name` is shown by ps and gdb (15 characters). The thread ends when `run` returns. */
enum status thread_start(const char *name, void (*run)(void *argument), void *argument,
                         struct thread **out) MUST_USE;
void thread_join(struct thread *thread);
/* Calls `run` once when the calling thread ends, however it was started; not when the process
 * exits. To be asked again by every thread, and again by whoever `run` itself makes necessary. */
enum status thread_at_end(void (*run)(void)) MUST_USE;
/* CPUs this process may really use: affinity mask and cgroup quota, at least 1. */
uint32_t thread_cpu_count(void);
/* Lets the calling thread's timed waits end on time (timer slack 1 ns). */
void thread_precise_timers(void);

static inline void thread_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
