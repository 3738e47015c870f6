/* SPDX-License-Identifier: MIT */
#include "server/metrics.h"

#include <string.h>

#include "os/clock.h"
#include "os/process.h"
#include "server/command_stats.h"
#include "server/memory_figures.h"
#include "server/text.h"
#include "server/worker.h"

#define LLU(number) ((unsigned long long)(number))

enum { FULL_NAME_SIZE = 2 * COMMAND_NAME_SIZE_MAX + 2 };

void metrics_label(struct buffer *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '\n')
            text_append(out, "\\n");
        else if (c == '\\' || c == '"')
            text_append(out, "\\%c", c);
        else if (c < ' ' || c >= 0x7f || c == '%')
            text_append(out, "%%%02X", c);
        else
            sink_write(&out->sink, text, 1);
    }
}

static void begin(struct buffer *out, const char *name, const char *type, const char *help)
{
    text_append(out, "# HELP larder_%s %s\n# TYPE larder_%s %s\n", name, help, name, type);
}

static void gauge(struct buffer *out, const char *name, uint64_t value, const char *help)
{
    begin(out, name, "gauge", help);
    text_append(out, "larder_%s %llu\n", name, LLU(value));
}

static void count(struct buffer *out, const char *name, uint64_t value, const char *help)
{
    begin(out, name, "counter", help);
    text_append(out, "larder_%s %llu\n", name, LLU(value));
}

/* Seconds, exactly. */
static void write_ns(struct buffer *out, uint64_t ns)
{
    text_append(out, "%llu.%09llu", LLU(ns / 1000000000), LLU(ns % 1000000000));
}

/* ---- the server */

static void write_server(struct server *server, struct buffer *out)
{
    begin(out, "build_info", "gauge", "What runs; always 1.");
    text_append(out, "larder_build_info{version=\"");
    metrics_label(out, LARDER_VERSION);
    text_append(out, "\",redis_version=\"");
    metrics_label(out, SERVER_REDIS_VERSION);
    text_append(out, "\",io=\"");
    metrics_label(out, loop_io_name(server->workers[0].loop));
    text_append(out, "\"} 1\n");
    begin(out, "start_time_seconds", "gauge", "When the server started, since 1970.");
    text_append(out, "larder_start_time_seconds %llu.%03llu\n", LLU(server->started_ms / 1000),
                LLU(server->started_ms % 1000));
    gauge(out, "workers", server->worker_count, "Worker threads.");
    gauge(out, "connected_clients", atomic_load(&server->clients), "Connections being served.");
    gauge(out, "clients_limit", (uint64_t)server->options.maxclients, "Option maxclients.");
    gauge(out, "monitoring_clients", atomic_load(&server->monitors[MONITOR_REQUESTS]),
          "Clients that MONITOR.");
}

static void write_cpu(struct buffer *out)
{
    uint64_t user_us, system_us;

    process_cpu_us(&user_us, &system_us);
    begin(out, "cpu_seconds_total", "counter", "Processor time of the process.");
    text_append(out, "larder_cpu_seconds_total{mode=\"user\"} %llu.%06llu\n",
                LLU(user_us / 1000000), LLU(user_us % 1000000));
    text_append(out, "larder_cpu_seconds_total{mode=\"system\"} %llu.%06llu\n",
                LLU(system_us / 1000000), LLU(system_us % 1000000));
}

static void write_totals(struct server *server, struct buffer *out)
{
    struct server_totals totals;

    server_totals(server, &totals);
    count(out, "connections_total", totals.connections,
          "Connections that came, rejected ones too.");
    count(out, "connections_rejected_total", totals.rejected, "Connections beyond maxclients.");
    begin(out, "connections_dropped_total", "counter",
          "Connections closed for what they sent (query) or did not take (output).");
    text_append(out, "larder_connections_dropped_total{reason=\"query\"} %llu\n",
                LLU(totals.query_drops));
    text_append(out, "larder_connections_dropped_total{reason=\"output\"} %llu\n",
                LLU(totals.output_drops));
    count(out, "requests_total", totals.commands, "Requests of clients, refused ones too.");
    count(out, "network_received_bytes_total", totals.bytes_received, "Bytes from clients.");
    count(out, "network_sent_bytes_total", totals.bytes_sent, "Bytes to clients.");
    count(out, "loop_iterations_total", totals.iterations, "Iterations of the workers' loops.");
    begin(out, "loop_seconds_total", "counter", "Time of these iterations, waits aside.");
    text_append(out, "larder_loop_seconds_total ");
    write_ns(out, totals.iterations_ns);
    text_append(out, "\n");
    begin(out, "loop_iteration_max_seconds", "gauge",
          "Processor time of the longest iteration, since the start or the last reset.");
    text_append(out, "larder_loop_iteration_max_seconds ");
    write_ns(out, server_iteration_max_ns(server));
    text_append(out, "\n");
}

