/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/lzf.h"

/* NULL: refused. The block is exactly as large as it was said to be. */
static char *unpack(struct bytes packed, size_t size_max, size_t *size)
{
    if (!lzf_size(packed, size_max, size))
        return NULL;
    char *out = malloc(*size != 0 ? *size : 1);
    lzf_unpack(packed, out);
    return out;
}

static void expect(struct bytes packed, struct bytes plain)
{
    size_t size;
    char *out = unpack(packed, plain.size, &size);
    assert_non_null(out);
    assert_int_equal(size, plain.size);
    assert_memory_equal(out, plain.data, size);
    free(out);
    if (plain.size != 0)
        assert_null(unpack(packed, plain.size - 1, &size));
}

static void each_form_unpacks(void **state)
{
    (void)state;
    expect(BYTES("\0a"), BYTES("a"));
    expect(BYTES("\x02"
                 "abc"),
           BYTES("abc"));
    expect(BYTES("\x02"
                 "abc"
                 "\x20\x02"),
           BYTES("abcabc"));
    expect(BYTES("\0a"
                 "\xc0\0"),
           BYTES("aaaaaaaaa")); /* 8 copies of the byte before */
    expect(BYTES("\0a"
                 "\xe0\x01\0"),
           BYTES("aaaaaaaaaaa")); /* 1 + 9 */
    expect(BYTES("\x01"
                 "ab"
                 "\x40\x01"
                 "\0c"),
           BYTES("abababc"));
    expect(BYTES(""), BYTES(""));
}

static void distances_take_both_bytes(void **state)
{
    (void)state;
    char packed[9 * 33 + 2], plain[9 * 32 + 3];
    for (int i = 0; i < 9; i++) {
        packed[i * 33] = 31;
        for (int j = 0; j < 32; j++)
            packed[i * 33 + 1 + j] = plain[i * 32 + j] = (char)(i * 32 + j);
    }
    packed[9 * 33] = 0x21; /* 3 bytes, 0x11f + 1 back: the very first */
    packed[9 * 33 + 1] = 0x1f;
    memcpy(plain + 9 * 32, plain, 3);
    expect(bytes_of(packed, sizeof(packed)), bytes_of(plain, sizeof(plain)));
    packed[9 * 33 + 1] = 0x20; /* one before it */
    size_t size;
    assert_null(unpack(bytes_of(packed, sizeof(packed)), SIZE_MAX, &size));
}

static void what_is_cut_off_or_reaches_too_far_back_is_refused(void **state)
{
    (void)state;
    static const struct bytes bad[] = {
        {"\0", 1},
        {"\x02"
         "ab",
         3},
        {"\0a\x20", 3},
        {"\0a\xe0", 3},
        {"\0a\xe0\x01", 4},
        {"\x20\0", 2},
        {"\0a\x20\x01", 4},
    };
    size_t size;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_null(unpack(bad[i], SIZE_MAX, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_unpacks),
        cmocka_unit_test(distances_take_both_bytes),
        cmocka_unit_test(what_is_cut_off_or_reaches_too_far_back_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
