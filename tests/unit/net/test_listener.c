/* SPDX-License-Identifier: MIT
 *
 * Listening sockets: what they bind, what they refuse, and what they say then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/listener.h"
#include "os/socket.h"

static char message[512];
static char path[64];

static enum io_error open_tcp(const char *address, uint16_t port, struct listener *out)
{
    message[0] = '\0';
    return listener_open_tcp(address, port, 16, out, message, sizeof message);
}

static enum io_error open_unix(uint32_t mode, struct listener *out)
{
    message[0] = '\0';
    return listener_open_unix(path, mode, 16, out, message, sizeof message);
}

static void test_port_zero_is_chosen_by_the_system_and_told(void **state)
{
    (void)state;
    struct listener listener;
    assert_int_equal(open_tcp("127.0.0.1", 0, &listener), IO_OK);
    assert_true(listener.port != 0);
    assert_int_equal(listener.kind, LISTENER_TCP);
    assert_string_equal(listener.address, "127.0.0.1");
    char text[SOCKET_ADDRESS_SIZE], wanted[64];
    socket_address_text(listener.fd, false, text);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%u", listener.port);
    assert_string_equal(text, wanted);
    listener_close(&listener);
}

static void test_localhost_and_star_are_ipv4(void **state)
{
    (void)state;
    struct listener listener;
    assert_int_equal(open_tcp("localhost", 0, &listener), IO_OK);
    assert_string_equal(listener.address, "127.0.0.1");
    listener_close(&listener);
    assert_int_equal(open_tcp("*", 0, &listener), IO_OK);
    assert_string_equal(listener.address, "0.0.0.0");
    listener_close(&listener);
}

static void test_ipv4_and_ipv6_share_a_port(void **state)
{
    (void)state;
    struct listener v4, v6;
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool have_ipv6 = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (probe >= 0)
        close(probe);
    if (!have_ipv6)
        skip();
    assert_int_equal(open_tcp("::*", 0, &v6), IO_OK);
    assert_string_equal(v6.address, "::");
    assert_int_equal(open_tcp("0.0.0.0", v6.port, &v4), IO_OK);
    listener_close(&v4);
    listener_close(&v6);
}

static void test_a_port_in_use_is_named_with_a_remedy(void **state)
{
    (void)state;
    struct listener first, second;
    char port[16];
    assert_int_equal(open_tcp("127.0.0.1", 0, &first), IO_OK);
    assert_int_equal(open_tcp("127.0.0.1", first.port, &second), IO_IN_USE);
    snprintf(port, sizeof port, "%u", first.port);
    assert_non_null(strstr(message, port));
    assert_non_null(strstr(message, "127.0.0.1"));
    assert_non_null(strstr(message, "in use"));
    assert_non_null(strstr(message, "--port"));
    listener_close(&first);
}

static void test_what_is_no_address_is_refused(void **state)
{
    (void)state;
    struct listener listener;
    assert_int_equal(open_tcp("example", 0, &listener), IO_INVALID);
    assert_non_null(strstr(message, "\"example\""));
    assert_int_equal(open_tcp("203.0.113.1", 0, &listener), IO_MISSING);
    assert_non_null(strstr(message, "203.0.113.1"));
}

static void test_accepted_tcp_connections_send_at_once_and_keep_little_unsent(void **state)
{
    (void)state;
    struct listener listener;
    assert_int_equal(open_tcp("127.0.0.1", 0, &listener), IO_OK);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(listener.port)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&name, sizeof name), 0);
    long fd = socket_accept(listener.fd);
    assert_true(fd >= 0);
    int value = 0;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt((int)fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
    assert_true(value != 0);
    assert_int_equal(getsockopt((int)fd, SOL_SOCKET, SO_SNDBUF, &value, &size), 0);
    assert_true(value <= 128 * 1024);
    close(client);
    close((int)fd);
    listener_close(&listener);
}

static void test_a_unix_socket_has_the_mode_asked_for_and_goes_with_its_listener(void **state)
{
    (void)state;
    static const uint32_t modes[] = {0600, 0770, 0777};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct listener listener;
        struct stat file;
        assert_int_equal(open_unix(modes[i], &listener), IO_OK);
        assert_string_equal(listener.address, path);
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(file.st_mode & 0777, modes[i]);
        listener_close(&listener);
        assert_int_not_equal(stat(path, &file), 0);
    }
}

static void test_a_dead_socket_is_replaced_and_a_live_one_is_not(void **state)
{
    (void)state;
    struct listener first, second;
    assert_int_equal(open_unix(0, &first), IO_OK);
    assert_int_equal(open_unix(0, &second), IO_IN_USE);
    assert_non_null(strstr(message, path));
    assert_non_null(strstr(message, "another server answers"));
    close(first.fd); /* as if its server had been killed: the file stays */
    assert_int_equal(open_unix(0, &second), IO_OK);
    listener_close(&second);
}

