/* SPDX-License-Identifier: MIT */
#include "wire/http_body.h"

#include <string.h>

enum { LINE_SIZE_MAX = 1024 }; /* of a chunk: its size, extensions */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1f;name=value\r\n" at `at`, `length` bytes before the LF. False: it is malformed. Sizes are cut
 * at SIZE_MAX. */
static bool read_size(const char *at, size_t length, size_t *out)
{
    size_t digits = 0, value = 0;
    int digit;

    if (length == 0 || at[--length] != '\r')
        return false;
    for (; digits < length && (digit = hex_digit(at[digits])) >= 0; digits++)
        value = value > SIZE_MAX >> 4 ? SIZE_MAX : value << 4 | (size_t)digit;
    if (digits == 0 || digits > 16)
        return false;
    size_t rest = digits;

    while (rest < length && (at[rest] == ' ' || at[rest] == '\t'))
        rest++;
    if (rest < length && at[rest] != ';')
        return false;
    if (rest == length && rest != digits)
        return false;
    for (; rest < length; rest++)
        if ((unsigned char)at[rest] < ' ' && at[rest] != '\t')
            return false;
    *out = value;
    return true;
}

enum parse http_chunks_measure(struct http_chunks *chunks, const char *data, size_t size,
                               size_t size_max, enum http_complaint *complaint)
{
    for (;;) {
        const char *line = data + chunks->at;
        size_t there = size > chunks->at ? size - chunks->at : 0;
        const char *newline =
            there > 0 ? memchr(line, '\n', there < LINE_SIZE_MAX ? there : LINE_SIZE_MAX) : NULL;
        size_t chunk;

        chunks->need = 0;
        if (newline == NULL && there < LINE_SIZE_MAX)
            return PARSE_MORE;
        *complaint = HTTP_CHUNK;
        if (newline == NULL || !read_size(line, (size_t)(newline - line), &chunk))
            return PARSE_BAD;
        size_t content = (size_t)(newline + 1 - data);

        if (chunk == 0) {
            enum parse parse =
                http_trailers_read(data + content, size - content, &there, complaint);

            if (parse == PARSE_DONE)
                chunks->at = content + there;
            return parse;
        }
        if (chunk > size_max || chunks->total > size_max - chunk) {
            *complaint = HTTP_BODY_SIZE;
            return PARSE_BAD;
        }
        if (size < content + chunk + 2) {
            chunks->need = content + chunk + 2;
            return PARSE_MORE;
        }
        if (memcmp(data + content + chunk, "\r\n", 2) != 0)
            return PARSE_BAD;
        chunks->at = content + chunk + 2;
        chunks->total += chunk;
    }
}

void http_chunks_join(char *at)
{
    char *to = at;

    for (;;) {
        char *line = at;
        size_t chunk = 0;

        at = memchr(line, '\n', LINE_SIZE_MAX);
        if (!read_size(line, (size_t)(at - line), &chunk) || chunk == 0)
            return;
        memmove(to, at + 1, chunk);
        to += chunk;
        at += 1 + chunk + 2;
    }
}
