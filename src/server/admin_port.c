/* SPDX-License-Identifier: MIT
 *
 * See server/admin_port.h. A connection has PATIENCE_MS for each request, from its first byte or
 * from when the connection came, and may rest for IDLE_MS between two.
 */
#include "server/admin_port.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "net/loop.h"
#include "os/clock.h"
#include "os/thread.h"
#include "server/admin_request.h"
#include "server/gate.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/text.h"
#include "wire/http_request.h"

enum {
    PATIENCE_MS = 10000,
    IDLE_MS = 60000,
    METRICS_SIZE_MAX = 16 * 1024 * 1024,
};

#define PATIENCE_NS (PATIENCE_MS * UINT64_C(1000000))

struct admin_port {
    struct server *server;
    struct loop *loop;
    struct thread *thread;
    struct listener listeners[ADMIN_LISTENERS_MAX];
    uint32_t listener_count;
    struct wire_gate gate; /* for the names a request may call this port by */
    uint32_t connections;  /* the thread's */
};

struct visitor {
    uint64_t since_ns; /* the request that is awaited began; 0: none has */
};

/* ---- answers */

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {414, "URI Too Long"},
        {431, "Request Header Fields Too Large"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Internal Server Error";
}

static void answer_with(struct conn *conn, const struct admin_request *request, int status,
                        const char *type, struct bytes body)
{
    struct buffer head;

    buffer_init(&head, 1024);
    text_append(&head,
                "HTTP/1.1 %d %s\r\nContent-Type: text/plain; %scharset=utf-8\r\n"
                "Content-Length: %zu\r\nCache-Control: no-store\r\n%sConnection: %s\r\n\r\n",
                status, reason_of(status), type, body.size,
                status == 405 ? "Allow: GET, HEAD\r\n" : "",
                request->keeps ? "keep-alive" : "close");
    if (head.sink.failed) {
        conn_close(conn);
    } else {
        sink_write_bytes(conn_sink(conn), buffer_bytes(&head));
        if (!request->head)
            sink_write_bytes(conn_sink(conn), body);
        if (!request->keeps)
            conn_close_after_flush(conn);
    }
    buffer_deinit(&head);
}

static void answer(struct conn *conn, const struct admin_request *request, int status,
                   struct bytes body)
{
    answer_with(conn, request, status, "", body);
}

/* The reason is the body, too. */
static void refuse(struct conn *conn, const struct admin_request *request, int status)
{
    char body[64];
    int size = snprintf(body, sizeof(body), "%s\n", reason_of(status));

    answer(conn, request, status, bytes_of(body, (size_t)size));
}

static void answer_metrics(struct conn *conn, struct server *server,
                           const struct admin_request *request)
{
    struct buffer text;

    buffer_init(&text, METRICS_SIZE_MAX);
    metrics_write(server, &text);
    if (text.sink.failed)
        answer(conn, request, 503, BYTES("out of memory\n"));
    else
        answer_with(conn, request, 200, "version=0.0.4; ", buffer_bytes(&text));
    buffer_deinit(&text);
}

/* A web page whose own name leads here must not read what this port tells. */
static bool is_named_rightly(struct conn *conn, const struct admin_port *port,
                             struct admin_request *request)
{
    enum http_complaint complaint =
        request->host.data != NULL ? http_host_check(&port->gate, request->host) : HTTP_NONE;

    if (complaint == HTTP_NONE)
        return true;
    request->keeps = false;
    if (complaint == HTTP_HOST)
        answer(conn, request, 403, BYTES("this host is not one of http-allow-host\n"));
    else
        refuse(conn, request, 400);
    return false;
}

static void serve(struct conn *conn, struct server *server, const struct admin_request *request)
{
    bool ready = atomic_load(&server->ready), stopping = server_stopping(server);

    if (request->refusal != 0)
        refuse(conn, request, request->refusal);
    else if (bytes_equal(request->path, BYTES("/healthz")))
        answer(conn, request, 200, BYTES("alive\n"));
    else if (bytes_equal(request->path, BYTES("/readyz")) && (!ready || stopping))
        answer(conn, request, 503, stopping ? BYTES("stopping\n") : BYTES("starting\n"));
    else if (bytes_equal(request->path, BYTES("/readyz")))
        answer(conn, request, 200, BYTES("ready\n"));
    else if (!bytes_equal(request->path, BYTES("/metrics")))
        answer(conn, request, 404, BYTES("there are /healthz, /readyz and /metrics\n"));
    else if (!ready)
        answer(conn, request, 503, BYTES("starting\n"));
    else
        answer_metrics(conn, server, request);
}

/* ---- connections */

/* A request is awaited from now on. */
static void await(struct conn *conn)
{
    struct visitor *visitor = conn_user(conn);

    visitor->since_ns = clock_monotonic_ns();
    loop_alarm(conn_loop(conn), PATIENCE_MS + 1);
}

