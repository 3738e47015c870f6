/* SPDX-License-Identifier: MIT */
#include "transcript.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* ---- texts */

static void text_add(struct text *text, char byte, unsigned char kind)
{
    if (text->size == text->room) {
        text->room = text->room * 2 + 32;
        text->data = realloc(text->data, text->room);
        text->kinds = realloc(text->kinds, text->room);
        if (text->data == NULL || text->kinds == NULL)
            abort();
    }
    text->data[text->size] = byte;
    text->kinds[text->size++] = kind;
}

static void text_add_literal(struct text *text, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        text_add(text, bytes.data[i], BYTE_LITERAL);
}

static void text_append(struct text *text, const struct text *more)
{
    for (size_t i = 0; i < more->size; i++)
        text_add(text, more->data[i], more->kinds[i]);
    if (more->timed) {
        text->timed = true;
        text->offset = more->offset;
    }
    text->versioned |= more->versioned;
}

static void text_free(struct text *text)
{
    free(text->data);
    free(text->kinds);
    *text = (struct text){0};
}

static void text_add_version(struct text *text)
{
    text->versioned = true;
    for (int i = 0; i < TRANSCRIPT_VERSION_SIZE; i++)
        text_add(text, '\0', BYTE_VERSION);
}

/* `*at` is behind "\{". */
static bool read_braces(const char **at, struct text *out)
{
    int length = 0, count;
    char byte;
    if (sscanf(*at, "%c*%d}%n", &byte, &count, &length) == 2 && length != 0) {
        while (count-- > 0)
            text_add(out, byte, BYTE_LITERAL);
    } else if (strncmp(*at, "v8}", 3) == 0) {
        text_add_version(out);
        length = 3;
    } else if (sscanf(*at, "s%" SCNd64 "}%n", &out->offset, &length) == 1 && length != 0) {
        out->timed = true;
        for (int i = 0; i < 10; i++)
            text_add(out, '0', BYTE_SECONDS);
    } else if (sscanf(*at, "ms%" SCNd64 "}%n", &out->offset, &length) == 1 && length != 0) {
        out->timed = true;
        for (int i = 0; i < 13; i++)
            text_add(out, '0', BYTE_MS);
    } else {
        return false;
    }
    *at += length;
    return true;
}

/* `*at` is behind the backslash. */
static bool read_escape(const char **at, struct text *out)
{
    static const char names[] = "rnt0\\\"<", values[] = "\r\n\t\0\\\"<";
    char c = *(*at)++;
    const char *name = c == '\0' ? NULL : strchr(names, c);
    unsigned byte;
    int length = 0;
    if (name != NULL) {
        text_add(out, values[name - names], BYTE_LITERAL);
        return true;
    }
    if (c == '{')
        return read_braces(at, out);
    if (c != 'x' || sscanf(*at, "%2x%n", &byte, &length) != 1 || length != 2)
        return false;
    text_add(out, (char)byte, BYTE_LITERAL);
    *at += 2;
    return true;
}

/* `*at` is behind "<". */
static bool read_pattern(const char **at, struct text *out)
{
    static const struct {
        const char *name;
        unsigned char kind;
    } patterns[] = {{"int>", BYTE_INTEGER}, {"any>", BYTE_ANY}, {"bulk>", BYTE_BULK}};
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        if (strncmp(*at, patterns[i].name, strlen(patterns[i].name)) == 0) {
            *at += strlen(patterns[i].name);
            text_add(out, '\0', patterns[i].kind);
            return true;
        }
    }
    if (strncmp(*at, "v8>", 3) == 0) {
        *at += 3;
        text_add_version(out);
        return true;
    }
    int64_t number, slack;
    int length = 0;
    if (sscanf(*at, "%" SCNd64 "~%" SCNd64 ">%n", &number, &slack, &length) != 2 || length == 0)
        return false;
    char digits[NUMBER_I64_MAX_SIZE];
    size_t size = number_format_i64(digits, number);
    for (size_t i = 0; i < size; i++)
        text_add(out, digits[i], BYTE_NUMBER);
    *at += length;
    return true;
}

static bool read_text(const char *at, bool patterns, struct text *out)
{
    while (*at != '\0') {
        char c = *at++;
        bool ok = true;
        if (c == '\\')
            ok = read_escape(&at, out);
        else if (c == '<' && patterns)
            ok = read_pattern(&at, out);
        else
            text_add(out, c, BYTE_LITERAL);
        if (!ok)
            return false;
    }
    return true;
}

static bool read_line(const char *at, struct text *out)
{
    bool ok = read_text(at, false, out);
    text_add_literal(out, BYTES("\r\n"));
    return ok;
}

