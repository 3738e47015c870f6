/* SPDX-License-Identifier: MIT
 *
 * Plays every case of the given transcripts in-process: whole, pipelined, byte by byte, and split
 * at every byte.
 *
 *   run_transcripts FILE...
 *   run_transcripts --self-test     checks that the runner itself can fail
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

enum { MESSAGE_SIZE = 2000 };

struct tally {
    size_t passed, failed, plays, skipped;
};

/* Of long sends only the ends are split everywhere. */
static size_t next_split(size_t split, size_t max)
{
    if (max < 2000 || split < 100 || split >= max - 20)
        return split + 1;
    return split + 9973 < max - 20 ? split + 9973 : max - 20;
}

static bool play_all_ways(struct player *player, const struct transcript *transcript,
                          struct tally *tally, char *message)
{
    static const enum play plays[] = {PLAY_WHOLE, PLAY_PIPELINED, PLAY_BYTES};
    for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
        tally->plays++;
        if (!player_play(player, transcript, plays[i], 0, message, MESSAGE_SIZE))
            return false;
    }
    size_t max = player_split_max(transcript);
    for (size_t split = 1; split < max; split = next_split(split, max)) {
        tally->plays++;
        if (!player_play(player, transcript, PLAY_SPLIT, split, message, MESSAGE_SIZE)) {
            char where[64];
            snprintf(where, sizeof(where), "\n    when split after %zu bytes", split);
            strncat(message, where, MESSAGE_SIZE - strlen(message) - 1);
            return false;
        }
    }
    return true;
}

static void play_file(struct player *player, const char *name, struct bytes content,
                      struct tally *tally)
{
    struct transcript_file file;
    char message[MESSAGE_SIZE];
    if (!transcript_parse(&file, name, content)) {
        printf("FAIL %s\n", file.error);
        tally->failed++;
    }
    for (size_t i = 0; i < file.count && file.error[0] == '\0'; i++) {
        if (file.cases[i].needs_server) {
            tally->skipped++;
            continue;
        }
        if (play_all_ways(player, &file.cases[i], tally, message)) {
            tally->passed++;
        } else {
            printf("FAIL %s: %s\n", name, message);
            tally->failed++;
        }
    }
    transcript_free(&file);
}

static char *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *content = NULL;
    long size;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        rewind(file);
        content = malloc((size_t)size + 1);
        *out_size = (size_t)size;
        if (content != NULL && fread(content, 1, *out_size, file) != *out_size) {
            free(content);
            content = NULL;
        }
    }
    fclose(file);
    return content;
}

