/* SPDX-License-Identifier: MIT
 *
 * The sections of INFO that have a line per command or per error code.
 */
#ifndef LARDER_SERVER_INFO_COMMANDS_H
#define LARDER_SERVER_INFO_COMMANDS_H

#include "base/buffer.h"
#include "server/server.h"

void info_commandstats(struct server *server, struct buffer *out);
void info_errorstats(struct server *server, struct buffer *out);
void info_latencystats(struct server *server, struct buffer *out);

/* Acts on latency-tracking-info-percentiles: false when it is not a list of percentages, `message`
 * (OPTION_MESSAGE_SIZE) saying why. The option then shows what was understood: "0.50 99.0" reads
 * "0.5 99". */
bool info_percentiles_changed(struct server *server, char *message);

#endif
