/* SPDX-License-Identifier: MIT */
#include "server/slowlog.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static void release(struct slowlog_entry *entry)
{
    if (atomic_fetch_sub(&entry->holders, 1) == 1)
        alloc_free(entry);
}

/* ---- what an entry holds */

/* Arguments that stand as they are; a text stands for the others. */
static uint32_t shown_count(uint32_t argc)
{
    return argc > SLOWLOG_ARGUMENTS_MAX ? SLOWLOG_ARGUMENTS_MAX - 1 : argc;
}

enum { REST_SIZE = 64 }; /* of a text that stands for something */

static struct bytes put(char **at, const char *data, size_t size)
{
    struct bytes copy = {*at, size};

    if (size > 0)
        memcpy(*at, data, size);
    *at += size;
    return copy;
}

static struct bytes put_argument(char **at, struct bytes argument)
{
    char rest[REST_SIZE];

    if (argument.size <= SLOWLOG_SIZE_MAX)
        return put(at, argument.data, argument.size);
    struct bytes copy = put(at, argument.data, SLOWLOG_SIZE_MAX);
    int size = snprintf(rest, sizeof(rest), "... (%llu more bytes)",
                        (unsigned long long)(argument.size - SLOWLOG_SIZE_MAX));
    copy.size += put(at, rest, (size_t)size).size;
    return copy;
}

static struct slowlog_entry *create(const struct slowlog_note *note)
{
    uint32_t shown = shown_count(note->argc);
    uint32_t argc = shown + (shown < note->argc) + (note->together > 0);
    size_t size = note->address.size + note->name.size + 2 * (size_t)REST_SIZE;

    for (uint32_t i = 0; i < shown; i++)
        size += (note->argv[i].size < SLOWLOG_SIZE_MAX ? note->argv[i].size : SLOWLOG_SIZE_MAX) +
                REST_SIZE;
    struct slowlog_entry *entry = alloc_get(sizeof(*entry) + argc * sizeof(entry->argv[0]) + size);
    if (entry == NULL)
        return NULL;
    char *at = (char *)&entry->argv[argc], rest[REST_SIZE];

    atomic_init(&entry->holders, 1);
    entry->time_s = note->time_s;
    entry->duration_us = note->duration_us;
    entry->address = put(&at, note->address.data, note->address.size);
    entry->name = put(&at, note->name.data, note->name.size);
    entry->argc = argc;
    for (uint32_t i = 0; i < shown; i++)
        entry->argv[i] = put_argument(&at, note->argv[i]);
    argc = shown;
    if (shown < note->argc) {
        int length = snprintf(rest, sizeof(rest), "... (%u more arguments)", note->argc - shown);
        entry->argv[argc++] = put(&at, rest, (size_t)length);
    }
    if (note->together > 0) {
        int length =
            snprintf(rest, sizeof(rest), "... (and %u more of a pipeline)", note->together);
        entry->argv[argc] = put(&at, rest, (size_t)length);
    }
    return entry;
}

/* ---- the list */

/* Takes the oldest entry off the list. Under the lock. */
static struct slowlog_entry *take_oldest(struct slowlog *log)
{
    struct slowlog_entry *oldest = log->oldest;

    log->oldest = oldest->newer;
    if (log->oldest != NULL)
        log->oldest->older = NULL;
    else
        log->newest = NULL;
    log->count--;
    return oldest;
}

/* Takes all but the newest `keep` off and returns them, chained by `older`. Under the lock. */
static struct slowlog_entry *trim(struct slowlog *log, uint64_t keep)
{
    struct slowlog_entry *taken = NULL;

    while (log->count > keep) {
        struct slowlog_entry *oldest = take_oldest(log);

        oldest->older = taken;
        taken = oldest;
    }
    return taken;
}

static void release_chain(struct slowlog_entry *entry)
{
    while (entry != NULL) {
        struct slowlog_entry *next = entry->older;

        release(entry);
        entry = next;
    }
}

enum status slowlog_add(struct slowlog *log, const struct slowlog_note *note, uint64_t count_max)
{
    struct slowlog_entry *entry = create(note);

    if (entry == NULL)
        return STATUS_NO_MEMORY;
    lock_acquire(&log->lock);
    entry->id = log->id_next++;
    entry->newer = NULL;
    entry->older = log->newest;
    if (log->newest != NULL)
        log->newest->newer = entry;
    else
        log->oldest = entry;
    log->newest = entry;
    log->count++;
    struct slowlog_entry *taken = trim(log, count_max);
    lock_release(&log->lock);
    release_chain(taken);
    return STATUS_OK;
}

void slowlog_reset(struct slowlog *log)
{
    lock_acquire(&log->lock);
    struct slowlog_entry *taken = trim(log, 0);
    lock_release(&log->lock);
    release_chain(taken);
}

uint64_t slowlog_count(struct slowlog *log)
{
    lock_acquire(&log->lock);
    uint64_t count = log->count;
    lock_release(&log->lock);
    return count;
}

enum status slowlog_newest(struct slowlog *log, uint64_t count, struct slowlog_entry ***out,
                           uint64_t *out_count)
{
    uint64_t room = slowlog_count(log), got = 0;

    *out = NULL;
    *out_count = 0;
    if (room > count)
        room = count;
    if (room == 0)
        return STATUS_OK;
    struct slowlog_entry **entries = alloc_get(room * sizeof(struct slowlog_entry *));
    if (entries == NULL)
        return STATUS_NO_MEMORY;
    lock_acquire(&log->lock);
    for (struct slowlog_entry *entry = log->newest; entry != NULL && got < room;
         entry = entry->older) {
        atomic_fetch_add(&entry->holders, 1);
        entries[got++] = entry;
    }
    lock_release(&log->lock);
    *out = entries;
    *out_count = got;
    return STATUS_OK;
}

void slowlog_newest_end(struct slowlog_entry **entries, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        release(entries[i]);
    alloc_free(entries);
}
