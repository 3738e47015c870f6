/* SPDX-License-Identifier: MIT
 *
 * What the engine's side remembers of one client between commands: its database and its
 * transaction. Owned by one thread. The server's session and the library's handle embed it.
 */
#ifndef LARDER_COMMAND_CLIENT_H
#define LARDER_COMMAND_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "command/command.h"
#include "engine/watch.h"

struct item_counts;
struct transaction; /* queued requests; command/transaction.h */
struct request;

/* Who is told of each request that EXEC runs, right before and right after it: on the client's
 * thread, while the shards are locked. */
struct exec_observer {
    void (*begins)(struct client *client, const struct request *request);
    void (*ended)(struct client *client, const struct request *request, bool errored);
};

struct client {
    struct engine *engine;
    struct engine_thread *thread; /* of the thread that runs this client's commands */
    uint64_t hash_seed;           /* the engine's */
    /* Engine time now, for commands that cannot live with the loop's sample (relative TTLs, several
     * keys). NULL, as client_init leaves it: the time given to dispatch_run is fresh enough. */
    int64_t (*clock_ms)(void);
    uint32_t db;
    bool authenticated; /* false until the owner says otherwise */
    bool no_keys; /* its requests may not touch keys: it only watches what others do (MONITOR) */
    bool unheard; /* nothing it says is answered any more (memcached's watch); no_keys is set */
    bool in_multi;
    bool multi_failed;                         /* a request could not be queued: EXEC will refuse */
    struct transaction *transaction;           /* NULL until MULTI */
    struct watcher *watcher;                   /* NULL until WATCH */
    const struct exec_observer *exec_observer; /* NULL, as client_init leaves it: nobody */
    struct item_counts *item_counts;           /* where item commands are counted; NULL likewise */
};

/* Whether the client may not touch keys and this command does. */
static inline bool client_denies(const struct client *client, const struct command *command)
{
    return client->no_keys && (command->flags & (COMMAND_READ | COMMAND_WRITE)) != 0;
}

void client_init(struct client *client, struct engine *engine, struct engine_thread *thread);
/* Takes shard locks when keys are watched. */
void client_deinit(struct client *client);
/* Back to how a new connection is, authentication aside (RESET). */
void client_reset(struct client *client);

#endif
