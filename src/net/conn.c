/* SPDX-License-Identifier: MIT
 *
 * Connections: output queue, input tail, life. See net/conn.h for how they work. Everything here
 * runs on the loop's thread.
 */
#include "net/conn.h"

#include <string.h>

#include "base/alloc.h"
#include "base/ensure.h"
#include "net/backend.h"

/* A tail is given room for what the handler expects, but never for more than this before the bytes
 * have come: expectations are the peer's claims. */
enum { TAIL_EXPECTED_MAX = 64 * 1024, TAIL_ROOM_MIN = 128 };
/* With no better hint, so much is copied behind a tail to complete its request; what follows is
 * then read where it was received. */
enum { JOIN_SIZE = 512 };

/* ---- output memory */
static void block_release(void *owner)
{
    struct block *block = owner;
    struct loop *loop = block->loop;
    if (--block->references != 0)
        return;
    block->next = loop->block_pool;
    loop->block_pool = block;
    loop->block_pool_count++;
}

static struct block *block_take(struct loop *loop)
{
    struct block *block = loop->block_pool;
    if (block != NULL) {
        loop->block_pool = block->next;
        if (--loop->block_pool_count < loop->block_pool_low)
            loop->block_pool_low = loop->block_pool_count;
    } else {
        block = alloc_aligned(64, OUTPUT_BLOCK_SIZE);
        if (block == NULL)
            return NULL;
        block->loop = loop;
    }
    block->references = 1;
    return block;
}

static struct chunk *chunk_take(struct loop *loop)
{
    struct chunk *chunk = loop->chunk_pool;
    if (chunk != NULL) {
        loop->chunk_pool = chunk->next;
        loop->chunk_pool_count--;
    } else if ((chunk = alloc_get(sizeof *chunk)) == NULL) {
        return NULL;
    }
    chunk->next = NULL;
    chunk->first = chunk->count = 0;
    return chunk;
}

static void chunk_give(struct loop *loop, struct chunk *chunk)
{
    enum { CHUNKS_KEPT = 64 };
    if (loop->chunk_pool_count == CHUNKS_KEPT) {
        alloc_free(chunk);
        return;
    }
    loop->chunk_pool_count++;
    chunk->next = loop->chunk_pool;
    loop->chunk_pool = chunk;
}

/* ---- output queue */
static bool push_span(struct conn *conn, char *data, size_t size, void (*release)(void *owner),
                      void *owner)
{
    struct chunk *chunk = conn->out_last;
    if (chunk == NULL || chunk->count == OUTPUT_CHUNK_SPANS) {
        struct chunk *fresh = chunk_take(conn->loop);
        if (fresh == NULL)
            return false;
        if (chunk == NULL)
            conn->out_first = fresh;
        else
            chunk->next = fresh;
        conn->out_last = chunk = fresh;
    }
    chunk->spans[chunk->count] = (struct iovec){data, size};
    chunk->holds[chunk->count].release = release;
    chunk->holds[chunk->count].owner = owner;
    chunk->count++;
    conn->out_bytes += size;
    STAT_ADD(conn->loop->stats.output_bytes, size);
    return true;
}

/* Lengthens the last span when the window follows it in memory and the kernel does not have it. */
static bool extend_last(struct conn *conn, size_t size)
{
    struct chunk *chunk = conn->out_last;
    if (chunk == NULL ||
        (chunk == conn->out_first && chunk->first + conn->flight_spans == chunk->count))
        return false;
    struct iovec *last = &chunk->spans[chunk->count - 1];
    if (chunk->holds[chunk->count - 1].owner != conn->loop->block ||
        (char *)last->iov_base + last->iov_len != conn->window)
        return false;
    last->iov_len += size;
    conn->out_bytes += size;
    STAT_ADD(conn->loop->stats.output_bytes, size);
    return true;
}

/* Queues what was written to the window, which goes on behind it. */
static bool seal(struct conn *conn)
{
    struct loop *loop = conn->loop;
    size_t size = (size_t)(conn->sink.at - conn->window);
    if (size == 0)
        return true;
    if (!extend_last(conn, size)) {
        if (!push_span(conn, conn->window, size, block_release, loop->block))
            return false;
        loop->block->references++;
    }
    conn->window = loop->block_at = conn->sink.at;
    return true;
}

