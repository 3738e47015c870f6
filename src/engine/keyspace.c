/* SPDX-License-Identifier: MIT
 *
 * Reads and writes of keys over the shard's table. Writes follow one pattern: look, build what is
 * new (which may fail), publish by one store per key (which may not), retire what was replaced.
 */
#include "engine/keyspace.h"

#include "base/alloc.h"
#include "base/ensure.h"
#include "base/number.h"
#include "engine/pause.h"
#include "engine/shard.h"
#include "engine/table.h"
#include "engine/watch_table.h"

static const char *const type_names[] = {
#define TYPE(id, name, tag) [tag] = name,
#include "engine/types.def"
#undef TYPE
};

const char *value_type_name(enum value_type type)
{
    return type_names[type];
}

/* ---- reading */

static __attribute__((noinline)) bool fill_unusual(struct value *out, const struct entry *entry,
                                                   bool locked)
{
    switch (entry->form & FORM_MASK) {
    case FORM_STRING: /* with a long key, or traits */
        out->data = entry_tail(entry);
        out->size = entry->value_size;
        return true;
    case FORM_INTEGER:
        out->integer = atomic_load_explicit(entry_cell(entry), memory_order_acquire);
        out->is_integer = true;
        out->data = out->digits;
        out->size = number_format_i64(out->digits, out->integer);
        return true;
    case FORM_EDIT:
        if (!locked)
            return false;
        out->in_place = true;
        out->data = entry_tail(entry);
        out->size = entry->value_size;
        return true;
    case FORM_EDIT_BLOB:
        if (!locked)
            return false;
        out->in_place = true;
        break;
    }
    out->blob = entry_blob(entry);
    out->data = blob_data(out->blob);
    out->size = entry->value_size;
    return true;
}

/* Fills `out` from an entry; false when it may only be read under the lock. */
static inline bool value_fill(struct value *out, struct entry *entry, bool locked)
{
    out->blob = NULL;
    out->is_integer = false;
    out->in_place = false;
    out->type = VALUE_STRING;
    out->entry = entry;
    out->read_before = atomic_load_explicit(&entry->mark, memory_order_relaxed) != 0;
    if (__builtin_expect((entry->form & (FORM_MASK | KEY_LONG | HAS_TRAITS)) != FORM_STRING, 0))
        return fill_unusual(out, entry, locked);
    out->data =
        entry->rest + ((uint32_t)entry->key_size_table >> 4) + entry_expiry_size(entry->form);
    out->size = entry->value_size;
    return true;
}

static inline void set_mark(struct entry *entry)
{
    if (atomic_load_explicit(&entry->mark, memory_order_relaxed) == 0)
        atomic_store_explicit(&entry->mark, 1, memory_order_relaxed);
}

void keyspace_traits(const struct value *value, struct traits *out)
{
    if (value->entry->form & HAS_TRAITS)
        traits_read(entry_traits(value->entry), out);
    else
        *out = (struct traits){.kinds = 0};
}

void keyspace_note_read(const struct access *access, const struct value *value)
{
    set_mark(value->entry);
    if (value->entry->form & HAS_TRAITS)
        traits_read_time_set(entry_traits(value->entry), (uint32_t)(access->now_ms / 1000));
}

static inline bool expired(const struct entry *entry, const struct access *access, int64_t *at)
{
    *at = EXPIRES_NEVER;
    if (__builtin_expect(!entry_expires(entry), 1))
        return false;
    *at = entry_expires_ms(entry, access->engine->start_ms);
    return *at <= access->now_ms;
}

#if LARDER_CANARY == 3
/* The planted fault: what a prefetch saw is handed to execution. */
static _Thread_local struct {
    uint64_t hash;
    struct entry *entry;
    const struct engine_thread *thread;
    uint32_t ticks;
} prefetched[64];
#endif

/* Nothing of several keys has been published since the mark was read: the fence keeps every load of
 * the read before this one. */
static inline bool unmarked_since(const struct shard *shard, uint64_t marks)
{
    atomic_thread_fence(memory_order_acquire);
    return counter_get(&shard->marks) == marks || LARDER_CANARY == 1 || LARDER_CANARY == 5;
}

/* Without the lock, one look. The order of the loads is the rule: moves, mark, view, slot, value,
 * mark. A miss counts only when no bucket moved meanwhile. FIND_LOCK: look again, or lock. */
