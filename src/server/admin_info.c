/* SPDX-License-Identifier: MIT
 *
 * INFO: one function per section. Figures are sums over workers and shards, each read once.
 */
#include <string.h>

#include "base/alloc.h"
#include "command/call.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/process.h"
#include "server/admin.h"
#include "server/command_stats.h"
#include "server/info_commands.h"
#include "server/memory_figures.h"
#include "server/session.h"
#include "server/text.h"

enum { INFO_SIZE_MAX = 1024 * 1024, PATH_SIZE_MAX = 4096 };

/* A figure, and the same as people read it. */
static void sized(struct buffer *out, const char *name, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    double shown = (double)bytes;
    int unit = 0;

    for (; shown >= 1024 && units[unit + 1] != '\0'; unit++)
        shown /= 1024;
    text_append(out,
                unit == 0 ? "%s:%llu\r\n%s_human:%.0f%c\r\n" : "%s:%llu\r\n%s_human:%.2f%c\r\n",
                name, LLU(bytes), name, shown, units[unit]);
}

/* Paths may be longer than what text_append takes. */
static void info_paths(struct server *server, struct buffer *out)
{
    char path[PATH_SIZE_MAX] = "";

    process_executable(path, sizeof(path));
    text_append(out, "executable:");
    sink_write_bytes(&out->sink, bytes_of_text(path));
    text_append(out, "\r\nconfig_file:");
    if (server->options.config[0] != '\0') {
        file_absolute_path(server->options.config, path, sizeof(path));
        sink_write_bytes(&out->sink, bytes_of_text(path));
    }
    text_append(out, "\r\n");
}

