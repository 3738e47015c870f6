/* SPDX-License-Identifier: MIT
 *
 * MULTI, EXEC, DISCARD, WATCH, UNWATCH.
 *
 * Queued requests are copies (command/request.h), which take over arguments that arrived in blobs.
 *
 * Isolation comes from the dispatcher, which holds the shards of every queued and every watched key
 * while the EXEC handler runs. Watched keys are forgotten after those locks are released, since
 * watcher_clear takes them itself; so UNWATCH inside EXEC has nothing to do.
 */
#include "command/transaction.h"

#include <string.h>

#include "base/alloc.h"
#include "base/ensure.h"
#include "command/call.h"
#include "command/handlers.h"

/* What one transaction may hold, its big arguments included: no client may fill the memory with
 * requests that never run. */
#define TRANSACTION_SIZE_MAX ((uint64_t)1 << 30)

struct transaction {
    struct request_copy *first, *last;
    uint32_t count;
    uint32_t flags;        /* of all queued commands */
    uint64_t size;         /* bytes held */
    uint64_t growth_bytes; /* what queued COMMAND_GROWS requests may add */
};

uint64_t request_growth_bytes(const struct request *request)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < request->argc; i++) {
        if (request->blobs == NULL || request->blobs[i] == NULL)
            bytes += request->argv[i].size;
    }
    return bytes;
}

enum status transaction_queue(struct client *client, struct request *request)
{
    struct transaction *transaction = client->transaction;
    uint64_t growth_bytes = request_growth_bytes(request);

    if (request_copy_size(request) > TRANSACTION_SIZE_MAX - transaction->size)
        return STATUS_TRANSACTION_TOO_LARGE;
    struct request_copy *queued = request_copy(request);
    if (queued == NULL)
        return STATUS_NO_MEMORY;
    transaction->size += queued->size;
    if (transaction->last != NULL)
        transaction->last->next = queued;
    else
        transaction->first = queued;
    transaction->last = queued;
    transaction->count++;
    transaction->flags |= request->command->flags;
    if (request->command->flags & COMMAND_GROWS)
        transaction->growth_bytes += growth_bytes;
    return STATUS_OK;
}

enum status transaction_reserve(const struct client *client)
{
    const struct transaction *transaction = client->transaction;
    if (!(transaction->flags & COMMAND_GROWS))
        return STATUS_OK;
    return engine_reserve(client->engine, transaction->growth_bytes);
}

bool transaction_lock_shards(const struct client *client, struct lockset *set)
{
    const struct transaction *transaction = client->transaction;
    if (transaction->flags & (COMMAND_ALL_KEYS | COMMAND_UNLOCKED)) {
        lockset_add_all(set, client->engine);
    } else {
        for (const struct request_copy *queued = transaction->first; queued;
             queued = queued->next) {
            const struct request *request = &queued->request;
            uint32_t keys = command_key_count(request->command, request->argc);
            if (keys > 0)
                lockset_add(set, client->engine, request->hash);
            for (uint32_t i = 1; i < keys; i++) {
                struct bytes key = request->argv[call_key_index(request->command, i)];
                lockset_add(set, client->engine, key_of(client->hash_seed, key).hash);
            }
        }
        if (client->watcher != NULL)
            watcher_lock_shards(client->watcher, client->engine, set);
    }
    return (transaction->flags & COMMAND_WRITE) != 0;
}

uint32_t transaction_count(const struct client *client)
{
    return client->transaction != NULL ? client->transaction->count : 0;
}

uint64_t transaction_size(const struct client *client)
{
    return client->transaction != NULL ? client->transaction->size : 0;
}

bool transaction_writes(const struct client *client)
{
    return client->transaction != NULL && (client->transaction->flags & COMMAND_WRITE) != 0;
}

static void unwatch(struct client *client)
{
    if (client->watcher == NULL)
        return;
    watcher_clear(client->watcher, client->engine);
    alloc_free(client->watcher);
    client->watcher = NULL;
}

void transaction_end(struct client *client)
{
    client->in_multi = false;
    client->multi_failed = false;
    unwatch(client);
    if (client->transaction == NULL)
        return;
    struct request_copy *queued = client->transaction->first;
    while (queued != NULL) {
        struct request_copy *next = queued->next;
        request_copy_free(queued);
        queued = next;
    }
    alloc_free(client->transaction);
    client->transaction = NULL;
}

enum outcome transaction_multi(struct call *call)
{
    struct client *client = call->client;
    if (client->in_multi)
        return call_status(call, STATUS_NESTED_MULTI);
    client->transaction = alloc_zeroed(1, sizeof(*client->transaction));
    if (client->transaction == NULL)
        return call_status(call, STATUS_NO_MEMORY);
    client->in_multi = true;
    client->multi_failed = false;
    return call_status(call, STATUS_OK);
}

static void run_queued(const struct call *exec, struct request *request)
{
    struct call call = {
        .command = request->command,
        .argc = request->argc,
        .argv = request->argv,
        .blobs = request->blobs,
        .hash = request->hash,
        .access = exec->access,
        .client = exec->client,
        .reply = exec->reply,
        .time_fresh = true,
    };
    call.access.db = exec->client->db; /* a SELECT queued before may have changed it */
    const struct exec_observer *observer = exec->client->exec_observer;
    if (observer != NULL)
        observer->begins(exec->client, request);
    exec->reply->errored = false;
    enum outcome outcome = call.command->handler(&call);
    ENSURE(outcome == OUTCOME_DONE);
    if (observer != NULL)
        observer->ended(exec->client, request, exec->reply->errored);
    exec->reply->errored = false; /* it is not EXEC that has failed */
}

/* The dispatcher holds every shard this needs, and calls transaction_end afterwards. */
enum outcome transaction_exec(struct call *call)
{
    struct client *client = call->client;
    if (!client->in_multi)
        return call_status(call, STATUS_EXEC_WITHOUT_MULTI);
    if (client->multi_failed)
        return call_status(call, STATUS_EXEC_ABORTED);
    if (client->watcher != NULL && watcher_changed(client->watcher, &call->access)) {
        call->reply->ops->missing_list(call->reply);
        return OUTCOME_DONE;
    }
    call->reply->ops->list(call->reply, client->transaction->count);
    for (struct request_copy *queued = client->transaction->first; queued; queued = queued->next)
        run_queued(call, &queued->request);
    return OUTCOME_DONE;
}

enum outcome transaction_discard(struct call *call)
{
    if (!call->client->in_multi)
        return call_status(call, STATUS_DISCARD_WITHOUT_MULTI);
    transaction_end(call->client);
    return call_status(call, STATUS_OK);
}

enum outcome transaction_watch(struct call *call)
{
    struct client *client = call->client;
    if (client->in_multi)
        return call_status(call, STATUS_WATCH_IN_MULTI);
    if (client->watcher == NULL) {
        client->watcher = alloc_get(sizeof(*client->watcher));
        if (client->watcher == NULL)
            return call_status(call, STATUS_NO_MEMORY);
        watcher_init(client->watcher);
    }
    for (uint32_t i = 0; i < call->argc - 1; i++) {
        struct key key = call_key_nth(call, i);
        enum status status = watcher_add(client->watcher, &call->access, &key);
        if (status != STATUS_OK)
            return call_status(call, status);
    }
    return call_status(call, STATUS_OK);
}

enum outcome transaction_unwatch(struct call *call)
{
    if (!call->access.locked)
        unwatch(call->client);
    return call_status(call, STATUS_OK);
}