static enum find look_unlocked(struct access *access, const struct key *key, struct value *out)
{
    uint64_t position;
    const struct shard *shard = shard_of(access->engine, key->hash, &position);
    uint64_t moves = atomic_load_explicit(&shard->moves, memory_order_acquire);
    uint64_t marks = atomic_load_explicit(&shard->marks, memory_order_acquire);
    if ((marks & 1) != 0 && LARDER_CANARY != 1)
        return FIND_LOCK;
    ENGINE_PAUSE(PAUSE_MARK_READ);
    struct entry *entry =
        table_probe(shard_view(shard, access->db), position, key->hash, key->bytes, NULL);
#if LARDER_CANARY == 3
    if (prefetched[key->hash & 63].hash == key->hash &&
        prefetched[key->hash & 63].thread == access->thread &&
        prefetched[key->hash & 63].ticks == access->thread->ticks)
        entry = prefetched[key->hash & 63].entry;
#endif
    if (entry == NULL) {
        ENGINE_PAUSE(PAUSE_PROBE_MISSED);
        bool still = unmarked_since(shard, marks); /* with the fence that both looks need */
        still &= ((moves & 1) == 0 && counter_get(&shard->moves) == moves) || LARDER_CANARY == 2;
        return still ? FIND_MISSING : FIND_LOCK;
    }
    if (expired(entry, access, &out->expires_ms))
        return LARDER_CANARY == 4 ? FIND_MISSING : FIND_LOCK;
    if (!value_fill(out, entry, false))
        return FIND_LOCK;
    ENGINE_PAUSE(PAUSE_VALUE_READ);
    return unmarked_since(shard, marks) ? FIND_FOUND : FIND_LOCK;
}

/* A main bucket's first slot with the tag is a short key's, its value a string, with or without a
 * short expiry. False: nothing was learned. */
bool keyspace_find_fast(const struct access *access, const char *key_data, size_t key_size,
                        uint64_t hash, struct value *out)
{
    const struct engine *engine = access->engine;
    uint64_t position;
    const struct shard *shard = shard_of(engine, hash, &position);
    uint64_t marks = atomic_load_explicit(&shard->marks, memory_order_acquire);
    /* The planted faults of tests are in the full way only. */
    if (LARDER_CANARY || __builtin_expect((marks & 1) != 0 || key_size > MEMORY_SHORT_MAX, 0))
        return false;
    ENGINE_PAUSE(PAUSE_MARK_READ);
    const struct bucket *bucket = view_bucket(shard_view(shard, access->db), position);
    ENGINE_PAUSE(PAUSE_BUCKET_CHOSEN);
    uint32_t matches = bucket_matches(bucket, hash);
    if (matches == 0)
        return false;
    uint64_t slot =
        atomic_load_explicit(&bucket->slots[bucket_first(matches)], memory_order_acquire);
    if (!slot_tagged(slot, hash))
        return false;
    ENGINE_PAUSE(PAUSE_SLOT_READ);
    struct entry *entry = slot_entry(slot);
    if ((uint32_t)entry->key_size_table >> 4 != key_size ||
        !memory_equal_short(entry->rest, key_data, key_size))
        return false;
    const char *behind_key = entry->rest + key_size;
    int64_t expires_ms = EXPIRES_NEVER;
    if (entry->form == (FORM_STRING | EXPIRY_SHORT)) {
        expires_ms = entry_short_expiry(behind_key) + engine->start_ms;
        if (expires_ms <= access->now_ms)
            return false;
        behind_key += EXPIRY_SHORT_SIZE;
    } else if (entry->form != FORM_STRING) {
        return false;
    }
    out->data = behind_key;
    out->size = entry->value_size;
    out->expires_ms = expires_ms;
    out->blob = NULL;
    out->is_integer = false;
    out->in_place = false;
    out->type = VALUE_STRING;
    out->entry = entry;
    ENGINE_PAUSE(PAUSE_VALUE_READ);
    if (!unmarked_since(shard, marks))
        return false;
    set_mark(entry);
    counter_add(&access->thread->hits, 1);
    return true;
}

/* What one look could not settle: a second one may, since moves and marks are short. */
static enum find look_again(struct access *access, const struct key *key, struct value *out)
{
    counter_add(&access->thread->read_retries, 1);
    enum find found = look_unlocked(access, key, out);
    if (found == FIND_LOCK)
        counter_add(&access->thread->read_locked, 1);
    return found;
}

/* Buckets of a resize that one write moves: at most some 15 entries, a microsecond or two. */
enum { STEP_BUCKETS = 2 };

/* What a write works on: the key's shard and, if it is there and alive, its entry. */
struct target {
    struct shard *shard;
    uint64_t position;
    struct entry *entry;
    struct place place;
};

static void remove_target(struct access *access, const struct key *key, struct target *target)
{
    watch_table_touch(target->shard, access->db, key->bytes, key->hash);
    table_remove(target->shard, access->db, &target->place);
    table_step(target->shard, access->db, STEP_BUCKETS);
    target->entry = NULL;
    ENGINE_PAUSE(PAUSE_PUBLISHED);
}

/* With the lock: expiry is a write, so a dead entry is unlinked before anybody hears of it. */
static void find_target(struct access *access, const struct key *key, struct target *out)
{
    ENSURE(access->locked);
    out->shard = shard_of(access->engine, key->hash, &out->position);
    out->entry = table_probe(shard_view(out->shard, access->db), out->position, key->hash,
                             key->bytes, &out->place);
    int64_t at;
    if (out->entry != NULL && expired(out->entry, access, &at)) {
        ENGINE_PAUSE(PAUSE_EXPIRED_FOUND);
        remove_target(access, key, out);
        counter_add(&out->shard->counters.expired, 1);
    }
}

