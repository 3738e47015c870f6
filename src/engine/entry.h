/* SPDX-License-Identifier: MIT
 *
 * An entry: one key with its value, in one allocation.
 *
 *   header (8 bytes) | key | expiry (0, 5 or 8) | traits (engine/traits.h) | value
 *
 * The key comes first, at a fixed place, since every lookup compares it. What comes last depends on
 * the form:
 *   FORM_STRING   the value's bytes; never changes once published
 *   FORM_INTEGER  padding to 8, then the number in one atomic cell that changes in place
 *   FORM_BLOB     padding to 8, then a pointer to the blob, which the entry holds
 *   FORM_EDIT     the value's bytes with room behind them; changes in place, read under the lock
 *   FORM_EDIT_BLOB  as FORM_BLOB; the blob's bytes change in place, read under the lock
 *
 * A key longer than KEY_SHORT_MAX lies in a blob of its own, and the entry has a pointer to it in
 * the key's place, so that every entry fits a slab.
 *
 * Everything but the mark, the cell, what changes of the traits, and the size of the two EDIT forms
 * is immutable after publication. Readers look at `form` first, and touch nothing else of an EDIT
 * form without the lock.
 */
#ifndef LARDER_ENGINE_ENTRY_H
#define LARDER_ENGINE_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "engine/blob.h"
#include "engine/slab.h"
#include "engine/traits.h"

enum entry_form {
    FORM_STRING,
    FORM_INTEGER,
    FORM_BLOB,
    FORM_EDIT,
    FORM_EDIT_BLOB,
    FORM_MASK = 7,
    EXPIRY_SHORT = 1 << 3, /* 40 bits of ms after the engine's start */
    EXPIRY_LONG = 1 << 4,  /* 64 bits of ms since 1970 */
    KEY_LONG = 1 << 5,     /* a pointer to the key's blob stands in the key's place */
    HAS_TRAITS = 1 << 6,
};

enum { KEY_SHORT_MAX = 4095, EXPIRY_SHORT_SIZE = 5, EXPIRY_LONG_SIZE = 8 };

struct entry {
    _Atomic uint8_t mark;    /* 1 once it was read */
    uint8_t form;            /* enum entry_form and its flags */
    uint16_t key_size_table; /* key size << 4 | table number */
    uint32_t value_size;
    char rest[];
};

static inline size_t entry_expiry_size(uint8_t form)
{
    /* Without a branch: every read passes here. */
    return (form >> 3 & 1) * (size_t)EXPIRY_SHORT_SIZE + (form >> 4 & 1) * (size_t)EXPIRY_LONG_SIZE;
}

static inline bool entry_expires(const struct entry *entry)
{
    return (entry->form & (EXPIRY_SHORT | EXPIRY_LONG)) != 0;
}

/* Of the table in its shard (struct shard): databases may swap theirs. */
static inline uint32_t entry_table(const struct entry *entry)
{
    return entry->key_size_table & 15u;
}

/* Bytes that the key, or the pointer to its blob, takes in the entry. */
static inline size_t entry_key_room(const struct entry *entry)
{
    if (__builtin_expect((entry->form & KEY_LONG) != 0, 0))
        return sizeof(struct blob *);
    return (uint32_t)entry->key_size_table >> 4;
}

static inline struct blob *entry_key_blob(const struct entry *entry)
{
    struct blob *blob;
    memcpy(&blob, entry->rest, sizeof blob);
    return blob;
}

static inline struct bytes entry_key(const struct entry *entry)
{
    if (__builtin_expect((entry->form & KEY_LONG) != 0, 0)) {
        struct blob *blob = entry_key_blob(entry);
        return bytes_of(blob_data(blob), blob_size(blob));
    }
    return bytes_of(entry->rest, entry_key_room(entry));
}

/* The 40-bit time at `at`, in ms after the engine's start. */
static inline int64_t entry_short_expiry(const char *at)
{
    uint32_t low;
    memcpy(&low, at, sizeof low);
    return (int64_t)((uint64_t)(uint8_t)at[4] << 32 | low);
}

static inline int64_t entry_expires_ms(const struct entry *entry, int64_t start_ms)
{
    const char *at = entry->rest + entry_key_room(entry);
    if (entry->form & EXPIRY_SHORT)
        return start_ms + entry_short_expiry(at);
    int64_t expires_ms = 0;
    if (entry->form & EXPIRY_LONG)
        memcpy(&expires_ms, at, sizeof expires_ms);
    return expires_ms;
}

/* The block of traits; valid where HAS_TRAITS is. */
static inline char *entry_traits(const struct entry *entry)
{
    return (char *)(uintptr_t)entry->rest + entry_key_room(entry) + entry_expiry_size(entry->form);
}

/* Where the value (or the cell, or the blob's pointer) begins. */
static inline char *entry_tail(const struct entry *entry)
{
    char *tail = entry_traits(entry);
    if (__builtin_expect((entry->form & HAS_TRAITS) != 0, 0))
        tail += traits_size_at(tail);
    uint8_t form = entry->form & FORM_MASK;
    if (form == FORM_STRING || form == FORM_EDIT)
        return tail;
    return (char *)(((uintptr_t)tail + 7) & ~(uintptr_t)7);
}

static inline _Atomic int64_t *entry_cell(const struct entry *entry)
{
    return (_Atomic int64_t *)(void *)entry_tail(entry);
}

static inline struct blob *entry_blob(const struct entry *entry)
{
    struct blob *blob;
    memcpy(&blob, entry_tail(entry), sizeof blob);
    return blob;
}

/* Bytes in use, without what the entry points to. */
static inline size_t entry_size(const struct entry *entry)
{
    uint8_t form = entry->form & FORM_MASK;
    size_t tail_size = form == FORM_STRING || form == FORM_EDIT ? entry->value_size : 8;
    return (size_t)(entry_tail(entry) - (const char *)entry) + tail_size;
}

/* Nothing hangs on it: no blob, no deadline, and entry_size is what it was got with. */
static inline bool entry_is_plain(const struct entry *entry)
{
    return entry->form == FORM_STRING || entry->form == FORM_INTEGER;
}

/* Bytes of value that fit behind the key of an EDIT entry. */
static inline size_t entry_room(const struct entry *entry)
{
    return slab_object_size(entry) - (size_t)(entry_tail(entry) - (const char *)entry);
}

struct shard;

struct entry_plan {
    struct bytes key;
    struct blob *key_blob;       /* a long key that already lies in a blob, or NULL */
    uint32_t table;              /* its number */
    const struct traits *traits; /* NULL: none */
    int64_t expires_ms;          /* 0: never */
    uint8_t form;                /* without flags */
    size_t value_size;
    size_t room; /* bytes to reserve behind the key: value_size, 8, or more for FORM_EDIT */
    enum limit limit;
};

/* A new entry with everything but its value; NULL when memory is out. Under the shard's lock. */
struct entry *entry_create(struct shard *shard, const struct entry_plan *plan, int64_t now_ms);
/* Gives the memory back, and the entry's holds on its blobs. Under the shard's lock. */
void entry_free(struct shard *shard, struct entry *entry);

/* The deadline unit for `expires_ms`, within the horizon; an earlier look is harmless. */
uint16_t entry_due(int64_t expires_ms, int64_t now_ms, int64_t start_ms);
uint16_t entry_due_now(int64_t now_ms, int64_t start_ms);

#endif