/* Words become a RESP array. */
static bool read_words(const char *at, struct text *out)
{
    struct text words = {0};
    size_t count = 0;
    bool ok = true;
    char header[32];
    while (ok && *at != '\0') {
        struct text word = {0};
        bool quoted = *at == '"';
        at += quoted;
        while (ok && *at != '\0' && *at != (quoted ? '"' : ' ')) {
            char c = *at++;
            if (c == '\\')
                ok = read_escape(&at, &word);
            else
                text_add(&word, c, BYTE_LITERAL);
        }
        if (quoted)
            ok = ok && *at++ == '"';
        if (*at == ' ')
            ok = ok && *++at != '\0' && *at != ' ';
        else
            ok = ok && *at == '\0';
        snprintf(header, sizeof(header), "$%zu\r\n", word.size);
        text_add_literal(&words, bytes_of_text(header));
        text_append(&words, &word);
        text_add_literal(&words, BYTES("\r\n"));
        text_free(&word);
        count++;
    }
    snprintf(header, sizeof(header), "*%zu\r\n", count);
    text_add_literal(out, bytes_of_text(header));
    text_append(out, &words);
    text_free(&words);
    return ok && count != 0;
}

char *transcript_bytes(const struct text *text, int64_t start_ms, const char *version)
{
    char *bytes = malloc(text->size + 1), digits[32];
    if (bytes == NULL)
        abort();
    if (text->size != 0)
        memcpy(bytes, text->data, text->size);
    for (size_t i = 0; (text->timed || text->versioned) && i < text->size; i++) {
        if (text->kinds[i] == BYTE_VERSION) {
            memcpy(bytes + i, version, TRANSCRIPT_VERSION_SIZE);
            i += TRANSCRIPT_VERSION_SIZE - 1;
        } else if (text->kinds[i] == BYTE_SECONDS) {
            snprintf(digits, sizeof(digits), "%010" PRId64, start_ms / 1000 + text->offset);
            memcpy(bytes + i, digits, 10);
            i += 9;
        } else if (text->kinds[i] == BYTE_MS) {
            snprintf(digits, sizeof(digits), "%013" PRId64, start_ms + text->offset);
            memcpy(bytes + i, digits, 13);
            i += 12;
        }
    }
    return bytes;
}

/* ---- files */

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        abort();
    return copy;
}

static struct transcript *add_case(struct transcript_file *file, const char *title, unsigned line)
{
    file->cases = realloc(file->cases, (file->count + 1) * sizeof(*file->cases));
    if (file->cases == NULL)
        abort();
    struct transcript *transcript = &file->cases[file->count++];
    *transcript = (struct transcript){.title = copy_of(title), .line = line};
    return transcript;
}

static struct step *add_step(struct transcript *transcript, enum step_kind kind, unsigned line,
                             unsigned connection)
{
    transcript->steps =
        realloc(transcript->steps, (transcript->count + 1) * sizeof(*transcript->steps));
    if (transcript->steps == NULL)
        abort();
    struct step *step = &transcript->steps[transcript->count++];
    *step = (struct step){.kind = kind, .line = line, .connection = connection};
    return step;
}

static bool read_directive(struct transcript *transcript, const char *text, unsigned line,
                           unsigned connection)
{
    uint64_t number;
    if (strcmp(text, "server") == 0) {
        transcript->needs_server = true;
    } else if (strcmp(text, "stranger") == 0) {
        add_step(transcript, STEP_STRANGER, line, connection);
    } else if (strcmp(text, "closed") == 0) {
        add_step(transcript, STEP_CLOSED, line, connection);
    } else if (strncmp(text, "protocol ", 9) == 0) {
        add_step(transcript, STEP_PROTOCOL, line, connection)->number = (uint64_t)atoi(text + 9);
    } else if (strncmp(text, "maxmemory ", 10) == 0 &&
               number_parse_size(bytes_of_text(text + 10), &number)) {
        add_step(transcript, STEP_MAXMEMORY, line, connection)->number = number;
    } else {
        return false;
    }
    return true;
}

static bool read_step(struct transcript *transcript, const char *text, unsigned line)
{
    unsigned connection = 0;
    uint64_t us;
    if (text[0] >= 'A' && text[0] < 'A' + TRANSCRIPT_CONNECTIONS)
        connection = (unsigned)(*text++ - 'A');
    if (strncmp(text, "> ", 2) == 0)
        return read_words(text + 2, &add_step(transcript, STEP_SEND, line, connection)->text);
    if (strncmp(text, ">> ", 3) == 0)
        return read_text(text + 3, false, &add_step(transcript, STEP_SEND, line, connection)->text);
    if (strncmp(text, ">|", 2) == 0)
        return read_line(text + (text[2] == ' ' ? 3 : 2),
                         &add_step(transcript, STEP_SEND, line, connection)->text);
    if (strncmp(text, "! ", 2) == 0)
        return read_directive(transcript, text + 2, line, connection);
    if (strncmp(text, "@ +", 3) == 0) {
        if (!number_parse_duration_us(bytes_of_text(text + 3), 1, &us) || us % 1000 != 0)
            return false;
        add_step(transcript, STEP_TIME, line, 0)->number = us / 1000;
        return true;
    }
    bool raw = strncmp(text, "<< ", 3) == 0, any_order = strncmp(text, "<~ ", 3) == 0;
    if (!raw && !any_order && strncmp(text, "< ", 2) != 0)
        return false;
    struct step *step = add_step(transcript, STEP_EXPECT, line, connection);
    step->any_order = any_order;
    if (!read_text(text + 2 + (raw || any_order), true, &step->text))
        return false;
    if (!raw)
        text_add_literal(&step->text, BYTES("\r\n"));
    return true;
}