static __attribute__((noinline)) enum find find_locked(struct access *access, const struct key *key,
                                                       struct value *out)
{
    struct target target;
    find_target(access, key, &target);
    if (target.entry == NULL)
        return FIND_MISSING;
    value_fill(out, target.entry, true);
    out->expires_ms = entry_expires_ms(target.entry, access->engine->start_ms);
    return FIND_FOUND;
}

enum find keyspace_peek(struct access *access, const struct key *key, struct value *out)
{
    if (access->locked)
        return find_locked(access, key, out);
    enum find found = look_unlocked(access, key, out);
    return found == FIND_LOCK ? look_again(access, key, out) : found;
}

bool keyspace_footprint(struct access *access, const struct key *key, struct footprint *out)
{
    struct target target;
    find_target(access, key, &target);
    if (target.entry == NULL)
        return false;
    const struct entry *entry = target.entry;
    uint8_t form = entry->form & FORM_MASK;
    out->address = entry;
    out->size = slab_object_size(entry) + sizeof(((struct slab *)0)->due[0]) + sizeof(uint64_t);
    if (form == FORM_BLOB || form == FORM_EDIT_BLOB)
        out->size += blob_footprint(entry_blob(entry));
    if (entry->form & KEY_LONG)
        out->size += blob_footprint(entry_key_blob(entry));
    return true;
}

enum find keyspace_find_slow(struct access *access, const struct key *key, struct value *out)
{
    enum find found = keyspace_peek(access, key, out);
    if (found == FIND_FOUND)
        keyspace_note_read(access, out);
    if (found != FIND_LOCK)
        keyspace_count_reads(access, found == FIND_FOUND, found == FIND_MISSING);
    return found;
}

void keyspace_count_reads(const struct access *access, uint64_t hits, uint64_t misses)
{
    counter_add(&access->thread->hits, hits);
    counter_add(&access->thread->misses, misses);
}

void keyspace_prefetch_bucket(const struct access *access, uint64_t hash)
{
    uint64_t position;
    const struct shard *shard = shard_of(access->engine, hash, &position);
    __builtin_prefetch(view_bucket(shard_view(shard, access->db), position));
}

void keyspace_prefetch_entry(const struct access *access, uint64_t hash)
{
    uint64_t position;
    const struct shard *shard = shard_of(access->engine, hash, &position);
    const struct bucket *bucket = view_bucket(shard_view(shard, access->db), position);
    uint32_t matches = bucket_matches(bucket, hash);
    if (matches == 0)
        return;
    const struct entry *entry = slot_entry(
        atomic_load_explicit(&bucket->slots[bucket_first(matches)], memory_order_relaxed));
    __builtin_prefetch(entry);
    __builtin_prefetch((const char *)entry + 64);
#if LARDER_CANARY == 3
    prefetched[hash & 63].hash = hash;
    prefetched[hash & 63].entry = (struct entry *)(uintptr_t)entry;
    prefetched[hash & 63].thread = access->thread;
    prefetched[hash & 63].ticks = access->thread->ticks;
#endif
}

/* ---- building entries */

/* Redis stores what looks like its own decimal form as a number; so do we. */
static bool is_integer_text(struct bytes value, int64_t *out)
{
    return value.size > 0 && value.size <= NUMBER_I64_MAX_SIZE && (uint8_t)value.data[0] <= '9' &&
           number_parse_i64(value, out);
}

static struct entry *build_integer(struct shard *shard, const struct access *access,
                                   struct bytes key, int64_t expires_ms,
                                   const struct traits *traits, int64_t number)
{
    struct entry_plan plan = {.key = key,
                              .table = shard->table_of[access->db],
                              .traits = traits,
                              .expires_ms = expires_ms,
                              .form = FORM_INTEGER,
                              .value_size = 8,
                              .room = 8};
    struct entry *entry = entry_create(shard, &plan, access->now_ms);
    if (entry != NULL)
        atomic_init(entry_cell(entry), number);
    return entry;
}

/* Takes over the hold on `blob`, on failure too. */
static struct entry *build_blob(struct shard *shard, const struct access *access, struct bytes key,
                                int64_t expires_ms, const struct traits *traits, struct blob *blob,
                                enum entry_form form, size_t size)
{
    struct entry_plan plan = {.key = key,
                              .table = shard->table_of[access->db],
                              .traits = traits,
                              .expires_ms = expires_ms,
                              .form = (uint8_t)form,
                              .value_size = size,
                              .room = sizeof blob};
    struct entry *entry = entry_create(shard, &plan, access->now_ms);
    if (entry == NULL) {
        blob_release(blob);
        return NULL;
    }
    memcpy(entry_tail(entry), &blob, sizeof blob);
    return entry;
}

