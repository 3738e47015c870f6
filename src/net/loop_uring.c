/* SPDX-License-Identifier: MIT
 *
 * The io_uring back end.
 *
 * One multishot receive per connection draws on a small ring of provided buffers; requests are
 * parsed in the buffer, which goes back at the end of dispatch. The multishot has no backpressure:
 * it is canceled when the connection wants no more, and what still completes is kept. When the
 * buffers run out receives end; they are started again as many at a time as buffers are back.
 *
 * A send is tried while it is submitted and never waits there, so after uring_enter it is over; one
 * that took everything leaves no completion, unless something has to happen then. Hence those still
 * `flying` after a wait have succeeded when no completion says otherwise and none is held back; and
 * completions waited for are requests, not replies. A socket that was full gets a send that waits
 * for room and completes when some bytes have left.
 *
 * user_data is a pointer with the kind of operation in its low bits. A connection counts the
 * operations that will still complete (`pending`) and is freed after the last. Cancellations leave
 * no completion when they succeed, and one that nobody looks at when they come too late.
 */
#include "os/uring.h"

#if LARDER_URING

#include <poll.h>

#include "base/alloc.h"
#include "net/backend.h"

/* The kinds of operations. */
enum {
    ON_NOTHING,
    ON_RECEIVE,
    ON_RECEIVE_DIRECT,
    ON_SEND, /* tried once; completes only when something was left */
    ON_SEND_WAIT,
    ON_ACCEPT,
    ON_WAKE,
    ON_MASK = 15
};

enum {
    /* Bytes missing of a span that are worth a receive of their own, and the most that one takes,
     * so that others get their turn. */
    DIRECT_SIZE_MIN = 64 * 1024,
    DIRECT_SIZE_MAX = 256 * 1024,
    SEND_SIZE_MAX = 1 << 30,
    /* More arrivals than this at once would run out of buffers. */
    BATCH_MAX = URING_BUFFER_COUNT * 3 / 4,
};

struct uring_io {
    struct uring uring;
    struct conn *flying;
    unsigned settled;     /* completions before this one have been looked through for sends */
    struct links starved; /* connections whose receive found no buffer, by `again` */
    bool wake_armed;
};

static void set_operation(struct io_uring_sqe *entry, void *object, unsigned kind)
{
    entry->user_data = (uint64_t)(uintptr_t)object | kind;
}

static struct uring_io *io_of(const struct conn *conn)
{
    return conn->loop->io;
}

static enum status uring_create_io(struct loop *loop, const char **why)
{
    struct uring_io *io = alloc_zeroed(1, sizeof *io);
    if (io == NULL) {
        *why = "out of memory";
        return STATUS_NO_MEMORY;
    }
    if (uring_init(&io->uring, why) != IO_OK) {
        alloc_free(io);
        return STATUS_SYSTEM;
    }
    links_init(&io->starved);
    loop->io = io;
    return STATUS_OK;
}

static void uring_destroy_io(struct loop *loop)
{
    struct uring_io *io = loop->io;
    /* The kernel lets go of the sockets some time after the ring is closed; peers should not have
     * to wait for that. */
    for (struct links *each = loop->all.next; each != &loop->all; each = each->next)
        socket_shutdown(LINKS_ENTRY(each, struct conn, all)->fd);
    uring_deinit(&io->uring);
    while (!links_empty(&io->starved))
        links_remove(io->starved.next);
    alloc_free(io);
}

/* The wake descriptor is never read: each write to it is an edge, and so a completion. */
static void arm_wake(struct loop *loop)
{
    struct uring_io *io = loop->io;
    struct io_uring_sqe *entry = uring_entry(&io->uring);
    io_uring_prep_poll_multishot(entry, loop->wake_fd, POLLIN);
    set_operation(entry, loop, ON_WAKE);
    io->wake_armed = true;
}

static bool uring_start_io(struct loop *loop)
{
    struct uring_io *io = loop->io;
    if (uring_start(&io->uring) != IO_OK)
        return false;
    if (!io->wake_armed)
        arm_wake(loop);
    return true;
}

static void uring_pause_io(struct loop *loop)
{
    struct uring_io *io = loop->io;
    uring_submit(&io->uring); /* the last iteration's replies */
    uring_pause(&io->uring);
}

/* ---- accepting */
static void arm_accept(struct listening *listening)
{
    struct uring_io *io = listening->loop->io;
    struct io_uring_sqe *entry = uring_entry(&io->uring);
    io_uring_prep_multishot_accept(entry, listening->fd, NULL, NULL, SOCK_CLOEXEC);
    set_operation(entry, listening, ON_ACCEPT);
    listening->armed = true;
}

