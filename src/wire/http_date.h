/* SPDX-License-Identifier: MIT
 *
 * HTTP's dates (RFC 9110, 5.6.7) in their three forms. No state.
 */
#ifndef LARDER_WIRE_HTTP_DATE_H
#define LARDER_WIRE_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Milliseconds since 1970. The year of the obsolete form with two digits lies from 1970 to 2069.
 * The name of the day must be one, but is not compared with the date. */
bool http_date_parse(struct bytes text, int64_t *out_ms);

#endif
