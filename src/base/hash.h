/* SPDX-License-Identifier: MIT
 *
 * The keyed hash of the whole project: XXH3 64 bits with a seed chosen at start, so that nobody
 * outside can prepare keys that collide. Inlined: a call costs as much as hashing a short key.
 */
#ifndef LARDER_BASE_HASH_H
#define LARDER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

#endif
