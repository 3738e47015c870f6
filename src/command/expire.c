/* SPDX-License-Identifier: MIT
 *
 * Commands about when keys go away. What is shown of a remaining time comes from a fresh reading of
 * the clock, or a sample older than the key would show more than was ever set.
 */
#include "command/expire.h"

#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"

bool expire_parse(struct call *call, struct bytes text, uint32_t form, int64_t *out_ms)
{
    int64_t time, base_ms = form & EXPIRE_ABSOLUTE ? 0 : call_fresh_ms(call);
    if (!number_parse_i64(text, &time)) {
        reply_status(call->reply, STATUS_NOT_INTEGER);
        return false;
    }
    if ((!(form & EXPIRE_POSITIVE) || time > 0) &&
        (!(form & EXPIRE_SECONDS) || !__builtin_mul_overflow(time, 1000, &time)) &&
        !__builtin_add_overflow(time, base_ms, out_ms))
        return true;
    reply_errorf(call->reply, "ERR", "invalid expire time in '%s' command", call->command->name);
    return false;
}

enum condition { ONLY_NEW = 1, ONLY_EXISTING = 2, ONLY_GREATER = 4, ONLY_LESS = 8 };

/* False: an error was emitted. */
static bool parse_conditions(struct call *call, uint32_t *out)
{
    uint32_t conditions = 0;
    for (uint32_t i = 3; i < call->argc; i++) {
        struct bytes option = call->argv[i];
        if (bytes_equal_text_nocase(option, "nx")) {
            conditions |= ONLY_NEW;
        } else if (bytes_equal_text_nocase(option, "xx")) {
            conditions |= ONLY_EXISTING;
        } else if (bytes_equal_text_nocase(option, "gt")) {
            conditions |= ONLY_GREATER;
        } else if (bytes_equal_text_nocase(option, "lt")) {
            conditions |= ONLY_LESS;
        } else {
            reply_errorf(call->reply, "ERR", "Unsupported option %.*s",
                         option.size < 256 ? (int)option.size : 256,
                         option.data != NULL ? option.data : "");
            return false;
        }
    }
    const char *conflict = NULL;
    if ((conditions & ONLY_NEW) && (conditions & ~(uint32_t)ONLY_NEW))
        conflict = "NX and XX, GT or LT";
    else if ((conditions & ONLY_GREATER) && (conditions & ONLY_LESS))
        conflict = "GT and LT";
    if (conflict != NULL) {
        reply_errorf(call->reply, "ERR", "%s options at the same time are not compatible",
                     conflict);
        return false;
    }
    *out = conditions;
    return true;
}

/* A key without expiry counts as one that expires last of all. */
static bool conditions_hold(uint32_t conditions, int64_t old_ms, int64_t new_ms)
{
    bool has = old_ms != EXPIRES_NEVER;
    if (conditions & ONLY_NEW)
        return !has;
    if ((conditions & ONLY_EXISTING) && !has)
        return false;
    if (conditions & ONLY_GREATER)
        return has && new_ms > old_ms;
    if (conditions & ONLY_LESS)
        return !has || new_ms < old_ms;
    return true;
}

static enum outcome set_expiry(struct call *call, uint32_t form)
{
    uint32_t conditions;
    int64_t expires_ms;
    if (!parse_conditions(call, &conditions) ||
        !expire_parse(call, call->argv[2], form, &expires_ms))
        return OUTCOME_DONE;

    struct key key = call_key(call);
    struct value value;
    call_fresh_ms(call); /* before the first look: one command, one time */
    if (keyspace_peek(&call->access, &key, &value) != FIND_FOUND ||
        !conditions_hold(conditions, value.expires_ms, expires_ms))
        return call_integer(call, 0);
    if (expires_ms <= call_fresh_ms(call)) {
        keyspace_delete(&call->access, &key);
        return call_integer(call, 1);
    }
    enum status status = keyspace_set_expiry(&call->access, &key, expires_ms);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}

enum outcome expire_expire(struct call *call)
{
    return set_expiry(call, EXPIRE_SECONDS);
}

enum outcome expire_pexpire(struct call *call)
{
    return set_expiry(call, 0);
}

enum outcome expire_expireat(struct call *call)
{
    return set_expiry(call, EXPIRE_SECONDS | EXPIRE_ABSOLUTE);
}

enum outcome expire_pexpireat(struct call *call)
{
    return set_expiry(call, EXPIRE_ABSOLUTE);
}

/* -2: no such key; -1: it does not expire. */
static enum outcome show_expiry(struct call *call, uint32_t form)
{
    struct key key = call_key(call);
    struct value value;
    int64_t now_ms = call_fresh_ms(call);
    enum find found = keyspace_find(&call->access, &key, &value);
    if (found == FIND_LOCK)
        return OUTCOME_NEED_LOCK;
    if (found == FIND_MISSING)
        return call_integer(call, -2);
    if (value.expires_ms == EXPIRES_NEVER)
        return call_integer(call, -1);

    int64_t shown = form & EXPIRE_ABSOLUTE ? value.expires_ms : value.expires_ms - now_ms;
    if (shown < 0)
        shown = 0;
    if (form & EXPIRE_SECONDS)
        shown = shown / 1000 + (shown % 1000 >= 500);
    return call_integer(call, shown);
}

enum outcome expire_ttl(struct call *call)
{
    return show_expiry(call, EXPIRE_SECONDS);
}

enum outcome expire_pttl(struct call *call)
{
    return show_expiry(call, 0);
}

enum outcome expire_expiretime(struct call *call)
{
    return show_expiry(call, EXPIRE_SECONDS | EXPIRE_ABSOLUTE);
}

enum outcome expire_pexpiretime(struct call *call)
{
    return show_expiry(call, EXPIRE_ABSOLUTE);
}

enum outcome expire_persist(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    if (keyspace_peek(&call->access, &key, &value) != FIND_FOUND ||
        value.expires_ms == EXPIRES_NEVER)
        return call_integer(call, 0);
    enum status status = keyspace_set_expiry(&call->access, &key, EXPIRES_NEVER);
    if (status != STATUS_OK)
        return call_status(call, status);
    return call_integer(call, 1);
}
