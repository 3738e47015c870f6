/* SPDX-License-Identifier: MIT
 *
 * The event loop, every case over both back ends. A loop runs on a thread of its own and speaks a
 * small protocol; the test is the client and uses plain sockets.
 *
 * The protocol: a request is a line. "e<text>" echoes the line, "b<n>" answers n bytes of a pattern
 * by copy, "r<n>" the same by reference, "f<n>" is followed by n bytes that are received into memory
 * of their own and answered with "<n> <checksum>\n", "q" answers "bye\n" and closes, "x" closes at
 * once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
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
    _Atomic uint64_t opened, closed, released, referred, data_calls, ticks, line_count;
    _Atomic bool refuse, close_when_filled;
    bool expect; /* give hints of the sizes of requests */
};

static struct server *server_of(struct conn *conn)
{
    return loop_owner(conn_loop(conn));
}

static uint32_t checksum(const char *data, size_t size)
{
    uint32_t sum = 1;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char)data[i];
    return sum;
}

static bool on_opened(struct conn *conn)
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

static void on_released(void *owner)
{
    struct server *server = owner;
    server->released++;
}

static void answer_line(struct conn *conn, const char *line, size_t size)
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
    case 'q':
        sink_write(sink, "bye\n", 4);
        conn_close_after_flush(conn);
        break;
    default:
        conn_close(conn);
        break;
    }
}

static size_t on_data(struct conn *conn, char *data, size_t size)
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

static void on_filled(struct conn *conn)
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

static void on_closed(struct conn *conn)
{
    struct session *session = conn_user(conn);
    alloc_free(session->fill);
    alloc_free(session);
    server_of(conn)->closed++;
}

static void on_tick(struct loop *loop)
{
    struct server *server = loop_owner(loop);
    server->ticks++;
}

static enum loop_io io_under_test;

/* Fills in defaults; the test changes what it needs before server_start. */
static void server_init(struct server *server)
{
    memset(server, 0, sizeof *server);
    server->handler = (struct loop_handler){
        .opened = on_opened, .data = on_data, .filled = on_filled, .closed = on_closed};
    server->options = (struct loop_options){
        .io = io_under_test, .batch_wait_us = 200, .handler = &server->handler, .owner = server};
}

static void server_run(void *argument)
{
    struct server *server = argument;
    loop_run(server->loop);
}

static void server_create(struct server *server)
{
    assert_int_equal(loop_create(&server->options, &server->loop, NULL), STATUS_OK);
}

static void server_start(struct server *server)
{
    if (server->loop == NULL)
        server_create(server);
    assert_int_equal(thread_start("loop", server_run, server, &server->thread), STATUS_OK);
}

static void server_join(struct server *server)
{
    loop_stop(server->loop);
    thread_join(server->thread);
}

static void server_stop(struct server *server)
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

static struct loop_stats stats_of(struct server *server)
{
    struct loop_stats stats;
    loop_stats(server->loop, &stats);
    return stats;
}

/* ---- the client */
static int client_connect(struct server *server)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    loop_adopt(server->loop, pair[1], NULL);
    return pair[0];
}

static void client_send(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        assert_true(sent > 0);
        data += sent;
        size -= (size_t)sent;
    }
}

static void client_send_text(int fd, const char *text)
{
    client_send(fd, text, strlen(text));
}

static void client_receive(int fd, char *into, size_t size)
{
    while (size > 0) {
        ssize_t received = recv(fd, into, size, 0);
        assert_true(received > 0);
        into += received;
        size -= (size_t)received;
    }
}

static void client_expect_text(int fd, const char *text)
{
    char got[256];
    size_t size = strlen(text);
    client_receive(fd, got, size);
    assert_memory_equal(got, text, size);
}

