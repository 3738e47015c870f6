/* SPDX-License-Identifier: MIT
 *
 * Threads and futexes on Linux. State: the key behind thread_at_end, made once.
 */
#include "os/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

/* About a microsecond of pauses: longer than most holders need, shorter than a sleep costs. */
enum { SPIN_COUNT = 40 };

static void futex_wait(_Atomic uint32_t *word, uint32_t expected, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout, NULL, 0);
}

static void futex_wake_one(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void lock_acquire_slow(struct lock *lock)
{
    for (int i = 0; i < SPIN_COUNT; i++) {
        thread_pause();
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 && lock_try(lock))
            return;
    }
    /* Whoever sleeps leaves the lock marked 2 when it gets it, since it cannot know whether others
     * sleep too: one needless wake at worst. */
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        futex_wait(&lock->state, 2, NULL);
}

void lock_release_slow(struct lock *lock)
{
    futex_wake_one(&lock->state);
}

void signal_raise(struct signal_flag *flag)
{
    if (atomic_exchange_explicit(&flag->raised, 1, memory_order_release) == 0)
        futex_wake_one(&flag->raised);
}

void signal_wait(struct signal_flag *flag, uint32_t timeout_ms)
{
    if (atomic_exchange_explicit(&flag->raised, 0, memory_order_acquire) != 0)
        return;
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    futex_wait(&flag->raised, 0, &timeout);
    atomic_exchange_explicit(&flag->raised, 0, memory_order_acquire);
}

struct thread {
    pthread_t handle;
    void (*run)(void *argument);
    void *argument;
    char name[16];
};

static void *thread_main(void *opaque)
{
    struct thread *thread = opaque;
    prctl(PR_SET_NAME, thread->name);
    thread->run(thread->argument);
    return NULL;
}

enum status thread_start(const char *name, void (*run)(void *argument), void *argument,
                         struct thread **out)
{
    struct thread *thread = alloc_zeroed(1, sizeof *thread);
    if (thread == NULL)
        return STATUS_NO_MEMORY;
    thread->run = run;
    thread->argument = argument;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    if (pthread_create(&thread->handle, NULL, thread_main, thread) != 0) {
        alloc_free(thread);
        return STATUS_SYSTEM;
    }
    *out = thread;
    return STATUS_OK;
}

void thread_join(struct thread *thread)
{
    pthread_join(thread->handle, NULL);
    alloc_free(thread);
}

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static bool end_key_made;

static void end_run(void *run)
{
    ((void (*)(void))run)();
}

static void make_end_key(void)
{
    end_key_made = pthread_key_create(&end_key, end_run) == 0;
}

enum status thread_at_end(void (*run)(void))
{
    pthread_once(&end_once, make_end_key);
    return end_key_made && pthread_setspecific(end_key, (void *)run) == 0 ? STATUS_OK
                                                                          : STATUS_SYSTEM;
}

/* The cgroup's CPU quota rounded up, or 0 when there is none. */
static uint32_t quota_cpus(void)
{
    long long quota = -1, period = 100000;
    char text[64];
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file != NULL) {
        if (fscanf(file, "%63s %lld", text, &period) != 2 || sscanf(text, "%lld", &quota) != 1)
            quota = -1;
        fclose(file);
    } else if ((file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re")) != NULL) {
        if (fscanf(file, "%lld", &quota) != 1)
            quota = -1;
        fclose(file);
        if ((file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re")) != NULL) {
            if (fscanf(file, "%lld", &period) != 1)
                period = 100000;
            fclose(file);
        }
    }
    return quota > 0 && period > 0 ? (uint32_t)((quota + period - 1) / period) : 0;
}

uint32_t thread_cpu_count(void)
{
    cpu_set_t set;
    uint32_t count = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = (uint32_t)CPU_COUNT(&set);
    else if (sysconf(_SC_NPROCESSORS_ONLN) > 0)
        count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t quota = quota_cpus();
    if (quota != 0 && quota < count)
        count = quota;
    return count > 0 ? count : 1;
}

void thread_precise_timers(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}
