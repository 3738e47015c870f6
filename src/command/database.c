/* SPDX-License-Identifier: MIT
 *
 * Commands that name a database. A handler reaches another database through a copy of the call's
 * access; the locks of a key's shard cover that key in every database.
 */
#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"

/* A number of 32 bits, as Redis reads a database's index. False: an error was emitted. */
static bool parse_index(struct call *call, struct bytes text, int64_t *out)
{
    if (!number_parse_i64(text, out)) {
        reply_status(call->reply, STATUS_NOT_INTEGER);
        return false;
    }
    if (*out < INT32_MIN || *out > INT32_MAX) {
        reply_errorf(call->reply, "ERR", "value is out of range, value must between %d and %d",
                     INT32_MIN, INT32_MAX);
        return false;
    }
    return true;
}

static bool index_exists(int64_t index)
{
    return index >= 0 && index < ENGINE_DATABASES;
}

/* False: an error was emitted. */
static bool parse_database(struct call *call, struct bytes text, uint32_t *out)
{
    int64_t index;
    if (!parse_index(call, text, &index))
        return false;
    if (!index_exists(index)) {
        reply_status(call->reply, STATUS_DB_INDEX);
        return false;
    }
    *out = (uint32_t)index;
    return true;
}

static bool exists_in(const struct call *call, const struct key *key, uint32_t db)
{
    struct access there = call->access;
    there.db = db;
    struct value value;
    return keyspace_peek(&there, key, &value) == FIND_FOUND;
}

static enum outcome refuse_same(struct call *call)
{
    reply_errorf(call->reply, "ERR", "source and destination objects are the same");
    return OUTCOME_DONE;
}

enum outcome database_select(struct call *call)
{
    uint32_t db;
    if (!parse_database(call, call->argv[1], &db))
        return OUTCOME_DONE;
    call->client->db = db;
    return call_status(call, STATUS_OK);
}

enum outcome database_move(struct call *call)
{
    uint32_t db;
    if (!parse_database(call, call->argv[2], &db))
        return OUTCOME_DONE;
    if (db == call->access.db)
        return refuse_same(call);
    struct key key = call_key(call);
    struct value value;
    call_fresh_ms(call); /* a key may not be dead here and alive there by two clocks */
    if (keyspace_peek(&call->access, &key, &value) != FIND_FOUND || exists_in(call, &key, db))
        return call_integer(call, 0);
    enum status status = keyspace_move(&call->access, &key, db);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

/* False: an error was emitted. */
static bool parse_copy_options(struct call *call, uint32_t *db, bool *replace)
{
    for (uint32_t i = 3; i < call->argc; i++) {
        if (bytes_equal_text_nocase(call->argv[i], "replace")) {
            *replace = true;
        } else if (bytes_equal_text_nocase(call->argv[i], "db") && i + 1 < call->argc) {
            if (!parse_database(call, call->argv[++i], db))
                return false;
        } else {
            reply_status(call->reply, STATUS_SYNTAX);
            return false;
        }
    }
    return true;
}

enum outcome database_copy(struct call *call)
{
    uint32_t db = call->access.db;
    bool replace = false;
    if (!parse_copy_options(call, &db, &replace))
        return OUTCOME_DONE;
    struct key from = call_key_nth(call, 0), to = call_key_nth(call, 1);
    if (db == call->access.db && bytes_equal(from.bytes, to.bytes))
        return refuse_same(call);
    struct value value;
    if (keyspace_find(&call->access, &from, &value) != FIND_FOUND ||
        (!replace && exists_in(call, &to, db)))
        return call_integer(call, 0);
    enum status status = keyspace_copy(&call->access, &from, db, &to);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

enum outcome database_swapdb(struct call *call)
{
    static const char *const ordinals[] = {"first", "second"};
    int64_t index[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (!number_parse_i64(call->argv[i + 1], &index[i]) || index[i] < INT32_MIN ||
            index[i] > INT32_MAX) {
            reply_errorf(call->reply, "ERR", "invalid %s DB index", ordinals[i]);
            return OUTCOME_DONE;
        }
    }
    if (!index_exists(index[0]) || !index_exists(index[1]))
        return call_status(call, STATUS_DB_INDEX);
    if (index[0] != index[1])
        keyspace_swap(&call->access, (uint32_t)index[0], (uint32_t)index[1]);
    return call_status(call, STATUS_OK);
}
