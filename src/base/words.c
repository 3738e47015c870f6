/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <string.h>

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One escape sequence of a "..." word; `*at` is behind its backslash, `*at < end`. */
static char read_escape(const char **at, const char *end)
{
    char c = *(*at)++;
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    case 'x':
        if (end - *at >= 2 && hex_value((*at)[0]) >= 0 && hex_value((*at)[1]) >= 0) {
            c = (char)(hex_value((*at)[0]) * 16 + hex_value((*at)[1]));
            *at += 2;
        }
        return c;
    default:
        return c;
    }
}

bool word_read(const char **from, const char *end, char **to)
{
    const char *at = *from;
    char *out = *to, quote = '\0';
    while (at < end) {
        char c = *at;
        if (quote == '\0') {
            if (c == ' ' || c == '\t' || c == '\r')
                break;
            at++;
            if (c == '"' || c == '\'')
                quote = c;
            else
                *out++ = c;
            continue;
        }
        at++;
        if (c == quote) {
            if (at < end && !word_is_blank(*at))
                return false;
            quote = '\0';
            break;
        }
        if (c == '\\' && at < end && quote == '"')
            c = read_escape(&at, end);
        else if (c == '\\' && at < end && *at == '\'')
            c = *at++;
        *out++ = c;
    }
    *from = at;
    *to = out;
    return quote == '\0';
}

static bool needs_quotes(struct bytes word)
{
    if (word.size == 0 || word.data[0] == '#')
        return true;
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];

        if ((unsigned char)c <= ' ' || (unsigned char)c >= 0x7f || c == '"' || c == '\'')
            return true;
    }
    return false;
}

/* How the byte is written between quotes; the size of that, 1: as it is. */
static size_t escape(unsigned char c, char out[4])
{
    static const char digits[] = "0123456789abcdef", named[] = "\n\r\t\a\b\"\\",
                      names[] = "nrtab\"\\";

    if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
        return 1;
    const char *found = c != '\0' ? strchr(named, c) : NULL;
    out[0] = '\\';
    if (found != NULL) {
        out[1] = names[found - named];
        return 2;
    }
    out[1] = 'x';
    out[2] = digits[c >> 4];
    out[3] = digits[c & 15];
    return 4;
}

void word_quote(struct sink *sink, struct bytes word)
{
    size_t written = 0;

    sink_write(sink, "\"", 1);
    for (size_t i = 0; i < word.size && !sink->failed; i++) {
        char escaped[4];
        size_t size = escape((unsigned char)word.data[i], escaped);

        if (size == 1)
            continue;
        sink_write(sink, word.data + written, i - written);
        sink_write(sink, escaped, size);
        written = i + 1;
    }
    sink_write(sink, word.data + written, word.size - written);
    sink_write(sink, "\"", 1);
}

void word_write(struct sink *sink, struct bytes word)
{
    if (needs_quotes(word))
        word_quote(sink, word);
    else
        sink_write_bytes(sink, word);
}
