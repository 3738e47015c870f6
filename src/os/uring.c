/* SPDX-License-Identifier: MIT
 *
 * Setting up, entering and closing a ring. See os/uring.h.
 */
#include "os/uring.h"

#if LARDER_URING

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/memory.h"

/* Names that came after liburing 2.2. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif
#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif
#ifndef IORING_FEAT_MIN_TIMEOUT
#define IORING_FEAT_MIN_TIMEOUT (1U << 15)
#endif

/* More entries than an iteration usually prepares; a ring that is walked quickly stays cached. */
enum { SUBMISSION_COUNT = 256, COMPLETION_COUNT = 1024 };

/* struct io_uring_getevents_arg: its third field has had two names. */
struct enter_argument {
    uint64_t sigmask;
    uint32_t sigmask_size;
    uint32_t min_wait_us;
    uint64_t timeout;
};

static const char *refusal(enum io_error error)
{
    switch (error) {
    case IO_DENIED:
        return "io_uring is forbidden here (container, seccomp or kernel.io_uring_disabled)";
    case IO_UNSUPPORTED:
        return "the kernel has no io_uring";
    case IO_INVALID:
        return "the kernel's io_uring is too old (6.1 or later is needed)";
    case IO_NO_MEMORY:
        return "no memory for io_uring (or RLIMIT_MEMLOCK is too low)";
    case IO_NO_FILES:
        return "no file descriptor left for io_uring";
    default:
        return "io_uring could not be set up";
    }
}

static enum io_error add_buffers(struct uring *uring)
{
    uring->buffer_ring = os_map(OS_PAGE_SIZE, OS_PAGE_SIZE);
    uring->buffers = os_map((size_t)URING_BUFFER_COUNT * URING_BUFFER_SIZE, OS_PAGE_SIZE);
    if (uring->buffer_ring == NULL || uring->buffers == NULL)
        return IO_NO_MEMORY;
    struct io_uring_buf_reg registration;
    memset(&registration, 0, sizeof registration);
    registration.ring_addr = (uint64_t)(uintptr_t)uring->buffer_ring;
    registration.ring_entries = URING_BUFFER_COUNT;
    registration.bgid = URING_BUFFER_GROUP;
    int result = io_uring_register_buf_ring(&uring->ring, &registration, 0);
    if (result != 0)
        return io_error_from(-result);
    for (unsigned i = 0; i < URING_BUFFER_COUNT; i++)
        uring_buffer_return(uring, i);
    uring_buffers_publish(uring);
    return IO_OK;
}

static void remove_buffers(struct uring *uring)
{
    if (uring->buffer_ring != NULL)
        os_unmap(uring->buffer_ring, OS_PAGE_SIZE);
    if (uring->buffers != NULL)
        os_unmap(uring->buffers, (size_t)URING_BUFFER_COUNT * URING_BUFFER_SIZE);
}

enum io_error uring_init(struct uring *uring, const char **why)
{
    memset(uring, 0, sizeof *uring);
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    /* Disabled until uring_start, so that one thread can create what another will run. */
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
    params.cq_entries = COMPLETION_COUNT;
    int result = io_uring_queue_init_params(SUBMISSION_COUNT, &uring->ring, &params);
    if (result != 0) {
        enum io_error error = io_error_from(-result);
        *why = refusal(error);
        return error;
    }
    uring->enter_fd = uring->ring.ring_fd;
    uring->completion_mask = params.cq_entries - 1;
    uring->has_min_wait = (params.features & IORING_FEAT_MIN_TIMEOUT) != 0;
    /* Entries are always submitted in ring order, so the indirection never changes. */
    if (!(params.flags & IORING_SETUP_NO_SQARRAY)) {
        for (unsigned i = 0; i < params.sq_entries; i++)
            uring->ring.sq.array[i] = i;
    }
    enum io_error error = add_buffers(uring);
    if (error != IO_OK) {
        *why = refusal(error);
        uring_deinit(uring);
    }
    return error;
}

void uring_deinit(struct uring *uring)
{
    io_uring_queue_exit(&uring->ring);
    remove_buffers(uring);
}

enum io_error uring_start(struct uring *uring)
{
    if (uring->enter_flags == 0) {
        /* Some versions of liburing declare a function for this that they do not export. */
        if (syscall(__NR_io_uring_register, uring->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
                    0) != 0)
            return io_error_from(errno);
    }
    uring->enter_flags = IORING_ENTER_GETEVENTS;
    /* Spares the kernel looking up the ring's file each time. */
    if (io_uring_register_ring_fd(&uring->ring) == 1) {
        uring->enter_fd = uring->ring.enter_ring_fd;
        uring->enter_flags |= IORING_ENTER_REGISTERED_RING;
    }
    return IO_OK;
}

void uring_pause(struct uring *uring)
{
    if (uring->enter_flags & IORING_ENTER_REGISTERED_RING)
        io_uring_unregister_ring_fd(&uring->ring);
    uring->enter_fd = uring->ring.ring_fd;
    uring->enter_flags = IORING_ENTER_GETEVENTS;
}

/* Shows the kernel what was prepared; returns the number of entries it has not taken yet. */
static unsigned flush_submissions(struct uring *uring)
{
    struct io_uring_sq *sq = &uring->ring.sq;
    sq->sqe_head = sq->sqe_tail;
    io_uring_smp_store_release(sq->ktail, sq->sqe_tail);
    return sq->sqe_tail - IO_URING_READ_ONCE(*sq->khead);
}

void uring_enter(struct uring *uring, unsigned wait_count, uint32_t min_wait_us, int64_t timeout_ns)
{
    unsigned submit_count = flush_submissions(uring);
    struct __kernel_timespec timeout;
    struct enter_argument argument = {.min_wait_us = min_wait_us};
    if (timeout_ns >= 0) {
        timeout.tv_sec = timeout_ns / 1000000000;
        timeout.tv_nsec = timeout_ns % 1000000000;
        argument.timeout = (uint64_t)(uintptr_t)&timeout;
    }
    bool plain = wait_count == 0 || (timeout_ns < 0 && min_wait_us == 0);
    /* Failures are interruptions and time-outs: whoever called looks at the completions. */
    syscall(__NR_io_uring_enter, uring->enter_fd, submit_count, wait_count,
            plain ? uring->enter_flags : uring->enter_flags | IORING_ENTER_EXT_ARG,
            plain ? NULL : &argument, plain ? 0 : sizeof argument);
    /* The kernel leaves entries behind only when it is out of memory. Callers rely on it having
     * seen all of them. */
    while (IO_URING_READ_ONCE(*uring->ring.sq.khead) != uring->ring.sq.sqe_tail)
        uring_submit(uring);
}

void uring_submit(struct uring *uring)
{
    unsigned submit_count = flush_submissions(uring);
    syscall(__NR_io_uring_enter, uring->enter_fd, submit_count, 0,
            uring->enter_flags & ~IORING_ENTER_GETEVENTS, NULL, 0);
}

#endif
