/* SPDX-License-Identifier: MIT */
#ifndef LARDER_OS_RANDOM_H
#define LARDER_OS_RANDOM_H

#include <stdint.h>

/* Bits nobody outside can guess. Thread-safe. */
uint64_t random_seed(void);

#endif
