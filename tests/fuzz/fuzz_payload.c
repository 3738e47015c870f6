/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: what RESTORE is given. The input's checksum is made right first, or nothing would
 * get past it. What is read unpacks into a block of exactly the size that was promised, and comes
 * back the same from what DUMP would write.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc64.h"
#include "base/lzf.h"
#include "command/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHECKSUM_SIZE = 8, VERSION_SIZE = 2 };

static void must(bool condition)
{
    if (!condition)
        abort();
}

static struct bytes unpacked(const struct payload *payload)
{
    char *text = malloc(payload->size != 0 ? payload->size : 1);
    must(text != NULL);
    if (payload->packed)
        lzf_unpack(payload->text, text);
    else if (payload->size != 0)
        memcpy(text, payload->text.data, payload->size);
    return bytes_of(text, payload->size);
}

static void write_and_read_again(struct bytes text)
{
    struct value value = {.data = text.data, .size = text.size};
    value.is_integer = number_parse_i64(text, &value.integer);
    char *out = malloc(payload_room(&value));
    must(out != NULL);
    struct bytes written = bytes_of(out, payload_write(out, &value));
    must(written.size <= payload_room(&value) && payload_is_whole(written));
    struct payload again;
    must(payload_read(written, &again) && !again.packed && bytes_equal(again.text, text));
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *block = malloc(size != 0 ? size : 1);
    must(block != NULL);
    memcpy(block, data, size);
    struct bytes input = bytes_of(block, size);
    bool whole = payload_is_whole(input);
    if (!whole && size >= VERSION_SIZE + CHECKSUM_SIZE) {
        block[size - CHECKSUM_SIZE - 1] = 0; /* a version below 256 */
        uint64_t sum = crc64(0, bytes_of(block, size - CHECKSUM_SIZE));
        for (size_t i = 0; i < CHECKSUM_SIZE; i++, sum >>= 8)
            block[size - CHECKSUM_SIZE + i] = (char)sum;
        whole = payload_is_whole(input);
    }
    struct payload payload;
    if (whole && payload_read(input, &payload)) {
        struct bytes text = unpacked(&payload);
        write_and_read_again(text);
        free((char *)(uintptr_t)text.data);
    }
    free(block);
    return 0;
}
