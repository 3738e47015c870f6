/* SPDX-License-Identifier: MIT
 *
 * All connections of all workers, seen from any thread. A snapshot copies what is needed while it
 * holds one worker's list lock at a time, and formats nothing under it. Closing is left to the
 * connection's own worker, by message.
 */
#ifndef LARDER_SERVER_CLIENTS_H
#define LARDER_SERVER_CLIENTS_H

#include "base/buffer.h"
#include "server/session.h"

enum { CLIENT_ADDRESS_SIZE = 160 }; /* for a listener's address and ":0" */

struct client_view {
    uint64_t id;
    int64_t opened_ms, active_ms;
    const struct command *last_command;
    const struct listener *listener;
    struct label *label; /* held */
    uint64_t state;      /* enum session_state */
    uint64_t queued_bytes, commands;
    struct conn_figures figures;
    uint32_t worker;
    int fd;
    char peer[48], local[48];
};

/* Holds the label: end it with client_view_end. On the session's own thread, or under its list's
 * lock. */
void client_view_of(const struct session *session, struct client_view *out);
void client_view_end(struct client_view *view);

/* In order of id. The caller ends it. */
enum status clients_snapshot(struct server *server, struct client_view **out, uint32_t *out_count)
    MUST_USE;
void clients_snapshot_end(struct client_view *views, uint32_t count);

/* "127.0.0.1:1234", "[::1]:1234" or "/path:0". */
void client_view_address(const struct client_view *view, char out[CLIENT_ADDRESS_SIZE]);
void client_view_local_address(const struct client_view *view, char out[CLIENT_ADDRESS_SIZE]);
/* One line of CLIENT LIST, with its end. */
void client_view_write(const struct client_view *view, int64_t now_ms, struct buffer *out);

/* Closes the connections of one worker with these ids, which rise; those that are gone by then are
 * left out. */
enum status clients_close(struct worker *worker, const uint64_t *ids, uint32_t count) MUST_USE;

#endif
