/* SPDX-License-Identifier: MIT
 *
 * What cache clients other than Redis's ask of a key, as one small set of commands: reads that tell
 * flags, version, expiry and history of a value; stores with conditions; unsigned counters; deletes
 * that leave something behind. How a request is to be carried out stands in its terms, which
 * the wire fills in; how its answer is spelled is the wire's business alone.
 *
 * The rows (command/commands.def, COMMAND_ITEM) cannot be asked for by name:
 *
 *   item-get     key note          item-touch   key note         item-set   key note value
 *   item-gets    key...            item-touches key...           item-count key note
 *   item-error   note          item-noop                         item-delete key note
 *
 * `note` is for the wire: bytes it wants to have again when it renders the reply. Each answers with
 * one item, or with a list of as many items as there are keys, or with an error. item-error is what
 * a wire answers by itself, such as mistakes of spelling, when its turn comes; item-noop is OK.
 */
#ifndef LARDER_COMMAND_ITEM_H
#define LARDER_COMMAND_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "engine/keyspace.h"

enum item_mode {
    ITEM_SET,     /* whatever is there */
    ITEM_ADD,     /* only where the key is missing */
    ITEM_REPLACE, /* only where it is there */
    ITEM_APPEND,  /* behind the value that is there; flags and expiry stay */
    ITEM_PREPEND, /* before it */
    ITEM_RAISE,   /* item-count: by `delta`, modulo 2^64 */
    ITEM_LOWER    /* down to 0 at most */
};

enum item_option {
    ITEM_WANTS_VERSION = 1 << 0,
    ITEM_WANTS_READ_TIME = 1 << 1,
    ITEM_UNNOTICED = 1 << 2, /* the read does not count as one */
    ITEM_COMPARES = 1 << 3,  /* only where the version is `compare`; a read then leaves out the
                                      value instead */
    ITEM_CHOOSES_VERSION = 1 << 4, /* what is written gets `version` */
    ITEM_STALE = 1 << 5,   /* item-set: stores, as stale, where `compare` is older than the version,
                               which one that was not kept counts as; item-delete: makes the item
                               stale instead */
    ITEM_EMPTIES = 1 << 6, /* item-delete: only value and flags go */
    ITEM_VIVIFIES = 1 << 7,    /* a missing key is made: empty, or what is appended, or `initial` */
    ITEM_RECACHES = 1 << 8,    /* who first reads it with less than `recache_ms` to live wins */
    ITEM_TYPED = 1 << 9,       /* `type` is kept with the value */
    ITEM_WANTS_PAST = 1 << 10, /* item-set: the answer tells whether there was a value before */
    ITEM_WANTS_TTL = 1 << 11,
    ITEM_RECACHES_TIMED = 1 << 12 /* ITEM_RECACHES goes by what `time` leaves to live */
};

enum item_time_form {
    ITEM_TIME_KEPT, /* as it is; of what is new: never */
    ITEM_TIME_NEVER,
    ITEM_TIME_AFTER, /* `ms` from now; 0 and less: already expired */
    ITEM_TIME_AT     /* `ms` since 1970 */
};

struct item_time {
    uint8_t form; /* enum item_time_form */
    int64_t ms;
};

/* A part of the note. */
struct item_span {
    uint32_t at, size;
};

struct item_terms {
    uint8_t mode;     /* enum item_mode */
    uint16_t options; /* enum item_option */
    uint32_t flags;   /* the client's, kept with the value */
    struct item_time time, vivify_time;
    int64_t recache_ms;
    uint64_t compare, version;
    uint64_t delta, initial;
    struct item_span type;
    uint64_t form[4]; /* the wire's own: how to answer */
};

enum item_outcome {
    ITEM_FOUND,
    ITEM_MISSING,
    ITEM_STORED,
    ITEM_NOT_STORED, /* its mode's condition did not hold */
    ITEM_DIFFERS,    /* the version is another one */
    ITEM_TOUCHED,
    ITEM_DELETED, /* or made stale, or emptied */
    ITEM_COUNTED,
    ITEM_NOT_NUMBER,
    ITEM_REFUSED /* item-error: nothing was done */
};

/* What is answered of one key. Fields that the outcome does not give meaning to are zero. */
struct item {
    enum item_outcome outcome;
    struct bytes key;
    const struct value *value; /* found: what it was; NULL if it is not to be told */
    size_t size;               /* of the value, told or not; of what is stored now */
    struct traits traits;      /* flags, type; version if it was wanted */
    int64_t ttl_ms;            /* -1: never expires */
    int64_t ttl_before_ms;     /* found, counted: before any time was applied */
    int64_t idle_s;            /* since it was last read, or since somebody first wanted to know */
    uint64_t number;           /* counted */
    bool existed;              /* there was a value before */
    bool read_before;
    bool won;   /* this client is the one that should make it anew */
    bool taken; /* another client was told so */
    bool stale;
};

#endif
