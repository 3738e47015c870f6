/* SPDX-License-Identifier: MIT
 *
 * Repeatable chance for tests: splitmix64, one state per thread.
 */
#ifndef TESTS_SERIAL_DICE_H
#define TESTS_SERIAL_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_bits(struct dice *dice)
{
    uint64_t z = dice->state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

/* 0 .. sides - 1 */
static inline uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
    return (uint32_t)(((dice_bits(dice) >> 32) * sides) >> 32);
}

static inline bool dice_one_in(struct dice *dice, uint32_t sides)
{
    return dice_roll(dice, sides) == 0;
}

#endif
