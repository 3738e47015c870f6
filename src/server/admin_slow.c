/* SPDX-License-Identifier: MIT
 *
 * SLOWLOG and LATENCY: what took long.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "command/call.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/session.h"
#include "server/text.h"

/* ---- SLOWLOG */

enum { SLOWLOG_COUNT_DEFAULT = 10 };

static void emit_entry(struct reply *reply, const struct slowlog_entry *entry)
{
    const struct reply_ops *ops = reply->ops;

    ops->list(reply, 6);
    ops->integer(reply, (int64_t)entry->id);
    ops->integer(reply, entry->time_s);
    ops->integer(reply, (int64_t)entry->duration_us);
    ops->list(reply, entry->argc);
    for (uint32_t i = 0; i < entry->argc; i++)
        ops->bytes(reply, entry->argv[i]);
    ops->bytes(reply, entry->address);
    ops->bytes(reply, entry->name);
}

enum outcome admin_slowlog_get(struct call *call)
{
    struct slowlog_entry **entries;
    int64_t wanted = SLOWLOG_COUNT_DEFAULT;
    uint64_t count;

    if (call->argc > 3) {
        reply_wrong_arity(call->reply, call->command);
        return OUTCOME_DONE;
    }
    if (call->argc == 3 && (!number_parse_i64(call->argv[2], &wanted) || wanted < -1)) {
        reply_errorf(call->reply, "ERR", "count should be greater than or equal to -1");
        return OUTCOME_DONE;
    }
    enum status status = slowlog_newest(
        &server_of(call)->slowlog, wanted < 0 ? UINT64_MAX : (uint64_t)wanted, &entries, &count);
    if (status != STATUS_OK)
        return call_status(call, status);
    call->reply->ops->list(call->reply, count);
    for (uint64_t i = 0; i < count; i++)
        emit_entry(call->reply, entries[i]);
    slowlog_newest_end(entries, count);
    return OUTCOME_DONE;
}

enum outcome admin_slowlog_len(struct call *call)
{
    return call_integer(call, (int64_t)slowlog_count(&server_of(call)->slowlog));
}

enum outcome admin_slowlog_reset(struct call *call)
{
    slowlog_reset(&server_of(call)->slowlog);
    return call_status(call, STATUS_OK);
}

enum outcome admin_slowlog_help(struct call *call)
{
    static const char *const lines[] = {
        "GET [<count>]",
        "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
        "    Entries are made of:",
        "    id, timestamp, time in microseconds, arguments array, client IP and port,",
        "    client name",
        "LEN",
        "    Return the length of the slowlog.",
        "RESET",
        "    Reset the slowlog.",
        NULL,
    };
    return admin_help(call, "SLOWLOG", lines);
}

/* ---- LATENCY: the monitor */

static bool find_event(struct bytes name, enum latency_event *out)
{
    for (int event = 0; event < LATENCY_EVENT_COUNT; event++) {
        *out = (enum latency_event)event;
        if (bytes_equal(name, bytes_of_text(latency_event_name(*out))))
            return true;
    }
    return false;
}

enum outcome admin_latency_history(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;
    struct latency_series series = {.count = 0};
    enum latency_event event;

    if (find_event(call->argv[2], &event))
        latency_copy(&server_of(call)->latency, event, &series);
    ops->list(call->reply, series.count);
    for (uint32_t i = 0; i < series.count; i++) {
        ops->list(call->reply, 2);
        ops->integer(call->reply, series.samples[i].time_s);
        ops->integer(call->reply, series.samples[i].duration_ms);
    }
    return OUTCOME_DONE;
}

enum outcome admin_latency_latest(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;
    struct latency_series all[LATENCY_EVENT_COUNT];
    uint32_t count = 0;

    for (int event = 0; event < LATENCY_EVENT_COUNT; event++) {
        latency_copy(&server_of(call)->latency, (enum latency_event)event, &all[event]);
        count += all[event].count > 0;
    }
    ops->list(call->reply, count);
    for (int event = 0; event < LATENCY_EVENT_COUNT; event++) {
        if (all[event].count == 0)
            continue;
        const struct latency_sample *last = &all[event].samples[all[event].count - 1];

        ops->list(call->reply, 4);
        ops->bytes(call->reply, bytes_of_text(latency_event_name((enum latency_event)event)));
        ops->integer(call->reply, last->time_s);
        ops->integer(call->reply, last->duration_ms);
        ops->integer(call->reply, all[event].max_ms);
    }
    return OUTCOME_DONE;
}

enum outcome admin_latency_reset(struct call *call)
{
    struct latency *latency = &server_of(call)->latency;
    enum latency_event event;
    int64_t count = 0;

