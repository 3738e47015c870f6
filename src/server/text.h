/* SPDX-License-Identifier: MIT
 *
 * Formatted text into a growing buffer.
 */
#ifndef LARDER_SERVER_TEXT_H
#define LARDER_SERVER_TEXT_H

#include "base/buffer.h"

/* What "%llu" takes. */
#define LLU(number) ((unsigned long long)(number))

/* Like printf, at most 1 KB at a time; what is longer is cut. */
void text_append(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
