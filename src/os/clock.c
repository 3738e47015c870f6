/* SPDX-License-Identifier: MIT
 *
 * Linux clocks. State: the start of engine time, fixed once.
 */
#include "os/clock.h"

#include <pthread.h>
#include <time.h>

static int64_t start_wall_ms;
static uint64_t start_monotonic_ns;
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

static void fix_start(void)
{
    start_wall_ms = clock_wall_ms();
    start_monotonic_ns = clock_monotonic_ns();
}

int64_t clock_engine_ms(void)
{
    pthread_once(&start_once, fix_start);
    return start_wall_ms + (int64_t)((clock_monotonic_ns() - start_monotonic_ns) / 1000000u);
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