static void info_server(struct server *server, struct buffer *out)
{
    uint64_t uptime_s = (uint64_t)(clock_engine_ms() - server->started_ms) / 1000;
    char system[256];

    process_system_name(system, sizeof(system));
    text_append(out, "redis_version:%s\r\nlarder_version:%s\r\nredis_mode:standalone\r\n",
                SERVER_REDIS_VERSION, LARDER_VERSION);
    text_append(out, "redis_git_sha1:00000000\r\nredis_git_dirty:0\r\nredis_build_id:%s\r\n",
                LARDER_VERSION);
    text_append(out, "os:%s\r\narch_bits:%d\r\nmonotonic_clock:%s\r\n", system,
                (int)sizeof(void *) * 8,
                clock_ticks_are_cycles ? "processor cycles" : "POSIX clock_gettime");
    text_append(out, "multiplexing_api:%s\r\nio_threads_active:%d\r\nworkers:%u\r\n",
                loop_io_name(server->workers[0].loop), server->worker_count > 1,
                server->worker_count);
    text_append(out, "atomicvar_api:c11-builtin\r\ngcc_version:%d.%d.%d\r\n", __GNUC__,
                __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    text_append(out, "process_id:%llu\r\nprocess_supervised:%s\r\nrun_id:%s\r\n", LLU(process_id()),
                server->service.supervised ? "systemd" : "no", server->run_id);
    text_append(out, "tcp_port:%lld\r\nserver_time_usec:%lld\r\n", (long long)server->options.port,
                (long long)clock_engine_us());
    text_append(out, "uptime_in_seconds:%llu\r\nuptime_in_days:%llu\r\n", LLU(uptime_s),
                LLU(uptime_s / 86400));
    text_append(out, "hz:10\r\nconfigured_hz:10\r\nlru_clock:%llu\r\n",
                LLU(clock_engine_ms() / 1000 & 0xffffff));
    info_paths(server, out);
    for (uint32_t i = 0; i < server->listener_count; i++) {
        const struct listener *listener = &server->listeners[i];

        if (listener->kind == LISTENER_UNIX)
            text_append(out, "listener%u:name=unix,bind=%s\r\n", i, listener->address);
        else
            text_append(out, "listener%u:name=tcp,bind=%s,port=%u\r\n", i, listener->address,
                        listener->port);
    }
    text_append(out, "wall_clock_drift_ms:%lld\r\n",
                (long long)(clock_wall_ms() - clock_engine_ms()));
}

static void info_clients(struct server *server, struct buffer *out)
{
    uint64_t watching = 0;

    for (uint32_t i = 0; i < server->worker_count; i++)
        watching += counter_get(&server->workers[i].watching);
    text_append(out, "connected_clients:%u\r\nmaxclients:%lld\r\nwatching_clients:%llu\r\n",
                atomic_load(&server->clients), (long long)server->options.maxclients,
                LLU(watching));
    text_append(out, "%s",
                "cluster_connections:0\r\nblocked_clients:0\r\ntracking_clients:0\r\n"
                "pubsub_clients:0\r\nclients_in_timeout_table:0\r\n");
}

/* What a general allocator would say of itself, of the pages that hold the data. */
static void info_allocator(const struct memory_figures *figures, struct buffer *out)
{
    uint64_t allocated = figures->allocated, used = figures->used, mapped = figures->mapped;
    uint64_t resident = figures->resident;

    text_append(out, "allocator_allocated:%llu\r\nallocator_active:%llu\r\n", LLU(allocated),
                LLU(used));
    text_append(out, "allocator_resident:%llu\r\nallocator_frag_ratio:%.2f\r\n", LLU(mapped),
                memory_ratio(used, allocated));
    text_append(out, "allocator_frag_bytes:%lld\r\nallocator_rss_ratio:%.2f\r\n",
                (long long)(used - allocated), memory_ratio(mapped, used));
    text_append(out, "allocator_rss_bytes:%lld\r\nrss_overhead_ratio:%.2f\r\n",
                (long long)(mapped - used), memory_ratio(resident, mapped));
    text_append(out, "rss_overhead_bytes:%lld\r\nmem_fragmentation_ratio:%.2f\r\n",
                (long long)(resident - mapped), memory_ratio(resident, used));
    text_append(out, "mem_fragmentation_bytes:%lld\r\n", (long long)(resident - used));
}

static void info_memory(struct server *server, struct buffer *out)
{
    struct memory_figures figures;
    char *policy = options_show(&server->options, option_find(BYTES("maxmemory-policy")));

    memory_figures_take(server, &figures);
    const struct engine_stats *stats = &figures.engine;
    uint64_t used = figures.used, dataset = stats->live_bytes, output = figures.client_output;
    sized(out, "used_memory", used);
    sized(out, "used_memory_rss", figures.resident);
    sized(out, "used_memory_peak", figures.peak);
    text_append(out, "used_memory_peak_perc:%.2f%%\r\n", 100 * memory_ratio(used, figures.peak));
    text_append(out, "used_memory_overhead:%llu\r\nused_memory_startup:%llu\r\n",
                LLU(used - dataset), LLU(figures.startup));
    text_append(out, "used_memory_dataset:%llu\r\nused_memory_dataset_perc:%.2f%%\r\n",
                LLU(dataset), 100 * memory_ratio(dataset, used));
    sized(out, "total_system_memory", os_memory_limit_bytes());
    text_append(out, "%s",
                "used_memory_lua:0\r\nused_memory_vm_eval:0\r\nused_memory_lua_human:0B\r\n"
                "used_memory_scripts_eval:0\r\nnumber_of_cached_scripts:0\r\n"
                "number_of_functions:0\r\nnumber_of_libraries:0\r\nused_memory_vm_functions:0\r\n"
                "used_memory_vm_total:0\r\nused_memory_vm_total_human:0B\r\n"
                "used_memory_functions:0\r\nused_memory_scripts:0\r\n"
                "used_memory_scripts_human:0B\r\n");
    sized(out, "maxmemory", figures.limit);
    if (policy != NULL)
        text_append(out, "maxmemory_policy:%s\r\n", policy);
    else
        out->sink.failed = true; /* memory is out */
    info_allocator(&figures, out);
    text_append(out, "mem_not_counted_for_evict:%llu\r\nmem_clients_normal:%llu\r\n", LLU(output),
                LLU(output));
    text_append(out, "mem_clients_output:%llu\r\nmem_allocator:larder\r\n", LLU(output));
    text_append(out, "%s",
                "mem_replication_backlog:0\r\nmem_total_replication_buffers:0\r\n"
                "mem_clients_slaves:0\r\nmem_cluster_links:0\r\nmem_aof_buffer:0\r\n"
                "active_defrag_running:0\r\nlazyfree_pending_objects:0\r\nlazyfreed_objects:0\r\n");
    text_append(out, "table_bytes:%llu\r\nretired_bytes:%llu\r\nreserve_bytes:%llu\r\n",
                LLU(stats->table_bytes), LLU(stats->retired_bytes), LLU(stats->reserve_bytes));
    alloc_free(policy);
}

/* Nothing is stored on disk, so all of it is at rest. */
static void info_persistence(struct server *server, struct buffer *out)
{
    (void)server;
    text_append(out, "%s",
                "loading:0\r\nasync_loading:0\r\ncurrent_cow_peak:0\r\ncurrent_cow_size:0\r\n"
                "current_cow_size_age:0\r\ncurrent_fork_perc:0.00\r\n"
                "current_save_keys_processed:0\r\ncurrent_save_keys_total:0\r\n"
                "rdb_changes_since_last_save:0\r\nrdb_bgsave_in_progress:0\r\n"
                "rdb_last_save_time:0\r\nrdb_last_bgsave_status:ok\r\n"
                "rdb_last_bgsave_time_sec:-1\r\nrdb_current_bgsave_time_sec:-1\r\nrdb_saves:0\r\n"
                "rdb_last_cow_size:0\r\nrdb_last_load_keys_expired:0\r\n"
                "rdb_last_load_keys_loaded:0\r\n");
    text_append(out, "%s",
                "aof_enabled:0\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
                "aof_last_rewrite_time_sec:-1\r\naof_current_rewrite_time_sec:-1\r\n"
                "aof_last_bgrewrite_status:ok\r\naof_rewrites:0\r\n"
                "aof_rewrites_consecutive_failures:0\r\naof_last_write_status:ok\r\n"
                "aof_last_cow_size:0\r\nmodule_fork_in_progress:0\r\n"
                "module_fork_last_cow_size:0\r\n");
}

/* Errors so far, and of these the ones with this code. */
static uint64_t errors_of(struct server *server, const char *code, uint64_t *out_total)
{
    struct error_counts counts;
    uint64_t found = 0;

    memset(&counts, 0, sizeof(counts));
    command_stats_errors(server, &counts);
    for (uint32_t i = 0; i < counts.codes_count; i++)
        if (strcmp(counts.codes[i].code, code) == 0)
            found = counter_get(&counts.codes[i].count);
    *out_total = counter_get(&counts.total);
    return found;
}

static void info_stats_loops(struct server *server, const struct server_totals *totals,
                             uint64_t commands_ns, struct buffer *out)
{
    const struct server_rates *rates = &server->rates;

    text_append(out, "total_reads_processed:%llu\r\ntotal_writes_processed:%llu\r\n",
                LLU(totals->receives), LLU(totals->sends));
    text_append(out, "eventloop_cycles:%llu\r\neventloop_duration_sum:%llu\r\n",
                LLU(totals->iterations), LLU(totals->iterations_ns / 1000));
    text_append(out,
                "eventloop_duration_cmd_sum:%llu\r\ninstantaneous_eventloop_cycles_per_sec:%llu"
                "\r\ninstantaneous_eventloop_duration_usec:%llu\r\n",
                LLU(commands_ns / 1000), LLU(atomic_load(&rates->iterations_per_s)),
                LLU(atomic_load(&rates->iteration_us)));
    text_append(out, "loop_iterations:%llu\r\nloop_waits_batched:%llu\r\n", LLU(totals->iterations),
                LLU(totals->waits_batched));
    text_append(out, "longest_loop_iteration_us:%llu\r\n",
                LLU(server_iteration_max_ns(server) / 1000));
}

static void info_stats(struct server *server, struct buffer *out)
{
    const struct server_rates *rates = &server->rates;
    uint64_t calls, commands_ns, errors;
    uint64_t denied = errors_of(server, status_code(STATUS_WRONG_PASSWORD), &errors);
    struct server_totals totals;
    struct engine_stats stats;

    server_totals(server, &totals);
    engine_stats(server->engine, &stats);
    command_stats_totals(server, &calls, &commands_ns);
    text_append(out, "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n",
                LLU(totals.connections), LLU(calls));
    text_append(out, "instantaneous_ops_per_sec:%llu\r\n",
                LLU(atomic_load(&rates->commands_per_s)));
    text_append(out, "total_net_input_bytes:%llu\r\ntotal_net_output_bytes:%llu\r\n",
                LLU(totals.bytes_received), LLU(totals.bytes_sent));
    text_append(out, "instantaneous_input_kbps:%.2f\r\ninstantaneous_output_kbps:%.2f\r\n",
                (double)atomic_load(&rates->received_per_s) / 1024,
                (double)atomic_load(&rates->sent_per_s) / 1024);
    text_append(out, "rejected_connections:%llu\r\ntotal_error_replies:%llu\r\n",
                LLU(totals.rejected), LLU(errors));
    text_append(out,
                "client_query_buffer_limit_disconnections:%llu\r\n"
                "client_output_buffer_limit_disconnections:%llu\r\n",
                LLU(totals.query_drops), LLU(totals.output_drops));
    text_append(out, "acl_access_denied_auth:%llu\r\n", LLU(denied));
    text_append(out, "expired_keys:%llu\r\nevicted_keys:0\r\nexpire_lag_ms:%lld\r\n",
                LLU(stats.expired), (long long)stats.expire_lag_ms);
    text_append(out, "keyspace_hits:%llu\r\nkeyspace_misses:%llu\r\n", LLU(stats.hits),
                LLU(stats.misses));
    text_append(out, "read_retries:%llu\r\nread_locked:%llu\r\ntable_resizes:%llu\r\n",
                LLU(stats.read_retries), LLU(stats.read_locked), LLU(stats.table_resizes));
    info_stats_loops(server, &totals, commands_ns, out);
    text_append(out, "%s",
                "total_net_repl_input_bytes:0\r\ntotal_net_repl_output_bytes:0\r\n"
                "instantaneous_input_repl_kbps:0.00\r\ninstantaneous_output_repl_kbps:0.00\r\n"
                "sync_full:0\r\nsync_partial_ok:0\r\nsync_partial_err:0\r\n"
                "expired_stale_perc:0.00\r\nexpired_time_cap_reached_count:0\r\n"
                "evicted_clients:0\r\ntotal_eviction_exceeded_time:0\r\n"
                "current_eviction_exceeded_time:0\r\npubsub_channels:0\r\npubsub_patterns:0\r\n"
                "pubsubshard_channels:0\r\nlatest_fork_usec:0\r\ntotal_forks:0\r\n"
                "migrate_cached_sockets:0\r\nslave_expires_tracked_keys:0\r\n");
    text_append(out, "%s",
                "active_defrag_hits:0\r\nactive_defrag_misses:0\r\nactive_defrag_key_hits:0\r\n"
                "active_defrag_key_misses:0\r\ntotal_active_defrag_time:0\r\n"
                "current_active_defrag_time:0\r\ntracking_total_keys:0\r\n"
                "tracking_total_items:0\r\ntracking_total_prefixes:0\r\n"
                "unexpected_error_replies:0\r\ndump_payload_sanitizations:0\r\n"
                "io_threaded_reads_processed:0\r\nio_threaded_writes_processed:0\r\n"
                "acl_access_denied_cmd:0\r\nacl_access_denied_key:0\r\n"
                "acl_access_denied_channel:0\r\n");
}

static void info_replication(struct server *server, struct buffer *out)
{
    text_append(out, "role:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n");
    text_append(out, "master_replid:%s\r\nmaster_replid2:%040d\r\n", server->run_id, 0);
    text_append(out, "%s",
                "master_repl_offset:0\r\nsecond_repl_offset:-1\r\nrepl_backlog_active:0\r\n"
                "repl_backlog_size:0\r\nrepl_backlog_first_byte_offset:0\r\n"
                "repl_backlog_histlen:0\r\n");
}

static void info_cpu(struct server *server, struct buffer *out)
{
    uint64_t user_us, system_us;

    (void)server;
    process_cpu_us(&user_us, &system_us);
    text_append(out, "used_cpu_sys:%llu.%06llu\r\nused_cpu_user:%llu.%06llu\r\n",
                LLU(system_us / 1000000), LLU(system_us % 1000000), LLU(user_us / 1000000),
                LLU(user_us % 1000000));
    text_append(out, "used_cpu_sys_children:0.000000\r\nused_cpu_user_children:0.000000\r\n");
}

/* There are none. */
static void info_modules(struct server *server, struct buffer *out)
{
    (void)server;
    (void)out;
}

static void info_cluster(struct server *server, struct buffer *out)
{
    (void)server;
    text_append(out, "cluster_enabled:0\r\n");
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

/* In which of the sets a section is. */
enum info_set { ALWAYS, IN_ALL };

static const struct {
    const char *name, *title;
    void (*write)(struct server *server, struct buffer *out);
    enum info_set set; /* ALWAYS, or only when asked for by name, `all` or `everything` */
} sections[] = {
    {"server", "Server", info_server, ALWAYS},
    {"clients", "Clients", info_clients, ALWAYS},
    {"memory", "Memory", info_memory, ALWAYS},
    {"persistence", "Persistence", info_persistence, ALWAYS},
    {"stats", "Stats", info_stats, ALWAYS},
    {"replication", "Replication", info_replication, ALWAYS},
    {"cpu", "CPU", info_cpu, ALWAYS},
    {"modules", "Modules", info_modules, ALWAYS},
    {"commandstats", "Commandstats", info_commandstats, IN_ALL},
    {"errorstats", "Errorstats", info_errorstats, ALWAYS},
    {"latencystats", "Latencystats", info_latencystats, IN_ALL},
    {"cluster", "Cluster", info_cluster, ALWAYS},
    {"keyspace", "Keyspace", info_keyspace, ALWAYS},
};

static bool asked_for(const struct call *call, size_t section)
{
    if (call->argc == 1)
        return sections[section].set == ALWAYS;
    for (uint32_t i = 1; i < call->argc; i++) {
        struct bytes word = call->argv[i];

        if (bytes_equal_text_nocase(word, sections[section].name) ||
            bytes_equal_text_nocase(word, "all") || bytes_equal_text_nocase(word, "everything") ||
            (bytes_equal_text_nocase(word, "default") && sections[section].set == ALWAYS))
            return true;
    }
    return false;
}

enum outcome admin_info(struct call *call)
{
    struct buffer text;
    bool first = true;

    buffer_init(&text, INFO_SIZE_MAX);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!asked_for(call, i))
            continue;
        text_append(&text, "%s# %s\r\n", first ? "" : "\r\n", sections[i].title);
        sections[i].write(server_of(call), &text);
        first = false;
    }
    return admin_text(call, &text);
}
