/* SPDX-License-Identifier: MIT
 *
 * See server/monitor.h. An inbox's blocks are numbered; a client that begins remembers the number
 * of the next one, so that it sees nothing that was answered before it asked. In a block, as in a
 * worker's `lines`, each line has a head before it that tells its class and its size.
 */
#include "server/monitor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/log.h"
#include "server/session.h"
#include "server/text.h"

/* What a worker's buffer of lines keeps of its memory from one iteration to the next. */
enum { LINES_KEPT_MAX = 64 * 1024 };

struct monitor {
    struct monitor *next;
    struct session *session;
    uint64_t block_first; /* number of the first block it is shown */
    uint32_t classes;     /* a bit each */
};

struct line_head {
    uint32_t class, size;
};

struct monitor_block {
    struct monitor_block *next;
    uint64_t number;
    size_t size;
    char lines[];
};

void monitoring_init(struct monitoring *monitoring)
{
    buffer_init(&monitoring->lines, MONITOR_INBOX_MAX);
}

static void free_blocks(struct monitor_block *block)
{
    while (block != NULL) {
        struct monitor_block *next = block->next;

        alloc_free(block);
        block = next;
    }
}

void monitoring_deinit(struct monitoring *monitoring)
{
    free_blocks(monitoring->inbox_first);
    buffer_deinit(&monitoring->lines);
}

/* ---- who monitors */

static void count_changed(struct session *session, uint32_t classes, int change)
{
    struct worker *worker = session->worker;

    atomic_fetch_add(&worker->monitoring.count, (uint32_t)change);
    for (uint32_t class = 0; class < MONITOR_CLASSES; class ++)
        if (classes >> class & 1)
            atomic_fetch_add(&worker->server->monitors[class], (uint32_t)change);
    server_observed_changed(worker->server);
}

enum status monitor_begin(struct session *session, uint32_t classes)
{
    struct monitoring *monitoring = &session->worker->monitoring;
    struct monitor *monitor = alloc_get(sizeof(*monitor));

    if (monitor == NULL)
        return STATUS_NO_MEMORY;
    monitor_turn(session->worker); /* what ran before is for those who asked before */
    monitor_end(session);
    lock_acquire(&monitoring->lock);
    uint64_t block_first = monitoring->block_next;
    lock_release(&monitoring->lock);
    *monitor = (struct monitor){monitoring->first, session, block_first, classes};
    monitoring->first = monitor;
    session->monitor = monitor;
    session->client.no_keys = true;
    conn_class_set(session->conn, CONN_PUSHED);
    count_changed(session, classes, 1);
    return STATUS_OK;
}

void monitor_end(struct session *session)
{
    struct monitor **link = &session->worker->monitoring.first;

    if (session->monitor == NULL)
        return;
    while (*link != session->monitor)
        link = &(*link)->next;
    *link = session->monitor->next;
    uint32_t classes = session->monitor->classes;
    alloc_free(session->monitor);
    session->monitor = NULL;
    session->client.no_keys = session->client.unheard = false;
    conn_class_set(session->conn, CONN_ANSWERED);
    count_changed(session, classes, -1);
}

/* ---- lines */

void monitor_line_begin(struct worker *worker, enum monitor_class class)
{
    struct monitoring *monitoring = &worker->monitoring;
    struct line_head head = {.class = class};

    monitoring->line_start = buffer_bytes(&monitoring->lines).size;
    sink_write(&monitoring->lines.sink, (const char *)&head, sizeof(head));
}

void monitor_line_end(struct worker *worker)
{
    struct monitoring *monitoring = &worker->monitoring;
    struct line_head head;

    if (monitoring->lines.sink.failed)
        return;
    /* It may lie anywhere. */
    char *line = monitoring->lines.data + monitoring->line_start;
    memcpy(&head, line, sizeof(head));
    head.size =
        (uint32_t)(buffer_bytes(&monitoring->lines).size - monitoring->line_start - sizeof(head));
    memcpy(line, &head, sizeof(head));
}

static void write_line(struct session *session, const struct request *request)
{
    struct buffer *lines = &session->worker->monitoring.lines;
    int64_t now_us = clock_engine_us();

    monitor_line_begin(session->worker, MONITOR_REQUESTS);
    text_append(lines, "+%lld.%06d [%u ", (long long)(now_us / 1000000), (int)(now_us % 1000000),
                session->client.db);
    if (session->peer[0] != '\0')
        text_append(lines, "%s]", session->peer);
    else
        text_append(lines, "unix:%s]", session->listener->address);
    for (uint32_t i = 0; i < request->argc && !lines->sink.failed; i++) {
        sink_write(&lines->sink, " ", 1);
        word_quote(&lines->sink,
                   admin_is_secret(request, i) ? BYTES("(redacted)") : request->argv[i]);
    }
    sink_write(&lines->sink, "\r\n", 2);
    monitor_line_end(session->worker);
}

/* As in Redis, what administrators do is nobody's business. */
static bool is_shown(const struct request *request)
{
    return (request->command->flags & COMMAND_ADMIN) == 0;
}

void monitor_show(struct session *session, const struct request *request)
{
    struct monitoring *monitoring = &session->worker->monitoring;

    if (monitoring->early)
        monitoring->early = false;
    else if (is_shown(request))
        write_line(session, request);
}

