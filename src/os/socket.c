/* SPDX-License-Identifier: MIT
 *
 * Stream sockets on Linux. No state.
 */
#include "os/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Without a cap a TCP peer that does not read pins megabytes of kernel memory, unseen by our own
 * accounts. The kernel doubles the figure for its bookkeeping. */
enum { TCP_SEND_BUFFER_SIZE = 64 * 1024 };

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un path;
};

enum io_error io_error_from(int error_number)
{
    switch (error_number) {
    case 0:
        return IO_OK;
    case EAGAIN:
        return IO_AGAIN;
    case EINTR:
    case ECONNABORTED:
        return IO_INTERRUPTED;
    case ENOBUFS:
        return IO_NO_BUFFERS;
    case EMFILE:
    case ENFILE:
        return IO_NO_FILES;
    case ENOMEM:
        return IO_NO_MEMORY;
    case ECANCELED:
        return IO_CANCELED;
    case ECONNREFUSED:
        return IO_REFUSED;
    case EADDRINUSE:
        return IO_IN_USE;
    case EACCES:
    case EPERM:
        return IO_DENIED;
    case ENOENT:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return IO_MISSING;
    case ENOSYS:
    case EOPNOTSUPP:
        return IO_UNSUPPORTED;
    case EINVAL:
        return IO_INVALID;
    default:
        return IO_BROKEN;
    }
}

const char *io_error_text(enum io_error error)
{
    static const char *const texts[] = {
        [IO_OK] = "ok",
        [IO_AGAIN] = "not ready",
        [IO_INTERRUPTED] = "interrupted",
        [IO_NO_BUFFERS] = "out of buffer space",
        [IO_NO_FILES] = "out of file descriptors",
        [IO_NO_MEMORY] = "out of memory",
        [IO_CANCELED] = "canceled",
        [IO_REFUSED] = "nobody answers",
        [IO_IN_USE] = "address already in use",
        [IO_DENIED] = "permission denied",
        [IO_MISSING] = "no such address",
        [IO_UNSUPPORTED] = "not supported by this system",
        [IO_INVALID] = "invalid argument",
        [IO_BROKEN] = "input/output error",
    };
    return texts[error];
}

static long failed(void)
{
    return -(long)io_error_from(errno);
}

long socket_receive(int fd, void *into, size_t size)
{
    ssize_t count = recv(fd, into, size, MSG_DONTWAIT);
    return count >= 0 ? count : failed();
}

long socket_send(int fd, const struct iovec *spans, size_t count)
{
    ssize_t sent;
    if (count == 1) {
        sent = send(fd, spans->iov_base, spans->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        struct msghdr message = {.msg_iov = (struct iovec *)spans, .msg_iovlen = count};
        sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return sent >= 0 ? sent : failed();
}

long socket_accept(int fd)
{
    int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    return accepted >= 0 ? accepted : failed();
}

void socket_close(int fd)
{
    close(fd);
}

void socket_shutdown(int fd)
{
    shutdown(fd, SHUT_RDWR);
}

void socket_shutdown_read(int fd)
{
    shutdown(fd, SHUT_RD);
}

void socket_shutdown_write(int fd)
{
    shutdown(fd, SHUT_WR);
}

enum io_error socket_set_blocking(int fd, bool blocking)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return io_error_from(errno);
    int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    return wanted == flags || fcntl(fd, F_SETFL, wanted) == 0 ? IO_OK : io_error_from(errno);
}

static bool set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/* Connections inherit all of these from the socket they were accepted on, so that accepting costs
 * no further calls. */
static bool set_tcp_options(int fd, int family)
{
    return set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
           (family != AF_INET6 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
           set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
           set_option(fd, SOL_SOCKET, SO_SNDBUF, TCP_SEND_BUFFER_SIZE);
}

enum io_error socket_set_keepalive(int fd, uint32_t silence_s)
{
    enum { PROBES = 3 };
    int value = (int)silence_s, interval = value / PROBES > 0 ? value / PROBES : 1;

    if (silence_s == 0)
        return set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 0) ? IO_OK : io_error_from(errno);
    return set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, value) &&
                   set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval) &&
                   set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES) &&
                   set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1)
               ? IO_OK
               : io_error_from(errno);
}

