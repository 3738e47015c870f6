/* SPDX-License-Identifier: MIT
 *
 * The process by POSIX calls.
 */
#include "os/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

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

void process_executable(char *out, size_t size)
{
    ssize_t got = readlink("/proc/self/exe", out, size - 1);

    if (got > 0)
        out[got] = '\0';
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

void process_standard_files_open(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR); /* the lowest that is free */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
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