void monitor_show_early(struct session *session, const struct request *request)
{
    struct monitoring *monitoring = &session->worker->monitoring;

    if (request->command == NULL || !is_shown(request) || monitoring->lines.sink.failed)
        return;
    monitoring->early = true;
    monitoring->early_start = buffer_bytes(&monitoring->lines).size;
    write_line(session, request);
}

void monitor_cancel(struct worker *worker)
{
    struct monitoring *monitoring = &worker->monitoring;

    if (monitoring->early)
        buffer_cut(&monitoring->lines, monitoring->early_start);
    monitoring->early = false;
}

/* ---- from worker to worker */

/* Takes all blocks. Under the lock. */
static struct monitor_block *take_inbox(struct monitoring *monitoring)
{
    struct monitor_block *first = monitoring->inbox_first;

    monitoring->inbox_first = monitoring->inbox_last = NULL;
    monitoring->inbox_bytes = 0;
    return first;
}

/* The target looks at the end of every iteration of its loop; this makes it have one. */
static void wake(struct loop *loop, void *argument)
{
    (void)loop, (void)argument;
}

/* `block` NULL: there was no memory for it. */
static void put(struct worker *from, struct worker *target, struct monitor_block *block)
{
    struct monitoring *monitoring = &target->monitoring;
    struct monitor_block *dropped = NULL;

    lock_acquire(&monitoring->lock);
    bool first = !atomic_load_explicit(&monitoring->arrived, memory_order_relaxed);
    if (block == NULL || monitoring->lost ||
        block->size > MONITOR_INBOX_MAX - monitoring->inbox_bytes) {
        monitoring->lost = true;
        dropped = take_inbox(monitoring);
    } else {
        block->number = monitoring->block_next++;
        monitoring->inbox_bytes += block->size;
        if (monitoring->inbox_last != NULL)
            monitoring->inbox_last->next = block;
        else
            monitoring->inbox_first = block;
        monitoring->inbox_last = block;
        block = NULL;
    }
    atomic_store_explicit(&monitoring->arrived, true, memory_order_relaxed);
    lock_release(&monitoring->lock);
    free_blocks(dropped);
    alloc_free(block);
    /* Without memory for the message it is seen in the next iteration that comes for any reason. */
    if (first && target != from)
        (void)loop_post(target->loop, wake, NULL);
}

static void hand_on(struct worker *worker)
{
    struct monitoring *monitoring = &worker->monitoring;
    struct server *server = worker->server;
    struct bytes lines = buffer_bytes(&monitoring->lines);
    bool failed = monitoring->lines.sink.failed;

    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct worker *target = &server->workers[i];
        struct monitor_block *block = NULL;

        if (atomic_load_explicit(&target->monitoring.count, memory_order_relaxed) == 0)
            continue;
        if (!failed)
            block = alloc_get(sizeof(*block) + lines.size);
        if (block != NULL) {
            block->next = NULL;
            block->size = lines.size;
            memcpy(block->lines, lines.data, lines.size);
        }
        put(worker, target, block);
    }
    if (lines.size > LINES_KEPT_MAX || !(worker->observer.monitored || worker->observer.watched))
        buffer_deinit(&monitoring->lines);
    else
        buffer_clear(&monitoring->lines);
}

static void deliver_block(const struct monitor *monitor, const struct monitor_block *block)
{
    struct sink *sink = conn_sink(monitor->session->conn);
    struct line_head head;

    for (size_t at = 0; at < block->size; at += sizeof(head) + head.size) {
        memcpy(&head, block->lines + at, sizeof(head));
        if (monitor->classes >> head.class & 1)
            sink_write(sink, block->lines + at + sizeof(head), head.size);
    }
}

static void deliver(struct monitor *monitor, const struct monitor_block *block)
{
    for (; block != NULL && !monitor->session->replies_off && !conn_closing(monitor->session->conn);
         block = block->next) {
        if (block->number >= monitor->block_first)
            deliver_block(monitor, block);
    }
}

static void close_lost(struct monitor *monitor)
{
    if (conn_closing(monitor->session->conn))
        return;
    log_line(LOG_WARNING, "client %llu monitors and was closed: there is no room for what it shows",
             (unsigned long long)monitor->session->id);
    conn_close(monitor->session->conn);
}

void monitor_turn(struct worker *worker)
{
    struct monitoring *monitoring = &worker->monitoring;

    if (buffer_bytes(&monitoring->lines).size > 0 || monitoring->lines.sink.failed)
        hand_on(worker);
    if (!atomic_load_explicit(&monitoring->arrived, memory_order_relaxed))
        return;
    lock_acquire(&monitoring->lock);
    struct monitor_block *blocks = take_inbox(monitoring);
    bool lost = monitoring->lost;
    monitoring->lost = false;
    atomic_store_explicit(&monitoring->arrived, false, memory_order_relaxed);
    lock_release(&monitoring->lock);
    for (struct monitor *monitor = monitoring->first; monitor != NULL; monitor = monitor->next) {
        if (lost)
            close_lost(monitor);
        else
            deliver(monitor, blocks);
    }
    free_blocks(blocks);
}
