/* SPDX-License-Identifier: MIT */
#include "command/key_spec.h"

#include "base/ensure.h"

static struct bytes trim(struct bytes text)
{
    while (text.size > 0 && text.data[0] == ' ')
        text = bytes_of(text.data + 1, text.size - 1);
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

/* Cuts `text` at the first `separator`: what stands behind it is in `out_rest`, empty without. */
static struct bytes cut(struct bytes text, struct bytes separator, struct bytes *out_rest)
{
    *out_rest = bytes_of("", 0);
    for (size_t i = 0; i + separator.size <= text.size; i++) {
        size_t behind = i + separator.size;

        if (!bytes_equal(bytes_of(text.data + i, separator.size), separator))
            continue;
        *out_rest = trim(bytes_of(text.data + behind, text.size - behind));
        text.size = i;
        break;
    }
    return trim(text);
}

uint32_t key_specs(const struct command *command, struct key_spec out[KEY_SPECS_MAX])
{
    const char *usual = command->flags & COMMAND_READ ? "RO access" : "RW access update";
    struct bytes rest = bytes_of_text(command->keys != NULL ? command->keys : usual);
    uint32_t count = 0;

    if (command->key_first == 0)
        return 0;
    while (rest.size > 0) {
        ENSURE(count < KEY_SPECS_MAX);
        struct key_spec *spec = &out[count];

        spec->flags = cut(rest, BYTES(";"), &rest);
        spec->flags = cut(spec->flags, BYTES(" if "), &spec->token);
        spec->token = cut(spec->token, BYTES(" else "), &spec->otherwise);
        spec->first = command->key_first + (int32_t)count * command->key_step;
        spec->last = 0;
        spec->step = command->key_step;
        count++;
    }
    if (count == 1)
        out[0].last = command->key_last - (command->key_last < 0 ? 0 : command->key_first);
    return count;
}

struct bytes key_spec_flags(const struct key_spec *spec, const struct command *command,
                            uint32_t argc, const struct bytes *argv)
{
    uint32_t least = (uint32_t)(command->arity < 0 ? -command->arity : command->arity);

    if (spec->token.size == 0)
        return spec->flags;
    for (uint32_t i = least; i < argc; i++) {
        if (bytes_equal_nocase(argv[i], spec->token))
            return spec->flags;
    }
    return spec->otherwise;
}
