/* SPDX-License-Identifier: MIT
 *
 * What COMMAND's files share (admin_command.c, admin_docs.c): rows by name, their subcommands, and
 * lists of words.
 */
#ifndef LARDER_SERVER_ADMIN_COMMAND_H
#define LARDER_SERVER_ADMIN_COMMAND_H

#include "command/command.h"

enum { FULL_NAME_SIZE = 2 * COMMAND_NAME_SIZE_MAX + 2 };

/* "get", or "config|get". */
struct bytes admin_full_name(const struct command *command, char out[FULL_NAME_SIZE]);
/* By its full name; NULL: there is none. */
const struct command *admin_find_command(struct bytes name);
/* How many subcommands a row has; of NULL: how many commands there are. */
uint32_t admin_sub_count(const struct command *parent);
/* Emits each subcommand, or with NULL each command. */
void admin_emit_subs(struct reply *reply, const struct command *parent,
                     void (*emit)(struct reply *, const struct command *));

#endif
