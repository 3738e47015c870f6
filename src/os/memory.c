/* SPDX-License-Identifier: MIT
 *
 * Linux memory: mmap, madvise, /proc and cgroup files. No state.
 */
#include "os/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void *os_map(size_t size, size_t alignment)
{
    size_t extra = alignment > OS_PAGE_SIZE ? alignment : 0;
    char *base = mmap(NULL, size + extra, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (extra == 0)
        return base;
    size_t head = (size_t)(-(uintptr_t)base & (alignment - 1));
    if (head != 0)
        munmap(base, head);
    if (extra != head)
        munmap(base + head + size, extra - head);
    return base + head;
}

void os_unmap(void *address, size_t size)
{
    munmap(address, size);
}

void os_populate(void *address, size_t size, bool huge)
{
    if (huge)
        madvise(address, size, MADV_HUGEPAGE);
    if (madvise(address, size, MADV_POPULATE_WRITE) == 0)
        return;
    /* An older kernel: touch by hand. Nobody else uses the memory yet. */
    volatile char *bytes = address;
    for (size_t i = 0; i < size; i += OS_PAGE_SIZE)
        bytes[i] = 0;
}

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, text, size - 1);
    close(fd);
    if (count <= 0)
        return false;
    text[count] = '\0';
    return true;
}

uint64_t os_resident_bytes(void)
{
    char text[128];
    unsigned long long total, resident;
    if (!read_text("/proc/self/statm", text, sizeof text) ||
        sscanf(text, "%llu %llu", &total, &resident) != 2)
        return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lowers `*limit` to the number in the file, if there is one ("max" and absurd values are none). */
static void lower_to_file(const char *path, uint64_t *limit)
{
    char text[64];
    if (!read_text(path, text, sizeof text))
        return;
    char *end;
    unsigned long long bytes = strtoull(text, &end, 10);
    if (end != text && bytes > 0 && bytes < *limit)
        *limit = bytes;
}

/* A process inside a container sees its own cgroup as the root; outside of one, its path is in
 * /proc/self/cgroup and every ancestor's limit applies. */
static void lower_to_cgroups(uint64_t *limit)
{
    lower_to_file("/sys/fs/cgroup/memory.max", limit);
    lower_to_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit);
    char text[4096];
    if (!read_text("/proc/self/cgroup", text, sizeof text))
        return;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        bool v2 = controllers[1] == '\0';
        if (!v2 && strstr(controllers, "memory") == NULL)
            continue;
        for (char *slash; *path == '/' && path[1] != '\0'; *slash = '\0') {
            char file[4300];
            snprintf(file, sizeof file, "/sys/fs/cgroup%s%s/%s", v2 ? "" : "/memory", path,
                     v2 ? "memory.max" : "memory.limit_in_bytes");
            lower_to_file(file, limit);
            slash = strrchr(path, '/');
            if (slash == path)
                break;
        }
    }
}

uint64_t os_memory_limit_bytes(void)
{
    uint64_t limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    lower_to_cgroups(&limit);
    return limit;
}
