/* SPDX-License-Identifier: MIT
 *
 * How a command runs follows from its row:
 *
 *   no keys              as it is, and again under every shard when the handler asks;
 *                        COMMAND_ALL_KEYS under every shard at once, COMMAND_EXECUTES under the
 *                        shards of all that is queued and watched
 *   one key, READ        without a lock, and again under it when the handler asks
 *   one key              under the lock of its shard, no mark: one publication is atomic
 *   several keys, READ   twice at most between two looks at the shards' write counters, then under
 *                        their locks
 *   several keys         under their locks; marked if COMMAND_WRITE
 *
 * Memory is reserved before any lock is taken. Commands of several keys read the clock once, after
 * locking, so that none runs at a time before a change it can see.
 *
 * The common way (no transaction, one key) is kept short: what it does not need is not even
 * initialised, and everything unusual is behind one branch.
 */
#include "command/dispatch.h"

#include <ctype.h>
#include <stdio.h>

#include "base/ensure.h"
#include "command/call.h"
#include "command/transaction.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum { READ_ATTEMPTS = 2, SHOWN_SIZE_MAX = 128 };

/* Whether `hash` is that of a key. */
static inline bool has_key(const struct request *request)
{
    const struct command *command = request->command;
    return command != NULL && command->key_first != 0 && command_arity_ok(command, request->argc);
}

/* Whether `request` asks for what was asked in its place before. A wire that names commands itself
 * does so with constants, which the linker keeps once; others just never look the same. */
static inline bool asks_again(const struct request *request)
{
    const struct command *before = request->command;
    return before != NULL && before->name == request->argv[0].data && before->parent == NULL;
}

void dispatch_prepare(const struct client *client, struct request *request)
{
    const struct command *command =
        asks_again(request) ? request->command : command_find(request->argv[0]);
    if (command != NULL && UNLIKELY(command->flags & (COMMAND_PARENT | COMMAND_ITEM))) {
        if (command->flags & COMMAND_ITEM)
            command = request->terms != NULL ? command : NULL;
        else if (request->argc > 1)
            command = command_find_sub(command, request->argv[1]);
    }
    request->command = command;
    if (has_key(request))
        request->hash = key_of(client->hash_seed, request->argv[command->key_first]).hash;
}

static inline struct access client_access(const struct client *client, int64_t now_ms)
{
    return (struct access){
        .engine = client->engine, .thread = client->thread, .now_ms = now_ms, .db = client->db};
}

void dispatch_prefetch_bucket(const struct client *client, const struct request *request)
{
    if (has_key(request)) {
        struct access access = client_access(client, 0);
        keyspace_prefetch_bucket(&access, request->hash);
    }
}

void dispatch_prefetch_entry(const struct client *client, const struct request *request)
{
    if (has_key(request)) {
        struct access access = client_access(client, 0);
        keyspace_prefetch_entry(&access, request->hash);
    }
}

/* ---- what is refused before it runs */

static void reject_unknown(const struct request *request, struct reply *reply)
{
    char arguments[SHOWN_SIZE_MAX + 8] = "";
    size_t size = 0;
    for (uint32_t i = 1; i < request->argc && size < SHOWN_SIZE_MAX; i++)
        size += (size_t)snprintf(arguments + size, sizeof(arguments) - size, "'%.*s' ",
                                 SHOWN(request->argv[i], SHOWN_SIZE_MAX - size));
    reply_errorf(reply, "ERR", "unknown command '%.*s', with args beginning with: %s",
                 SHOWN(request->argv[0], SHOWN_SIZE_MAX), arguments);
}

static void reject_unknown_sub(const struct request *request, struct reply *reply)
{
    char parent[COMMAND_NAME_SIZE_MAX + 1];
    size_t size = 0;
    for (; request->command->name[size] != '\0'; size++)
        parent[size] = (char)toupper((unsigned char)request->command->name[size]);
    reply_errorf(reply, "ERR", "unknown subcommand '%.*s'. Try %.*s HELP.",
                 SHOWN(request->argv[1], SHOWN_SIZE_MAX), (int)size, parent);
}

