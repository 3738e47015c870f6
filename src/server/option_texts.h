/* SPDX-License-Identifier: MIT
 *
 * Options whose text has a form of its own: reading it and writing it in one way, so that equal
 * values have equal texts. No state; thread-safe.
 */
#ifndef LARDER_SERVER_OPTION_TEXTS_H
#define LARDER_SERVER_OPTION_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/sink.h"
#include "net/loop.h"

/* latency-tracking-info-percentiles */
enum { PERCENTILES_MAX = 32 };

struct percentiles {
    uint32_t count;
    double values[PERCENTILES_MAX];
};

/* client-output-buffer-limit. Nothing is replicated, so that class is kept for CONFIG GET only. */
enum output_class { OUTPUT_NORMAL, OUTPUT_REPLICA, OUTPUT_PUBSUB, OUTPUT_CLASS_COUNT };

struct output_limits {
    struct output_limit of[OUTPUT_CLASS_COUNT];
};

/* On false `message` (OPTION_MESSAGE_SIZE) says what is wanted. */
bool option_percentiles_parse(struct bytes text, struct percentiles *out, char *message);
void option_percentiles_write(const struct percentiles *percentiles, struct sink *sink);
/* "class hard soft seconds", for any of the classes; the last that is said of one holds, and of
 * those not named there is no limit. */
bool option_output_limits_parse(struct bytes text, struct output_limits *out, char *message);
void option_output_limits_write(const struct output_limits *limits, struct sink *sink);

#endif
