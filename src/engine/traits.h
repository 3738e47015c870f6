/* SPDX-License-Identifier: MIT
 *
 * What an entry may say of itself besides key, expiry and value: flags of the client's, a version,
 * when it was last read, the media type of its value, whether it is stale. Most entries say
 * nothing, and pay nothing; the others have a block of
 *
 *   kinds (1) | state (1) | padding to 4, last read (4) | flags (4) | version (8) | size (1), type
 *
 * behind their expiry, with the fields that `kinds` names. A version comes only once somebody asks
 * for one: an entry without is simply different from every version that was ever told. Everything
 * but `state` and the last read is immutable after publication.
 */
#ifndef LARDER_ENGINE_TRAITS_H
#define LARDER_ENGINE_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum trait {
    TRAIT_FLAGS = 1 << 0,
    TRAIT_VERSION = 1 << 1,
    TRAIT_READ_TIME = 1 << 2,
    TRAIT_TYPE = 1 << 3,
    TRAIT_STATE = 1 << 4 /* no field: the block is there because of its state */
};

enum trait_state {
    STATE_STALE = 1 << 0, /* invalidated, and still told to whoever asks */
    STATE_WON = 1 << 1,   /* somebody was told to make it anew */
};

enum { TRAIT_TYPE_SIZE_MAX = 255 };

struct traits {
    uint8_t kinds; /* enum trait: which of the fields hold */
    uint8_t state; /* enum trait_state */
    uint32_t flags;
    uint64_t version;     /* never 0 unless a client chose it */
    uint32_t read_time_s; /* seconds since 1970 */
    struct bytes type;    /* at most TRAIT_TYPE_SIZE_MAX bytes */
};

/* Bytes of a block that begins `offset` bytes behind a multiple of 4. 0: none is needed. */
size_t traits_size(const struct traits *traits, size_t offset);
void traits_write(char *at, const struct traits *traits);
/* `type` points into the block. */
void traits_read(const char *at, struct traits *out);
/* Bytes of the block there. */
size_t traits_size_at(const char *at);
/* May run beside readers; of state_set, the caller holds the entry's lock. */
void traits_state_set(char *at, uint8_t state);
/* Does nothing when no time is kept. */
void traits_read_time_set(char *at, uint32_t read_time_s);

#endif