/* ---- data */

static void write_memory(struct server *server, struct buffer *out)
{
    struct memory_figures figures;

    memory_figures_take(server, &figures);
    gauge(out, "memory_used_bytes", figures.used, "Pages for data: what maxmemory limits.");
    gauge(out, "memory_used_peak_bytes", figures.peak, "The most that was used.");
    gauge(out, "memory_limit_bytes", figures.limit, "Option maxmemory; 0: no limit.");
    gauge(out, "memory_live_bytes", figures.engine.live_bytes,
          "Of these, occupied by entries and big values.");
    gauge(out, "memory_table_bytes", figures.engine.table_bytes, "Of these, tables.");
    gauge(out, "memory_retired_bytes", figures.engine.retired_bytes,
          "Replaced or deleted, and waiting for readers.");
    gauge(out, "memory_mapped_bytes", figures.mapped, "Mapped for data.");
    gauge(out, "memory_resident_bytes", figures.resident, "Of the process, in memory.");
    gauge(out, "memory_output_bytes", figures.client_output,
          "Replies that clients have not taken.");
    count(out, "keyspace_hits_total", figures.engine.hits, "Reads that found their key.");
    count(out, "keyspace_misses_total", figures.engine.misses, "Reads that did not.");
    count(out, "keys_expired_total", figures.engine.expired, "Keys whose time came.");
    count(out, "keys_inserted_total", figures.engine.inserted, "Keys that were made.");
    count(out, "keys_deleted_total", figures.engine.deleted, "Keys that were removed.");
}

static void write_keys(struct server *server, struct buffer *out)
{
    uint64_t keys[ENGINE_DATABASES], expiring[ENGINE_DATABASES];

    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        engine_db_stats(server->engine, db, &keys[db], &expiring[db]);
    begin(out, "keys", "gauge", "Keys of a database.");
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        text_append(out, "larder_keys{db=\"%u\"} %llu\n", db, LLU(keys[db]));
    begin(out, "keys_expiring", "gauge", "Of these, those that expire.");
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++)
        text_append(out, "larder_keys_expiring{db=\"%u\"} %llu\n", db, LLU(expiring[db]));
}

/* ---- commands */

/* Upper bounds of what is told of the histograms, as powers of two: 2^10 ns is a microsecond. A
 * bucket takes what is shorter, in whole nanoseconds. */
static const uint32_t bounds[] = {10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 33};

static void write_histogram(struct server *server, struct buffer *out, const char *name,
                            const struct command_sum *sum)
{
    /* A batch may be counted as calls and not be in the histogram yet. */
    uint64_t in_between = (uint64_t)server->worker_count * WORKER_BATCH_MAX;
    uint64_t seen = 0;
    uint32_t bucket = 0;

    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        uint64_t last_ns = ((uint64_t)1 << bounds[i]) - 1;

        for (; histogram_bucket_last_ns(bucket) <= last_ns; bucket++)
            seen += sum->latency[bucket];
        text_append(out, "larder_command_latency_seconds_bucket{command=\"%s\",le=\"", name);
        write_ns(out, last_ns);
        text_append(out, "\"} %llu\n", LLU(seen));
    }
    text_append(out, "larder_command_latency_seconds_bucket{command=\"%s\",le=\"+Inf\"} %llu\n",
                name, LLU(sum->measured));
    text_append(out, "larder_command_latency_seconds_count{command=\"%s\"} %llu\n", name,
                LLU(sum->measured));
    if (sum->calls > sum->measured + in_between)
        return; /* the time of those that were measured is not known */
    text_append(out, "larder_command_latency_seconds_sum{command=\"%s\"} ", name);
    write_ns(out, sum->time_ns);
    text_append(out, "\n");
}

