/* SPDX-License-Identifier: MIT
 *
 * See os/notify.h.
 */
#include "os/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEND_TIMEOUT_S = 1 };

/* A path, or after an '@' a name in the abstract namespace, which has a zero in its place. */
static bool address_of(const char *name, struct sockaddr_un *out, socklen_t *out_size)
{
    size_t size = strlen(name);

    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    if ((name[0] != '/' && name[0] != '@') || size < 2 || size >= sizeof(out->sun_path))
        return false;
    memcpy(out->sun_path, name, size);
    if (name[0] == '@')
        out->sun_path[0] = '\0';
    *out_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] == '/'));
    return true;
}

bool notify_wanted(void)
{
    const char *name = getenv("NOTIFY_SOCKET");

    return name != NULL && name[0] != '\0';
}

bool notify_send(const char *text, const char **why)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct timeval timeout = {.tv_sec = SEND_TIMEOUT_S};
    struct sockaddr_un address;
    socklen_t address_size;
    ssize_t sent;

    if (!notify_wanted())
        return true;
    if (!address_of(name, &address, &address_size)) {
        *why = "NOTIFY_SOCKET is neither a path nor an abstract name";
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *why = strerror(errno);
        return false;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    do
        sent =
            sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, address_size);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        *why = strerror(errno);
    close(fd);
    return sent >= 0;
}

uint64_t notify_watchdog_us(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *process = getenv("WATCHDOG_PID");
    char *end;

    if (text == NULL || (process != NULL && strtoll(process, NULL, 10) != (long long)getpid()))
        return 0;
    errno = 0;
    unsigned long long us = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' ? us : 0;
}
