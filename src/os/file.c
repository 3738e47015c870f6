/* SPDX-License-Identifier: MIT
 *
 * Files by POSIX calls. No state.
 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

void file_absolute_path(const char *path, char *out, size_t size)
{
    char folder[PATH_MAX];

    if (path[0] == '/' || getcwd(folder, sizeof(folder)) == NULL ||
        strlen(folder) + 1 + strlen(path) >= size)
        snprintf(out, size, "%s", path);
    else
        snprintf(out, size, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path);
}

enum status file_read(const char *path, size_t size_max, char **out, size_t *out_size,
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
            status = STATUS_NO_MEMORY;
            *why = "out of memory";
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

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* A complete and durable file at `path`, like `old` in owner and permissions. */
static bool write_beside(const char *path, const struct stat *old, const char *data, size_t size)
{
    unlink(path); /* left by one that was interrupted */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    bool good = true;
    if (old->st_uid != geteuid() || old->st_gid != getegid())
        good = fchown(fd, old->st_uid, old->st_gid) == 0 || errno == EPERM;
    good = good && fchmod(fd, old->st_mode & 07777) == 0 && write_all(fd, data, size) &&
           fsync(fd) == 0;
    int saved = errno;
    if (close(fd) != 0 && good) {
        saved = errno;
        good = false;
    }
    errno = saved;
    return good;
}

static bool sync_folder(char *path)
{
    int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool good = fsync(fd) == 0 || errno == EINVAL; /* not every file system can */
    int saved = errno;
    close(fd);
    errno = saved;
    return good;
}

/* Puts a file of these permissions at `path`, in one step. */
static enum status put(char *path, const struct stat *like, const char *data, size_t size,
                       const char **why)
{
    char beside[PATH_MAX + 8];

    snprintf(beside, sizeof(beside), "%s.new", path);
    if (!write_beside(beside, like, data, size) || rename(beside, path) != 0) {
        *why = strerror(errno);
        unlink(beside);
        return STATUS_SYSTEM;
    }
    if (!sync_folder(path)) {
        *why = strerror(errno);
        return STATUS_SYSTEM;
    }
    return STATUS_OK;
}

static enum status make(const char *path, unsigned mode, const char *data, size_t size,
                        const char **why)
{
    struct stat like = {.st_mode = mode, .st_uid = geteuid(), .st_gid = getegid()};
    char copy[PATH_MAX];

    if (strlen(path) >= sizeof(copy)) {
        *why = strerror(ENAMETOOLONG);
        return STATUS_SYSTEM;
    }
    return put(strcpy(copy, path), &like, data, size, why);
}

bool file_missing(const char *path)
{
    return access(path, F_OK) != 0 && errno == ENOENT;
}

bool file_may_block(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

enum status file_replace(const char *path, const char *data, size_t size, const char **why)
{
    char real[PATH_MAX];
    struct stat old;

    if (file_missing(path))
        return make(path, 0600, data, size, why);
    if (realpath(path, real) == NULL || stat(real, &old) != 0) {
        *why = strerror(errno);
        return STATUS_SYSTEM;
    }
    return put(real, &old, data, size, why);
}

enum status file_write(const char *path, const char *data, size_t size, const char **why)
{
    return make(path, 0644, data, size, why);
}

enum status file_remove(const char *path, const char **why)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return STATUS_OK;
    *why = strerror(errno);
    return STATUS_SYSTEM;
}

enum status file_each_match(const char *pattern, bool (*visit)(void *argument, const char *path),
                            void *argument, bool *out_all)
{
    glob_t found;
    int code;

    *out_all = true;
    if (strpbrk(pattern, "*?[") == NULL) {
        *out_all = visit(argument, pattern);
        return STATUS_OK;
    }
    code = glob(pattern, 0, NULL, &found);
    if (code == GLOB_NOMATCH)
        return STATUS_OK;
    if (code != 0)
        return code == GLOB_NOSPACE ? STATUS_NO_MEMORY : STATUS_SYSTEM;
    for (size_t i = 0; i < found.gl_pathc && *out_all; i++)
        *out_all = visit(argument, found.gl_pathv[i]);
    globfree(&found);
    return STATUS_OK;
}

int file_open_log(const char *path, const char **why)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);

    if (fd < 0)
        *why = strerror(errno);
    return fd;
}

int file_standard_error(void)
{
    return STDERR_FILENO;
}

void file_close(int fd)
{
    close(fd);
}

bool file_write_now(int fd, const char *data, size_t size, size_t *out_written)
{
    *out_written = 0;
    /* Standard error may block, and who shares it would not like that to be changed. A pipe that is
     * ready takes PIPE_BUF bytes. */
    while (*out_written < size) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        size_t left = size - *out_written;
        ssize_t written;

        if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0)
            return false;
        do
            written = write(fd, data + *out_written, left < PIPE_BUF ? left : PIPE_BUF);
        while (written < 0 && errno == EINTR);
        if (written <= 0)
            return false;
        *out_written += (size_t)written;
    }
    return true;
}
