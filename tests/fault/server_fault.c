/* SPDX-License-Identifier: MIT
 *
 * A server with two workers runs in this process, and clients on real sockets play scenes with it:
 * once without a fault, then with the nth allocation of a round failing, for every n until a whole
 * round passes before the fault has come. Allocations of the server's background threads count too,
 * so that n does not name the same allocation each time.
 *
 * A request that meets the fault is answered as ever, or with an error that says memory is out, or
 * its connection is closed. What else its clients have asked must still be answered in order. Then
 * the scene is played again on new connections, and since a round has one fault, that must succeed,
 * and so must a whole round without a fault behind it.
 */
#include "server_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/signal.h"
#include "peer.h"
#include "server/server.h"
#include "server/session.h"

enum { ALICE, BOB, CAROL, PEERS };

/* More rounds than this and something allocates without end. */
enum { ROUNDS_MAX = 20000 };

struct stage {
    struct server server;
    struct thread *thread;
    char folder[32], socket[64], config[64], log[64];
    struct peer peers[PEERS];
    unsigned rounds;
    bool fault_spent; /* what the round's fault did has been seen */
    char *doubtful;   /* the configuration file after a rewriting that failed */
};

/* ---- what scenes are made of; false: the scene has met the fault */

static bool hear(struct stage *stage, int who)
{
    return peer_hear(&stage->peers[who], NULL) == HEARD_EXPECTED;
}

static bool ask(struct stage *stage, int who, const char *expected, const char *line)
{
    peer_tell(&stage->peers[who], expected, line);
    return hear(stage, who);
}

static void tell(struct stage *stage, int who, const char *expected, const char *line)
{
    peer_tell(&stage->peers[who], expected, line);
}

static uint32_t count_waiting(struct stage *stage)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < stage->server.worker_count; i++) {
        struct worker *worker = &stage->server.workers[i];

        lock_acquire(&worker->sessions_lock);
        for (struct session *session = worker->first; session != NULL; session = session->next)
            count += (atomic_load(&session->state) & SESSION_WAITS) != 0;
        lock_release(&worker->sessions_lock);
    }
    return count;
}

/* Until requests of so many clients wait for the end of a pause; no longer where the fault may be
 * why they do not. */
static void wait_until_held(struct stage *stage, uint32_t count)
{
    enum { STEP_US = 100, STEPS_MAX = 200 * 1000 };

    for (int i = 0; count_waiting(stage) != count && !alloc_fault_fired(); i++) {
        if (i == STEPS_MAX)
            fail_msg("%u clients wait, not %u", count_waiting(stage), count);
        clock_sleep_us(STEP_US);
    }
}

/* ---- the scenes */

static bool values_are_stored(struct stage *stage)
{
    return ask(stage, ALICE, "+OK", "FLUSHALL") && ask(stage, ALICE, "+OK", "MSET [40 k# v#]") &&
           ask(stage, BOB, "*2\r\n$2\r\nv7\r\n$2\r\nv8", "MGET k7 k8") &&
           ask(stage, BOB, "+OK", "SET big {70000}") && ask(stage, ALICE, "$70000", "GET big") &&
           ask(stage, ALICE, ":1", "DEL big");
}

static bool requests_wait_for_the_end_of_a_pause(struct stage *stage)
{
    if (!ask(stage, ALICE, "+OK", "CLIENT PAUSE 100000 WRITE"))
        return false;
    tell(stage, BOB, "+PONG", "PING");
    tell(stage, BOB, "+OK", "SET word bytes");
    tell(stage, BOB, "$5\r\nbytes", "GET word");
    tell(stage, BOB, "+OK", "SET big {70000}");
    tell(stage, BOB, ":70000", "STRLEN big");
    peer_send(&stage->peers[BOB]);
    tell(stage, CAROL, "+OK", "SET other {70001}");
    tell(stage, CAROL, "$70001", "GET other");
    peer_send(&stage->peers[CAROL]);
    wait_until_held(stage, 2);
    bool heard = hear(stage, BOB) && ask(stage, ALICE, "+OK", "CLIENT UNPAUSE");
    for (int i = 0; i < 4 && heard; i++)
        heard = hear(stage, BOB);
    return heard && hear(stage, CAROL) && hear(stage, CAROL) &&
           ask(stage, ALICE, "+OK", "CLIENT PAUSE 1 ALL") &&
           ask(stage, BOB, "+OK", "SET word again") && ask(stage, CAROL, ":2", "DEL big other");
}