    for (uint32_t i = 2; i < call->argc; i++)
        count += find_event(call->argv[i], &event) && latency_reset(latency, event);
    for (int i = 0; call->argc == 2 && i < LATENCY_EVENT_COUNT; i++)
        count += latency_reset(latency, (enum latency_event)i);
    return call_integer(call, count);
}

enum { REPORT_SIZE_MAX = 64 * 1024, GRAPH_COLUMNS = 80, GRAPH_ROWS = 4 };

/* "12s", "3m", "7h" or "2d". */
static void show_age(int64_t age_s, char *out, size_t size)
{
    if (age_s < 60)
        snprintf(out, size, "%llds", (long long)age_s);
    else if (age_s < 3600)
        snprintf(out, size, "%lldm", (long long)age_s / 60);
    else if (age_s < 86400)
        snprintf(out, size, "%lldh", (long long)age_s / 3600);
    else
        snprintf(out, size, "%lldd", (long long)age_s / 86400);
}

/* A column for each of the latest samples, its height between the lowest and the highest, and below
 * it how long ago that was, read downwards. */
static void draw(const struct latency_series *series, int64_t now_s, struct buffer *out)
{
    uint32_t columns = series->count < GRAPH_COLUMNS ? series->count : GRAPH_COLUMNS;
    const struct latency_sample *samples = &series->samples[series->count - columns];
    uint32_t high = 0, low = UINT32_MAX;
    char ages[GRAPH_COLUMNS][24];
    size_t longest = 0;

    for (uint32_t i = 0; i < columns; i++) {
        uint32_t ms = samples[i].duration_ms;

        high = ms > high ? ms : high;
        low = ms < low ? ms : low;
        show_age(now_s - samples[i].time_s, ages[i], sizeof(ages[i]));
        longest = strlen(ages[i]) > longest ? strlen(ages[i]) : longest;
    }
    text_append(out, "high %u ms, low %u ms (all time high %u ms)\n", high, low, series->max_ms);
    for (int i = 0; i < GRAPH_COLUMNS; i++)
        text_append(out, "-");
    for (uint32_t row = GRAPH_ROWS; row-- > 0;) {
        text_append(out, "\n");
        for (uint32_t i = 0; i < columns; i++) {
            uint64_t above = samples[i].duration_ms - low;
            uint64_t level = high > low ? above * (GRAPH_ROWS - 1) / (high - low) : 0;

            text_append(out, "%c", level < row ? ' ' : level == row ? '#' : '|');
        }
    }
    for (size_t row = 0; row < longest; row++) {
        text_append(out, "\n");
        for (uint32_t i = 0; i < columns; i++)
            text_append(out, "%c", row < strlen(ages[i]) ? ages[i][row] : ' ');
    }
    text_append(out, "\n");
}

enum outcome admin_latency_graph(struct call *call)
{
    struct latency_series series = {.count = 0};
    struct bytes name = call->argv[2];
    enum latency_event event;
    struct buffer text;

    if (find_event(name, &event))
        latency_copy(&server_of(call)->latency, event, &series);
    if (series.count == 0) {
        reply_errorf(call->reply, "ERR", "No samples available for event '%.*s'", SHOWN(name, 128));
        return OUTCOME_DONE;
    }
    buffer_init(&text, REPORT_SIZE_MAX);
    text_append(&text, "%s - ", latency_event_name(event));
    draw(&series, clock_engine_ms() / 1000, &text);
    return admin_text(call, &text);
}

static void diagnose(enum latency_event event, const struct latency_series *series,
                     struct buffer *out)
{
    static const char *const advice[] = {
        "SLOWLOG GET shows which commands they were; commands that answer all keys are the usual "
        "ones, and SCAN takes their place.",
        "Such commands do little, so something kept their worker from running: other programs on "
        "its CPU, swapping, or a value of very many bytes.",
        "A worker serves one request after the other: see SLOWLOG GET and CLIENT LIST for who "
        "sends much at once.",
        "Very many keys expired in the same moment.",
    };
    uint64_t sum_ms = 0, deviation_ms = 0;
    const struct latency_sample *samples = series->samples;

    for (uint32_t i = 0; i < series->count; i++)
        sum_ms += samples[i].duration_ms;
    uint64_t mean_ms = sum_ms / series->count;
    for (uint32_t i = 0; i < series->count; i++)
        deviation_ms += samples[i].duration_ms > mean_ms ? samples[i].duration_ms - mean_ms
                                                         : mean_ms - samples[i].duration_ms;
    int64_t span_s = samples[series->count - 1].time_s - samples[0].time_s;
    text_append(out,
                "%s: %u seconds with spikes in %lld s, average %llu ms, mean deviation %llu ms, "
                "worst of all time %u ms.\n  %s\n",
                latency_event_name(event), series->count, (long long)span_s + 1,
                (unsigned long long)mean_ms, (unsigned long long)(deviation_ms / series->count),
                series->max_ms, advice[event]);
}

