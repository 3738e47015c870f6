/* SPDX-License-Identifier: MIT
 *
 * The event loop: connections that come and go, messages, listeners, failures.
 */
#include "loop_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/process.h"

/* ---- closing */
static void test_a_half_closed_peer_gets_all_replies_then_the_end(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server.options.limits.output_soft_bytes = 50 * 1000;
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

static void test_a_peer_that_still_sends_gets_the_last_reply_and_the_end(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    int fd = client_connect(&server);
    enum { SIZE = 256 * 1024 };
    client_send_text(fd, "q\n");
    WAIT_FOR(server.line_count == 1);
    for (size_t sent = 0; sent < SIZE;) { /* what nobody will read */
        ssize_t result = send(fd, pattern, SIZE - sent, MSG_NOSIGNAL);
        assert_true(result > 0);
        sent += (size_t)result;
    }
    client_expect_text(fd, "bye\n");
    char byte;
    assert_int_equal(recv(fd, &byte, 1, 0), 0); /* an end, no reset */
    close(fd);
    WAIT_FOR(server.closed == 1);
    server_stop(&server);
}

static void test_peers_that_do_not_close_are_not_waited_for_without_end(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    enum { COUNT = 100 }; /* more than are waited for at once */
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        fds[i] = client_connect(&server);
        client_send_text(fds[i], "q\n");
    }
    WAIT_FOR(server.closed == COUNT);
    for (int i = 0; i < COUNT; i++) {
        client_expect_text(fds[i], "bye\n");
        client_expect_end(fds[i]);
    }
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
    assert_int_equal(loop_load(server.loop), 0);
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

/* So slow that an iteration ends before it has served everybody. */
static size_t on_data_late(struct conn *conn, char *data, size_t size)
{
    clock_sleep_us(500);
    return on_data(conn, data, size);
}

/* More connections than a ring has room for completions, whose sockets take only a part of each
 * answer at once. */
static void test_more_completions_than_fit_lose_no_answer(void **state)
{
    (void)state;
    enum { COUNT = 1400, REQUEST_SIZE = 10000, ANSWER_SIZE = 20000, SEND_BUFFER = 4096 };
    if (process_descriptors_raise(2 * COUNT + 100) < 2 * COUNT + 100)
        skip();
    struct server server;
    server_init(&server);
    server.handler.data = on_data_late;
    server_start(&server);
    int fds[COUNT], size = SEND_BUFFER;
    char *request = malloc(REQUEST_SIZE), *answer = malloc(ANSWER_SIZE);
    memset(request, ' ', REQUEST_SIZE);
    memcpy(request, "b20000", 6);
    request[REQUEST_SIZE - 1] = '\n';
    for (int i = 0; i < COUNT; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
        loop_adopt(server.loop, pair[1], NULL);
        fds[i] = pair[0];
        client_send(fds[i], request, REQUEST_SIZE);
    }
    WAIT_FOR(server.line_count == COUNT);
    for (int i = 0; i < COUNT; i++) {
        client_send_text(fds[i], "e\n");
        client_receive(fds[i], answer, ANSWER_SIZE);
        assert_memory_equal(answer, pattern, ANSWER_SIZE);
        client_expect_text(fds[i], "e\n");
        close(fds[i]);
    }
    free(request);
    free(answer);
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

static void count_to(struct loop *loop, void *argument)
{
    struct server *server = loop_owner(loop);
    server->line_count += *(const uint32_t *)argument;
    loop_stop(loop);
}

static void post_owned(struct server *server, uint32_t value)
{
    uint32_t *argument = alloc_get(sizeof *argument);
    assert_non_null(argument);
    *argument = value;
    assert_true(loop_post_owned(server->loop, count_to, argument));
}

/* That both are freed is for the address sanitizer to say. */
static void test_what_a_message_owns_goes_with_it_whether_it_runs_or_not(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_create(&server);
    post_owned(&server, 3);
    loop_run(server.loop);
    post_owned(&server, 4);
    loop_destroy(server.loop);
    assert_int_equal(server.line_count, 3);
}

static void set_alarms(struct loop *loop, void *argument)
{
    (void)argument;
    loop_alarm(loop, 1000000);
    loop_alarm(loop, 2);
    loop_alarm(loop, 1000000);
}

static void test_an_alarm_rings_at_the_earliest_time_without_any_traffic(void **state)
{
    (void)state;
    struct server server;
    server_init(&server);
    server_start(&server);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(loop_post(server.loop, set_alarms, NULL));
        WAIT_FOR(server.alarms == i);
    }
    server_stop(&server);
    assert_int_equal(server.alarms, 3);
}

/* ---- listeners */
static struct server *other;

static void adopt_accepted(struct loop *loop, int fd, struct listener *listener)
{
    loop_adopt(loop, fd, listener);
}

static void give_to_other(struct loop *loop, int fd, struct listener *listener)
{
    (void)loop;
    loop_adopt(other->loop, fd, listener);
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
    assert_int_equal(listener_open_unix(path, 0, 16, out, message, sizeof message), IO_OK);
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
    other = &worker;
    assert_int_equal(loop_listen(acceptor.loop, &listener, give_to_other, NULL), STATUS_OK);
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
                     IO_OK);
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
        WAIT_FOR(loop_load(server.loop) == 0); /* also when it could not be taken over */
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

int main(int argc, char **argv)
{
    const struct loop_case cases[] = {
        LOOP_CASE(test_a_half_closed_peer_gets_all_replies_then_the_end),
        LOOP_CASE(test_a_peer_that_still_sends_gets_the_last_reply_and_the_end),
        LOOP_CASE(test_peers_that_do_not_close_are_not_waited_for_without_end),
        LOOP_CASE(test_connections_may_be_closed_inside_callbacks),
        LOOP_CASE(test_connections_may_be_closed_by_one_another),
        LOOP_CASE(test_a_loop_with_open_connections_can_be_destroyed),
        LOOP_CASE(test_opening_and_closing_leaves_nothing_behind),
        LOOP_CASE(test_many_connections_at_once_all_get_their_answers),
        LOOP_CASE(test_more_completions_than_fit_lose_no_answer),
        LOOP_CASE(test_posts_from_threads_run_in_order_of_each_poster),
        LOOP_CASE(test_a_loop_may_post_to_itself_and_run_again),
        LOOP_CASE(test_what_a_message_owns_goes_with_it_whether_it_runs_or_not),
        LOOP_CASE(test_an_alarm_rings_at_the_earliest_time_without_any_traffic),
        LOOP_CASE(test_accepted_connections_can_go_to_another_loop),
        LOOP_CASE(test_after_unlisten_nobody_is_accepted_but_others_are_served),
        LOOP_CASE(test_running_out_of_descriptors_pauses_accepting),
        LOOP_CASE(test_peers_killed_at_any_point_do_no_harm),
        LOOP_CASE(test_every_failing_allocation_costs_at_most_the_connection),
        LOOP_CASE(test_where_io_uring_is_refused_epoll_serves_and_says_why),
    };
    return run_over_both(argc > 1 ? argv[1] : NULL, cases, sizeof cases / sizeof cases[0]);
}
