/* SPDX-License-Identifier: MIT
 *
 * The process as a whole: its limits and what it has used.
 */
#ifndef LARDER_OS_PROCESS_H
#define LARDER_OS_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

uint64_t process_id(void);
/* "Linux 6.1.0 x86_64". */
void process_system_name(char *out, size_t size);
/* The path of the program's file; "unknown" where the system does not tell it. */
void process_executable(char *out, size_t size);
/* CPU time used so far by all threads. */
void process_cpu_us(uint64_t *out_user_us, uint64_t *out_system_us);

/* Opens /dev/null for standard input, output and error where they are closed, so that no other file
 * is taken for them. */
void process_standard_files_open(void);
/* Raises the limit of open descriptors to `wanted`, or as far as allowed; returns the limit. */
uint64_t process_descriptors_raise(uint64_t wanted);

#endif
