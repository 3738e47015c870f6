/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build_info.h"

static const char *mark(void)
{
    return build_info_is_cost() ? "" : "  not a cost";
}

/* The figure of the same subject and keys with one thread. */
static double of_one_thread(const struct report *report, const struct report_scaling *cell)
{
    for (size_t i = 0; i < report->scaling_count; i++) {
        const struct report_scaling *other = &report->scaling[i];
        if (other->threads == 1 && strcmp(other->subject, cell->subject) == 0 &&
            strcmp(other->keys, cell->keys) == 0)
            return other->ops_per_s;
    }
    return cell->ops_per_s;
}

void report_table(const struct report *report)
{
    printf("%-22s %10s %10s\n", "row", "ns/op", "x control");
    for (size_t i = 0; i < report->row_count; i++) {
        const struct report_row *row = &report->rows[i];
        printf("%-22s %10.1f %10.2f%s\n", row->name, row->ns_per_op,
               row->ns_per_op / report->rows[0].ns_per_op, mark());
    }
    if (report->scaling_count > 0)
        printf("\n%-10s %-8s %8s %14s %10s\n", "subject", "keys", "threads", "ops/s", "x one");
    for (size_t i = 0; i < report->scaling_count; i++) {
        const struct report_scaling *cell = &report->scaling[i];
        printf("%-10s %-8s %8" PRIu32 " %14.0f %10.2f%s\n", cell->subject, cell->keys,
               cell->threads, cell->ops_per_s, cell->ops_per_s / of_one_thread(report, cell),
               mark());
    }
    if (report->large_count > 0)
        printf("\n%-12s %8s %10s\n", "keys", "batch", "ns/op");
    for (size_t i = 0; i < report->large_count; i++) {
        const struct report_large *cell = &report->large[i];
        printf("%-12" PRIu64 " %8" PRIu32 " %10.1f%s\n", cell->keys, cell->batch, cell->ns_per_op,
               mark());
    }
}

/* Ends an element: the mark, the brace, a comma unless it is the last. */
static void json_end(size_t index, size_t count)
{
    printf("%s}%s", build_info_is_cost() ? "" : ",\"not_a_cost\":true",
           index + 1 < count ? "," : "");
}

void report_json(const struct report *report)
{
    printf("{\"rows\":[");
    for (size_t i = 0; i < report->row_count; i++) {
        printf("{\"name\":\"%s\",\"ns_per_op\":%.2f", report->rows[i].name,
               report->rows[i].ns_per_op);
        json_end(i, report->row_count);
    }
    printf("],\"scaling\":[");
    for (size_t i = 0; i < report->scaling_count; i++) {
        const struct report_scaling *cell = &report->scaling[i];
        printf("{\"subject\":\"%s\",\"keys\":\"%s\",\"threads\":%" PRIu32 ",\"ops_per_s\":%.0f",
               cell->subject, cell->keys, cell->threads, cell->ops_per_s);
        json_end(i, report->scaling_count);
    }
    printf("],\"large\":[");
    for (size_t i = 0; i < report->large_count; i++) {
        const struct report_large *cell = &report->large[i];
        printf("{\"keys\":%" PRIu64 ",\"batch\":%" PRIu32 ",\"ns_per_op\":%.2f", cell->keys,
               cell->batch, cell->ns_per_op);
        json_end(i, report->large_count);
    }
    printf("]}\n");
}
