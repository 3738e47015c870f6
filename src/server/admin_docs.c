/* SPDX-License-Identifier: MIT
 *
 * COMMAND DOCS: what commands are for and how they are written, as redis-cli's hints and the
 * generators of client libraries read it.
 */
#include <ctype.h>
#include <string.h>

#include "base/ensure.h"
#include "command/call.h"
#include "command/key_spec.h"
#include "command/syntax.h"
#include "server/admin.h"
#include "server/admin_command.h"

struct past {
    const char *command, *since, *text;
};

static const struct past history[] = {
#define DEPRECATED(...)
#define HISTORY(command, since, change) {command, since, change},
#include "server/command_history.def"
#undef HISTORY
#undef DEPRECATED
};

static const struct past deprecated[] = {
#define HISTORY(...)
#define DEPRECATED(command, since, instead) {command, since, instead},
#include "server/command_history.def"
#undef DEPRECATED
#undef HISTORY
};

enum {
    HISTORY_COUNT = sizeof(history) / sizeof(history[0]),
    DEPRECATED_COUNT = sizeof(deprecated) / sizeof(deprecated[0]),
};

static void emit_text(struct reply *reply, const char *name, const char *text)
{
    reply->ops->bytes(reply, bytes_of_text(name));
    reply->ops->bytes(reply, bytes_of_text(text));
}

static void emit_lower(struct reply *reply, const char *name, struct bytes text)
{
    char lower[64];

    ENSURE(text.size <= sizeof(lower));
    for (size_t i = 0; i < text.size; i++)
        lower[i] = (char)tolower((unsigned char)text.data[i]);
    reply->ops->bytes(reply, bytes_of_text(name));
    reply->ops->bytes(reply, bytes_of(lower, text.size));
}

/* ---- arguments */

static void emit_argument_flags(struct reply *reply, const struct argument *argument)
{
    reply->ops->bytes(reply, BYTES("flags"));
    reply->ops->set(reply,
                    (uint64_t)argument->optional + argument->multiple + argument->multiple_token);
    if (argument->optional)
        reply->ops->word(reply, "optional");
    if (argument->multiple)
        reply->ops->word(reply, "multiple");
    if (argument->multiple_token)
        reply->ops->word(reply, "multiple_token");
}

static void emit_arguments(struct reply *reply, const struct argument *first, uint32_t spec_count);

/* `spec_count` is the number of the command's key specifications. */
static void emit_argument(struct reply *reply, const struct argument *argument, uint32_t spec_count)
{
    bool is_key = argument->type == ARGUMENT_KEY, has_token = argument->token.size > 0;
    bool has_flags = argument->optional || argument->multiple;

    /* Its name, type, and either how it is shown or its parts. */
    reply->ops->map(reply, 3u + is_key + has_token + has_flags);
    emit_lower(reply, "name", argument->name);
    emit_text(reply, "type", argument_type_name(argument->type));
    if (argument->children == NULL)
        emit_lower(reply, "display_text", argument->display);
    if (is_key) {
        reply->ops->bytes(reply, BYTES("key_spec_index"));
        reply->ops->integer(reply, key_spec_index(argument->key, spec_count));
    }
    if (has_token) {
        reply->ops->bytes(reply, BYTES("token"));
        reply->ops->bytes(reply, argument->token);
    }
    if (has_flags)
        emit_argument_flags(reply, argument);
    if (argument->children != NULL) {
        reply->ops->bytes(reply, BYTES("arguments"));
        emit_arguments(reply, argument->children, spec_count);
    }
}

static void emit_arguments(struct reply *reply, const struct argument *first, uint32_t spec_count)
{
    uint32_t count = 0;

    for (const struct argument *argument = first; argument != NULL; argument = argument->next)
        count++;
    reply->ops->list(reply, count);
    for (const struct argument *argument = first; argument != NULL; argument = argument->next)
        emit_argument(reply, argument, spec_count);
}

/* ---- a command */

static const struct past *find_deprecated(const char *name)
{
    for (uint32_t i = 0; i < DEPRECATED_COUNT; i++)
        if (strcmp(deprecated[i].command, name) == 0)
            return &deprecated[i];
    return NULL;
}

static uint32_t history_count(const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < HISTORY_COUNT; i++)
        count += strcmp(history[i].command, name) == 0;
    return count;
}

static void emit_history(struct reply *reply, const char *name)
{
    reply->ops->bytes(reply, BYTES("history"));
    reply->ops->set(reply, history_count(name));
    for (uint32_t i = 0; i < HISTORY_COUNT; i++) {
        if (strcmp(history[i].command, name) != 0)
            continue;
        reply->ops->list(reply, 2);
        emit_text(reply, history[i].since, history[i].text);
    }
}

/* Its name, and a map with what is known about it. */
static void emit_docs(struct reply *reply, const struct command *command)
{
    char name[COMMAND_FULL_NAME_SIZE];
    struct syntax syntax;
    struct key_spec specs[KEY_SPECS_MAX];
    uint32_t spec_count = key_specs(command, specs), subs = admin_sub_count(command);
    enum status status = syntax_parse(command, &syntax);

    ENSURE(status == STATUS_OK);
    reply->ops->bytes(reply, command_full_name(command, name));
    const struct past *past = find_deprecated(name);
    bool has_history = history_count(name) > 0, has_arguments = syntax.first != NULL;
    reply->ops->map(reply, 4u + (past != NULL ? 3 : 0) + has_history + has_arguments + (subs > 0));
    emit_text(reply, "summary", command->summary);
    emit_text(reply, "since", command->since);
    emit_text(reply, "group", command->group);
    emit_text(reply, "complexity", command->complexity);
    if (past != NULL) {
        reply->ops->bytes(reply, BYTES("doc_flags"));
        reply->ops->set(reply, 1);
        reply->ops->word(reply, "deprecated");
        emit_text(reply, "deprecated_since", past->since);
        emit_text(reply, "replaced_by", past->text);
    }
    if (has_history)
        emit_history(reply, name);
    if (has_arguments) {
        reply->ops->bytes(reply, BYTES("arguments"));
        emit_arguments(reply, syntax.first, spec_count);
    }
    if (subs > 0) {
        reply->ops->bytes(reply, BYTES("subcommands"));
        reply->ops->map(reply, subs);
        admin_emit_subs(reply, command, emit_docs);
    }
}

enum outcome admin_command_docs(struct call *call)
{
    struct reply *reply = call->reply;
    uint32_t count = 0;

    if (call->argc == 2) {
        reply->ops->map(reply, admin_sub_count(NULL));
        admin_emit_subs(reply, NULL, emit_docs);
        return OUTCOME_DONE;
    }
    for (uint32_t i = 2; i < call->argc; i++)
        count += command_find_full(call->argv[i]) != NULL;
    reply->ops->map(reply, count);
    for (uint32_t i = 2; i < call->argc; i++) {
        const struct command *command = command_find_full(call->argv[i]);

        if (command != NULL)
            emit_docs(reply, command);
    }
    return OUTCOME_DONE;
}
