/* SPDX-License-Identifier: MIT
 *
 * See server/log.h. A line is rendered on the caller's stack and written under the lock, which also
 * guards where to and what was lost.
 */
#include "server/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"

enum {
    MESSAGE_SIZE = 1024,
    /* As JSON a byte may take six, beside time, level and names. */
    LINE_SIZE = MESSAGE_SIZE * 6 + 128
};

static _Atomic int level_min = LOG_NOTICE;
static _Atomic int format_now = LOG_TEXT;
static struct lock lock; /* guards: */
static int target = -1;  /* -1: standard error */
static bool cut;         /* what was written last is a part of a line */
static unsigned long lost;

static const char *const level_names[] = {"debug", "verbose", "notice", "warning"};

void log_level_set(enum log_level level)
{
    atomic_store_explicit(&level_min, (int)level, memory_order_relaxed);
}

void log_format_set(enum log_format format)
{
    atomic_store_explicit(&format_now, (int)format, memory_order_relaxed);
}

bool log_open(const char *path, const char **why)
{
    int fd = -1;

    if (path[0] != '\0' && (fd = file_open_log(path, why)) < 0)
        return false;
    lock_acquire(&lock);
    int old = target;
    target = fd;
    cut = false;
    lock_release(&lock);
    if (old >= 0)
        file_close(old);
    return true;
}

/* ---- rendering */

/* "2026-01-31T23:59:59.123Z". */
static void render_time(char *out, size_t size)
{
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;

    gmtime_r(&seconds, &utc);
    size_t length = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + length, size - length, ".%03dZ", (int)(now_ms % 1000));
}

/* Length of the well-formed UTF-8 sequence at `at`; 0: it is none. */
static size_t utf8_size(const unsigned char *at, const unsigned char *end)
{
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || (size_t)(end - at) < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* Longer than needed, a surrogate, or beyond the last character. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return size;
}

static size_t render_json(enum log_level level, const char *time_text, const char *message,
                          size_t size, char *out)
{
    const unsigned char *at = (const unsigned char *)message, *end = at + size;
    char *to = out + snprintf(out, LINE_SIZE, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"",
                              time_text, level_names[level]);

    while (at < end) {
        size_t length = utf8_size(at, end);

        if (length == 0) {
            to = stpcpy(to, "\\ufffd");
            at++;
            continue;
        }
        if (*at == '"' || *at == '\\')
            *to++ = '\\';
        memcpy(to, at, length);
        to += length;
        at += length;
    }
    return (size_t)(stpcpy(to, "\"}\n") - out);
}

/* `message` without control characters as a line of LINE_SIZE at most. */
static size_t render(enum log_level level, const char *message, size_t size, char *out)
{
    char time_text[32];

    render_time(time_text, sizeof(time_text));
    if (atomic_load_explicit(&format_now, memory_order_relaxed) == LOG_JSON)
        return render_json(level, time_text, message, size, out);
    return (size_t)snprintf(out, LINE_SIZE, "%-7s %s %.*s\n", level_names[level], time_text,
                            (int)size, message);
}

/* ---- writing; all under the lock */

static bool write_line(const char *line, size_t size)
{
    int fd = target >= 0 ? target : file_standard_error();
    size_t written;

    if (cut && !file_write_now(fd, "\n", 1, &written))
        return false;
    bool good = file_write_now(fd, line, size, &written);
    cut = !good && written > 0;
    return good;
}

static bool write_lost(void)
{
    char message[100], line[LINE_SIZE];

    if (lost == 0)
        return true;
    int size = snprintf(message, sizeof(message),
                        "%lu lines are missing here: the log could not be written", lost);
    if (!write_line(line, render(LOG_WARNING, message, (size_t)size, line)))
        return false;
    lost = 0;
    return true;
}

void log_tell_lost(void)
{
    lock_acquire(&lock);
    (void)write_lost();
    lock_release(&lock);
}

void log_line(enum log_level level, const char *format, ...)
{
    char message[MESSAGE_SIZE], line[LINE_SIZE];
    va_list arguments;

    if ((int)level < atomic_load_explicit(&level_min, memory_order_relaxed))
        return;
    va_start(arguments, format);
    int written = vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    if (size > sizeof(message) - 1)
        size = sizeof(message) - 1;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)message[i] < ' ' || message[i] == 0x7f)
            message[i] = '?';
    size = render(level, message, size, line);
    lock_acquire(&lock);
    if (!write_lost() || !write_line(line, size))
        lost++;
    lock_release(&lock);
}