static void client_expect_end(int fd)
{
    char byte;
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

/* Sends and receives at the same time, so that neither side's full buffers stop the other. */
static void client_exchange(int fd, const char *out, size_t out_size, char *in, size_t in_size)
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

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* ---- bytes in, bytes out */
static void test_pieces_of_every_size_are_echoed(void **state)
{
    (void)state;
    static const size_t sizes[] = {2,     3,     100,   511,   512,   513,   4095,   4096,
                                   16383, 16384, 16385, 65535, 65536, 65537, 300000, 3000000};
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *out = malloc(sizes[i]), *in = malloc(sizes[i]);
        memset(out, 'a' + (int)i, sizes[i]);
        out[0] = 'e';
        out[sizes[i] - 1] = '\n';
        client_exchange(fd, out, sizes[i], in, sizes[i]);
        assert_memory_equal(in, out, sizes[i]);
        free(out);
        free(in);
    }
    close(fd);
    server_stop(&server);
}

static void test_pipelined_requests_are_answered_in_order_in_few_sends(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    char *out = malloc(COUNT * 16), *in = malloc(COUNT * 16);
    size_t size = 0;
    for (int i = 0; i < COUNT; i++)
        size += (size_t)sprintf(out + size, "eline %d\n", i);
    client_exchange(fd, out, size, in, size);
    assert_memory_equal(in, out, size);
    close(fd);
    WAIT_FOR(server.closed == 1);
    struct loop_stats stats = stats_of(&server);
    assert_int_equal(stats.bytes_received, size);
    assert_int_equal(stats.bytes_sent, size);
    assert_true(stats.sends < COUNT / 10);
    assert_int_equal(stats.output_bytes, 0);
    free(out);
    free(in);
    server_stop(&server);
}

/* `text` arrives in two pieces, split at each byte; the server is seen to have the first. */
static void split_everywhere(struct server *server, const char *text, const char *answer)
{
    size_t size = strlen(text), answer_size = strlen(answer);
    char *in = malloc(answer_size + 1);
    int fd = client_connect(server);
    uint64_t before = 0;
    for (size_t split = 1; split < size; split++) {
        client_send(fd, text, split);
        WAIT_FOR(stats_of(server).bytes_received == before + split);
        client_send(fd, text + split, size - split);
        client_receive(fd, in, answer_size);
        assert_memory_equal(in, answer, answer_size);
        before += size;
    }
    close(fd);
    free(in);
}

static void test_what_is_left_over_survives_every_split(void **state)
{
    (void)state;
    for (int expect = 0; expect < 2; expect++) {
        struct server server;
        server_init(&server);
        server.expect = expect == 1;
        server_start(&server);
        split_everywhere(&server,
                         "e00040:a line of forty bytes, more or less\neb\nf7\nsomehow"
                         "e00200:after it\nb10\n",
                         "e00040:a line of forty bytes, more or less\neb\n7 eee737bb\n"
                         "e00200:after it\n0123456789");
        server_stop(&server);
    }
}

static void test_a_long_unfinished_request_goes_on_in_place(void **state)
{
    (void)state;
    for (int expect = 0; expect < 2; expect++) {
        struct server server;
        server_init(&server);
        server.expect = expect == 1;
        server_start(&server);
        int fd = client_connect(&server);
        /* Lines of 2,000 bytes, so that pieces of 5,000 always end within one. */
        enum { LINE = 2000, COUNT = 100, PIECE = 5000 };
        char *out = malloc(LINE * COUNT), *in = malloc(LINE * COUNT);
        for (int i = 0; i < COUNT; i++) {
            memset(out + i * LINE, 'a' + i % 26, LINE);
            memcpy(out + i * LINE, "e02000:", 7);
            out[i * LINE + LINE - 1] = '\n';
        }
        for (size_t at = 0; at < LINE * COUNT; at += PIECE) {
            client_send(fd, out + at, PIECE);
            WAIT_FOR(stats_of(&server).bytes_received == at + PIECE);
            size_t before = at / LINE * LINE, done = (at + PIECE) / LINE * LINE;
            client_receive(fd, in + before, done - before);
        }
        assert_memory_equal(in, out, LINE * COUNT);
        free(out);
        free(in);
        close(fd);
        server_stop(&server);
    }
}

