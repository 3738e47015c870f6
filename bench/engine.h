/* SPDX-License-Identifier: MIT
 *
 * `larder-bench engine`: the tiers. Each appends its figures to the report; each may be run once.
 */
#ifndef LARDER_BENCH_ENGINE_H
#define LARDER_BENCH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "report.h"

struct engine_options {
    bool json;
    uint64_t large_count; /* keys of the large tier; 0: none */
    uint64_t operations;  /* per repetition of a row or large figure */
    uint32_t repetitions; /* of each row and of each large figure */
    uint32_t threads_max; /* of the scaling tier; 0: none */
    uint32_t window_ms;   /* of one scaling figure */
    uint32_t windows;     /* per scaling figure */
};

/* The program's exit code. */
int engine_main(const struct engine_options *options);

/* bench/rows.c, bench/scaling.c, bench/large.c */
void rows_run(const struct engine_options *options, struct report *report);
void scaling_run(const struct engine_options *options, struct report *report);
void large_run(const struct engine_options *options, struct report *report);
/* The rows and what each adds, for --help. */
void rows_describe(void);

#endif
