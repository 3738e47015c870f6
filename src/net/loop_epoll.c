/* SPDX-License-Identifier: MIT
 *
 * The epoll back end.
 *
 * Connections are watched by edges, which spares the kernel looking at each again after every wait:
 * `readable` remembers an edge until a receive comes back short. All connections receive into one
 * buffer of the loop and are parsed there. Output is sent directly; room is watched for only while
 * a socket is full.
 *
 * epoll cannot wait for several events. When the loop is busy it sleeps for as long as a batch may
 * take before it asks, and finds together what has arrived.
 */
#include "base/alloc.h"
#include "net/backend.h"
#include "os/clock.h"
#include "os/poll.h"

enum {
    BUFFER_SIZE = 16 * 1024,
    DIRECT_SIZE = 256 * 1024,    /* received at once into a caller's memory */
    SEND_SIZE_MAX = 1024 * 1024, /* sent by one connection before others get their turn */
    EVENT_COUNT = 256,
    ACCEPT_COUNT = 64, /* accepted at once from one listener */
};

/* What an event is about, in the low bits of its tag. */
enum { TAG_CONN, TAG_LISTENING, TAG_WAKE, TAG_MASK = 3 };

struct epoll {
    int poll;
    int event_count;
    struct epoll_event events[EVENT_COUNT];
    char buffer[BUFFER_SIZE];
};

static void *tagged(void *pointer, unsigned tag)
{
    return (char *)pointer + tag;
}

static enum status epoll_create_io(struct loop *loop, const char **why)
{
    struct epoll *io = alloc_get(sizeof *io);
    if (io == NULL) {
        *why = "out of memory";
        return STATUS_NO_MEMORY;
    }
    io->event_count = 0;
    io->poll = poll_create();
    enum io_error error = io->poll < 0 ? (enum io_error) - io->poll
                                       : poll_add(io->poll, loop->wake_fd, POLL_READ | POLL_EDGE,
                                                  tagged(loop, TAG_WAKE));
    if (error != IO_OK) {
        *why = io_error_text(error);
        if (io->poll >= 0)
            socket_close(io->poll);
        alloc_free(io);
        return STATUS_SYSTEM;
    }
    loop->io = io;
    return STATUS_OK;
}

static void epoll_destroy_io(struct loop *loop)
{
    struct epoll *io = loop->io;
    socket_close(io->poll);
    alloc_free(io);
}

static bool epoll_start(struct loop *loop)
{
    (void)loop;
    return true;
}

static void epoll_pause(struct loop *loop)
{
    (void)loop;
}

/* ---- accepting */
static bool epoll_listen(struct listening *listening)
{
    struct epoll *io = listening->loop->io;
    return socket_set_blocking(listening->fd, false) == IO_OK &&
           poll_add(io->poll, listening->fd, POLL_READ, tagged(listening, TAG_LISTENING)) == IO_OK;
}

static void epoll_accept_pause(struct listening *listening)
{
    struct epoll *io = listening->loop->io;
    poll_change(io->poll, listening->fd, 0, tagged(listening, TAG_LISTENING));
}

static void epoll_accept_resume(struct listening *listening)
{
    struct epoll *io = listening->loop->io;
    poll_change(io->poll, listening->fd, POLL_READ, tagged(listening, TAG_LISTENING));
}

static void epoll_unlisten(struct listening *listening)
{
    struct epoll *io = listening->loop->io;
    poll_remove(io->poll, listening->fd);
}

static void accept_ready(struct listening *listening)
{
    for (int i = 0; i < ACCEPT_COUNT && listening->listener != NULL; i++) {
        long result = socket_accept(listening->fd);
        loop_accepted(listening, result);
        if (result < 0 && result != -IO_INTERRUPTED)
            break;
    }
}

/* ---- receiving and sending */
static bool epoll_open(struct conn *conn)
{
    struct epoll *io = conn->loop->io;
    return poll_add(io->poll, conn->fd, POLL_READ | POLL_EDGE, conn) == IO_OK;
}

