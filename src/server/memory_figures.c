/* SPDX-License-Identifier: MIT */
#include "server/memory_figures.h"

#include "net/loop.h"
#include "os/memory.h"
#include "server/server.h"
#include "server/text.h"
#include "server/worker.h"

enum { MIB = 1024 * 1024 };

/* Below, nothing is worth a word. */
static const uint64_t
    LITTLE_DATA_BYTES = 5 * MIB,
    LITTLE_WASTE_BYTES = 10 * MIB, LITTLE_OUTPUT_BYTES = 200 * 1024, /* per client */
    USUAL_PROCESS_BYTES = 64 * MIB,
    /* Each shard has slabs of its own for each size, which little data fills in part. */
    USUAL_FREE_PLACES_BYTES = 64 * MIB;

void memory_figures_take(struct server *server, struct memory_figures *out)
{
    struct engine_stats *stats = &out->engine;

    engine_stats(server->engine, stats);
    out->resident = os_resident_bytes();
    out->mapped = stats->used_bytes + stats->reserve_bytes;
    out->used = server_used_bytes(server, stats);
    out->allocated = stats->live_bytes + stats->table_bytes;
    out->peak = atomic_load(&server->used_peak_bytes);
    out->startup = server->startup_bytes;
    out->limit = engine_memory_max(server->engine);
    out->clients = atomic_load(&server->clients);
    out->client_output = 0;
    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct loop_stats loop;

        loop_stats(server->workers[i].loop, &loop);
        out->client_output += loop.output_bytes;
    }
}

double memory_ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / MIB;
}

/* Whether `whole` is over `percent` of `part`, and by more than a little. */
static bool exceeds(uint64_t whole, uint64_t part, uint64_t percent)
{
    return whole > part + LITTLE_WASTE_BYTES && whole > part / 100 * percent;
}

static void diagnose_limit(const struct memory_figures *figures, struct buffer *out)
{
    if (figures->limit != 0 && figures->used >= figures->limit / 10 * 9)
        text_append(
            out,
            "* The limit is near: %.1f MB of maxmemory's %.1f MB are used. Above it commands "
            "that need memory are refused, and nothing is evicted. Let keys expire, "
            "delete some, or raise maxmemory.\n",
            mib(figures->used), mib(figures->limit));
}

static void diagnose_data(const struct memory_figures *figures, struct buffer *out)
{
    const struct engine_stats *stats = &figures->engine;
    uint64_t held = figures->allocated + stats->retired_bytes;

    if (exceeds(figures->peak, figures->used, 150))
        text_append(out,
                    "* There was more: at its peak the data took %.1f MB, now %.1f MB. What was "
                    "given up goes back to the system in pieces of 2 MB as these become empty.\n",
                    mib(figures->peak), mib(figures->used));
    if (figures->used > held + USUAL_FREE_PLACES_BYTES && figures->used > held / 100 * 140)
        text_append(out,
                    "* Many free places among entries: %.1f MB are held for %.1f MB of data. "
                    "Entries of each size lie together, so new ones of the sizes that were deleted "
                    "fill these places, and others do not.\n",
                    mib(figures->used), mib(held));
    if (stats->retired_bytes > LITTLE_WASTE_BYTES && stats->retired_bytes > figures->used / 10)
        text_append(out,
                    "* %.1f MB that were replaced or deleted wait for readers: some worker is in a "
                    "long command. SLOWLOG GET shows which.\n",
                    mib(stats->retired_bytes));
    if (exceeds(figures->mapped, figures->used, 140))
        text_append(out,
                    "* %.1f MB of free pages lie between pages in use and cannot go back to the "
                    "system yet. New data uses them first.\n",
                    mib(figures->mapped - figures->used));
}

static void diagnose_process(const struct memory_figures *figures, struct buffer *out)
{
    uint64_t explained = figures->mapped + figures->client_output;

    if (figures->resident != 0 && exceeds(figures->used, figures->resident, 110))
        text_append(out,
                    "* Swapping: the data takes %.1f MB, but only %.1f MB of the process are in "
                    "memory, so requests wait for the disk. Lower maxmemory.\n",
                    mib(figures->used), mib(figures->resident));
    if (figures->resident > explained + USUAL_PROCESS_BYTES)
        text_append(out,
                    "* %.1f MB of the process are not data: connections, buffers and the program. "
                    "MEMORY PURGE gives back what is free of it.\n",
                    mib(figures->resident - explained));
    if (figures->clients > 0 && figures->client_output / figures->clients > LITTLE_OUTPUT_BYTES)
        text_append(
            out,
            "* %.1f MB of replies wait for clients that do not read them. CLIENT LIST shows "
            "whose (omem); client-output-stall-timeout ends such connections.\n",
            mib(figures->client_output));
}

void memory_diagnose(const struct memory_figures *figures, struct buffer *out)
{
    size_t size = buffer_bytes(out).size;

    diagnose_limit(figures, out);
    if (figures->used > LITTLE_DATA_BYTES || figures->peak > LITTLE_DATA_BYTES)
        diagnose_data(figures, out);
    diagnose_process(figures, out);
    if (buffer_bytes(out).size == size)
        text_append(out, "Nothing is amiss: %.1f MB are used for %.1f MB of data.\n",
                    mib(figures->used), mib(figures->allocated));
}
