/* SPDX-License-Identifier: MIT
 *
 * A borrowed run of bytes: binary safe, never owned, never NUL-terminated. `data` may be NULL only
 * when `size` is 0.
 */
#ifndef LARDER_BASE_BYTES_H
#define LARDER_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    const char *data;
    size_t size;
};

#define BYTES(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline struct bytes bytes_of(const char *data, size_t size)
{
    return (struct bytes){data, size};
}

static inline struct bytes bytes_of_text(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* ASCII case is ignored; `text` is NUL-terminated. */
bool bytes_equal_text_nocase(struct bytes a, const char *text);

#endif