static void epoll_receive(struct conn *conn)
{
    struct epoll *io = conn->loop->io;
    if (!conn->readable || !conn_wants(conn))
        return;
    bool direct = conn->fill_left > 0;
    char *into = io->buffer;
    size_t size = BUFFER_SIZE;
    if (direct) {
        into = conn->fill_at;
        size = conn->fill_left < DIRECT_SIZE ? conn->fill_left : DIRECT_SIZE;
    }
    long received = socket_receive(conn->fd, into, size);
    /* A short receive took all there was; a new edge tells of more. Only the end of the stream has
     * no bytes to tell of it. */
    if ((received < 0 || (size_t)received < size) && !(received > 0 && conn->hung_up))
        conn->readable = false;
    if (received > 0 && direct)
        conn_received_direct(conn, (size_t)received);
    else if (received > 0)
        conn_received(conn, io->buffer, (size_t)received);
    else if (received == 0)
        conn_ended(conn);
    else if (received != -IO_AGAIN && received != -IO_INTERRUPTED)
        conn_close(conn);
    if (conn->readable && conn_wants(conn))
        loop_again(conn);
}

static void watch_room(struct conn *conn, bool watch)
{
    struct epoll *io = conn->loop->io;
    if (conn->watching_room == watch)
        return;
    conn->watching_room = watch;
    uint32_t events = POLL_READ | (uint32_t)POLL_EDGE | (watch ? POLL_WRITE : 0);
    if (poll_change(io->poll, conn->fd, events, conn) != IO_OK)
        conn_close(conn);
}

static void epoll_send(struct conn *conn)
{
    size_t total = 0;
    while (conn->out_first != NULL) {
        struct chunk *chunk = conn->out_first;
        size_t count = chunk->count - chunk->first, size = 0;
        for (size_t i = 0; i < count; i++)
            size += chunk->spans[chunk->first + i].iov_len;
        long sent = socket_send(conn->fd, chunk->spans + chunk->first, count);
        STAT_ADD(conn->loop->stats.sends, 1);
        if (sent < 0 && sent != -IO_AGAIN && sent != -IO_INTERRUPTED) {
            conn_close(conn);
            return;
        }
        if (sent > 0)
            conn_sent(conn, (size_t)sent);
        if (sent < 0 || (size_t)sent < size) {
            watch_room(conn, true);
            return;
        }
        total += size;
        if (total >= SEND_SIZE_MAX && conn->out_first != NULL) {
            loop_again(conn);
            return;
        }
    }
    watch_room(conn, false);
}

static bool epoll_close(struct conn *conn)
{
    (void)conn;
    return true; /* closing the descriptor ends the watch */
}

/* ---- the wait */
static void epoll_wait_io(struct loop *loop, int64_t timeout_ns)
{
    struct epoll *io = loop->io;
    uint32_t pause_us;
    if (timeout_ns != 0 && loop_batch(loop, &pause_us) > 1)
        clock_sleep_us(pause_us);
    io->event_count = poll_wait(io->poll, io->events, EVENT_COUNT, timeout_ns);
}

static void epoll_dispatch(struct loop *loop)
{
    struct epoll *io = loop->io;
    /* Those that still wait from the last iteration come first, in look_again. */
    bool late = !links_empty(&loop->again);
    for (int i = 0; i < io->event_count; i++) {
        uintptr_t tag = (uintptr_t)io->events[i].data.ptr;
        uint32_t events = io->events[i].events;
        void *object = (void *)(tag & ~(uintptr_t)TAG_MASK);
        if ((tag & TAG_MASK) == TAG_LISTENING)
            accept_ready(object);
        if ((tag & TAG_MASK) != TAG_CONN)
            continue;
        struct conn *conn = object;
        if ((events & (POLL_WRITE | POLL_HANGUP)) && conn->out_bytes != 0)
            conn_mark_dirty(conn);
        if (!(events & (POLL_READ | POLL_HANGUP)))
            continue;
        conn->readable = true;
        conn->hung_up = conn->hung_up || (events & POLL_HANGUP);
        late = late || loop_late(loop);
        if (late)
            loop_again(conn);
        else
            epoll_receive(conn);
    }
    io->event_count = 0;
}

const struct backend backend_epoll = {
    .name = "epoll",
    .create = epoll_create_io,
    .destroy = epoll_destroy_io,
    .start = epoll_start,
    .pause = epoll_pause,
    .wait = epoll_wait_io,
    .dispatch = epoll_dispatch,
    .listen = epoll_listen,
    .unlisten = epoll_unlisten,
    .accept_pause = epoll_accept_pause,
    .accept_resume = epoll_accept_resume,
    .open = epoll_open,
    .receive = epoll_receive,
    .send = epoll_send,
    .close = epoll_close,
};
