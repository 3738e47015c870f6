/* SPDX-License-Identifier: MIT
 *
 * A program with a cache inside: two threads share one handle.
 *
 *     cc embed.c $(pkg-config --cflags --libs larder) -pthread && ./a.out
 */
#include <larder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void check(enum larder_status status)
{
    if (status != LARDER_OK) {
        fprintf(stderr, "embed: %s\n", larder_status_text(status));
        exit(1);
    }
}

/* Each thread counts to a thousand on the same key. It needs no preparation; the bracket only makes
 * many calls in a row cheaper. */
static void *count(void *argument)
{
    struct larder *cache = argument;
    check(larder_enter(cache));
    for (int i = 0; i < 1000; i++)
        check(larder_incr(cache, larder_text("visits"), 1, NULL));
    larder_leave(cache);
    return NULL;
}

static void show(void *argument, size_t index, const struct larder_value *value)
{
    const struct larder_bytes *keys = argument;
    printf("%.*s: %.*s\n", (int)keys[index].size, keys[index].data,
           value != NULL ? (int)value->size : 1, value != NULL ? value->data : "-");
}

int main(void)
{
    struct larder_options options = {.memory_max_bytes = 64 << 20};
    struct larder *cache;
    check(larder_open(&options, &cache));

    /* A value that lives for ten minutes, copied out again. */
    struct larder_set_options ten_minutes = {.ttl_ms = 10 * 60 * 1000};
    char buffer[64];
    size_t size;
    bool found;
    check(larder_set(cache, larder_text("greeting"), larder_text("hello"), &ten_minutes, NULL));
    check(larder_get(cache, larder_text("greeting"), buffer, sizeof buffer, &size, &found));
    printf("greeting: %.*s\n", found ? (int)size : 1, found ? buffer : "-");

    pthread_t other;
    if (pthread_create(&other, NULL, count, cache) != 0)
        return 1;
    count(cache);
    pthread_join(other, NULL);

    struct larder_bytes keys[] = {larder_text("greeting"), larder_text("visits"),
                                  larder_text("absent")};
    check(larder_get_many(cache, keys, sizeof keys / sizeof *keys, show, keys));

    /* Whatever has no function of its own is a command. */
    struct larder_bytes command[] = {larder_text("APPEND"), larder_text("greeting"),
                                     larder_text(", world")};
    struct larder_reply *reply;
    check(larder_command(cache, 3, command, &reply));
    if (reply->kind == LARDER_REPLY_INTEGER)
        printf("greeting has %lld bytes now\n", (long long)reply->integer);
    else if (reply->kind == LARDER_REPLY_ERROR)
        printf("%s %s\n", reply->code, reply->data);
    larder_reply_free(reply);

    larder_close(cache);
    return 0;
}
