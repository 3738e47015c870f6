/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- integers */

static const char digit_pairs[201] = "00010203040506070809101112131415161718192021222324"
                                     "25262728293031323334353637383940414243444546474849"
                                     "50515253545556575859606162636465666768697071727374"
                                     "75767778798081828384858687888990919293949596979899";

bool number_parse_u64(struct bytes text, uint64_t *out)
{
    const char *p = text.data, *end = p + text.size;
    if (text.size == 0 || text.size > 20 || *p < '0' || *p > '9' || (*p == '0' && text.size != 1))
        return false;
    uint64_t value = 0;
    if (text.size < 20) { /* 19 digits always fit */
        do {
            unsigned digit = (unsigned)(*p - '0');
            if (digit > 9)
                return false;
            value = value * 10 + digit;
        } while (++p < end);
    } else {
        do {
            unsigned digit = (unsigned)(*p - '0');
            if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, digit, &value))
                return false;
        } while (++p < end);
    }
    *out = value;
    return true;
}

bool number_parse_i64(struct bytes text, int64_t *out)
{
    bool negative = text.size != 0 && text.data[0] == '-';
    uint64_t magnitude;
    if (!number_parse_u64(bytes_of(text.data + negative, text.size - negative), &magnitude))
        return false;
    if (negative) {
        if (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1)
            return false;
        *out = (int64_t)(0 - magnitude);
    } else {
        if (magnitude > INT64_MAX)
            return false;
        *out = (int64_t)magnitude;
    }
    return true;
}

