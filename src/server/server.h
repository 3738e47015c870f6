/* SPDX-License-Identifier: MIT
 *
 * The server: options, engine, listeners and workers, joined for the life of the process.
 *
 * The main thread starts everything, then sleeps: it wakes once a second to sample rates, and when
 * somebody asks the server to stop. It never touches a connection. Fields are set before the
 * workers start and constant afterwards, or atomic; what else has a lock says so.
 */
#ifndef LARDER_SERVER_SERVER_H
#define LARDER_SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/engine.h"
#include "net/listener.h"
#include "os/thread.h"
#include "server/addresses.h"
#include "server/latency.h"
#include "server/monitor.h"
#include "server/options.h"
#include "server/service.h"
#include "server/slowlog.h"
#include "wire/wire.h"

/* What Redis clients take the server for (design: semantics and error texts are those of 7.2.4). */
#define SERVER_REDIS_VERSION "7.2.4"

enum { SERVER_LISTENERS_MAX = ADDRESSES_MAX };

struct admin_port;
struct worker;

/* How far a stop has come. */
enum server_stop { SERVER_RUNS, SERVER_STOPS, SERVER_STOPS_NOW };

/* Summed over workers; what INFO calls stats. */
struct server_totals {
    uint64_t commands; /* requests of every kind */
    uint64_t connections, rejected, query_drops, output_drops;
    uint64_t bytes_received, bytes_sent, receives, sends;
    uint64_t iterations, waits_batched, iterations_ns; /* of the loops */
};

/* Over the last second or so. */
struct server_rates {
    _Atomic uint64_t commands_per_s, received_per_s, sent_per_s; /* the last two in bytes */
    _Atomic uint64_t iterations_per_s, iteration_us;             /* of the loops; how long each */
};

enum { RUN_ID_SIZE = 40 };

struct server {
    struct options options;
    struct option_arguments arguments; /* where options come from, for reading them again */
    struct lock options_lock;          /* held while options are set, reloaded or rewritten */
    uint32_t threads;                  /* workers wanted */
    struct engine *engine;
    struct listener listeners[SERVER_LISTENERS_MAX];
    uint32_t listener_count;
    struct worker *workers;
    uint32_t worker_count;
    struct admin_port *admin_port; /* NULL: there is none */
    _Atomic bool ready;            /* connections are accepted, or were */
    int64_t started_ms;            /* engine time */
    uint64_t startup_bytes;        /* used before anything was stored */
    char run_id[RUN_ID_SIZE + 1];
    _Atomic uint32_t clients; /* connections being served */
    _Atomic uint64_t client_id_last;
    _Atomic int stop;            /* enum server_stop; only grows */
    _Atomic bool hung_up;        /* a SIGHUP came */
    _Atomic bool guarded;        /* a password is set */
    _Atomic uint64_t pause;      /* see server/pause.h */
    _Atomic int64_t flush_at_ms; /* see server/flush.h */
    struct signal_flag wake;     /* wakes the main thread */
    struct service service;      /* the main thread's */
    struct server_rates rates;
    _Atomic uint64_t used_peak_bytes;
    struct slowlog slowlog;
    struct latency latency;
    /* Clients that are shown lines of each class. */
    _Atomic uint32_t monitors[MONITOR_CLASSES];
    _Atomic uint64_t watch_line_last; /* number of the last line for those that watch */
    _Atomic uint32_t observed;        /* raised with whatever observers follow */
    _Atomic uint32_t stats_resets;    /* CONFIG RESETSTAT, so far */
    struct lock baseline_lock;        /* guards: */
    struct server_totals baseline;    /* totals at CONFIG RESETSTAT */
};

/* Options are loaded already. Logs what is wrong and returns false; false as well when asked to
 * stop while it waits. */
bool server_start(struct server *server);
/* Until somebody asks to stop and everything is closed. */
void server_run(struct server *server);
/* Frees what server_start made, after it failed too. */
void server_end(struct server *server);

/* From any thread and from signal handlers. */
void server_ask_stop(struct server *server, enum server_stop how);
bool server_stopping(const struct server *server);
/* SIGHUP: remembered, and acted on by the main thread. */
void server_note_hangup(struct server *server);

/* Since the start, or the last reset. */
void server_totals(struct server *server, struct server_totals *out);
/* Processor time of the longest iteration of a worker's loop, since the start or the last reset. */
uint64_t server_iteration_max_ns(struct server *server);
/* CONFIG RESETSTAT. */
void server_totals_reset(struct server *server);
/* After a change of what workers observe: they see it before they run their next requests. */
void server_observed_changed(struct server *server);
/* Bytes used by data now; keeps the peak up to date. */
uint64_t server_used_bytes(struct server *server, const struct engine_stats *stats);
#endif
