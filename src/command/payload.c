/* SPDX-License-Identifier: MIT */
#include "command/payload.h"

#include "base/crc64.h"
#include "base/lzf.h"

enum {
    TYPE_STRING = 0,
    FORM_MASK = 0xc0,
    FORM_SIZE_6 = 0x00,
    FORM_SIZE_14 = 0x40,
    SIZE_32 = 0x80,
    SIZE_64 = 0x81,
    NUMBER_8 = 0xc0,
    NUMBER_16 = 0xc1,
    NUMBER_32 = 0xc2,
    PACKED = 0xc3,
    VERSION_SIZE = 2,
    CHECKSUM_SIZE = 8,
    HEAD_SIZE_MAX = 1 + 1 + 8, /* type, form, size */
};

static uint64_t load_little(const char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = size; i-- > 0;)
        number = number << 8 | (uint8_t)at[i];
    return number;
}

static void store_little(char *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++, number >>= 8)
        at[i] = (char)number;
}

static uint64_t load_big(const char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | (uint8_t)at[i];
    return number;
}

static void store_big(char *at, uint64_t number, size_t size)
{
    for (size_t i = size; i-- > 0; number >>= 8)
        at[i] = (char)number;
}

/* ---- reading */

bool payload_is_whole(struct bytes bytes)
{
    if (bytes.size < PAYLOAD_FOOTER_SIZE)
        return false;
    const char *footer = bytes.data + bytes.size - PAYLOAD_FOOTER_SIZE;
    size_t checked = bytes.size - CHECKSUM_SIZE;
    return load_little(footer, VERSION_SIZE) <= PAYLOAD_VERSION_MAX &&
           load_little(footer + VERSION_SIZE, CHECKSUM_SIZE) ==
               crc64(0, bytes_of(bytes.data, checked));
}

/* Takes `size` bytes off `*rest`; NULL when there are fewer. */
static const char *take(struct bytes *rest, uint64_t size)
{
    if (size > rest->size)
        return NULL;
    const char *at = rest->data;
    *rest = bytes_of(at + size, rest->size - (size_t)size);
    return at;
}

static bool take_size(struct bytes *rest, uint64_t *out)
{
    const char *at = take(rest, 1);
    if (at == NULL)
        return false;
    uint8_t form = (uint8_t)*at;
    if ((form & FORM_MASK) == FORM_SIZE_6) {
        *out = form;
        return true;
    }
    size_t more;
    if ((form & FORM_MASK) == FORM_SIZE_14)
        more = 1;
    else if (form == SIZE_32)
        more = 4;
    else if (form == SIZE_64)
        more = 8;
    else
        return false;
    at = take(rest, more);
    if (at == NULL)
        return false;
    *out = load_big(at, more);
    if ((form & FORM_MASK) == FORM_SIZE_14)
        *out |= (uint64_t)(form & ~FORM_MASK) << 8;
    return true;
}

static bool take_number(struct bytes *rest, size_t size, struct payload *out)
{
    const char *at = take(rest, size);
    if (at == NULL)
        return false;
    uint32_t unused_bits = 64 - 8 * (uint32_t)size;
    int64_t number = (int64_t)(load_little(at, size) << unused_bits) >> unused_bits;
    out->size = number_format_i64(out->digits, number);
    out->text = bytes_of(out->digits, out->size);
    return true;
}

static bool take_packed(struct bytes *rest, struct payload *out)
{
    uint64_t packed_size, size;
    if (!take_size(rest, &packed_size) || !take_size(rest, &size) || packed_size == 0 ||
        size > VALUE_SIZE_MAX)
        return false;
    const char *at = take(rest, packed_size);
    if (at == NULL)
        return false;
    out->text = bytes_of(at, (size_t)packed_size);
    out->packed = true;
    return lzf_size(out->text, (size_t)size, &out->size) && out->size == size;
}

static bool take_plain(struct bytes *rest, struct payload *out)
{
    uint64_t size;
    if (!take_size(rest, &size) || size > VALUE_SIZE_MAX)
        return false;
    const char *at = take(rest, size);
    if (at == NULL)
        return false;
    out->size = (size_t)size;
    out->text = bytes_of(at, out->size);
    return true;
}

bool payload_read(struct bytes bytes, struct payload *out)
{
    struct bytes rest = bytes_of(bytes.data, bytes.size - PAYLOAD_FOOTER_SIZE);
    const char *type = take(&rest, 1);
    out->packed = false;
    if (type == NULL || *type != TYPE_STRING || rest.size == 0)
        return false;
    bool good;
    switch ((uint8_t)rest.data[0]) {
    case NUMBER_8:
        good = take(&rest, 1) != NULL && take_number(&rest, 1, out);
        break;
    case NUMBER_16:
        good = take(&rest, 1) != NULL && take_number(&rest, 2, out);
        break;
    case NUMBER_32:
        good = take(&rest, 1) != NULL && take_number(&rest, 4, out);
        break;
    case PACKED:
        good = take(&rest, 1) != NULL && take_packed(&rest, out);
        break;
    default:
        good = take_plain(&rest, out);
    }
    return good && rest.size == 0;
}

/* ---- writing */

size_t payload_room(const struct value *value)
{
    return HEAD_SIZE_MAX + value->size + PAYLOAD_FOOTER_SIZE;
}

static size_t write_size(char *out, uint64_t size)
{
    if (size < 64) {
        out[0] = (char)size;
        return 1;
    }
    if (size < 1 << 14) {
        store_big(out, (uint64_t)FORM_SIZE_14 << 8 | size, 2);
        return 2;
    }
    out[0] = (char)(uint8_t)SIZE_32; /* values are smaller than 4 GB */
    store_big(out + 1, size, 4);
    return 5;
}

static size_t write_number(char *out, int64_t number)
{
    size_t size = number == (int8_t)number ? 1 : number == (int16_t)number ? 2 : 4;
    out[0] = (char)(uint8_t)(size == 1 ? NUMBER_8 : size == 2 ? NUMBER_16 : NUMBER_32);
    store_little(out + 1, (uint64_t)number, size);
    return 1 + size;
}

static bool is_number(const struct value *value)
{
    return value->is_integer && value->integer == (int32_t)value->integer;
}

size_t payload_value_size(const struct value *value)
{
    char head[HEAD_SIZE_MAX];
    return is_number(value) ? write_number(head, value->integer)
                            : write_size(head, value->size) + value->size;
}

size_t payload_seal(char *out, size_t size)
{
    store_little(out + size, PAYLOAD_VERSION, VERSION_SIZE);
    size += VERSION_SIZE;
    store_little(out + size, crc64(0, bytes_of(out, size)), CHECKSUM_SIZE);
    return size + CHECKSUM_SIZE;
}

size_t payload_write(char *out, const struct value *value)
{
    char *at = out;
    *at++ = TYPE_STRING;
    if (is_number(value)) {
        at += write_number(at, value->integer);
    } else {
        at += write_size(at, value->size);
        if (value->size != 0)
            memcpy(at, value->data, value->size);
        at += value->size;
    }
    return payload_seal(out, (size_t)(at - out));
}