static void test_spans_are_received_into_the_callers_memory(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,     2,      100,    16000,  16384,   65535,   65536,
                                   65537, 131072, 300000, 500001, 1 << 20, 3000000, PATTERN_SIZE};
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int apart = 0; apart < 2; apart++) {
            char request[64], answer[64];
            int size = snprintf(request, sizeof request, "eahead\nf%zu\n", sizes[i]);
            snprintf(answer, sizeof answer, "eahead\n%zu %08x\nebehind\n", sizes[i],
                     checksum(pattern, sizes[i]));
            client_send(fd, request, (size_t)size);
            if (apart == 1)
                client_expect_text(fd, "eahead\n");
            client_send(fd, pattern, sizes[i]);
            client_send_text(fd, "ebehind\n");
            client_expect_text(fd, answer + (apart == 1 ? 7 : 0));
        }
    }
    close(fd);
    server_stop(&server);
}

static void test_bytes_by_reference_and_by_copy_keep_their_order(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    char *out = malloc(64 * 1024), *in = malloc(16 << 20), *wanted = malloc(16 << 20);
    size_t out_size = 0, size = 0;
    for (size_t i = 0; i < 200; i++) {
        size_t copied = i * 37 % 5000, referred = i * 1201 % 60000;
        out_size += (size_t)sprintf(out + out_size, "b%zu\nr%zu\ne%zu\n", copied, referred, i);
        memcpy(wanted + size, pattern, copied);
        memcpy(wanted + size + copied, pattern, referred);
        size += copied + referred;
        size += (size_t)sprintf(wanted + size, "e%zu\n", i);
    }
    client_exchange(fd, out, out_size, in, size);
    assert_memory_equal(in, wanted, size);
    free(out);
    free(in);
    free(wanted);
    close(fd);
    server_stop(&server);
}

static void test_references_are_released_once_when_the_peer_vanishes(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.output_soft_bytes = 64 << 20;
    server_start(&server);
    for (int i = 0; i < 20; i++) {
        int fd = client_connect(&server);
        char text[64], some[1000];
        snprintf(text, sizeof text, "r%d\nb100000\nr%d\n", PATTERN_SIZE, i);
        client_send_text(fd, text);
        client_receive(fd, some, sizeof some);
        assert_memory_equal(some, pattern, sizeof some);
        close(fd);
        WAIT_FOR(server.closed == (uint64_t)i + 1);
        assert_int_equal(server.released, server.referred);
    }
    assert_int_equal(stats_of(&server).output_bytes, 0);
    server_stop(&server);
}

/* ---- peers that do not read */
static void test_a_congested_connection_is_not_served_until_it_drained(void **state)
{
    (void)state;
    enum { COUNT = 4000, SIZE = 10000 };
    struct server server;
    server_init(&server);
    server.options.output_soft_bytes = 300 * 1000;
    server_start(&server);
    int fd = client_connect(&server), other = client_connect(&server);
    char *out = malloc(COUNT * 7);
    for (int i = 0; i < COUNT; i++)
        memcpy(out + i * 7, i % 2 == 0 ? "b10000\n" : "r10000\n", 7);
    client_send(fd, out, COUNT * 7);
    free(out);
    WAIT_FOR(stats_of(&server).output_bytes > 300 * 1000);
    /* Others are served meanwhile. */
    client_send_text(other, "estill here\n");
    client_expect_text(other, "estill here\n");
    assert_true(server.line_count < COUNT / 2);
    assert_true(stats_of(&server).output_bytes <= 300 * 1000 + SIZE);
    char *in = malloc(SIZE);
    for (int i = 0; i < COUNT; i++) {
        client_receive(fd, in, SIZE);
        assert_memory_equal(in, pattern, SIZE);
    }
    free(in);
    client_send_text(fd, "eafter\n");
    client_expect_text(fd, "eafter\n");
    close(fd);
    close(other);
    server_stop(&server);
}

static void test_congestion_holds_back_a_span_and_what_follows(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.output_soft_bytes = 100 * 1000;
    server_start(&server);
    int fd = client_connect(&server);
    char line[64];
    int size = snprintf(line, sizeof line, "b4000000\nf300000\n");
    char *out = malloc(400000), *in = malloc(4000000 + 64);
    memcpy(out, line, (size_t)size);
    memcpy(out + size, pattern, 300000);
    memcpy(out + size + 300000, "eend\n", 5);
    size_t answer = 4000000 + (size_t)snprintf(line, sizeof line, "300000 %08x\neend\n",
                                               checksum(pattern, 300000));
    client_exchange(fd, out, (size_t)size + 300000 + 5, in, answer);
    assert_memory_equal(in, pattern, 4000000);
    assert_memory_equal(in + 4000000, line, strlen(line));
    free(out);
    free(in);
    close(fd);
    server_stop(&server);
}

