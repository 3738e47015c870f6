/* SPDX-License-Identifier: MIT */
#include "command/client.h"

#include "command/transaction.h"

void client_init(struct client *client, struct engine *engine, struct engine_thread *thread)
{
    *client = (struct client){
        .engine = engine,
        .thread = thread,
        .hash_seed = engine_hash_seed(engine),
    };
}

void client_deinit(struct client *client)
{
    transaction_end(client);
}

void client_reset(struct client *client)
{
    transaction_end(client);
    client->db = 0;
}
