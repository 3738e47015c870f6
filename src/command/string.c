/* SPDX-License-Identifier: MIT
 *
 * Commands on string values.
 *
 * Writers look with keyspace_peek, which counts neither hit nor miss, unless what they find is also
 * their answer; so do reads that may have to be done again. An old value stays readable after it
 * was replaced (engine/engine.h), so it is emitted last, once the write is known to have succeeded.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/number.h"
#include "command/call.h"
#include "command/expire.h"
#include "command/handlers.h"

static bool is_string(const struct value *value)
{
    return value->type == VALUE_STRING;
}

/* ---- reading */

static enum outcome answer_value(struct call *call, enum find found, const struct value *value)
{
    if (found == FIND_MISSING)
        call->reply->ops->missing(call->reply);
    else
        call->reply->ops->value(call->reply, value);
    return OUTCOME_DONE;
}

/* The value of a command that reads one key, FIND_FOUND or FIND_MISSING. False: `*outcome` is all
 * there is to return. */
static inline bool read_string(struct call *call, enum find *found, struct value *value,
                               enum outcome *outcome)
{
    struct key key = call_key(call);
    *found = keyspace_find(&call->access, &key, value);
    *outcome = OUTCOME_NEED_LOCK;
    if (*found == FIND_LOCK)
        return false;
    if (*found == FIND_MISSING || is_string(value))
        return true;
    *outcome = call_status(call, STATUS_WRONG_TYPE);
    return false;
}

enum outcome string_get(struct call *call)
{
    struct value value;
    enum find found;
    enum outcome outcome;
    if (!read_string(call, &found, &value, &outcome))
        return outcome;
    return answer_value(call, found, &value);
}

enum outcome string_strlen(struct call *call)
{
    struct value value;
    enum find found;
    enum outcome outcome;
    if (!read_string(call, &found, &value, &outcome))
        return outcome;
    return call_integer(call, found == FIND_FOUND ? (int64_t)value.size : 0);
}

enum outcome string_getrange(struct call *call)
{
    int64_t first, last;
    if (!number_parse_i64(call->argv[2], &first) || !number_parse_i64(call->argv[3], &last))
        return call_status(call, STATUS_NOT_INTEGER);
    struct value value;
    enum find found;
    enum outcome outcome;
    if (!read_string(call, &found, &value, &outcome))
        return outcome;

    int64_t size = found == FIND_FOUND ? (int64_t)value.size : 0;
    bool reversed = first < 0 && last < 0 && first > last; /* before both are clamped to 0 */
    if (first < 0)
        first = first + size < 0 ? 0 : first + size;
    if (last < 0)
        last = last + size < 0 ? 0 : last + size;
    if (last >= size)
        last = size - 1;
    struct bytes part = BYTES("");
    if (!reversed && first <= last)
        part = bytes_of(value.data + first, (size_t)(last - first) + 1);
    call->reply->ops->bytes(call->reply, part);
    return OUTCOME_DONE;
}

static void answer_element(struct call *call, enum find found, const struct value *value)
{
    if (found == FIND_FOUND && is_string(value))
        call->reply->ops->value(call->reply, value);
    else
        call->reply->ops->missing(call->reply);
}

/* A few values are gathered and answered once they are known to belong together. Many are answered
 * one by one under the locks, which needs no memory. */
enum outcome string_mget(struct call *call)
{
    enum { GATHERED_MAX = CALL_HASHES_MAX };
    struct value values[GATHERED_MAX];
    enum find found[GATHERED_MAX];
    uint32_t count = call->argc - 1;

    if (count > GATHERED_MAX) {
        if (!call->access.locked)
            return OUTCOME_NEED_LOCK;
        call->reply->ops->list(call->reply, count);
        for (uint32_t i = 0; i < count; i++) {
            struct key key = call_key_nth(call, i);
            answer_element(call, keyspace_find(&call->access, &key, &values[0]), &values[0]);
        }
        return OUTCOME_DONE;
    }

