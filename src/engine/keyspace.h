/* SPDX-License-Identifier: MIT
 *
 * Reading and writing keys.
 *
 * An `access` is one command's view of the engine. Reads work without a lock or under one; writes
 * need the locks of all their keys' shards (engine/lockset.h), taken by the dispatcher, never here.
 *
 *   keyspace_find        unlocked access: lock-free; answers FIND_LOCK when only a locked look can
 *                        tell (a multi-key change is under way, the entry has expired, the value is
 *                        of a kind that changes in place). The caller locks and runs again.
 *                        locked access: FIND_FOUND or FIND_MISSING; an expired entry is unlinked
 *                        before it is reported missing.
 *   everything else      locked access only.
 *
 * Expiry times are engine time in ms since 1970; EXPIRES_NEVER means none. Failures leave the key
 * as it was. Memory returned by a read: see engine/engine.h.
 */
#ifndef LARDER_ENGINE_KEYSPACE_H
#define LARDER_ENGINE_KEYSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"
#include "engine/blob.h"
#include "engine/engine.h"
#include "engine/traits.h"

enum { VALUE_SIZE_MAX = 512 * 1024 * 1024, KEY_SIZE_MAX = 512 * 1024 * 1024 };

#define EXPIRES_NEVER ((int64_t)0) /* no expiry */
#define EXPIRES_KEEP ((int64_t)-1) /* for keyspace_set: as the key has it now */

struct access {
    struct engine *engine;
    struct engine_thread *thread;
    int64_t now_ms; /* the time this command runs at */
    uint32_t db;
    bool locked; /* the shards of every key this access touches are held by the caller */
};

struct key {
    struct bytes bytes;
    uint64_t hash;
};

static inline struct key key_of(uint64_t hash_seed, struct bytes bytes)
{
    return (struct key){bytes, hash_bytes(bytes.data, bytes.size, hash_seed)};
}

/* Types of values: one row per type in engine/types.def. */
enum value_type {
#define TYPE(id, name, tag) VALUE_##id = tag,
#include "engine/types.def"
#undef TYPE
};

/* Static text: "string" ... */
const char *value_type_name(enum value_type type);

/* A value in place. Not to be copied: `data` may point into `digits`. */
struct value {
    const char *data;
    size_t size;
    int64_t expires_ms;
    struct blob *blob;   /* the value lies in this blob (blob_hold keeps it), or NULL */
    int64_t integer;     /* valid when is_integer */
    bool is_integer;     /* stored as a number; data is its decimal form */
    bool in_place;       /* kept in a form that changes in place (APPEND, SETRANGE) */
    uint8_t type;        /* enum value_type */
    bool read_before;    /* somebody has read it already; not filled in by keyspace_find */
    struct entry *entry; /* for keyspace_traits and keyspace_note_read */
    char digits[24];
};

enum find { FIND_MISSING, FIND_FOUND, FIND_LOCK };

static inline enum find keyspace_find(struct access *access, const struct key *key,
                                      struct value *out);
/* The same, but counts neither a hit nor a miss. */
enum find keyspace_peek(struct access *access, const struct key *key, struct value *out);
/* What the entry says of itself (kinds 0: nothing); `type` is valid as long as the value. */
void keyspace_traits(const struct value *value, struct traits *out);
/* What keyspace_find does by itself: the value was given to somebody. */
void keyspace_note_read(const struct access *access, const struct value *value);
/* Where an entry lies, and what it takes of memory: its object in a slab with its deadline there,
 * its slot in the table, and the pages of a big value, which copies may share, and of a long key.
 * Locked access. False: missing. */
struct footprint {
    const void *address;
    size_t size;
};
bool keyspace_footprint(struct access *access, const struct key *key, struct footprint *out);
/* For reads done with keyspace_peek, once their answer is final. */
void keyspace_count_reads(const struct access *access, uint64_t hits, uint64_t misses);

/* The two halves of keyspace_find. The first settles what most reads meet or answers false, in
 * registers: a key handed over through memory costs a fifth of a read. */
bool keyspace_find_fast(const struct access *access, const char *key_data, size_t key_size,
                        uint64_t hash, struct value *out);
enum find keyspace_find_slow(struct access *access, const struct key *key, struct value *out);

static inline enum find keyspace_find(struct access *access, const struct key *key,
                                      struct value *out)
{
    if (!access->locked &&
        keyspace_find_fast(access, key->bytes.data, key->bytes.size, key->hash, out))
        return FIND_FOUND;
    return keyspace_find_slow(access, key, out);
}

