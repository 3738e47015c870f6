/* SPDX-License-Identifier: MIT
 *
 * Clocks. Thread-safe.
 */
#ifndef LARDER_OS_CLOCK_H
#define LARDER_OS_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed point; never steps. About 25 ns a call. */
uint64_t clock_monotonic_ns(void);
/* Milliseconds since 1970 as the host believes; may step. */
int64_t clock_wall_ms(void);
/* Engine time (design: wall clock at start plus the monotonic time since, so that it never steps),
 * in milliseconds since 1970. The first call in the process fixes the start. */
int64_t clock_engine_ms(void);
/* CPU time used by the calling thread. */
uint64_t clock_thread_cpu_ns(void);
/* Sleeps through signals. */
void clock_sleep_us(uint64_t duration_us);

#endif
