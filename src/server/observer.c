/* SPDX-License-Identifier: MIT */
#include "server/observer.h"

#include <string.h>

#include "server/admin.h"
#include "server/clients.h"
#include "server/log.h"
#include "server/monitor.h"
#include "server/watch.h"

#define NS_PER_US ((uint64_t)1000)
#define NS_PER_MS ((uint64_t)1000000)

/* `count` units, or never. */
static uint64_t threshold_ticks(uint64_t count, uint64_t unit_ns)
{
    return clock_ns_to_ticks(count < UINT64_MAX / unit_ns ? count * unit_ns : UINT64_MAX);
}

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
    int64_t slow_us = options->slowlog_threshold_us;
    bool logs = slow_us >= 0 && options->slowlog_count_max > 0;
    observer->monitored = atomic_load(&server->monitors[MONITOR_REQUESTS]) > 0;
    observer->exact = observer->monitored || (logs && slow_us < EXACT_BELOW_US);
    observer->noted_ticks = logs ? threshold_ticks((uint64_t)slow_us, NS_PER_US) : UINT64_MAX;
    int64_t spike_ms = options->latency_threshold_ms;
    observer->slow_iteration_ticks =
        spike_ms > 0 ? threshold_ticks((uint64_t)spike_ms, NS_PER_MS) : UINT64_MAX;
    if (observer->slow_iteration_ticks < observer->noted_ticks)
        observer->noted_ticks = observer->slow_iteration_ticks;
    if (observer->monitored)
        observer->noted_ticks = 0;
    watch_refresh(worker);
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

/* ---- what is noted */

static void keep_heads(struct observer *observer, const struct request *request)
{
    observer->heads_kept = 0;
    for (uint32_t i = 0; request->blobs != NULL && i < request->argc && i < SLOWLOG_ARGUMENTS_MAX;
         i++) {
        if (request->blobs[i] == NULL)
            continue;
        size_t size = request->argv[i].size;
        memcpy(observer->heads[i], request->argv[i].data,
               size < SLOWLOG_SIZE_MAX ? size : SLOWLOG_SIZE_MAX);
        observer->heads_kept |= (uint32_t)1 << i;
    }
}

void observer_keep(struct session *session, const struct request *request)
{
    struct observer *observer = &session->worker->observer;

    keep_heads(observer, request);
    if (observer->monitored && request->blobs != NULL)
        monitor_show_early(session, request);
}

static void log_slow(struct session *session, const struct request *request, uint32_t together,
                     uint64_t duration_ns)
{
    struct observer *observer = &session->worker->observer;
    struct server *server = session->worker->server;
    struct bytes argv[SLOWLOG_ARGUMENTS_MAX];
    struct client_view view;
    char address[CLIENT_ADDRESS_SIZE];

    for (uint32_t i = 0; i < request->argc && i < SLOWLOG_ARGUMENTS_MAX; i++) {
        argv[i] = request->argv[i];
        if (request->blobs != NULL && (observer->heads_kept >> i & 1) != 0)
            argv[i].data = observer->heads[i];
        if (admin_is_secret(request, i))
            argv[i] = BYTES("(redacted)");
    }
    client_view_of(session, &view);
    client_view_address(&view, address);
    struct slowlog_note note = {
        .time_s = clock_engine_ms() / 1000,
        .duration_us = duration_ns / NS_PER_US,
        .address = bytes_of_text(address),
        .name = label_part(view.label, SESSION_NAME),
        .argc = request->argc,
        .argv = argv,
        .together = together,
    };
    enum status status =
        slowlog_add(&server->slowlog, &note, (uint64_t)server->options.slowlog_count_max);
    client_view_end(&view);
    if (status != STATUS_OK)
        log_line(LOG_WARNING, "a slow command of client %llu is not in the slow log: out of memory",
                 (unsigned long long)session->id);
}

/* A request, or a run of them, reached noted_ticks. */
static __attribute__((noinline, cold)) void note(struct session *session,
                                                 const struct request *request, uint32_t together,
                                                 uint64_t ticks)
{
    struct server *server = session->worker->server;
    struct options *options = &server->options;
    const struct command *command = request->command;
    uint64_t duration_ns = clock_ticks_to_ns(ticks);
    int64_t slow_us = options->slowlog_threshold_us, spike_ms = options->latency_threshold_ms;

    if (session->worker->observer.monitored)
        monitor_show(session, request);
    /* The slow log is told of EXEC by what it ran. */
    if (slow_us >= 0 && duration_ns / NS_PER_US >= (uint64_t)slow_us &&
        options->slowlog_count_max > 0 && !(command->flags & COMMAND_EXECUTES))
        log_slow(session, request, together, duration_ns);
    if (spike_ms > 0 && duration_ns / NS_PER_MS >= (uint64_t)spike_ms)
        latency_add(&server->latency,
                    command->flags & COMMAND_FAST ? LATENCY_FAST_COMMAND : LATENCY_COMMAND,
                    clock_engine_ms() / 1000, duration_ns / NS_PER_MS);
}

void observer_run_ended(struct session *session, const struct request *first, uint32_t count)
{
    struct observer *observer = &session->worker->observer;
    const struct command *command = first->command;
    uint64_t now = clock_ticks(), ticks = ticks_between(observer->since_ticks, now);

    observer->since_ticks = now;
    if (count == 0) {
        monitor_cancel(session->worker);
        return;
    }
    /* What it has changed holds for itself already, as in Redis. */
    if (command->flags & COMMAND_ADMIN)
        observer_refresh(session->worker);
    command_counts_add(&observer->stats.commands[command->id], count, clock_ticks_to_ns(ticks),
                       observer->tracks);
    if (__builtin_expect(ticks >= observer->noted_ticks, 0))
        note(session, first, count - 1, ticks);
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
    struct session *session = session_of_client(client);

    observer_keep(session, request);
    session->reply.request = request; /* of what those that watch are told, it is this one */
    session->reply.index = session->reply.left = 0;
    session->worker->observer.exec_ticks = clock_ticks();
}

static void exec_ended(struct client *client, const struct request *request, bool errored)
{
    struct worker *worker = session_of_client(client)->worker;
    struct observer *observer = &worker->observer;
    uint64_t ticks = ticks_between(observer->exec_ticks, clock_ticks());

    session_of_client(client)->reply.request = NULL; /* it ends before the next reply */
    if (request->command->flags & COMMAND_ADMIN)
        observer_refresh(worker);
    command_counts_add(&observer->stats.commands[request->command->id], 1, clock_ticks_to_ns(ticks),
                       observer->tracks);
    if (errored)
        observer_note(worker, request->command, DISPATCH_RAN);
    if (__builtin_expect(ticks >= observer->noted_ticks, 0))
        note(session_of_client(client), request, 0, ticks);
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
    if (__builtin_expect(ticks >= observer->slow_iteration_ticks, 0))
        latency_add(&worker->server->latency, LATENCY_LOOP_ITERATION, clock_engine_ms() / 1000,
                    clock_ticks_to_ns(ticks) / NS_PER_MS);
}
