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

/* As listener_open_tcp, but opens port `wanted` and words messages with `port`. */
static enum io_error open_tcp(const char *address, uint16_t port, uint16_t wanted, uint32_t backlog,
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
    enum io_error error = socket_listen_tcp(literal, wanted, backlog, &out->fd, &out->port);
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

enum io_error listener_open_tcp(const char *address, uint16_t port, uint32_t backlog,
                                struct listener *out, char *message, size_t message_size)
{
    return open_tcp(address, port, port, backlog, out, message, message_size);
}

enum io_error listener_try_tcp(const char *address, uint16_t port, char *message,
                               size_t message_size)
{
    struct listener listener;
    enum io_error error = open_tcp(address, port, 0, 1, &listener, message, message_size);
    if (error == IO_OK)
        listener_close(&listener);
    return error;
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

/* With the folder locked: otherwise two who find the same dead socket could each remove what the
 * other has just made, and one that is bound but does not listen yet would look dead. */
static enum io_error take_path(const char *path, uint32_t mode, uint32_t backlog,
                               struct listener *out, const char **problem)
{
    enum io_error error = socket_listen_unix(path, mode, backlog, &out->fd, &out->file);
    if (error != IO_IN_USE)
        return error;
    switch (socket_probe_unix(path)) {
    case IO_OK:
        *problem = "another server answers there: stop that one or choose another path";
        return IO_IN_USE;
    case IO_INVALID:
        *problem = "a file that is no socket is there: remove it or choose another path";
        return IO_INVALID;
    case IO_REFUSED:
        socket_remove_unix(path);
        break;
    case IO_MISSING:
        break;
    default:
        return error;
    }
    return socket_listen_unix(path, mode, backlog, &out->fd, &out->file);
}

enum io_error listener_open_unix(const char *path, uint32_t mode, uint32_t backlog,
                                 struct listener *out, char *message, size_t message_size)
{
    const char *problem = NULL;
    int lock = -1;
    memset(out, 0, sizeof *out);
    out->kind = LISTENER_UNIX;
    /* A folder that cannot be opened, because it may only be passed through, for one, is used
     * without a lock. */
    enum io_error error = socket_lock_folder(path, &lock);
    if (error == IO_IN_USE)
        problem = "another process holds the lock of its folder";
    else
        error = take_path(path, mode, backlog, out, &problem);
    if (lock >= 0)
        socket_close(lock);
    if (problem != NULL) {
        snprintf(message, message_size, "cannot listen on %s: %s", path, problem);
        return error;
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
    int lock = -1;
    if (listener->fd < 0)
        return;
    /* The path may have been removed by hand and taken by a successor. While this socket is open no
     * other file can have its number; without the lock only what happens between looking and
     * removing would be missed. */
    if (listener->kind == LISTENER_UNIX) {
        (void)socket_lock_folder(listener->address, &lock);
        if (socket_is_file(listener->address, &listener->file))
            socket_remove_unix(listener->address);
    }
    socket_close(listener->fd);
    listener->fd = -1;
    if (lock >= 0)
        socket_close(lock);
}
