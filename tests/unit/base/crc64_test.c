/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc64.h"

static void the_check_value_is_that_of_redis(void **state)
{
    (void)state;
    assert_true(crc64(0, BYTES("123456789")) == UINT64_C(0xe9c6d914c4b8d9ca));
    assert_true(crc64(0, BYTES("")) == 0);
}

/* Bit by bit, as the polynomial says. */
static uint64_t naive(struct bytes bytes)
{
    uint64_t crc = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= (uint8_t)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
    }
    return crc;
}

static void every_byte_counts_and_parts_add_up(void **state)
{
    (void)state;
    char data[256 * 2];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 + i / 256);
    struct bytes all = bytes_of(data, sizeof(data));
    assert_true(crc64(0, all) == naive(all));
    for (size_t cut = 0; cut <= sizeof(data); cut += 37) {
        uint64_t first = crc64(0, bytes_of(data, cut));
        assert_true(crc64(first, bytes_of(data + cut, sizeof(data) - cut)) == naive(all));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_check_value_is_that_of_redis),
        cmocka_unit_test(every_byte_counts_and_parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
