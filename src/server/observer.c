/* SPDX-License-Identifier: MIT */
#include "server/observer.h"

#include "server/session.h"

void observer_refresh(struct worker *worker)
{
    struct server *server = worker->server;
    struct observer *observer = &worker->observer;
    struct options *options = &server->options;

    /* The number first: what changes after it is seen by the next look. */
    observer->seen = atomic_load(&server->observed);
    uint32_t resets = atomic_load(&server->stats_resets);
    if (resets != atomic_load_explicit(&observer->stats.resets, memory_order_relaxed))
        command_stats_restart(&observer->stats, resets);
    observer->tracks = options->latency_tracking != 0;
    observer->exact = false;
    observer->slow_ticks = UINT64_MAX;
}

void observer_begin(struct worker *worker)
{
    struct observer *observer = &worker->observer;

    if (observer->seen != atomic_load_explicit(&worker->server->observed, memory_order_relaxed))
        observer_refresh(worker);
    observer->since_ticks = clock_ticks();
}

/* The thread may have moved to a processor that is a little behind. */
static uint64_t ticks_between(uint64_t since, uint64_t now)
{
    return now > since ? now - since : 0;
}

void observer_run_ended(struct session *session, const struct request *first, uint32_t count)
{
    struct observer *observer = &session->worker->observer;
    const struct command *command = first->command;
    uint64_t now = clock_ticks(), ticks = ticks_between(observer->since_ticks, now);

    observer->since_ticks = now;
    if (count == 0)
        return;
    /* What it has changed holds for itself already, as in Redis. */
    if (command->flags & COMMAND_ADMIN)
        observer_refresh(session->worker);
    command_counts_add(&observer->stats.commands[command->id], count, clock_ticks_to_ns(ticks),
                       observer->tracks);
}

void observer_note(struct worker *worker, const struct command *command, enum dispatched how)
{
    if (command == NULL)
        return;
    struct command_counts *counts = &worker->observer.stats.commands[command->id];

    if (how == DISPATCH_REJECTED)
        counter_add(&counts->rejected, 1);
    else if (how == DISPATCH_RAN)
        counter_add(&counts->failed, 1);
}

/* ---- requests that EXEC runs */

static struct session *session_of_client(struct client *client)
{
    return (struct session *)client;
}

static void exec_begins(struct client *client, const struct request *request)
{
    (void)request;
    session_of_client(client)->worker->observer.exec_ticks = clock_ticks();
}

static void exec_ended(struct client *client, const struct request *request, bool errored)
{
    struct worker *worker = session_of_client(client)->worker;
    struct observer *observer = &worker->observer;
    uint64_t ticks = ticks_between(observer->exec_ticks, clock_ticks());

    if (request->command->flags & COMMAND_ADMIN)
        observer_refresh(worker);
    command_counts_add(&observer->stats.commands[request->command->id], 1, clock_ticks_to_ns(ticks),
                       observer->tracks);
    if (errored)
        observer_note(worker, request->command, DISPATCH_RAN);
}

const struct exec_observer observer_of_exec = {.begins = exec_begins, .ended = exec_ended};

/* ---- the loop */

void observer_awake(struct worker *worker)
{
    worker->observer.awake_ticks = clock_ticks();
}

void observer_asleep(struct worker *worker)
{
    struct observer *observer = &worker->observer;
    uint64_t ticks = ticks_between(observer->awake_ticks, clock_ticks());

    counter_add(&observer->iterations_ns, clock_ticks_to_ns(ticks));
}