/* An entry for a value in the form that suits it. Takes over the hold on `blob`, on failure too. */
static struct entry *build_value(struct shard *shard, const struct access *access, struct bytes key,
                                 struct bytes value, int64_t expires_ms,
                                 const struct traits *traits, struct blob *blob)
{
    if (value.size >= BLOB_VALUE_SIZE_MIN) {
        if (blob == NULL) {
            blob = blob_create(access->engine, value.size, LIMIT_HOLDS);
            if (blob == NULL)
                return NULL;
            memcpy(blob_data(blob), value.data, value.size);
        }
        return build_blob(shard, access, key, expires_ms, traits, blob, FORM_BLOB, value.size);
    }
    int64_t number;
    struct entry *entry;
    if (is_integer_text(value, &number)) {
        entry = build_integer(shard, access, key, expires_ms, traits, number);
    } else {
        struct entry_plan plan = {.key = key,
                                  .table = shard->table_of[access->db],
                                  .traits = traits,
                                  .expires_ms = expires_ms,
                                  .form = FORM_STRING,
                                  .value_size = value.size,
                                  .room = value.size};
        entry = entry_create(shard, &plan, access->now_ms);
        if (entry != NULL && value.size != 0)
            memcpy(entry_tail(entry), value.data, value.size);
    }
    if (blob != NULL)
        blob_release(blob);
    return entry;
}

/* What the entry says of itself, in `out`; NULL: nothing. */
static const struct traits *traits_of(const struct entry *entry, struct traits *out)
{
    if (entry == NULL || (entry->form & HAS_TRAITS) == 0)
        return NULL;
    traits_read(entry_traits(entry), out);
    return out;
}

/* Whether the entry cannot take another value in place, since its traits tell of this one. */
static bool tells_of_value(const struct traits *traits)
{
    return traits != NULL && ((traits->kinds & TRAIT_VERSION) != 0 || traits->state != 0);
}

/* What another value of the same key says of itself: all but what told of the old value. */
static const struct traits *traits_kept(const struct entry *entry, struct traits *out)
{
    if (traits_of(entry, out) == NULL)
        return NULL;
    out->kinds &= (uint8_t)~TRAIT_VERSION;
    out->state = 0;
    return out;
}

/* The same value under another key or with another expiry or other traits. A blob is shared, not
 * copied. */
static struct entry *build_clone(struct shard *shard, const struct access *access,
                                 const struct entry *old, struct bytes key, struct blob *key_blob,
                                 int64_t expires_ms, const struct traits *traits, enum limit limit)
{
    uint8_t form = old->form & FORM_MASK;
    size_t room = form == FORM_STRING || form == FORM_EDIT ? old->value_size : 8;
    struct entry_plan plan = {.key = key,
                              .key_blob = key_blob,
                              .table = shard->table_of[access->db],
                              .traits = traits,
                              .expires_ms = expires_ms,
                              .form = form,
                              .value_size = old->value_size,
                              .room = room,
                              .limit = limit};
    struct entry *entry = entry_create(shard, &plan, access->now_ms);
    if (entry == NULL)
        return NULL;
    if (form == FORM_INTEGER)
        atomic_init(entry_cell(entry), atomic_load_explicit(entry_cell(old), memory_order_relaxed));
    else if (room != 0)
        memcpy(entry_tail(entry), entry_tail(old), room);
    if (form == FORM_BLOB || form == FORM_EDIT_BLOB)
        blob_hold(entry_blob(entry));
    atomic_init(&entry->mark, atomic_load_explicit(&old->mark, memory_order_relaxed));
    return entry;
}

/* ---- publishing */

/* Puts a built entry in the target's place; frees it when that cannot be done. */
static enum status publish(struct access *access, const struct key *key, struct target *target,
                           struct entry *entry)
{
    if (entry == NULL)
        return STATUS_NO_MEMORY;
    if (target->entry != NULL) {
        table_replace(target->shard, access->db, &target->place, key->hash, entry);
    } else {
        if (table_insert_ready(target->shard, access->db, 1) != STATUS_OK) {
            entry_free(target->shard, entry);
            return STATUS_NO_MEMORY;
        }
        table_insert(target->shard, access->db, target->position, key->hash, entry);
        table_step(target->shard, access->db, STEP_BUCKETS);
    }
    watch_table_touch(target->shard, access->db, key->bytes, key->hash);
    ENGINE_PAUSE(PAUSE_PUBLISHED);
    return STATUS_OK;
}

static void store_cell(struct access *access, const struct key *key, struct target *target,
                       int64_t number)
{
    atomic_store_explicit(entry_cell(target->entry), number, memory_order_release);
    watch_table_touch(target->shard, access->db, key->bytes, key->hash);
    ENGINE_PAUSE(PAUSE_PUBLISHED);
}

static bool holds_integer(const struct entry *entry)
{
    return entry != NULL && (entry->form & FORM_MASK) == FORM_INTEGER;
}

