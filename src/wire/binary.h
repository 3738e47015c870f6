/* SPDX-License-Identifier: MIT
 *
 * What the two sides of memcached's binary protocol share. A packet, in either direction, is
 *
 *   0 magic   1 opcode   2 key size (2)   4 extras size   5 data type   6 vbucket or status (2)
 *   8 size of what follows (4): extras, key, value        12 opaque (4)       16 version (8)
 *
 * with numbers in network order. The opaque bytes come back as they were.
 */
#ifndef LARDER_WIRE_BINARY_H
#define LARDER_WIRE_BINARY_H

#include <stdint.h>

#include "command/reply.h"

enum { BINARY_HEAD_SIZE = 24, BINARY_REQUEST = 0x80, BINARY_RESPONSE = 0x81 };

enum binary_status {
    BINARY_OK = 0x00,
    BINARY_NOT_FOUND = 0x01,
    BINARY_EXISTS = 0x02,
    BINARY_TOO_LARGE = 0x03,
    BINARY_INVALID = 0x04,
    BINARY_NOT_STORED = 0x05,
    BINARY_NOT_NUMBER = 0x06,
    BINARY_AUTH_FAILED = 0x20,
    BINARY_AUTH_CONTINUES = 0x21,
    BINARY_UNKNOWN = 0x81,
    BINARY_NO_MEMORY = 0x82,
    BINARY_INTERNAL = 0x84
};

/* What `form` of the terms says.
 *   form[0]      bits 0 to 7 the opcode as it came, then enum binary_form; 32 to 63 the opaque
 *                bytes
 *   form[1]      with BINARY_OWN the status; else, when not BINARY_OK, what is answered whatever
 *                has come of it
 *   form[2], [3] the renderer's: where the name of a pair lies, and its size */
enum binary_form {
    BINARY_QUIET = 1 << 8,          /* success is not told */
    BINARY_MISSES_QUIET = 1 << 9,   /* that a key is missing is not told */
    BINARY_WITH_KEY = 1 << 10,      /* a value, or that it is missing, comes with its key */
    BINARY_WITHOUT_VALUE = 1 << 11, /* only flags of what was found are told */
    BINARY_EMPTY = 1 << 12,         /* success has no body, whatever the command says */
    BINARY_AUTH = 1 << 13,          /* success is told in memcached's words */
    BINARY_OWN = 1 << 14            /* item-error: the note is the answer's body */
};

/* What memcached says of a status. */
struct bytes binary_status_text(enum binary_status status);

extern const struct reply_ops binary_reply_ops;

#endif
