/* SPDX-License-Identifier: MIT */
#include "server/info_commands.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "server/command_stats.h"
#include "server/text.h"

#define LLU(number) ((unsigned long long)(number))

enum { FULL_NAME_SIZE = 2 * COMMAND_NAME_SIZE_MAX + 2, PERCENTILES_MAX = 32 };

void info_commandstats(struct server *server, struct buffer *out)
{
    struct command_sum sum;
    char name[FULL_NAME_SIZE];

    for (uint32_t id = 0; id < command_count(); id++) {
        command_stats_sum(server, id, &sum);
        if (sum.calls == 0 && sum.rejected == 0)
            continue;
        command_full_name(command_at(id), name);
        double each_us = sum.calls > 0 ? (double)sum.time_ns / 1000 / (double)sum.calls : 0;
        text_append(out,
                    "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
                    "failed_calls=%llu\r\n",
                    name, LLU(sum.calls), LLU(sum.time_ns / 1000), each_us, LLU(sum.rejected),
                    LLU(sum.failed));
    }
}

void info_errorstats(struct server *server, struct buffer *out)
{
    struct error_counts counts;

    memset(&counts, 0, sizeof(counts));
    command_stats_errors(server, &counts);
    for (uint32_t i = 0; i < counts.codes_count; i++) {
        uint64_t count = counter_get(&counts.codes[i].count);

        if (count > 0)
            text_append(out, "errorstat_%s:count=%llu\r\n", counts.codes[i].code, LLU(count));
    }
    if (counter_get(&counts.others) > 0)
        text_append(out, "errorstat_ERRORSTATS_OVERFLOW:count=%llu\r\n",
                    LLU(counter_get(&counts.others)));
}

static bool parse_percentiles(const char *words, double *out, uint32_t *out_count, char *message)
{
    *out_count = 0;
    for (const char *at = words + strspn(words, " "); *at != '\0'; at += strspn(at, " ")) {
        struct bytes word = bytes_of(at, strcspn(at, " "));
        double percentile;

        at += word.size;
        if (*out_count == PERCENTILES_MAX || !number_parse_double(word, &percentile)) {
            snprintf(message, OPTION_MESSAGE_SIZE,
                     "Invalid latency-tracking-info-percentiles parameters");
            return false;
        }
        if (!(percentile >= 0 && percentile <= 100)) {
            snprintf(message, OPTION_MESSAGE_SIZE,
                     "latency-tracking-info-percentiles parameters should sit between "
                     "[0.0,100.0]");
            return false;
        }
        out[(*out_count)++] = percentile;
    }
    return true;
}

bool info_percentiles_changed(struct server *server, char *message)
{
    struct options *options = &server->options;
    double percentiles[PERCENTILES_MAX];
    struct option_value value = {0, alloc_get(PERCENTILES_MAX * (NUMBER_DOUBLE_MAX_SIZE + 1) + 1)};
    char *at = value.text;
    uint32_t count;

    if (value.text == NULL) {
        snprintf(message, OPTION_MESSAGE_SIZE, "%s", status_text(STATUS_NO_MEMORY));
        return false;
    }
    lock_acquire(&options->lock);
    bool good = parse_percentiles(options->latency_percentiles, percentiles, &count, message);
    lock_release(&options->lock);
    for (uint32_t i = 0; good && i < count; i++) {
        at += number_format_double(at, percentiles[i]);
        *at++ = ' ';
    }
    value.text[at > value.text ? at - value.text - 1 : 0] = '\0';
    if (good)
        options_store(options, option_find(BYTES("latency-tracking-info-percentiles")), value);
    else
        alloc_free(value.text);
    return good;
}

static uint32_t wanted_percentiles(struct server *server, double *out)
{
    struct options *options = &server->options;
    char message[OPTION_MESSAGE_SIZE];
    uint32_t count;

    lock_acquire(&options->lock);
    bool good = parse_percentiles(options->latency_percentiles, out, &count, message);
    lock_release(&options->lock);
    return good ? count : 0;
}

void info_latencystats(struct server *server, struct buffer *out)
{
    double percentiles[PERCENTILES_MAX];
    uint32_t count = wanted_percentiles(server, percentiles);
    struct command_sum sum;
    char name[FULL_NAME_SIZE];

    for (uint32_t id = 0; id < command_count() && server->options.latency_tracking; id++) {
        command_stats_sum(server, id, &sum);
        if (sum.measured == 0)
            continue;
        command_full_name(command_at(id), name);
        text_append(out, "latency_percentiles_usec_%s:", name);
        for (uint32_t i = 0; i < count; i++) {
            char shown[NUMBER_DOUBLE_MAX_SIZE + 1];

            shown[number_format_double(shown, percentiles[i])] = '\0';
            text_append(out, "%sp%s=%.3f", i > 0 ? "," : "", shown,
                        (double)command_sum_percentile_ns(&sum, percentiles[i]) / 1000);
        }
        text_append(out, "\r\n");
    }
}
