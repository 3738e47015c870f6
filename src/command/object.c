/* SPDX-License-Identifier: MIT
 *
 * OBJECT: how a value is kept, in the words of Redis.
 *
 * The engine keeps neither when nor how often a key was used, so two of the questions have no
 * answer but that.
 */
#include "command/object.h"

#include "command/call.h"
#include "command/handlers.h"

/* The longest string that Redis keeps in one piece with its key's object. */
enum { EMBEDDED_SIZE_MAX = 44 };

const char *object_encoding_name(const struct value *value)
{
    if (value->is_integer)
        return "int";
    return !value->in_place && value->size <= EMBEDDED_SIZE_MAX ? "embstr" : "raw";
}

uint32_t object_holder_count(const struct value *value)
{
    return value->blob != NULL ? blob_holder_count(value->blob) : 1;
}

/* False: there is no such key, which was answered, or `*outcome` is all there is to return. */
static bool look(struct call *call, struct value *value, enum outcome *outcome)
{
    struct key key = call_key(call);
    enum find found = keyspace_peek(&call->access, &key, value);
    *outcome = found == FIND_LOCK ? OUTCOME_NEED_LOCK : OUTCOME_DONE;
    if (found == FIND_MISSING)
        call->reply->ops->missing(call->reply);
    return found == FIND_FOUND;
}

enum outcome object_encoding(struct call *call)
{
    struct value value;
    enum outcome outcome;
    if (!look(call, &value, &outcome))
        return outcome;
    call->reply->ops->bytes(call->reply, bytes_of_text(object_encoding_name(&value)));
    return OUTCOME_DONE;
}

enum outcome object_refcount(struct call *call)
{
    struct value value;
    enum outcome outcome;
    if (!look(call, &value, &outcome))
        return outcome;
    return call_integer(call, object_holder_count(&value));
}

static enum outcome refuse(struct call *call, const char *why)
{
    struct value value;
    enum outcome outcome;
    if (look(call, &value, &outcome))
        reply_errorf(call->reply, "ERR", "%s", why);
    return outcome;
}

enum outcome object_freq(struct call *call)
{
    return refuse(call, "access frequency not tracked");
}

enum outcome object_idletime(struct call *call)
{
    return refuse(call, "idle time not tracked");
}

enum outcome object_help(struct call *call)
{
    static const char *const lines[] = {
        "ENCODING <key>",
        "    Tell how the value is kept: int, embstr or raw.",
        "FREQ <key>",
        "    Always refused: how often keys are used is not kept.",
        "IDLETIME <key>",
        "    Always refused: when keys were last used is not kept.",
        "REFCOUNT <key>",
        "    Tell how many share the memory of the value.",
        NULL,
    };
    reply_help(call->reply, "OBJECT", lines);
    return OUTCOME_DONE;
}