static void cancel(struct uring_io *io, void *object, unsigned kind)
{
    struct io_uring_sqe *entry = uring_entry(&io->uring);
    io_uring_prep_cancel64(entry, (uint64_t)(uintptr_t)object | kind, 0);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    set_operation(entry, NULL, ON_NOTHING);
}

static bool uring_listen(struct listening *listening)
{
    /* io_uring takes a nonblocking descriptor as a wish not to wait for it. */
    if (socket_set_blocking(listening->fd, true) != IO_OK)
        return false;
    arm_accept(listening);
    return true;
}

static void uring_unlisten(struct listening *listening)
{
    if (listening->armed)
        cancel(listening->loop->io, listening, ON_ACCEPT);
}

static void uring_accept_pause(struct listening *listening)
{
    (void)listening; /* the failure has ended it */
}

static void uring_accept_resume(struct listening *listening)
{
    if (!listening->armed)
        arm_accept(listening);
}

static void on_accept(struct listening *listening, int result, unsigned flags)
{
    if (!(flags & IORING_CQE_F_MORE))
        listening->armed = false;
    loop_accepted(listening, result >= 0 ? result : -(long)io_error_from(-result));
    if (!listening->armed && !listening->paused && listening->listener != NULL)
        arm_accept(listening);
}

/* ---- receiving */
static void arm_receive(struct conn *conn)
{
    struct io_uring_sqe *entry = uring_entry(&io_of(conn)->uring);
    if (conn->fill_left > DIRECT_SIZE_MIN) {
        size_t size = conn->fill_left < DIRECT_SIZE_MAX ? conn->fill_left : DIRECT_SIZE_MAX;
        io_uring_prep_recv(entry, conn->fd, conn->fill_at, size, 0);
        set_operation(entry, conn, ON_RECEIVE_DIRECT);
        conn->receiving_direct = true;
    } else {
        io_uring_prep_recv(entry, conn->fd, NULL, 0, 0);
        entry->ioprio |= IORING_RECV_MULTISHOT;
        entry->flags |= IOSQE_BUFFER_SELECT;
        entry->buf_group = URING_BUFFER_GROUP;
        set_operation(entry, conn, ON_RECEIVE);
        conn->receiving_direct = false;
    }
    conn->receiving = true;
    conn->canceling = false;
    conn->pending++;
}

static void uring_receive(struct conn *conn)
{
    bool wants = conn_wants(conn);
    if (conn->receiving) {
        /* A direct receive is bounded, so it may as well end by itself. */
        if (!conn->receiving_direct && !conn->canceling &&
            (!wants || conn->fill_left > DIRECT_SIZE_MIN)) {
            cancel(io_of(conn), conn, ON_RECEIVE);
            conn->canceling = true;
        }
    } else if (wants) {
        if (conn->starved) {
            conn->starved = false;
            links_remove(&conn->again);
        }
        arm_receive(conn);
    }
}

/* One that is on loop->again for another reason receives when its turn comes there. */
static void starve(struct conn *conn)
{
    if (!conn_wants(conn) || !links_empty(&conn->again))
        return;
    conn->starved = true;
    links_append(&io_of(conn)->starved, &conn->again);
}

/* At the end of an iteration all buffers are back but those of at most `left` completions. More
 * receives than buffers would fail again. */
static void feed_starved(struct uring_io *io, unsigned left)
{
    for (; left < URING_BUFFER_COUNT && !links_empty(&io->starved); left++) {
        struct conn *conn = LINKS_ENTRY(io->starved.next, struct conn, again);
        links_remove(&conn->again);
        conn->starved = false;
        uring_receive(conn);
    }
}

/* Ends a closing connection after its last completion. */
static void let_go(struct conn *conn)
{
    if (conn->canceled && conn->pending == 0)
        conn_gone(conn);
}