uint64_t keyspace_next_version(struct access *access, const struct key *key)
{
    uint64_t position;
    struct shard *shard = shard_of(access->engine, key->hash, &position);
    ENSURE(access->locked);
    return ++shard->versions * access->engine->shard_count +
           (uint64_t)(shard - access->engine->shards);
}

static inline enum status set(struct access *access, const struct key *key, struct bytes value,
                              int64_t expires_ms, const struct traits *traits, struct blob *blob)
{
    uint64_t position;
    struct shard *shard = shard_of(access->engine, key->hash, &position);
    struct entry *entry = NULL;
    int64_t number;
    bool integer = blob == NULL && is_integer_text(value, &number);
    /* Where the old entry decides nothing, the new one is built while the old one is fetched. */
    bool ahead = !integer && (expires_ms == EXPIRES_NEVER || expires_ms > access->now_ms);
    if (ahead) {
        keyspace_prefetch_entry(access, key->hash);
        entry = build_value(shard, access, key->bytes, value, expires_ms, traits, blob);
        if (entry == NULL)
            return STATUS_NO_MEMORY;
    }
    struct target target;
    find_target(access, key, &target);
    if (ahead)
        return publish(access, key, &target, entry);
    int64_t present_ms = target.entry != NULL
                             ? entry_expires_ms(target.entry, access->engine->start_ms)
                             : EXPIRES_NEVER;
    if (expires_ms == EXPIRES_KEEP)
        expires_ms = present_ms;
    if (expires_ms != EXPIRES_NEVER && expires_ms <= access->now_ms) {
        if (target.entry != NULL)
            remove_target(access, key, &target);
        if (blob != NULL)
            blob_release(blob);
        return STATUS_OK;
    }
    if (holds_integer(target.entry) && expires_ms == present_ms && integer && traits == NULL &&
        (target.entry->form & HAS_TRAITS) == 0) {
        store_cell(access, key, &target, number);
        return STATUS_OK;
    }
    return publish(access, key, &target,
                   build_value(shard, access, key->bytes, value, expires_ms, traits, blob));
}

enum status keyspace_set(struct access *access, const struct key *key, struct bytes value,
                         int64_t expires_ms, struct blob *blob)
{
    return set(access, key, value, expires_ms, NULL, blob);
}

enum status keyspace_set_with(struct access *access, const struct key *key, struct bytes value,
                              int64_t expires_ms, const struct traits *traits, struct blob *blob)
{
    return set(access, key, value, expires_ms, traits, blob);
}

enum status keyspace_set_many(struct access *access, const struct key *keys,
                              const struct bytes *values, struct blob *const *blobs, size_t count)
{
    /* Everything that can fail comes first; an expired key met here was dead anyway. No table may
     * move while the spare buckets set aside here are not used up, so the steps come last. */
    struct target target;
    for (size_t i = 0; i < count; i++)
        find_target(access, &keys[i], &target); /* unlinks what has expired: tables may move */
    struct entry **entries = alloc_zeroed(count, sizeof *entries);
    enum status status = entries != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct blob *blob = blobs != NULL ? blobs[i] : NULL;
        if (status != STATUS_OK) {
            if (blob != NULL)
                blob_release(blob);
            continue;
        }
        find_target(access, &keys[i], &target);
        entries[i] =
            build_value(target.shard, access, keys[i].bytes, values[i], EXPIRES_NEVER, NULL, blob);
        if (entries[i] == NULL)
            status = STATUS_NO_MEMORY;
        else if (target.entry == NULL)
            status = table_insert_ready(target.shard, access->db, target.shard->spare_count + 1);
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        find_target(access, &keys[i], &target);
        if (target.entry != NULL)
            table_replace(target.shard, access->db, &target.place, keys[i].hash, entries[i]);
        else
            table_insert(target.shard, access->db, target.position, keys[i].hash, entries[i]);
        watch_table_touch(target.shard, access->db, keys[i].bytes, keys[i].hash);
        ENGINE_PAUSE(PAUSE_PUBLISHED);
    }
    for (size_t i = 0; i < count && entries != NULL; i++) {
        uint64_t position;
        struct shard *shard = shard_of(access->engine, keys[i].hash, &position);
        if (status == STATUS_OK)
            table_step(shard, access->db, STEP_BUCKETS);
        else if (entries[i] != NULL)
            entry_free(shard, entries[i]);
    }
    alloc_free(entries);
    return status;
}

enum status keyspace_set_integer(struct access *access, const struct key *key, int64_t value)
{
    struct target target;
    find_target(access, key, &target);
    struct traits traits;
    const struct traits *present = traits_of(target.entry, &traits);
    if (holds_integer(target.entry) && !tells_of_value(present)) {
        store_cell(access, key, &target, value);
        return STATUS_OK;
    }
    int64_t expires_ms = target.entry != NULL
                             ? entry_expires_ms(target.entry, access->engine->start_ms)
                             : EXPIRES_NEVER;
    return publish(access, key, &target,
                   build_integer(target.shard, access, key->bytes, expires_ms,
                                 traits_kept(target.entry, &traits), value));
}

