/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <stdio.h>

#include "build_info.h"

int engine_main(const struct engine_options *options)
{
    static struct report report;
    build_info_print(stderr);
    rows_run(options, &report);
    if (options->threads_max > 0)
        scaling_run(options, &report);
    if (options->large_count > 0)
        large_run(options, &report);
    if (options->json)
        report_json(&report);
    else
        report_table(&report);
    return fflush(stdout) == 0 ? 0 : 1;
}
