/* SPDX-License-Identifier: MIT
 *
 * Linux clocks. State: the start of engine time and the rate of ticks, each fixed once.
 */
#include "os/clock.h"

#include <pthread.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

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

/* In ns up to here: or it would show up to a millisecond less than the wall clock does, and a time
 * that a client has read there would seem to lie further ahead. */
static uint64_t engine_ns(void)
{
    pthread_once(&start_once, fix_start);
    return start_wall_ns + (clock_monotonic_ns() - start_monotonic_ns);
}

int64_t clock_engine_us(void)
{
    return (int64_t)(engine_ns() / 1000u);
}

int64_t clock_engine_ms(void)
{
    return (int64_t)(engine_ns() / 1000000u);
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

/* ---- ticks */

enum { CALIBRATION_US = 5000, COST_READS = 200 };

bool clock_ticks_are_cycles;
/* Nanoseconds in a tick, and the other way, in units of 2^-32. */
static uint64_t ns_per_tick = UINT64_C(1) << 32, ticks_per_ns = UINT64_C(1) << 32;

#if defined(__x86_64__)
static bool cycles_are_even(void)
{
    enum { POWER_MANAGEMENT = 0x80000007, INVARIANT_BIT = 8 };
    unsigned int a, b, c, d;
    return __get_cpuid(POWER_MANAGEMENT, &a, &b, &c, &d) != 0 && (d >> INVARIANT_BIT & 1) != 0;
}

/* Some virtual machines trap the instruction. */
static bool cycles_are_cheap(void)
{
    volatile uint64_t kept;
    uint64_t start_ns = clock_monotonic_ns();
    for (int i = 0; i < COST_READS; i++)
        kept = __builtin_ia32_rdtsc();
    uint64_t middle_ns = clock_monotonic_ns();
    for (int i = 0; i < COST_READS; i++)
        kept = clock_monotonic_ns();
    (void)kept;
    return middle_ns - start_ns < clock_monotonic_ns() - middle_ns;
}

void clock_ticks_init(void)
{
    if (clock_ticks_are_cycles || !cycles_are_even() || !cycles_are_cheap())
        return;
    uint64_t start_ns = clock_monotonic_ns(), start = __builtin_ia32_rdtsc();
    clock_sleep_us(CALIBRATION_US);
    uint64_t ns = clock_monotonic_ns() - start_ns, ticks = __builtin_ia32_rdtsc() - start;
    if (ticks == 0 || ns == 0)
        return;
    ns_per_tick = (uint64_t)(((__uint128_t)ns << 32) / ticks);
    ticks_per_ns = (uint64_t)(((__uint128_t)ticks << 32) / ns);
    clock_ticks_are_cycles = true;
}
#else
void clock_ticks_init(void)
{
}
#endif

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)((__uint128_t)ticks * ns_per_tick >> 32);
}

uint64_t clock_ns_to_ticks(uint64_t duration_ns)
{
    if (duration_ns == UINT64_MAX)
        return UINT64_MAX;
    __uint128_t ticks = (__uint128_t)duration_ns * ticks_per_ns >> 32;
    return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}
