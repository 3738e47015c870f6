/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool bytes_equal_text_nocase(struct bytes a, const char *text)
{
    for (size_t i = 0; i < a.size; i++) {
        if (text[i] == '\0' || lower(a.data[i]) != lower(text[i]))
            return false;
    }
    return text[a.size] == '\0';
}
