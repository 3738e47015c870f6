/* SPDX-License-Identifier: MIT
 *
 * Base64 in its standard alphabet, padded (RFC 4648, section 4). No state, no threads.
 */
#ifndef LARDER_BASE_BASE64_H
#define LARDER_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

static inline size_t base64_encoded_size(size_t size)
{
    return (size + 2) / 3 * 4;
}

/* Writes base64_encoded_size(bytes.size) bytes; returns how many. */
size_t base64_encode(char *out, struct bytes bytes);
/* Whether `text` is the encoding of something, and of how many bytes. */
bool base64_check(struct bytes text, size_t *out_size);
/* Decodes what base64_check has accepted; `out` may be where the text lies. Returns the size. */
size_t base64_decode(char *out, struct bytes text);

#endif
