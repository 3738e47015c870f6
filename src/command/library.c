/* SPDX-License-Identifier: MIT
 *
 * include/larder.h over the engine and the commands. The functions for single keys go to the engine
 * directly; larder_command goes through the dispatcher and gets a tree from command/reply_tree.h.
 *
 * State: a handle (struct larder), and one member per thread and handle, found and ended by
 * engine/caller.h. A member embeds the client that commands of its thread run as.
 *
 * Reads are lock-free first and locked only when the engine asks for it. Writes hold the one lock
 * of their key's shard; memory is reserved, and a big value copied, before it is taken.
 */
#include "larder.h"

#include <stdatomic.h>
#include <threads.h>

#include "base/alloc.h"
#include "base/ensure.h"
#include "base/number.h"
#include "command/client.h"
#include "command/dispatch.h"
#include "command/reply_tree.h"
#include "engine/caller.h"
#include "engine/keyspace.h"
#include "engine/lockset.h"

#define STATUS(name, code, text)                                                                   \
    _Static_assert((int)LARDER_##name == (int)STATUS_##name, "larder.h mirrors statuses.def");
#include "base/statuses.def"
#undef STATUS

struct larder {
    struct engine *engine;
    struct callers callers;
    bool background;
    atomic_flag maintaining; /* one thread at a time runs engine_maintain */
};

struct member {
    struct caller caller; /* first: callers know a member by it */
    struct client client;
};

static struct bytes bytes_from(struct larder_bytes bytes)
{
    return bytes_of(bytes.data, bytes.size);
}

const char *larder_status_text(enum larder_status status)
{
    return (unsigned)status < STATUS_COUNT ? status_text((enum status)status) : "unknown status";
}

/* ---- opening and closing */

static enum status table_status;

static void add_table(void)
{
    uint32_t count;
    const struct command *rows = command_rows(&count);
    table_status = command_table_add(rows, count);
}

static void member_begun(struct caller *caller)
{
    struct member *member = (struct member *)caller;
    client_init(&member->client, caller->owner->engine, caller->thread);
    member->client.authenticated = true;
    if (!caller->owner->manual)
        member->client.clock_ms = callers_clock_ms;
}

static void member_ended(struct caller *caller)
{
    client_deinit(&((struct member *)caller)->client);
}

enum larder_status larder_open(const struct larder_options *options, struct larder **out)
{
    static const struct larder_options defaults;
    static once_flag table_once = ONCE_FLAG_INIT;
    if (options == NULL)
        options = &defaults;
    call_once(&table_once, add_table);
    if (table_status != STATUS_OK)
        return (enum larder_status)table_status;

    struct larder *larder = alloc_zeroed(1, sizeof *larder);
    if (larder == NULL)
        return LARDER_NO_MEMORY;
    bool manual = options->clock == LARDER_CLOCK_MANUAL;
    larder->background = !manual && !options->no_background;
    struct engine_config config = {
        .memory_max_bytes = options->memory_max_bytes,
        .workers = options->threads != 0 ? options->threads : callers_expected(),
        .shards = options->shards,
        .hash_seed = options->hash_seed,
        .start_ms = manual && options->start_ms != 0 ? options->start_ms : callers_clock_ms(),
        .background = larder->background,
    };
    enum status status = engine_create(&config, &larder->engine);
    if (status != STATUS_OK) {
        alloc_free(larder);
        return (enum larder_status)status;
    }
    callers_init(&larder->callers, larder->engine, sizeof(struct member), member_begun,
                 member_ended);
    if (manual)
        callers_drive_time(&larder->callers, config.start_ms);
    *out = larder;
    return LARDER_OK;
}

void larder_close(struct larder *larder)
{
    if (larder == NULL)
        return;
    callers_deinit(&larder->callers);
    engine_destroy(larder->engine);
    alloc_free(larder);
}

/* ---- brackets */

static enum status enter(struct larder *larder, struct member **out)
{
    struct caller *caller;
    enum status status = caller_enter(&larder->callers, &caller);
    if (status == STATUS_OK)
        *out = (struct member *)caller;
    return status;
}

static void leave(struct member *member)
{
    caller_leave(&member->caller);
}

static struct access access_of(const struct member *member)
{
    return (struct access){
        .engine = member->client.engine,
        .thread = member->caller.thread,
        .now_ms = member->caller.now_ms,
        .db = member->client.db,
    };
}

static struct key key_from(const struct access *access, struct larder_bytes key)
{
    return key_of(engine_hash_seed(access->engine), bytes_from(key));
}

static void access_lock(struct access *access, const struct key *key)
{
    keyspace_prefetch_bucket(access, key->hash); /* it comes while the lock is taken */
    lock_key(access->engine, key->hash);
    access->locked = true;
}

static void access_unlock(struct access *access, const struct key *key)
{
    access->locked = false;
    unlock_key(access->engine, key->hash);
}

enum larder_status larder_enter(struct larder *larder)
{
    struct member *member;
    return (enum larder_status)enter(larder, &member);
}

void larder_leave(struct larder *larder)
{
    struct caller *caller = caller_find(&larder->callers);
    ENSURE(caller != NULL);
    caller_leave(caller);
}

/* ---- reading */

static inline void visit_key(struct access *access, const struct key *key, size_t index,
                             larder_visit *visit, void *argument)
{
    struct value value;
    enum find find = keyspace_find(access, key, &value);
    bool lock = find == FIND_LOCK;
    if (lock) {
        access_lock(access, key);
        find = keyspace_find(access, key, &value);
    }
    if (find == FIND_FOUND) {
        struct larder_value shown = {value.data, value.size,
                                     value.expires_ms == EXPIRES_NEVER ? LARDER_NEVER
                                                                       : value.expires_ms};
        visit(argument, index, &shown);
    } else {
        visit(argument, index, NULL);
    }
    if (lock)
        access_unlock(access, key);
}

enum larder_status larder_get_with(struct larder *larder, struct larder_bytes key,
                                   larder_visit *visit, void *argument)
{
    struct member *member;
    enum status status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;
    struct access access = access_of(member);
    struct key hashed = key_from(&access, key);
    visit_key(&access, &hashed, 0, visit, argument);
    leave(member);
    return LARDER_OK;
}

struct copy {
    char *buffer;
    size_t room, size;
    bool found;
};

static void copy_value(void *argument, size_t index, const struct larder_value *value)
{
    struct copy *copy = argument;
    (void)index;
    copy->found = value != NULL;
    copy->size = value != NULL ? value->size : 0;
    size_t fits = copy->size < copy->room ? copy->size : copy->room;
    if (fits > 0)
        memcpy(copy->buffer, value->data, fits);
}

enum larder_status larder_get(struct larder *larder, struct larder_bytes key, void *buffer,
                              size_t room, size_t *out_size, bool *out_found)
{
    struct copy copy = {.buffer = buffer, .room = room};
    enum larder_status status = larder_get_with(larder, key, copy_value, &copy);
    if (status != LARDER_OK)
        return status;
    *out_size = copy.size;
    *out_found = copy.found;
    return LARDER_OK;
}

enum larder_status larder_get_many(struct larder *larder, const struct larder_bytes *keys,
                                   size_t count, larder_visit *visit, void *argument)
{
    /* As many memory fetches as CPUs keep going at once, about, and some. */
    enum { BATCH_COUNT = 32 };
    struct key batch[BATCH_COUNT];
    struct member *member;
    enum status status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;
    struct access access = access_of(member);
    for (size_t first = 0; first < count; first += BATCH_COUNT) {
        size_t size = count - first < BATCH_COUNT ? count - first : BATCH_COUNT;
        for (size_t i = 0; i < size; i++) {
            batch[i] = key_from(&access, keys[first + i]);
            keyspace_prefetch_bucket(&access, batch[i].hash);
        }
        for (size_t i = 0; i < size; i++)
            keyspace_prefetch_entry(&access, batch[i].hash);
        for (size_t i = 0; i < size; i++)
            visit_key(&access, &batch[i], first + i, visit, argument);
    }
    leave(member);
    return LARDER_OK;
}

struct expiry {
    int64_t expires_ms;
    bool found;
};

static void copy_expiry(void *argument, size_t index, const struct larder_value *value)
{
    struct expiry *expiry = argument;
    (void)index;
    expiry->found = value != NULL;
    expiry->expires_ms = value != NULL ? value->expires_ms : 0;
}

enum larder_status larder_ttl(struct larder *larder, struct larder_bytes key, int64_t *out_ttl_ms,
                              bool *out_found)
{
    struct expiry expiry;
    enum larder_status status = larder_get_with(larder, key, copy_expiry, &expiry);
    if (status != LARDER_OK)
        return status;
    if (expiry.found && expiry.expires_ms != LARDER_NEVER) {
        int64_t left_ms = expiry.expires_ms - callers_now_ms(&larder->callers);
        *out_ttl_ms = left_ms > 0 ? left_ms : 0;
    } else if (expiry.found) {
        *out_ttl_ms = LARDER_NEVER;
    }
    *out_found = expiry.found;
    return LARDER_OK;
}

/* ---- writing */

/* What an entry needs beyond its key and value, generously: for the check against the limit. */
enum { ENTRY_OVERHEAD_BYTES = 64 };

/* The time at which a life of `ttl_ms` that begins now ends. */
static enum status deadline(struct larder *larder, int64_t ttl_ms, int64_t *out_ms)
{
    if (ttl_ms == LARDER_NEVER) {
        *out_ms = EXPIRES_NEVER;
        return STATUS_OK;
    }
    return __builtin_add_overflow(callers_now_ms(&larder->callers), ttl_ms, out_ms)
               ? STATUS_NOT_INTEGER
               : STATUS_OK;
}

static enum status set_expiry_of(struct larder *larder, const struct larder_set_options *options,
                                 int64_t *out_ms)
{
    *out_ms = EXPIRES_NEVER;
    if (options->ttl_ms < 0)
        return STATUS_NOT_INTEGER;
    if (options->keep_ttl) {
        *out_ms = EXPIRES_KEEP;
        return options->ttl_ms != 0 ? STATUS_SYNTAX : STATUS_OK;
    }
    return options->ttl_ms != 0 ? deadline(larder, options->ttl_ms, out_ms) : STATUS_OK;
}

/* A value that will live in a blob is copied before its shard is locked. */
static enum status blob_for(struct engine *engine, struct bytes *value, struct blob **out)
{
    *out = NULL;
    if (value->size < BLOB_VALUE_SIZE_MIN)
        return STATUS_OK;
    *out = blob_create(engine, value->size, LIMIT_HOLDS);
    if (*out == NULL)
        return STATUS_NO_MEMORY;
    memcpy(blob_data(*out), value->data, value->size);
    value->data = blob_data(*out);
    return STATUS_OK;
}

static bool condition_holds(struct access *access, const struct key *key,
                            enum larder_condition condition)
{
    struct value value;
    return condition == LARDER_ALWAYS ||
           (keyspace_peek(access, key, &value) == FIND_FOUND) == (condition == LARDER_IF_PRESENT);
}

enum larder_status larder_set(struct larder *larder, struct larder_bytes key,
                              struct larder_bytes value, const struct larder_set_options *options,
                              bool *out_stored)
{
    static const struct larder_set_options defaults;
    struct bytes stored_value = bytes_from(value);
    struct member *member;
    struct blob *blob;
    int64_t expires_ms;
    if (options == NULL)
        options = &defaults;
    if (key.size > KEY_SIZE_MAX || value.size > VALUE_SIZE_MAX)
        return LARDER_VALUE_TOO_LARGE;
    enum status status = set_expiry_of(larder, options, &expires_ms);
    if (status == STATUS_OK)
        status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;

    status = engine_reserve(larder->engine, key.size + value.size + ENTRY_OVERHEAD_BYTES);
    if (status == STATUS_OK)
        status = blob_for(larder->engine, &stored_value, &blob);
    if (status == STATUS_OK) {
        struct access access = access_of(member);
        struct key hashed = key_from(&access, key);
        access_lock(&access, &hashed);
        bool stores = condition_holds(&access, &hashed, options->condition);
        if (stores)
            status = keyspace_set(&access, &hashed, stored_value, expires_ms, blob);
        access_unlock(&access, &hashed);
        if (!stores && blob != NULL)
            blob_release(blob);
        if (status == STATUS_OK && out_stored != NULL)
            *out_stored = stores;
    }
    leave(member);
    return (enum larder_status)status;
}

enum larder_status larder_delete(struct larder *larder, struct larder_bytes key, bool *out_deleted)
{
    struct member *member;
    enum status status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;
    struct access access = access_of(member);
    struct key hashed = key_from(&access, key);
    access_lock(&access, &hashed);
    bool deleted = keyspace_delete(&access, &hashed);
    access_unlock(&access, &hashed);
    if (out_deleted != NULL)
        *out_deleted = deleted;
    leave(member);
    return LARDER_OK;
}

/* Under the key's lock. */
static enum status add_to(struct access *access, const struct key *key, int64_t delta, int64_t *out)
{
    struct value value;
    int64_t old = 0;
    if (keyspace_peek(access, key, &value) == FIND_FOUND) {
        if (value.type != VALUE_STRING)
            return STATUS_WRONG_TYPE;
        if (value.is_integer)
            old = value.integer;
        else if (!number_parse_i64(bytes_of(value.data, value.size), &old))
            return STATUS_NOT_INTEGER;
    }
    if (__builtin_add_overflow(old, delta, out))
        return STATUS_INTEGER_OVERFLOW;
    return keyspace_set_integer(access, key, *out);
}

enum larder_status larder_incr(struct larder *larder, struct larder_bytes key, int64_t delta,
                               int64_t *out_value)
{
    struct member *member;
    if (key.size > KEY_SIZE_MAX)
        return LARDER_VALUE_TOO_LARGE;
    enum status status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;
    status = engine_reserve(larder->engine, key.size + ENTRY_OVERHEAD_BYTES);
    if (status == STATUS_OK) {
        struct access access = access_of(member);
        struct key hashed = key_from(&access, key);
        int64_t sum;
        access_lock(&access, &hashed);
        status = add_to(&access, &hashed, delta, &sum);
        access_unlock(&access, &hashed);
        if (status == STATUS_OK && out_value != NULL)
            *out_value = sum;
    }
    leave(member);
    return (enum larder_status)status;
}

enum larder_status larder_expire(struct larder *larder, struct larder_bytes key, int64_t ttl_ms,
                                 bool *out_found)
{
    struct member *member;
    int64_t expires_ms = EXPIRES_NEVER;
    enum status status = ttl_ms > 0 ? deadline(larder, ttl_ms, &expires_ms) : STATUS_OK;
    if (status == STATUS_OK)
        status = enter(larder, &member);
    if (status != STATUS_OK)
        return (enum larder_status)status;
    struct access access = access_of(member);
    struct key hashed = key_from(&access, key);
    struct value value;
    access_lock(&access, &hashed);
    bool found = keyspace_peek(&access, &hashed, &value) == FIND_FOUND;
    if (found && ttl_ms <= 0)
        keyspace_delete(&access, &hashed);
    else if (found)
        status = keyspace_set_expiry(&access, &hashed, expires_ms);
    access_unlock(&access, &hashed);
    if (status == STATUS_OK && out_found != NULL)
        *out_found = found;
    leave(member);
    return (enum larder_status)status;
}

/* ---- commands */

static enum status run(struct larder *larder, struct request *request, struct reply_tree *tree)
{
    struct member *member;
    enum status status = enter(larder, &member);
    if (status != STATUS_OK)
        return status;
    dispatch_prepare(&member->client, request);
    dispatch_run(&member->client, request, member->caller.now_ms, &tree->reply);
    leave(member);
    return STATUS_OK;
}

enum larder_status larder_command(struct larder *larder, size_t argc,
                                  const struct larder_bytes *argv, struct larder_reply **out_reply)
{
    enum { FEW_COUNT = 16 };
    struct bytes few[FEW_COUNT];
    struct bytes *copies = few;
    if (argc == 0 || argc > INT32_MAX)
        return LARDER_SYNTAX;
    if (argc > FEW_COUNT && (copies = alloc_get(argc * sizeof *copies)) == NULL)
        return LARDER_NO_MEMORY;
    for (size_t i = 0; i < argc; i++)
        copies[i] = bytes_from(argv[i]);

    struct request request = {.argc = (uint32_t)argc, .argv = copies};
    struct reply_tree tree;
    reply_tree_init(&tree);
    enum status status = run(larder, &request, &tree);
    if (status == STATUS_OK)
        status = reply_tree_finish(&tree, out_reply);
    if (copies != few)
        alloc_free(copies);
    return (enum larder_status)status;
}

void larder_reply_free(struct larder_reply *reply)
{
    reply_tree_free(reply);
}

/* ---- housekeeping */

void larder_stats(struct larder *larder, struct larder_stats *out)
{
    struct engine_stats stats;
    engine_stats(larder->engine, &stats);
    *out = (struct larder_stats){
        .keys = stats.keys,
        .keys_expiring = stats.keys_expiring,
        .memory_max_bytes = engine_memory_max(larder->engine),
        .used_bytes = stats.used_bytes,
        .live_bytes = stats.live_bytes,
        .table_bytes = stats.table_bytes,
        .retired_bytes = stats.retired_bytes,
        .hits = stats.hits,
        .misses = stats.misses,
        .inserted = stats.inserted,
        .deleted = stats.deleted,
        .expired = stats.expired,
    };
}

void larder_set_time(struct larder *larder, int64_t now_ms)
{
    ENSURE(larder->callers.manual);
    callers_set_time(&larder->callers, now_ms);
}

bool larder_maintain(struct larder *larder)
{
    if (larder->background || atomic_flag_test_and_set(&larder->maintaining))
        return false;
    bool more = engine_maintain(larder->engine, callers_now_ms(&larder->callers));
    atomic_flag_clear(&larder->maintaining);
    return more;
}