enum io_error socket_listen_tcp(const char *address, uint16_t port, uint32_t backlog, int *out_fd,
                                uint16_t *out_port)
{
    union any_address name;
    memset(&name, 0, sizeof name);
    socklen_t size;
    if (inet_pton(AF_INET, address, &name.v4.sin_addr) == 1) {
        name.v4.sin_family = AF_INET;
        name.v4.sin_port = htons(port);
        size = sizeof name.v4;
    } else if (inet_pton(AF_INET6, address, &name.v6.sin6_addr) == 1) {
        name.v6.sin6_family = AF_INET6;
        name.v6.sin6_port = htons(port);
        size = sizeof name.v6;
    } else {
        return IO_INVALID;
    }
    int fd = socket(name.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return io_error_from(errno);
    if (!set_tcp_options(fd, name.any.sa_family) || bind(fd, &name.any, size) != 0 ||
        listen(fd, (int)backlog) != 0 || getsockname(fd, &name.any, &size) != 0) {
        enum io_error error = io_error_from(errno);
        close(fd);
        return error;
    }
    *out_fd = fd;
    *out_port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
    return IO_OK;
}

static bool unix_name(const char *path, struct sockaddr_un *out)
{
    if (strlen(path) >= sizeof out->sun_path)
        return false;
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    strcpy(out->sun_path, path);
    return true;
}

static struct socket_file file_of(const struct stat *file)
{
    return (struct socket_file){(uint64_t)file->st_dev, (uint64_t)file->st_ino};
}

enum io_error socket_listen_unix(const char *path, uint32_t mode, uint32_t backlog, int *out_fd,
                                 struct socket_file *out_file)
{
    struct sockaddr_un name;
    struct stat file;
    if (!unix_name(path, &name))
        return IO_INVALID;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return io_error_from(errno);
    /* The file is born with the socket's mode less the umask, so it is never more open than asked
     * for; chmod then grants what the umask took away. */
    enum io_error error = IO_OK;
    if ((mode != 0 && fchmod(fd, mode) != 0) ||
        bind(fd, (struct sockaddr *)&name, sizeof name) != 0) {
        error = io_error_from(errno);
    } else if ((mode != 0 && chmod(path, mode) != 0) || listen(fd, (int)backlog) != 0 ||
               lstat(path, &file) != 0) {
        error = io_error_from(errno);
        unlink(path);
    }
    if (error != IO_OK) {
        close(fd);
        return error;
    }
    *out_fd = fd;
    *out_file = file_of(&file);
    return IO_OK;
}

enum io_error socket_probe_unix(const char *path)
{
    struct sockaddr_un name;
    struct stat file;
    if (!unix_name(path, &name))
        return IO_INVALID;
    if (lstat(path, &file) != 0)
        return io_error_from(errno);
    if (!S_ISSOCK(file.st_mode))
        return IO_INVALID;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return io_error_from(errno);
    enum io_error error =
        connect(fd, (struct sockaddr *)&name, sizeof name) == 0 ? IO_OK : io_error_from(errno);
    close(fd);
    return error == IO_AGAIN ? IO_OK : error; /* alive, with a full backlog */
}

void socket_remove_unix(const char *path)
{
    unlink(path);
}

bool socket_is_file(const char *path, const struct socket_file *file)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return false;
    struct socket_file there = file_of(&found);
    return there.device == file->device && there.inode == file->inode;
}

enum io_error socket_lock_folder(const char *path, int *out_fd)
{
    char copy[sizeof(struct sockaddr_un)];
    if (strlen(path) >= sizeof copy)
        return IO_INVALID;
    int fd = open(dirname(strcpy(copy, path)), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return io_error_from(errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        enum io_error error = errno == EWOULDBLOCK ? IO_IN_USE : io_error_from(errno);
        close(fd);
        return error;
    }
    *out_fd = fd;
    return IO_OK;
}

void socket_address_text(int fd, bool peer, char out[SOCKET_ADDRESS_SIZE])
{
    union any_address name;
    socklen_t size = sizeof name;
    char host[INET6_ADDRSTRLEN];
    memset(&name, 0, sizeof name);
    out[0] = '\0';
    if ((peer ? getpeername : getsockname)(fd, &name.any, &size) != 0)
        return;
    if (name.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &name.v4.sin_addr, host, sizeof host);
        snprintf(out, SOCKET_ADDRESS_SIZE, "%s:%u", host, ntohs(name.v4.sin_port));
    } else if (name.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &name.v6.sin6_addr, host, sizeof host);
        snprintf(out, SOCKET_ADDRESS_SIZE, "[%s]:%u", host, ntohs(name.v6.sin6_port));
    } else if (name.any.sa_family == AF_UNIX) {
        snprintf(out, SOCKET_ADDRESS_SIZE, "%.*s", (int)sizeof name.path.sun_path,
                 name.path.sun_path);
    }
}
