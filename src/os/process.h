/* SPDX-License-Identifier: MIT
 *
 * The process as a whole: its limits, what it has used, small files it reads at its start.
 */
#ifndef LARDER_OS_PROCESS_H
#define LARDER_OS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

uint64_t process_id(void);
/* "Linux 6.1.0 x86_64". */
void process_system_name(char *out, size_t size);
/* CPU time used so far by all threads. */
void process_cpu_us(uint64_t *out_user_us, uint64_t *out_system_us);

/* Raises the limit of open descriptors to `wanted`, or as far as allowed; returns the limit. */
uint64_t process_descriptors_raise(uint64_t wanted);

/* The whole file as a string that the caller frees; `*why` gets text valid until the next call on
 * this thread. A file of more than `size_max` bytes is refused. */
enum status process_read_file(const char *path, size_t size_max, char **out, size_t *out_size,
                              const char **why) MUST_USE;

#endif
