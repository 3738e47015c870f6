/* SPDX-License-Identifier: MIT
 *
 * See server/server.h. Starting: limits, engine, listeners, workers, in this order, so that nobody
 * is accepted before everything is there. Stopping: no more connections, every open one is read to
 * the end of what has arrived, answered and closed; then the threads end.
 */
#include "server/server.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ensure.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/random.h"
#include "os/socket.h"
#include "server/addresses.h"
#include "server/admin_port.h"
#include "server/log.h"
#include "server/server_options.h"
#include "server/watch.h"
#include "server/worker.h"

enum {
    LISTEN_PATIENCE_MS = 1000,
    LISTEN_INTERVAL_MS = 50,
    SAMPLE_INTERVAL_MS = 1000,
    DRAIN_POLL_MS = 100,
    DRIFT_WARNING_MS = 1000,
    LISTENING_TEXT_SIZE = 700,
    /* Samples without a failure after which accepting is well again, and samples after which one is
     * reminded that it is not. */
    ACCEPT_WELL_SAMPLES = 5,
    ACCEPT_REMIND_SAMPLES = 60
};

/* ---- starting */

/* Opens one, on a port of TCP if that is not 0. A predecessor that was killed may hold its sockets
 * for a moment longer than its process lives, since the kernel takes io_uring apart in the
 * background; so what is in use is tried again for a while. */
static bool open_listener(struct server *server, const char *address, int64_t port,
                          struct listener *listener)
{
    struct options *options = &server->options;
    uint32_t backlog = (uint32_t)options->tcp_backlog;
    char message[512];
    uint64_t end_ns = clock_monotonic_ns() + LISTEN_PATIENCE_MS * UINT64_C(1000000);

    while (!server_stopping(server)) {
        enum io_error error = port != 0
                                  ? listener_open_tcp(address, (uint16_t)port, backlog, listener,
                                                      message, sizeof(message))
                                  : listener_open_unix(address, (uint32_t)options->unixsocketperm,
                                                       backlog, listener, message, sizeof(message));

        if (error == IO_OK)
            return true;
        if (error != IO_IN_USE || clock_monotonic_ns() >= end_ns) {
            log_line(LOG_WARNING, "%s", message);
            return false;
        }
        signal_wait(&server->wake, LISTEN_INTERVAL_MS);
    }
    log_line(LOG_NOTICE, "stopping");
    return false;
}

static bool add_listener(struct server *server, const char *address, bool tcp)
{
    ENSURE(server->listener_count < SERVER_LISTENERS_MAX); /* addresses_check() saw to it */
    if (!open_listener(server, address, tcp ? server->options.port : 0,
                       &server->listeners[server->listener_count]))
        return false;
    server->listener_count++;
    return true;
}

static bool start_listening(struct server *server)
{
    const struct options *options = &server->options;
    struct bytes rest = bytes_of_text(options->bind);
    char message[OPTION_MESSAGE_SIZE];
    struct address address;

    while (options->port != 0 && address_next(&rest, &address)) {
        if (address.optional && !address_exists(&address, 0, message, sizeof(message)))
            log_line(LOG_VERBOSE, "not listening on %s, which this machine lacks", address.text);
        else if (!add_listener(server, address.text, true))
            return false;
    }
    if (options->unixsocket[0] != '\0' && !add_listener(server, options->unixsocket, false))
        return false;
    if (!server_keepalive_set(server))
        log_line(LOG_WARNING, "the system refuses tcp-keepalive");
    return true;
}

/* Where clients are listened for, as far as the machine has these addresses. */
static bool start_admin(struct server *server)
{
    struct listener listeners[ADMIN_LISTENERS_MAX];
    struct bytes rest = bytes_of_text(server->options.bind);
    char message[OPTION_MESSAGE_SIZE];
    struct address address;
    bool good = true;
    uint32_t count = 0;

    if (server->options.admin_port == 0)
        return true;
    while (good && address_next(&rest, &address)) {
        if (address.optional && !address_exists(&address, 0, message, sizeof(message)))
            continue;
        good = count < ADMIN_LISTENERS_MAX &&
               open_listener(server, address.text, server->options.admin_port, &listeners[count]);
        if (!good && !server_stopping(server))
            log_line(LOG_WARNING, "cannot listen for the admin port on %s", address.text);
        count += good;
    }
    if (good)
        return admin_port_start(server, listeners, count);
    while (count > 0)
        listener_close(&listeners[--count]);
    return false;
}

static bool start_log(struct server *server)
{
    const char *why;

    log_level_set((enum log_level)server->options.loglevel);
    log_format_set((enum log_format)server->options.log_format);
    if (log_open(server->options.logfile, &why))
        return true;
    log_line(LOG_WARNING, "cannot open the log file '%s': %s", server->options.logfile, why);
    return false;
}

