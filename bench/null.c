/* SPDX-License-Identifier: MIT
 *
 * One loop per thread. The first one accepts and deals connections out in turn. A request that has
 * not arrived whole is parsed anew when more comes: the parser keeps nothing between calls of
 * `data`, so one per loop is enough.
 */
#include "null.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "os/thread.h"
#include "wire/wire.h"

struct worker {
    struct loop *loop;
    struct parser parser;
    struct thread *thread;
};

static struct worker *workers;
static uint32_t worker_count, next_worker; /* next_worker: the first loop's thread only */
static char constant[512];

static void answer(struct conn *conn, const struct request *request)
{
    struct reply reply = {.ops = wire_resp.reply_ops, .sink = conn_sink(conn), .version = 2};
    if (bytes_equal_text_nocase(request->argv[0], "set"))
        reply.ops->stored(&reply);
    else
        reply.ops->bytes(&reply, bytes_of(constant, sizeof constant));
}

static size_t on_data(struct conn *conn, char *data, size_t size)
{
    struct worker *worker = loop_owner(conn_loop(conn));
    struct parser *parser = &worker->parser;
    size_t offset = 0;
    while (offset < size && !conn_congested(conn)) {
        size_t consumed = 0;
        switch (wire_resp.parse(parser, data + offset, size - offset, &consumed)) {
        case PARSE_DONE:
            offset += consumed;
            if (parser->request.argc > 0)
                answer(conn, &parser->request);
            break;
        case PARSE_MORE:
            if (parser->need > 0)
                conn_expect(conn, parser->need);
            parser_reset(parser);
            return offset;
        case PARSE_BAD: {
            struct reply reply = {
                .ops = wire_resp.reply_ops, .sink = conn_sink(conn), .version = 2};
            wire_resp.protocol_error(&reply, parser->error);
            parser_reset(parser);
            conn_close_after_flush(conn);
            return size;
        }
        }
    }
    return offset;
}

static bool on_opened(struct conn *conn)
{
    (void)conn;
    return true;
}

static void on_conn(struct conn *conn)
{
    (void)conn;
}

static void on_loop(struct loop *loop)
{
    (void)loop;
}

static const struct loop_handler handler = {
    .opened = on_opened,
    .data = on_data,
    .filled = on_conn,
    .closed = on_conn,
    .awake = on_loop,
    .asleep = on_loop,
};

struct handover {
    int fd;
    struct listener *listener;
};

static void adopt(struct loop *loop, void *argument)
{
    struct handover *handover = argument;
    loop_adopt(loop, handover->fd, handover->listener);
    free(handover);
}

static void on_accepted(struct loop *loop, int fd, struct listener *listener)
{
    struct loop *target = workers[next_worker++ % worker_count].loop;
    struct handover *handover = target == loop ? NULL : malloc(sizeof *handover);
    if (handover != NULL) {
        *handover = (struct handover){fd, listener};
        if (loop_post(target, adopt, handover))
            return;
        free(handover);
    }
    loop_adopt(loop, fd, listener);
}

static void stop(int number)
{
    (void)number;
    for (uint32_t i = 0; i < worker_count; i++)
        loop_stop(workers[i].loop);
}

static void run(void *argument)
{
    loop_run(((struct worker *)argument)->loop);
}

static bool start_worker(struct worker *worker, const struct null_options *options)
{
    static const struct wire_limits limits = {.arguments_max = 1 << 20,
                                              .argument_size_max = 512 << 20,
                                              .inline_size_max = 64 << 10,
                                              .query_size_max = 1 << 30};
    struct loop_options loop_options = {
        .io = options->io,
        .batch_wait_us = options->batch_wait_us,
        .handler = &handler,
        .owner = worker,
    };
    const char *why = NULL;
    if (parser_init(&worker->parser, &limits) != STATUS_OK) {
        fprintf(stderr, "larder-bench: out of memory\n");
        return false;
    }
    if (loop_create(&loop_options, &worker->loop, &why) != STATUS_OK) {
        fprintf(stderr, "larder-bench: no event loop: %s\n", why != NULL ? why : "out of memory");
        parser_deinit(&worker->parser);
        return false;
    }
    worker_count++;
    return true;
}

static bool listen_on(struct listener *listener, const char *message, enum io_error error)
{
    if (error != IO_OK) {
        fprintf(stderr, "larder-bench: %s\n", message);
        return false;
    }
    if (loop_listen(workers[0].loop, listener, on_accepted, NULL) != STATUS_OK) {
        fprintf(stderr, "larder-bench: cannot accept connections\n");
        listener_close(listener);
        return false;
    }
    return true;
}

/* Runs the loops until they are stopped; the first one on this thread. */
static int serve(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    int code = 0;
    for (uint32_t i = 1; i < worker_count && code == 0; i++)
        if (thread_start("null", run, &workers[i], &workers[i].thread) != STATUS_OK)
            code = 1;
    if (code == 0) {
        fprintf(stderr, "larder-bench: null server on %s is ready\n",
                loop_io_name(workers[0].loop));
        loop_run(workers[0].loop);
    }
    stop(0);
    for (uint32_t i = 1; i < worker_count; i++)
        if (workers[i].thread != NULL)
            thread_join(workers[i].thread);
    return code;
}

int null_main(const struct null_options *options)
{
    struct listener tcp, local;
    char message[512] = "";
    int code = 1;
    bool tcp_open = false, local_open = false;
    memset(constant, 'x', sizeof constant);
    workers = calloc(options->threads, sizeof *workers);
    if (workers == NULL)
        return 1;
    for (uint32_t i = 0; i < options->threads; i++)
        if (!start_worker(&workers[i], options))
            goto done;
    if (options->port != 0) {
        tcp_open = listen_on(
            &tcp, message,
            listener_open_tcp(options->bind, options->port, 1024, &tcp, message, sizeof message));
        if (!tcp_open)
            goto done;
        fprintf(stderr, "larder-bench: listening on %s port %u\n", tcp.address, tcp.port);
    }
    if (options->unixsocket != NULL) {
        local_open = listen_on(
            &local, message,
            listener_open_unix(options->unixsocket, 0, 1024, &local, message, sizeof message));
        if (!local_open)
            goto done;
        fprintf(stderr, "larder-bench: listening on %s\n", local.address);
    }
    code = serve();
done:
    for (uint32_t i = 0; i < worker_count; i++) {
        loop_destroy(workers[i].loop);
        parser_deinit(&workers[i].parser);
    }
    if (tcp_open)
        listener_close(&tcp);
    if (local_open)
        listener_close(&local);
    free(workers);
    return code;
}
