/* SPDX-License-Identifier: MIT
 *
 * See server/clients.h.
 */
#include "server/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/text.h"

void client_view_of(const struct session *session, struct client_view *out)
{
    out->id = session->id;
    out->opened_ms = session->opened_ms;
    out->active_ms = atomic_load_explicit(&session->active_ms, memory_order_relaxed);
    out->last_command = atomic_load_explicit(&session->last_command, memory_order_relaxed);
    out->listener = session->listener;
    out->label = session->label;
    if (out->label != NULL)
        atomic_fetch_add(&out->label->holders, 1);
    out->state = atomic_load_explicit(&session->state, memory_order_relaxed);
    if (out->state & SESSION_IN_MULTI) /* else it tells of the last transaction */
        out->queued_bytes = atomic_load_explicit(&session->queued_bytes, memory_order_relaxed);
    else
        out->queued_bytes = 0;
    out->commands = atomic_load_explicit(&session->commands, memory_order_relaxed);
    conn_figures(session->conn, &out->figures);
    out->worker = session->worker->index;
    out->fd = session->fd;
    memcpy(out->peer, session->peer, sizeof(out->peer));
    memcpy(out->local, session->local, sizeof(out->local));
}

void client_view_end(struct client_view *view)
{
    label_release(view->label);
}

static int by_id(const void *a, const void *b)
{
    const struct client_view *left = a, *right = b;

    return left->id < right->id ? -1 : left->id > right->id;
}

enum status clients_snapshot(struct server *server, struct client_view **out, uint32_t *out_count)
{
    struct client_view *views = NULL;
    uint32_t count = 0, room = 0;

    for (uint32_t i = 0; i < server->worker_count; i++) {
        struct worker *worker = &server->workers[i];

        for (;;) {
            lock_acquire(&worker->sessions_lock);
            uint32_t wanted = count + worker->session_count;
            if (wanted <= room)
                break;
            lock_release(&worker->sessions_lock);
            /* Never allocates under the lock: makes room for some more and looks again. */
            room = wanted + 16;
            struct client_view *more = alloc_resize(views, room * sizeof(*views));
            if (more == NULL) {
                clients_snapshot_end(views, count);
                return STATUS_NO_MEMORY;
            }
            views = more;
        }
        for (struct session *session = worker->first; session != NULL; session = session->next)
            client_view_of(session, &views[count++]);
        lock_release(&worker->sessions_lock);
    }
    if (count > 0)
        qsort(views, count, sizeof(*views), by_id);
    *out = views;
    *out_count = count;
    return STATUS_OK;
}

void clients_snapshot_end(struct client_view *views, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        client_view_end(&views[i]);
    alloc_free(views);
}

void client_view_address(const struct client_view *view, char out[CLIENT_ADDRESS_SIZE])
{
    if (view->peer[0] != '\0')
        snprintf(out, CLIENT_ADDRESS_SIZE, "%s", view->peer);
    else
        snprintf(out, CLIENT_ADDRESS_SIZE, "%s:0", view->listener->address);
}

void client_view_local_address(const struct client_view *view, char out[CLIENT_ADDRESS_SIZE])
{
    if (view->local[0] != '\0')
        snprintf(out, CLIENT_ADDRESS_SIZE, "%s", view->local);
    else
        snprintf(out, CLIENT_ADDRESS_SIZE, "%s:0", view->listener->address);
}

static void write_part(struct buffer *out, const char *name, struct bytes part)
{
    text_append(out, " %s=", name);
    sink_write_bytes(&out->sink, part);
}

/* The letters that Redis has for what a client is and has asked for. */
static void write_flags(const struct client_view *view, struct buffer *out)
{
    static const struct {
        uint64_t bit;
        char letter;
    } letters[] = {{SESSION_MONITORS, 'O'}, {SESSION_IN_MULTI, 'x'}, {SESSION_WAITS, 'b'},
                   {SESSION_CLOSES, 'c'},   {SESSION_UNIX, 'U'},     {SESSION_NO_EVICT, 'e'},
                   {SESSION_NO_TOUCH, 'T'}};
    char text[8];
    size_t size = 0;

    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (view->state & letters[i].bit)
            text[size++] = letters[i].letter;
    if (size == 0)
        text[size++] = 'N';
    text_append(out, " flags=%.*s", (int)size, text);
}

