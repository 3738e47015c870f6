/* SPDX-License-Identifier: MIT
 *
 * A submission and completion ring of io_uring with one ring of provided buffers, set up the way
 * the loop wants it: one thread submits, the kernel's deferred work runs only inside uring_enter.
 * That is why nothing is written to the loop's memory while its own code runs.
 *
 * liburing (2.2 or later) prepares entries and maps the rings; entering is our own, because only
 * the raw call has the minimum wait. Without liburing at compile time LARDER_URING is 0 and there
 * is nothing here.
 *
 * One thread at a time. uring_start binds the ring to the calling thread for good.
 */
#ifndef LARDER_OS_URING_H
#define LARDER_OS_URING_H

#ifndef LARDER_URING
#define LARDER_URING 0
#endif

#if LARDER_URING

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/socket.h"

/* Names that came after liburing 2.2. */
#ifndef IORING_RECV_MULTISHOT
#define IORING_RECV_MULTISHOT (1U << 1)
#endif

enum { URING_BUFFER_COUNT = 64, URING_BUFFER_SIZE = 16 * 1024, URING_BUFFER_GROUP = 0 };

struct uring {
    struct io_uring ring;
    int enter_fd;
    unsigned enter_flags;
    unsigned completion_mask;
    bool has_min_wait; /* kernel 6.12 */
    struct io_uring_buf_ring *buffer_ring;
    char *buffers;
    int buffers_returned; /* not yet shown to the kernel */
};

/* Fails on kernels before 6.1 and where io_uring is forbidden; `why` gets static text then. */
enum io_error uring_init(struct uring *uring, const char **why);
/* What is still pending is canceled by the kernel without touching memory of this process. */
void uring_deinit(struct uring *uring);
/* The calling thread is from now on the only one to submit. */
enum io_error uring_start(struct uring *uring);
/* Lets go of what the thread holds for the ring; uring_start takes it up again. */
void uring_pause(struct uring *uring);
/* Submits what is prepared, runs deferred work and waits for `wait_count` completions: for at most
 * `timeout_ns` (negative: for ever), and once `min_wait_us` have passed for one only. Without
 * has_min_wait the caller must leave it 0. */
void uring_enter(struct uring *uring, unsigned wait_count, uint32_t min_wait_us,
                 int64_t timeout_ns);
void uring_submit(struct uring *uring);

/* The next entry to fill; submits when the ring is full. Never NULL. */
static inline struct io_uring_sqe *uring_entry(struct uring *uring)
{
    struct io_uring_sqe *entry;
    while ((entry = io_uring_get_sqe(&uring->ring)) == NULL)
        uring_submit(uring);
    return entry;
}

/* Completions that have arrived are those from uring_head up to, not including, uring_tail. */
static inline unsigned uring_head(const struct uring *uring)
{
    return *uring->ring.cq.khead;
}

static inline unsigned uring_tail(const struct uring *uring)
{
    return io_uring_smp_load_acquire(uring->ring.cq.ktail);
}

/* Whether completions found no room in the ring: they follow, in order, when uring_enter finds
 * some. */
static inline bool uring_holds_back(const struct uring *uring)
{
    return (IO_URING_READ_ONCE(*uring->ring.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0;
}

static inline const struct io_uring_cqe *uring_completion(const struct uring *uring, unsigned index)
{
    return &uring->ring.cq.cqes[index & uring->completion_mask];
}

static inline void uring_seen(struct uring *uring, unsigned head)
{
    io_uring_smp_store_release(uring->ring.cq.khead, head);
}

static inline char *uring_buffer(const struct uring *uring, unsigned index)
{
    return uring->buffers + (size_t)index * URING_BUFFER_SIZE;
}

/* The kernel may use the buffer again after the next uring_buffers_publish. */
static inline void uring_buffer_return(struct uring *uring, unsigned index)
{
    io_uring_buf_ring_add(uring->buffer_ring, uring_buffer(uring, index), URING_BUFFER_SIZE,
                          (unsigned short)index, URING_BUFFER_COUNT - 1, uring->buffers_returned++);
}

static inline void uring_buffers_publish(struct uring *uring)
{
    if (uring->buffers_returned != 0)
        io_uring_buf_ring_advance(uring->buffer_ring, uring->buffers_returned);
    uring->buffers_returned = 0;
}

#endif
#endif