static size_t digits_of(uint64_t value)
{
    static const uint64_t powers[] = {
        0,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000u,
    };
    /* bits * log10(2), at most one too low. */
    size_t guess = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

size_t number_format_u64(char *out, uint64_t value)
{
    if (value < 10) {
        out[0] = (char)('0' + value);
        return 1;
    }
    size_t size = digits_of(value);
    char *p = out + size;
    while (value >= 100) {
        p -= 2;
        memcpy(p, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(out, digit_pairs + value * 2, 2);
    else
        out[0] = (char)('0' + value);
    return size;
}

size_t number_format_i64(char *out, int64_t value)
{
    if (value >= 0)
        return number_format_u64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + number_format_u64(out + 1, 0 - (uint64_t)value);
}

/* ---- floating point
 *
 * The C library's conversions follow the locale, which belongs to whoever embeds us: each one is
 * bracketed by the "C" locale. (For "C" newlocale returns a static object; it cannot fail.) */

static locale_t plain_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static void plain_locale_leave(locale_t previous)
{
    uselocale(previous);
}

/* The C library wants a NUL behind the text, and it would skip blanks before it. */
static bool copy_for_c(struct bytes text, char copy[NUMBER_LONG_DOUBLE_MAX_SIZE])
{
    if (text.size == 0 || text.size >= NUMBER_LONG_DOUBLE_MAX_SIZE || text.data[0] == ' ' ||
        (text.data[0] >= '\t' && text.data[0] <= '\r'))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return true;
}

/* An overflow gives infinity and an underflow zero: wrong unless the text says so. */
static bool out_of_range(const char *text, bool infinite, bool zero)
{
    text += *text == '-' || *text == '+';
    if (infinite)
        return *text != 'i' && *text != 'I';
    if (!zero)
        return false;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    text += hex ? 2 : 0;
    size_t mantissa = strcspn(text, hex ? "pP" : "eE");
    return strcspn(text, hex ? "123456789abcdefABCDEF" : "123456789") < mantissa;
}

bool number_parse_long_double(struct bytes text, long double *out)
{
    char copy[NUMBER_LONG_DOUBLE_MAX_SIZE], *end;
    if (!copy_for_c(text, copy))
        return false;
    locale_t locale = plain_locale_enter();
    long double value = strtold(copy, &end);
    plain_locale_leave(locale);
    if (end != copy + text.size || isnan(value) || out_of_range(copy, isinf(value), value == 0))
        return false;
    *out = value;
    return true;
}

bool number_parse_double(struct bytes text, double *out)
{
    char copy[NUMBER_LONG_DOUBLE_MAX_SIZE], *end;
    if (!copy_for_c(text, copy))
        return false;
    locale_t locale = plain_locale_enter();
    double value = strtod(copy, &end);
    plain_locale_leave(locale);
    if (end != copy + text.size || isnan(value) || out_of_range(copy, isinf(value), value == 0))
        return false;
    *out = value;
    return true;
}

static size_t put(char *out, const char *text)
{
    size_t size = strlen(text);
    memcpy(out, text, size);
    return size;
}

size_t number_format_double(char *out, double value)
{
    if (isnan(value))
        return put(out, "nan");
    if (isinf(value))
        return put(out, value > 0 ? "inf" : "-inf");
    if (value == 0)
        return put(out, signbit(value) ? "-0" : "0");
    /* Whole numbers are shown whole as long as they surely fit. */
    if (fabs(value) < 0x1p62 && (double)(int64_t)value == value)
        return number_format_i64(out, (int64_t)value);
    char text[NUMBER_DOUBLE_MAX_SIZE];
    int size = 0;
    locale_t locale = plain_locale_enter();
    for (int precision = 15; precision <= 17; precision++) {
        size = snprintf(text, sizeof(text), "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    plain_locale_leave(locale);
    memcpy(out, text, (size_t)size);
    return (size_t)size;
}

size_t number_format_long_double(char *out, long double value)
{
    if (isnan(value) || isinf(value))
        return number_format_double(out, (double)value);
    char text[NUMBER_LONG_DOUBLE_MAX_SIZE];
    locale_t locale = plain_locale_enter();
    size_t size = (size_t)snprintf(text, sizeof(text), "%.17Lf", value);
    plain_locale_leave(locale);
    while (text[size - 1] == '0') /* there is a point: 17 decimals were asked for */
        size--;
    if (text[size - 1] == '.')
        size--;
    if (size == 2 && memcmp(text, "-0", 2) == 0)
        return put(out, "0");
    memcpy(out, text, size);
    return size;
}

/* ---- options */

struct unit {
    const char *name;
    uint64_t factor;
};

/* Splits "12mb" into 12 and the factor of "mb"; an absent unit is units[0]. */
static bool parse_with_unit(struct bytes text, const struct unit *units, size_t unit_count,
                            uint64_t *out)
{
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    uint64_t number;
    if (!number_parse_u64(bytes_of(text.data, digits), &number))
        return false;
    struct bytes name = bytes_of(text.data + digits, text.size - digits);
    for (size_t i = 0; i < unit_count; i++) {
        if (bytes_equal_text_nocase(name, units[i].name))
            return !__builtin_mul_overflow(number, units[i].factor, out);
    }
    return false;
}

bool number_parse_size(struct bytes text, uint64_t *out_bytes)
{
    static const struct unit units[] = {
        {"", 1},
        {"b", 1},
        {"k", 1000},
        {"kb", 1024},
        {"m", 1000 * 1000},
        {"mb", 1024 * 1024},
        {"g", 1000 * 1000 * 1000},
        {"gb", 1024 * 1024 * 1024},
        {"t", 1000ull * 1000 * 1000 * 1000},
        {"tb", 1024ull * 1024 * 1024 * 1024},
    };
    return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), out_bytes);
}

bool number_parse_duration_us(struct bytes text, uint64_t unit_us, uint64_t *out_us)
{
    const struct unit units[] = {
        {"", unit_us},
        {"us", 1},
        {"ms", 1000},
        {"s", 1000 * 1000},
        {"m", 60ull * 1000 * 1000},
        {"h", 3600ull * 1000 * 1000},
        {"d", 24 * 3600ull * 1000 * 1000},
    };
    return parse_with_unit(text, units, sizeof(units) / sizeof(units[0]), out_us);
}
