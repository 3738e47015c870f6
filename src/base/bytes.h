/* SPDX-License-Identifier: MIT
 *
 * A borrowed run of bytes: binary safe, never owned, never NUL-terminated. `data` may be NULL only
 * when `size` is 0.
 */
#ifndef LARDER_BASE_BYTES_H
#define LARDER_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

enum { MEMORY_SHORT_MAX = 64 };

/* As memcmp() == 0 for up to MEMORY_SHORT_MAX bytes, always inlined: two loads that overlap settle
 * most keys. */
static inline __attribute__((always_inline)) bool memory_equal_short(const char *a, const char *b,
                                                                     size_t size)
{
    if (__builtin_expect(size >= 8, 1)) {
        uint64_t x, y, last_x, last_y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        memcpy(&last_x, a + size - 8, 8);
        memcpy(&last_y, b + size - 8, 8);
        if (((x ^ y) | (last_x ^ last_y)) != 0)
            return false;
        for (size_t i = 8; __builtin_expect(i + 8 < size, 0); i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y)
                return false;
        }
        return true;
    }
    while (size-- > 0)
        if (a[size] != b[size])
            return false;
    return true;
}

static inline bool memory_equal(const char *a, const char *b, size_t size)
{
    return size > MEMORY_SHORT_MAX ? memcmp(a, b, size) == 0 : memory_equal_short(a, b, size);
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && memory_equal(a.data, b.data, a.size);
}

/* ASCII case is ignored. */
bool bytes_equal_nocase(struct bytes a, struct bytes b);

static inline bool bytes_equal_text_nocase(struct bytes a, const char *text)
{
    return bytes_equal_nocase(a, bytes_of_text(text));
}

/* Takes the next of some words with spaces between them off `*rest`; false: there is none. */
bool bytes_next_word(struct bytes *rest, struct bytes *out);

#endif
