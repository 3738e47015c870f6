/* SPDX-License-Identifier: MIT
 *
 * DUMP and RESTORE: values as bytes, from one server to another.
 */
#include "base/alloc.h"
#include "base/lzf.h"
#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"
#include "command/payload.h"

enum outcome dump_dump(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    enum find found = keyspace_find(&call->access, &key, &value);
    if (found == FIND_LOCK)
        return OUTCOME_NEED_LOCK;
    if (found == FIND_MISSING)
        return call_missing(call);
    char *bytes = alloc_get(payload_room(&value));
    if (bytes == NULL)
        return call_status(call, STATUS_NO_MEMORY);
    call->reply->ops->bytes(call->reply, bytes_of(bytes, payload_write(bytes, &value)));
    alloc_free(bytes);
    return OUTCOME_DONE;
}

struct restore_options {
    bool replace, absolute;
    int64_t idle_s, frequency; /* -1: not given */
};

static enum outcome refuse(struct call *call, const char *code, const char *text)
{
    reply_errorf(call->reply, code, "%s", text);
    return OUTCOME_DONE;
}

/* False: an error was emitted. Idle time and frequency are checked and not kept, since the engine
 * knows neither. */
static bool parse_options(struct call *call, struct restore_options *out)
{
    *out = (struct restore_options){.idle_s = -1, .frequency = -1};
    for (uint32_t i = 4; i < call->argc; i++) {
        struct bytes option = call->argv[i];
        bool more = i + 1 < call->argc;
        if (bytes_equal_text_nocase(option, "replace")) {
            out->replace = true;
        } else if (bytes_equal_text_nocase(option, "absttl")) {
            out->absolute = true;
        } else if (bytes_equal_text_nocase(option, "idletime") && more && out->frequency == -1) {
            if (!number_parse_i64(call->argv[++i], &out->idle_s)) {
                reply_status(call->reply, STATUS_NOT_INTEGER);
                return false;
            }
            if (out->idle_s < 0) {
                refuse(call, "ERR", "Invalid IDLETIME value, must be >= 0");
                return false;
            }
        } else if (bytes_equal_text_nocase(option, "freq") && more && out->idle_s == -1) {
            if (!number_parse_i64(call->argv[++i], &out->frequency)) {
                reply_status(call->reply, STATUS_NOT_INTEGER);
                return false;
            }
            if (out->frequency < 0 || out->frequency > 255) {
                refuse(call, "ERR", "Invalid FREQ value, must be >= 0 and <= 255");
                return false;
            }
        } else {
            reply_status(call->reply, STATUS_SYNTAX);
            return false;
        }
    }
    return true;
}

static enum status store(struct call *call, const struct key *key, const struct payload *payload,
                         int64_t expires_ms)
{
    if (!payload->packed)
        return keyspace_set(&call->access, key, payload->text, expires_ms, NULL);
    if (payload->size < BLOB_VALUE_SIZE_MIN) {
        char unpacked[BLOB_VALUE_SIZE_MIN];
        lzf_unpack(payload->text, unpacked);
        return keyspace_set(&call->access, key, bytes_of(unpacked, payload->size), expires_ms,
                            NULL);
    }
    struct blob *blob = blob_create(call->access.engine, payload->size, LIMIT_HOLDS);
    if (blob == NULL)
        return STATUS_NO_MEMORY;
    lzf_unpack(payload->text, blob_data(blob));
    struct bytes value = bytes_of(blob_data(blob), payload->size);
    return keyspace_set(&call->access, key, value, expires_ms, blob);
}

/* False: an error was emitted. */
static bool parse_ttl(struct call *call, bool absolute, int64_t *out_ms)
{
    int64_t ttl_ms;
    if (!number_parse_i64(call->argv[2], &ttl_ms)) {
        reply_status(call->reply, STATUS_NOT_INTEGER);
        return false;
    }
    *out_ms = ttl_ms == 0 ? EXPIRES_NEVER : ttl_ms;
    if (ttl_ms >= 0 &&
        (absolute || ttl_ms == 0 || !__builtin_add_overflow(ttl_ms, call_fresh_ms(call), out_ms)))
        return true;
    refuse(call, "ERR",
           ttl_ms < 0 ? "Invalid TTL value, must be >= 0"
                      : "invalid expire time in 'restore' command");
    return false;
}

enum outcome dump_restore(struct call *call)
{
    struct restore_options options;
    if (!parse_options(call, &options))
        return OUTCOME_DONE;
    struct key key = call_key(call);
    struct value old;
    call_fresh_ms(call); /* before the first look: one command, one time */
    if (!options.replace && keyspace_peek(&call->access, &key, &old) == FIND_FOUND)
        return refuse(call, "BUSYKEY", "Target key name already exists.");
    int64_t expires_ms;
    if (!parse_ttl(call, options.absolute, &expires_ms))
        return OUTCOME_DONE;
    struct payload payload;
    if (!payload_is_whole(call->argv[3]))
        return refuse(call, "ERR", "DUMP payload version or checksum are wrong");
    if (!payload_read(call->argv[3], &payload))
        return refuse(call, "ERR", "Bad data format");
    if (expires_ms == EXPIRES_NEVER || expires_ms > call->access.now_ms)
        return call_status(call, store(call, &key, &payload, expires_ms));
    keyspace_delete(&call->access, &key); /* what is restored is dead already */
    return call_status(call, STATUS_OK);
}
