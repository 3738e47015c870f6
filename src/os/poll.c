/* SPDX-License-Identifier: MIT
 *
 * epoll and eventfd. No state.
 */
#include "os/poll.h"

#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

int poll_create(void)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    return poll >= 0 ? poll : -(int)io_error_from(errno);
}

static enum io_error control(int poll, int operation, int fd, uint32_t events, void *tag)
{
    struct epoll_event event = {.events = events, .data.ptr = tag};
    return epoll_ctl(poll, operation, fd, &event) == 0 ? IO_OK : io_error_from(errno);
}

enum io_error poll_add(int poll, int fd, uint32_t events, void *tag)
{
    return control(poll, EPOLL_CTL_ADD, fd, events, tag);
}

enum io_error poll_change(int poll, int fd, uint32_t events, void *tag)
{
    return control(poll, EPOLL_CTL_MOD, fd, events, tag);
}

void poll_remove(int poll, int fd)
{
    control(poll, EPOLL_CTL_DEL, fd, 0, NULL);
}

int poll_wait(int poll, struct epoll_event *events, int count, int64_t timeout_ns)
{
    int timeout_ms = -1;
    if (timeout_ns >= 0) {
        int64_t rounded_ms = (timeout_ns + 999999) / 1000000;
        timeout_ms = rounded_ms < INT_MAX ? (int)rounded_ms : INT_MAX;
    }
    int ready = epoll_wait(poll, events, count, timeout_ms);
    return ready > 0 ? ready : 0;
}

int poll_wake_create(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd >= 0 ? fd : -(int)io_error_from(errno);
}

void poll_wake(int fd)
{
    int saved = errno;
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof one);
    (void)written; /* fails only when the counter is full, and then the reader wakes anyway */
    errno = saved;
}
