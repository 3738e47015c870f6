/* SPDX-License-Identifier: MIT
 *
 * The way from bytes to bytes when memory runs out: parser, commands, rendered replies.
 */
#ifndef TESTS_FAULT_WIRE_FAULT_H
#define TESTS_FAULT_WIRE_FAULT_H

void a_pipeline_survives_every_failing_allocation(void **state);

#endif