static void on_receive(struct conn *conn, int result, unsigned flags, bool direct)
{
    struct uring *uring = &io_of(conn)->uring;
    bool out_of_buffers = false;
    if (!(flags & IORING_CQE_F_MORE)) {
        conn->receiving = conn->canceling = false;
        conn->pending--;
    }
    if (result > 0 && direct) {
        conn_received_direct(conn, (size_t)result);
    } else if (result > 0) {
        conn_received(conn, uring_buffer(uring, flags >> IORING_CQE_BUFFER_SHIFT), (size_t)result);
    } else if (result == 0) {
        conn_ended(conn);
    } else {
        enum io_error error = io_error_from(-result);
        out_of_buffers = error == IO_NO_BUFFERS;
        if (!out_of_buffers && error != IO_CANCELED && error != IO_AGAIN && error != IO_INTERRUPTED)
            conn_close(conn);
    }
    if (flags & IORING_CQE_F_BUFFER)
        uring_buffer_return(uring, flags >> IORING_CQE_BUFFER_SHIFT);
    if (conn->closing)
        let_go(conn);
    else if (out_of_buffers)
        starve(conn);
    else
        uring_receive(conn);
}

static bool uring_open(struct conn *conn)
{
    if (socket_set_blocking(conn->fd, true) != IO_OK)
        return false;
    arm_receive(conn);
    return true;
}

/* ---- sending */
static void uring_send(struct conn *conn)
{
    struct uring_io *io = io_of(conn);
    struct chunk *chunk = conn->out_first;
    struct iovec *spans = chunk->spans + chunk->first;
    uint32_t count = chunk->count - chunk->first;
    int how = conn->socket_full ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL;
    struct io_uring_sqe *entry = uring_entry(&io->uring);
    conn->flight_bytes = 0;
    if (count == 1) {
        conn->flight_bytes = spans->iov_len < SEND_SIZE_MAX ? spans->iov_len : SEND_SIZE_MAX;
        io_uring_prep_send(entry, conn->fd, spans->iov_base, conn->flight_bytes, how);
    } else {
        for (uint32_t i = 0; i < count; i++)
            conn->flight_bytes += spans[i].iov_len;
        chunk->message = (struct msghdr){.msg_iov = spans, .msg_iovlen = count};
        io_uring_prep_sendmsg(entry, conn->fd, &chunk->message, (unsigned)how);
    }
    conn->flight_spans = count;
    conn->in_flight = true;
    conn->pending++;
    STAT_ADD(conn->loop->stats.sends, 1);
    if (conn->socket_full) {
        set_operation(entry, conn, ON_SEND_WAIT);
        return;
    }
    /* A success that nothing has to follow need not wake the loop. */
    if (conn->out_bytes == conn->flight_bytes && !conn->congested && !conn->draining &&
        !conn->referring)
        entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    set_operation(entry, conn, ON_SEND);
    conn->flying = true;
    conn->next_flying = io->flying;
    io->flying = conn;
}

static void sent(struct conn *conn, int64_t result)
{
    size_t asked = conn->flight_bytes;
    conn->pending--;
    conn->in_flight = false;
    conn->flight_spans = 0;
    conn->flight_bytes = 0;
    if (result > 0)
        conn_sent(conn, (size_t)result);
    if (conn->closing) {
        let_go(conn);
        return;
    }
    enum io_error error = result < 0 ? io_error_from((int)-result) : IO_OK;
    if (error != IO_OK && error != IO_AGAIN && error != IO_INTERRUPTED) {
        conn_close(conn);
        return;
    }
    conn->socket_full = result < 0 || (size_t)result < asked;
    if (conn->out_bytes != 0)
        conn_mark_dirty(conn);
    conn_settle(conn);
}

/* Every send submitted so far is over, and those that told nothing have succeeded: unless the
 * kernel still holds completions back for want of room, among which theirs may be. */
static void settle_flying(struct uring_io *io, unsigned tail)
{
    struct conn *flying = io->flying;
    for (unsigned at = io->settled; at != tail && flying != NULL; at++) {
        const struct io_uring_cqe *completion = uring_completion(&io->uring, at);
        if ((completion->user_data & ON_MASK) != ON_SEND)
            continue;
        struct conn *conn = (struct conn *)(uintptr_t)(completion->user_data & ~UINT64_C(15));
        conn->send_answered = true;
        conn->send_result = completion->res;
    }
    bool held_back = uring_holds_back(&io->uring);
    io->flying = NULL;
    while (flying != NULL) {
        struct conn *conn = flying;
        flying = conn->next_flying;
        if (held_back && !conn->send_answered) {
            conn->next_flying = io->flying;
            io->flying = conn;
            continue;
        }
        conn->flying = false;
        int64_t result = conn->send_answered ? conn->send_result : (int64_t)conn->flight_bytes;
        conn->send_answered = false;
        sent(conn, result);
    }
    io->settled = tail;
}

