/* SPDX-License-Identifier: MIT
 *
 * The command table and how names are looked up.
 *
 * A name is packed into three words, letters made lower case eight at a time and the size in the
 * last byte, so that one multiplication hashes it and three compares recognise it. The index is an
 * open addressed array at most half full.
 *
 * Written only by command_table_add, before any other thread looks.
 */
#include <stdio.h>
#include <string.h>

#include "base/ensure.h"
#include "command/command.h"
#include "command/handlers.h"

enum { INDEX_BITS = 10, INDEX_SIZE = 1 << INDEX_BITS };
static_assert(INDEX_SIZE >= 2 * COMMANDS_MAX, "probes must stay short");

struct packed_name {
    uint64_t words[3];
};

struct index_slot {
    struct packed_name name;
    const struct command *command; /* NULL: empty */
};

static const struct command own_rows[] = {
#define COMMAND COMMAND_ROW
#define SUBCOMMAND COMMAND_ROW_SUB
#define PARENT COMMAND_ROW_PARENT
#include "command/commands.def"
#undef PARENT
#undef SUBCOMMAND
#undef COMMAND
};

static struct command table[COMMANDS_MAX];
static uint32_t table_count;
static const struct command *tables_added[8]; /* the rows arrays copied into `table` */
static uint32_t tables_added_count;
static struct index_slot name_index[INDEX_SIZE];

/* At most 8 bytes as a number, without reading beyond them: the loads overlap. */
static inline uint64_t load_word(const char *data, size_t size)
{
    if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + size - 4, 4);
        return low | (uint64_t)high << (8 * (size - 4));
    }
    if (size == 0)
        return 0;
    const uint8_t *bytes = (const uint8_t *)data;
    return bytes[0] | (uint64_t)bytes[size / 2] << (8 * (size / 2)) |
           (uint64_t)bytes[size - 1] << (8 * (size - 1));
}

/* Each byte of 'A'..'Z' gets its bit 0x20. Sums of 7-bit parts cannot carry into the next byte. */
static inline uint64_t lower_word(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t low = word & (0x7f * ones);
    uint64_t from_a = low + (0x80 - 'A') * ones;
    uint64_t above_z = low + (0x80 - 'Z' - 1) * ones;
    uint64_t upper = from_a & ~above_z & ~word & (0x80 * ones);
    return word | upper >> 2;
}

/* False: no command has such a name. */
static inline bool pack_name(struct bytes name, struct packed_name *out)
{
    if (name.size > COMMAND_NAME_SIZE_MAX)
        return false;
    out->words[2] = (uint64_t)name.size << 56;
    if (name.size <= 8) {
        out->words[0] = lower_word(load_word(name.data, name.size));
        out->words[1] = 0;
        return true;
    }
    out->words[0] = lower_word(load_word(name.data, 8));
    if (name.size <= 16) {
        out->words[1] = lower_word(load_word(name.data + 8, name.size - 8));
    } else {
        out->words[1] = lower_word(load_word(name.data + 8, 8));
        out->words[2] |= lower_word(load_word(name.data + 16, name.size - 16));
    }
    return true;
}

static inline uint32_t index_start(const struct packed_name *name)
{
    uint64_t mixed = name->words[0] + name->words[1] * 3 + name->words[2] * 5;
    return (uint32_t)(mixed * 0x9e3779b97f4a7c15u >> (64 - INDEX_BITS));
}

static inline bool names_equal(const struct packed_name *a, const struct packed_name *b)
{
    return ((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) |
            (a->words[2] ^ b->words[2])) == 0;
}

const struct command *command_find(struct bytes name)
{
    struct packed_name packed;
    if (!pack_name(name, &packed))
        return NULL;
    for (uint32_t i = index_start(&packed);; i = (i + 1) % INDEX_SIZE) {
        const struct index_slot *slot = &name_index[i];
        if (slot->command == NULL || names_equal(&slot->name, &packed))
            return slot->command;
    }
}

const struct command *command_find_sub(const struct command *parent, struct bytes name)
{
    for (uint32_t i = 0; i < table_count; i++) {
        if (table[i].parent == parent && bytes_equal_text_nocase(name, table[i].name))
            return &table[i];
    }
    return parent;
}

struct bytes command_full_name(const struct command *command, char out[COMMAND_FULL_NAME_SIZE])
{
    const struct command *parent = command->parent;
    int size = snprintf(out, COMMAND_FULL_NAME_SIZE, "%s%s%s", parent != NULL ? parent->name : "",
                        parent != NULL ? "|" : "", command->name);
    return bytes_of(out, (size_t)size);
}

const struct command *command_find_full(struct bytes name)
{
    const char *bar = name.size > 0 ? memchr(name.data, '|', name.size) : NULL;
    if (bar == NULL)
        return command_find(name);
    size_t size = (size_t)(bar - name.data);
    const struct command *parent = command_find(bytes_of(name.data, size));
    if (parent == NULL)
        return NULL;
    const struct command *sub = command_find_sub(parent, bytes_of(bar + 1, name.size - size - 1));
    return sub != parent ? sub : NULL;
}

static void index_command(const struct command *command)
{
    struct packed_name packed;
    bool short_enough = pack_name(bytes_of_text(command->name), &packed);
    ENSURE(short_enough && command_find(bytes_of_text(command->name)) == NULL);
    uint32_t i = index_start(&packed);
    while (name_index[i].command != NULL)
        i = (i + 1) % INDEX_SIZE;
    name_index[i] = (struct index_slot){packed, command};
}

enum status command_table_add(const struct command *rows, uint32_t count)
{
    for (uint32_t i = 0; i < tables_added_count; i++) {
        if (tables_added[i] == rows)
            return STATUS_OK;
    }
    if (count > COMMANDS_MAX - table_count ||
        tables_added_count == sizeof(tables_added) / sizeof(tables_added[0]))
        return STATUS_NO_MEMORY;
    tables_added[tables_added_count++] = rows;

    struct command *parent = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct command *copy = &table[table_count];
        *copy = rows[i];
        copy->id = table_count++;
        if ((copy->flags & COMMAND_SUB) == 0) {
            index_command(copy);
            parent = copy;
        } else {
            ENSURE(parent != NULL);
            parent->flags |= COMMAND_PARENT;
            copy->parent = parent;
        }
    }
    return STATUS_OK;
}

const struct command *command_rows(uint32_t *out_count)
{
    *out_count = sizeof(own_rows) / sizeof(own_rows[0]);
    return own_rows;
}

uint32_t command_count(void)
{
    return table_count;
}

const struct command *command_at(uint32_t index)
{
    return &table[index];
}
