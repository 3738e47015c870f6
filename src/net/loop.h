/* SPDX-License-Identifier: MIT
 *
 * An event loop and its connections, the same over io_uring and epoll (net/loop_uring.c,
 * net/loop_epoll.c). It moves bytes and knows no protocol.
 *
 * One thread owns a loop and all its connections; every function here must be called on it, except
 * those marked "from any thread". Another thread than the one that runs it may create a loop, have
 * it listen and destroy it, but loop_run must always be called by the same. Callbacks run inside
 * loop_run. An iteration is: wait, `awake`, callbacks for what happened, `asleep`, one send per
 * connection with output. Only the `release` of bytes sent by reference may be called after
 * `asleep`.
 *
 * Receiving: `data` gets all bytes that have arrived and were not consumed, in place, and returns
 * how many it consumed. What is left is kept by the connection and comes again, at the same offset,
 * with more behind it. A connection with nothing left over owns no buffer.
 *
 * Sending: write to conn_sink(). What was written leaves at the end of the iteration in one send;
 * while that is in flight, output gathers in other memory. When the unsent bytes exceed
 * `output_soft_bytes` reading stops and `data` is not called until they drained below half; a
 * connection whose peer takes nothing for `stall_timeout_ms` while over it is closed.
 */
#ifndef LARDER_NET_LOOP_H
#define LARDER_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "base/status.h"
#include "net/listener.h"

struct conn;
struct loop;

enum loop_io { LOOP_IO_AUTO, LOOP_IO_URING, LOOP_IO_EPOLL };

/* Why a loop closes a connection by itself. */
enum loop_drop {
    LOOP_DROP_NONE,
    LOOP_DROP_IDLE,    /* it sent nothing for idle_timeout_ms */
    LOOP_DROP_STALLED, /* it took nothing for stall_timeout_ms while replies waited for it */
    LOOP_DROP_OUTPUT,  /* more waits for it than its class allows */
};

/* Of these only `data` and `closed` must be there, `filled` where conn_receive_into is used,
 * `let_on` where conn_hold is, `alarm` where loop_alarm is, and `swept` where limits tell of it. */
struct loop_handler {
    /* A new connection. False: close it, `closed` is not called then. */
    bool (*opened)(struct conn *conn);
    size_t (*data)(struct conn *conn, char *data, size_t size);
    /* A chance to fetch memory ahead. Shows what has arrived on several connections
     * before `data` is called for any of them: first with `again` false for each, then with true.
     * Nothing is consumed and nothing may be changed. */
    void (*glance)(struct conn *conn, const char *data, size_t size, bool again);
    /* A span asked for with conn_receive_into is complete. `data` goes on after it. */
    void (*filled)(struct conn *conn);
    /* The connection is gone and the kernel uses none of its memory any more; last call for it. */
    void (*closed)(struct conn *conn);
    void (*awake)(struct loop *loop);  /* right after a wait */
    void (*asleep)(struct loop *loop); /* right before a wait */
    /* The loop closes the connection by itself; `closed` follows. */
    void (*dropped)(struct conn *conn, enum loop_drop why);
    /* Now and then, while limits say so, for each connection that is not closing. It may close it,
     * or send and close. `now_ms` wraps around. */
    void (*swept)(struct conn *conn, uint32_t now_ms);
    /* After conn_let_on, before `data` goes on. */
    void (*let_on)(struct conn *conn);
    void (*alarm)(struct loop *loop); /* the time of loop_alarm has come */
};

/* What a connection's unsent bytes are: answers to what it asked, which stop when reading stops, or
 * pushed to it, which do not. */
enum conn_class { CONN_ANSWERED, CONN_PUSHED, CONN_CLASS_COUNT };

/* More than `hard_bytes` unsent, or more than `soft_bytes` for longer than `soft_ms`, and the
 * connection is dropped; 0 bytes: no such limit. */
struct output_limit {
    size_t hard_bytes, soft_bytes;
    uint32_t soft_ms;
};

/* May change while the loop runs: loop_limits_set. */
struct loop_limits {
    struct output_limit output[CONN_CLASS_COUNT];
    size_t output_soft_bytes;  /* 0: 1 MB */
    uint32_t stall_timeout_ms; /* 0: 60,000 */
    uint32_t idle_timeout_ms;  /* 0: never; a connection that sends nothing for so long is closed */
    uint32_t swept_timeout_ms; /* the shortest time that `swept` measures; 0: it is not called */
};

struct loop_options {
    enum loop_io io;
    uint32_t batch_wait_us; /* longest adaptive wait; 0 turns it off */
    struct loop_limits limits;
    const struct loop_handler *handler;
    void *owner; /* loop_owner() */
};

/* `why` (may be NULL) gets static text when LOOP_IO_AUTO had to take epoll, or on failure. */
enum status loop_create(const struct loop_options *options, struct loop **out, const char **why)
    MUST_USE;
/* Closes what is open, calling `closed`; drops messages that have not run. Not while loop_run runs.
 * */
