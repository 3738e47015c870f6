/* SPDX-License-Identifier: MIT
 *
 * How many errors were emitted, by the code they begin with. One thread counts, any thread reads.
 */
#ifndef LARDER_COMMAND_ERROR_COUNTS_H
#define LARDER_COMMAND_ERROR_COUNTS_H

#include "base/bytes.h"
#include "base/counter.h"

/* Codes beyond these are counted together: clients can make them up with DEBUG ERROR. */
enum { ERROR_CODES_MAX = 64, ERROR_CODE_SIZE_MAX = 31 };

struct error_counts {
    counter total;
    counter others;               /* of codes that found no place */
    _Atomic uint32_t codes_count; /* rows below that may be read */
    struct error_count {
        char code[ERROR_CODE_SIZE_MAX + 1];
        counter count;
    } codes[ERROR_CODES_MAX];
};

void error_counts_add(struct error_counts *counts, const char *code);
/* Zeroes the numbers and keeps the codes. */
void error_counts_clear(struct error_counts *counts);
/* Adds `more` to `sum`, which is the caller's alone. */
void error_counts_sum(struct error_counts *sum, const struct error_counts *more);

#endif
