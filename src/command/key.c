/* SPDX-License-Identifier: MIT
 *
 * Commands on keys of any type and on the keyspace as a whole.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "command/call.h"
#include "command/glob.h"
#include "command/handlers.h"

enum outcome key_del(struct call *call)
{
    uint32_t count = command_key_count(call->command, call->argc);
    int64_t deleted = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct key key = call_key_nth(call, i);
        deleted += keyspace_delete(&call->access, &key);
    }
    return call_integer(call, deleted);
}

enum outcome key_exists(struct call *call)
{
    uint32_t count = command_key_count(call->command, call->argc);
    int64_t present = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct key key = call_key_nth(call, i);
        struct value value;
        enum find found = keyspace_find(&call->access, &key, &value);
        if (found == FIND_LOCK)
            return OUTCOME_NEED_LOCK;
        present += found == FIND_FOUND;
    }
    if (!call_consistent(call))
        return OUTCOME_NEED_LOCK;
    return call_integer(call, present);
}

enum outcome key_type(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    enum find found = keyspace_find(&call->access, &key, &value);
    if (found == FIND_LOCK)
        return OUTCOME_NEED_LOCK;
    call->reply->ops->word(call->reply, found == FIND_FOUND ? value_type_name(value.type) : "none");
    return OUTCOME_DONE;
}

/* False: the answer was emitted. */
static bool rename_possible(struct call *call, const struct key *from)
{
    struct value value;
    if (keyspace_peek(&call->access, from, &value) == FIND_FOUND)
        return true;
    reply_status(call->reply, STATUS_NO_SUCH_KEY);
    return false;
}

enum outcome key_rename(struct call *call)
{
    struct key from = call_key_nth(call, 0), to = call_key_nth(call, 1);
    if (!rename_possible(call, &from))
        return OUTCOME_DONE;
    enum status status = STATUS_OK;
    if (!bytes_equal(from.bytes, to.bytes))
        status = keyspace_rename(&call->access, &from, &to);
    return call_status(call, status);
}

enum outcome key_renamenx(struct call *call)
{
    struct key from = call_key_nth(call, 0), to = call_key_nth(call, 1);
    struct value value;
    if (!rename_possible(call, &from))
        return OUTCOME_DONE;
    if (keyspace_peek(&call->access, &to, &value) == FIND_FOUND)
        return call_integer(call, 0);
    enum status status = keyspace_rename(&call->access, &from, &to);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

/* ---- listing */

enum { CHUNK_SIZE_FIRST = 1024, CHUNK_SIZE = 64 * 1024 };

/* Names as a scan visits them, which it does under a lock: so they go to blocks that never move.
 * Each name is its size, then its bytes. */
struct chunk {
    struct chunk *next;
    size_t size, room;
    char data[];
};

struct names {
    struct bytes pattern, type; /* `type.data` NULL: any */
    bool all;                   /* the pattern is `*` */
    bool failed;                /* memory ran out; nothing more is gathered */
    uint64_t count;
    struct chunk *first, *last; /* owned */
};

static void names_init(struct names *names, struct bytes pattern, struct bytes type)
{
    bool all = bytes_equal(pattern, BYTES("*"));
    *names = (struct names){.pattern = pattern, .type = type, .all = all};
}

static void names_deinit(struct names *names)
{
    while (names->first != NULL) {
        struct chunk *next = names->first->next;
        alloc_free(names->first);
        names->first = next;
    }
}

static bool names_add_chunk(struct names *names, size_t size)
{
    size_t room = names->first == NULL ? CHUNK_SIZE_FIRST : CHUNK_SIZE;
    if (room < size)
        room = size;
    struct chunk *chunk = alloc_get(sizeof(*chunk) + room);
    if (chunk == NULL)
        return false;
    *chunk = (struct chunk){.room = room};
    if (names->first == NULL)
        names->first = chunk;
    else
        names->last->next = chunk;
    names->last = chunk;
    return true;
}

static void names_visit(void *argument, struct bytes key, enum value_type type)
{
    struct names *names = argument;
    if (names->failed || (!names->all && !glob_match(names->pattern, key)) ||
        (names->type.data != NULL && !bytes_equal_text_nocase(names->type, value_type_name(type))))
        return;
    size_t size = sizeof(key.size) + key.size;
    if ((names->last == NULL || names->last->room - names->last->size < size) &&
        !names_add_chunk(names, size)) {
        names->failed = true;
        return;
    }
    char *at = names->last->data + names->last->size;
    memcpy(at, &key.size, sizeof(key.size));
    if (key.size != 0)
        memcpy(at + sizeof(key.size), key.data, key.size);
    names->last->size += size;
    names->count++;
}

static void names_answer_each(const struct names *names, struct reply *reply)
{
    for (const struct chunk *chunk = names->first; chunk != NULL; chunk = chunk->next) {
        for (size_t at = 0; at < chunk->size;) {
            size_t size;
            memcpy(&size, chunk->data + at, sizeof(size));
            at += sizeof(size);
            reply->ops->bytes(reply, bytes_of(chunk->data + at, size));
            at += size;
        }
    }
}

static void names_answer(const struct names *names, struct reply *reply)
{
    reply->ops->list(reply, names->count);
    names_answer_each(names, reply);
}

enum outcome key_keys(struct call *call)
{
    enum { SPAN = 1000 };
    struct names names;
    names_init(&names, call->argv[1], bytes_of(NULL, 0));
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(&call->access, cursor, SPAN, names_visit, &names);
    } while (cursor != 0 && !names.failed);