bool conn_window_close(struct conn *conn)
{
    bool sealed = seal(conn);
    conn->window = conn->sink.at = conn->sink.end = NULL;
    if (!sealed)
        conn->sink.failed = true;
    if (conn->loop->writer == conn)
        conn->loop->writer = NULL;
    return sealed;
}

void conn_mark_dirty(struct conn *conn)
{
    if (conn->dirty || conn->closing || conn->lingering)
        return;
    conn->dirty = true;
    links_append(&conn->loop->dirty, &conn->queue);
}

/* ---- the sink */
static bool sink_fail(struct sink *sink)
{
    sink->failed = true;
    return false;
}

static bool output_grow(struct sink *sink, size_t size)
{
    struct conn *conn = (struct conn *)sink;
    struct loop *loop = conn->loop;
    if (sink->failed)
        return false;
    conn_mark_dirty(conn);
    if (!seal(conn))
        return sink_fail(sink);
    if (loop->writer != NULL && loop->writer != conn && !conn_window_close(loop->writer))
        conn_mark_dirty(loop->writer);
    if (loop->block != NULL && loop->block->references == 1)
        loop->block_at = loop->block->bytes; /* all of it has been sent */
    if (loop->block == NULL || (size_t)(block_end(loop->block) - loop->block_at) < size) {
        struct block *fresh = block_take(loop);
        if (fresh == NULL)
            return sink_fail(sink);
        if (loop->block != NULL)
            block_release(loop->block);
        loop->block = fresh;
        loop->block_at = fresh->bytes;
    }
    loop->writer = conn;
    conn->window = sink->at = loop->block_at;
    sink->end = block_end(loop->block);
    return true;
}

static bool output_append(struct sink *sink, const char *data, size_t size)
{
    while (size > 0) {
        if (sink->at == sink->end && !output_grow(sink, 1))
            return false;
        size_t room = (size_t)(sink->end - sink->at);
        size_t part = size < room ? size : room;
        memcpy(sink->at, data, part);
        sink->at += part;
        data += part;
        size -= part;
    }
    return true;
}

static bool output_refer(struct sink *sink, const char *data, size_t size,
                         void (*release)(void *owner), void *owner)
{
    struct conn *conn = (struct conn *)sink;
    conn_mark_dirty(conn);
    if (size != 0 && !sink->failed && seal(conn) &&
        push_span(conn, (char *)data, size, release, owner)) {
        conn->referring = true;
        return true;
    }
    release(owner);
    return size == 0 && !sink->failed ? true : sink_fail(sink);
}

static const struct sink_ops output_ops = {output_grow, output_append, output_refer};

/* ---- after sending */
static void drop_first_span(struct conn *conn)
{
    struct chunk *chunk = conn->out_first;
    chunk->holds[chunk->first].release(chunk->holds[chunk->first].owner);
    if (++chunk->first < chunk->count)
        return;
    conn->out_first = chunk->next;
    if (conn->out_first == NULL)
        conn->out_last = NULL;
    chunk_give(conn->loop, chunk);
}

static void drop_output(struct conn *conn)
{
    STAT_ADD(conn->loop->stats.output_bytes, -conn->out_bytes);
    conn->out_bytes = 0;
    while (conn->out_first != NULL)
        drop_first_span(conn);
}

const struct output_limit *conn_output_limit(const struct conn *conn)
{
    return &conn->loop->options.limits.output[conn->pushed ? CONN_PUSHED : CONN_ANSWERED];
}

static bool exceeds(size_t size, size_t limit)
{
    return limit != 0 && size > limit;
}

void conn_check_relief(struct conn *conn)
{
    if (conn->over)
        conn->over = exceeds(conn_unsent(conn), conn_output_limit(conn)->soft_bytes);
    if (!conn->congested || conn_unsent(conn) > conn->loop->options.limits.output_soft_bytes / 2)
        return;
    conn->congested = false;
    conn->data_due = true;
    loop_again(conn);
}

void conn_sent(struct conn *conn, size_t size)
{
    struct loop *loop = conn->loop;
    STAT_ADD(loop->stats.bytes_sent, size);
    STAT_ADD(conn->bytes_sent, size);
    STAT_ADD(loop->stats.output_bytes, -size);
    conn->out_bytes -= size;
    conn->progress_ms = loop->now_ms;
    while (size > 0) {
        struct iovec *span = &conn->out_first->spans[conn->out_first->first];
        if (size < span->iov_len) {
            span->iov_base = (char *)span->iov_base + size;
            span->iov_len -= size;
            break;
        }
        size -= span->iov_len;
        drop_first_span(conn);
    }
    conn_show(conn);
    if (conn->out_bytes == 0)
        conn->referring = false;
    conn_check_relief(conn);
}

