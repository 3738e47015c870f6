/* SPDX-License-Identifier: MIT
 *
 * See server/log.h. stderr is unbuffered, so one fwrite of a whole line is one write.
 */
#include "server/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "os/clock.h"

static _Atomic int level_min = LOG_NOTICE;

void log_level_set(enum log_level level)
{
    atomic_store_explicit(&level_min, (int)level, memory_order_relaxed);
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"debug", "verbose", "notice", "warning"};
    char line[1024];
    struct tm utc;
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    va_list arguments;

    if ((int)level < atomic_load_explicit(&level_min, memory_order_relaxed))
        return;
    gmtime_r(&seconds, &utc);
    size_t size = (size_t)snprintf(line, sizeof(line), "%-7s ", names[level]);
    size += strftime(line + size, sizeof(line) - size, "%Y-%m-%dT%H:%M:%S", &utc);
    size += (size_t)snprintf(line + size, sizeof(line) - size, ".%03dZ ", (int)(now_ms % 1000));
    va_start(arguments, format);
    int written = vsnprintf(line + size, sizeof(line) - size - 1, format, arguments);
    va_end(arguments);
    size_t end = size + (written > 0 ? (size_t)written : 0);
    if (end > sizeof(line) - 2)
        end = sizeof(line) - 2;
    for (size_t i = size; i < end; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[end++] = '\n';
    fwrite(line, 1, end, stderr);
}
