/* SPDX-License-Identifier: MIT
 *
 * A listening socket. Created before any loop runs; owned by the server.
 */
#ifndef LARDER_NET_LISTENER_H
#define LARDER_NET_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "os/socket.h"

enum listener_kind { LISTENER_TCP, LISTENER_UNIX };

struct listener {
    enum listener_kind kind;
    int fd;
    uint16_t port;           /* TCP: as bound */
    char address[128];       /* as text: "127.0.0.1", "::1", or the socket's path */
    struct socket_file file; /* unix: what this listener made of the path */
};

/* `address`: an IPv4 or IPv6 literal, "localhost", "*" or "::*"; `port` 0 lets the system choose.
 * IPv6 sockets take IPv6 only. On failure `message` (size bytes) names address, port and remedy;
 * IO_IN_USE may pass by itself when whoever has it is just ending. */
enum io_error listener_open_tcp(const char *address, uint16_t port, uint32_t backlog,
                                struct listener *out, char *message, size_t message_size) MUST_USE;
/* Whether this machine has the address, whoever may have the port; the failures and messages are
 * those of listener_open_tcp. */
enum io_error listener_try_tcp(const char *address, uint16_t port, char *message,
                               size_t message_size) MUST_USE;
/* Replaces a dead socket file; refuses one that somebody answers on, and other files. Of several
 * who find it dead at once, one gets it. `mode`: its permissions, 0 leaves the umask's. */
enum io_error listener_open_unix(const char *path, uint32_t mode, uint32_t backlog,
                                 struct listener *out, char *message, size_t message_size) MUST_USE;
/* Removes a unix socket's file, unless it has become another's. */
void listener_close(struct listener *listener);

#endif
