/* SPDX-License-Identifier: MIT
 *
 * Patterns of KEYS and SCAN: `*` any run, `?` any byte, `[abc]` `[a-z]` `[^a]` sets, `\x` the byte
 * x.
 */
#ifndef LARDER_COMMAND_GLOB_H
#define LARDER_COMMAND_GLOB_H

#include <stdbool.h>

#include "base/bytes.h"

/* Whether all of `text` matches. At most pattern size times text size steps, whatever the pattern.
 */
bool glob_match(struct bytes pattern, struct bytes text);

#endif
