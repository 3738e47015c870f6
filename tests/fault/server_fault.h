/* SPDX-License-Identifier: MIT
 *
 * A whole server when memory runs out.
 */
#ifndef TESTS_FAULT_SERVER_FAULT_H
#define TESTS_FAULT_SERVER_FAULT_H

void a_server_starts_whole_or_not_at_all(void **state);
void a_server_survives_every_failing_allocation(void **state);

#endif