    struct key keys[GATHERED_MAX];
    uint32_t hits = 0;
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = call_key_nth(call, i);
        keyspace_prefetch_bucket(&call->access, keys[i].hash);
    }
    for (uint32_t i = 0; i < count; i++)
        keyspace_prefetch_entry(&call->access, keys[i].hash);
    for (uint32_t i = 0; i < count; i++) {
        found[i] = keyspace_peek(&call->access, &keys[i], &values[i]);
        if (found[i] == FIND_LOCK)
            return OUTCOME_NEED_LOCK;
        hits += found[i] == FIND_FOUND;
    }
    if (!call_consistent(call))
        return OUTCOME_NEED_LOCK;
    keyspace_count_reads(&call->access, hits, count - hits);
    call->reply->ops->list(call->reply, count);
    for (uint32_t i = 0; i < count; i++) {
        if (found[i] == FIND_FOUND)
            keyspace_note_read(&call->access, &values[i]);
        answer_element(call, found[i], &values[i]);
    }
    return OUTCOME_DONE;
}

/* ---- options of SET and GETEX */

enum option_flag {
    OPTION_NX = 1 << 0,
    OPTION_XX = 1 << 1,
    OPTION_GET = 1 << 2,
    OPTION_KEEPTTL = 1 << 3,
    OPTION_PERSIST = 1 << 4,
    OPTION_EX = 1 << 5,
    OPTION_PX = 1 << 6,
    OPTION_EXAT = 1 << 7,
    OPTION_PXAT = 1 << 8,
    OPTION_IFEQ = 1 << 9,
    /* Of each of these sets a request may name one; the same one twice is allowed, but for IFEQ. */
    OPTIONS_CONDITION = OPTION_NX | OPTION_XX | OPTION_IFEQ,
    OPTIONS_TIME = OPTION_EX | OPTION_PX | OPTION_EXAT | OPTION_PXAT,
    OPTIONS_EXPIRY = OPTIONS_TIME | OPTION_KEEPTTL | OPTION_PERSIST,
};

static const struct option {
    const char *name;
    uint32_t flag, exclusive;
    uint32_t form; /* enum expire_form, of those that take a time */
} options[] = {
    {"ex", OPTION_EX, OPTIONS_EXPIRY, EXPIRE_SECONDS | EXPIRE_POSITIVE},
    {"px", OPTION_PX, OPTIONS_EXPIRY, EXPIRE_POSITIVE},
    {"nx", OPTION_NX, OPTIONS_CONDITION, 0},
    {"xx", OPTION_XX, OPTIONS_CONDITION, 0},
    {"ifeq", OPTION_IFEQ, OPTIONS_CONDITION, 0},
    {"get", OPTION_GET, 0, 0},
    {"keepttl", OPTION_KEEPTTL, OPTIONS_EXPIRY, 0},
    {"persist", OPTION_PERSIST, OPTIONS_EXPIRY, 0},
    {"exat", OPTION_EXAT, OPTIONS_EXPIRY, EXPIRE_SECONDS | EXPIRE_POSITIVE | EXPIRE_ABSOLUTE},
    {"pxat", OPTION_PXAT, OPTIONS_EXPIRY, EXPIRE_POSITIVE | EXPIRE_ABSOLUTE},
};

struct chosen_options {
    uint32_t flags;
    uint32_t form;      /* of the time, when flags & OPTIONS_TIME */
    struct bytes time;  /* as given */
    struct bytes equal; /* what the value must be, when flags & OPTION_IFEQ */
};

static const struct option *find_option(struct bytes name)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (bytes_equal_text_nocase(name, options[i].name))
            return &options[i];
    }
    return NULL;
}

/* The arguments from `first` on, of which only `allowed` are known to the command. */
static bool parse_options(const struct call *call, uint32_t first, uint32_t allowed,
                          struct chosen_options *out)
{
    out->flags = out->form = 0;
    for (uint32_t i = first; i < call->argc; i++) {
        const struct option *option = find_option(call->argv[i]);
        if (option == NULL || !(option->flag & allowed) ||
            (out->flags & option->exclusive & ~option->flag) ||
            (out->flags & option->flag & OPTION_IFEQ))
            return false;
        if (option->flag & (OPTIONS_TIME | OPTION_IFEQ)) {
            if (++i == call->argc)
                return false;
            if (option->flag & OPTION_IFEQ)
                out->equal = call->argv[i];
            else
                out->time = call->argv[i];
            out->form |= option->form;
        }
        out->flags |= option->flag;
    }
    return true;
}

