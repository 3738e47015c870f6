/* SPDX-License-Identifier: MIT
 *
 * COMMAND: the command table, told to clients. What DOCS tells is in admin_docs.c.
 */
#include "server/admin_command.h"

#include <stdio.h>
#include <string.h>

#include "base/ensure.h"
#include "command/call.h"
#include "command/glob.h"
#include "command/key_spec.h"
#include "server/admin.h"

struct flag_name {
    enum command_flag flag;
    const char *name;
};

static const struct flag_name flag_names[] = {
    {COMMAND_READ, "readonly"},     {COMMAND_WRITE, "write"},     {COMMAND_GROWS, "denyoom"},
    {COMMAND_ADMIN, "admin"},       {COMMAND_NO_AUTH, "no_auth"}, {COMMAND_FAST, "fast"},
    {COMMAND_NO_MULTI, "no_multi"},
};

enum { FLAG_NAME_COUNT = sizeof(flag_names) / sizeof(flag_names[0]) };

static uint32_t word_count(struct bytes words)
{
    struct bytes word;
    uint32_t count = 0;

    while (bytes_next_word(&words, &word))
        count++;
    return count;
}

static void emit_word(struct reply *reply, const char *prefix, struct bytes word)
{
    char text[40];

    ENSURE(word.size < sizeof(text) - 1);
    snprintf(text, sizeof(text), "%s%.*s", prefix, (int)word.size, word.data);
    reply->ops->word(reply, text);
}

/* What is nothing without a subcommand has no flags of its own. */
static uint32_t told_flags(const struct command *command)
{
    return command->handler != NULL ? command->flags : 0;
}

static void emit_flags(struct reply *reply, const struct command *command)
{
    uint32_t flags = told_flags(command), count = 0;

    for (uint32_t i = 0; i < FLAG_NAME_COUNT; i++)
        count += (flags & flag_names[i].flag) != 0;
    reply->ops->set(reply, count);
    for (uint32_t i = 0; i < FLAG_NAME_COUNT; i++)
        if (flags & flag_names[i].flag)
            reply->ops->word(reply, flag_names[i].name);
}

enum { CATEGORIES_MAX = 8 };

/* The category of a group of commands, where it has one. */
static const char *category_of(const char *group)
{
    if (strcmp(group, "generic") == 0)
        return "keyspace";
    if (strcmp(group, "transactions") == 0)
        return "transaction";
    return strcmp(group, "server") == 0 ? NULL : group;
}

/* The ACL categories a command is in; returns their number. */
static uint32_t categories(const struct command *command, struct bytes out[CATEGORIES_MAX])
{
    const char *group = command->handler != NULL ? category_of(command->group) : NULL;
    struct bytes more = bytes_of_text(command->categories != NULL ? command->categories : "");
    uint32_t flags = told_flags(command), count = 0;

    if (group != NULL)
        out[count++] = bytes_of_text(group);
    if (flags & COMMAND_READ)
        out[count++] = BYTES("read");
    if (flags & COMMAND_WRITE)
        out[count++] = BYTES("write");
    if (flags & COMMAND_ADMIN) {
        out[count++] = BYTES("admin");
        out[count++] = BYTES("dangerous");
    }
    out[count++] = flags & COMMAND_FAST ? BYTES("fast") : BYTES("slow");
    while (count < CATEGORIES_MAX && bytes_next_word(&more, &out[count]))
        count++;
    return count;
}

static void emit_categories(struct reply *reply, const struct command *command)
{
    struct bytes names[CATEGORIES_MAX];
    uint32_t count = categories(command, names);

    reply->ops->set(reply, count);
    for (uint32_t i = 0; i < count; i++)
        emit_word(reply, "@", names[i]);
}

static void emit_name(struct reply *reply, const struct command *command)
{
    char name[COMMAND_FULL_NAME_SIZE];

    reply->ops->bytes(reply, command_full_name(command, name));
}

uint32_t admin_sub_count(const struct command *parent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < command_count(); i++)
        count += command_at(i)->parent == parent && command_has_name(command_at(i));
    return count;
}

void admin_emit_subs(struct reply *reply, const struct command *parent,
                     void (*emit)(struct reply *, const struct command *))
{
    for (uint32_t i = 0; i < command_count(); i++)
        if (command_at(i)->parent == parent && command_has_name(command_at(i)))
            emit(reply, command_at(i));
}