/* Every row is a transcript and what must come of it. */
static int self_test(struct player *player)
{
    static const struct {
        const char *text;
        bool passes;
    } rows[] = {
        {"=== a\n> PING\n< +PONG\n", true},
        {"=== a\n> PING\n< +PING\n", false},
        {"=== a\n> PING\n", false},
        {"=== a\n> PING\n< +PONG\n< +PONG\n", false},
        {"=== a\n> PING\n<< +PONG\n", false},
        {"=== a\n>> PING\\r\\n\n< +PONG\n", true},
        {"=== a\n>> PING\\r\n", true},
        {"=== a\n> ECHO \"a \\x62\\0\\\"\"\n< $5\\r\\na b\\0\"\n", true},
        {"=== a\n> ECHO \\{x*12}\n< $12\\r\\nxxxxxx\\{x*6}\n", true},
        {"=== a\n> ECHO <int>\n< $5\\r\\n\\<int>\n", true},
        {"=== a\n> INCR k\n< :<int>\n", true},
        {"=== a\n> PING\n< +<int>\n", false},
        {"=== a\n> PING\n< <any>\n", true},
        {"=== a\n> ECHO x\n< <any>\n", false},
        {"=== a\n> ECHO x\n< <bulk>\n", true},
        {"=== a\n> PING\n< <bulk>\n", false},
        {"=== a\n> SET k v EX 100\n< +OK\n> TTL k\n< :<100~5>\n", true},
        {"=== a\n> SET k v EX 99\n< +OK\n> TTL k\n< :<100~5>\n", false},
        {"=== a\n> SET k v PX 1500\n< +OK\n@ +1499ms\n> GET k\n< $1\\r\\nv\n", true},
        {"=== a\n> SET k v PX 1500\n< +OK\n@ +1500ms\n> GET k\n< $1\\r\\nv\n", false},
        {"=== a\n> SET k v EXAT \\{s+9}\n< +OK\n> PEXPIRETIME k\n< :\\{ms+9000}\n", true},
        {"=== a\n> MSET a 1 b 2\n< +OK\n> KEYS *\n<~ *2\\r\\n$1\\r\\nb\\r\\n$1\\r\\na\n", true},
        {"=== a\n> MSET a 1 b 2\n< +OK\n> KEYS *\n<~ *2\\r\\n$1\\r\\nb\\r\\n$1\\r\\nb\n", false},
        {"=== a\n> ECHO abcdefgh\n< $8\\r\\n<v8>\n> ECHO \\{v8}\n< $8\\r\\nabcdefgh\n", true},
        {"=== a\n> ECHO abcdefgh\n< $8\\r\\n<v8>\n> ECHO \\{v8}\n< $8\\r\\nabcdefgg\n", false},
        {"=== a\n> ECHO \\0\\0\\0\\0\\0\\0\\0\\0\n< $8\\r\\n<v8>\n", false},
        {"=== a\n> ECHO a\n< $1\\r\\n<v8>\n", false},
        {"=== a\nA> MULTI\nB> GET k\nB< $-1\nA< +OK\n", false},
        {"=== a\nA> MULTI\nA< +OK\nB> GET k\nB< $-1\n", true},
        {"=== a\n! protocol 3\n> GET k\n< _\n", true},
        {"=== a\n! protocol 2\n> GET k\n< _\n", false},
        {"=== a\n>> *x\\r\\n\n< -ERR Protocol error: invalid multibulk length\n! closed\n", true},
        {"=== a\n> PING\n< +PONG\n! closed\n", false},
        {"=== a\n> SET k v\n< +OK\n=== b\n> GET k\n< $-1\n", true},
        {"=== a\n> PING \n< +PONG\n", false},
        {"=== a\n> ECHO \\q\n< +PONG\n", false},
        {"=== a\nPING\n", false},
        {"> PING\n< +PONG\n", false},
    };
    size_t failures = 0, count = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i < count; i++) {
        struct tally tally = {0};
        printf("%s:\n", rows[i].passes ? "must pass" : "must fail");
        play_file(player, "self-test", bytes_of_text(rows[i].text), &tally);
        if ((tally.failed == 0) != rows[i].passes) {
            printf("WRONG: this should have %s:\n%s", rows[i].passes ? "passed" : "failed",
                   rows[i].text);
            failures++;
        }
    }
    printf("%zu passed, %zu failed\n", count - failures, failures);
    return failures != 0;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    struct player *player = player_create();
    if (player == NULL) {
        printf("out of memory\n");
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "--self-test") == 0) {
        int status = self_test(player);
        player_destroy(player);
        return status;
    }
    for (int i = 1; i < argc; i++) {
        size_t size = 0;
        char *content = read_file(argv[i], &size);
        if (content == NULL) {
            printf("FAIL %s cannot be read\n", argv[i]);
            tally.failed++;
            continue;
        }
        play_file(player, argv[i], bytes_of(content, size), &tally);
        free(content);
    }
    player_destroy(player);
    printf("%zu plays; %zu cases need the server\n", tally.plays, tally.skipped);
    printf("%zu passed, %zu failed\n", tally.passed, tally.failed);
    return tally.failed != 0 || tally.passed == 0;
}
