/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "script.h"

/* Far more than any reply takes. */
enum { PATIENCE_S = 20 };

/* As printf's "%.*s" takes it. */
#define SHOWN(size) (int)((size) < 300 ? (size) : 300)

char peer_moment[PEER_MOMENT_SIZE];

void peer_open(struct peer *peer, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};

    memset(peer, 0, sizeof(*peer));
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    peer->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(peer->fd >= 0);
    assert_int_equal(setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(setsockopt(peer->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(connect(peer->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void peer_close(struct peer *peer)
{
    if (peer->fd < 0)
        return;
    close(peer->fd);
    free(peer->output);
    free(peer->input);
    memset(peer, 0, sizeof(*peer));
    peer->fd = -1;
}

/* ---- asking */

static void make_room(char **data, size_t *room, size_t wanted)
{
    if (wanted <= *room)
        return;
    *room = wanted * 2;
    *data = realloc(*data, *room);
    assert_non_null(*data);
}

void peer_await(struct peer *peer, const char *expected)
{
    assert_true(peer->awaited_count < PEER_AWAITED_MAX);
    peer->awaited[peer->awaited_count++] = expected;
}

void peer_tell(struct peer *peer, const char *expected, const char *line)
{
    struct script script = {.lines = {line}};
    struct orders orders = orders_create(&script);

    for (uint32_t i = 0; i < orders.count; i++) {
        size_t size;
        char *data = order_encode(&orders.first[i], &size);

        make_room(&peer->output, &peer->output_room, peer->output_size + size);
        memcpy(peer->output + peer->output_size, data, size);
        peer->output_size += size;
        free(data);
        peer_await(peer, expected);
    }
    orders_destroy(&orders);
}

/* Where the peer has hung up, hearing tells. */
void peer_send(struct peer *peer)
{
    for (size_t at = 0; at < peer->output_size;) {
        ssize_t sent = send(peer->fd, peer->output + at, peer->output_size - at, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            break;
        if (sent < 0)
            fail_msg("%s: the server takes nothing: %s", peer_moment, strerror(errno));
        at += (size_t)sent;
    }
    peer->output_size = 0;
}

/* ---- hearing */

/* The size of the line at `data` with its end; 0: it is not there whole. */
static size_t line_size(const char *data, size_t size)
{
    const char *end = size > 0 ? memchr(data, '\n', size) : NULL;

    return end != NULL ? (size_t)(end - data) + 1 : 0;
}

/* The size of the reply at `data`; 0: it is not there whole. */
static size_t reply_size(const char *data, size_t size)
{
    size_t at = line_size(data, size);

    if (at == 0)
        return 0;
    long count = strtol(data + 1, NULL, 10);
    switch (data[0]) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '#':
    case '_':
    case '(':
        return at;
    case '$':
    case '=':
    case '!':
        at += count >= 0 ? (size_t)count + 2 : 0;
        return at <= size ? at : 0;
    case '%':
        count *= 2;
        break;
    case '*':
    case '~':
    case '>':
        break;
    default:
        fail_msg("%s: no reply begins like %.20s", peer_moment, data);
    }
    for (long i = 0; i < count; i++) {
        size_t part = reply_size(data + at, size - at);

        if (part == 0)
            return 0;
        at += part;
    }
    return at;
}

/* False: the connection has ended. */
static bool receive(struct peer *peer)
{
    static char part[128 * 1024]; /* tests have one thread */
    ssize_t got;

    do /* io_uring interrupts the thread that made it */
        got = recv(peer->fd, part, sizeof(part), 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != ECONNRESET)
        fail_msg("%s: no reply comes that is %s: %s", peer_moment,
                 peer->awaited_count > 0 ? peer->awaited[0] : "nothing", strerror(errno));
    if (got <= 0)
        return false;
    make_room(&peer->input, &peer->input_room, peer->input_size + (size_t)got);
    memcpy(peer->input + peer->input_size, part, (size_t)got);
    peer->input_size += (size_t)got;
    return true;
}

static bool contains(const char *data, size_t size, const char *part)
{
    return memmem(data, size, part, strlen(part)) != NULL;
}

/* Once a request was refused, those behind it may find other values. */
static bool is_expected(const struct peer *peer, const char *data, size_t size)
{
    const char *expected = peer->awaited[0];
    size_t head_size = strcspn(expected, "~");

    if (peer->refused)
        return data[0] == expected[0];

    return size >= head_size && memcmp(data, expected, head_size) == 0 &&
           (expected[head_size] == '\0' || contains(data, size, expected + head_size + 1));
}

/* Also within what EXEC answers, or that there is no transaction for it therefore. */
static bool says_no_memory(const struct peer *peer, const char *data, size_t size)
{
    if (data[0] == '-')
        return strncmp(data, "-OOM ", 5) == 0 || contains(data, size, "memory is out") ||
               contains(data, size, "out of memory") ||
               (peer->refused && (strncmp(data, "-EXECABORT ", 11) == 0 ||
                                  strncmp(data, "-ERR EXEC without MULTI", 23) == 0));
    return data[0] == '*' && contains(data, size, "\r\n-OOM ");
}

enum heard peer_hear(struct peer *peer, char **out_text)
{
    size_t size;

    if (peer->fd < 0)
        return HEARD_END;
    assert_true(peer->awaited_count > 0);
    peer_send(peer);
    while ((size = reply_size(peer->input, peer->input_size)) == 0) {
        if (!receive(peer)) {
            peer_close(peer);
            return HEARD_END;
        }
    }
    bool right = is_expected(peer, peer->input, size);
    if (!right && !says_no_memory(peer, peer->input, size))
        fail_msg("%s: not %s: %.*s", peer_moment, peer->awaited[0], SHOWN(size), peer->input);
    peer->awaited_count--;
    memmove(peer->awaited, peer->awaited + 1, peer->awaited_count * sizeof(peer->awaited[0]));
    if (right && out_text != NULL) {
        *out_text = strndup(peer->input, size);
        assert_non_null(*out_text);
    }
    peer->refused |= !right;
    peer->input_size -= size;
    memmove(peer->input, peer->input + size, peer->input_size);
    return right ? HEARD_EXPECTED : HEARD_NO_MEMORY;
}

void peer_hear_end(struct peer *peer)
{
    if (peer->fd < 0)
        return;
    if (peer->input_size > 0 || receive(peer))
        fail_msg("%s: not the end: %.*s", peer_moment, SHOWN(peer->input_size), peer->input);
    peer_close(peer);
}
