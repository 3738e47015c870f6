/* SPDX-License-Identifier: MIT */
#include "server/info_commands.h"

#include <string.h>

#include "base/ensure.h"
#include "base/number.h"
#include "server/command_stats.h"
#include "server/option_texts.h"
#include "server/text.h"

void info_commandstats(struct server *server, struct buffer *out)
{
    struct command_sum sum;
    char name[COMMAND_FULL_NAME_SIZE];

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

static void read_percentiles(struct options *options, struct percentiles *out)
{
    char ignored[OPTION_MESSAGE_SIZE];

    lock_acquire(&options->lock);
    bool good = option_percentiles_parse(bytes_of_text(options->latency_percentiles), out, ignored);
    lock_release(&options->lock);
    ENSURE(good); /* it was parsed before it was stored */
}

void info_latencystats(struct server *server, struct buffer *out)
{
    struct percentiles percentiles;
    struct command_sum sum;
    char name[COMMAND_FULL_NAME_SIZE];

    read_percentiles(&server->options, &percentiles);
    for (uint32_t id = 0; id < command_count() && server->options.latency_tracking; id++) {
        command_stats_sum(server, id, &sum);
        if (sum.measured == 0)
            continue;
        command_full_name(command_at(id), name);
        text_append(out, "latency_percentiles_usec_%s:", name);
        for (uint32_t i = 0; i < percentiles.count; i++) {
            double percentile = percentiles.values[i];
            char shown[NUMBER_DOUBLE_MAX_SIZE + 1];

            shown[number_format_double(shown, percentile)] = '\0';
            text_append(out, "%sp%s=%.3f", i > 0 ? "," : "", shown,
                        (double)command_sum_percentile_ns(&sum, percentile) / 1000);
        }
        text_append(out, "\r\n");
    }
}
