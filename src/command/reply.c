/* SPDX-License-Identifier: MIT */
#include "command/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "command/command.h"
#include "command/error_counts.h"
#include "command/request.h"
#include "engine/blob.h"

enum { ERROR_TEXT_SIZE_MAX = 512 };

void reply_error(struct reply *reply, const char *code, struct bytes text)
{
    if (reply->errors != NULL)
        error_counts_add(reply->errors, code);
    reply->ops->error(reply, code, text);
}

void reply_status(struct reply *reply, enum status status)
{
    if (status == STATUS_OK) {
        reply->ops->ok(reply);
        return;
    }
    reply_error(reply, status_code(status), bytes_of_text(status_text(status)));
}

void reply_errorf(struct reply *reply, const char *code, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    if (size > ERROR_TEXT_SIZE_MAX)
        size = ERROR_TEXT_SIZE_MAX;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\r' || text[i] == '\n')
            text[i] = ' ';
    }
    reply_error(reply, code, bytes_of(text, size));
}

void reply_wrong_arity(struct reply *reply, const struct command *command)
{
    char name[COMMAND_FULL_NAME_SIZE];
    command_full_name(command, name);
    reply_errorf(reply, "ERR", "wrong number of arguments for '%s' command", name);
}

void reply_help(struct reply *reply, const char *parent, const char *const *lines)
{
    char title[128];
    uint32_t count = 0;
    while (lines[count] != NULL)
        count++;
    snprintf(title, sizeof(title),
             "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", parent);
    reply->ops->list(reply, count + 3);
    reply->ops->word(reply, title);
    for (uint32_t i = 0; i < count; i++)
        reply->ops->word(reply, lines[i]);
    reply->ops->word(reply, "HELP");
    reply->ops->word(reply, "    Print this help.");
}