void loop_destroy(struct loop *loop);
/* Until loop_stop; returns at once when that was called before. */
void loop_run(struct loop *loop);
/* From any thread: "io_uring" or "epoll". */
const char *loop_io_name(const struct loop *loop);
/* From any thread: what the options said. */
void *loop_owner(const struct loop *loop);

/* From any thread: `run(loop, argument)` on the loop's thread, in order of posting per poster.
 * False when memory is out. */
bool loop_post(struct loop *loop, void (*run)(struct loop *loop, void *argument), void *argument);
/* As loop_post. `argument` (of base/alloc.h) is the message's: it is freed when that has run, or
 * never will. */
bool loop_post_owned(struct loop *loop, void (*run)(struct loop *loop, void *argument),
                     void *argument);
/* From any thread and from signal handlers: loop_run returns after the current iteration. */
void loop_stop(struct loop *loop);

/* Accepts on `listener` from now on; each accepted descriptor goes to `accepted` (on this loop's
 * thread), which gives it to some loop with loop_adopt. Running out of descriptors pauses accepting
 * for a while and is told each time through `accept_failed` (may be NULL) with static text. */
enum status loop_listen(struct loop *loop, struct listener *listener,
                        void (*accepted)(struct loop *loop, int fd, struct listener *listener),
                        void (*accept_failed)(struct loop *loop, const char *why)) MUST_USE;
/* Accepts no more on any listener of this loop. */
void loop_unlisten(struct loop *loop);
/* From any thread: takes over a connected descriptor, in the next iteration unless this is the
 * loop's own thread inside loop_run. Closes it when that fails. */
void loop_adopt(struct loop *loop, int fd, struct listener *listener);
/* From any thread: connections that are open, and descriptors on their way to becoming one. */
uint32_t loop_load(const struct loop *loop);

struct loop_stats {
    uint64_t iterations, waits_batched; /* of these, waits for more than one completion */
    uint64_t bytes_received, bytes_sent;
    uint64_t sends, receives;
    uint64_t accepted, closed;
    uint64_t iteration_cpu_max_ns; /* longest iteration without its wait, thread CPU time, since
                                      the loop began or loop_stats_restart_max was called */
    uint64_t output_bytes;         /* unsent now, over all connections */
    uint32_t connections;          /* now */
};
/* From any thread: relaxed reads. */
void loop_stats(const struct loop *loop, struct loop_stats *out);
/* From any thread. */
void loop_stats_restart_max(struct loop *loop);

/* Holds for open connections too: those that the new soft limit no longer stops go on. */
void loop_limits_set(struct loop *loop, const struct loop_limits *limits);
/* Has `alarm` called once after so long, or earlier where an earlier alarm is set. */
void loop_alarm(struct loop *loop, uint64_t after_ms);

/* Calls `visit` for each connection; connections may be closed by it. */
void loop_each_conn(struct loop *loop, void (*visit)(struct conn *conn, void *argument),
                    void *argument);

/* ---- connections */
void *conn_user(const struct conn *conn);
void conn_user_set(struct conn *conn, void *user);
struct loop *conn_loop(const struct conn *conn);
int conn_fd(const struct conn *conn);
struct listener *conn_listener(const struct conn *conn);
struct sink *conn_sink(struct conn *conn);
/* Unsent output is over the soft limit: `data` should consume no more for now. */
bool conn_congested(const struct conn *conn);
/* Stops calling `data` and `filled`; flushes the output, tells the peer of its end, and closes once
 * the peer has seen it: when it closes too, else after a second. What it still sends is dropped.
 * (Closing at once would take from it, where it is still sending, what it has not read yet.) */
void conn_close_after_flush(struct conn *conn);
/* CONN_ANSWERED unless changed. A peer that is pushed to may be silent for ever: the time it may be
 * idle does not count. */
void conn_class_set(struct conn *conn, enum conn_class class);
/* Closes now; output is lost. Of the callbacks only `closed` follows, never inside this, usually in
 * this iteration, otherwise as soon as the kernel has let go of the connection. */
void conn_close(struct conn *conn);
bool conn_closing(const struct conn *conn);
/* Only from within `data`: the `size` bytes after what `data` consumed this time go straight into
 * `into` (bytes that already arrived are copied), then `filled` is called. `into` belongs to the
 * caller and must stay until `filled` or `closed`. */
void conn_receive_into(struct conn *conn, char *into, size_t size);
/* Offers no bytes until conn_let_on, and keeps a bounded number of what comes; the time it may be
 * idle does not count. A peer that sends its end meanwhile is taken to have gone: the connection is
 * closed. */
void conn_hold(struct conn *conn);
void conn_let_on(struct conn *conn);
/* What a connection holds, as of its last event. */
struct conn_figures {
    size_t input_bytes, input_free_bytes; /* received and not consumed; room beside them */
    size_t output_bytes;                  /* unsent */
    size_t size;                          /* of the connection with its input buffer */
    uint64_t bytes_received, bytes_sent;  /* since it opened */
};
/* From any thread, as long as `closed` cannot be called. */
void conn_figures(const struct conn *conn, struct conn_figures *out);
/* Expects an unfinished request of at least `size` bytes in all: a hint for the buffer's size. */
void conn_expect(struct conn *conn, size_t size);

#endif