static void reject(struct client *client, const struct command *command, struct reply *reply,
                   enum status status)
{
    if (command->flags & COMMAND_EXECUTES) {
        transaction_end(client);
        reply_errorf(reply, "EXECABORT", "Transaction discarded because of: %s %s",
                     status_code(status), status_text(status));
    } else {
        reply_status(reply, status);
    }
}

static void reject_arity(struct client *client, const struct command *command, struct reply *reply)
{
    if (command->flags & COMMAND_EXECUTES) {
        transaction_end(client);
        reply_errorf(reply, "EXECABORT",
                     "Transaction discarded because of: wrong number of arguments for '%s' command",
                     command->name);
    } else {
        reply_wrong_arity(reply, command);
    }
}

static enum status queue(struct client *client, struct request *request, struct reply *reply)
{
    if (request->command->flags & COMMAND_NO_MULTI) {
        reply_errorf(reply, "ERR", "Command not allowed inside a transaction");
        return STATUS_SYNTAX;
    }
    enum status status = STATUS_OK;
    if (request->command->flags & COMMAND_GROWS)
        status = engine_reserve(client->engine, request_growth_bytes(request));
    if (status == STATUS_OK)
        status = transaction_queue(client, request);
    if (status == STATUS_OK)
        reply->ops->word(reply, "QUEUED");
    else
        reply_status(reply, status);
    return status;
}

enum refusal { REFUSAL_NONE, UNKNOWN, UNKNOWN_SUB, WRONG_ARITY, NOT_AUTHENTICATED, DENIED };

static enum refusal refusal_of(const struct client *client, const struct request *request)
{
    const struct command *command = request->command;

    if (command == NULL)
        return UNKNOWN;
    if ((command->flags & COMMAND_PARENT) && request->argc > 1)
        return UNKNOWN_SUB;
    if (!command_arity_ok(command, request->argc) || command->handler == NULL)
        return WRONG_ARITY;
    if (!client->authenticated && !request->admitted && !(command->flags & COMMAND_NO_AUTH))
        return NOT_AUTHENTICATED;
    return client_denies(client, command) ? DENIED : REFUSAL_NONE;
}

bool dispatch_refuses(const struct client *client, const struct request *request)
{
    return refusal_of(client, request) != REFUSAL_NONE;
}

/* Everything but the common way. RAN: the request is to run now. Whatever is refused here spoils
 * the transaction it would have been part of. */
static enum dispatched admit(struct client *client, struct request *request, struct reply *reply)
{
    const struct command *command = request->command;

    if (client->unheard)
        return DISPATCH_REJECTED;
    switch (refusal_of(client, request)) {
    case UNKNOWN:
        reject_unknown(request, reply);
        break;
    case UNKNOWN_SUB:
        reject_unknown_sub(request, reply);
        break;
    case WRONG_ARITY:
        reject_arity(client, command, reply);
        break;
    case NOT_AUTHENTICATED:
        reject(client, command, reply, STATUS_NO_AUTH);
        break;
    case DENIED:
        reply_errorf(reply, "ERR", "Replica can't interact with the keyspace");
        break;
    case REFUSAL_NONE:
        if (!client->in_multi || (command->flags & COMMAND_CONTROL))
            return DISPATCH_RAN;
        if (queue(client, request, reply) == STATUS_OK)
            return DISPATCH_QUEUED;
    }
    client->multi_failed = client->in_multi; /* EXEC will refuse */
    return DISPATCH_REJECTED;
}

/* ---- running */

static inline enum outcome run_handler(struct call *call)
{
    return call->command->handler(call);
}

static void run_locked(struct call *call)
{
    call->access.locked = true;
    enum outcome outcome = run_handler(call);
    ENSURE(outcome == OUTCOME_DONE);
}

static inline void run_one_key(struct call *call)
{
    if ((call->command->flags & COMMAND_READ) && run_handler(call) == OUTCOME_DONE)
        return;
    lock_key(call->access.engine, call->hash);
    run_locked(call);
    unlock_key(call->access.engine, call->hash);
}

static void run_under(struct call *call, struct lockset *set, bool mark)
{
    lockset_acquire(set, call->access.engine, mark);
    call->time_fresh = false;
    call_fresh_ms(call);
    run_locked(call);
    lockset_release(set, call->access.engine);
}