static bool transactions_wait_and_pause(struct stage *stage)
{
    if (!ask(stage, ALICE, "+OK", "CLIENT PAUSE 100000 WRITE"))
        return false;
    tell(stage, BOB, "+OK", "WATCH word");
    tell(stage, BOB, "+OK", "MULTI");
    tell(stage, BOB, "+QUEUED", "SET word in-exec");
    tell(stage, BOB, "+QUEUED", "SET big {66000}");
    tell(stage, BOB, "*2\r\n+OK\r\n+OK", "EXEC");
    tell(stage, BOB, "$7\r\nin-exec", "GET word");
    peer_send(&stage->peers[BOB]);
    wait_until_held(stage, 1);
    bool heard = ask(stage, ALICE, "+OK", "CLIENT UNPAUSE");
    for (int i = 0; i < 6 && heard; i++)
        heard = hear(stage, BOB);
    return heard && ask(stage, CAROL, "+OK", "MULTI") &&
           ask(stage, CAROL, "+QUEUED", "CLIENT PAUSE 100000 WRITE") &&
           ask(stage, CAROL, "+QUEUED", "SET word paused") &&
           ask(stage, CAROL, "+QUEUED", "CLIENT UNPAUSE") &&
           ask(stage, CAROL, "*3\r\n+OK\r\n+OK\r\n+OK", "EXEC") &&
           ask(stage, BOB, "$6\r\npaused", "GET word");
}

static bool a_monitor_is_shown_all(struct stage *stage)
{
    if (!ask(stage, CAROL, "+OK", "MONITOR") || !ask(stage, ALICE, "+OK", "SET word shown") ||
        !ask(stage, BOB, "+OK", "SET big {70000}") || !ask(stage, ALICE, "$4\r\nseen", "ECHO seen"))
        return false;
    peer_await(&stage->peers[CAROL], "+~\"SET\" \"word\" \"shown\"");
    peer_await(&stage->peers[CAROL], "+~\"SET\" \"big\"");
    peer_await(&stage->peers[CAROL], "+~\"ECHO\" \"seen\"");
    return hear(stage, CAROL) && hear(stage, CAROL) && hear(stage, CAROL) &&
           ask(stage, CAROL, "+RESET", "RESET") && ask(stage, CAROL, "$5\r\nafter", "ECHO after");
}

static bool what_is_slow_is_logged(struct stage *stage)
{
    return ask(stage, ALICE, "+OK", "CONFIG SET slowlog-log-slower-than 0") &&
           ask(stage, ALICE, "+OK", "MSET [40 k# v#]") &&
           ask(stage, ALICE, "+OK", "SET big {70000}") && ask(stage, ALICE, "*", "SLOWLOG GET 5") &&
           ask(stage, ALICE, ":", "SLOWLOG LEN") && ask(stage, ALICE, "+OK", "SLOWLOG RESET") &&
           ask(stage, ALICE, "+OK", "CONFIG SET slowlog-log-slower-than 10000");
}

static bool latency_is_measured(struct stage *stage)
{
    return ask(stage, ALICE, "+OK", "CONFIG SET latency-monitor-threshold 1") &&
           ask(stage, ALICE, "+OK", "DEBUG SLEEP 0.0015") &&
           ask(stage, ALICE, "*~$3\r\nset\r\n", "LATENCY HISTOGRAM") &&
           ask(stage, ALICE, "*", "LATENCY HISTORY command") &&
           ask(stage, ALICE, "*", "LATENCY LATEST") &&
           ask(stage, ALICE, "$~command - high", "LATENCY GRAPH command") &&
           ask(stage, ALICE, "$~seconds with spikes", "LATENCY DOCTOR") &&
           ask(stage, ALICE, ":", "LATENCY RESET") &&
           ask(stage, ALICE, "+OK", "CONFIG SET latency-monitor-threshold 0");
}

static bool clients_are_listed_and_killed(struct stage *stage)
{
    char line[64], *reply;

    if (!ask(stage, BOB, "+OK", "CLIENT SETNAME bob") ||
        !ask(stage, BOB, "+OK", "CLIENT SETINFO lib-name peer") ||
        !ask(stage, ALICE, "$~name=bob", "CLIENT LIST") ||
        !ask(stage, BOB, "$~lib-name=peer", "CLIENT INFO"))
        return false;
    tell(stage, BOB, ":", "CLIENT ID");
    if (peer_hear(&stage->peers[BOB], &reply) != HEARD_EXPECTED)
        return false;
    snprintf(line, sizeof(line), "CLIENT KILL ID %ld", strtol(reply + 1, NULL, 10));
    free(reply);
    if (!ask(stage, ALICE, ":1", line))
        return false;
    peer_hear_end(&stage->peers[BOB]);
    return true;
}

/* To be freed. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    assert_non_null(file);
    bool empty = getdelim(&text, &room, '\0', file) < 0;
    fclose(file);
    assert_non_null(text);
    if (empty)
        text[0] = '\0';
    return text;
}

/* What a failure left must be what was there before, or what success leaves. */
static void judge_config(struct stage *stage, char *old, bool rewritten)
{
    char *now = read_file(stage->config);

    if (rewritten && stage->doubtful != NULL)
        assert_string_equal(stage->doubtful, now);
    free(stage->doubtful);
    stage->doubtful = NULL;
    if (!rewritten && strcmp(now, old) != 0)
        stage->doubtful = now;
    else
        free(now);
    free(old);
}

