/* SPDX-License-Identifier: MIT
 *
 * Inside of net: a connection, what it has received and not consumed, and what it has to send. Both
 * back ends drive it through the functions below; nothing outside src/net includes this.
 *
 * Output. A loop has one current block; whoever writes gets its rest as the window of its sink, and
 * only one connection at a time holds it, so the replies of an iteration lie side by side in few
 * cache lines. What a connection wrote is sealed into a span when another writes, when the block is
 * full and at the end of the iteration. Spans (of blocks, or of the caller's memory) queue in
 * chunks whose iovec array goes to the kernel as it is. A span in flight is never changed; a block
 * is reused once no span refers to it.
 *
 * Input. Bytes are offered to the handler where the back end received them. Only what is left over
 * is copied to the connection's tail.
 *
 * Life. conn_close marks a connection and queues it as doomed; the loop buries it between callbacks
 * and asks the back end to let go. Once the kernel holds nothing of it (`pending` is 0) conn_gone
 * tells the handler and frees it.
 */
#ifndef LARDER_NET_CONN_H
#define LARDER_NET_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "net/loop.h"
#include "os/socket.h"

/* ---- a circular list; an element off every list links to itself */
struct links {
    struct links *previous, *next;
};

static inline void links_init(struct links *links)
{
    links->previous = links->next = links;
}

static inline bool links_empty(const struct links *list)
{
    return list->next == list;
}

static inline void links_remove(struct links *element)
{
    element->previous->next = element->next;
    element->next->previous = element->previous;
    links_init(element);
}

static inline void links_append(struct links *list, struct links *element)
{
    element->previous = list->previous;
    element->next = list;
    list->previous->next = element;
    list->previous = element;
}

#define LINKS_ENTRY(links, type, member) ((type *)((char *)(links)-offsetof(type, member)))

/* ---- output memory */
enum { OUTPUT_BLOCK_SIZE = 32 * 1024, OUTPUT_CHUNK_SPANS = 15 };

struct block {
    struct block *next; /* in the loop's pool */
    struct loop *loop;
    uint32_t references; /* spans, and the loop while it is the current one */
    char bytes[];
};

static inline char *block_end(struct block *block)
{
    return (char *)block + OUTPUT_BLOCK_SIZE;
}

struct chunk {
    struct chunk *next;
    uint32_t first, count; /* spans [first, count) are unsent */
    struct msghdr message; /* for a back end's send, stable until submitted */
    struct iovec spans[OUTPUT_CHUNK_SPANS];
    struct {
        void (*release)(void *owner);
        void *owner;
    } holds[OUTPUT_CHUNK_SPANS];
};

/* ---- connection */
struct conn {
    struct sink sink; /* first: the sink's operations find the connection by its address */
    char *window;     /* [window, sink.at) is written and not sealed */
    struct loop *loop;
    struct chunk *out_first, *out_last;
    size_t out_bytes;      /* sealed and unsent */
    size_t flight_bytes;   /* of these, given to the kernel and not answered yet */
    uint32_t flight_spans; /* their number, from the start of the first chunk */
    int fd;
    uint32_t active_window; /* the last activity window it received in */
    uint32_t heard_ms;      /* last bytes received */
    uint32_t progress_ms;   /* last bytes taken by the peer, or when it became congested */
    uint32_t over_ms;
    uint8_t pending; /* operations the kernel owes a completion for */
    bool in_flight : 1;
    bool dirty : 1;   /* on the loop's dirty list */
    bool in_data : 1; /* inside the handler's `data` */
    bool congested : 1;
    bool data_due : 1; /* it was congested or held, and is no more */
    bool ended : 1;    /* the peer sends no more */
    bool draining : 1; /* closes once all is sent */
    bool closing : 1;
    bool referring : 1; /* memory of others is, or was, in the queued output */
    bool silent : 1;    /* the handler refused it: no `closed` */
    bool held : 1;      /* conn_hold */
    bool let_on : 1;    /* conn_let_on: `let_on` is due */
    bool lingering : 1; /* all is sent; waits, on loop->lingering, for the peer to close */
    bool over : 1;      /* more is unsent than the soft limit of its class, since over_ms */
    bool pushed : 1;    /* its class is CONN_PUSHED */
    uint8_t drop : 2;   /* enum loop_drop: why the loop closes it */
    /* --- of the io_uring loop */
    bool receiving : 1;
    bool receiving_direct : 1; /* into the caller's memory, not by the multishot */
    bool canceling : 1;        /* the receive */
    bool canceled : 1;         /* everything */
    bool flying : 1;           /* its send is answered by the next submission */
    bool socket_full : 1;      /* the next send has to wait for room */
    bool send_answered : 1;    /* it was, by a completion: send_result */
    bool starved : 1;          /* waits for receive buffers, on a list by `again` */
    /* --- of the epoll loop */
    bool readable : 1; /* as far as is known */
    bool hung_up : 1;
    bool watching_room : 1;
    int32_t send_result;
    struct conn *next_flying;