/* Room for growth, so that a run of appends copies each byte a bounded number of times. */
static size_t edit_room(size_t size)
{
    size_t room = size + size / 2;
    return room > VALUE_SIZE_MAX ? VALUE_SIZE_MAX : room;
}

static struct entry *build_edit(struct shard *shard, const struct access *access, struct bytes key,
                                int64_t expires_ms, const struct traits *traits,
                                struct bytes content, size_t size, size_t room)
{
    struct entry *entry;
    char *into;
    if (room < BLOB_VALUE_SIZE_MIN) {
        struct entry_plan plan = {.key = key,
                                  .table = shard->table_of[access->db],
                                  .traits = traits,
                                  .expires_ms = expires_ms,
                                  .form = FORM_EDIT,
                                  .value_size = size,
                                  .room = room};
        entry = entry_create(shard, &plan, access->now_ms);
        if (entry == NULL)
            return NULL;
        into = entry_tail(entry);
    } else {
        struct blob *blob = blob_create(access->engine, room, LIMIT_HOLDS);
        if (blob == NULL)
            return NULL;
        into = blob_data(blob);
        entry = build_blob(shard, access, key, expires_ms, traits, blob, FORM_EDIT_BLOB, size);
        if (entry == NULL)
            return NULL;
    }
    if (content.size != 0)
        memcpy(into, content.data, content.size);
    memset(into + content.size, 0, size - content.size);
    return entry;
}

/* `wanted`: traits in place of the entry's, or NULL. */
static enum status edit(struct access *access, const struct key *key, size_t size,
                        const struct traits *wanted, char **out)
{
    struct target target;
    find_target(access, key, &target);
    struct entry *entry = target.entry;
    struct value value = {.size = 0};
    struct traits traits;
    int64_t expires_ms = EXPIRES_NEVER;
    size_t room = size;
    if (entry != NULL) {
        value_fill(&value, entry, true);
        expires_ms = entry_expires_ms(entry, access->engine->start_ms);
        uint8_t form = entry->form & FORM_MASK;
        if (size < value.size)
            size = value.size;
        const struct traits *present = traits_of(entry, &traits);
        bool fits = (form == FORM_EDIT && entry_room(entry) >= size) ||
                    (form == FORM_EDIT_BLOB && blob_size(value.blob) >= size &&
                     !blob_is_shared(value.blob));
        if (fits && wanted == NULL && !tells_of_value(present)) {
            char *data = (char *)(uintptr_t)value.data;
            memset(data + value.size, 0, size - value.size);
            entry->value_size = (uint32_t)size;
            watch_table_touch(target.shard, access->db, key->bytes, key->hash);
            *out = data;
            return STATUS_OK;
        }
        room = wanted == NULL ? edit_room(size) : size;
    }
    if (wanted == NULL)
        wanted = traits_kept(entry, &traits);
    struct bytes content = bytes_of(value.data, value.size);
    struct entry *made =
        build_edit(target.shard, access, key->bytes, expires_ms, wanted, content, size, room);
    enum status status = publish(access, key, &target, made);
    if (status != STATUS_OK)
        return status;
    *out = (made->form & FORM_MASK) == FORM_EDIT ? entry_tail(made) : blob_data(entry_blob(made));
    return STATUS_OK;
}

enum status keyspace_edit(struct access *access, const struct key *key, size_t size, char **out)
{
    return edit(access, key, size, NULL, out);
}

enum status keyspace_edit_with(struct access *access, const struct key *key, size_t size,
                               const struct traits *traits, char **out)
{
    return edit(access, key, size, traits, out);
}

bool keyspace_delete(struct access *access, const struct key *key)
{
    struct target target;
    find_target(access, key, &target);
    if (target.entry == NULL)
        return false;
    remove_target(access, key, &target);
    return true;
}

/* To be shared by another entry of the same key. */
static struct blob *key_blob_of(const struct entry *entry)
{
    return (entry->form & KEY_LONG) != 0 ? entry_key_blob(entry) : NULL;
}

/* The target's value with another expiry or other traits. */
static enum status rewrite(struct access *access, const struct key *key, struct target *target,
                           int64_t expires_ms, const struct traits *traits)
{
    if (expires_ms != EXPIRES_NEVER && expires_ms <= access->now_ms) {
        remove_target(access, key, target);
        return STATUS_OK;
    }
    return publish(access, key, target,
                   build_clone(target->shard, access, target->entry, key->bytes,
                               key_blob_of(target->entry), expires_ms, traits, LIMIT_PASSED));
}

enum status keyspace_set_expiry(struct access *access, const struct key *key, int64_t expires_ms)
{
    struct target target;
    struct traits traits;
    find_target(access, key, &target);
    ENSURE(target.entry != NULL);
    if (entry_expires_ms(target.entry, access->engine->start_ms) == expires_ms) {
        watch_table_touch(target.shard, access->db, key->bytes, key->hash);
        return STATUS_OK;
    }
    return rewrite(access, key, &target, expires_ms, traits_of(target.entry, &traits));
}