static bool uring_close(struct conn *conn)
{
    if (conn->pending == 0)
        return true;
    struct io_uring_sqe *entry = uring_entry(&io_of(conn)->uring);
    io_uring_prep_cancel_fd(entry, conn->fd, IORING_ASYNC_CANCEL_ALL);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    set_operation(entry, NULL, ON_NOTHING);
    conn->canceled = true;
    return false;
}

/* ---- the wait */
static void uring_wait(struct loop *loop, int64_t timeout_ns)
{
    struct uring_io *io = loop->io;
    uint32_t min_wait_us = 0;
    unsigned left = uring_tail(&io->uring) - uring_head(&io->uring);
    if (left != 0)
        timeout_ns = 0;
    uint32_t count = timeout_ns != 0;
    feed_starved(io, left);
    if (!links_empty(&io->starved)) {
        count = 0;
    } else if (timeout_ns != 0) {
        count = loop_batch(loop, &min_wait_us);
        count = count < BATCH_MAX ? count : BATCH_MAX;
    }
    if (count > 1 && !io->uring.has_min_wait) {
        int64_t wait_ns = (int64_t)min_wait_us * 1000;
        timeout_ns = timeout_ns < 0 || wait_ns < timeout_ns ? wait_ns : timeout_ns;
        min_wait_us = 0;
    }
    uring_enter(&io->uring, count, min_wait_us, timeout_ns);
}

static void complete(struct loop *loop, const struct io_uring_cqe *completion)
{
    void *object = (void *)(uintptr_t)(completion->user_data & ~UINT64_C(15));
    switch (completion->user_data & ON_MASK) {
    case ON_RECEIVE:
        on_receive(object, completion->res, completion->flags, false);
        break;
    case ON_RECEIVE_DIRECT:
        on_receive(object, completion->res, completion->flags, true);
        break;
    case ON_SEND_WAIT:
        sent(object, completion->res);
        break;
    case ON_ACCEPT:
        on_accept(object, completion->res, completion->flags);
        break;
    case ON_WAKE:
        if (!(completion->flags & IORING_CQE_F_MORE))
            arm_wake(loop);
        break;
    default: /* a cancellation that came too late, or a send settle_flying has seen */
        break;
    }
}

/* Connections that are glanced at together: what they fetch must still be near when they run. */
enum { GLANCE_COUNT = 16 };

/* Lets the handler glance at what the completions from `head` on have brought. */
static void glance(struct loop *loop, unsigned head, unsigned tail)
{
    struct uring_io *io = loop->io;
    for (int again = 0; again < 2; again++)
        for (unsigned at = head; at != tail; at++) {
            const struct io_uring_cqe *completion = uring_completion(&io->uring, at);
            if ((completion->user_data & ON_MASK) != ON_RECEIVE || completion->res <= 0)
                continue;
            struct conn *conn = (struct conn *)(uintptr_t)(completion->user_data & ~UINT64_C(15));
            if (conn->tail_size == 0 && conn->fill_left == 0 && conn_readable(conn))
                loop->handler->glance(
                    conn, uring_buffer(&io->uring, completion->flags >> IORING_CQE_BUFFER_SHIFT),
                    (size_t)completion->res, again);
        }
}

static void uring_dispatch(struct loop *loop)
{
    struct uring_io *io = loop->io;
    unsigned head = uring_head(&io->uring), tail = uring_tail(&io->uring);
    settle_flying(io, tail);
    bool glances = loop->handler->glance != NULL && tail - head > 1;
    bool late = false;
    for (unsigned count = 0; head != tail && !late; head++, count++) {
        if (glances && count % GLANCE_COUNT == 0)
            glance(loop, head, tail - head < GLANCE_COUNT ? tail : head + GLANCE_COUNT);
        complete(loop, uring_completion(&io->uring, head));
        late = loop_late(loop);
    }
    uring_seen(&io->uring, head);
    uring_buffers_publish(&io->uring);
}

const struct backend backend_uring = {
    .name = "io_uring",
    .create = uring_create_io,
    .destroy = uring_destroy_io,
    .start = uring_start_io,
    .pause = uring_pause_io,
    .wait = uring_wait,
    .dispatch = uring_dispatch,
    .listen = uring_listen,
    .unlisten = uring_unlisten,
    .accept_pause = uring_accept_pause,
    .accept_resume = uring_accept_resume,
    .open = uring_open,
    .receive = uring_receive,
    .send = uring_send,
    .close = uring_close,
};

#endif
