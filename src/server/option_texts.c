/* SPDX-License-Identifier: MIT */
#include "server/option_texts.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "server/options.h"

static bool fail(char *message, const char *text)
{
    snprintf(message, OPTION_MESSAGE_SIZE, "%s", text);
    return false;
}

bool option_percentiles_parse(struct bytes text, struct percentiles *out, char *message)
{
    struct bytes word;

    out->count = 0;
    while (bytes_next_word(&text, &word)) {
        double percentile;

        if (out->count == PERCENTILES_MAX || !number_parse_double(word, &percentile))
            return fail(message, "Invalid latency-tracking-info-percentiles parameters");
        if (!(percentile >= 0 && percentile <= 100))
            return fail(message, "latency-tracking-info-percentiles parameters should sit between "
                                 "[0.0,100.0]");
        out->values[out->count++] = percentile;
    }
    return true;
}

void option_percentiles_write(const struct percentiles *percentiles, struct sink *sink)
{
    for (uint32_t i = 0; i < percentiles->count; i++) {
        char number[NUMBER_DOUBLE_MAX_SIZE];

        sink_write(sink, " ", i > 0);
        sink_write(sink, number, number_format_double(number, percentiles->values[i]));
    }
}

static const char *const class_names[] = {"normal", "slave", "pubsub"};

static bool find_class(struct bytes word, enum output_class *out)
{
    for (int i = 0; i < OUTPUT_CLASS_COUNT; i++) {
        if (bytes_equal_text_nocase(word, class_names[i])) {
            *out = (enum output_class)i;
            return true;
        }
    }
    *out = OUTPUT_REPLICA;
    return bytes_equal_text_nocase(word, "replica");
}

bool option_output_limits_parse(struct bytes text, struct output_limits *out, char *message)
{
    struct bytes class_name, hard, soft, seconds;

    memset(out, 0, sizeof(*out));
    while (bytes_next_word(&text, &class_name)) {
        enum output_class class;
        uint64_t hard_bytes, soft_bytes;
        int64_t soft_s;

        if (!bytes_next_word(&text, &hard) || !bytes_next_word(&text, &soft) ||
            !bytes_next_word(&text, &seconds))
            return fail(message, "Wrong number of arguments in buffer limit configuration.");
        if (!find_class(class_name, &class))
            return fail(message, "Invalid client class specified in buffer limit configuration.");
        if (!number_parse_size(hard, &hard_bytes) || !number_parse_size(soft, &soft_bytes) ||
            !number_parse_i64(seconds, &soft_s) || soft_s < 0 || soft_s > UINT32_MAX / 1000)
            return fail(message, "Error in hard, soft or soft_seconds setting in buffer limit "
                                 "configuration.");
        out->of[class] = (struct output_limit){hard_bytes, soft_bytes, (uint32_t)soft_s * 1000};
    }
    return true;
}

void option_output_limits_write(const struct output_limits *limits, struct sink *sink)
{
    for (int i = 0; i < OUTPUT_CLASS_COUNT; i++) {
        const struct output_limit *limit = &limits->of[i];
        char text[100];
        int size =
            snprintf(text, sizeof(text), "%s%s %llu %llu %lu", i > 0 ? " " : "", class_names[i],
                     (unsigned long long)limit->hard_bytes, (unsigned long long)limit->soft_bytes,
                     (unsigned long)limit->soft_ms / 1000);

        sink_write(sink, text, (size_t)size);
    }
}