static void test_closing_leaves_the_socket_of_a_successor(void **state)
{
    (void)state;
    struct listener first, second;
    struct stat file;
    assert_int_equal(open_unix(0, &first), IO_OK);
    unlink(path); /* by hand, while its server goes on */
    assert_int_equal(open_unix(0, &second), IO_OK);
    listener_close(&first);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(socket_probe_unix(path), IO_OK);
    listener_close(&second);
    assert_int_not_equal(stat(path, &file), 0);
    listener_close(&second); /* once is enough */
}

static void test_a_folder_that_another_has_locked_is_tried_later(void **state)
{
    (void)state;
    struct listener listener;
    struct stat file;
    int lock;
    assert_int_equal(socket_lock_folder(path, &lock), IO_OK);
    assert_int_equal(open_unix(0, &listener), IO_IN_USE);
    assert_non_null(strstr(message, "lock of its folder"));
    assert_int_not_equal(stat(path, &file), 0);
    socket_close(lock);
    assert_int_equal(open_unix(0, &listener), IO_OK);
    /* Closing does not wait for others. */
    assert_int_equal(socket_lock_folder(path, &lock), IO_OK);
    listener_close(&listener);
    assert_int_not_equal(stat(path, &file), 0);
    socket_close(lock);
}

/* Many processes want the dead socket; one gets it, and stays reachable whatever the others do. */
static void test_of_several_who_find_a_dead_socket_one_gets_it(void **state)
{
    (void)state;
    enum { RIVALS = 8, ROUNDS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        struct listener dead;
        int go[2], told[2], winners = 0;
        pid_t children[RIVALS];
        char byte;
        assert_int_equal(open_unix(0, &dead), IO_OK);
        close(dead.fd);
        assert_int_equal(pipe(go) | pipe(told), 0);
        for (int i = 0; i < RIVALS; i++) {
            if ((children[i] = fork()) != 0)
                continue;
            struct listener listener;
            enum io_error error;
            close(go[1]);
            (void)!read(go[0], &byte, 1);
            do /* as the server does for a while */
                error = open_unix(0, &listener);
            while (error == IO_IN_USE && strstr(message, "lock of its folder") != NULL);
            byte = error == IO_OK ? 'w' : error == IO_IN_USE ? 'l' : 'x';
            (void)!write(told[1], &byte, 1);
            if (error == IO_OK)
                pause(); /* serves until all have been heard */
            _exit(0);
        }
        close(go[0]);
        close(go[1]);
        for (int i = 0; i < RIVALS; i++) {
            assert_int_equal(read(told[0], &byte, 1), 1);
            assert_int_not_equal(byte, 'x');
            winners += byte == 'w';
        }
        assert_int_equal(winners, 1);
        assert_int_equal(socket_probe_unix(path), IO_OK);
        for (int i = 0; i < RIVALS; i++) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
        }
        close(told[0]);
        close(told[1]);
    }
    unlink(path);
}

static void test_other_files_are_never_replaced(void **state)
{
    (void)state;
    struct listener listener;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(open_unix(0, &listener), IO_INVALID);
    assert_non_null(strstr(message, "no socket"));
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
}

static void test_a_path_that_is_too_long_or_leads_nowhere_is_explained(void **state)
{
    (void)state;
    struct listener listener;
    char long_path[200];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(listener_open_unix(long_path, 0, 16, &listener, message, sizeof message),
                     IO_INVALID);
    assert_non_null(strstr(message, "too long"));
    assert_int_equal(
        listener_open_unix("/nowhere/socket", 0, 16, &listener, message, sizeof message),
        IO_MISSING);
    assert_non_null(strstr(message, "folder"));
}

int main(void)
{
    char folder[] = "/tmp/larder-listener-XXXXXX";
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/socket", folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_zero_is_chosen_by_the_system_and_told),
        cmocka_unit_test(test_localhost_and_star_are_ipv4),
        cmocka_unit_test(test_ipv4_and_ipv6_share_a_port),
        cmocka_unit_test(test_a_port_in_use_is_named_with_a_remedy),
        cmocka_unit_test(test_what_is_no_address_is_refused),
        cmocka_unit_test(test_accepted_tcp_connections_send_at_once_and_keep_little_unsent),
        cmocka_unit_test(test_a_unix_socket_has_the_mode_asked_for_and_goes_with_its_listener),
        cmocka_unit_test(test_a_dead_socket_is_replaced_and_a_live_one_is_not),
        cmocka_unit_test(test_closing_leaves_the_socket_of_a_successor),
        cmocka_unit_test(test_a_folder_that_another_has_locked_is_tried_later),
        cmocka_unit_test(test_of_several_who_find_a_dead_socket_one_gets_it),
        cmocka_unit_test(test_other_files_are_never_replaced),
        cmocka_unit_test(test_a_path_that_is_too_long_or_leads_nowhere_is_explained),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
