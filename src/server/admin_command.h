/* SPDX-License-Identifier: MIT
 *
 * What COMMAND's files share (admin_command.c, admin_docs.c): the subcommands of rows.
 */
#ifndef LARDER_SERVER_ADMIN_COMMAND_H
#define LARDER_SERVER_ADMIN_COMMAND_H

#include "command/command.h"

/* How many subcommands a row has; of NULL: how many commands there are. */
uint32_t admin_sub_count(const struct command *parent);
/* Emits each subcommand, or with NULL each command. */
void admin_emit_subs(struct reply *reply, const struct command *parent,
                     void (*emit)(struct reply *, const struct command *));

#endif