static bool start_engine(struct server *server)
{
    struct engine_config config = {
        .memory_max_bytes = (uint64_t)server->options.maxmemory,
        .workers = server->threads,
        .shards = (uint32_t)server->options.shards,
        .start_ms = server->started_ms,
        .background = true,
    };

    if (engine_create(&config, &server->engine) == STATUS_OK) {
        struct engine_stats stats;

        engine_stats(server->engine, &stats);
        server->startup_bytes = stats.used_bytes;
        return true;
    }
    log_line(LOG_WARNING, "cannot create the engine: memory is out");
    return false;
}

static bool start_workers(struct server *server)
{
    uint32_t wanted = server->threads;
    const char *why = NULL;

    server->workers = alloc_aligned(__alignof__(struct worker), wanted * sizeof(struct worker));
    if (server->workers == NULL) {
        log_line(LOG_WARNING, "cannot create the workers: memory is out");
        return false;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        if (worker_init(&server->workers[i], server, i, &why) != STATUS_OK) {
            log_line(LOG_WARNING, "cannot create worker %u%s: %s", i,
                     server->options.io == LOOP_IO_URING ? " on io_uring (try --io auto)" : "",
                     why != NULL ? why : "the system refused");
            return false;
        }
        server->worker_count++;
        if (i == 0 && why != NULL)
            log_line(LOG_NOTICE, "using epoll instead of io_uring: %s", why);
    }
    if (worker_listen(&server->workers[0]) != STATUS_OK) {
        log_line(LOG_WARNING, "cannot accept connections: memory is out");
        return false;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        if (worker_start(&server->workers[i]) != STATUS_OK) {
            log_line(LOG_WARNING, "cannot start worker %u: the system allows no more threads", i);
            return false;
        }
    }
    return true;
}

/* Where it listens, as the log and systemd are told. */
static void listening_text(const struct server *server, char *out, size_t out_size)
{
    size_t size = (size_t)snprintf(out, out_size, "ready to accept connections on ");

    for (uint32_t i = 0; i < server->listener_count && size < out_size; i++) {
        const struct listener *listener = &server->listeners[i];
        const char *separator = i > 0 ? ", " : "";

        if (listener->kind == LISTENER_UNIX)
            size +=
                (size_t)snprintf(out + size, out_size - size, "%s%s", separator, listener->address);
        else
            size +=
                (size_t)snprintf(out + size, out_size - size,
                                 strchr(listener->address, ':') != NULL ? "%s[%s]:%u" : "%s%s:%u",
                                 separator, listener->address, listener->port);
    }
}

static void announce(struct server *server)
{
    char text[LISTENING_TEXT_SIZE];

    listening_text(server, text, sizeof(text));
    atomic_store(&server->ready, true);
    log_line(LOG_NOTICE, "%s", text);
    service_ready(server, text);
}

/* Tells this run of the server from any other. */
static void choose_run_id(char *out)
{
    for (size_t i = 0; i < RUN_ID_SIZE; i += 8)
        snprintf(out + i, 9, "%08x", (unsigned int)random_seed());
}

bool server_start(struct server *server)
{
    struct options *options = &server->options;
    char message[OPTION_MESSAGE_SIZE];

    server->started_ms = clock_engine_ms();
    server->guarded = options_password_set(&server->options);
    clock_ticks_init();
    watch_init();
    choose_run_id(server->run_id);
    server->threads = options->threads != 0 ? (uint32_t)options->threads : thread_cpu_count();
    if (!start_log(server))
        return false;
    if (!addresses_check(options, message)) {
        log_line(LOG_WARNING, "%s", message);
        return false;
    }
    if (!start_admin(server))
        return false;
    server_clients_fit(server, options);
    if (!start_engine(server) || !start_listening(server) || !start_workers(server) ||
        !service_begin(server))
        return false;
    log_line(LOG_NOTICE, "larder %s: process %llu, %u workers on %s, %llu MB for data",
             LARDER_VERSION, (unsigned long long)process_id(), server->worker_count,
             loop_io_name(server->workers[0].loop),
             (unsigned long long)options->maxmemory / 1048576);
    if (options->maxmemory_policy != 0)
        log_line(LOG_WARNING, "maxmemory-policy: nothing is evicted yet, so writes above maxmemory "
                              "are refused as with noeviction");
    announce(server);
    return true;
}

/* ---- totals */

static void sum_totals(struct server *server, struct server_totals *out)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct worker *worker = &server->workers[i];
        struct loop_stats stats;

        loop_stats(worker->loop, &stats);
        out->commands += atomic_load_explicit(&worker->commands, memory_order_relaxed);
        out->connections += atomic_load_explicit(&worker->connections, memory_order_relaxed);
        out->rejected += atomic_load_explicit(&worker->rejected, memory_order_relaxed);
        out->query_drops += counter_get(&worker->query_drops);
        out->output_drops += counter_get(&worker->output_drops);
        out->bytes_received += stats.bytes_received;
        out->bytes_sent += stats.bytes_sent;
        out->receives += stats.receives;
        out->sends += stats.sends;
        out->iterations += stats.iterations;
        out->waits_batched += stats.waits_batched;
        out->iterations_ns += counter_get(&worker->observer.iterations_ns);
    }
}

