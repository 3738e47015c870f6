/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_examples_of_the_standard_hold(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    char out[128];
    size_t size;

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct bytes plain = bytes_of_text(pairs[i][0]), text = bytes_of_text(pairs[i][1]);

        assert_int_equal(base64_encoded_size(plain.size), text.size);
        assert_int_equal(base64_encode(out, plain), text.size);
        assert_memory_equal(out, text.data, text.size);
        assert_true(base64_check(text, &size));
        assert_int_equal(size, plain.size);
        assert_int_equal(base64_decode(out, text), size);
        assert_memory_equal(out, plain.data, plain.size);
    }
}

static void every_byte_survives_in_place(void **state)
{
    char plain[256], text[344];
    size_t size;

    (void)state;
    for (int i = 0; i < 256; i++)
        plain[i] = (char)(255 - i);
    for (size_t length = 0; length <= sizeof(plain); length++) {
        size_t text_size = base64_encode(text, bytes_of(plain, length));

        assert_true(base64_check(bytes_of(text, text_size), &size));
        assert_int_equal(size, length);
        assert_int_equal(base64_decode(text, bytes_of(text, text_size)), length);
        assert_memory_equal(text, plain, length);
    }
}

static void other_forms_are_refused(void **state)
{
    static const char *const texts[] = {"Zg",   "Zg=",      "Zh==",  "Zm9=",   "====",
                                        "Z===", "Zg==Zg==", "Zm 9v", "Zm9v\n", "Zm-v",
                                        "Zm_v", "=Zm9",     "Zm9v="};
    size_t size;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(base64_check(bytes_of_text(texts[i]), &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_hold),
        cmocka_unit_test(every_byte_survives_in_place),
        cmocka_unit_test(other_forms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
