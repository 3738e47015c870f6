/* SPDX-License-Identifier: MIT
 *
 * COMMAND: the command table, told to clients.
 */
#include <stdio.h>
#include <string.h>

#include "command/call.h"
#include "command/glob.h"
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

static void emit_flags(struct reply *reply, const struct command *command)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < FLAG_NAME_COUNT; i++)
        count += (command->flags & flag_names[i].flag) != 0;
    reply->ops->set(reply, count);
    for (uint32_t i = 0; i < FLAG_NAME_COUNT; i++)
        if (command->flags & flag_names[i].flag)
            reply->ops->word(reply, flag_names[i].name);
}

enum { CATEGORIES_MAX = 6 };

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
static uint32_t categories(const struct command *command, const char *out[CATEGORIES_MAX])
{
    const char *group = category_of(command->group);
    uint32_t count = 0;

    if (group != NULL)
        out[count++] = group;
    if (command->flags & COMMAND_READ)
        out[count++] = "read";
    if (command->flags & COMMAND_WRITE)
        out[count++] = "write";
    if (command->flags & COMMAND_ADMIN) {
        out[count++] = "admin";
        out[count++] = "dangerous";
    }
    out[count++] = command->flags & COMMAND_FAST ? "fast" : "slow";
    return count;
}

static void emit_categories(struct reply *reply, const struct command *command)
{
    const char *names[CATEGORIES_MAX];
    uint32_t count = categories(command, names);

    reply->ops->set(reply, count);
    for (uint32_t i = 0; i < count; i++) {
        char text[40];

        snprintf(text, sizeof(text), "@%s", names[i]);
        reply->ops->word(reply, text);
    }
}

enum { FULL_NAME_SIZE = 2 * COMMAND_NAME_SIZE_MAX + 2 };

/* "get", or "config|get". */
static struct bytes full_name(const struct command *command, char out[FULL_NAME_SIZE])
{
    snprintf(out, FULL_NAME_SIZE, "%s%s%s", command->parent != NULL ? command->parent->name : "",
             command->parent != NULL ? "|" : "", command->name);
    return bytes_of_text(out);
}

static void emit_name(struct reply *reply, const struct command *command)
{
    char name[FULL_NAME_SIZE];

    reply->ops->bytes(reply, full_name(command, name));
}

static uint32_t sub_count(const struct command *parent)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < command_count(); i++)
        count += command_at(i)->parent == parent;
    return count;
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
    reply->ops->list(reply, 0); /* tips */
    reply->ops->list(reply, 0); /* key specifications */
    reply->ops->list(reply, sub_count(command));
    for (uint32_t i = 0; i < command_count(); i++)
        if (command_at(i)->parent == command)
            emit_info(reply, command_at(i));
}

static void emit_docs(struct reply *reply, const struct command *command)
{
    uint32_t subs = sub_count(command);

    emit_name(reply, command);
    reply->ops->map(reply, subs > 0 ? 5 : 4);
    reply->ops->bytes(reply, BYTES("summary"));
    reply->ops->bytes(reply, bytes_of_text(command->summary));
    reply->ops->bytes(reply, BYTES("since"));
    reply->ops->bytes(reply, bytes_of_text(command->since));
    reply->ops->bytes(reply, BYTES("group"));
    reply->ops->bytes(reply, bytes_of_text(command->group));
    reply->ops->bytes(reply, BYTES("complexity"));
    reply->ops->bytes(reply, bytes_of_text(command->complexity));
    if (subs == 0)
        return;
    reply->ops->bytes(reply, BYTES("subcommands"));
    reply->ops->map(reply, subs);
    for (uint32_t i = 0; i < command_count(); i++)
        if (command_at(i)->parent == command)
            emit_docs(reply, command_at(i));
}

static uint32_t top_level_count(void)
{
    return sub_count(NULL);
}

/* "get", or "config|get". */
static const struct command *find(struct bytes name)
{
    const char *bar = memchr(name.data, '|', name.size);

    if (bar == NULL)
        return command_find(name);
    size_t size = (size_t)(bar - name.data);
    const struct command *parent = command_find(bytes_of(name.data, size));
    if (parent == NULL)
        return NULL;
    const struct command *sub = command_find_sub(parent, bytes_of(bar + 1, name.size - size - 1));
    return sub != parent ? sub : NULL;
}

static void emit_all(struct call *call, void (*emit)(struct reply *, const struct command *))
{
    for (uint32_t i = 0; i < command_count(); i++)
        if (command_at(i)->parent == NULL)
            emit(call->reply, command_at(i));
}

enum outcome admin_command(struct call *call)
{
    call->reply->ops->list(call->reply, top_level_count());
    emit_all(call, emit_info);
    return OUTCOME_DONE;
}

enum outcome admin_command_count(struct call *call)
{
    return call_integer(call, top_level_count());
}

enum outcome admin_command_info(struct call *call)
{
    if (call->argc == 2)
        return admin_command(call);
    call->reply->ops->list(call->reply, call->argc - 2);
    for (uint32_t i = 2; i < call->argc; i++) {
        const struct command *command = find(call->argv[i]);

        if (command != NULL)
            emit_info(call->reply, command);
        else
            call->reply->ops->missing_list(call->reply);
    }
    return OUTCOME_DONE;
}

enum outcome admin_command_docs(struct call *call)
{
    uint32_t count = 0;

    if (call->argc == 2) {
        call->reply->ops->map(call->reply, top_level_count());
        emit_all(call, emit_docs);
        return OUTCOME_DONE;
    }
    for (uint32_t i = 2; i < call->argc; i++)
        count += find(call->argv[i]) != NULL;
    call->reply->ops->map(call->reply, count);
    for (uint32_t i = 2; i < call->argc; i++) {
        const struct command *command = find(call->argv[i]);

        if (command != NULL)
            emit_docs(call->reply, command);
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
    const char *names[CATEGORIES_MAX];
    uint32_t count = categories(command, names);

    for (uint32_t i = 0; i < count; i++)
        if (bytes_equal_text_nocase(argument, names[i]))
            return true;
    return false;
}

static bool like_pattern(const struct command *command, struct bytes argument)
{
    char name[FULL_NAME_SIZE];

    return glob_match(argument, full_name(command, name));
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
        count += wants(command_at(i), argument);
    call->reply->ops->list(call->reply, count);
    for (uint32_t i = 0; i < command_count(); i++)
        if (wants(command_at(i), argument))
            emit_name(call->reply, command_at(i));
    return OUTCOME_DONE;
}

enum outcome admin_command_getkeys(struct call *call)
{
    const struct command *command = find(call->argv[2]);
    uint32_t argc = call->argc - 2;

    if (command != NULL && argc > 1)
        command = command_find_sub(command, call->argv[3]);
    if (command == NULL) {
        reply_errorf(call->reply, "ERR", "Invalid command specified");
    } else if (command->key_first == 0) {
        reply_errorf(call->reply, "ERR", "The command has no key arguments");
    } else if (!command_arity_ok(command, argc)) {
        reply_errorf(call->reply, "ERR", "Invalid number of arguments specified for command");
    } else {
        uint32_t count = command_key_count(command, argc);

        call->reply->ops->list(call->reply, count);
        for (uint32_t i = 0; i < count; i++)
            call->reply->ops->bytes(call->reply, call->argv[2 + call_key_index(command, i)]);
    }
    return OUTCOME_DONE;
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
        NULL,
    };
    return admin_help(call, "COMMAND", lines);
}
