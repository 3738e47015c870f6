/* SPDX-License-Identifier: MIT
 *
 * Stream sockets: listening, accepting, moving bytes. No state; thread-safe.
 *
 * What the system says when it refuses is mapped to enum io_error; errno goes no further. Functions
 * that return a count return a failure as its negative.
 */
#ifndef LARDER_OS_SOCKET_H
#define LARDER_OS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum io_error {
    IO_OK,
    IO_AGAIN,       /* not now */
    IO_INTERRUPTED, /* nothing happened: an interrupt, or a peer that left before it was accepted */
    IO_NO_BUFFERS,
    IO_NO_FILES, /* of the process or of the system */
    IO_NO_MEMORY,
    IO_CANCELED,
    IO_REFUSED, /* nobody answers */
    IO_IN_USE,
    IO_DENIED,
    IO_MISSING,     /* no such file or address */
    IO_UNSUPPORTED, /* the system does not know the operation */
    IO_INVALID,
    IO_BROKEN, /* anything else; for a connection: the peer is gone */
};

enum io_error io_error_from(int error_number);
/* Static text: "address already in use". */
const char *io_error_text(enum io_error error);

/* Never wait. Bytes moved; 0 when receiving is the end of the stream. */
long socket_receive(int fd, void *into, size_t size);
long socket_send(int fd, const struct iovec *spans, size_t count);
/* A connected, blocking descriptor that is closed on exec. The listening socket decides by its mode
 * whether this waits. */
long socket_accept(int fd);
void socket_close(int fd);
/* Ends both directions, also for those who hold the socket through other descriptors. */
void socket_shutdown(int fd);
/* Receives no more: what has arrived is still there to read, then the stream ends. */
void socket_shutdown_read(int fd);
/* Sends no more: the peer finds the end of the stream behind what was sent. */
void socket_shutdown_write(int fd);
enum io_error socket_set_blocking(int fd, bool blocking);

enum { SOCKET_ADDRESS_SIZE = 128 };

/* A peer that is silent for so long (at most 32,767 s; 0: however long) is asked whether it lives,
 * three times at a third of that, and then given up. On a listening socket: holds for connections
 * accepted from now on. */
enum io_error socket_set_keepalive(int fd, uint32_t silence_s);
/* `address` is an IPv4 or IPv6 literal; IPv6 sockets take IPv6 only. Accepted connections send
 * small replies at once and keep little unsent data in the kernel. */
enum io_error socket_listen_tcp(const char *address, uint16_t port, uint32_t backlog, int *out_fd,
                                uint16_t *out_port);
/* Which file a path leads to, as long as something holds it open. */
struct socket_file {
    uint64_t device, inode;
};

/* IO_IN_USE when the path exists. `mode`: its permissions, 0 leaves the umask's. IO_INVALID: the
 * path is too long. */
enum io_error socket_listen_unix(const char *path, uint32_t mode, uint32_t backlog, int *out_fd,
                                 struct socket_file *out_file);
/* Who is behind a path: IO_OK somebody answers, IO_REFUSED a dead socket, IO_MISSING nothing,
 * IO_INVALID not a socket, or why it cannot be told. */
enum io_error socket_probe_unix(const char *path);
/* Removes what is there. */
void socket_remove_unix(const char *path);
/* Whether it leads there. */
bool socket_is_file(const char *path, const struct socket_file *file);
/* Keeps others who call this from the names in the folder of `path` until `*out_fd` is closed.
 * IO_IN_USE: another holds it now. Anything else: it cannot be locked. */
enum io_error socket_lock_folder(const char *path, int *out_fd);
/* "127.0.0.1:6379", "[::1]:6379", or a unix socket's path; of the far end or of our own. */
void socket_address_text(int fd, bool peer, char out[SOCKET_ADDRESS_SIZE]);

#endif