enum status keyspace_set_traits(struct access *access, const struct key *key, int64_t expires_ms,
                                const struct traits *traits)
{
    struct target target;
    find_target(access, key, &target);
    ENSURE(target.entry != NULL);
    return rewrite(access, key, &target, expires_ms, traits);
}

void keyspace_set_state(struct access *access, const struct key *key, uint8_t state)
{
    struct target target;
    find_target(access, key, &target);
    ENSURE(target.entry != NULL && (target.entry->form & HAS_TRAITS) != 0);
    traits_state_set(entry_traits(target.entry), state);
}

/* The same value and expiry at `to`, replacing what is there. */
static enum status put_clone(struct access *access, const struct key *to,
                             const struct entry *source, struct blob *key_blob, enum limit limit)
{
    struct target target;
    find_target(access, to, &target);
    int64_t expires_ms = entry_expires_ms(source, access->engine->start_ms);
    struct traits traits;
    return publish(access, to, &target,
                   build_clone(target.shard, access, source, to->bytes, key_blob, expires_ms,
                               traits_of(source, &traits), limit));
}

enum status keyspace_rename(struct access *access, const struct key *from, const struct key *to)
{
    struct target source;
    find_target(access, from, &source);
    ENSURE(source.entry != NULL);
    if (bytes_equal(from->bytes, to->bytes))
        return STATUS_OK;
    /* A longer name is something new to store. */
    enum limit limit = to->bytes.size > from->bytes.size ? LIMIT_HOLDS : LIMIT_PASSED;
    enum status status = put_clone(access, to, source.entry, NULL, limit);
    if (status != STATUS_OK)
        return status;
    /* The insertion may have moved the source's bucket. */
    find_target(access, from, &source);
    remove_target(access, from, &source);
    return STATUS_OK;
}

enum status keyspace_copy(struct access *access, const struct key *from, uint32_t to_db,
                          const struct key *to)
{
    struct target source;
    find_target(access, from, &source);
    ENSURE(source.entry != NULL);
    struct access there = *access;
    there.db = to_db;
    return put_clone(&there, to, source.entry, NULL, LIMIT_HOLDS);
}

enum status keyspace_move(struct access *access, const struct key *key, uint32_t to_db)
{
    struct target source;
    find_target(access, key, &source);
    ENSURE(source.entry != NULL && to_db != access->db);
    struct access there = *access;
    there.db = to_db;
    /* Two changes, but one key: its shard may be locked without a mark. */
    bool mark = !shard_marked(source.shard);
    if (mark)
        shard_mark(source.shard);
    enum status status =
        put_clone(&there, key, source.entry, key_blob_of(source.entry), LIMIT_PASSED);
    if (status == STATUS_OK)
        remove_target(access, key, &source); /* the other database's table alone has changed */
    if (mark)
        shard_unmark(source.shard);
    return status;
}

void keyspace_swap(struct access *access, uint32_t db_a, uint32_t db_b)
{
    ENSURE(access->locked);
    for (uint32_t i = 0; i < access->engine->shard_count; i++) {
        struct shard *shard = &access->engine->shards[i];
        watch_table_touch_swapped(shard, access, db_a, db_b);
        table_swap(shard, db_a, db_b);
        ENGINE_PAUSE(PAUSE_PUBLISHED);
    }
}

void keyspace_flush(struct access *access, uint32_t db)
{
    ENSURE(access->locked);
    for (uint32_t i = 0; i < access->engine->shard_count; i++) {
        struct shard *shard = &access->engine->shards[i];
        watch_table_touch_all(shard, db);
        table_flush(shard, db);
    }
    signal_raise(&access->engine->wake);
}

/* ---- scanning */

/* A cursor is a hash: since position = hash * shards, hash order is shard by shard, bucket by
 * bucket, whatever the arrays' sizes. */
static uint64_t hash_at(const struct engine *engine, uint64_t shard, uint64_t position)
{
    __uint128_t product = ((__uint128_t)shard << 64 | position) + engine->shard_count - 1;
    return (uint64_t)(product / engine->shard_count);
}

/* Visits one bucket's live entries whose hash is at least `from`; returns how many it looked at. */
static uint64_t visit_bucket(struct access *access, const struct bucket *bucket, uint64_t from,
                             keyspace_visit *visit, void *argument)
{
    uint64_t seen = 0;
    while (bucket != NULL) {
        const struct bucket *more = NULL;
        for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
            uint64_t slot = atomic_load_explicit(&bucket->slots[i], memory_order_relaxed);
            if (i == BUCKET_LINK && slot_is_link(slot)) {
                more = slot_link(slot);
            } else if (slot != 0) {
                struct bytes key = entry_key(slot_entry(slot));
                int64_t at;
                seen++;
                if (hash_bytes(key.data, key.size, access->engine->hash_seed) >= from &&
                    !expired(slot_entry(slot), access, &at))
                    visit(argument, key, VALUE_STRING);
            }
        }
        bucket = more;
    }
    return seen;
}

