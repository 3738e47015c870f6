/* SPDX-License-Identifier: MIT
 *
 * Readiness of descriptors (epoll), and a descriptor that other threads make ready (eventfd).
 */
#ifndef LARDER_OS_POLL_H
#define LARDER_OS_POLL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "os/socket.h"

/* What to watch for. POLL_EDGE tells of each arrival once; without it readiness is told until it
 * ends. Hang-ups and errors are always told. */
enum {
    POLL_READ = EPOLLIN | EPOLLRDHUP,
    POLL_WRITE = EPOLLOUT,
    POLL_HANGUP = EPOLLRDHUP | EPOLLHUP | EPOLLERR,
    POLL_EDGE = (int)EPOLLET
};

/* Returns a descriptor or a negative io_error. */
int poll_create(void);
enum io_error poll_add(int poll, int fd, uint32_t events, void *tag);
enum io_error poll_change(int poll, int fd, uint32_t events, void *tag);
void poll_remove(int poll, int fd);
/* Waits for at most `timeout_ns`, rounded up to milliseconds; negative: for ever. Returns the
 * number of events, 0 also when interrupted. */
int poll_wait(int poll, struct epoll_event *events, int count, int64_t timeout_ns);

/* A descriptor that becomes readable with each poll_wake; watched by edges nobody needs to read it.
 * */
int poll_wake_create(void);
/* From any thread and from signal handlers. */
void poll_wake(int fd);

#endif