void server_totals(struct server *server, struct server_totals *out)
{
    lock_acquire(&server->baseline_lock);
    struct server_totals baseline = server->baseline;
    lock_release(&server->baseline_lock);

    sum_totals(server, out);
    out->commands -= baseline.commands;
    out->connections -= baseline.connections;
    out->rejected -= baseline.rejected;
    out->query_drops -= baseline.query_drops;
    out->output_drops -= baseline.output_drops;
    out->bytes_received -= baseline.bytes_received;
    out->bytes_sent -= baseline.bytes_sent;
    out->receives -= baseline.receives;
    out->sends -= baseline.sends;
    out->iterations -= baseline.iterations;
    out->waits_batched -= baseline.waits_batched;
    out->iterations_ns -= baseline.iterations_ns;
}

uint64_t server_iteration_max_ns(struct server *server)
{
    uint64_t longest_ns = 0;

    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct loop_stats stats;

        loop_stats(server->workers[i].loop, &stats);
        if (stats.iteration_cpu_max_ns > longest_ns)
            longest_ns = stats.iteration_cpu_max_ns;
    }
    return longest_ns;
}

/* Counters have one writer each, so they go on, and the rest is counted from here. */
void server_totals_reset(struct server *server)
{
    struct server_totals totals;

    for (uint32_t i = 0; i < server->worker_count; i++)
        loop_stats_restart_max(server->workers[i].loop);
    sum_totals(server, &totals);
    lock_acquire(&server->baseline_lock);
    server->baseline = totals;
    lock_release(&server->baseline_lock);
    atomic_fetch_add(&server->stats_resets, 1);
    server_observed_changed(server);
}

void server_observed_changed(struct server *server)
{
    atomic_fetch_add(&server->observed, 1);
}

uint64_t server_used_bytes(struct server *server, const struct engine_stats *stats)
{
    uint64_t used = stats->used_bytes, peak = atomic_load(&server->used_peak_bytes);

    while (used > peak && !atomic_compare_exchange_weak(&server->used_peak_bytes, &peak, used)) {
    }
    return used;
}

/* ---- running and stopping */

void server_ask_stop(struct server *server, enum server_stop how)
{
    int now = atomic_load(&server->stop);

    while (now < (int)how && !atomic_compare_exchange_weak(&server->stop, &now, (int)how)) {
    }
    signal_raise(&server->wake);
}

bool server_stopping(const struct server *server)
{
    return atomic_load(&server->stop) != SERVER_RUNS;
}

void server_note_hangup(struct server *server)
{
    atomic_store(&server->hung_up, true);
    signal_raise(&server->wake);
}

/* What the main thread remembers between two samples. */
struct sample {
    uint64_t at_ns;
    struct server_totals totals;
    bool drifts;
    struct {
        bool fails;
        uint64_t failures;                  /* in all */
        uint64_t told;                      /* of these, before or at the last line about them */
        uint32_t since_told, since_failure; /* in samples */
    } accepting;
};

static void sample_rates(struct server_rates *rates, const struct server_totals *now,
                         const struct server_totals *last, uint64_t duration_ns)
{
    uint64_t iterations = now->iterations - last->iterations;
    uint64_t iterations_ns = now->iterations_ns - last->iterations_ns;

#define PER_S(count) ((uint64_t)((double)(count)*1e9 / (double)duration_ns))
    atomic_store(&rates->commands_per_s, PER_S(now->commands - last->commands));
    atomic_store(&rates->received_per_s, PER_S(now->bytes_received - last->bytes_received));
    atomic_store(&rates->sent_per_s, PER_S(now->bytes_sent - last->bytes_sent));
    atomic_store(&rates->iterations_per_s, PER_S(iterations));
    atomic_store(&rates->iteration_us, iterations > 0 ? iterations_ns / iterations / 1000 : 0);
#undef PER_S
}

static void sample_keeper(struct server *server)
{
    uint64_t held_ms = engine_keeper_longest_ns(server->engine) / 1000000;
    int64_t threshold_ms = server->options.latency_threshold_ms;

    if (threshold_ms > 0 && held_ms >= (uint64_t)threshold_ms)
        latency_add(&server->latency, LATENCY_EXPIRE_CYCLE, clock_engine_ms() / 1000, held_ms);
}

/* Where descriptors run out, get free and run out again a line for each time would flood the
 * log. */
