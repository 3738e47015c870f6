/* SPDX-License-Identifier: MIT
 *
 * INFO: one function per section. Figures are sums over workers and shards, each read once.
 */
#include <string.h>

#include "base/alloc.h"
#include "command/call.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/process.h"
#include "server/admin.h"
#include "server/session.h"
#include "server/text.h"

enum { INFO_SIZE_MAX = 1024 * 1024 };

#define LLU(number) ((unsigned long long)(number))

static void human(struct buffer *out, const char *name, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    double shown = (double)bytes;
    int unit = 0;

    for (; shown >= 1024 && units[unit + 1] != '\0'; unit++)
        shown /= 1024;
    text_append(out, unit == 0 ? "%s:%.0f%c\r\n" : "%s:%.2f%c\r\n", name, shown, units[unit]);
}

static void info_server(struct server *server, struct buffer *out)
{
    char system[256];
    uint64_t uptime_s = (uint64_t)(clock_engine_ms() - server->started_ms) / 1000;

    process_system_name(system, sizeof(system));
    text_append(out, "redis_version:%s\r\nlarder_version:%s\r\nredis_mode:standalone\r\n",
                SERVER_REDIS_VERSION, LARDER_VERSION);
    text_append(out, "os:%s\r\narch_bits:%d\r\nmonotonic_clock:POSIX clock_gettime\r\n", system,
                (int)sizeof(void *) * 8);
    text_append(out, "multiplexing_api:%s\r\nio_threads_active:%d\r\nworkers:%u\r\n",
                loop_io_name(server->workers[0].loop), server->worker_count > 1,
                server->worker_count);
    text_append(out, "process_id:%llu\r\ntcp_port:%lld\r\nserver_time_usec:%lld\r\n",
                LLU(process_id()), (long long)server->options.port,
                (long long)clock_engine_ms() * 1000);
    text_append(out, "uptime_in_seconds:%llu\r\nuptime_in_days:%llu\r\n", LLU(uptime_s),
                LLU(uptime_s / 86400));
    text_append(out, "wall_clock_drift_ms:%lld\r\n",
                (long long)(clock_wall_ms() - clock_engine_ms()));
}

static void info_clients(struct server *server, struct buffer *out)
{
    text_append(out, "connected_clients:%u\r\nmaxclients:%lld\r\nblocked_clients:0\r\n",
                atomic_load(&server->clients), (long long)server->options.maxclients);
}

static void info_memory(struct server *server, struct buffer *out)
{
    struct engine_stats stats;
    uint64_t limit = engine_memory_max(server->engine), output = 0;
    char *policy = options_show(&server->options, option_find(BYTES("maxmemory-policy")));

    engine_stats(server->engine, &stats);
    uint64_t used = server_used_bytes(server, &stats);
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct loop_stats loop;

        loop_stats(server->workers[i].loop, &loop);
        output += loop.output_bytes;
    }
    text_append(out, "used_memory:%llu\r\n", LLU(used));
    human(out, "used_memory_human", used);
    text_append(out, "used_memory_rss:%llu\r\n", LLU(os_resident_bytes()));
    human(out, "used_memory_rss_human", os_resident_bytes());
    text_append(out, "used_memory_peak:%llu\r\n", LLU(atomic_load(&server->used_peak_bytes)));
    human(out, "used_memory_peak_human", atomic_load(&server->used_peak_bytes));
    text_append(out, "used_memory_dataset:%llu\r\n", LLU(stats.live_bytes));
    text_append(out, "total_system_memory:%llu\r\n", LLU(os_memory_limit_bytes()));
    human(out, "total_system_memory_human", os_memory_limit_bytes());
    text_append(out, "maxmemory:%llu\r\n", LLU(limit));
    human(out, "maxmemory_human", limit);
    text_append(out, "maxmemory_policy:%s\r\n", policy != NULL ? policy : "");
    text_append(out, "table_bytes:%llu\r\nretired_bytes:%llu\r\nreserve_bytes:%llu\r\n",
                LLU(stats.table_bytes), LLU(stats.retired_bytes), LLU(stats.reserve_bytes));
    text_append(out, "mem_clients_output:%llu\r\n", LLU(output));
    alloc_free(policy);
}

static void info_persistence(struct server *server, struct buffer *out)
{
    (void)server;
    text_append(out, "loading:0\r\nrdb_bgsave_in_progress:0\r\naof_enabled:0\r\n");
}

