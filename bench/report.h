/* SPDX-License-Identifier: MIT
 *
 * The results of one run of `larder-bench engine` and how they are printed.
 */
#ifndef LARDER_BENCH_REPORT_H
#define LARDER_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPORT_FIGURES_MAX = 128 };

struct report_row {
    const char *name;
    double ns_per_op;
};

struct report_scaling {
    const char *subject; /* "control" or "engine" */
    const char *keys;    /* "spread", "hot" or "zipf" */
    uint32_t threads;
    double ops_per_s;
};

struct report_large {
    uint64_t keys;
    uint32_t batch;
    double ns_per_op;
};

struct report {
    struct report_row rows[REPORT_FIGURES_MAX];
    struct report_scaling scaling[REPORT_FIGURES_MAX];
    struct report_large large[REPORT_FIGURES_MAX];
    size_t row_count, scaling_count, large_count;
};

/* To stdout. Figures that are not a cost are marked. */
void report_table(const struct report *report);
void report_json(const struct report *report);

#endif
