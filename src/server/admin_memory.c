/* SPDX-License-Identifier: MIT
 *
 * MEMORY: what keys and everything else cost.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "command/call.h"
#include "server/admin.h"
#include "server/memory_figures.h"
#include "server/session.h"
#include "server/text.h"

enum { REPORT_SIZE_MAX = 256 * 1024 };

/* SAMPLES is for values with elements, of which strings have none. */
static bool parse_samples(struct call *call)
{
    int64_t samples;

    for (uint32_t i = 3; i < call->argc; i += 2) {
        enum status status = STATUS_OK;

        if (i + 1 == call->argc || !bytes_equal_text_nocase(call->argv[i], "samples"))
            status = STATUS_SYNTAX;
        else if (!number_parse_i64(call->argv[i + 1], &samples))
            status = STATUS_NOT_INTEGER;
        else if (samples < 0)
            status = STATUS_SYNTAX;
        if (status != STATUS_OK) {
            reply_status(call->reply, status);
            return false;
        }
    }
    return true;
}

enum outcome admin_memory_usage(struct call *call)
{
    struct key key = call_key(call);
    struct footprint footprint;

    if (!call->access.locked)
        return OUTCOME_NEED_LOCK;
    if (!parse_samples(call))
        return OUTCOME_DONE;
    if (!keyspace_footprint(&call->access, &key, &footprint))
        return call_missing(call);
    return call_integer(call, (int64_t)footprint.size);
}

/* The names are Redis's; what this server has none of is zero. */
enum outcome admin_memory_stats(struct call *call)
{
    struct memory_figures figures;

    memory_figures_take(server_of(call), &figures);
    uint64_t used = figures.used, allocated = figures.allocated, mapped = figures.mapped;
    uint64_t resident = figures.resident, keys = figures.engine.keys;
    uint64_t dataset = figures.engine.live_bytes, stored = used - figures.startup;
    const struct {
        const char *name;
        int64_t integer;
        double ratio; /* shown where it is not negative */
    } fields[] = {
        {"peak.allocated", (int64_t)figures.peak, -1},
        {"total.allocated", (int64_t)used, -1},
        {"startup.allocated", (int64_t)figures.startup, -1},
        {"replication.backlog", 0, -1},
        {"clients.slaves", 0, -1},
        {"clients.normal", (int64_t)figures.client_output, -1},
        {"cluster.links", 0, -1},
        {"aof.buffer", 0, -1},
        {"lua.caches", 0, -1},
        {"functions.caches", 0, -1},
        {"overhead.db.hashtable.lut", (int64_t)figures.engine.table_bytes, -1},
        {"overhead.total", (int64_t)(used - dataset), -1},
        {"keys.count", (int64_t)keys, -1},
        {"keys.bytes-per-key", (int64_t)(keys > 0 ? stored / keys : 0), -1},
        {"dataset.bytes", (int64_t)dataset, -1},
        {"dataset.percentage", 0, 100 * memory_ratio(dataset, used)},
        {"peak.percentage", 0, 100 * memory_ratio(used, figures.peak)},
        {"allocator.allocated", (int64_t)allocated, -1},
        {"allocator.active", (int64_t)used, -1},
        {"allocator.resident", (int64_t)mapped, -1},
        {"allocator-fragmentation.ratio", 0, memory_ratio(used, allocated)},
        {"allocator-fragmentation.bytes", (int64_t)(used - allocated), -1},
        {"allocator-rss.ratio", 0, memory_ratio(mapped, used)},
        {"allocator-rss.bytes", (int64_t)(mapped - used), -1},
        {"rss-overhead.ratio", 0, memory_ratio(resident, mapped)},
        {"rss-overhead.bytes", (int64_t)(resident - mapped), -1},
        {"fragmentation", 0, memory_ratio(resident, used)},
        {"fragmentation.bytes", (int64_t)(resident - used), -1},
    };
    enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

    call->reply->ops->map(call->reply, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        call->reply->ops->bytes(call->reply, bytes_of_text(fields[i].name));
        if (fields[i].ratio >= 0)
            call->reply->ops->number(call->reply, fields[i].ratio);
        else
            call->reply->ops->integer(call->reply, fields[i].integer);
    }
    return OUTCOME_DONE;
}

enum outcome admin_memory_doctor(struct call *call)
{
    struct memory_figures figures;
    struct buffer text;

    memory_figures_take(server_of(call), &figures);
    buffer_init(&text, REPORT_SIZE_MAX);
    memory_diagnose(&figures, &text);
    return admin_text(call, &text);
}

/* Chunks of the data go back by themselves. */
enum outcome admin_memory_purge(struct call *call)
{
    alloc_trim();
    return call_status(call, STATUS_OK);
}

static void print_report(const char *text, void *argument)
{
    struct buffer *out = argument;

    sink_write_bytes(&out->sink, bytes_of_text(text));
}

enum outcome admin_memory_malloc_stats(struct call *call)
{
    struct memory_figures figures;
    struct buffer text;

    memory_figures_take(server_of(call), &figures);
    const struct engine_stats *stats = &figures.engine;
    buffer_init(&text, REPORT_SIZE_MAX);
    text_append(&text,
                "Data, in bytes of pages of the engine's own (%u shards):\n"
                "  mapped     %llu\n  used       %llu\n  entries    %llu\n  tables     %llu\n"
                "  retired    %llu\n  reserve    %llu\n\nEverything else:\n",
                engine_shard_count(server_of(call)->engine), LLU(figures.mapped), LLU(figures.used),
                LLU(stats->live_bytes), LLU(stats->table_bytes), LLU(stats->retired_bytes),
                LLU(stats->reserve_bytes));
    if (!alloc_report(print_report, &text))
        text_append(&text, "  Stats not supported for the current allocator\n");
    return admin_text(call, &text);
}

enum outcome admin_memory_help(struct call *call)
{
    static const char *const lines[] = {
        "DOCTOR",
        "    Return memory problems reports.",
        "MALLOC-STATS",
        "    Return internal statistics report from the memory allocators.",
        "PURGE",
        "    Attempt to purge dirty pages for reclamation by the allocator.",
        "STATS",
        "    Return information about the memory usage of the server.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. No value has elements",
        "    to be sampled.",
        NULL,
    };
    return admin_help(call, "MEMORY", lines);
}
