/* SPDX-License-Identifier: MIT
 *
 * What a client has queued since MULTI. Owned by the client's thread.
 */
#ifndef LARDER_COMMAND_TRANSACTION_H
#define LARDER_COMMAND_TRANSACTION_H

#include "command/client.h"
#include "command/request.h"
#include "engine/lockset.h"

/* Bytes the request's arguments will need when it is stored; blobs are accounted for already. */
uint64_t request_growth_bytes(const struct request *request);

/* Queues a copy of a prepared request and takes over its blobs. On failure the caller spoils the
 * transaction. */
enum status transaction_queue(struct client *client, struct request *request) MUST_USE;
/* NO_MEMORY when what is queued would exceed the limit. Before locking. */
enum status transaction_reserve(const struct client *client) MUST_USE;
/* Adds the shards of every queued key and of every watched one; returns whether EXEC will write. */
bool transaction_lock_shards(const struct client *client, struct lockset *set);
/* What is queued: how many requests, how many bytes, and whether one of them writes. */
uint32_t transaction_count(const struct client *client);
uint64_t transaction_size(const struct client *client);
bool transaction_writes(const struct client *client);
/* Ends MULTI, forgetting what was queued and watched. No shard may be locked. */
void transaction_end(struct client *client);

#endif
