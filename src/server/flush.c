/* SPDX-License-Identifier: MIT */
#include "server/flush.h"

#include "engine/keyspace.h"
#include "engine/lockset.h"
#include "os/clock.h"

void flush_plan(struct worker *worker, int64_t at_ms)
{
    atomic_store(&worker->server->flush_at_ms, at_ms);
    flush_watch(worker);
}

void flush_run(struct worker *worker)
{
    struct server *server = worker->server;
    int64_t at_ms = atomic_load(&server->flush_at_ms);
    struct access access = {.engine = server->engine,
                            .thread = worker->engine_thread,
                            .now_ms = worker->now_ms,
                            .locked = true};
    struct lockset set;

    if (at_ms == 0 || at_ms > worker->now_ms ||
        !atomic_compare_exchange_strong(&server->flush_at_ms, &at_ms, 0))
        return;
    lockset_init(&set);
    lockset_add_all(&set, server->engine);
    lockset_acquire(&set, server->engine, true);
    keyspace_flush(&access, 0);
    lockset_release(&set, server->engine);
}

void flush_watch(struct worker *worker)
{
    int64_t at_ms = atomic_load(&worker->server->flush_at_ms);
    int64_t left_ms = at_ms - clock_engine_ms();

    if (at_ms != 0)
        loop_alarm(worker->loop, left_ms > 0 ? (uint64_t)left_ms + 1 : 1);
}
