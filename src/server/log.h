/* SPDX-License-Identifier: MIT
 *
 * The log: standard error or a file, one line per event. Thread-safe; a line is written in one
 * piece, or not at all: nobody waits for a log that cannot be written. Lines that were lost for
 * that are counted, and a line says how many once the log can be written again.
 */
#ifndef LARDER_SERVER_LOG_H
#define LARDER_SERVER_LOG_H

#include <stdbool.h>

/* In the order of the choices of the option loglevel. */
enum log_level { LOG_DEBUG, LOG_VERBOSE, LOG_NOTICE, LOG_WARNING, LOG_NOTHING };
/* In the order of the choices of the option log-format. */
enum log_format { LOG_TEXT, LOG_JSON };

void log_level_set(enum log_level level);
void log_format_set(enum log_format format);
/* Opens the file, again when it was open already, and goes on in it; an empty path is standard
 * error. False: it cannot be opened, `*why` (as in os/file.h) says why, and the log goes on where
 * it was. */
bool log_open(const char *path, const char **why);
/* Line breaks and other control characters become '?', so that nobody forges a line. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says how many lines were lost, if any were and it can. To be called now and then. */
void log_tell_lost(void);

#endif