uint64_t keyspace_scan(struct access *access, uint64_t cursor, uint64_t count,
                       keyspace_visit *visit, void *argument)
{
    enum { BUCKETS_PER_LOCK = 64 };
    struct engine *engine = access->engine;
    uint64_t position, seen = 0, looked = 0;
    struct shard *shard = shard_of(engine, cursor, &position);
    uint64_t from = cursor;
    if (!access->locked)
        shard_lock(shard);
    for (;;) {
        const struct view *view = shard_view(shard, access->db);
        seen += visit_bucket(access, view_bucket(view, position), from, visit, argument);
        bool moved = position < atomic_load_explicit(&view->frontier, memory_order_relaxed);
        uint64_t buckets = moved ? view->next_count : view->bucket_count;
        uint64_t index = position_index(position, buckets);
        /* The bucket astride the frontier is shared by both arrays: go on at the frontier. */
        uint64_t next = index + 1 < buckets ? index_position(index + 1, buckets) : 0;
        uint64_t frontier = atomic_load_explicit(&view->frontier, memory_order_relaxed);
        if (moved && frontier != UINT64_MAX && (next == 0 || next > frontier))
            next = frontier;
        if (next == 0) {
            if (shard == &engine->shards[engine->shard_count - 1]) {
                from = 0;
                break;
            }
            if (!access->locked) {
                shard_unlock(shard);
                shard_lock(shard + 1);
            }
            shard++;
        }
        position = next;
        from = hash_at(engine, (uint64_t)(shard - engine->shards), position);
        if (seen >= count || ++looked / 10 >= count)
            break;
        if (looked % BUCKETS_PER_LOCK == 0 && !access->locked) {
            shard_unlock(shard);
            shard_lock(shard);
        }
    }
    if (!access->locked)
        shard_unlock(shard);
    return from;
}

/* ---- a key at random */

/* Where there are so few keys, the random one is found by counting through them. */
enum { COUNTED_MAX = 128, CHAIN_USUAL = 16, FAIR_TRIES = 100, TRIES = 200 };

/* The next of a sequence that differs from thread to thread (splitmix64). */
static uint64_t next_random(struct engine_thread *thread)
{
    uint64_t mixed = thread->random += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

/* Hands on the key that comes after `skip` others, or counts only. */
struct pick {
    uint64_t skip, seen;
    keyspace_visit *visit; /* NULL: nobody wants it (any more) */
    void *argument;
};

static void pick_visit(void *argument, struct bytes key, enum value_type type)
{
    struct pick *pick = argument;
    if (pick->seen++ == pick->skip && pick->visit != NULL)
        pick->visit(pick->argument, key, type);
}

/* One bucket at random and in it one place of CHAIN_USUAL, which may be empty: so every key is as
 * likely, however full its bucket. Not `fair`: whoever is in the bucket. */
static bool pick_from_bucket(struct access *access, bool fair, keyspace_visit *visit,
                             void *argument)
{
    uint64_t position;
    struct shard *shard = shard_of(access->engine, next_random(access->thread), &position);
    if (!access->locked)
        shard_lock(shard);
    const struct bucket *bucket = view_bucket(shard_view(shard, access->db), position);
    struct pick pick = {.visit = NULL};
    visit_bucket(access, bucket, 0, pick_visit, &pick);
    uint64_t places = fair && pick.seen < CHAIN_USUAL ? CHAIN_USUAL : pick.seen;
    bool found = false;
    if (pick.seen != 0) {
        uint64_t place = next_random(access->thread) % places;
        found = place < pick.seen;
        pick = (struct pick){.skip = place, .visit = visit, .argument = argument};
        if (found)
            visit_bucket(access, bucket, 0, pick_visit, &pick);
    }
    if (!access->locked)
        shard_unlock(shard);
    return found;
}

enum find keyspace_random(struct access *access, keyspace_visit *visit, void *argument)
{
    uint64_t keys = engine_key_count(access->engine, access->db);
    for (int i = 0; i < TRIES && keys > COUNTED_MAX; i++)
        if (pick_from_bucket(access, i < FAIR_TRIES, visit, argument))
            return FIND_FOUND;
    while (keys > 0) {
        struct pick pick = {
            .skip = next_random(access->thread) % keys, .visit = visit, .argument = argument};
        uint64_t cursor = 0;
        do
            cursor = keyspace_scan(access, cursor, CHAIN_USUAL, pick_visit, &pick);
        while (cursor != 0 && pick.seen <= pick.skip);
        if (pick.seen > pick.skip)
            return FIND_FOUND;
        keys = pick.seen; /* the others have expired or gone */
    }
    return access->locked ? FIND_MISSING : FIND_LOCK;
}
