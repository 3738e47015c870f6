/* SPDX-License-Identifier: MIT
 *
 * Clocks. Thread-safe.
 */
#ifndef LARDER_OS_CLOCK_H
#define LARDER_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since some fixed point; never steps. About 25 ns a call. */
uint64_t clock_monotonic_ns(void);
/* Milliseconds since 1970 as the host believes; may step. */
int64_t clock_wall_ms(void);
/* Engine time (design: wall clock at start plus the monotonic time since, so that it never steps),
 * in milliseconds since 1970. The first call in the process fixes the start. */
int64_t clock_engine_ms(void);
int64_t clock_engine_us(void); /* the same in microseconds */
/* CPU time used by the calling thread. */
uint64_t clock_thread_cpu_ns(void);
/* Sleeps through signals. */
void clock_sleep_us(uint64_t duration_us);

/* Ticks measure short durations on one thread, at less than half of what the clocks above cost: the
 * processor's time stamp counter where its rate never changes and reading it is cheap, else
 * nanoseconds of the monotonic clock. A thread that changes its processor may see them go back a
 * little. */
extern bool clock_ticks_are_cycles; /* constant after clock_ticks_init */

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock_ticks_are_cycles, 1))
        return __builtin_ia32_rdtsc();
#endif
    return clock_monotonic_ns();
}

/* Chooses the source and measures its rate, which takes some milliseconds; before other threads
 * use ticks. */
void clock_ticks_init(void);
uint64_t clock_ticks_to_ns(uint64_t ticks);
/* UINT64_MAX stays what it is. */
uint64_t clock_ns_to_ticks(uint64_t duration_ns);

#endif
