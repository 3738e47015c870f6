/* SPDX-License-Identifier: MIT
 *
 * The way from a request to its reply: checks (known, arity, authentication, memory), queueing
 * inside MULTI, the locks a command needs, the handler. The only place that locks shards for
 * commands.
 */
#ifndef LARDER_COMMAND_DISPATCH_H
#define LARDER_COMMAND_DISPATCH_H

#include "command/client.h"
#include "command/request.h"

/* Finds `request->command` by argv[0] (and argv[1] for subcommands) and hashes its first key. NULL,
 * or the command of the request before in its place, stands there until then. */
void dispatch_prepare(const struct client *client, struct request *request);
/* Hints for a batch of prepared requests: call for all of them, then _entry for all, then run. */
void dispatch_prefetch_bucket(const struct client *client, const struct request *request);
void dispatch_prefetch_entry(const struct client *client, const struct request *request);
/* Whether a prepared request is refused whatever memory and a transaction say: it is unknown, its
 * arguments are too few or too many, or the client may not ask for it. */
bool dispatch_refuses(const struct client *client, const struct request *request);

enum dispatched {
    DISPATCH_RAN,      /* its handler did, whatever it answered */
    DISPATCH_QUEUED,   /* EXEC will run it */
    DISPATCH_REJECTED, /* refused before it ran */
};

/* Runs a prepared request at engine time `now_ms` and emits exactly one reply. The thread is
 * online. Blobs that the command did not keep stay in the request. */
enum dispatched dispatch_run(struct client *client, struct request *request, int64_t now_ms,
                             struct reply *reply);

#endif
