/* SPDX-License-Identifier: MIT
 *
 * The server's figures in Prometheus's text format 0.0.4: the same that INFO tells, read at the
 * same places. What is counted begins anew with CONFIG RESETSTAT.
 */
#ifndef LARDER_SERVER_METRICS_H
#define LARDER_SERVER_METRICS_H

#include "base/buffer.h"

struct server;

/* From any thread, after the workers have started and before they have ended. */
void metrics_write(struct server *server, struct buffer *out);

/* The text as the value of a label: \ " and line breaks are escaped, and what is no ASCII, of which
 * nobody knows the encoding, is written %XX, as % is. */
void metrics_label(struct buffer *out, const char *text);

#endif
