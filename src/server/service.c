/* SPDX-License-Identifier: MIT
 *
 * See server/service.h.
 */
#include "server/service.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/notify.h"
#include "os/process.h"
#include "server/log.h"
#include "server/server.h"
#include "server/worker.h"

enum {
    NOTICE_SIZE = 1024,
    PIDFILE_SIZE_MAX = 4096,
    /* Loops turn once a second, and the main thread looks as often. */
    WATCHDOG_MIN_US = 4 * 1000 * 1000,
    /* Heartbeats in the time after which the watchdog loses patience. */
    HEARTBEATS = 4
};

static bool tell(const char *text)
{
    const char *why;

    if (notify_send(text, &why))
        return true;
    log_line(LOG_WARNING, "cannot notify the service manager: %s", why);
    return false;
}

/* ---- the pid file */

static size_t pid_text(char *out, size_t size)
{
    return (size_t)snprintf(out, size, "%llu\n", (unsigned long long)process_id());
}

bool service_begin(struct server *server)
{
    const char *path = server->options.pidfile, *why;
    char text[32];

    server->service.watchdog_us = notify_watchdog_us();
    if (server->service.watchdog_us != 0 && server->service.watchdog_us < WATCHDOG_MIN_US)
        log_line(LOG_WARNING,
                 "the service manager's watchdog waits for less than %d s, in which an idle worker "
                 "need not turn: raise WatchdogSec",
                 WATCHDOG_MIN_US / 1000000);
    if (path[0] == '\0')
        return true;
    if (file_write(path, text, pid_text(text, sizeof(text)), &why) != STATUS_OK) {
        log_line(LOG_WARNING, "cannot write the pid file '%.200s': %s", path, why);
        return false;
    }
    server->service.has_pidfile = true;
    return true;
}

void service_end(struct server *server)
{
    const char *path = server->options.pidfile, *why;
    char text[32], *found;
    size_t size = pid_text(text, sizeof(text)), found_size;

    if (!server->service.has_pidfile)
        return;
    server->service.has_pidfile = false;
    if (file_read(path, PIDFILE_SIZE_MAX, &found, &found_size, &why) != STATUS_OK) {
        log_line(LOG_VERBOSE, "the pid file '%s' cannot be read any more: %s", path, why);
        return;
    }
    bool ours = found_size == size && memcmp(found, text, size) == 0;
    alloc_free(found);
    if (!ours)
        log_line(LOG_NOTICE, "the pid file '%s' is another process's now and stays", path);
    else if (file_remove(path, &why) != STATUS_OK)
        log_line(LOG_WARNING, "cannot remove the pid file '%s': %s", path, why);
}

/* ---- notifications */

void service_ready(struct server *server, const char *status)
{
    char text[NOTICE_SIZE];

    server->service.heartbeat_ns = clock_monotonic_ns();
    snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
    server->service.supervised = tell(text) && notify_wanted();
}

void service_reloading(struct server *server)
{
    char text[NOTICE_SIZE];

    (void)server;
    snprintf(text, sizeof(text),
             "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reading the configuration again",
             (unsigned long long)clock_monotonic_ns() / 1000);
    (void)tell(text);
}

void service_stopping(struct server *server)
{
    (void)server;
    (void)tell("STOPPING=1\nSTATUS=stopping");
}

/* Whether each worker's loop has turned since this was last true. */
static bool all_turned(struct server *server)
{
    struct loop_stats stats;

    for (uint32_t i = 0; i < server->worker_count; i++) {
        loop_stats(server->workers[i].loop, &stats);
        if (stats.iterations == server->workers[i].iterations_seen)
            return false;
    }
    for (uint32_t i = 0; i < server->worker_count; i++) {
        loop_stats(server->workers[i].loop, &stats);
        server->workers[i].iterations_seen = stats.iterations;
    }
    return true;
}

void service_heartbeat(struct server *server)
{
    struct service *service = &server->service;
    uint64_t now_ns = clock_monotonic_ns();

    if (service->watchdog_us == 0 ||
        now_ns - service->heartbeat_ns < service->watchdog_us * 1000 / HEARTBEATS ||
        !all_turned(server))
        return;
    service->heartbeat_ns = now_ns;
    (void)tell("WATCHDOG=1");
}
