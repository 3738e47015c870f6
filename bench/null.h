/* SPDX-License-Identifier: MIT
 *
 * `larder-bench null`: the wire's floor. A server on the real loops with the real parser that
 * stores nothing: +OK to SET, 512 constant bytes to everything else.
 */
#ifndef LARDER_BENCH_NULL_H
#define LARDER_BENCH_NULL_H

#include <stdint.h>

#include "net/loop.h"

struct null_options {
    enum loop_io io;
    const char *bind;       /* address of the TCP listener */
    uint16_t port;          /* of the TCP listener; 0: none */
    const char *unixsocket; /* path, or NULL */
    uint32_t threads;
    uint32_t batch_wait_us;
};

/* Serves until SIGINT or SIGTERM. The program's exit code. */
int null_main(const struct null_options *options);

#endif
