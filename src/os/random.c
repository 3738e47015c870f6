/* SPDX-License-Identifier: MIT */
#include "os/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "os/clock.h"

uint64_t random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed)
        return seed;
    /* No random source: times and an address differ between runs at least. */
    seed = clock_monotonic_ns() ^ (uint64_t)clock_wall_ms() << 20 ^ (uint64_t)(uintptr_t)&seed;
    return seed * 0x9e3779b97f4a7c15u;
}