/* ---- INFO */

static void emit_tips(struct reply *reply, const struct command *command)
{
    struct bytes tips = bytes_of_text(command->tips != NULL ? command->tips : ""), tip;

    reply->ops->set(reply, word_count(tips));
    while (bytes_next_word(&tips, &tip))
        reply->ops->bytes(reply, tip);
}

static void emit_key_flags(struct reply *reply, struct bytes flags, bool variable)
{
    struct bytes flag;

    reply->ops->set(reply, word_count(flags) + variable);
    while (bytes_next_word(&flags, &flag))
        emit_word(reply, "", flag);
    if (variable)
        reply->ops->word(reply, "variable_flags");
}

/* One half of a key specification: its type, and the first of `count` numbers, which follow. */
static void emit_search(struct reply *reply, const char *what, const char *type, uint32_t count)
{
    reply->ops->bytes(reply, bytes_of_text(what));
    reply->ops->map(reply, 2);
    reply->ops->bytes(reply, BYTES("type"));
    reply->ops->bytes(reply, bytes_of_text(type));
    reply->ops->bytes(reply, BYTES("spec"));
    reply->ops->map(reply, count);
}

static void emit_number(struct reply *reply, const char *name, int64_t number)
{
    reply->ops->bytes(reply, bytes_of_text(name));
    reply->ops->integer(reply, number);
}

static void emit_key_specs(struct reply *reply, const struct command *command)
{
    struct key_spec specs[KEY_SPECS_MAX];
    uint32_t count = key_specs(command, specs);

    reply->ops->set(reply, count);
    for (uint32_t i = 0; i < count; i++) {
        reply->ops->map(reply, 3);
        reply->ops->bytes(reply, BYTES("flags"));
        emit_key_flags(reply, specs[i].flags, specs[i].token.size > 0);
        emit_search(reply, "begin_search", "index", 1);
        emit_number(reply, "index", specs[i].first);
        emit_search(reply, "find_keys", "range", 3);
        emit_number(reply, "lastkey", specs[i].last);
        emit_number(reply, "keystep", specs[i].step);
        emit_number(reply, "limit", 0);
    }
}

/* A subcommand has none itself, so this goes one level deep at most. */
static void emit_info(struct reply *reply, const struct command *command)
{
    reply->ops->list(reply, 10);
    emit_name(reply, command);
    reply->ops->integer(reply, command->arity);
    emit_flags(reply, command);
    reply->ops->integer(reply, command->key_first);
    reply->ops->integer(reply, command->key_last);
    reply->ops->integer(reply, command->key_step);
    emit_categories(reply, command);
    emit_tips(reply, command);
    emit_key_specs(reply, command);
    uint32_t subs = admin_sub_count(command);
    if (subs > 0)
        reply->ops->list(reply, subs);
    else
        reply->ops->set(reply, 0);
    admin_emit_subs(reply, command, emit_info);
}

enum outcome admin_command(struct call *call)
{
    call->reply->ops->list(call->reply, admin_sub_count(NULL));
    admin_emit_subs(call->reply, NULL, emit_info);
    return OUTCOME_DONE;
}

enum outcome admin_command_count(struct call *call)
{
    return call_integer(call, admin_sub_count(NULL));
}

enum outcome admin_command_info(struct call *call)
{
    if (call->argc == 2)
        return admin_command(call);
    call->reply->ops->list(call->reply, call->argc - 2);
    for (uint32_t i = 2; i < call->argc; i++) {
        const struct command *command = command_find_full(call->argv[i]);

        if (command != NULL)
            emit_info(call->reply, command);
        else
            call->reply->ops->missing_list(call->reply);
    }
    return OUTCOME_DONE;
}

/* ---- LIST, with subcommands */

typedef bool wanted(const struct command *command, struct bytes argument);

static bool any(const struct command *command, struct bytes argument)
{
    (void)command, (void)argument;
    return true;
}

/* There are no modules. */
static bool of_module(const struct command *command, struct bytes argument)
{
    (void)command, (void)argument;
    return false;
}

static bool of_category(const struct command *command, struct bytes argument)
{
    struct bytes names[CATEGORIES_MAX];
    uint32_t count = categories(command, names);

    for (uint32_t i = 0; i < count; i++)
        if (bytes_equal_nocase(names[i], argument))
            return true;
    return false;
}

