/* SPDX-License-Identifier: MIT
 *
 * The process by POSIX calls.
 */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"

uint64_t process_id(void)
{
    return (uint64_t)getpid();
}

void process_system_name(char *out, size_t size)
{
    struct utsname name;

    if (uname(&name) == 0)
        snprintf(out, size, "%s %s %s", name.sysname, name.release, name.machine);
    else
        snprintf(out, size, "unknown");
}

void process_cpu_us(uint64_t *out_user_us, uint64_t *out_system_us)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    *out_user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
    *out_system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
}

uint64_t process_descriptors_raise(uint64_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    if (limit.rlim_cur >= wanted)
        return wanted;
    /* A privileged process may raise the hard limit as well. */
    struct rlimit raised = {wanted, limit.rlim_max > wanted ? limit.rlim_max : wanted};
    if (setrlimit(RLIMIT_NOFILE, &raised) != 0) {
        raised = (struct rlimit){limit.rlim_max < wanted ? limit.rlim_max : wanted, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) != 0)
            return limit.rlim_cur;
    }
    return raised.rlim_cur;
}

enum status process_read_file(const char *path, size_t size_max, char **out, size_t *out_size,
                              const char **why)
{
    enum status status = STATUS_SYSTEM;
    char *text = NULL;
    size_t size = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        *why = strerror(errno);
        return STATUS_SYSTEM;
    }
    for (size_t room = 4096;; room *= 2) {
        char *more = alloc_resize(text, room + 1);

        if (more == NULL) {
            *why = status_text(status = STATUS_NO_MEMORY);
            goto fail;
        }
        text = more;
        while (size < room && (got = read(fd, text + size, room - size)) != 0) {
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0) {
                *why = strerror(errno);
                goto fail;
            }
            size += (size_t)got;
        }
        if (size < room)
            break;
        if (room >= size_max) {
            *why = "it is too large";
            goto fail;
        }
    }
    close(fd);
    text[size] = '\0';
    *out = text;
    *out_size = size;
    return STATUS_OK;
fail:
    close(fd);
    alloc_free(text);
    return status;
}