    char *tail; /* received and not consumed: [tail_start, tail_start + tail_size) */
    size_t tail_room, tail_start, tail_size;
    /* What conn_figures tells other threads: written by this one. */
    _Atomic size_t shown_tail, shown_room, shown_unsent;
    _Atomic uint64_t bytes_received, bytes_sent;
    size_t expected;
    char *fill_at; /* conn_receive_into: where the next byte goes */
    size_t fill_left;

    void *user;
    struct listener *listener;
    struct links all, again;
    struct links queue; /* dirty, lingering or doomed */
};

/* The handler may be offered bytes. */
static inline bool conn_readable(const struct conn *conn)
{
    return !conn->closing && !conn->draining && !conn->congested && !conn->held;
}

/* What is kept of what comes while the connection is held: enough to see that the peer has gone. */
enum { HELD_TAIL_MAX = 64 * 1024 };

/* More bytes are wanted from the peer, be it to keep or to drop them. */
static inline bool conn_wants(const struct conn *conn)
{
    bool keeps = conn->held && !conn->draining && conn->tail_size < HELD_TAIL_MAX;
    return !conn->ended && !conn->closing && (conn_readable(conn) || keeps || conn->lingering);
}

static inline size_t conn_unsent(const struct conn *conn)
{
    return conn->out_bytes + (size_t)(conn->sink.at - conn->window);
}

/* That of its class. */
const struct output_limit *conn_output_limit(const struct conn *conn);

/* Brings up to date what other threads are told. */
static inline void conn_show(struct conn *conn)
{
    atomic_store_explicit(&conn->shown_tail, conn->tail_size, memory_order_relaxed);
    atomic_store_explicit(&conn->shown_room, conn->tail_room, memory_order_relaxed);
    atomic_store_explicit(&conn->shown_unsent, conn->out_bytes, memory_order_relaxed);
}

/* ---- for the back ends */
/* `size` bytes have arrived at `data`, which stays the back end's; they may be changed in place. */
void conn_received(struct conn *conn, char *data, size_t size);
/* `size` bytes have arrived at fill_at. */
void conn_received_direct(struct conn *conn, size_t size);
/* The peer sends no more. */
void conn_ended(struct conn *conn);
/* The kernel took `size` of the first bytes to send. */
void conn_sent(struct conn *conn, size_t size);
/* The kernel holds nothing of a closing connection any more: ends and frees it. */
void conn_gone(struct conn *conn);

/* ---- for the loop */
void conn_init(struct conn *conn, struct loop *loop, int fd, struct listener *listener);
/* Drops all that the connection owns. */
void conn_deinit(struct conn *conn);
/* Goes on after loop_again: offers what was left over while it was congested, receives, sends. */
void conn_resume(struct conn *conn);
/* Seals what was written and takes the window away. False: memory is out, output was lost. */
bool conn_window_close(struct conn *conn);
/* Marks it congested when it is, and drops it when it is over the limits of its class. */
void conn_check_congestion(struct conn *conn);
/* Lets it go on when it no longer is. */
void conn_check_relief(struct conn *conn);
/* Closes it; the handler is told why before `closed`. */
void conn_drop(struct conn *conn, enum loop_drop why);
/* Ends a draining connection with nothing left to send. */
void conn_settle(struct conn *conn);
/* Puts it on the list of those the end of the iteration looks at. */
void conn_mark_dirty(struct conn *conn);

#endif
