/* SPDX-License-Identifier: MIT
 *
 * Assertions that stay in release builds: for bugs after which going on would be worse than ending,
 * where looking costs next to nothing. assert() is for what costs more.
 */
#ifndef LARDER_BASE_ENSURE_H
#define LARDER_BASE_ENSURE_H

#define ENSURE(condition)                                                                          \
    (__builtin_expect(!!(condition), 1) ? (void)0 : ensure_failed(#condition, __FILE__, __LINE__))

/* Says what did not hold, to stderr, and aborts. */
_Noreturn void ensure_failed(const char *condition, const char *file, int line);

#endif