/* False: it needs the locks. */
static bool run_between_snapshots(struct call *call, const struct lockset *set)
{
    struct snapshot_check check;
    bool done = false;
    for (int attempt = 0; attempt < READ_ATTEMPTS && !done; attempt++) {
        if (!snapshot_begin(&check, call->access.engine, set))
            break;
        call->snapshot = &check;
        call->torn = false;
        call->time_fresh = false;
        call_fresh_ms(call);
        done = run_handler(call) == OUTCOME_DONE;
        if (!done && !call->torn)
            break; /* it met something that only a lock resolves */
    }
    call->snapshot = NULL;
    return done;
}

static __attribute__((noinline)) void run_many_keys(struct call *call, uint32_t count)
{
    const struct command *command = call->command;
    struct engine *engine = call->access.engine;
    struct lockset set;
    uint64_t hashes[CALL_HASHES_MAX];

    lockset_init(&set);
    hashes[0] = call->hash;
    lockset_add(&set, engine, call->hash);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t hash = call_key_nth(call, i).hash;
        if (i < CALL_HASHES_MAX)
            hashes[i] = hash;
        lockset_add(&set, engine, hash);
    }
    call->hashes = hashes;
    if ((command->flags & COMMAND_READ) && run_between_snapshots(call, &set))
        return;
    run_under(call, &set, (command->flags & COMMAND_WRITE) != 0);
}

static __attribute__((noinline)) void run_all_keys(struct call *call)
{
    struct lockset set;
    lockset_init(&set);
    lockset_add_all(&set, call->access.engine);
    run_under(call, &set, (call->command->flags & COMMAND_WRITE) != 0);
}

static __attribute__((noinline)) enum dispatched run_queued(struct call *call)
{
    struct client *client = call->client;
    if (!client->in_multi) {
        run_handler(call);
        return DISPATCH_RAN;
    }
    if (client->multi_failed) {
        run_handler(call);
    } else {
        enum status status = transaction_reserve(client);
        if (status != STATUS_OK) {
            reject(client, call->command, call->reply, status);
            return DISPATCH_REJECTED;
        }
        struct lockset set;
        lockset_init(&set);
        bool mark = transaction_lock_shards(client, &set);
        run_under(call, &set, mark);
    }
    transaction_end(client);
    return DISPATCH_RAN;
}

enum dispatched dispatch_run(struct client *client, struct request *request, int64_t now_ms,
                             struct reply *reply)
{
    const struct command *command = request->command;
    if (UNLIKELY(command == NULL || !command_arity_ok(command, request->argc) ||
                 (command->flags & COMMAND_PARENT) || !client->authenticated || client->in_multi ||
                 client->no_keys)) {
        enum dispatched admitted = admit(client, request, reply);
        if (admitted != DISPATCH_RAN)
            return admitted;
    }

    uint32_t flags = command->flags;
    if (flags & COMMAND_GROWS) {
        enum status status = engine_reserve(client->engine, request_growth_bytes(request));
        if (UNLIKELY(status != STATUS_OK)) {
            reject(client, command, reply, status);
            return DISPATCH_REJECTED;
        }
    }

    struct call call;
    call.command = command;
    call.argc = request->argc;
    call.argv = request->argv;
    call.blobs = request->blobs;
    call.terms = request->terms;
    call.hash = request->hash;
    call.access = client_access(client, now_ms);
    call.client = client;
    call.reply = reply;
    call.hashes = NULL;
    call.snapshot = NULL;
    call.torn = false;
    call.time_fresh = false;

    if (command->key_first != 0) {
        uint32_t count = command_key_count(command, request->argc);
        if (count == 1)
            run_one_key(&call);
        else
            run_many_keys(&call, count);
    } else if (flags & COMMAND_ALL_KEYS) {
        run_all_keys(&call);
    } else if (UNLIKELY(flags & COMMAND_EXECUTES)) {
        return run_queued(&call);
    } else if (run_handler(&call) == OUTCOME_NEED_LOCK) {
        run_all_keys(&call);
    }
    return DISPATCH_RAN;
}
