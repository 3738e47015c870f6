/* SPDX-License-Identifier: MIT
 *
 * What handlers share: keys and time of a call, consistent reads, short answers.
 *
 * A handler that meets FIND_LOCK, or whose call_consistent answers false, returns OUTCOME_NEED_LOCK
 * and has emitted nothing by then.
 */
#ifndef LARDER_COMMAND_CALL_H
#define LARDER_COMMAND_CALL_H

#include "command/client.h"
#include "command/command.h"
#include "command/item.h"
#include "engine/lockset.h"

/* Keys whose hashes the dispatcher keeps from choosing the locks; those behind are hashed again. */
enum { CALL_HASHES_MAX = 32 };

static inline uint32_t call_key_index(const struct command *command, uint32_t nth)
{
    return (uint32_t)command->key_first + nth * (uint32_t)command->key_step;
}

/* How many keys the arguments hold. */
static inline uint32_t command_key_count(const struct command *command, uint32_t argc)
{
    if (command->key_first == 0)
        return 0;
    if (command->key_last == command->key_first)
        return 1;
    int64_t last = command->key_last < 0 ? (int64_t)argc + command->key_last : command->key_last;
    if (last < command->key_first)
        return 0;
    return (uint32_t)((last - command->key_first) / command->key_step) + 1;
}

static inline struct key call_key(const struct call *call)
{
    return (struct key){call->argv[call->command->key_first], call->hash};
}

/* The `nth` key, from 0. */
static inline struct key call_key_nth(const struct call *call, uint32_t nth)
{
    struct bytes bytes = call->argv[call_key_index(call->command, nth)];
    if (nth == 0)
        return (struct key){bytes, call->hash};
    if (call->hashes != NULL && nth < CALL_HASHES_MAX)
        return (struct key){bytes, call->hashes[nth]};
    return key_of(call->client->hash_seed, bytes);
}

/* Makes the call run at the time it really is, and returns that: what a relative TTL starts from.
 */
static inline int64_t call_fresh_ms(struct call *call)
{
    if (!call->time_fresh) {
        call->time_fresh = true;
        if (call->client->clock_ms != NULL) {
            int64_t now_ms = call->client->clock_ms();
            if (now_ms > call->access.now_ms)
                call->access.now_ms = now_ms;
        }
    }
    return call->access.now_ms;
}

/* To be asked after the last read and before the first reply of a command that reads several keys:
 * whether what was read is one state. */
static inline bool call_consistent(struct call *call)
{
    if (call->access.locked || call->snapshot == NULL)
        return true;
    call->torn = !snapshot_valid(call->snapshot, call->access.engine);
    return !call->torn;
}

/* The blob that argument `index` was received into, which the caller takes over, or NULL. */
static inline struct blob *call_take_blob(struct call *call, uint32_t index)
{
    struct blob *blob = NULL;
    if (call->blobs != NULL) {
        blob = call->blobs[index];
        call->blobs[index] = NULL;
    }
    return blob;
}

static inline enum outcome call_status(struct call *call, enum status status)
{
    reply_status(call->reply, status);
    return OUTCOME_DONE;
}

static inline enum outcome call_integer(struct call *call, int64_t integer)
{
    call->reply->ops->integer(call->reply, integer);
    return OUTCOME_DONE;
}

static inline enum outcome call_missing(struct call *call)
{
    call->reply->ops->missing(call->reply);
    return OUTCOME_DONE;
}

#endif
