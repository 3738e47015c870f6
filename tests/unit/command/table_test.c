/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "command/command.h"

static enum outcome nothing(struct call *call)
{
    (void)call;
    return OUTCOME_DONE;
}

/* As server/commands.def makes its own: a container, its subcommands, names of every size. */
static const struct command extra[] = {
    {.name = "tconfig", .arity = -2},
    {.name = "get", .handler = nothing, .arity = -3, .flags = COMMAND_SUB},
    {.name = "resetstat", .handler = nothing, .arity = 2, .flags = COMMAND_SUB},
    {.name = "a", .handler = nothing, .arity = 1},
    {.name = "twelve_chars", .handler = nothing, .arity = 1},
    {.name = "sixteen_chars_xy", .handler = nothing, .arity = 1},
    {.name = "a_name_with_23_chars_xy", .handler = nothing, .arity = 1},
};

static int add_tables(void **state)
{
    (void)state;
    uint32_t count;
    const struct command *rows = command_rows(&count);
    if (command_table_add(rows, count) != STATUS_OK ||
        command_table_add(extra, sizeof(extra) / sizeof(extra[0])) != STATUS_OK)
        return -1;
    return 0;
}

static void every_command_is_found_in_any_case(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);
        assert_int_equal(command->id, i);
        if (command->parent != NULL)
            continue;
        char name[32];
        snprintf(name, sizeof(name), "%s", command->name);
        assert_ptr_equal(command_find(bytes_of_text(name)), command);
        for (char *at = name; *at != '\0'; at++) {
            *at = (char)toupper((unsigned char)*at);
            assert_ptr_equal(command_find(bytes_of_text(name)), command);
        }
    }
}

static void near_misses_are_not_found(void **state)
{
    (void)state;
    static const struct bytes names[] = {
        {"", 0},
        {"ge", 2},
        {"gett", 4},
        {"get\0", 4},
        {"\0get", 4},
        {"g\x05t", 3},
        {"get ", 4},
        {"GE\x54\x80", 4},
        {"g\xe5t", 3},
        {"@et", 3},
        {"[", 1},
        {"\x01", 1},
        {"sixteen_chars_xyz", 17},
        {"incrbyfloa\x14", 11},
        {"a_name_with_23_chars_xyz", 24},
        {NULL, 0},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_null(command_find(names[i]));
    char big[5000];
    memset(big, 'g', sizeof(big));
    assert_null(command_find(bytes_of(big, sizeof(big))));
}

static void names_are_read_within_their_bounds(void **state)
{
    (void)state;
    /* Each name ends where its memory does, which the address sanitizer watches. */
    for (size_t size = 1; size <= 23; size++) {
        char *exact = test_malloc(size);
        memset(exact, 'q', size);
        assert_null(command_find(bytes_of(exact, size)));
        test_free(exact);
    }
}

static void subcommands_are_found_through_their_parent(void **state)
{
    (void)state;
    const struct command *parent = command_find(BYTES("TCONFIG"));
    assert_non_null(parent);
    assert_true(parent->flags & COMMAND_PARENT);
    const struct command *get = command_find_sub(parent, BYTES("GET"));
    assert_string_equal(get->name, "get");
    assert_ptr_equal(get->parent, parent);
    assert_ptr_equal(command_find_sub(parent, BYTES("nope")), parent);
    assert_ptr_not_equal(command_find(BYTES("get")), get);
    assert_null(command_find(BYTES("resetstat")));
}

static void full_names_tell_the_parent(void **state)
{
    char name[COMMAND_FULL_NAME_SIZE];
    (void)state;
    for (uint32_t i = 0; i < command_count(); i++)
        assert_ptr_equal(command_find_full(command_full_name(command_at(i), name)), command_at(i));
    const struct command *get = command_find_full(BYTES("TConfig|GET"));
    assert_string_equal(command_full_name(get, name).data, "tconfig|get");
    static const char *const near[] = {"",         "|",     "tconfig|", "tconfig|nope",
                                       "nope|get", "a|get", "get|",     "tconfig|get|get"};
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
        assert_null(command_find_full(bytes_of_text(near[i])));
}

static void adding_the_same_rows_again_changes_nothing(void **state)
{
    uint32_t before = command_count();
    assert_int_equal(add_tables(state), 0);
    assert_int_equal(command_count(), before);
}

static void rows_are_sound(void **state)
{
    (void)state;
    uint32_t count;
    const struct command *rows = command_rows(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct command *row = &rows[i];
        bool container = i + 1 < count && (row[1].flags & COMMAND_SUB) != 0;
        assert_true(row->handler != NULL || (container && (row->flags & COMMAND_SUB) == 0));
        assert_true(strlen(row->name) <= COMMAND_NAME_SIZE_MAX);
        assert_true(strlen(row->summary) > 0 && strlen(row->since) > 0);
        assert_true(!(row->flags & COMMAND_READ) || !(row->flags & COMMAND_WRITE));
        assert_true(!(row->flags & COMMAND_GROWS) || (row->flags & COMMAND_WRITE));
        assert_true(!(row->flags & COMMAND_READ) || row->key_first != 0 ||
                    (row->flags & (COMMAND_ALL_KEYS | COMMAND_UNLOCKED)));
        if (row->key_first != 0) {
            int least = row->arity < 0 ? -row->arity : row->arity;
            assert_true(least > row->key_first && least > row->key_last && row->key_step > 0);
        }
    }
}

static void arity_counts_the_name(void **state)
{
    (void)state;
    const struct command *get = command_find(BYTES("get")), *mget = command_find(BYTES("mget"));
    assert_false(command_arity_ok(get, 1));
    assert_true(command_arity_ok(get, 2));
    assert_false(command_arity_ok(get, 3));
    assert_false(command_arity_ok(mget, 1));
    assert_true(command_arity_ok(mget, 2));
    assert_true(command_arity_ok(mget, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_found_in_any_case),
        cmocka_unit_test(near_misses_are_not_found),
        cmocka_unit_test(names_are_read_within_their_bounds),
        cmocka_unit_test(subcommands_are_found_through_their_parent),
        cmocka_unit_test(full_names_tell_the_parent),
        cmocka_unit_test(adding_the_same_rows_again_changes_nothing),
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(arity_counts_the_name),
    };
    return cmocka_run_group_tests(tests, add_tables, NULL);
}