static uint32_t shown_count(const struct client_view *view, int shift)
{
    return (uint32_t)(view->state >> shift) & SESSION_COUNT_MAX;
}

/* Replies have no buffer per client that could stand empty: rbs and rbp are 0, and what is unsent
 * is told by obl and omem. Arguments are read in place: argv-mem is 0. */
static void write_figures(const struct client_view *view, struct buffer *out)
{
    const struct conn_figures *figures = &view->figures;
    uint64_t size =
        sizeof(struct session) + figures->size + figures->output_bytes + view->queued_bytes;

    text_append(out, " multi=%d watch=%u",
                view->state & SESSION_IN_MULTI ? (int)shown_count(view, SESSION_QUEUED_SHIFT) : -1,
                shown_count(view, SESSION_WATCHED_SHIFT));
    text_append(out, " qbuf=%zu qbuf-free=%zu argv-mem=0 multi-mem=%llu rbs=0 rbp=0",
                figures->input_bytes, figures->input_free_bytes,
                (unsigned long long)view->queued_bytes);
    text_append(out, " obl=%zu oll=0 omem=%zu tot-mem=%llu events=%s", figures->output_bytes,
                figures->output_bytes, (unsigned long long)size,
                figures->output_bytes > 0 ? "rw" : "r");
}

void client_view_write(const struct client_view *view, int64_t now_ms, struct buffer *out)
{
    const struct command *command = view->last_command;
    char address[CLIENT_ADDRESS_SIZE], local[CLIENT_ADDRESS_SIZE], name[COMMAND_FULL_NAME_SIZE];

    client_view_address(view, address);
    client_view_local_address(view, local);
    text_append(out, "id=%llu addr=%s laddr=%s fd=%d", (unsigned long long)view->id, address, local,
                view->fd);
    write_part(out, "name", label_part(view->label, SESSION_NAME));
    text_append(out, " age=%lld idle=%lld", (long long)(now_ms - view->opened_ms) / 1000,
                (long long)(now_ms - view->active_ms) / 1000);
    write_flags(view, out);
    text_append(out, " db=%u sub=0 psub=0 ssub=0", (uint32_t)(view->state & SESSION_DB));
    write_figures(view, out);
    write_part(out, "cmd", command != NULL ? command_full_name(command, name) : BYTES("NULL"));
    text_append(out, " user=default redir=-1 resp=%u",
                (uint32_t)(view->state >> SESSION_RESP_SHIFT & 0xf));
    write_part(out, "lib-name", label_part(view->label, SESSION_LIBRARY_NAME));
    write_part(out, "lib-ver", label_part(view->label, SESSION_LIBRARY_VERSION));
    text_append(out, " worker=%u tot-net-in=%llu tot-net-out=%llu tot-cmds=%llu\n", view->worker,
                (unsigned long long)view->figures.bytes_received,
                (unsigned long long)view->figures.bytes_sent, (unsigned long long)view->commands);
}

/* ---- closing */

struct closing {
    uint32_t count;
    uint64_t ids[]; /* rising */
};

static void close_listed(struct loop *loop, void *argument)
{
    struct worker *worker = loop_owner(loop);
    struct closing *closing = argument;
    uint32_t at = 0;

    /* The list is in order of id too. Only this thread changes it, so it needs no lock to look;
     * conn_close calls `closed` later, so the walk is safe. */
    for (struct session *session = worker->first; session != NULL && at < closing->count;
         session = session->next) {
        while (at < closing->count && closing->ids[at] < session->id)
            at++;
        if (at < closing->count && closing->ids[at] == session->id)
            conn_close(session->conn);
    }
}

enum status clients_close(struct worker *worker, const uint64_t *ids, uint32_t count)
{
    struct closing *closing = alloc_get(sizeof(*closing) + count * sizeof(*ids));

    if (closing == NULL)
        return STATUS_NO_MEMORY;
    closing->count = count;
    memcpy(closing->ids, ids, count * sizeof(*ids));
    return loop_post_owned(worker->loop, close_listed, closing) ? STATUS_OK : STATUS_NO_MEMORY;
}