/* ---- setting */

static bool holds(const struct value *value, struct bytes content)
{
    return bytes_equal(bytes_of(value->data, value->size), content);
}

/* SET and its relatives: the conditions and GET decide about the write and the answer. */
static enum outcome set_value(struct call *call, const struct chosen_options *chosen,
                              uint32_t value_index, int64_t expires_ms)
{
    uint32_t flags = chosen->flags;
    struct key key = call_key(call);
    struct value old;
    enum find found = FIND_MISSING;
    if (flags & OPTION_GET) {
        found = keyspace_find(&call->access, &key, &old);
    } else if (flags & OPTIONS_CONDITION) {
        found = keyspace_peek(&call->access, &key, &old);
    }
    bool exists = found == FIND_FOUND;
    if (exists && (flags & (OPTION_GET | OPTION_IFEQ)) && !is_string(&old))
        return call_status(call, STATUS_WRONG_TYPE);

    bool refused = exists ? (flags & OPTION_NX) != 0 : (flags & (OPTION_XX | OPTION_IFEQ)) != 0;
    if (exists && (flags & OPTION_IFEQ))
        refused = !holds(&old, chosen->equal);
    if (!refused) {
        enum status status = keyspace_set(&call->access, &key, call->argv[value_index], expires_ms,
                                          call_take_blob(call, value_index));
        if (status != STATUS_OK)
            return call_status(call, status);
    }
    if (flags & OPTION_GET)
        return answer_value(call, found, &old);
    if (refused)
        call->reply->ops->not_stored(call->reply);
    else
        call->reply->ops->stored(call->reply);
    return OUTCOME_DONE;
}

enum outcome string_set(struct call *call)
{
    struct chosen_options chosen = {0};
    int64_t expires_ms = EXPIRES_NEVER;
    if (call->argc > 3) {
        uint32_t allowed =
            OPTIONS_CONDITION | OPTION_GET | (OPTIONS_EXPIRY & ~(uint32_t)OPTION_PERSIST);
        if (!parse_options(call, 3, allowed, &chosen))
            return call_status(call, STATUS_SYNTAX);
        if ((chosen.flags & OPTIONS_TIME) &&
            !expire_parse(call, chosen.time, chosen.form, &expires_ms))
            return OUTCOME_DONE;
        if (chosen.flags & OPTION_KEEPTTL)
            expires_ms = EXPIRES_KEEP;
    }
    return set_value(call, &chosen, 2, expires_ms);
}

enum outcome string_getset(struct call *call)
{
    const struct chosen_options get = {.flags = OPTION_GET};
    return set_value(call, &get, 2, EXPIRES_NEVER);
}

enum outcome string_setnx(struct call *call)
{
    struct key key = call_key(call);
    struct value old;
    if (keyspace_peek(&call->access, &key, &old) == FIND_FOUND)
        return call_integer(call, 0);
    enum status status =
        keyspace_set(&call->access, &key, call->argv[2], EXPIRES_NEVER, call_take_blob(call, 2));
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

static enum outcome set_with_time(struct call *call, uint32_t form)
{
    int64_t expires_ms;
    if (!expire_parse(call, call->argv[2], form, &expires_ms))
        return OUTCOME_DONE;
    const struct chosen_options none = {0};
    return set_value(call, &none, 3, expires_ms);
}

enum outcome string_setex(struct call *call)
{
    return set_with_time(call, EXPIRE_SECONDS | EXPIRE_POSITIVE);
}

enum outcome string_psetex(struct call *call)
{
    return set_with_time(call, EXPIRE_POSITIVE);
}

static enum status set_pairs(struct call *call, uint32_t count, struct key *keys,
                             struct bytes *values, struct blob **blobs)
{
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = call_key_nth(call, i);
        values[i] = call->argv[2 * i + 2];
        blobs[i] = call_take_blob(call, 2 * i + 2);
    }
    return keyspace_set_many(&call->access, keys, values, blobs, count);
}

