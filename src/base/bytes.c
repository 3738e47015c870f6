/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool bytes_equal_nocase(struct bytes a, struct bytes b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++) {
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    }
    return true;
}

bool bytes_next_word(struct bytes *rest, struct bytes *out)
{
    while (rest->size > 0 && rest->data[0] == ' ')
        *rest = bytes_of(rest->data + 1, rest->size - 1);
    const char *end = rest->size > 0 ? memchr(rest->data, ' ', rest->size) : NULL;
    *out = bytes_of(rest->data, end != NULL ? (size_t)(end - rest->data) : rest->size);
    if (out->size > 0)
        *rest = bytes_of(rest->data + out->size, rest->size - out->size);
    return out->size > 0;
}