static bool like_pattern(const struct command *command, struct bytes argument)
{
    char name[COMMAND_FULL_NAME_SIZE];

    return glob_match(argument, command_full_name(command, name));
}

static const struct {
    const char *name;
    wanted *wants;
} list_filters[] = {{"module", of_module}, {"aclcat", of_category}, {"pattern", like_pattern}};

/* NULL: there is no such filter. */
static wanted *list_filter(const struct call *call)
{
    if (call->argc == 2)
        return any;
    if (call->argc != 5 || !bytes_equal_text_nocase(call->argv[2], "filterby"))
        return NULL;
    for (size_t i = 0; i < sizeof(list_filters) / sizeof(list_filters[0]); i++)
        if (bytes_equal_text_nocase(call->argv[3], list_filters[i].name))
            return list_filters[i].wants;
    return NULL;
}

enum outcome admin_command_list(struct call *call)
{
    wanted *wants = list_filter(call);
    uint32_t count = 0;

    if (wants == NULL)
        return call_status(call, STATUS_SYNTAX);
    struct bytes argument = call->argv[call->argc - 1];
    for (uint32_t i = 0; i < command_count(); i++)
        count += command_has_name(command_at(i)) && wants(command_at(i), argument);
    call->reply->ops->list(call->reply, count);
    for (uint32_t i = 0; i < command_count(); i++)
        if (command_has_name(command_at(i)) && wants(command_at(i), argument))
            emit_name(call->reply, command_at(i));
    return OUTCOME_DONE;
}

/* ---- GETKEYS and GETKEYSANDFLAGS */

/* The row of the request that is told about, or NULL. */
static const struct command *told_command(const struct call *call)
{
    const struct command *command = command_find_full(call->argv[2]);

    if (command == NULL || (command->flags & COMMAND_PARENT) == 0 || call->argc == 3)
        return command;
    const struct command *sub = command_find_sub(command, call->argv[3]);
    return sub != command ? sub : NULL;
}

static enum outcome emit_keys(struct call *call, bool with_flags)
{
    const struct command *command = told_command(call);
    uint32_t argc = call->argc - 2;
    struct bytes *argv = call->argv + 2;
    struct reply *reply = call->reply;

    if (command == NULL) {
        reply_errorf(reply, "ERR", "Invalid command specified");
    } else if (command->key_first == 0) {
        reply_errorf(reply, "ERR", "The command has no key arguments");
    } else if (!command_arity_ok(command, argc)) {
        reply_errorf(reply, "ERR", "Invalid number of arguments specified for command");
    } else {
        uint32_t count = command_key_count(command, argc);
        struct key_spec specs[KEY_SPECS_MAX];
        uint32_t spec_count = key_specs(command, specs);

        reply->ops->list(reply, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct key_spec *spec = &specs[key_spec_index(i, spec_count)];

            if (with_flags)
                reply->ops->list(reply, 2);
            reply->ops->bytes(reply, argv[call_key_index(command, i)]);
            if (with_flags)
                emit_key_flags(reply, key_spec_flags(spec, command, argc, argv), false);
        }
    }
    return OUTCOME_DONE;
}

enum outcome admin_command_getkeys(struct call *call)
{
    return emit_keys(call, false);
}

enum outcome admin_command_getkeysandflags(struct call *call)
{
    return emit_keys(call, true);
}

enum outcome admin_command_help(struct call *call)
{
    static const char *const lines[] = {
        "(no subcommand)",
        "    Return details about all commands.",
        "COUNT",
        "    Return the total number of commands in this server.",
        "LIST [FILTERBY (MODULE <module-name>|ACLCAT <category>|PATTERN <pattern>)]",
        "    Return the names of all commands, or of those that the filter lets through.",
        "INFO [<command-name> ...]",
        "    Return details about multiple commands.",
        "    If no command names are given, documentation details for all",
        "    commands are returned.",
        "DOCS [<command-name> ...]",
        "    Return documentation details about multiple commands.",
        "GETKEYS <full-command>",
        "    Return the keys from a full command.",
        "GETKEYSANDFLAGS <full-command>",
        "    Return the keys and the access flags from a full command.",
        NULL,
    };
    return admin_help(call, "COMMAND", lines);
}
