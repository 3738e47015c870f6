/* SPDX-License-Identifier: MIT */
#include "server/option_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

/* A file has at most so many bytes. */
enum { OPTION_WORDS_SIZE_MAX = 1024 * 1024, NAME_SIZE = 128 };

void option_source_init(struct option_source *source, struct options *options, char *message,
                        enum option_origin origin)
{
    memset(source, 0, sizeof(*source));
    source->options = options;
    source->message = message;
    source->origin = origin;
}

/* As it is written where the option comes from. */
static void write_name(enum option_origin origin, const char *name, char *out, size_t size)
{
    if (origin != OPTION_OF_ENVIRONMENT) {
        snprintf(out, size, "%s%s", origin == OPTION_OF_FLAGS ? "--" : "", name);
        return;
    }
    snprintf(out, size, "LARDER_%s", name);
    for (char *at = out; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

void options_origin_write(const struct options *options, const struct option *option,
                          const char *value, char *out, size_t size)
{
    enum option_origin origin = options->origins[option - option_at(0)];
    char name[NAME_SIZE];

    write_name(origin, option->name, name, sizeof(name));
    snprintf(out, size, "%s%s%s%s%s", name, origin == OPTION_OF_ENVIRONMENT ? "=" : " ", value,
             origin == OPTION_OF_FILE ? " of " : "",
             origin == OPTION_OF_FILE ? options->config : "");
}

static void unknown(struct option_source *source, struct bytes name, struct bytes written)
{
    const char *nearest = option_nearest_name(name, source->origin == OPTION_OF_FLAGS);
    char meant[NAME_SIZE] = "", hint[NAME_SIZE + 32] = "";

    if (nearest != NULL) {
        write_name(source->origin, nearest, meant, sizeof(meant));
        snprintf(hint, sizeof(hint), "; did you mean '%s'?", meant);
    }
    snprintf(source->message, OPTION_MESSAGE_SIZE, "%sunknown option '%.*s'%s", source->place,
             (int)(written.size < 100 ? written.size : 100), written.data, hint);
}

const struct option *option_source_find(struct option_source *source, struct bytes name,
                                        struct bytes written)
{
    const struct option *option = option_find(name);

    if (option == NULL)
        unknown(source, name, written);
    return option;
}

static void refuse(struct option_source *source, const struct option *option, struct bytes text,
                   const char *why, const char *hint)
{
    char name[NAME_SIZE];

    write_name(source->origin, option->name, name, sizeof(name));
    snprintf(source->message, OPTION_MESSAGE_SIZE, "%sbad value '%.*s' for %s: %.300s%s",
             source->place, (int)(text.size < 60 ? text.size : 60), text.data, name, why, hint);
}

bool option_source_set(struct option_source *source, const struct option *option, struct bytes text)
{
    char why[OPTION_MESSAGE_SIZE], hint[80] = "";
    struct option_value value;
    uint32_t index = (uint32_t)(option - option_at(0));

    if (option->when == OPTION_FIXED && !bytes_equal_text_nocase(text, option->default_text)) {
        snprintf(why, sizeof(why), "it is always '%s' (%s)", option->default_text, option->help);
        refuse(source, option, text, why, hint);
        return false;
    }
    /* A list begins anew in each source; limits of classes that are not named stay. */
    struct bytes joined = {NULL, 0}, whole = text;
    if (option->kind == OPTION_OUTPUT_LIMITS ||
        (option_has_words(option) && source->mentioned[index])) {
        whole = joined = options_text_with(source->options, option, text);
        if (joined.data == NULL) {
            snprintf(source->message, OPTION_MESSAGE_SIZE, "out of memory");
            return false;
        }
    }
    bool good = option_parse(option, whole, &value, why);
    alloc_free((char *)(uintptr_t)joined.data);
    if (!good) {
        if (option->kind == OPTION_ENUM) {
            struct bytes nearest = option_nearest_choice(option, text);

            snprintf(hint, sizeof(hint), "; the nearest is %.*s", (int)nearest.size, nearest.data);
        }
        refuse(source, option, text, why, hint);
        return false;
    }
    source->mentioned[index] = true;
    source->options->origins[index] = (unsigned char)source->origin;
    options_store(source->options, option, value);
    return true;
}

bool option_source_set_words(struct option_source *source, const struct option *option,
                             const struct bytes *words, uint32_t count)
{
    struct buffer row;

    if (count == 1)
        return option_source_set(source, option, words[0]);
    buffer_init(&row, OPTION_WORDS_SIZE_MAX);
    for (uint32_t i = 0; i < count; i++) {
        sink_write(&row.sink, " ", i > 0);
        sink_write_bytes(&row.sink, words[i]);
    }
    bool good = !row.sink.failed;
    if (good)
        good = option_source_set(source, option, buffer_bytes(&row));
    else
        snprintf(source->message, OPTION_MESSAGE_SIZE, "out of memory");
    buffer_deinit(&row);
    return good;
}
