/* SPDX-License-Identifier: MIT
 *
 * What DUMP answers and RESTORE takes: a value in the form of Redis's RDB files.
 *
 *   type (1 byte) | value | version of the format (2 bytes) | CRC-64 of all before (8 bytes)
 *
 * The last two are little endian. Strings are the only type: 0, then one of
 *
 *   00nnnnnn, 01nnnnnn n, 0x80 n (4 bytes), 0x81 n (8 bytes)   the size, then so many bytes
 *   0xc0 n, 0xc1 n n, 0xc2 n n n n                             a number, little endian
 *   0xc3 size size                                             packed size, size, then LZF
 *
 * Sizes are big endian. Strings have the same form in every version: we write 9, which Redis
 * reads since its version 5, and read any up to 12.
 */
#ifndef LARDER_COMMAND_PAYLOAD_H
#define LARDER_COMMAND_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/number.h"
#include "engine/keyspace.h"

enum { PAYLOAD_VERSION = 9, PAYLOAD_VERSION_MAX = 12, PAYLOAD_FOOTER_SIZE = 10 };

/* A string that was read. Not to be copied: `text` may point into `digits`. */
struct payload {
    struct bytes text; /* into the payload or `digits` */
    size_t size;       /* of the value; more than text.size when packed */
    bool packed;       /* `text` is LZF */
    char digits[NUMBER_I64_MAX_SIZE];
};

/* Whether version and checksum are right. */
bool payload_is_whole(struct bytes bytes);
/* Reads a payload that is whole. False: it holds no string of at most VALUE_SIZE_MAX bytes. Sizes
 * are believed only when the bytes bear them out. */
bool payload_read(struct bytes bytes, struct payload *out);

/* Room that payload_write needs for this value. */
size_t payload_room(const struct value *value);
/* Bytes that the value takes between type and version. */
size_t payload_value_size(const struct value *value);
/* Puts version and checksum behind `size` bytes, in PAYLOAD_FOOTER_SIZE more; returns the sum. */
size_t payload_seal(char *out, size_t size);
/* Returns the bytes written. */
size_t payload_write(char *out, const struct value *value);

#endif
