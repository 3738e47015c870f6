/* SPDX-License-Identifier: MIT
 *
 * Files: reading a small one whole, names by pattern, appending to a log. No state; thread-safe.
 *
 * `*why` is text for a person, valid until the calling thread's next call of a function here.
 */
#ifndef LARDER_OS_FILE_H
#define LARDER_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The path from the root; the same path where the working directory is not known or `size` is too
 * little. */
void file_absolute_path(const char *path, char *out, size_t size);
/* The whole file as a string that the caller frees. A file of more than `size_max` bytes is
 * refused. */
enum status file_read(const char *path, size_t size_max, char **out, size_t *out_size,
                      const char **why) MUST_USE;
/* Replaces what a file holds: whoever looks, whenever this is interrupted, and after the machine
 * has failed, finds the old or the new whole. Writes another file beside it (the name and `.new`),
 * which takes its place with its permissions; a symbolic link goes on leading to it. On failure the
 * old one stays, unless all that failed was to make the new one durable. One that is not there is
 * made, for its owner alone to read. */
enum status file_replace(const char *path, const char *data, size_t size, const char **why)
    MUST_USE;
/* A new file that all may read, in the place of any that is there, by the same steps. */
enum status file_write(const char *path, const char *data, size_t size, const char **why) MUST_USE;
/* Whether there is nothing at the path. */
bool file_missing(const char *path);
/* Whether reading it may wait for somebody: it is a pipe or a device. */
bool file_may_block(const char *path);
/* One that is gone already is no failure. */
enum status file_remove(const char *path, const char **why) MUST_USE;
/* Visits, in alphabetical order, the files whose names fit a pattern of the shell; a path without
 * `*`, `?` and `[` is visited whether or not it is there. `*out_all` is false when a visit was,
 * which ends it. */
enum status file_each_match(const char *pattern, bool (*visit)(void *argument, const char *path),
                            void *argument, bool *out_all) MUST_USE;

/* For a log: opened for appending, and created where it is not there; -1 on failure. */
int file_open_log(const char *path, const char **why);
/* Standard error, as a descriptor. */
int file_standard_error(void);
void file_close(int fd);
/* Writes without waiting: false, with nothing or a part of it written, when the far end of a pipe
 * or terminal takes no more or the disk is full. */
bool file_write_now(int fd, const char *data, size_t size, size_t *out_written);

#endif