static void test_a_peer_that_takes_nothing_is_dropped(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.output_soft_bytes = 1000;
    server.options.stall_timeout_ms = 40;
    server_start(&server);
    int congested = client_connect(&server), draining = client_connect(&server);
    int reading = client_connect(&server);
    client_send_text(congested, "b4000000\nemore\n");
    client_send_text(draining, "b4000000\n");
    shutdown(draining, SHUT_WR);
    WAIT_FOR(server.closed == 2);
    client_send_text(reading, "ehere\n");
    client_expect_text(reading, "ehere\n");
    close(congested);
    close(draining);
    close(reading);
    server_stop(&server);
}

static void test_a_silent_peer_is_dropped_after_the_idle_timeout(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.idle_timeout_ms = 20;
    server_start(&server);
    int fd = client_connect(&server);
    client_send_text(fd, "ehere\n");
    client_expect_text(fd, "ehere\n");
    client_expect_end(fd);
    server_stop(&server);
}

/* ---- closing */
static void test_a_half_closed_peer_gets_all_replies_then_the_end(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.output_soft_bytes = 50 * 1000;
    server_start(&server);
    int fd = client_connect(&server);
    enum { COUNT = 300, SIZE = 10000 };
    char out[COUNT * 7];
    for (int i = 0; i < COUNT; i++)
        memcpy(out + i * 7, "b10000\n", 7);
    client_send(fd, out, sizeof out);
    client_send_text(fd, "eunfinished");
    shutdown(fd, SHUT_WR);
    char *in = malloc(SIZE);
    for (int i = 0; i < COUNT; i++) {
        client_receive(fd, in, SIZE);
        assert_memory_equal(in, pattern, SIZE);
    }
    free(in);
    client_expect_end(fd);
    server_stop(&server);
}

static void close_others(struct conn *conn, void *argument)
{
    if (conn != argument)
        conn_close(conn);
}

static size_t on_data_closing_all(struct conn *conn, char *data, size_t size)
{
    loop_each_conn(conn_loop(conn), close_others, data[0] == 'o' ? conn : NULL);
    sink_write(conn_sink(conn), data, size);
    return size;
}

static void test_connections_may_be_closed_inside_callbacks(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    client_send_text(fd, "b300000\nq\neignored\n");
    char *in = malloc(300000);
    client_receive(fd, in, 300000);
    free(in);
    client_expect_text(fd, "bye\n");
    client_expect_end(fd);

    fd = client_connect(&server);
    client_send_text(fd, "elost\nx\neignored\n");
    client_expect_end(fd);

    server.close_when_filled = true;
    fd = client_connect(&server);
    client_send_text(fd, "f10\n0123456789emore\n");
    client_expect_end(fd);
    fd = client_connect(&server);
    client_send_text(fd, "f100000\n");
    client_send(fd, pattern, 100000);
    client_expect_end(fd);

    WAIT_FOR(server.closed == 4);
    server.refuse = true;
    fd = client_connect(&server);
    client_expect_end(fd);
    WAIT_FOR(stats_of(&server).connections == 0);
    server_stop(&server);
    assert_int_equal(server.closed, 4);
}

static void test_connections_may_be_closed_by_one_another(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.handler.data = on_data_closing_all;
    server_start(&server);
    int fds[10];
    for (int i = 0; i < 10; i++)
        fds[i] = client_connect(&server);
    WAIT_FOR(server.opened == 10);
    client_send_text(fds[5], "others");
    client_expect_text(fds[5], "others");
    for (int i = 0; i < 10; i++) {
        if (i != 5)
            client_expect_end(fds[i]);
    }
    client_send_text(fds[5], "all");
    client_expect_end(fds[5]);
    server_stop(&server);
}

