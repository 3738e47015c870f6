/* SPDX-License-Identifier: MIT
 *
 * COMMAND: the command table, told to clients.
 */
#include <stdio.h>
#include <string.h>

#include "command/call.h"
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

static void emit_categories(struct reply *reply, const struct command *command)
{
    char group[40];
    bool reads = command->flags & COMMAND_READ, writes = command->flags & COMMAND_WRITE;
    bool admin = command->flags & COMMAND_ADMIN;

    snprintf(group, sizeof(group), "@%s", command->group);
    reply->ops->set(reply, 2u + reads + writes + (admin ? 2 : 0));
    if (reads)
        reply->ops->word(reply, "@read");
    if (writes)
        reply->ops->word(reply, "@write");
    if (admin) {
        reply->ops->word(reply, "@admin");
        reply->ops->word(reply, "@dangerous");
    }
    reply->ops->word(reply, group);
    reply->ops->word(reply, command->flags & COMMAND_FAST ? "@fast" : "@slow");
}

static void emit_name(struct reply *reply, const struct command *command)
{
    char name[2 * COMMAND_NAME_SIZE_MAX + 2];

    snprintf(name, sizeof(name), "%s%s%s", command->parent != NULL ? command->parent->name : "",
             command->parent != NULL ? "|" : "", command->name);
    reply->ops->bytes(reply, bytes_of_text(name));
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

enum outcome admin_command_list(struct call *call)
{
    call->reply->ops->list(call->reply, top_level_count());
    emit_all(call, emit_name);
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
        "LIST",
        "    Return a list of all commands in this server.",
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
