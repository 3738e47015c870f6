/* SPDX-License-Identifier: MIT
 *
 * What the tests of the event loop share. A loop runs on a thread of its own and speaks a small
 * protocol; the test is the client and uses plain sockets. Every case runs over both back ends.
 *
 * The protocol: a request is a line. "e<text>" echoes the line, "b<n>" answers n bytes of a pattern
 * by copy, "r<n>" the same by reference, "f<n>" is followed by n bytes that are received into
 * memory of their own and answered with "<n> <checksum>\n", "p" makes the connection
 * one of those pushed to, "q" answers "bye\n" and closes, "x" closes at once.
 */
#ifndef LARDER_TESTS_UNIT_NET_LOOP_FIXTURE_H
#define LARDER_TESTS_UNIT_NET_LOOP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/loop.h"
#include "os/signal.h"
#include "os/thread.h"

enum { PATTERN_SIZE = 8 * 1024 * 1024 };
static char *pattern;

/* ---- the server */
struct session {
    char *fill;
    size_t fill_size;
};

struct server {
    struct loop *loop;
    struct thread *thread;
    struct loop_options options;
    struct loop_handler handler;
    _Atomic uint64_t opened, closed, released, referred, data_calls, alarms, sweeps, line_count;
    _Atomic uint64_t drops[LOOP_DROP_OUTPUT + 1]; /* by enum loop_drop */
    _Atomic bool refuse, close_when_filled;
    bool expect; /* give hints of the sizes of requests */
};

static inline struct server *server_of(struct conn *conn)
{
    return loop_owner(conn_loop(conn));
}

static inline uint32_t checksum(const char *data, size_t size)
{
    uint32_t sum = 1;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char)data[i];
    return sum;
}

static inline bool on_opened(struct conn *conn)
{
    struct server *server = server_of(conn);
    if (server->refuse)
        return false;
    struct session *session = alloc_zeroed(1, sizeof *session);
    if (session == NULL)
        return false;
    conn_user_set(conn, session);
    server->opened++;
    return true;
}

static inline void on_released(void *owner)
{
    struct server *server = owner;
    server->released++;
}

static inline void answer_line(struct conn *conn, const char *line, size_t size)
{
    struct server *server = server_of(conn);
    struct session *session = conn_user(conn);
    struct sink *sink = conn_sink(conn);
    size_t number = strtoul(line + 1, NULL, 10);
    server->line_count++;
    switch (line[0]) {
    case 'e':
        sink_write(sink, line, size);
        break;
    case 'b':
        sink_write(sink, pattern, number);
        break;
    case 'r':
        server->referred++;
        sink->ops->refer(sink, pattern, number, on_released, server);
        break;
    case 'f':
        session->fill = alloc_get(number);
        session->fill_size = number;
        if (session->fill == NULL)
            conn_close(conn);
        else
            conn_receive_into(conn, session->fill, number);
        break;
    case 'p':
        conn_class_set(conn, CONN_PUSHED);
        break;
    case 'q':
        sink_write(sink, "bye\n", 4);
        conn_close_after_flush(conn);
        break;
    default:
        conn_close(conn);
        break;
    }
}

static inline size_t on_data(struct conn *conn, char *data, size_t size)
{
    struct server *server = server_of(conn);
    struct session *session = conn_user(conn);
    size_t used = 0;
    server->data_calls++;
    while (used < size && session->fill == NULL && !conn_congested(conn) && !conn_closing(conn)) {
        char *end = memchr(data + used, '\n', size - used);
        if (end == NULL) {
            /* Echo lines may announce their size: "e00042:...". */
            if (server->expect && size - used > 6)
                conn_expect(conn, strtoul(data + used + 1, NULL, 10));
            break;
        }
        size_t line_size = (size_t)(end + 1 - (data + used));
        answer_line(conn, data + used, line_size);
        used += line_size;
    }
    return used;
}

static inline void on_filled(struct conn *conn)
{
    struct session *session = conn_user(conn);
    char text[64];
    int size = snprintf(text, sizeof text, "%zu %08x\n", session->fill_size,
                        checksum(session->fill, session->fill_size));
    alloc_free(session->fill);
    session->fill = NULL;
    sink_write(conn_sink(conn), text, (size_t)size);
    if (server_of(conn)->close_when_filled)
        conn_close(conn);
}

static inline void on_closed(struct conn *conn)
{
    struct session *session = conn_user(conn);
    alloc_free(session->fill);
    alloc_free(session);
    server_of(conn)->closed++;
}

static inline void on_dropped(struct conn *conn, enum loop_drop why)
{
    server_of(conn)->drops[why]++;
}

static inline void on_alarm(struct loop *loop)
{
    struct server *server = loop_owner(loop);
    server->alarms++;
}

static enum loop_io io_under_test;