static void test_a_loop_with_open_connections_can_be_destroyed(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    int idle = client_connect(&server), sending = client_connect(&server);
    int filling = client_connect(&server);
    client_send_text(sending, "r8000000\n");
    client_send_text(filling, "f200000\nbegun");
    WAIT_FOR(server.referred == 1 && server.line_count == 2);
    server_stop(&server);
    client_expect_end(idle);
    client_expect_end(filling);
    close(sending);
}

static void test_opening_and_closing_leaves_nothing_behind(void **state)
{
    (void)state;
    enum { ROUNDS = 50, COUNT = 40 };
    struct server server;
    server_init(&server);
    server_start(&server);
    size_t before = open_descriptors();
    for (int round = 0; round < ROUNDS; round++) {
        int fds[COUNT];
        for (int i = 0; i < COUNT; i++) {
            fds[i] = client_connect(&server);
            client_send_text(fds[i], "ehello\neunfinished");
        }
        for (int i = 0; i < COUNT; i++) {
            if (i % 3 != 0)
                client_expect_text(fds[i], "ehello\n");
            close(fds[i]);
        }
    }
    WAIT_FOR(server.closed == ROUNDS * COUNT);
    WAIT_FOR(open_descriptors() == before);
    struct loop_stats stats = stats_of(&server);
    assert_int_equal(stats.connections, 0);
    assert_int_equal(stats.accepted, ROUNDS * COUNT);
    assert_int_equal(stats.closed, ROUNDS * COUNT);
    server_stop(&server);
}

static void test_many_connections_at_once_all_get_their_answers(void **state)
{
    (void)state;
    enum { COUNT = 300 }; /* more than there are receive buffers */
    struct server server;
    server_init(&server);
    server_start(&server);
    int fds[COUNT];
    char *out = malloc(40000), *in = malloc(40000);
    memset(out, 'x', 40000);
    out[0] = 'e';
    out[39999] = '\n';
    for (int i = 0; i < COUNT; i++)
        fds[i] = client_connect(&server);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COUNT; i++)
            client_send(fds[i], out, 40000);
        for (int i = 0; i < COUNT; i++) {
            client_receive(fds[i], in, 40000);
            assert_memory_equal(in, out, 40000);
        }
    }
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    free(out);
    free(in);
    server_stop(&server);
}

/* ---- messages and stopping */
struct poster {
    struct server *server;
    struct thread *thread;
    uint32_t index;
};

enum { POSTERS = 4, POSTS = 2000 };
static uint32_t posts_seen[POSTERS];
static _Atomic uint32_t posts_wrong, posts_total;

static void on_post(struct loop *loop, void *argument)
{
    (void)loop;
    uintptr_t value = (uintptr_t)argument;
    uint32_t poster = (uint32_t)(value / POSTS), number = (uint32_t)(value % POSTS);
    if (posts_seen[poster]++ != number)
        posts_wrong++;
    posts_total++;
}

static void run_poster(void *argument)
{
    struct poster *poster = argument;
    for (uint32_t i = 0; i < POSTS; i++) {
        uintptr_t value = (uintptr_t)poster->index * POSTS + i;
        if (!loop_post(poster->server->loop, on_post, (void *)value))
            posts_wrong++;
    }
}

static void test_posts_from_threads_run_in_order_of_each_poster(void **state)
{
    (void)state;
    struct server server;
    struct poster posters[POSTERS];
    memset(posts_seen, 0, sizeof posts_seen);
    posts_wrong = posts_total = 0;
    server_init(&server);
    server_start(&server);
    for (uint32_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.server = &server, .index = i};
        assert_int_equal(thread_start("poster", run_poster, &posters[i], &posters[i].thread),
                         STATUS_OK);
    }
    for (uint32_t i = 0; i < POSTERS; i++)
        thread_join(posters[i].thread);
    WAIT_FOR(posts_total == POSTERS * POSTS);
    assert_int_equal(posts_wrong, 0);
    server_stop(&server);
}

static void post_again(struct loop *loop, void *argument)
{
    uint32_t *left = argument;
    if (--*left == 0)
        loop_stop(loop);
    else
        assert_true(loop_post(loop, post_again, left));
}