static enum status set_all(struct call *call)
{
    enum { ON_STACK = 16 };
    uint32_t count = call->argc / 2;
    if (count <= ON_STACK) {
        struct key keys[ON_STACK];
        struct bytes values[ON_STACK];
        struct blob *blobs[ON_STACK];
        return set_pairs(call, count, keys, values, blobs);
    }
    struct key *keys =
        alloc_get(count * (sizeof(struct key) + sizeof(struct bytes) + sizeof(struct blob *)));
    if (keys == NULL)
        return STATUS_NO_MEMORY;
    struct bytes *values = (struct bytes *)(keys + count);
    enum status status = set_pairs(call, count, keys, values, (struct blob **)(values + count));
    alloc_free(keys);
    return status;
}

enum outcome string_mset(struct call *call)
{
    if (call->argc % 2 == 0) {
        reply_wrong_arity(call->reply, call->command);
        return OUTCOME_DONE;
    }
    enum status status = set_all(call);
    if (status != STATUS_OK)
        return call_status(call, status);
    call->reply->ops->stored(call->reply);
    return OUTCOME_DONE;
}

enum outcome string_msetnx(struct call *call)
{
    if (call->argc % 2 == 0) {
        reply_wrong_arity(call->reply, call->command);
        return OUTCOME_DONE;
    }
    for (uint32_t i = 0; i < call->argc / 2; i++) {
        struct key key = call_key_nth(call, i);
        struct value old;
        if (keyspace_peek(&call->access, &key, &old) == FIND_FOUND)
            return call_integer(call, 0);
    }
    enum status status = set_all(call);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

/* ---- reading and changing at once */

enum outcome string_getdel(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    if (keyspace_find(&call->access, &key, &value) == FIND_MISSING)
        return call_missing(call);
    if (!is_string(&value))
        return call_status(call, STATUS_WRONG_TYPE);
    keyspace_delete(&call->access, &key);
    return answer_value(call, FIND_FOUND, &value);
}

enum outcome string_delifeq(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    if (keyspace_peek(&call->access, &key, &value) == FIND_MISSING)
        return call_integer(call, 0);
    if (!is_string(&value))
        return call_status(call, STATUS_WRONG_TYPE);
    return call_integer(call, holds(&value, call->argv[2]) && keyspace_delete(&call->access, &key));
}

enum outcome string_getex(struct call *call)
{
    struct chosen_options chosen;
    if (!parse_options(call, 2, OPTIONS_TIME | OPTION_PERSIST, &chosen))
        return call_status(call, STATUS_SYNTAX);
    struct key key = call_key(call);
    struct value value;
    call_fresh_ms(call); /* before the first look: one command, one time */
    if (keyspace_find(&call->access, &key, &value) == FIND_MISSING)
        return call_missing(call);
    if (!is_string(&value))
        return call_status(call, STATUS_WRONG_TYPE);

    enum status status = STATUS_OK;
    if (chosen.flags & OPTIONS_TIME) {
        int64_t expires_ms;
        if (!expire_parse(call, chosen.time, chosen.form, &expires_ms))
            return OUTCOME_DONE;
        status = keyspace_set_expiry(&call->access, &key, expires_ms);
    } else if ((chosen.flags & OPTION_PERSIST) && value.expires_ms != EXPIRES_NEVER) {
        status = keyspace_set_expiry(&call->access, &key, EXPIRES_NEVER);
    }
    if (status != STATUS_OK)
        return call_status(call, status);
    return answer_value(call, FIND_FOUND, &value);
}

/* ---- changing in place */

enum outcome string_append(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    struct bytes tail = call->argv[2];
    if (keyspace_peek(&call->access, &key, &value) == FIND_MISSING) {
        enum status status =
            keyspace_set(&call->access, &key, tail, EXPIRES_NEVER, call_take_blob(call, 2));
        if (status != STATUS_OK)
            return call_status(call, status);
        return call_integer(call, (int64_t)tail.size);
    }
    if (!is_string(&value))
        return call_status(call, STATUS_WRONG_TYPE);
    if (tail.size > VALUE_SIZE_MAX - value.size)
        return call_status(call, STATUS_VALUE_TOO_LARGE);

    /* Appending nothing is a change too: whoever watches the key hears of it. */
    size_t size = value.size + tail.size;
    char *data;
    enum status status = keyspace_edit(&call->access, &key, size, &data);
    if (status != STATUS_OK)
        return call_status(call, status);
    if (tail.size != 0)
        memcpy(data + value.size, tail.data, tail.size);
    return call_integer(call, (int64_t)size);
}

enum outcome string_setrange(struct call *call)
{
    int64_t offset;
    if (!number_parse_i64(call->argv[2], &offset))
        return call_status(call, STATUS_NOT_INTEGER);
    if (offset < 0)
        return call_status(call, STATUS_OFFSET_RANGE);

