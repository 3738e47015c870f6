/* SPDX-License-Identifier: MIT
 *
 * What the targets of the wires' parsers share: whatever way an input is cut, what is made of it is
 * the same. A difference ends the process.
 */
#ifndef LARDER_TESTS_FUZZ_PIECES_H
#define LARDER_TESTS_FUZZ_PIECES_H

#include "../wire/feed.h"

enum { PIECES_OUTPUT_MAX = 1 << 26 };

/* Reads the input with a parser, in pieces of at most `piece_max` bytes, and writes down what it
 * makes of it. */
typedef void pieces_read(struct sink *out, const struct wire_limits *limits, struct bytes input,
                         size_t piece_max, uint64_t dice);

/* Gives the feed all of the input, and notes at the end what is unfinished. */
void pieces_feed(struct feed *feed, struct bytes input, size_t piece_max, struct sink *out);
/* `expected` NULL: what is read when the input arrives whole. */
void pieces_compare(pieces_read *read, const struct wire_limits *limits, struct bytes input,
                    const struct bytes *expected);

#endif
