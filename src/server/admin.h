/* SPDX-License-Identifier: MIT
 *
 * The administrative commands' handlers (server/commands.def): admin_*.c, one file per family. Each
 * call's client is a session.
 */
#ifndef LARDER_SERVER_ADMIN_H
#define LARDER_SERVER_ADMIN_H

#include "base/buffer.h"
#include "command/command.h"

#define PARENT(...)
#define COMMAND(name, handler, ...) command_handler handler;
#define SUBCOMMAND(parent, name, handler, ...) command_handler handler;
#include "server/commands.def"
#undef SUBCOMMAND
#undef COMMAND
#undef PARENT

/* Both command tables; before any lookup. */
enum status admin_tables_add(void) MUST_USE;

/* Emits the lines of a HELP subcommand, of which `lines` is a NULL-terminated list. */
enum outcome admin_help(struct call *call, const char *parent, const char *const *lines);

/* Answers with a text that was gathered, and ends the buffer. */
enum outcome admin_text(struct call *call, struct buffer *text);

/* Refuses a subcommand with too many arguments, or in an order it does not know. */
enum outcome admin_bad_syntax(struct call *call, const char *parent);

/* Whether an argument is a password, which neither the slow log nor MONITOR may show. */
bool admin_is_secret(const struct request *request, uint32_t index);

/* The Markdown tables of the reference. */
void admin_print_commands(void);

#endif