bool transcript_parse(struct transcript_file *file, const char *name, struct bytes content)
{
    *file = (struct transcript_file){0};
    const char *at = content.data, *end = at + content.size;
    struct transcript *transcript = NULL;
    for (unsigned number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL)
            newline = end;
        char *line = strndup(at, (size_t)(newline - at));
        if (line == NULL)
            abort();
        at = newline + 1;
        bool ok = true;
        if (strncmp(line, "=== ", 4) == 0)
            transcript = add_case(file, line + 4, number);
        else if (line[0] != '\0' && line[0] != '#')
            ok = transcript != NULL && read_step(transcript, line, number);
        if (!ok)
            snprintf(file->error, sizeof(file->error), "%s:%u: cannot be read: %.100s", name,
                     number, line);
        free(line);
        if (!ok)
            return false;
    }
    return true;
}

void transcript_free(struct transcript_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        struct transcript *transcript = &file->cases[i];
        for (size_t k = 0; k < transcript->count; k++)
            text_free(&transcript->steps[k].text);
        free(transcript->steps);
        free(transcript->title);
    }
    free(file->cases);
    *file = (struct transcript_file){0};
}

/* ---- matching */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How much of `got` a placeholder takes; 0: it does not match. */
static size_t match_placeholder(unsigned char kind, struct bytes got)
{
    size_t size = 0;
    if (kind == BYTE_ANY) {
        while (size < got.size && got.data[size] != '\r')
            size++;
    } else if (kind == BYTE_INTEGER) {
        size_t sign = got.size != 0 && got.data[0] == '-';
        while (sign + size < got.size && is_digit(got.data[sign + size]))
            size++;
        size = size == 0 ? 0 : size + sign;
    } else {
        size_t digits = 1, length = 0;
        while (digits < got.size && digits < 10 && is_digit(got.data[digits]))
            length = length * 10 + (size_t)(got.data[digits++] - '0');
        if (digits > 1 && got.data[0] == '$' && got.size >= digits + 2 + length + 2 &&
            memcmp(got.data + digits, "\r\n", 2) == 0 &&
            memcmp(got.data + digits + 2 + length, "\r\n", 2) == 0)
            size = digits + 2 + length + 2;
    }
    return size;
}

static bool match_version(struct bytes got, char *version)
{
    static const char none[TRANSCRIPT_VERSION_SIZE];
    if (got.size < sizeof(none) || memcmp(got.data, none, sizeof(none)) == 0)
        return false;
    memcpy(version, got.data, sizeof(none));
    return true;
}

static bool match_in_order(const struct text *expected, const char *bytes, struct bytes got,
                           char *version, size_t *out_size)
{
    size_t at = 0;
    for (size_t i = 0; i < expected->size; i++) {
        unsigned char kind = expected->kinds[i];
        if (kind == BYTE_INTEGER || kind == BYTE_ANY || kind == BYTE_BULK) {
            size_t size = match_placeholder(kind, bytes_of(got.data + at, got.size - at));
            if (size == 0)
                return false;
            at += size;
            if (kind == BYTE_BULK && i + 2 < expected->size) /* brought its own line end */
                i += 2;
            else if (kind == BYTE_BULK)
                break;
        } else if (kind == BYTE_VERSION) {
            if (!match_version(bytes_of(got.data + at, got.size - at), version))
                return false;
            at += TRANSCRIPT_VERSION_SIZE;
            i += TRANSCRIPT_VERSION_SIZE - 1;
        } else if (at == got.size || got.data[at++] != bytes[i]) {
            return false;
        }
    }
    *out_size = at;
    return true;
}

/* The line of `bytes` that begins at `at`, with its end. */
static struct bytes line_at(struct bytes bytes, size_t at)
{
    size_t end = at;
    while (end + 2 < bytes.size && memcmp(bytes.data + end, "\r\n", 2) != 0)
        end++;
    return bytes_of(bytes.data + at, end + 2 <= bytes.size ? end + 2 - at : bytes.size - at);
}

/* Lines are ticked off in `expected` by overwriting their first byte. */
static bool match_any_order(char *expected, size_t size, struct bytes got, size_t *out_size)
{
    if (got.size < size)
        return false;
    got.size = size;
    for (size_t at = 0; at < size;) {
        struct bytes line = line_at(got, at);
        size_t k = 0;
        while (k < size) {
            struct bytes candidate = line_at(bytes_of(expected, size), k);
            if (bytes_equal(candidate, line))
                break;
            k += candidate.size;
        }
        if (k >= size)
            return false;
        expected[k] = '\xff';
        at += line.size;
    }
    *out_size = size;
    return true;
}

bool transcript_match(const struct step *expected, struct bytes got, int64_t start_ms,
                      char *version, size_t *out_size)
{
    char *bytes = transcript_bytes(&expected->text, start_ms, version);
    bool ok = expected->any_order ? match_any_order(bytes, expected->text.size, got, out_size)
                                  : match_in_order(&expected->text, bytes, got, version, out_size);
    free(bytes);
    return ok;
}