    struct key key = call_key(call);
    struct value value;
    struct bytes part = call->argv[3];
    size_t old_size = 0;
    if (keyspace_peek(&call->access, &key, &value) == FIND_FOUND) {
        if (!is_string(&value))
            return call_status(call, STATUS_WRONG_TYPE);
        old_size = value.size;
    }
    if (part.size == 0)
        return call_integer(call, (int64_t)old_size);
    if (part.size > VALUE_SIZE_MAX || offset > (int64_t)(VALUE_SIZE_MAX - part.size))
        return call_status(call, STATUS_VALUE_TOO_LARGE);

    size_t size = (size_t)offset + part.size;
    if (size < old_size)
        size = old_size;
    char *data;
    enum status status = keyspace_edit(&call->access, &key, size, &data);
    if (status != STATUS_OK)
        return call_status(call, status);
    memcpy(data + offset, part.data, part.size);
    return call_integer(call, (int64_t)size);
}

/* ---- counting */

static enum outcome add_integer(struct call *call, int64_t delta)
{
    struct key key = call_key(call);
    struct value value;
    int64_t number = 0;
    if (keyspace_peek(&call->access, &key, &value) == FIND_FOUND) {
        if (!is_string(&value))
            return call_status(call, STATUS_WRONG_TYPE);
        if (value.is_integer)
            number = value.integer;
        else if (!number_parse_i64(bytes_of(value.data, value.size), &number))
            return call_status(call, STATUS_NOT_INTEGER);
    }
    if (__builtin_add_overflow(number, delta, &number))
        return call_status(call, STATUS_INTEGER_OVERFLOW);
    enum status status = keyspace_set_integer(&call->access, &key, number);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, number);
}

enum outcome string_incr(struct call *call)
{
    return add_integer(call, 1);
}

enum outcome string_decr(struct call *call)
{
    return add_integer(call, -1);
}

enum outcome string_incrby(struct call *call)
{
    int64_t delta;
    if (!number_parse_i64(call->argv[2], &delta))
        return call_status(call, STATUS_NOT_INTEGER);
    return add_integer(call, delta);
}

enum outcome string_decrby(struct call *call)
{
    int64_t delta;
    if (!number_parse_i64(call->argv[2], &delta))
        return call_status(call, STATUS_NOT_INTEGER);
    if (delta == INT64_MIN)
        return call_status(call, STATUS_DECREMENT_OVERFLOW);
    return add_integer(call, -delta);
}

enum outcome string_incrbyfloat(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    long double number = 0, delta;
    if (keyspace_peek(&call->access, &key, &value) == FIND_FOUND) {
        if (!is_string(&value))
            return call_status(call, STATUS_WRONG_TYPE);
        if (!number_parse_long_double(bytes_of(value.data, value.size), &number))
            return call_status(call, STATUS_NOT_FLOAT);
    }
    if (!number_parse_long_double(call->argv[2], &delta))
        return call_status(call, STATUS_NOT_FLOAT);
    number += delta;
    if (!isfinite(number))
        return call_status(call, STATUS_FLOAT_OVERFLOW);

    char text[NUMBER_LONG_DOUBLE_MAX_SIZE];
    struct bytes bytes = bytes_of(text, number_format_long_double(text, number));
    enum status status = keyspace_set(&call->access, &key, bytes, EXPIRES_KEEP, NULL);
    if (status != STATUS_OK)
        return call_status(call, status);
    call->reply->ops->bytes(call->reply, bytes);
    return OUTCOME_DONE;
}
