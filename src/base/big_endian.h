/* SPDX-License-Identifier: MIT
 *
 * Numbers as they travel: most significant byte first, at any address.
 */
#ifndef LARDER_BASE_BIG_ENDIAN_H
#define LARDER_BASE_BIG_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BIG_ENDIAN_SWAP(bits, number) __builtin_bswap##bits(number)
#else
#define BIG_ENDIAN_SWAP(bits, number) (number)
#endif

static inline uint16_t big_endian_u16(const char *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof(number));
    return BIG_ENDIAN_SWAP(16, number);
}

static inline uint32_t big_endian_u32(const char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof(number));
    return BIG_ENDIAN_SWAP(32, number);
}

static inline uint64_t big_endian_u64(const char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof(number));
    return BIG_ENDIAN_SWAP(64, number);
}

/* These return where the next byte goes. */

static inline char *big_endian_put_u16(char *at, uint16_t number)
{
    number = BIG_ENDIAN_SWAP(16, number);
    memcpy(at, &number, sizeof(number));
    return at + sizeof(number);
}

static inline char *big_endian_put_u32(char *at, uint32_t number)
{
    number = BIG_ENDIAN_SWAP(32, number);
    memcpy(at, &number, sizeof(number));
    return at + sizeof(number);
}

static inline char *big_endian_put_u64(char *at, uint64_t number)
{
    number = BIG_ENDIAN_SWAP(64, number);
    memcpy(at, &number, sizeof(number));
    return at + sizeof(number);
}

#endif
