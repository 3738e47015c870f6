/* SPDX-License-Identifier: MIT */
#ifndef LARDER_SERVER_ERRORS_H
#define LARDER_SERVER_ERRORS_H

/* The Markdown table of base/statuses.def. */
void errors_print_reference(void);

#endif
