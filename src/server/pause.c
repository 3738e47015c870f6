/* SPDX-License-Identifier: MIT
 *
 * See server/pause.h. `server.pause` is 0, or the end of the pause in engine time, doubled, plus
 * its kind, so that both are one atomic word.
 */
#include "server/pause.h"

#include "command/dispatch.h"
#include "command/transaction.h"
#include "os/clock.h"

/* So that no end overflows when it is doubled; beyond any server's life. */
#define END_MS_MAX (INT64_MAX / 4)

static int64_t end_of(uint64_t pause)
{
    return (int64_t)(pause >> 1);
}

void pause_begin(struct server *server, int64_t end_ms, enum pause_kind kind)
{
    int64_t now_ms = clock_engine_ms();
    uint64_t old = atomic_load(&server->pause), wanted;

    if (end_ms > END_MS_MAX)
        end_ms = END_MS_MAX;
    do {
        bool goes_on = old != 0 && end_of(old) > now_ms;
        uint64_t end = (uint64_t)(goes_on && end_of(old) > end_ms ? end_of(old) : end_ms);

        wanted = end << 1 | (goes_on ? old & 1 : 0) | (kind == PAUSE_ALL ? 1 : 0);
    } while (!atomic_compare_exchange_weak(&server->pause, &old, wanted));
}

static void let_on(struct loop *loop, void *argument)
{
    (void)argument;
    pause_let_on(loop_owner(loop));
}

enum status pause_end(struct server *server)
{
    enum status status = STATUS_OK;

    atomic_store(&server->pause, 0);
    for (uint32_t i = 0; i < server->worker_count; i++)
        if (!loop_post(server->workers[i].loop, let_on, NULL))
            status = STATUS_NO_MEMORY;
    return status;
}

static bool writes(const struct session *session, const struct command *command)
{
    return (command->flags & COMMAND_WRITE) != 0 ||
           ((command->flags & COMMAND_EXECUTES) != 0 && transaction_writes(&session->client));
}

bool pause_holds(const struct session *session, const struct request *request)
{
    struct server *server = session->worker->server;
    uint64_t pause = atomic_load(&server->pause);

    if (pause == 0 || atomic_load(&server->stop) != SERVER_RUNS)
        return false;
    if (end_of(pause) <= clock_engine_ms()) {
        atomic_compare_exchange_strong(&server->pause, &pause, 0);
        return false;
    }
    /* What is refused anyway is answered at once. */
    return !dispatch_refuses(&session->client, request) &&
           ((pause & 1) != 0 || writes(session, request->command));
}

void pause_watch(struct worker *worker)
{
    int64_t left_ms = end_of(atomic_load(&worker->server->pause)) - clock_engine_ms();

    loop_alarm(worker->loop, left_ms > 0 ? (uint64_t)left_ms + 1 : 1);
}

void pause_let_on(struct worker *worker)
{
    /* Only this thread changes the list. */
    for (struct session *session = worker->first; session != NULL; session = session->next)
        if (session->waiting_first != NULL)
            conn_let_on(session->conn);
}
