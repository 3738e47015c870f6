/* SPDX-License-Identifier: MIT */
#include "server/option_source.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void option_source_init(struct option_source *source, struct options *options, char *message,
                        const char *prefix)
{
    memset(source, 0, sizeof(*source));
    source->options = options;
    source->message = message;
    source->prefix = prefix;
}

const struct option *option_source_find(struct option_source *source, struct bytes name)
{
    const struct option *option = option_find(name);

    if (option == NULL)
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%sunknown option '%s%.*s'; did you mean '%s%s'?", source->place, source->prefix,
                 (int)(name.size < 100 ? name.size : 100), name.data, source->prefix,
                 option_nearest(name)->name);
    return option;
}

static void refuse(struct option_source *source, const struct option *option, struct bytes text,
                   const char *why, const char *hint)
{
    snprintf(source->message, OPTION_MESSAGE_SIZE, "%sbad value '%.*s' for %s%s: %.300s%s",
             source->place, (int)(text.size < 60 ? text.size : 60), text.data, source->prefix,
             option->name, why, hint);
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
    if (!option_parse(option, text, &value, why)) {
        if (option->kind == OPTION_ENUM) {
            struct bytes nearest = option_nearest_choice(option, text);

            snprintf(hint, sizeof(hint), "; the nearest is %.*s", (int)nearest.size, nearest.data);
        }
        refuse(source, option, text, why, hint);
        return false;
    }
    if (option->kind == OPTION_LIST && source->mentioned[index]) {
        const char *old = options_text(source->options, option);
        size_t size = strlen(old) + 1 + strlen(value.text) + 1;
        char *both = alloc_get(size);

        if (both == NULL) {
            alloc_free(value.text);
            snprintf(source->message, OPTION_MESSAGE_SIZE, "out of memory");
            return false;
        }
        snprintf(both, size, "%s %s", old, value.text);
        alloc_free(value.text);
        value.text = both;
    }
    source->mentioned[index] = true;
    options_store(source->options, option, value);
    return true;
}