    if (names.failed)
        reply_status(call->reply, STATUS_NO_MEMORY);
    else
        names_answer(&names, call->reply);
    names_deinit(&names);
    return OUTCOME_DONE;
}

static enum status parse_scan_options(const struct call *call, int64_t *out_count,
                                      struct bytes *out_pattern, struct bytes *out_type)
{
    for (uint32_t i = 2; i < call->argc; i += 2) {
        struct bytes name = call->argv[i];
        if (i + 1 == call->argc)
            return STATUS_SYNTAX;
        struct bytes argument = call->argv[i + 1];
        if (bytes_equal_text_nocase(name, "match")) {
            *out_pattern = argument;
        } else if (bytes_equal_text_nocase(name, "type")) {
            *out_type = argument;
        } else if (bytes_equal_text_nocase(name, "count")) {
            if (!number_parse_i64(argument, out_count))
                return STATUS_NOT_INTEGER;
            if (*out_count < 1)
                return STATUS_SYNTAX;
        } else {
            return STATUS_SYNTAX;
        }
    }
    return STATUS_OK;
}

enum outcome key_scan(struct call *call)
{
    uint64_t cursor;
    if (!number_parse_u64(call->argv[1], &cursor))
        return call_status(call, STATUS_CURSOR);
    int64_t count = 10;
    struct bytes pattern = BYTES("*"), type = bytes_of(NULL, 0);
    enum status status = parse_scan_options(call, &count, &pattern, &type);
    if (status != STATUS_OK)
        return call_status(call, status);

    struct names names;
    names_init(&names, pattern, type);
    cursor = keyspace_scan(&call->access, cursor, (uint64_t)count, names_visit, &names);
    if (names.failed) {
        reply_status(call->reply, STATUS_NO_MEMORY);
    } else {
        char text[NUMBER_I64_MAX_SIZE];
        call->reply->ops->list(call->reply, 2);
        call->reply->ops->bytes(call->reply, bytes_of(text, number_format_u64(text, cursor)));
        names_answer(&names, call->reply);
    }
    names_deinit(&names);
    return OUTCOME_DONE;
}

enum outcome key_randomkey(struct call *call)
{
    struct names names;
    names_init(&names, BYTES("*"), bytes_of(NULL, 0));
    enum find found = keyspace_random(&call->access, names_visit, &names);
    if (found == FIND_LOCK)
        return OUTCOME_NEED_LOCK;
    if (names.failed)
        reply_status(call->reply, STATUS_NO_MEMORY);
    else if (found == FIND_MISSING)
        call->reply->ops->missing(call->reply);
    else
        names_answer_each(&names, call->reply);
    names_deinit(&names);
    return OUTCOME_DONE;
}

/* ---- the whole keyspace */

enum outcome key_dbsize(struct call *call)
{
    return call_integer(call, (int64_t)engine_key_count(call->access.engine, call->access.db));
}

/* ASYNC and SYNC mean the same: memory always follows in the background. */
static bool flush_mode_ok(struct call *call)
{
    if (call->argc == 1 || (call->argc == 2 && (bytes_equal_text_nocase(call->argv[1], "async") ||
                                                bytes_equal_text_nocase(call->argv[1], "sync"))))
        return true;
    reply_status(call->reply, STATUS_SYNTAX);
    return false;
}

enum outcome key_flushdb(struct call *call)
{
    if (!flush_mode_ok(call))
        return OUTCOME_DONE;
    keyspace_flush(&call->access, call->access.db);
    return call_status(call, STATUS_OK);
}

enum outcome key_flushall(struct call *call)
{
    if (!flush_mode_ok(call))
        return OUTCOME_DONE;
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        keyspace_flush(&call->access, db);
    return call_status(call, STATUS_OK);
}
