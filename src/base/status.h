/* SPDX-License-Identifier: MIT
 *
 * The set of failures, shared by every layer. Zero is success. A status is an answer for somebody
 * (a client, an embedder), never a place for the operating system's errno, which stays in os/.
 */
#ifndef LARDER_BASE_STATUS_H
#define LARDER_BASE_STATUS_H

enum status {
#define STATUS(name, code, text) STATUS_##name,
#include "base/statuses.def"
#undef STATUS
    STATUS_COUNT
};

#define MUST_USE __attribute__((warn_unused_result))

/* Both return static text; `status` must be a valid row. */
const char *status_code(enum status status);
const char *status_text(enum status status);

#endif
