/* SPDX-License-Identifier: MIT
 *
 * Linux clocks. State: the start of engine time, fixed once.
 */
#include "os/clock.h"

#include <pthread.h>
#include <time.h>

static uint64_t start_wall_ns, start_monotonic_ns;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
    return (int64_t)(read_ns(CLOCK_REALTIME) / 1000000u);
}

/* Both clocks at one moment, as nearly as the tightest of some tries shows it: what lies between
 * their readings is how far engine time and the wall clock are apart. */
static void fix_start(void)
{
    enum { TRIES = 5 };
    uint64_t tightest_ns = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before_ns = clock_monotonic_ns();
        uint64_t wall_ns = read_ns(CLOCK_REALTIME);
        uint64_t between_ns = clock_monotonic_ns() - before_ns;
        if (between_ns >= tightest_ns)
            continue;
        tightest_ns = between_ns;
        start_wall_ns = wall_ns;
        start_monotonic_ns = before_ns + between_ns / 2;
    }
}

int64_t clock_engine_ms(void)
{
    pthread_once(&start_once, fix_start);
    /* In ns up to here: or it would show up to a millisecond less than the wall clock does, and a
     * time that a client has read there would seem to lie further ahead. */
    return (int64_t)((start_wall_ns + (clock_monotonic_ns() - start_monotonic_ns)) / 1000000u);
}

uint64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_us(uint64_t duration_us)
{
    struct timespec left = {(time_t)(duration_us / 1000000), (long)(duration_us % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0)
        ;
}
