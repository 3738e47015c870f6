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

#endif
