/* SPDX-License-Identifier: MIT
 *
 * The log: stderr, one line per event, level and time first. Thread-safe; a line is written in one
 * piece.
 */
#ifndef LARDER_SERVER_LOG_H
#define LARDER_SERVER_LOG_H

/* In the order of the choices of the option loglevel. */
enum log_level { LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING };

void log_level_set(enum log_level level);
/* Line breaks and other control characters become '?', so that nobody forges a line. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
