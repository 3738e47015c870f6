/* SPDX-License-Identifier: MIT
 *
 * CONFIG REWRITE: makes the configuration file say what is so.
 */
#ifndef LARDER_SERVER_CONFIG_REWRITE_H
#define LARDER_SERVER_CONFIG_REWRITE_H

#include "server/options.h"

/* Rewrites the file at `path` so that reading it, with what it includes, gives every option the
 * value it has in `options`. Lines that are right, comments and includes stay as and where they
 * are; a line that is wrong is replaced; what no line says is appended. Included files are not
 * touched. A file that is not there is made. False: the file is what it was, and `message`
 * (OPTION_MESSAGE_SIZE) says why. Not for two threads at once, nor while options are set. */
bool config_rewrite(struct options *options, const char *path, char *message);

#endif
