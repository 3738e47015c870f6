/* SPDX-License-Identifier: MIT */
#include "base/crc64.h"

/* The remainder of a byte is the sum of the remainders of its bits. */
#define BIT(byte, bit, remainder) ((byte) >> (bit)&1 ? UINT64_C(remainder) : 0)
#define REMAINDER(byte) (LOW_BITS(byte) ^ HIGH_BITS(byte))
#define LOW_BITS(byte)                                                                             \
    (BIT(byte, 0, 0x7ad870c830358979) ^ BIT(byte, 1, 0xf5b0e190606b12f2) ^                         \
     BIT(byte, 2, 0xc038e5739841b68f) ^ BIT(byte, 3, 0xab28ecb46814fe75))
#define HIGH_BITS(byte)                                                                            \
    (BIT(byte, 4, 0x7d08ff3b88be6f81) ^ BIT(byte, 5, 0xfa11fe77117cdf02) ^                         \
     BIT(byte, 6, 0xdf7adabd7a6e2d6f) ^ BIT(byte, 7, 0x95ac9329ac4bc9b5))
#define FOUR(byte)                                                                                 \
    REMAINDER(byte), REMAINDER((byte) + 1), REMAINDER((byte) + 2), REMAINDER((byte) + 3)
#define SIXTEEN(byte) FOUR(byte), FOUR((byte) + 4), FOUR((byte) + 8), FOUR((byte) + 12)
#define SIXTY_FOUR(byte)                                                                           \
    SIXTEEN(byte), SIXTEEN((byte) + 16), SIXTEEN((byte) + 32), SIXTEEN((byte) + 48)

static const uint64_t remainders[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128),
                                         SIXTY_FOUR(192)};

uint64_t crc64(uint64_t crc, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        crc = remainders[(uint8_t)crc ^ (uint8_t)bytes.data[i]] ^ crc >> 8;
    return crc;
}
