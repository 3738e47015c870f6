/* SPDX-License-Identifier: MIT
 *
 * Options of the running server: setting several of them, all or none, and reading the
 * configuration again. Thread-safe.
 */
#ifndef LARDER_SERVER_SERVER_OPTIONS_H
#define LARDER_SERVER_SERVER_OPTIONS_H

#include "server/server.h"

/* Stores the values, whose texts it takes over, and makes them take effect. False: nothing has
 * changed, `*out_failed` is the index of the one that cannot be had and `message`
 * (OPTION_MESSAGE_SIZE) says why. */
bool server_options_set(struct server *server, const struct option *const *options,
                        struct option_value *values, uint32_t count, uint32_t *out_failed,
                        char *message);
/* CONFIG REWRITE. False: the configuration file stays, and `message` says why. */
bool server_options_rewrite(struct server *server, char *message);
/* Opens the log file anew, reads configuration file, environment and flags again, and applies what
 * has changed and may change while the server runs. False: there is a mistake, which leaves
 * everything as it was. Logs what it does. */
bool server_reload(struct server *server);
/* Lowers maxclients of `options`, and logs that, where the process may not open so many
 * descriptors. False: it did. */
bool server_clients_fit(struct server *server, struct options *options);
/* Has the listeners follow tcp-keepalive. False: the system refuses it. */
bool server_keepalive_set(struct server *server);

#endif