void conn_check_congestion(struct conn *conn)
{
    size_t unsent = conn_unsent(conn);
    if (unsent <= conn->loop->free_bytes)
        return;
    const struct output_limit *limit = conn_output_limit(conn);
    if (exceeds(unsent, limit->hard_bytes)) {
        conn_drop(conn, LOOP_DROP_OUTPUT);
        return;
    }
    if (!conn->over && exceeds(unsent, limit->soft_bytes)) {
        conn->over = true;
        conn->over_ms = conn->loop->now_ms;
    }
    if (!conn->congested && unsent > conn->loop->options.limits.output_soft_bytes) {
        conn->congested = true;
        conn->progress_ms = conn->loop->now_ms;
    }
}

/* ---- input: the tail */
static char *tail_at(const struct conn *conn)
{
    return conn->tail + conn->tail_start;
}

static void tail_free(struct conn *conn)
{
    alloc_free(conn->tail);
    conn->tail = NULL;
    conn->tail_room = conn->tail_start = conn->tail_size = 0;
}

static void tail_drop(struct conn *conn, size_t size)
{
    conn->tail_start += size;
    conn->tail_size -= size;
    if (conn->tail_size == 0)
        tail_free(conn);
}

static bool tail_reserve(struct conn *conn, size_t size)
{
    size_t need = conn->tail_size + size;
    if (need <= conn->tail_room - conn->tail_start)
        return true;
    if (need <= conn->tail_room) {
        memmove(conn->tail, tail_at(conn), conn->tail_size);
        conn->tail_start = 0;
        return true;
    }
    size_t expected = conn->expected < TAIL_EXPECTED_MAX ? conn->expected : TAIL_EXPECTED_MAX;
    size_t room = conn->tail_room != 0 ? conn->tail_room * 2 : TAIL_ROOM_MIN;
    room = room < expected ? expected : room;
    room = room < need ? need : room;
    char *fresh = alloc_get(room);
    if (fresh == NULL)
        return false;
    if (conn->tail_size != 0)
        memcpy(fresh, tail_at(conn), conn->tail_size);
    alloc_free(conn->tail);
    conn->tail = fresh;
    conn->tail_room = room;
    conn->tail_start = 0;
    return true;
}

/* Copies bytes behind the tail. A connection whose bytes cannot be kept is lost. */
static bool keep(struct conn *conn, const char *data, size_t size)
{
    if (size == 0)
        return true;
    if (!tail_reserve(conn, size)) {
        conn_close(conn);
        return false;
    }
    memcpy(tail_at(conn) + conn->tail_size, data, size);
    conn->tail_size += size;
    return true;
}

/* ---- input: offering it */
static size_t call_data(struct conn *conn, char *data, size_t size)
{
    conn->expected = 0;
    conn->in_data = true;
    size_t used = conn->loop->handler->data(conn, data, size);
    conn->in_data = false;
    ENSURE(used <= size);
    conn_check_congestion(conn);
    return used;
}

static void filled(struct conn *conn, size_t size)
{
    conn->fill_at += size;
    conn->fill_left -= size;
    if (conn->fill_left != 0)
        return;
    conn->fill_at = NULL;
    if (conn->draining)
        return;
    conn->loop->handler->filled(conn);
    conn_check_congestion(conn);
}

/* Moves the first bytes to where conn_receive_into wants them; returns their number. */
static size_t fill_from(struct conn *conn, const char *data, size_t size)
{
    size_t part = size < conn->fill_left ? size : conn->fill_left;
    memcpy(conn->fill_at, data, part);
    filled(conn, part);
    return part;
}

/* The connection has no tail: what is left becomes it. */
static void offer_in_place(struct conn *conn, char *data, size_t size)
{
    while (size > 0 && !conn->closing) {
        size_t used;
        if (conn->fill_left > 0) {
            used = fill_from(conn, data, size);
        } else if (!conn_readable(conn)) {
            break;
        } else {
            used = call_data(conn, data, size);
            if (conn->fill_left == 0) {
                data += used;
                size -= used;
                break; /* what is left is unfinished */
            }
        }
        data += used;
        size -= used;
    }
    if (!conn->closing && !conn->draining)
        keep(conn, data, size);
}