static void test_a_loop_may_post_to_itself_and_run_again(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_create(&server);
    for (int i = 0; i < 3; i++) {
        uint32_t left = 5;
        assert_true(loop_post(server.loop, post_again, &left));
        loop_run(server.loop);
        assert_int_equal(left, 0);
    }
    loop_stop(server.loop);
    loop_run(server.loop); /* returns at once */
    loop_destroy(server.loop);
}

static void test_ticks_come_without_any_traffic(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.handler.tick = on_tick;
    server.options.tick_ms = 2;
    server_start(&server);
    WAIT_FOR(server.ticks >= 3);
    server_stop(&server);
}

/* ---- listeners */
static void adopt_accepted(struct loop *loop, int fd, struct listener *listener)
{
    struct server *target = listener->owner;
    (void)loop;
    loop_adopt(target->loop, fd, listener);
}

static _Atomic uint32_t accept_failures;

static void count_failure(struct loop *loop, const char *why)
{
    (void)loop;
    assert_non_null(why);
    accept_failures++;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_tcp(uint16_t port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    return fd;
}

static void open_unix_listener(struct listener *out, char *path, size_t path_size)
{
    char message[256];
    snprintf(path, path_size, "/tmp/larder-loop-%d", (int)getpid());
    assert_int_equal(listener_open_unix(path, 0, 16, out, message, sizeof message), STATUS_OK);
}

static void test_accepted_connections_can_go_to_another_loop(void **state)
{
    (void)state;
    struct server acceptor, worker;
    struct listener listener;
    char path[64];
    server_init(&acceptor);
    server_init(&worker);
    server_create(&acceptor);
    open_unix_listener(&listener, path, sizeof path);
    listener.owner = &worker;
    assert_int_equal(loop_listen(acceptor.loop, &listener, adopt_accepted, NULL), STATUS_OK);
    server_start(&worker);
    server_start(&acceptor);
    for (int i = 0; i < 30; i++) {
        int fd = connect_unix(path);
        client_send_text(fd, "ehello\n");
        client_expect_text(fd, "ehello\n");
        close(fd);
    }
    WAIT_FOR(worker.closed == 30);
    server_stop(&acceptor);
    server_stop(&worker);
    listener_close(&listener);
    assert_int_equal(acceptor.opened, 0);
}

static void unlisten(struct loop *loop, void *argument)
{
    _Atomic bool *done = argument;
    loop_unlisten(loop);
    *done = true;
}

static void test_after_unlisten_nobody_is_accepted_but_others_are_served(void **state)
{
    (void)state;
    struct server server;
    struct listener listener;
    char path[64];
    _Atomic bool done = false;
    server_init(&server);
    server_create(&server);
    open_unix_listener(&listener, path, sizeof path);
    listener.owner = &server;
    assert_int_equal(loop_listen(server.loop, &listener, adopt_accepted, NULL), STATUS_OK);
    server_start(&server);
    int fd = connect_unix(path);
    client_send_text(fd, "ehello\n");
    client_expect_text(fd, "ehello\n");
    assert_true(loop_post(server.loop, unlisten, &done));
    WAIT_FOR(done);
    client_send_text(fd, "estill\n"); /* an iteration has passed when this is answered */
    client_expect_text(fd, "estill\n");
    int late = connect_unix(path);
    client_send_text(fd, "estill\n");
    client_expect_text(fd, "estill\n");
    assert_int_equal(server.opened, 1);
    close(late);
    close(fd);
    server_stop(&server);
    listener_close(&listener);
}

static void test_running_out_of_descriptors_pauses_accepting(void **state)
{
    (void)state;
    struct server server;
    struct listener listener;
    struct rlimit saved, low;
    char path[64];
    int fillers[256], count = 0;
    accept_failures = 0;
    /* First of all, since io_uring keeps the limit it finds when accepting starts. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    low = saved;
    low.rlim_cur = open_descriptors() + 30;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    server_init(&server);
    server_create(&server);
    open_unix_listener(&listener, path, sizeof path);
    listener.owner = &server;
    assert_int_equal(loop_listen(server.loop, &listener, adopt_accepted, count_failure), STATUS_OK);
    server_start(&server);
    int fd = connect_unix(path);
    client_send_text(fd, "ehello\n");
    client_expect_text(fd, "ehello\n");

    while (count < 256 && (fillers[count] = dup(fd)) >= 0)
        count++;
    close(fillers[--count]);
    int late = connect_unix(path); /* takes the last one */
    assert_true(late >= 0);
    WAIT_FOR(accept_failures == 1);
    client_send_text(fd, "estill\n");
    client_expect_text(fd, "estill\n");
    while (count > 0)
        close(fillers[--count]);
    client_send_text(late, "ehello\n");
    client_expect_text(late, "ehello\n");
    assert_int_equal(accept_failures, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    close(late);
    close(fd);
    server_stop(&server);
    listener_close(&listener);
}

static void test_peers_killed_at_any_point_do_no_harm(void **state)
{
    (void)state;
    static const char *const beginnings[] = {"",
                                             "e",
                                             "eline\n",
                                             "eline\nehalf",
                                             "f3000000\n",
                                             "f3000000\nbegun",
                                             "f90000\nbegun",
                                             "b4000000\n",
                                             "r8000000\nb100\n",
                                             "q\n",
                                             "x\n"};
    struct server server;
    struct listener listener;
    char message[256];
    server_init(&server);
    server_create(&server);
    assert_int_equal(listener_open_tcp("127.0.0.1", 0, 16, &listener, message, sizeof message),
                     STATUS_OK);
    listener.owner = &server;
    assert_int_equal(loop_listen(server.loop, &listener, adopt_accepted, NULL), STATUS_OK);
    server_start(&server);
    for (uint64_t i = 0; i < 110; i++) {
        int fd = connect_tcp(listener.port);
        client_send_text(fd, beginnings[i % 11]);
        if (i % 2 == 0) /* otherwise it may be reset before the server has looked */
            WAIT_FOR(server.opened == i + 1);
        struct linger reset = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        WAIT_FOR(server.opened == i + 1 && server.closed == i + 1);
    }
    int fd = connect_tcp(listener.port);
    client_send_text(fd, "b200000\neend\n");
    char *in = malloc(200000);
    client_receive(fd, in, 200000);
    client_expect_text(fd, "eend\n");
    free(in);
    close(fd);
    server_stop(&server);
    listener_close(&listener);
}

/* ---- failures */
static void test_every_failing_allocation_costs_at_most_the_connection(void **state)
{
    (void)state;
#if LARDER_FAULTS
    for (unsigned long nth = 1;; nth++) {
        struct server server;
        server_init(&server);
        alloc_fault_at(nth);
        if (loop_create(&server.options, &server.loop, NULL) != STATUS_OK) {
            assert_true(alloc_fault_fired());
            alloc_fault_at(0);
            continue;
        }
        alloc_fault_at(alloc_fault_fired() ? 0 : nth);
        if (thread_start("loop", server_run, &server, &server.thread) != STATUS_OK) {
            loop_destroy(server.loop);
            continue;
        }
        int fd = client_connect(&server);
        static const char request[] = "eone\nf100\n0123";
        (void)!send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
        char byte, *out = malloc(200000);
        memset(out, 'x', 200000);
        memcpy(out + 96, "b40000\nr100\nr200\neunfin", 23);
        if (recv(fd, &byte, 1, 0) == 1 && send(fd, out, 119, MSG_NOSIGNAL) == 119 &&
            send(fd, "ished\nq\n", 8, MSG_NOSIGNAL) == 8) {
            while (recv(fd, out, 200000, 0) > 0)
                ;
        }
        free(out);
        close(fd);
        bool fired = alloc_fault_fired();
        alloc_fault_at(0);
        server_stop(&server);
        if (!fired)
            break;
    }
#else
    skip();
#endif
}

static int refuse_io_uring(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -1;
}

static void test_where_io_uring_is_refused_epoll_serves_and_says_why(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (refuse_io_uring() != 0)
            _exit(77);
        struct server server;
        const char *why = NULL;
        server_init(&server);
        server.options.io = LOOP_IO_URING;
        if (loop_create(&server.options, &server.loop, &why) != STATUS_SYSTEM || why == NULL)
            _exit(1);
        server.options.io = LOOP_IO_AUTO;
        why = NULL;
        if (loop_create(&server.options, &server.loop, &why) != STATUS_OK || why == NULL ||
            strcmp(loop_io_name(server.loop), "epoll") != 0)
            _exit(2);
        loop_destroy(server.loop);
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFEXITED(result) && WEXITSTATUS(result) == 77)
        skip();
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
}

/* ---- running each over both */
static int use_epoll(void **state)
{
    (void)state;
    io_under_test = LOOP_IO_EPOLL;
    return 0;
}

static bool have_uring;

static int use_uring(void **state)
{
    (void)state;
    io_under_test = LOOP_IO_URING;
    return 0;
}

#define OVER_EPOLL(test)                                                                           \
    {                                                                                              \
#test " over epoll", test, use_epoll, NULL, NULL                                           \
    }
#define OVER_URING(test)                                                                           \
    {                                                                                              \
#test " over io_uring", test, use_uring, NULL, NULL                                        \
    }
#define EACH(over)                                                                                 \
    over(test_pieces_of_every_size_are_echoed),                                                    \
        over(test_pipelined_requests_are_answered_in_order_in_few_sends),                          \
        over(test_what_is_left_over_survives_every_split),                                         \
        over(test_a_long_unfinished_request_goes_on_in_place),                                     \
        over(test_spans_are_received_into_the_callers_memory),                                     \
        over(test_bytes_by_reference_and_by_copy_keep_their_order),                                \
        over(test_references_are_released_once_when_the_peer_vanishes),                            \
        over(test_a_congested_connection_is_not_served_until_it_drained),                          \
        over(test_congestion_holds_back_a_span_and_what_follows),                                  \
        over(test_a_peer_that_takes_nothing_is_dropped),                                           \
        over(test_a_silent_peer_is_dropped_after_the_idle_timeout),                                \
        over(test_a_half_closed_peer_gets_all_replies_then_the_end),                               \
        over(test_connections_may_be_closed_inside_callbacks),                                     \
        over(test_connections_may_be_closed_by_one_another),                                       \
        over(test_a_loop_with_open_connections_can_be_destroyed),                                  \
        over(test_opening_and_closing_leaves_nothing_behind),                                      \
        over(test_many_connections_at_once_all_get_their_answers),                                 \
        over(test_posts_from_threads_run_in_order_of_each_poster),                                 \
        over(test_a_loop_may_post_to_itself_and_run_again),                                        \
        over(test_ticks_come_without_any_traffic),                                                 \
        over(test_accepted_connections_can_go_to_another_loop),                                    \
        over(test_after_unlisten_nobody_is_accepted_but_others_are_served),                        \
        over(test_running_out_of_descriptors_pauses_accepting),                                    \
        over(test_peers_killed_at_any_point_do_no_harm),                                           \
        over(test_every_failing_allocation_costs_at_most_the_connection)

static bool uring_works(void)
{
    struct server server;
    const char *why;
    server_init(&server);
    server.options.io = LOOP_IO_URING;
    if (loop_create(&server.options, &server.loop, &why) != STATUS_OK) {
        print_message("[  SKIPPED ] all cases over io_uring: %s\n", why);
        return false;
    }
    loop_destroy(server.loop);
    return true;
}

/* An argument selects cases: '*half_closed*'. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    signal_ignore_pipe();
    pattern = malloc(PATTERN_SIZE);
    for (size_t i = 0; i < PATTERN_SIZE; i++)
        pattern[i] = i < 10 ? (char)('0' + i) : (char)('A' + i * 2654435761u / 65536 % 58);
    const struct CMUnitTest common[] = {
        cmocka_unit_test(test_where_io_uring_is_refused_epoll_serves_and_says_why)};
    const struct CMUnitTest epoll[] = {EACH(OVER_EPOLL)};
    const struct CMUnitTest uring[] = {EACH(OVER_URING)};
    have_uring = uring_works();
    int failed = cmocka_run_group_tests_name("any loop", common, NULL, NULL) +
                 cmocka_run_group_tests_name("loop over epoll", epoll, NULL, NULL);
    if (have_uring)
        failed += cmocka_run_group_tests_name("loop over io_uring", uring, NULL, NULL);
    free(pattern);
    return failed;
}