static bool options_are_set_and_written(struct stage *stage)
{
    bool odd = stage->rounds % 2 != 0;
    const char *set = odd ? "CONFIG SET timeout 1000 latency-tracking-info-percentiles 50"
                          : "CONFIG SET timeout 2000 latency-tracking-info-percentiles 99.5";
    const char *shown = odd ? "*4\r\n$7\r\ntimeout\r\n$4\r\n1000\r\n~$2\r\n50\r\n"
                            : "*4\r\n$7\r\ntimeout\r\n$4\r\n2000\r\n~$4\r\n99.5\r\n";

    if (!ask(stage, ALICE, "+OK", set) ||
        !ask(stage, BOB, shown, "CONFIG GET timeout latency-tracking-info-percentiles"))
        return false;
    char *old = read_file(stage->config);
    bool rewritten = ask(stage, ALICE, "+OK", "CONFIG REWRITE");
    judge_config(stage, old, rewritten);
    return rewritten;
}

/* What the log says of a reload, once it does. */
static void wait_for_reload(const struct stage *stage, char *out_line, size_t size)
{
    enum { STEP_US = 100, STEPS_MAX = 200 * 1000 };

    for (int i = 0; i < STEPS_MAX; i++) {
        char *log = read_file(stage->log), *at = strstr(log, "configuration ");
        bool whole = at != NULL && strchr(at, '\n') != NULL;

        if (whole)
            snprintf(out_line, size, "%.*s", (int)strcspn(at, "\n"), at);
        free(log);
        if (whole)
            return;
        clock_sleep_us(STEP_US);
    }
    fail_msg("%s: the log tells of no reload", peer_moment);
}

/* On SIGHUP; the file has what options_are_set_and_written wrote. */
static bool the_configuration_is_reloaded(struct stage *stage)
{
    char line[300];

    if (!ask(stage, ALICE, "+OK", "CONFIG SET timeout 500 latency-tracking-info-percentiles 1"))
        return false;
    assert_int_equal(truncate(stage->log, 0), 0);
    server_note_hangup(&stage->server);
    wait_for_reload(stage, line, sizeof(line));
    if (strncmp(line, "configuration reloaded, options changed: 2", 42) == 0)
        return ask(stage, BOB,
                   stage->rounds % 2 != 0 ? "*2\r\n$7\r\ntimeout\r\n$4\r\n1000"
                                          : "*2\r\n$7\r\ntimeout\r\n$4\r\n2000",
                   "CONFIG GET timeout");
    if (strstr(line, "memory") == NULL)
        fail_msg("%s: not reloaded: %s", peer_moment, line);
    return false;
}

static bool the_server_tells_all_of_itself(struct stage *stage)
{
    return ask(stage, ALICE, "$~maxmemory_policy:noeviction", "INFO everything") &&
           ask(stage, ALICE, "*", "COMMAND DOCS") && ask(stage, ALICE, "*56\r\n", "MEMORY STATS") &&
           ask(stage, ALICE, "$", "MEMORY DOCTOR") &&
           ask(stage, BOB, "%~$5\r\nproto\r\n:3\r\n", "HELLO 3") &&
           ask(stage, BOB, "=~maxmemory_policy:noeviction", "INFO everything") &&
           ask(stage, BOB, "%", "COMMAND DOCS get client") &&
           ask(stage, BOB, "%28\r\n", "MEMORY STATS");
}

static bool (*const scenes[])(struct stage *stage) = {
    values_are_stored,
    requests_wait_for_the_end_of_a_pause,
    transactions_wait_and_pause,
    a_monitor_is_shown_all,
    what_is_slow_is_logged,
    latency_is_measured,
    clients_are_listed_and_killed,
    options_are_set_and_written,
    the_configuration_is_reloaded,
    the_server_tells_all_of_itself,
};

/* A server that has just started plays fewer. */
enum { SCENES = sizeof(scenes) / sizeof(scenes[0]), SCENES_FRESH = 4 };

/* ---- playing */

/* After the fault: whoever waits goes on, and all that was asked is answered. */
static void settle(struct stage *stage)
{
    struct peer usher;

    peer_open(&usher, stage->socket);
    peer_tell(&usher, "+OK", "CLIENT UNPAUSE");
    assert_int_equal(peer_hear(&usher, NULL), HEARD_EXPECTED);
    peer_close(&usher);
    for (int who = 0; who < PEERS; who++) {
        struct peer *peer = &stage->peers[who];

        while (peer->awaited_count > 0)
            (void)peer_hear(peer, NULL);
    }
}

