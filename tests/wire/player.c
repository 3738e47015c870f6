/* SPDX-License-Identifier: MIT */
#include "player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "command/dispatch.h"
#include "engine/engine.h"
#include "feed.h"
#include "wire/wire.h"

enum {
    OUTPUT_MAX = 1 << 30,
    START_MS_STEP = 3600 * 1000, /* between cases */
    BYTES_MAX = 2000,            /* PLAY_BYTES is quadratic: longer sends go on in big pieces */
};

struct connection {
    struct feed feed;
    struct client client;
    struct buffer output;
    struct reply reply;
    size_t matched; /* of the output */
    bool open;
};

struct player {
    struct engine *engine;
    struct engine_thread *thread;
    struct parser worker;
    struct connection connections[TRANSCRIPT_CONNECTIONS];
    int64_t start_ms, now_ms;
    char version[TRANSCRIPT_VERSION_SIZE]; /* the one that was answered last */
    char *message;
    size_t message_size;
};

/* ---- connections */

static void begin_reply(struct connection *connection, const struct request *request)
{
    struct reply *reply = &connection->reply;
    reply->ops = connection->feed.wire->reply_ops;
    reply->request = request;
    reply->index = reply->left = 0;
    reply->errored = false;
}

static void run_request(struct feed *feed, struct request *request)
{
    struct player *player = feed->owner;
    struct connection *connection = (struct connection *)feed; /* its first member */
    begin_reply(connection, request);
    dispatch_prepare(&connection->client, request);
    dispatch_run(&connection->client, request, player->now_ms, &connection->reply);
    feed->closed = request->last;
}

static void tell(struct feed *feed, struct bytes bytes)
{
    struct connection *connection = (struct connection *)feed;
    sink_write_bytes(&connection->output.sink, bytes);
}

static void complain(struct feed *feed, const char *error)
{
    struct connection *connection = (struct connection *)feed;
    begin_reply(connection, NULL);
    feed->wire->protocol_error(&connection->reply, error);
}

static bool connection_open(struct player *player, struct connection *connection)
{
    if (connection->open)
        return true;
    connection->feed = (struct feed){
        .limits = &wire_limits_default,
        .engine = player->engine,
        .worker = &player->worker,
        .request = run_request,
        .complaint = complain,
        .interim = tell,
        .owner = player,
    };
    client_init(&connection->client, player->engine, player->thread);
    connection->client.authenticated = true;
    buffer_init(&connection->output, OUTPUT_MAX);
    connection->reply = (struct reply){.sink = &connection->output.sink, .version = 2};
    connection->matched = 0;
    connection->open = true;
    return feed_init(&connection->feed);
}

static void connection_close(struct connection *connection)
{
    if (!connection->open)
        return;
    feed_deinit(&connection->feed);
    client_deinit(&connection->client);
    buffer_deinit(&connection->output);
    connection->open = false;
}

static struct bytes connection_unmatched(const struct connection *connection)
{
    struct bytes all = buffer_bytes(&connection->output);
    return bytes_of(all.size == 0 ? "" : all.data + connection->matched,
                    all.size - connection->matched);
}

/* ---- life */

struct player *player_create(void)
{
    struct player *player = calloc(1, sizeof(*player));
    uint32_t count;
    const struct command *rows = command_rows(&count);
    if (player == NULL)
        return NULL;
    player->now_ms = 1700000000000;
    const struct engine_config config = {.shards = 4, .start_ms = player->now_ms};
    if (command_table_add(rows, count) != STATUS_OK ||
        parser_init(&player->worker, &wire_limits_default) != STATUS_OK)
        goto fail;
    if (engine_create(&config, &player->engine) != STATUS_OK)
        goto fail_parser;
    if (engine_thread_register(player->engine, &player->thread) != STATUS_OK)
        goto fail_engine;
    return player;
fail_engine:
    engine_destroy(player->engine);
fail_parser:
    parser_deinit(&player->worker);
fail:
    free(player);
    return NULL;
}

void player_destroy(struct player *player)
{
    parser_deinit(&player->worker);
    engine_thread_unregister(player->thread);
    engine_destroy(player->engine);
    free(player);
}

/* ---- playing */

static void print_escaped(FILE *out, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size && i < 400; i++) {
        char c = bytes.data[i];
        if (c == '\r')
            fputs("\\r", out);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < ' ' || c > '~')
            fprintf(out, "\\x%02x", (unsigned char)c);
        else
            fputc(c, out);
    }
}

static bool failed(struct player *player, const struct transcript *transcript,
                   const struct step *step, const char *what, struct bytes expected,
                   struct bytes got)
{
    FILE *out = fmemopen(player->message, player->message_size, "w");
    if (out != NULL) {
        fprintf(out, "line %u: \"%s\": %s\n    expected: ", step->line, transcript->title, what);
        print_escaped(out, expected);
        fputs("\n    got:      ", out);
        print_escaped(out, got);
        fclose(out);
        player->message[player->message_size - 1] = '\0';
    }
    return false;
}

static bool feed_in_pieces(struct player *player, struct connection *connection, struct bytes bytes,
                           enum play play, size_t split)
{
    for (size_t at = 0; at < bytes.size;) {
        size_t size = bytes.size - at;
        if (play == PLAY_BYTES)
            size = at < BYTES_MAX || bytes.size - at < 10 ? 1 : 997;
        else if (play == PLAY_SPLIT && at == 0)
            size = split < bytes.size ? split : bytes.size - 1;
        if (size == 0 || size > bytes.size - at)
            size = bytes.size - at;
        engine_thread_online(player->thread);
        bool ok = feed_bytes(&connection->feed, bytes.data + at, size);
        engine_thread_offline(player->thread);
        if (!ok)
            return false;
        at += size;
    }
    return true;
}