static void sample_accepting(struct server *server, struct sample *last)
{
    struct worker *worker = &server->workers[0];
    uint64_t failures = counter_get(&worker->accepts_failed);
    bool failed = failures != last->accepting.failures;
    unsigned long long untold = failures - last->accepting.told;

    last->accepting.failures = failures;
    last->accepting.since_failure = failed ? 0 : last->accepting.since_failure + 1;
    last->accepting.since_told++;
    if (failed && !last->accepting.fails) {
        log_line(LOG_WARNING,
                 "cannot accept connections: %s. New ones wait until that has passed; if it does "
                 "not, raise the limit of descriptors (ulimit -n) or lower maxclients",
                 atomic_load(&worker->accept_problem));
    } else if (last->accepting.fails && last->accepting.since_failure >= ACCEPT_WELL_SAMPLES) {
        log_line(LOG_NOTICE, "accepting connections again; it had failed %llu times more", untold);
    } else if (last->accepting.fails && last->accepting.since_told >= ACCEPT_REMIND_SAMPLES) {
        log_line(LOG_WARNING, "still cannot accept all connections: %s, %llu times more",
                 atomic_load(&worker->accept_problem), untold);
    } else {
        return;
    }
    last->accepting.fails = last->accepting.since_failure < ACCEPT_WELL_SAMPLES;
    last->accepting.told = failures;
    last->accepting.since_told = 0;
}

static void sample(struct server *server, struct sample *last)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct server_totals totals;
    struct engine_stats stats;

    if (now_ns - last->at_ns < SAMPLE_INTERVAL_MS * UINT64_C(1000000))
        return;
    sum_totals(server, &totals);
    sample_rates(&server->rates, &totals, &last->totals, now_ns - last->at_ns);
    engine_stats(server->engine, &stats);
    server_used_bytes(server, &stats);
    log_tell_lost();
    sample_keeper(server);
    sample_accepting(server, last);
    service_heartbeat(server);
    int64_t drift_ms = clock_wall_ms() - clock_engine_ms();
    bool drifts = drift_ms > DRIFT_WARNING_MS || drift_ms < -DRIFT_WARNING_MS;
    if (drifts && !last->drifts)
        log_line(LOG_WARNING,
                 "the wall clock is %lld ms away from the time keys expire by; absolute times from "
                 "clients are off by as much",
                 (long long)drift_ms);
    alloc_trim(); /* what sent replies and closed connections have left */
    last->at_ns = now_ns;
    last->totals = totals;
    last->drifts = drifts;
}

static void drain(struct server *server)
{
    uint64_t timeout_ms = (uint64_t)server->options.shutdown_timeout_us / 1000;
    uint64_t end_ns = clock_monotonic_ns() + timeout_ms * 1000000;

    for (uint32_t i = 0; i < server->worker_count; i++)
        worker_drain(&server->workers[i]);
    while (atomic_load(&server->clients) > 0 && atomic_load(&server->stop) == SERVER_STOPS &&
           clock_monotonic_ns() < end_ns)
        signal_wait(&server->wake, DRAIN_POLL_MS);
    uint32_t left = atomic_load(&server->clients);
    if (left > 0)
        log_line(LOG_WARNING, "closing %u connections that have not taken their replies", left);
}

static void reload(struct server *server)
{
    char text[LISTENING_TEXT_SIZE];

    service_reloading(server);
    if (server_reload(server)) {
        listening_text(server, text, sizeof(text));
        service_ready(server, text);
    } else {
        service_ready(server, "goes on with the configuration it had: the log says what is wrong "
                              "with the new one");
    }
}

void server_run(struct server *server)
{
    struct sample last = {.at_ns = clock_monotonic_ns()};

    while (!server_stopping(server)) {
        signal_wait(&server->wake, SAMPLE_INTERVAL_MS);
        if (atomic_exchange(&server->hung_up, false))
            reload(server);
        sample(server, &last);
    }
    log_line(LOG_NOTICE, "stopping");
    service_stopping(server);
    drain(server);
    for (uint32_t i = 0; i < server->worker_count; i++)
        worker_stop(&server->workers[i]);
}

void server_end(struct server *server)
{
    admin_port_end(server);
    /* All threads end before any worker goes, since each may post to any other. */
    for (uint32_t i = 0; i < server->worker_count; i++)
        worker_stop(&server->workers[i]);
    for (uint32_t i = 0; i < server->worker_count; i++)
        worker_join(&server->workers[i]);
    for (uint32_t i = 0; i < server->worker_count; i++)
        worker_deinit(&server->workers[i]);
    alloc_free(server->workers);
    slowlog_reset(&server->slowlog);
    for (uint32_t i = 0; i < server->listener_count; i++)
        listener_close(&server->listeners[i]);
    service_end(server);
    if (server->engine != NULL)
        engine_destroy(server->engine);
}
