/* SPDX-License-Identifier: MIT
 *
 * See server/worker.h. A connection is accepted on worker 0 and adopted by another's loop before
 * its first byte is read, so that it lives on one thread.
 */
#include "server/worker.h"

#include <stddef.h>
#include <string.h>

#include "base/ensure.h"
#include "os/socket.h"
#include "server/gate.h"
#include "server/log.h"
#include "server/option_texts.h"
#include "server/pause.h"
#include "server/session.h"

/* ---- replies that nobody wants */

static bool discard_grow(struct sink *sink, size_t size)
{
    struct worker *worker = (struct worker *)((char *)sink - offsetof(struct worker, discard));

    (void)size; /* at most what `discarded` has */
    sink->at = worker->discarded;
    sink->end = worker->discarded + sizeof(worker->discarded);
    return true;
}

static bool discard_append(struct sink *sink, const char *data, size_t size)
{
    (void)sink, (void)data, (void)size;
    return true;
}

static bool discard_refer(struct sink *sink, const char *data, size_t size,
                          void (*release)(void *owner), void *owner)
{
    (void)sink, (void)data, (void)size;
    release(owner);
    return true;
}

static const struct sink_ops discard_ops = {discard_grow, discard_append, discard_refer};

/* ---- life */

static struct loop_limits loop_limits_of(struct options *options)
{
    struct output_limits output;
    char ignored[OPTION_MESSAGE_SIZE];

    lock_acquire(&options->lock);
    bool good = option_output_limits_parse(bytes_of_text(options->output_limits), &output, ignored);
    lock_release(&options->lock);
    ENSURE(good); /* it was parsed before it was stored */
    return (struct loop_limits){
        .output =
            {[CONN_ANSWERED] = output.of[OUTPUT_NORMAL], [CONN_PUSHED] = output.of[OUTPUT_PUBSUB]},
        .output_soft_bytes = (size_t)options->output_soft_bytes,
        .stall_timeout_ms = (uint32_t)(options->output_stall_us / 1000),
        .idle_timeout_ms = (uint32_t)(options->timeout_us / 1000),
        .swept_timeout_ms = (uint32_t)((options->http_request_timeout_us + 999) / 1000),
    };
}

static void take_wire_limits(struct worker *worker, const struct loop_limits *loop_limits)
{
    const struct options *options = &worker->server->options;

    worker->limits = wire_limits_default;
    worker->limits.argument_size_max = (size_t)options->argument_size_max;
    worker->limits.query_size_max = (size_t)options->query_size_max;
    worker->stranger_limits = wire_limits_unauthenticated;
    worker->limits.gate = worker->stranger_limits.gate = &worker->gate;
    worker->request_timeout_ms = loop_limits->swept_timeout_ms;
}

static void take_limits(struct loop *loop, void *argument)
{
    struct worker *worker = loop_owner(loop);
    struct loop_limits limits = loop_limits_of(&worker->server->options);

    (void)argument;
    take_wire_limits(worker, &limits);
    loop_limits_set(loop, &limits);
}

bool worker_limits_changed(struct worker *worker)
{
    return loop_post(worker->loop, take_limits, NULL);
}

enum status worker_init(struct worker *worker, struct server *server, uint32_t index,
                        const char **why)
{
    struct options *options = &server->options;
    uint32_t parser_count = 0;
    struct loop_options loop_options = {
        .io = (enum loop_io)options->io,
        .batch_wait_us = (uint32_t)options->batch_wait_us,
        .limits = loop_limits_of(options),
        .handler = &session_handler,
        .owner = worker,
    };
    enum status status;

    memset(worker, 0, sizeof(*worker));
    worker->server = server;
    worker->index = index;
    worker->discard.ops = &discard_ops;
    gate_init(&worker->gate, server, &worker->limits);
    take_wire_limits(worker, &loop_options.limits);
    monitoring_init(&worker->monitoring);
    *why = "memory is out";
    for (; parser_count < WORKER_BATCH_MAX; parser_count++) {
        status = parser_init(&worker->parsers[parser_count], &worker->limits);
        if (status != STATUS_OK)
            goto fail;
    }
    status = command_stats_init(&worker->observer.stats);
    if (status != STATUS_OK)
        goto fail;
    observer_refresh(worker);
    status = engine_thread_register(server->engine, &worker->engine_thread);
    if (status != STATUS_OK)
        goto fail;
    *why = NULL;
    status = loop_create(&loop_options, &worker->loop, why);
    if (status != STATUS_OK)
        goto fail;
    return STATUS_OK;
fail:
    if (worker->engine_thread != NULL)
        engine_thread_unregister(worker->engine_thread);
    command_stats_deinit(&worker->observer.stats);
    while (parser_count > 0)
        parser_deinit(&worker->parsers[--parser_count]);
    return status;
}

void worker_join(struct worker *worker)
{
    if (worker->thread != NULL)
        thread_join(worker->thread);
}

void worker_deinit(struct worker *worker)
{
    loop_destroy(worker->loop);
    monitoring_deinit(&worker->monitoring);
    engine_thread_unregister(worker->engine_thread);
    command_stats_deinit(&worker->observer.stats);
    for (uint32_t i = 0; i < WORKER_BATCH_MAX; i++)
        parser_deinit(&worker->parsers[i]);
}

static void run(void *argument)
{
    struct worker *worker = argument;

    loop_run(worker->loop);
}

enum status worker_start(struct worker *worker)
{
    char name[16] = "worker ";

    name[7] = (char)('0' + worker->index / 100 % 10);
    name[8] = (char)('0' + worker->index / 10 % 10);
    name[9] = (char)('0' + worker->index % 10);
    return thread_start(name, run, worker, &worker->thread);
}

/* ---- accepting */

static void accepted(struct loop *loop, int fd, struct listener *listener)
{
    struct worker *self = loop_owner(loop), *least = self;
    struct server *server = self->server;

    for (uint32_t i = 0; i < server->worker_count; i++)
        if (loop_load(server->workers[i].loop) < loop_load(least->loop))
            least = &server->workers[i];
    loop_adopt(least->loop, fd, listener);
}

static void accept_failed(struct loop *loop, const char *why)
{
    struct worker *worker = loop_owner(loop);

    atomic_store(&worker->accept_problem, why);
    counter_add(&worker->accepts_failed, 1);
}

enum status worker_listen(struct worker *worker)
{
    struct server *server = worker->server;

    for (uint32_t i = 0; i < server->listener_count; i++) {
        enum status status =
            loop_listen(worker->loop, &server->listeners[i], accepted, accept_failed);

        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- stopping */

static void drain_conn(struct conn *conn, void *argument)
{
    (void)argument;
    /* What the kernel holds for us is still delivered, then the end of the stream: as if the client
     * had shut down its sending side. */
    socket_shutdown_read(conn_fd(conn));
}

static void drain(struct loop *loop, void *argument)
{
    (void)argument;
    loop_unlisten(loop);
    loop_each_conn(loop, drain_conn, NULL);
    pause_let_on(loop_owner(loop));
}

void worker_drain(struct worker *worker)
{
    if (!loop_post(worker->loop, drain, NULL))
        loop_stop(worker->loop);
}

void worker_stop(struct worker *worker)
{
    loop_stop(worker->loop);
}
