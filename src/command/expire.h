/* SPDX-License-Identifier: MIT
 *
 * Expiry times as clients spell them.
 */
#ifndef LARDER_COMMAND_EXPIRE_H
#define LARDER_COMMAND_EXPIRE_H

#include "command/command.h"

enum expire_form {
    EXPIRE_SECONDS = 1 << 0,  /* else milliseconds */
    EXPIRE_ABSOLUTE = 1 << 1, /* since 1970, else from now */
    EXPIRE_POSITIVE = 1 << 2, /* zero and less are refused */
};

/* The time meant by `text`, in engine time; it may lie in the past. False: an error was emitted. A
 * relative time makes the call run at a fresh reading of the clock. */
bool expire_parse(struct call *call, struct bytes text, uint32_t form, int64_t *out_ms);

#endif