static bool play(struct stage *stage, unsigned long nth, int scene)
{
    snprintf(peer_moment, sizeof(peer_moment), "allocation %lu, scene %d%s", nth, scene,
             stage->fault_spent ? ", behind the fault" : "");
    for (int who = 0; who < PEERS; who++)
        peer_open(&stage->peers[who], stage->socket);
    bool whole = scenes[scene](stage);
    if (!whole) {
        if (!alloc_fault_fired() || stage->fault_spent)
            fail_msg("%s: fails without a fault", peer_moment);
        stage->fault_spent = true;
        settle(stage);
    }
    for (int who = 0; who < PEERS; who++)
        peer_close(&stage->peers[who]);
    return whole;
}

/* All scenes, up to `count`, with the `nth` allocation of the round to fail. Turns the hook off;
 * false: the fault has not come. */
static bool play_round(struct stage *stage, unsigned long nth, int count)
{
    stage->rounds++;
    stage->fault_spent = false;
    for (int scene = 0; scene < count; scene++)
        if (!play(stage, nth, scene))
            assert_true(play(stage, nth, scene));
    bool fired = alloc_fault_fired();
    alloc_fault_at(0);
    return fired;
}

/* ---- the server */

static void run_server(void *argument)
{
    server_run(argument);
}

static void stage_init(struct stage *stage)
{
    signal_ignore_harmless();
    memset(stage, 0, sizeof(*stage));
    strcpy(stage->folder, "/tmp/lrdXXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->socket, sizeof(stage->socket), "%s/socket", stage->folder);
    snprintf(stage->config, sizeof(stage->config), "%s/larder.conf", stage->folder);
    snprintf(stage->log, sizeof(stage->log), "%s/log", stage->folder);
    FILE *file = fopen(stage->config, "w");
    assert_non_null(file);
    fprintf(file,
            "# a comment that stays\nport 0\nunixsocket %s\nlogfile %s\nthreads 2\nshards 2\n"
            "io epoll\nmaxmemory 64mb\nenable-debug-command yes\nslowlog-max-len 20\n"
            "timeout 3000\n",
            stage->socket, stage->log);
    assert_int_equal(fclose(file), 0);
}

static void stage_deinit(struct stage *stage)
{
    unlink(stage->log);
    unlink(stage->config);
    assert_int_equal(rmdir(stage->folder), 0);
}

/* As main() does. False: it could not start, and all is as before. */
static bool open_server(struct stage *stage)
{
    static char *no_environment[] = {NULL};
    static char *words[] = {"larder", NULL, NULL};
    struct server *server = &stage->server;
    char message[OPTION_MESSAGE_SIZE];

    words[1] = stage->config;
    memset(server, 0, sizeof(*server));
    server->arguments = (struct option_arguments){2, words, no_environment};
    if (options_init(&server->options) != STATUS_OK)
        return false;
    if (options_load(&server->options, &server->arguments, message) == OPTIONS_RUN) {
        if (server_start(server) &&
            thread_start("server", run_server, server, &stage->thread) == STATUS_OK)
            return true;
        server_end(server);
    } else {
        assert_non_null(strstr(message, "memory"));
    }
    options_deinit(&server->options);
    return false;
}

static void close_server(struct stage *stage)
{
    assert_false(server_stopping(&stage->server));
    server_ask_stop(&stage->server, SERVER_STOPS);
    thread_join(stage->thread);
    server_end(&stage->server);
    options_deinit(&stage->server.options);
    assert_int_equal(access(stage->socket, F_OK), -1);
}

/* ---- the tests */

void a_server_starts_whole_or_not_at_all(void **state)
{
    static struct stage stage;
    unsigned long nth = 0;
    bool fired = true;

    (void)state;
    stage_init(&stage);
    while (fired) {
        assert_true(++nth < ROUNDS_MAX);
        alloc_fault_at(nth);
        if (!open_server(&stage)) {
            assert_true(alloc_fault_fired());
            continue;
        }
        /* What it does for the first time allocates more. */
        fired = play_round(&stage, nth, SCENES_FRESH);
        close_server(&stage);
    }
    print_message("%lu allocations\n", nth - 1);
    stage_deinit(&stage);
}

void a_server_survives_every_failing_allocation(void **state)
{
    static struct stage stage;
    unsigned long nth = 0;

    (void)state;
    stage_init(&stage);
    assert_true(open_server(&stage));
    do {
        assert_true(nth < ROUNDS_MAX);
        play_round(&stage, 0, SCENES);
        alloc_fault_at(++nth);
    } while (play_round(&stage, nth, SCENES));
    print_message("%lu allocations\n", nth - 1);
    close_server(&stage);
    stage_deinit(&stage);
}
