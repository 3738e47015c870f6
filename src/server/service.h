/* SPDX-License-Identifier: MIT
 *
 * What whoever started the server hears of it beside the log: the pid file, and systemd's
 * notifications with its watchdog (os/notify.h). What cannot be told is logged and changes nothing,
 * but for a pid file that cannot be written, which ends a start. Main thread only.
 */
#ifndef LARDER_SERVER_SERVICE_H
#define LARDER_SERVER_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct server;

struct service {
    bool has_pidfile;        /* it was written */
    uint64_t watchdog_us;    /* 0: nobody watches */
    uint64_t heartbeat_ns;   /* when the last one went out */
    _Atomic bool supervised; /* systemd was told that requests are answered; read by any thread */
};

/* Writes the pid file, once the server listens. False: it could not, which is logged. */
bool service_begin(struct server *server);
/* Requests are answered; `status` is what `systemctl status` shows. Also after a reload. */
void service_ready(struct server *server, const char *status);
void service_reloading(struct server *server);
void service_stopping(struct server *server);
/* To be called about once a second: a heartbeat for the watchdog, as long as every worker's loop
 * has turned since the last one. Loops turn once a second even when there is nothing to do. */
void service_heartbeat(struct server *server);
/* Removes the pid file, unless it has become another's. */
void service_end(struct server *server);

#endif