/* Hints, for batches: fetch the bucket line, then (some tens of ns later) the entry line. */
void keyspace_prefetch_bucket(const struct access *access, uint64_t hash);
void keyspace_prefetch_entry(const struct access *access, uint64_t hash);

/* Replaces or creates. `expires_ms`: a time, EXPIRES_NEVER or EXPIRES_KEEP. With `blob` not NULL
 * the value is that blob's content (`value` must be it) and the caller's hold is taken over, on
 * failure too. */
enum status keyspace_set(struct access *access, const struct key *key, struct bytes value,
                         int64_t expires_ms, struct blob *blob) MUST_USE;
/* The same, with traits (NULL: none). */
enum status keyspace_set_with(struct access *access, const struct key *key, struct bytes value,
                              int64_t expires_ms, const struct traits *traits, struct blob *blob)
    MUST_USE;
/* A version that no entry has had; under the lock of the key. */
uint64_t keyspace_next_version(struct access *access, const struct key *key);
/* All of them or none, expiry removed. A key given twice: the last wins. `blobs` is NULL or one per
 * key (or NULL each), taken over. */
enum status keyspace_set_many(struct access *access, const struct key *keys,
                              const struct bytes *values, struct blob *const *blobs, size_t count)
    MUST_USE;
/* Stores a number, in place where the key already holds one. Expiry and traits are kept, but for
 * version and state. */
enum status keyspace_set_integer(struct access *access, const struct key *key, int64_t value)
    MUST_USE;
/* Makes the value a string of at least `size` bytes that may be changed in place, zero bytes added
 * at its end; a missing key is created without expiry. Of the traits, version and state are
 * dropped. `*out` is valid until the locks are released. */
enum status keyspace_edit(struct access *access, const struct key *key, size_t size, char **out)
    MUST_USE;
/* Likewise, in one change with traits in place of those it had; with a version among them each edit
 * copies the value. */
enum status keyspace_edit_with(struct access *access, const struct key *key, size_t size,
                               const struct traits *traits, char **out) MUST_USE;
bool keyspace_delete(struct access *access, const struct key *key);
/* The key must exist. A time not after now deletes the key. */
enum status keyspace_set_expiry(struct access *access, const struct key *key, int64_t expires_ms)
    MUST_USE;
/* Likewise; the traits are replaced too. The value stays. */
enum status keyspace_set_traits(struct access *access, const struct key *key, int64_t expires_ms,
                                const struct traits *traits) MUST_USE;
/* In place; the key must exist and have traits. */
void keyspace_set_state(struct access *access, const struct key *key, uint8_t state);
/* `from` must exist; `to` is replaced. Expiry and traits move along. */
enum status keyspace_rename(struct access *access, const struct key *from, const struct key *to)
    MUST_USE;
/* `from` must exist; `to` in the other (or the same) database is replaced. Expiry and traits are
 * copied. Needs both keys' shards. */
enum status keyspace_copy(struct access *access, const struct key *from, uint32_t to_db,
                          const struct key *to) MUST_USE;
/* To another database. The key must exist here; there it is replaced. Expiry and traits move along.
 * One step for all readers, whether the lock carries a mark or not. */
enum status keyspace_move(struct access *access, const struct key *key, uint32_t to_db) MUST_USE;
/* Two databases swap their keys, in constant time but for the keys that are watched. Needs every
 * shard locked and marked. */
void keyspace_swap(struct access *access, uint32_t db_a, uint32_t db_b);
/* All keys of one database, in constant time; memory follows in the background. Needs every shard
 * locked. */
void keyspace_flush(struct access *access, uint32_t db);

/* Visits keys from `cursor` (0 begins) and returns the cursor to go on from, 0 at the end. Looks at
 * whole buckets until at least `count` keys were seen. Every key that is present from the first
 * call to the last is visited, whatever grows or shrinks meanwhile; a key is not visited twice
 * within a scan unless it was deleted and set again. Takes shard locks itself for short spans
 * unless the access is locked (then every shard must be). `visit` runs under the lock, must not
 * call the engine, and gets bytes that it must copy. Expired keys are not visited. */
typedef void keyspace_visit(void *argument, struct bytes key, enum value_type type);
uint64_t keyspace_scan(struct access *access, uint64_t cursor, uint64_t count,
                       keyspace_visit *visit, void *argument);

/* Visits one key of the database at random. FIND_LOCK: none was met, but only an access that has
 * all shards locked can tell that there is none. Locks as keyspace_scan does. */
enum find keyspace_random(struct access *access, keyspace_visit *visit, void *argument);

#endif