static bool opened(struct conn *conn)
{
    struct admin_port *port = loop_owner(conn_loop(conn));
    struct visitor *visitor;

    if (port->connections >= ADMIN_CONNECTIONS_MAX)
        return false;
    visitor = alloc_zeroed(1, sizeof(*visitor));
    if (visitor == NULL)
        return false;
    conn_user_set(conn, visitor);
    await(conn);
    port->connections++;
    return true;
}

static void closed(struct conn *conn)
{
    struct admin_port *port = loop_owner(conn_loop(conn));

    alloc_free(conn_user(conn));
    port->connections--;
}

static size_t data(struct conn *conn, char *bytes, size_t size)
{
    struct admin_port *port = loop_owner(conn_loop(conn));
    struct visitor *visitor = conn_user(conn);
    struct admin_request request;
    size_t at = 0, consumed = 1;

    while (at < size && !conn_closing(conn) && !conn_congested(conn)) {
        consumed = admin_request_parse(bytes + at, size - at, &request);
        if (consumed == 0)
            break;
        at += consumed;
        visitor->since_ns = 0;
        if (request.refusal != 0 || is_named_rightly(conn, port, &request))
            serve(conn, port->server, &request);
        if (!request.keeps)
            return size;
    }
    if (consumed == 0 && visitor->since_ns == 0)
        await(conn);
    return at;
}

struct look {
    uint64_t now_ns;
    uint64_t left_ns; /* until the next one is to be looked at */
};

static void look_at(struct conn *conn, void *argument)
{
    const struct admin_request none = {.refusal = 408};
    struct visitor *visitor = conn_user(conn);
    struct look *look = argument;
    uint64_t waited_ns = look->now_ns - visitor->since_ns;

    if (conn_closing(conn) || visitor->since_ns == 0)
        return;
    if (waited_ns >= PATIENCE_NS) {
        visitor->since_ns = 0;
        refuse(conn, &none, 408);
    } else if (PATIENCE_NS - waited_ns < look->left_ns) {
        look->left_ns = PATIENCE_NS - waited_ns;
    }
}

static void alarm_rang(struct loop *loop)
{
    struct look look = {.now_ns = clock_monotonic_ns(), .left_ns = UINT64_MAX};

    loop_each_conn(loop, look_at, &look);
    if (look.left_ns != UINT64_MAX)
        loop_alarm(loop, look.left_ns / 1000000 + 1);
}

static const struct loop_handler handler = {
    .opened = opened,
    .data = data,
    .closed = closed,
    .alarm = alarm_rang,
};

/* ---- life */

static void accepted(struct loop *loop, int fd, struct listener *listener)
{
    loop_adopt(loop, fd, listener);
}

static void run(void *argument)
{
    struct admin_port *port = argument;

    loop_run(port->loop);
}

static const char *start(struct admin_port *port)
{
    const struct loop_options options = {
        .io = LOOP_IO_EPOLL,
        .limits = {.stall_timeout_ms = PATIENCE_MS, .idle_timeout_ms = IDLE_MS},
        .handler = &handler,
        .owner = port,
    };
    const char *why = NULL;

    if (loop_create(&options, &port->loop, &why) != STATUS_OK)
        return why != NULL ? why : "the system refused";
    for (uint32_t i = 0; i < port->listener_count; i++)
        if (loop_listen(port->loop, &port->listeners[i], accepted, NULL) != STATUS_OK)
            return "memory is out";
    if (thread_start("admin", run, port, &port->thread) != STATUS_OK)
        return "the system allows no more threads";
    return NULL;
}

bool admin_port_start(struct server *server, const struct listener *listeners, uint32_t count)
{
    struct admin_port *port = alloc_zeroed(1, sizeof(*port));
    const char *why = "memory is out";

    if (port != NULL) {
        port->server = server;
        memcpy(port->listeners, listeners, count * sizeof(*listeners));
        port->listener_count = count;
        gate_init(&port->gate, server, &wire_limits_default);
        server->admin_port = port;
        why = start(port);
    } else {
        while (count > 0) {
            struct listener listener = listeners[--count];

            listener_close(&listener);
        }
    }
    if (why != NULL)
        log_line(LOG_WARNING, "cannot serve the admin port: %s", why);
    return why == NULL;
}

void admin_port_end(struct server *server)
{
    struct admin_port *port = server->admin_port;

    if (port == NULL)
        return;
    server->admin_port = NULL;
    if (port->thread != NULL) {
        loop_stop(port->loop);
        thread_join(port->thread);
    }
    if (port->loop != NULL)
        loop_destroy(port->loop);
    for (uint32_t i = 0; i < port->listener_count; i++)
        listener_close(&port->listeners[i]);
    alloc_free(port);
}