/* Fills in defaults; the test changes what it needs before server_start. */
static inline void server_init(struct server *server)
{
    memset(server, 0, sizeof *server);
    server->handler = (struct loop_handler){
        .opened = on_opened,
        .data = on_data,
        .filled = on_filled,
        .closed = on_closed,
        .dropped = on_dropped,
        .alarm = on_alarm,
    };
    server->options = (struct loop_options){
        .io = io_under_test, .batch_wait_us = 200, .handler = &server->handler, .owner = server};
}

static inline void server_run(void *argument)
{
    struct server *server = argument;
    loop_run(server->loop);
}

static inline void server_create(struct server *server)
{
    assert_int_equal(loop_create(&server->options, &server->loop, NULL), STATUS_OK);
}

static inline void server_start(struct server *server)
{
    if (server->loop == NULL)
        server_create(server);
    assert_int_equal(thread_start("loop", server_run, server, &server->thread), STATUS_OK);
}

static inline void server_join(struct server *server)
{
    loop_stop(server->loop);
    thread_join(server->thread);
}

static inline void server_stop(struct server *server)
{
    server_join(server);
    loop_destroy(server->loop);
    assert_int_equal(server->closed, server->opened);
    assert_int_equal(server->released, server->referred);
}

/* Gives way until `condition` holds; a test that waits for ever is ended by its runner. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        while (!(condition))                                                                       \
            sched_yield();                                                                         \
    } while (0)

static inline struct loop_stats stats_of(struct server *server)
{
    struct loop_stats stats;
    loop_stats(server->loop, &stats);
    return stats;
}

/* ---- the client */
static inline int client_connect(struct server *server)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    loop_adopt(server->loop, pair[1], NULL);
    return pair[0];
}

static inline void client_send(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        assert_true(sent > 0);
        data += sent;
        size -= (size_t)sent;
    }
}

static inline void client_send_text(int fd, const char *text)
{
    client_send(fd, text, strlen(text));
}

static inline void client_receive(int fd, char *into, size_t size)
{
    while (size > 0) {
        ssize_t received = recv(fd, into, size, 0);
        assert_true(received > 0);
        into += received;
        size -= (size_t)received;
    }
}

static inline void client_expect_text(int fd, const char *text)
{
    char got[256];
    size_t size = strlen(text);
    client_receive(fd, got, size);
    assert_memory_equal(got, text, size);
}

static inline void client_expect_end(int fd)
{
    char byte;
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

/* Sends and receives at the same time, so that neither side's full buffers stop the other. */
static inline void client_exchange(int fd, const char *out, size_t out_size, char *in,
                                   size_t in_size)
{
    while (out_size > 0 || in_size > 0) {
        struct pollfd poll_fd = {fd, (short)((out_size > 0 ? POLLOUT : 0) | POLLIN), 0};
        assert_true(poll(&poll_fd, 1, -1) == 1);
        if (poll_fd.revents & POLLOUT) {
            ssize_t sent = send(fd, out, out_size, MSG_NOSIGNAL | MSG_DONTWAIT);
            assert_true(sent > 0 || errno == EAGAIN);
            out += sent > 0 ? sent : 0;
            out_size -= sent > 0 ? (size_t)sent : 0;
        }
        if (poll_fd.revents & (POLLIN | POLLHUP)) {
            ssize_t received = recv(fd, in, in_size, MSG_DONTWAIT);
            assert_true(received > 0);
            in += received;
            in_size -= (size_t)received;
        }
    }
}

static inline size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* ---- running each case over both back ends */
struct loop_case {
    const char *name;
    CMUnitTestFunction run;
};

#define LOOP_CASE(test) ((struct loop_case){#test, test})

static inline int use_epoll(void **state)
{
    (void)state;
    io_under_test = LOOP_IO_EPOLL;
    return 0;
}

static inline int use_uring(void **state)
{
    (void)state;
    io_under_test = LOOP_IO_URING;
    return 0;
}

static inline bool uring_works(void)
{
    struct loop_handler handler = {.data = on_data, .closed = on_closed};
    struct loop_options options = {.io = LOOP_IO_URING, .handler = &handler};
    struct loop *loop;
    const char *why;
    if (loop_create(&options, &loop, &why) != STATUS_OK) {
        print_message("[  SKIPPED ] all cases over io_uring: %s\n", why);
        return false;
    }
    loop_destroy(loop);
    return true;
}

/* Returns the number of failures. `filter` selects cases ("*half_closed*"); NULL takes all. */
static inline int run_over_both(const char *filter, const struct loop_case *cases, size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name, .test_func = cases[i].run};
    pattern = malloc(PATTERN_SIZE);
    for (size_t i = 0; i < PATTERN_SIZE; i++)
        pattern[i] = i < 10 ? (char)('0' + i) : (char)('A' + i * 2654435761u / 65536 % 58);
    signal_ignore_harmless();
    if (filter != NULL)
        cmocka_set_test_filter(filter);
    int failed = _cmocka_run_group_tests("over epoll", tests, count, use_epoll, NULL);
    if (uring_works())
        failed += _cmocka_run_group_tests("over io_uring", tests, count, use_uring, NULL);
    free(pattern);
    free(tests);
    return failed;
}

#endif