enum command_figure { CALLS, TIME, REJECTED, FAILED, LATENCY };

/* One line, or a histogram, for each command that was used. */
static void write_of_commands(struct server *server, struct buffer *out, const char *metric,
                              enum command_figure figure)
{
    struct command_sum sum;
    char name[FULL_NAME_SIZE];

    for (uint32_t id = 0; id < command_count(); id++) {
        command_stats_sum(server, id, &sum);
        if (sum.calls == 0 && sum.rejected == 0)
            continue;
        command_full_name(command_at(id), name);
        if (figure == LATENCY) {
            write_histogram(server, out, name, &sum);
            continue;
        }
        text_append(out, "larder_%s{command=\"%s\"} ", metric, name);
        if (figure == TIME)
            write_ns(out, sum.time_ns);
        else
            text_append(out, "%llu",
                        LLU(figure == CALLS      ? sum.calls
                            : figure == REJECTED ? sum.rejected
                                                 : sum.failed));
        text_append(out, "\n");
    }
}

static void write_commands(struct server *server, struct buffer *out)
{
    static const struct {
        const char *name, *type, *help;
        enum command_figure figure;
    } rows[] = {
        {"commands_total", "counter", "Calls of a command.", CALLS},
        {"commands_seconds_total", "counter", "Time of these calls.", TIME},
        {"commands_rejected_total", "counter", "Calls that were refused before they ran.",
         REJECTED},
        {"commands_failed_total", "counter", "Calls that answered with an error.", FAILED},
        {"command_latency_seconds", "histogram",
         "Time of each call while latency-tracking is on; calls of a pipeline share theirs.",
         LATENCY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(out, rows[i].name, rows[i].type, rows[i].help);
        write_of_commands(server, out, rows[i].name, rows[i].figure);
    }
}

static void write_error(struct buffer *out, const char *code, uint64_t errors)
{
    text_append(out, "larder_errors_total{code=\"");
    metrics_label(out, code);
    text_append(out, "\"} %llu\n", LLU(errors));
}

static void write_errors(struct server *server, struct buffer *out)
{
    struct error_counts counts;

    memset(&counts, 0, sizeof(counts));
    command_stats_errors(server, &counts);
    begin(out, "errors_total", "counter", "Errors that were answered, by their first word.");
    for (uint32_t i = 0; i < counts.codes_count; i++)
        write_error(out, counts.codes[i].code, counter_get(&counts.codes[i].count));
    count(out, "errors_other_total", counter_get(&counts.others),
          "Errors of which there are too many kinds to count each.");
}

static void write_items(struct server *server, struct buffer *out)
{
    static const char *const kinds[ITEM_KINDS] = {
        [ITEM_KIND_TOUCH] = "touch", [ITEM_KIND_SET] = "set",    [ITEM_KIND_SWAP] = "cas",
        [ITEM_KIND_RAISE] = "incr",  [ITEM_KIND_LOWER] = "decr", [ITEM_KIND_DELETE] = "delete",
    };
    static const char *const results[ITEM_RESULTS] = {
        [ITEM_RESULT_HIT] = "hit",
        [ITEM_RESULT_MISS] = "miss",
        [ITEM_RESULT_DIFFERS] = "differs",
        [ITEM_RESULT_REFUSED] = "refused",
    };
    struct item_sum sum;

    command_stats_items(server, &sum);
    begin(out, "items_total", "counter", "What memcached's and HTTP's changes of an item met.");
    for (uint32_t kind = 0; kind < ITEM_KINDS; kind++)
        for (uint32_t result = 0; result < ITEM_RESULTS; result++)
            text_append(out, "larder_items_total{kind=\"%s\",result=\"%s\"} %llu\n", kinds[kind],
                        results[result], LLU(sum.of[kind][result]));
}

void metrics_write(struct server *server, struct buffer *out)
{
    write_server(server, out);
    write_cpu(out);
    write_totals(server, out);
    write_memory(server, out);
    write_keys(server, out);
    write_commands(server, out);
    write_items(server, out);
    write_errors(server, out);
}
