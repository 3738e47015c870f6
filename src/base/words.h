/* SPDX-License-Identifier: MIT
 *
 * Words of a line, as Redis splits inline commands and configuration files: separated by blanks;
 * "..." takes the escapes \n \r \t \a \b \xHH and \ before any other byte, '...' only \'. No state.
 */
#ifndef LARDER_BASE_WORDS_H
#define LARDER_BASE_WORDS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/sink.h"

static inline bool word_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Decodes the word at `*from` to `*to`, which is not behind it, and moves both past it. A quote may
 * open in the middle of a word, but must close at its end. False: it does not. */
bool word_read(const char **from, const char *end, char **to);
/* Writes a word that word_read gives back as it was: in quotes where it needs them. */
void word_write(struct sink *sink, struct bytes word);
/* The same in quotes always. Stops early when the sink fails. */
void word_quote(struct sink *sink, struct bytes word);

#endif
