/* SPDX-License-Identifier: MIT */
#include "resp_reference.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"

struct reader {
    const struct wire_limits *limits;
    const char *data, *end;
    const char *error; /* of the request that could not be read */
    char text[64];
    char *copy; /* inline words, decoded */
    struct bytes *argv;
    uint32_t argc;
};

static enum parse refuse(struct reader *reader, const char *error)
{
    snprintf(reader->text, sizeof(reader->text), "Protocol error: %s", error);
    reader->error = reader->text;
    return PARSE_BAD;
}

static void add(struct reader *reader, const char *data, size_t size)
{
    reader->argv = realloc(reader->argv, (reader->argc + 1) * sizeof(struct bytes));
    reader->argv[reader->argc++] = bytes_of(data, size);
}

/* A number as headers spell it: digits only, no leading zeros. */
static bool number_of(const char *from, const char *to, long long *out)
{
    bool negative = from < to && *from == '-';
    from += negative;
    if (from == to || (*from == '0' && (to - from > 1 || negative)))
        return false;
    for (*out = 0; from < to; from++) {
        if (!isdigit((unsigned char)*from) || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_sub_overflow(*out, *from - '0', out))
            return false;
    }
    return negative || !__builtin_sub_overflow(0, *out, out);
}

/* A line that ends with CR and any byte. */
static enum parse header(struct reader *reader, const char **line_end, const char *too_big)
{
    const char *p = reader->data;
    while (p < reader->end && *p != '\r' &&
           (size_t)(p - reader->data) <= reader->limits->inline_size_max)
        p++;
    if ((size_t)(p - reader->data) > reader->limits->inline_size_max)
        return refuse(reader, too_big);
    if (reader->end - p < 2)
        return PARSE_MORE;
    *line_end = p;
    return PARSE_DONE;
}

static enum parse array(struct reader *reader)
{
    bool stranger = reader->limits->unauthenticated;
    const char *line_end = NULL;
    long long count, size;
    enum parse parse = header(reader, &line_end, "too big mbulk count string");
    if (parse != PARSE_DONE)
        return parse;
    if (!number_of(reader->data + 1, line_end, &count) || count > INT_MAX)
        return refuse(reader, "invalid multibulk length");
    if (count > (long long)reader->limits->arguments_max)
        return refuse(reader,
                      stranger ? "unauthenticated multibulk length" : "invalid multibulk length");
    reader->data = line_end + 2;
    while (count-- > 0) {
        parse = header(reader, &line_end, "too big bulk count string");
        if (parse != PARSE_DONE)
            return parse;
        if (*reader->data != '$') {
            char text[40], c = *reader->data;
            snprintf(text, sizeof(text), "expected '$', got '%c'",
                     c == '\0' || c == '\r' || c == '\n' ? ' ' : c);
            return refuse(reader, text);
        }
        if (!number_of(reader->data + 1, line_end, &size) || size < 0 || size > 512 * 1024 * 1024)
            return refuse(reader, "invalid bulk length");
        if (size > (long long)reader->limits->argument_size_max)
            return refuse(reader, stranger ? "unauthenticated bulk length" : "invalid bulk length");
        if (reader->end - (line_end + 2) < size + 2)
            return PARSE_MORE;
        add(reader, line_end + 2, (size_t)size);
        reader->data = line_end + 2 + size + 2;
    }
    return PARSE_DONE;
}

/* The word at `*p`; decodes to `*out`. */
static bool word(const char **p, const char *end, char **out)
{
    const char *at = *p;
    while (at < end && !strchr(" \t\r", *at ? *at : 'x')) {
        char quote = *at;
        if (quote != '"' && quote != '\'') {
            *(*out)++ = *at++;
            continue;
        }
        for (at++;; at++) {
            unsigned byte;
            int length = 0;
            if (at == end)
                return false;
            if (*at == quote) {
                *p = at + 1;
                return at + 1 == end || isspace((unsigned char)at[1]);
            }
            char piece[5] = {0};
            memcpy(piece, at, (size_t)(end - at < 4 ? end - at : 4));
            if (quote == '"' && strlen(piece) == 4 && isxdigit((unsigned char)piece[2]) &&
                isxdigit((unsigned char)piece[3]) &&
                sscanf(piece, "\\x%2x%n", &byte, &length) == 1 && length == 4) {
                *(*out)++ = (char)byte;
                at += 3;
            } else if (quote == '"' && *at == '\\' && at + 1 < end) {
                static const char names[] = "nrtba", values[] = "\n\r\t\b\a";
                at++;
                const char *name = *at ? strchr(names, *at) : NULL;
                *(*out)++ = name ? values[name - names] : *at;
            } else if (quote == '\'' && end - at >= 2 && memcmp(at, "\\'", 2) == 0) {
                *(*out)++ = '\'';
                at++;
            } else {
                *(*out)++ = *at;
            }
        }
    }
    *p = at;
    return true;
}

static enum parse line(struct reader *reader)
{
    bool stranger = reader->limits->unauthenticated;
    const char *p = reader->data, *newline = p;
    while (newline < reader->end && *newline != '\n')
        newline++;
    if ((size_t)(newline - p) > reader->limits->inline_size_max)
        return refuse(reader, "too big inline request");
    if (newline == reader->end)
        return PARSE_MORE;
    const char *end = newline > p && newline[-1] == '\r' ? newline - 1 : newline;
    char *out = reader->copy = malloc((size_t)(end - p) + 1);
    for (;;) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p == end)
            break;
        if (reader->argc == reader->limits->arguments_max)
            return refuse(reader, stranger ? "unauthenticated multibulk length"
                                           : "invalid multibulk length");
        char *begin = out;
        if (!word(&p, end, &out))
            return refuse(reader, "unbalanced quotes in request");
        if ((size_t)(out - begin) > reader->limits->argument_size_max)
            return refuse(reader, stranger ? "unauthenticated bulk length" : "invalid bulk length");
        add(reader, begin, (size_t)(out - begin));
    }
    reader->data = newline + 1;
    return PARSE_DONE;
}

void resp_reference(struct sink *sink, const struct wire_limits *limits, struct bytes data)
{
    struct reader reader = {.limits = limits, .data = data.data, .end = data.data + data.size};
    enum parse parse = PARSE_DONE;
    while (parse == PARSE_DONE && reader.data < reader.end) {
        reader.argc = 0;
        parse = *reader.data == '*' ? array(&reader) : line(&reader);
        if (parse == PARSE_DONE && reader.argc != 0)
            feed_describe(sink, reader.argc, reader.argv);
        free(reader.copy);
        reader.copy = NULL;
    }
    free(reader.argv);
    if (parse == PARSE_BAD) {
        sink_write(sink, "! ", 2);
        sink_write_bytes(sink, bytes_of_text(reader.error));
    } else if (parse == PARSE_MORE) {
        sink_write(sink, "...", 3);
    }
}
