/* SPDX-License-Identifier: MIT
 *
 * What build the figures come from. Judged only from what the compiler defines (NDEBUG,
 * __OPTIMIZE__, the sanitizers' macros); the build type is a label that somebody gave.
 */
#ifndef LARDER_BENCH_BUILD_INFO_H
#define LARDER_BENCH_BUILD_INFO_H

#include <stdbool.h>
#include <stdio.h>

/* Optimized, without assertions, without a sanitizer: else a figure says nothing about the cost. */
bool build_info_is_cost(void);
void build_info_print(FILE *file);

#endif