static void offer_tail(struct conn *conn)
{
    while (conn->tail_size > 0 && !conn->closing) {
        if (conn->fill_left > 0) {
            tail_drop(conn, fill_from(conn, tail_at(conn), conn->tail_size));
            continue;
        }
        if (!conn_readable(conn))
            return;
        tail_drop(conn, call_data(conn, tail_at(conn), conn->tail_size));
        if (conn->fill_left == 0)
            return;
    }
}

/* Fresh bytes behind a tail. Only as many are copied as complete its request; the handler then goes
 * on in place. */
static void offer_joined(struct conn *conn, char *data, size_t size)
{
    size_t old = conn->tail_size;
    size_t part = conn->expected > old + JOIN_SIZE ? conn->expected - old : JOIN_SIZE;
    if (part > size || !conn_readable(conn))
        part = size;
    if (!keep(conn, data, part) || !conn_readable(conn))
        return;
    size_t used = call_data(conn, tail_at(conn), conn->tail_size);
    if (part == size && conn->fill_left == 0) {
        tail_drop(conn, used);
    } else if (used >= old) {
        tail_free(conn);
        offer_in_place(conn, data + (used - old), size - (used - old));
    } else {
        tail_drop(conn, used);
        if (keep(conn, data + part, size - part))
            offer_tail(conn);
    }
}

static void count_received(struct conn *conn, size_t size)
{
    struct loop *loop = conn->loop;
    STAT_ADD(loop->stats.receives, 1);
    STAT_ADD(loop->stats.bytes_received, size);
    STAT_ADD(conn->bytes_received, size);
    loop->unchecked_work += size + RECEIVE_WORK;
    conn->heard_ms = loop->now_ms;
    if (conn->active_window != loop->active_window) {
        conn->active_window = loop->active_window;
        loop->active++;
    }
}

void conn_received(struct conn *conn, char *data, size_t size)
{
    count_received(conn, size);
    if (conn->closing || conn->draining)
        return;
    if (conn->tail_size == 0)
        offer_in_place(conn, data, size);
    else
        offer_joined(conn, data, size);
    conn_show(conn);
}

void conn_received_direct(struct conn *conn, size_t size)
{
    count_received(conn, size);
    if (!conn->closing)
        filled(conn, size);
}

/* A peer that sends no more is answered all it has asked for. What it left unfinished is dropped.
 * */
static void check_end(struct conn *conn)
{
    if (!conn->ended || conn->closing || conn->let_on ||
        ((conn->congested || conn->data_due) && conn->tail_size > 0))
        return;
    conn->draining = true;
    tail_free(conn);
    conn_settle(conn);
}

void conn_ended(struct conn *conn)
{
    conn->ended = true;
    if (conn->held)
        conn_close(conn); /* nobody is known to wait for what it has asked */
    else
        check_end(conn);
}

void conn_resume(struct conn *conn)
{
    if (conn->closing)
        return;
    if (conn->let_on) {
        conn->let_on = false;
        conn->data_due = true;
        conn->loop->handler->let_on(conn);
        conn_check_congestion(conn);
    }
    if (conn->closing)
        return;
    if (conn->data_due) {
        conn->data_due = false;
        offer_tail(conn);
        check_end(conn);
        conn_show(conn);
    }
    if (conn->closing)
        return;
    conn->loop->backend->receive(conn);
    if (conn->out_bytes != 0 && !conn->in_flight)
        conn_mark_dirty(conn);
}

/* ---- life */
void conn_init(struct conn *conn, struct loop *loop, int fd, struct listener *listener)
{
    memset(conn, 0, sizeof *conn);
    conn->sink.ops = &output_ops;
    conn->loop = loop;
    conn->fd = fd;
    conn->listener = listener;
    conn->heard_ms = conn->progress_ms = loop->now_ms;
    conn->active_window = loop->active_window - 1;
    links_init(&conn->all);
    links_init(&conn->again);
    links_init(&conn->queue);
}

void conn_deinit(struct conn *conn)
{
    if (conn->loop->writer == conn)
        conn->loop->writer = NULL;
    drop_output(conn);
    tail_free(conn);
    links_remove(&conn->again);
    links_remove(&conn->queue);
}

