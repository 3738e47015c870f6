/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, both ways. Parsers take the whole input or refuse it: no leading blanks, no
 * trailing bytes. Formatters write no NUL and return the number of bytes written.
 */
#ifndef LARDER_BASE_NUMBER_H
#define LARDER_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    NUMBER_I64_MAX_SIZE = 20,    /* "-9223372036854775808" */
    NUMBER_DOUBLE_MAX_SIZE = 32, /* "%.17g" */
    NUMBER_LONG_DOUBLE_MAX_SIZE = 5 * 1024
};

/* Decimal text in the one form that formatting gives back: "-0", "+1" and "01" are refused. */
bool number_parse_i64(struct bytes text, int64_t *out);
bool number_parse_u64(struct bytes text, uint64_t *out);
/* Any finite or infinite decimal or exponent form that strtold takes; NaN is refused. */
bool number_parse_double(struct bytes text, double *out);
bool number_parse_long_double(struct bytes text, long double *out);

size_t number_format_i64(char *out, int64_t value);
size_t number_format_u64(char *out, uint64_t value);
/* Whole numbers below 2^62 in full, else the shortest of %.15g, %.16g and %.17g that reads back as
 * the same double; "inf", "-inf", "nan". */
size_t number_format_double(char *out, double value);
/* As INCRBYFLOAT shows its result: up to 17 decimals, no exponent, no trailing zeros. */
size_t number_format_long_double(char *out, long double value);

/* Sizes as options spell them, in any case: "512", "1k" (1000), "1kb" (1024), "64mb", "8gb". */
bool number_parse_size(struct bytes text, uint64_t *out_bytes);
/* Durations: "250ms", "10s", "5m", "2h", "1d", "100us"; a bare number is in `unit_us`. */
bool number_parse_duration_us(struct bytes text, uint64_t unit_us, uint64_t *out_us);

#endif
