/* SPDX-License-Identifier: MIT
 *
 * See server/config_file.h. A source's place is where its reading has come; an include keeps its
 * own place aside while another file is read.
 */
#include "server/config_file.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "os/file.h"

bool config_line_split(char *text, size_t size, struct config_line *out, const char **why)
{
    const char *at = text, *end = text + size;

    out->count = 0;
    for (;;) {
        while (at < end && word_is_blank(*at))
            at++;
        if (at == end || (out->count == 0 && *at == '#'))
            return true;
        if (out->count == CONFIG_WORDS_MAX) {
            *why = "fewer words on one line";
            return false;
        }
        char *word = text + (at - text), *word_end = word;
        if (!word_read(&at, end, &word_end)) {
            *why = "its quotes closed";
            return false;
        }
        out->words[out->count++] = bytes_of(word, (size_t)(word_end - word));
    }
}

bool config_line_includes(const struct config_line *line)
{
    return line->count > 0 && bytes_equal_text_nocase(line->words[0], "include");
}

static bool fail_line(struct option_source *source, const char *name, const char *wants)
{
    snprintf(source->message, OPTION_MESSAGE_SIZE, "%s%.100s wants %s", source->place, name, wants);
    return false;
}

static bool visit(void *argument, const char *path)
{
    return config_file_load(argument, path);
}

static bool include(struct option_source *source, const struct config_line *line)
{
    char place[sizeof(source->place)], pattern[4096];
    struct bytes path = line->count == 2 ? line->words[1] : bytes_of("", 0);
    bool good;

    if (line->count != 2 || path.size == 0 || path.size >= sizeof(pattern) ||
        memchr(path.data, '\0', path.size) != NULL)
        return fail_line(source, "include", "one path");
    memcpy(pattern, path.data, path.size);
    pattern[path.size] = '\0';
    memcpy(place, source->place, sizeof(place));
    if (file_each_match(pattern, visit, source, &good) != STATUS_OK) {
        snprintf(source->message, OPTION_MESSAGE_SIZE, "%scannot look for '%.200s'", place,
                 pattern);
        return false;
    }
    memcpy(source->place, place, sizeof(place));
    return good;
}

/* Behind a value, where it would be taken for another word of it. */
static bool has_comment(const struct config_line *line)
{
    for (uint32_t i = 2; i < line->count; i++)
        if (line->words[i].size > 0 && line->words[i].data[0] == '#')
            return true;
    return false;
}

static bool load_line(struct option_source *source, char *text, size_t size)
{
    struct config_line line;
    const char *why;

    if (!config_line_split(text, size, &line, &why)) {
        char name[64] = "the line";

        if (line.count > 0)
            snprintf(name, sizeof(name), "%.*s", (int)line.words[0].size, line.words[0].data);
        return fail_line(source, name, why);
    }
    if (line.count == 0)
        return true;
    if (config_line_includes(&line))
        return include(source, &line);
    const struct option *option = option_source_find(source, line.words[0], line.words[0]);
    if (option == NULL)
        return false;
    if (strcmp(option->name, "config") == 0) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%sconfig cannot stand in a file; did you mean 'include'?", source->place);
        return false;
    }
    if (line.count == 1)
        return fail_line(source, option->name, "a value");
    if (has_comment(&line))
        return fail_line(source, option->name,
                         "nothing behind its value: a comment has a line of its own");
    if (line.count > 2 && !option_has_words(option) && option->when != OPTION_FIXED)
        return fail_line(source, option->name, "one value");
    return option_source_set_words(source, option, line.words + 1, line.count - 1);
}

struct bytes config_text_start(struct bytes text)
{
    static const char mark[] = "\xEF\xBB\xBF";

    if (text.size >= 3 && memcmp(text.data, mark, 3) == 0)
        return bytes_of(text.data + 3, text.size - 3);
    return text;
}

static bool load_lines(struct option_source *source, const char *path, char *text, size_t size)
{
    char *at = text + (size - config_text_start(bytes_of(text, size)).size), *end = text + size;

    for (unsigned number = 1; at < end; number++) {
        char *line_end = memchr(at, '\n', (size_t)(end - at));

        if (line_end == NULL)
            line_end = end;
        snprintf(source->place, sizeof(source->place), "%.200s:%u: ", path, number);
        if (!load_line(source, at, (size_t)(line_end - at)))
            return false;
        at = line_end + 1;
    }
    source->place[0] = '\0';
    return true;
}

bool config_text_load(struct option_source *source, const char *path, char *text, size_t size)
{
    source->paths[source->depth++] = path;
    bool good = load_lines(source, path, text, size);
    source->depth--;
    return good;
}

/* Whether the file is being read already: names it and those that lead from it to itself. */
static bool is_loop(struct option_source *source, const char *path)
{
    uint32_t first = 0;
    size_t size;

    while (first < source->depth && strcmp(source->paths[first], path) != 0)
        first++;
    if (first == source->depth)
        return false;
    snprintf(source->message, OPTION_MESSAGE_SIZE, "%s'%.150s' includes itself", source->place,
             path);
    for (uint32_t i = first + 1; i < source->depth; i++) {
        size = strlen(source->message);
        snprintf(source->message + size, OPTION_MESSAGE_SIZE - size, "%s'%.100s'",
                 i == first + 1 ? " by way of " : ", ", source->paths[i]);
    }
    return true;
}

bool config_file_load(struct option_source *source, const char *path)
{
    const char *why;
    char *text;
    size_t size;

    if (is_loop(source, path))
        return false;
    if (source->depth == CONFIG_DEPTH_MAX) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%sfiles may include each other to a depth of %d", source->place,
                 CONFIG_DEPTH_MAX);
        return false;
    }
    if (file_read(path, CONFIG_FILE_SIZE_MAX, &text, &size, &why) != STATUS_OK) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%scannot read the configuration file '%.150s': %s", source->place, path, why);
        return false;
    }
    bool good = config_text_load(source, path, text, size);
    alloc_free(text);
    return good;
}
