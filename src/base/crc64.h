/* SPDX-License-Identifier: MIT
 *
 * The checksum of Redis's files and DUMP payloads: CRC-64 with the polynomial 0xad93d23594c935a9,
 * bits reflected, beginning with 0.
 */
#ifndef LARDER_BASE_CRC64_H
#define LARDER_BASE_CRC64_H

#include <stdint.h>

#include "base/bytes.h"

/* Goes on from `crc`, which is 0 at the beginning. */
uint64_t crc64(uint64_t crc, struct bytes bytes);

#endif
