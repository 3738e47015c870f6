/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(char *out, struct bytes bytes)
{
    const unsigned char *from = (const unsigned char *)bytes.data;
    char *at = out;
    size_t i = 0;

    for (; i + 3 <= bytes.size; i += 3) {
        uint32_t group = (uint32_t)from[i] << 16 | (uint32_t)from[i + 1] << 8 | from[i + 2];

        for (int shift = 18; shift >= 0; shift -= 6)
            *at++ = alphabet[group >> shift & 63];
    }
    if (i < bytes.size) {
        bool two = bytes.size - i == 2;
        uint32_t group = (uint32_t)from[i] << 16 | (two ? (uint32_t)from[i + 1] << 8 : 0);

        *at++ = alphabet[group >> 18];
        *at++ = alphabet[group >> 12 & 63];
        *at++ = two ? alphabet[group >> 6 & 63] : '=';
        *at++ = '=';
    }
    return (size_t)(at - out);
}

/* The six bits of a character, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Of a size that base64_check accepts. */
static size_t padding(struct bytes text)
{
    if (text.size == 0 || text.data[text.size - 1] != '=')
        return 0;
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

bool base64_check(struct bytes text, size_t *out_size)
{
    if (text.size % 4 != 0)
        return false;
    size_t pad = padding(text), digits = text.size - pad;
    for (size_t i = 0; i < digits; i++)
        if (value_of(text.data[i]) < 0)
            return false;
    /* Bits that stand for nothing are zero, so that bytes have one spelling. */
    if (pad != 0 && (value_of(text.data[digits - 1]) & (pad == 2 ? 15 : 3)) != 0)
        return false;
    *out_size = text.size / 4 * 3 - pad;
    return true;
}

size_t base64_decode(char *out, struct bytes text)
{
    size_t digits = text.size - padding(text), size = 0;
    uint32_t bits = 0;
    int count = 0;

    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)value_of(text.data[i]);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[size++] = (char)(bits >> count);
        }
    }
    return size;
}