void conn_gone(struct conn *conn)
{
    struct loop *loop = conn->loop;
    conn_deinit(conn);
    if (loop->sweep_cursor == &conn->all)
        loop->sweep_cursor = conn->all.next;
    links_remove(&conn->all);
    STAT_ADD(loop->stats.closed, 1);
    STAT_ADD(loop->stats.connections, -1);
    atomic_fetch_sub(&loop->load, 1);
    if (!conn->silent)
        loop->handler->closed(conn);
    socket_close(conn->fd);
    alloc_free(conn);
}

static bool linger(struct conn *conn)
{
    struct loop *loop = conn->loop;
    if (conn->ended || loop->lingering_count == LINGER_COUNT_MAX)
        return false;
    conn->lingering = true;
    conn->dirty = false;
    conn->sink.failed = true;
    conn->progress_ms = loop->now_ms;
    links_remove(&conn->queue);
    links_append(&loop->lingering, &conn->queue);
    loop->lingering_count++;
    socket_shutdown_write(conn->fd);
    loop_again(conn); /* which receives, to drop it */
    return true;
}

void conn_settle(struct conn *conn)
{
    if (!conn->draining || conn->in_flight || conn_unsent(conn) != 0)
        return;
    if (conn->ended || (!conn->lingering && !linger(conn)))
        conn_close(conn);
}

void conn_close(struct conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    if (conn->lingering)
        conn->loop->lingering_count--;
    if (conn->loop->writer == conn)
        conn->loop->writer = NULL; /* what it wrote and did not seal is overwritten by the next */
    conn->window = conn->sink.at = conn->sink.end = NULL;
    conn->sink.failed = true;
    conn->dirty = false;
    links_remove(&conn->queue);
    links_append(&conn->loop->doomed, &conn->queue);
}

void conn_drop(struct conn *conn, enum loop_drop why)
{
    if (conn->closing)
        return;
    conn->drop = (uint8_t)why & 3;
    conn_close(conn);
}

void conn_close_after_flush(struct conn *conn)
{
    conn->draining = true;
    conn_mark_dirty(conn);
}

void conn_class_set(struct conn *conn, enum conn_class class)
{
    conn->pushed = class == CONN_PUSHED;
    conn->heard_ms = conn->loop->now_ms;
    conn->over = false; /* of the other class's limit */
    conn_check_congestion(conn);
}

/* ---- what the handler may ask */
void *conn_user(const struct conn *conn)
{
    return conn->user;
}

void conn_user_set(struct conn *conn, void *user)
{
    conn->user = user;
}

struct loop *conn_loop(const struct conn *conn)
{
    return conn->loop;
}

int conn_fd(const struct conn *conn)
{
    return conn->fd;
}

struct listener *conn_listener(const struct conn *conn)
{
    return conn->listener;
}

struct sink *conn_sink(struct conn *conn)
{
    return &conn->sink;
}

bool conn_congested(const struct conn *conn)
{
    return conn->congested || conn_unsent(conn) > conn->loop->options.limits.output_soft_bytes;
}

bool conn_closing(const struct conn *conn)
{
    return conn->closing || conn->draining;
}

void conn_hold(struct conn *conn)
{
    conn->held = true;
    conn->let_on = false;
}

void conn_let_on(struct conn *conn)
{
    if (!conn->held)
        return;
    conn->held = false;
    conn->let_on = true;
    loop_again(conn);
}

void conn_figures(const struct conn *conn, struct conn_figures *out)
{
    size_t room = atomic_load_explicit(&conn->shown_room, memory_order_relaxed);
    out->input_bytes = atomic_load_explicit(&conn->shown_tail, memory_order_relaxed);
    out->input_free_bytes = room > out->input_bytes ? room - out->input_bytes : 0;
    out->output_bytes = atomic_load_explicit(&conn->shown_unsent, memory_order_relaxed);
    out->size = sizeof *conn + room;
    out->bytes_received = atomic_load_explicit(&conn->bytes_received, memory_order_relaxed);
    out->bytes_sent = atomic_load_explicit(&conn->bytes_sent, memory_order_relaxed);
}

void conn_receive_into(struct conn *conn, char *into, size_t size)
{
    ENSURE(conn->in_data && conn->fill_left == 0 && size > 0);
    conn->fill_at = into;
    conn->fill_left = size;
}

void conn_expect(struct conn *conn, size_t size)
{
    conn->expected = size;
}
