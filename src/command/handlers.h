/* SPDX-License-Identifier: MIT
 *
 * Every handler named in commands.def. Handlers never lock: the dispatcher has, or comes again.
 */
#ifndef LARDER_COMMAND_HANDLERS_H
#define LARDER_COMMAND_HANDLERS_H

#include "command/command.h"

#define PARENT(...)
#define COMMAND(name, handler, ...) command_handler handler;
#define SUBCOMMAND(parent, name, handler, ...) command_handler handler;
#include "command/commands.def"
#undef SUBCOMMAND
#undef COMMAND
#undef PARENT

#endif
