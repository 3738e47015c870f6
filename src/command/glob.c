/* SPDX-License-Identifier: MIT
 *
 * Every element of a pattern but `*` takes exactly one byte. So when a match fails after a `*`,
 * only that last `*` ever needs to take one byte more: an earlier one that took more would only
 * leave less text to the later one. This keeps the work at pattern size times text size, without
 * recursion.
 *
 * Odd patterns mean what Redis lets them mean: a set that is not closed ends with the pattern, `[]`
 * matches nothing, `[^]` any byte, and a lone backslash at the end is itself. It gives up where a
 * match would pass more than a thousand `*` with something behind them.
 */
#include "command/glob.h"

#include <stdint.h>

enum { STARS_MAX = 1000 };

/* `at` is behind the `[`. Returns where the pattern goes on; `*out_match`: whether `byte` is in it.
 */
static size_t match_set(struct bytes pattern, size_t at, uint8_t byte, bool *out_match)
{
    const uint8_t *p = (const uint8_t *)pattern.data;
    bool negated = at < pattern.size && p[at] == '^';
    bool match = false;
    if (negated)
        at++;
    while (at < pattern.size && p[at] != ']') {
        if (p[at] == '\\' && at + 1 < pattern.size) {
            match |= p[at + 1] == byte;
            at += 2;
        } else if (at + 2 < pattern.size && p[at + 1] == '-') {
            uint8_t low = p[at], high = p[at + 2];
            match |= low <= high ? byte >= low && byte <= high : byte >= high && byte <= low;
            at += 3;
        } else {
            match |= p[at] == byte;
            at++;
        }
    }
    *out_match = match != negated;
    return at < pattern.size ? at + 1 : at;
}

/* One element that is not `*` against one byte; returns where the pattern goes on. */
static size_t match_one(struct bytes pattern, size_t at, uint8_t byte, bool *out_match)
{
    uint8_t element = (uint8_t)pattern.data[at++];
    if (element == '[')
        return match_set(pattern, at, byte, out_match);
    if (element == '?') {
        *out_match = true;
        return at;
    }
    if (element == '\\' && at < pattern.size)
        element = (uint8_t)pattern.data[at++];
    *out_match = element == byte;
    return at;
}

bool glob_match(struct bytes pattern, struct bytes text)
{
    size_t at = 0, position = 0;
    uint32_t star_count = 0;               /* a run of them counts once */
    size_t star_at = 0, star_position = 0; /* behind the last `*`, and where its run ends so far */

    while (position < text.size) {
        if (at < pattern.size && pattern.data[at] == '*') {
            while (at < pattern.size && pattern.data[at] == '*')
                at++;
            if (at == pattern.size)
                return true;
            if (++star_count > STARS_MAX)
                return false;
            star_at = at;
            star_position = position;
            continue;
        }
        bool match = false;
        if (at < pattern.size)
            at = match_one(pattern, at, (uint8_t)text.data[position], &match);
        if (match) {
            position++;
        } else if (star_count != 0) {
            at = star_at;
            position = ++star_position;
        } else {
            return false;
        }
    }
    while (at < pattern.size && pattern.data[at] == '*')
        at++;
    return at == pattern.size;
}
