/* SPDX-License-Identifier: MIT
 *
 * Opening listening sockets, with messages that tell an operator what to do. No state.
 */
#include "net/listener.h"

#include <stdio.h>
#include <string.h>

#include "os/socket.h"

static const char *tcp_remedy(enum io_error error, uint16_t port)
{
    switch (error) {
    case IO_IN_USE:
        return "another server has it: stop that one or choose another with --port";
    case IO_DENIED:
        return port < 1024 ? "ports below 1024 need privileges: choose another with --port"
                           : "something forbids it: choose another with --port";
    case IO_MISSING:
        return "this machine has no such address: choose another with --bind";
    case IO_NO_FILES:
        return "raise the limit with ulimit -n";
    default:
        return "choose another address with --bind or another port with --port";
    }
}

enum io_error listener_open_tcp(const char *address, uint16_t port, uint32_t backlog,
                                struct listener *out, char *message, size_t message_size)
{
    const char *literal = address;
    if (strcmp(address, "localhost") == 0)
        literal = "127.0.0.1";
    else if (strcmp(address, "*") == 0)
        literal = "0.0.0.0";
    else if (strcmp(address, "::*") == 0)
        literal = "::";
    memset(out, 0, sizeof *out);
    out->kind = LISTENER_TCP;
    enum io_error error = socket_listen_tcp(literal, port, backlog, &out->fd, &out->port);
    if (error == IO_INVALID) {
        snprintf(message, message_size,
                 "cannot listen on \"%s\": not an IPv4 or IPv6 address, \"localhost\", \"*\" or "
                 "\"::*\"",
                 address);
        return error;
    }
    if (error != IO_OK) {
        snprintf(message, message_size, "cannot listen on %s port %u: %s; %s", literal, port,
                 io_error_text(error), tcp_remedy(error, port));
        return error;
    }
    snprintf(out->address, sizeof out->address, "%s", literal);
    return IO_OK;
}

static const char *unix_remedy(enum io_error error)
{
    switch (error) {
    case IO_INVALID:
        return "the path is too long: choose one under 108 bytes";
    case IO_DENIED:
        return "choose a folder that this user may write to";
    case IO_MISSING:
        return "its folder does not exist";
    default:
        return "choose another path";
    }
}

enum io_error listener_open_unix(const char *path, uint32_t mode, uint32_t backlog,
                                 struct listener *out, char *message, size_t message_size)
{
    memset(out, 0, sizeof *out);
    out->kind = LISTENER_UNIX;
    enum io_error error = socket_listen_unix(path, mode, backlog, &out->fd);
    if (error == IO_IN_USE) {
        enum io_error who = socket_probe_unix(path);
        if (who == IO_INVALID || who == IO_OK) {
            snprintf(message, message_size, "cannot listen on %s: %s", path,
                     who == IO_OK
                         ? "another server answers there: stop that one or choose another path"
                         : "a file that is no socket is there: remove it or choose another path");
            return who == IO_OK ? IO_IN_USE : IO_INVALID;
        }
        if (who == IO_REFUSED)
            socket_remove_unix(path);
        if (who == IO_REFUSED || who == IO_MISSING)
            error = socket_listen_unix(path, mode, backlog, &out->fd);
    }
    if (error != IO_OK) {
        snprintf(message, message_size, "cannot listen on %s: %s; %s", path, io_error_text(error),
                 unix_remedy(error));
        return error;
    }
    snprintf(out->address, sizeof out->address, "%s", path);
    return IO_OK;
}

void listener_close(struct listener *listener)
{
    if (listener->fd < 0)
        return;
    socket_close(listener->fd);
    listener->fd = -1;
    if (listener->kind == LISTENER_UNIX)
        socket_remove_unix(listener->address);
}