enum outcome admin_latency_doctor(struct call *call)
{
    struct server *server = server_of(call);
    int64_t threshold_ms = server->options.latency_threshold_ms;
    bool any = false;
    struct buffer text;

    buffer_init(&text, REPORT_SIZE_MAX);
    if (threshold_ms == 0)
        text_append(&text, "Latency monitoring is off. CONFIG SET latency-monitor-threshold "
                           "<milliseconds> turns it on.\n");
    for (int i = 0; i < LATENCY_EVENT_COUNT; i++) {
        enum latency_event event = (enum latency_event)i;
        struct latency_series series;

        latency_copy(&server->latency, event, &series);
        if (series.count == 0)
            continue;
        any = true;
        diagnose(event, &series, &text);
    }
    if (threshold_ms != 0 && !any)
        text_append(&text, "Nothing has taken %lld ms or more.\n", (long long)threshold_ms);
    return admin_text(call, &text);
}

/* ---- LATENCY HISTOGRAM */

/* Calls that took less than 1.024 us times two to the `doubling`. */
static uint64_t calls_below(const struct command_sum *sum, uint32_t doubling)
{
    uint32_t end = histogram_bucket((uint64_t)1024 << doubling);
    uint64_t calls = 0;

    for (uint32_t i = 0; i < end; i++)
        calls += sum->latency[i];
    return calls;
}

enum { DOUBLINGS = HISTOGRAM_BITS - 10 };

/* A cumulative count for each doubling that adds to it. The bounds are told as Redis tells them:
 * its buckets end a little above. */
static void emit_histogram(struct reply *reply, const struct command_sum *sum)
{
    const struct reply_ops *ops = reply->ops;
    uint64_t below[DOUBLINGS + 1], before = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        below[i] = i < DOUBLINGS ? calls_below(sum, i) : sum->measured;
        count += below[i] != before;
        before = below[i];
    }
    ops->map(reply, count);
    before = 0;
    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        if (below[i] != before) {
            ops->integer(reply, (int64_t)((((uint64_t)1032 << i) - 1) / 1000));
            ops->integer(reply, (int64_t)below[i]);
        }
        before = below[i];
    }
}

/* By itself, or by its parent. */
static bool is_named(const struct command *command, struct bytes name)
{
    const struct command *named = command_find_full(name);

    return named != NULL && (named == command || named == command->parent);
}

static bool is_wanted(const struct call *call, const struct command *command)
{
    for (uint32_t i = 2; i < call->argc; i++)
        if (is_named(command, call->argv[i]))
            return true;
    return call->argc == 2;
}

enum outcome admin_latency_histogram(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;
    struct server *server = server_of(call);
    const struct command *shown[COMMANDS_MAX];
    char name[COMMAND_FULL_NAME_SIZE];
    struct command_sum sum;
    uint32_t count = 0;

    for (uint32_t id = 0; id < command_count(); id++) {
        command_stats_sum(server, id, &sum);
        if (sum.measured > 0 && is_wanted(call, command_at(id)))
            shown[count++] = command_at(id);
    }
    ops->map(call->reply, count);
    for (uint32_t i = 0; i < count; i++) {
        command_stats_sum(server, shown[i]->id, &sum);
        ops->bytes(call->reply, command_full_name(shown[i], name));
        ops->map(call->reply, 2);
        ops->bytes(call->reply, BYTES("calls"));
        ops->integer(call->reply, (int64_t)sum.measured);
        ops->bytes(call->reply, BYTES("histogram_usec"));
        emit_histogram(call->reply, &sum);
    }
    return OUTCOME_DONE;
}

enum outcome admin_latency_help(struct call *call)
{
    static const char *const lines[] = {
        "DOCTOR",
        "    Return a human readable latency analysis report.",
        "GRAPH <event>",
        "    Return an ASCII latency graph for the <event> class.",
        "HISTORY <event>",
        "    Return time-latency samples for the <event> class.",
        "LATEST",
        "    Return the latest latency samples for all events.",
        "RESET [<event> ...]",
        "    Reset latency data of one or more <event> classes.",
        "    (default: reset all data for all event classes)",
        "HISTOGRAM [COMMAND ...]",
        "    Return a cumulative distribution of latencies in the format of a histogram for the "
        "specified command names.",
        "    If no commands are specified then all histograms are replied.",
        NULL,
    };
    return admin_help(call, "LATENCY", lines);
}