static bool send(struct player *player, const struct step *steps, size_t count, enum play play,
                 size_t split)
{
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind != STEP_SEND)
            continue;
        char *bytes = transcript_bytes(&steps[i].text, player->start_ms, player->version);
        sink_write(&all.sink, bytes, steps[i].text.size);
        free(bytes);
    }
    bool ok = feed_in_pieces(player, &player->connections[steps->connection], buffer_bytes(&all),
                             play, split);
    buffer_deinit(&all);
    return ok;
}

static bool expect(struct player *player, const struct transcript *transcript,
                   const struct step *step)
{
    struct connection *connection = &player->connections[step->connection];
    struct bytes got = connection_unmatched(connection);
    size_t size = 0;
    if (!transcript_match(step, got, player->start_ms, player->version, &size)) {
        char *bytes = transcript_bytes(&step->text, player->start_ms, player->version);
        failed(player, transcript, step, "another reply was expected",
               bytes_of(bytes, step->text.size), got);
        free(bytes);
        return false;
    }
    connection->matched += size;
    return true;
}

/* Steps that one connection takes without anything in between. */
static bool play_run(struct player *player, const struct transcript *transcript,
                     const struct step *steps, size_t count, enum play play, size_t split)
{
    struct connection *connection = &player->connections[steps->connection];
    if (!connection_open(player, connection))
        return failed(player, transcript, steps, "out of memory", BYTES(""), BYTES(""));
    if (play == PLAY_PIPELINED && !send(player, steps, count, play, split))
        return failed(player, transcript, steps, "out of memory", BYTES(""), BYTES(""));
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == STEP_EXPECT) {
            if (!expect(player, transcript, &steps[i]))
                return false;
        } else if (play != PLAY_PIPELINED && !send(player, &steps[i], 1, play, split)) {
            return failed(player, transcript, steps, "out of memory", BYTES(""), BYTES(""));
        }
    }
    struct bytes rest = connection_unmatched(connection);
    if (rest.size != 0)
        return failed(player, transcript, &steps[count - 1], "no more was expected", BYTES(""),
                      rest);
    return true;
}

static void maintain(struct player *player)
{
    for (int rounds = 0; rounds < 1000 && engine_maintain(player->engine, player->now_ms);)
        rounds++;
}

static bool play_directive(struct player *player, const struct transcript *transcript,
                           const struct step *step)
{
    struct connection *connection = &player->connections[step->connection];
    if (!connection_open(player, connection))
        return failed(player, transcript, step, "out of memory", BYTES(""), BYTES(""));
    switch (step->kind) {
    case STEP_TIME:
        player->now_ms += (int64_t)step->number;
        maintain(player);
        return true;
    case STEP_PROTOCOL:
        connection->reply.version = (uint32_t)step->number;
        return true;
    case STEP_STRANGER:
        connection->feed.limits = &wire_limits_unauthenticated;
        connection->client.authenticated = false;
        return true;
    case STEP_MAXMEMORY:
        engine_memory_max_set(player->engine, step->number);
        return true;
    default:
        return connection->feed.closed ||
               failed(player, transcript, step, "the connection should have been closed", BYTES(""),
                      BYTES(""));
    }
}

/* An empty keyspace, some time later. */
static bool begin(struct player *player)
{
    struct connection *connection = &player->connections[0];
    static const char flush[] = "FLUSHALL\r\n";
    engine_memory_max_set(player->engine, 0);
    player->now_ms = (player->now_ms / 1000 + 1) * 1000 + START_MS_STEP;
    player->start_ms = player->now_ms;
    memset(player->version, 0, sizeof(player->version));
    bool ok =
        connection_open(player, connection) &&
        feed_in_pieces(player, connection, bytes_of(flush, sizeof(flush) - 1), PLAY_WHOLE, 0) &&
        bytes_equal(connection_unmatched(connection), BYTES("+OK\r\n"));
    connection_close(connection);
    maintain(player);
    return ok;
}

bool player_play(struct player *player, const struct transcript *transcript, enum play play,
                 size_t split, char *message, size_t message_size)
{
    player->message = message;
    player->message_size = message_size;
    static const struct step nowhere;
    bool ok = begin(player);
    if (!ok)
        failed(player, transcript, &nowhere, "cannot be begun", BYTES(""), BYTES(""));
    for (size_t i = 0, count; ok && i < transcript->count; i += count) {
        const struct step *steps = &transcript->steps[i];
        count = 1;
        if (steps->kind != STEP_SEND && steps->kind != STEP_EXPECT) {
            ok = play_directive(player, transcript, steps);
            continue;
        }
        while (i + count < transcript->count && steps[count].connection == steps->connection &&
               (steps[count].kind == STEP_EXPECT ||
                (steps[count].kind == STEP_SEND && !steps[count].text.versioned)))
            count++;
        ok = play_run(player, transcript, steps, count, play, split);
        engine_maintain(player->engine, player->now_ms);
    }
    for (unsigned i = 0; i < TRANSCRIPT_CONNECTIONS; i++)
        connection_close(&player->connections[i]);
    parser_reset(&player->worker);
    return ok;
}

size_t player_split_max(const struct transcript *transcript)
{
    size_t max = 0;
    for (size_t i = 0; i < transcript->count; i++) {
        const struct step *step = &transcript->steps[i];
        if (step->kind == STEP_SEND && step->text.size > max)
            max = step->text.size;
    }
    return max;
}
