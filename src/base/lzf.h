/* SPDX-License-Identifier: MIT
 *
 * Reading LZF, in which Redis packs strings. The packed form is a row of
 *
 *   000nnnnn                        n + 1 bytes follow as they are
 *   nnnooooo oooooooo               copy n + 2 bytes that end o + 1 bytes back; n is 1 to 6
 *   111ooooo nnnnnnnn oooooooo      likewise with n + 9 bytes
 *
 * where a copy may overlap what it writes.
 */
#ifndef LARDER_BASE_LZF_H
#define LARDER_BASE_LZF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Reads all of `packed` without unpacking it. False: it is not LZF, or has more than `size_max`
 * bytes unpacked. */
bool lzf_size(struct bytes packed, size_t size_max, size_t *out_size);
/* `packed` must have passed lzf_size, which said how much room `out` needs. */
void lzf_unpack(struct bytes packed, char *out);

#endif