static void info_stats(struct server *server, struct buffer *out)
{
    struct server_totals totals;
    struct engine_stats stats;
    uint64_t longest_ns = 0;

    server_totals(server, &totals);
    engine_stats(server->engine, &stats);
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct loop_stats loop;

        loop_stats(server->workers[i].loop, &loop);
        if (loop.iteration_cpu_max_ns > longest_ns)
            longest_ns = loop.iteration_cpu_max_ns;
    }
    text_append(out, "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n",
                LLU(totals.connections), LLU(totals.commands));
    text_append(out, "instantaneous_ops_per_sec:%llu\r\n",
                LLU(atomic_load(&server->commands_per_s)));
    text_append(out, "total_net_input_bytes:%llu\r\ntotal_net_output_bytes:%llu\r\n",
                LLU(totals.bytes_received), LLU(totals.bytes_sent));
    text_append(out, "rejected_connections:%llu\r\ntotal_error_replies:%llu\r\n",
                LLU(totals.rejected), LLU(totals.errors));
    text_append(out, "expired_keys:%llu\r\nevicted_keys:0\r\nexpire_lag_ms:%lld\r\n",
                LLU(stats.expired), (long long)stats.expire_lag_ms);
    text_append(out, "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\n", LLU(stats.hits),
                LLU(stats.misses));
    text_append(out, "read_retries:%llu\r\nread_locked:%llu\r\ntable_resizes:%llu\r\n",
                LLU(stats.read_retries), LLU(stats.read_locked), LLU(stats.table_resizes));
    text_append(out, "loop_iterations:%llu\r\nloop_waits_batched:%llu\r\n", LLU(totals.iterations),
                LLU(totals.waits_batched));
    text_append(out, "longest_loop_iteration_us:%llu\r\n", LLU(longest_ns / 1000));
}

static void info_replication(struct server *server, struct buffer *out)
{
    (void)server;
    text_append(out, "role:master\r\nconnected_slaves:0\r\n");
}

static void info_cpu(struct server *server, struct buffer *out)
{
    uint64_t user_us, system_us;

    (void)server;
    process_cpu_us(&user_us, &system_us);
    text_append(out, "used_cpu_sys:%llu.%06llu\r\nused_cpu_user:%llu.%06llu\r\n",
                LLU(system_us / 1000000), LLU(system_us % 1000000), LLU(user_us / 1000000),
                LLU(user_us % 1000000));
}

static void info_keyspace(struct server *server, struct buffer *out)
{
    for (uint32_t db = 0; db < ENGINE_DATABASES; db++) {
        uint64_t keys, expiring;

        engine_db_stats(server->engine, db, &keys, &expiring);
        if (keys > 0)
            text_append(out, "db%u:keys=%llu,expires=%llu,avg_ttl=0\r\n", db, LLU(keys),
                        LLU(expiring));
    }
}

static const struct {
    const char *name, *title;
    void (*write)(struct server *server, struct buffer *out);
} sections[] = {
    {"server", "Server", info_server}, {"clients", "Clients", info_clients},
    {"memory", "Memory", info_memory}, {"persistence", "Persistence", info_persistence},
    {"stats", "Stats", info_stats},    {"replication", "Replication", info_replication},
    {"cpu", "CPU", info_cpu},          {"keyspace", "Keyspace", info_keyspace},
};

static bool asked_for(const struct call *call, const char *name)
{
    if (call->argc == 1)
        return true;
    for (uint32_t i = 1; i < call->argc; i++)
        if (bytes_equal_text_nocase(call->argv[i], name) ||
            bytes_equal_text_nocase(call->argv[i], "all") ||
            bytes_equal_text_nocase(call->argv[i], "default") ||
            bytes_equal_text_nocase(call->argv[i], "everything"))
            return true;
    return false;
}

enum outcome admin_info(struct call *call)
{
    struct buffer text;
    bool first = true;

    buffer_init(&text, INFO_SIZE_MAX);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!asked_for(call, sections[i].name))
            continue;
        text_append(&text, "%s# %s\r\n", first ? "" : "\r\n", sections[i].title);
        sections[i].write(server_of(call), &text);
        first = false;
    }
    if (text.sink.failed)
        reply_status(call->reply, STATUS_NO_MEMORY);
    else
        call->reply->ops->text(call->reply, buffer_bytes(&text));
    buffer_deinit(&text);
    return OUTCOME_DONE;
}
