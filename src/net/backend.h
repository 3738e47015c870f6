/* SPDX-License-Identifier: MIT
 *
 * Inside of net: the loop as its two back ends see it, and the table each of them is.
 */
#ifndef LARDER_NET_BACKEND_H
#define LARDER_NET_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/conn.h"
#include "net/loop.h"
#include "os/socket.h"

/* A listener this loop accepts on. Stays until the loop is destroyed. */
struct listening {
    struct listening *next;
    struct loop *loop;
    struct listener *listener; /* NULL once it accepts no more */
    int fd;
    void (*accepted)(struct loop *loop, int fd, struct listener *listener);
    void (*accept_failed)(struct loop *loop, const char *why);
    bool paused; /* until loop->accept_resume_ns */
    bool armed;  /* io_uring: the kernel owes a completion */
};

struct backend {
    const char *name;
    /* Sets loop->io. On failure `why` gets static text. */
    enum status (*create)(struct loop *loop, const char **why);
    /* Lets go of every connection and listener at once; no connection is freed by it. */
    void (*destroy)(struct loop *loop);
    /* At the start and end of loop_run, on its thread. */
    bool (*start)(struct loop *loop);
    void (*pause)(struct loop *loop);
    /* Hands over what was prepared and waits: not at all (0), for at most `timeout_ns`, or for ever
     * (negative). */
    void (*wait)(struct loop *loop, int64_t timeout_ns);
    /* Tells connections what has happened. */
    void (*dispatch)(struct loop *loop);
    bool (*listen)(struct listening *listening);
    void (*unlisten)(struct listening *listening);
    void (*accept_pause)(struct listening *listening);
    void (*accept_resume)(struct listening *listening);
    /* Starts to receive. */
    bool (*open)(struct conn *conn);
    /* Starts to receive, receives, or stops, as conn_wants says. */
    void (*receive)(struct conn *conn);
    /* Sends; only while there is output and none in flight. */
    void (*send)(struct conn *conn);
    /* True when the kernel holds nothing of the connection; else conn_gone follows. */
    bool (*close)(struct conn *conn);
};

extern const struct backend backend_epoll;
#include "os/uring.h"
#if LARDER_URING
extern const struct backend backend_uring;
#endif

struct message;

struct loop {
    const struct backend *backend;
    void *io; /* the back end's own */
    const struct loop_handler *handler;
    void *owner;
    struct loop_options options;
    int wake_fd;
    _Atomic bool stopping;
    _Atomic(struct message *) mail; /* newest first */

    /* --- time */
    uint64_t now_ns; /* sampled after each wait and at the end of each iteration */
    uint32_t now_ms; /* low bits of the same */
    uint64_t woke_ns, woke_cpu_ns;
    uint64_t sweep_at_ns, accept_resume_ns, alarm_at_ns; /* UINT64_MAX: never */

    /* --- how busy it is, for the adaptive wait */
    uint32_t active_window;
    uint32_t active, active_before; /* connections that received in this window and the last one */
    uint64_t busy_ns;               /* CPU time of an iteration with its system calls, smoothed */

    /* --- so that an iteration does not grow without end */
    uint64_t unchecked_work; /* done since loop_late looked at the clock, in bytes received */

    /* --- output */
    struct block *block; /* current; [block_at, its end) is free */
    char *block_at;
    struct conn *writer; /* holds the window */
    size_t free_bytes;   /* so much may be unsent whatever the class; see conn_check_congestion */
    struct block *block_pool;
    struct chunk *chunk_pool;
    uint32_t chunk_pool_count;
    uint32_t block_pool_count, block_pool_low; /* low: fewest since the last sweep */

    /* --- connections */
    struct links all, dirty, doomed, again;
    struct links lingering; /* the longest first */
    uint32_t lingering_count;
    struct links *sweep_cursor; /* the next one to look at; &all: start over */
    struct listening *listening;
    _Atomic uint32_t load; /* see loop_load */

    struct {
        _Atomic uint64_t iterations, waits_batched, bytes_received, bytes_sent, sends, receives,
            accepted, closed, iteration_cpu_max_ns, output_bytes;
        _Atomic uint32_t connections;
    } stats;
};

/* What a receive, or offering kept bytes again, counts at least as `unchecked_work`, and what a new
 * connection does. */
enum { RECEIVE_WORK = 512, ADOPT_WORK = 2048 };
/* A connection whose peer does not close is waited for so long, and at most so many are: a flood of
 * refused peers shall not eat up the descriptors. */
enum { LINGER_MS = 1000, LINGER_COUNT_MAX = 32 };

/* The loop's thread writes them, any may read; only the maximum is reset by others. */
#define STAT_ADD(counter, amount)                                                                  \
    atomic_store_explicit(&(counter),                                                              \
                          atomic_load_explicit(&(counter), memory_order_relaxed) + (amount),       \
                          memory_order_relaxed)

/* How to wait: for how many receives, and for how long at most before one is enough. Returns 1 when
 * the loop is not busy enough to gain. */
uint32_t loop_batch(struct loop *loop, uint32_t *out_wait_us);
/* An accepted descriptor, or a negative io_error. */
void loop_accepted(struct listening *listening, long result);
/* To be asked after each receive. True: the iteration has lasted long enough, and the rest is for
 * the next one. */
bool loop_late(struct loop *loop);
/* Looks at the connection again in this iteration if it still dispatches, else in the next, which
 * then does not wait. */
void loop_again(struct conn *conn);

#endif
