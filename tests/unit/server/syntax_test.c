/* SPDX-License-Identifier: MIT
 *
 * The columns `arguments` and `keys` of the command tables. A tree is compared as text: the type's
 * name behind a colon where it is not a string, = and the token, ? * + for the flags optional,
 * multiple and multiple_token, # and the number of a key, what is shown in quotes where it is not
 * the name, and the parts in parentheses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/call.h"
#include "command/key_spec.h"
#include "command/syntax.h"
#include "server/admin.h"

static int add_tables(void **state)
{
    (void)state;
    return admin_tables_add() == STATUS_OK ? 0 : -1;
}

struct text {
    char data[2048];
    size_t size;
};

static void add(struct text *text, const char *prefix, struct bytes bytes)
{
    text->size += (size_t)snprintf(text->data + text->size, sizeof(text->data) - text->size,
                                   "%s%.*s", prefix, (int)bytes.size, bytes.data);
    assert_true(text->size < sizeof(text->data));
}

static void print(struct text *text, const struct argument *first)
{
    for (const struct argument *argument = first; argument != NULL; argument = argument->next) {
        add(text, argument != first ? " " : "", argument->name);
        if (argument->type != ARGUMENT_STRING)
            add(text, ":", bytes_of_text(argument_type_name(argument->type)));
        if (argument->type == ARGUMENT_KEY) {
            char number[16];
            snprintf(number, sizeof(number), "%u", argument->key);
            add(text, "#", bytes_of_text(number));
        }
        if (argument->display.size > 0 && !bytes_equal(argument->display, argument->name)) {
            add(text, "\"", argument->display);
            add(text, "\"", BYTES(""));
        }
        if (argument->token.size > 0)
            add(text, "=", argument->token);
        add(text, argument->optional ? "?" : "", BYTES(""));
        add(text, argument->multiple ? "*" : "", BYTES(""));
        add(text, argument->multiple_token ? "+" : "", BYTES(""));
        assert_int_equal(argument->children != NULL,
                         argument->type == ARGUMENT_ONEOF || argument->type == ARGUMENT_BLOCK);
        if (argument->children != NULL) {
            add(text, "(", BYTES(""));
            print(text, argument->children);
            add(text, ")", BYTES(""));
        }
    }
}

static void check(const struct command *command, const char *expected)
{
    struct syntax syntax;
    struct text text = {.data = ""};

    assert_int_equal(syntax_parse(command, &syntax), STATUS_OK);
    print(&text, syntax.first);
    assert_string_equal(text.data, expected);
}

static void check_column(const char *column, const char *expected)
{
    struct command command = {.name = "test", .arguments = column};

    check(&command, expected);
}

static void words_brackets_and_bars_make_a_tree(void **state)
{
    (void)state;
    check_column("", "");
    check_column("a", "a");
    check_column("  a  count ", "a count:integer");
    check_column("NX", "NX:pure-token=NX");
    check_column("EX seconds", "seconds:integer=EX");
    check_column("AT x y", "AT:block=AT(x y)");
    check_column("A x B y", "x=A y=B");
    check_column("[a]", "a?");
    check_column("[a b]", "a:block?(a b)");
    check_column("[A | B x | c d]", "A:oneof?(A:pure-token=A x=B c:block(c d))");
    check_column("<A|B>", "A:oneof(A:pure-token=A B:pure-token=B)");
    check_column("T <A | b>", "T:oneof=T(A:pure-token=A b)");
    check_column("A | [b] C", "A:oneof(A:pure-token=A b:block(b? C:pure-token=C))");
    check_column("[[A] [B]]", "A:block?(A:pure-token=A? B:pure-token=B?)");
    check_column("T [x]", "T:pure-token=T x?");
}

static void labels_name_what_follows(void **state)
{
    (void)state;
    check_column("n=a", "n\"a\"");
    check_column("A n=ip:port", "n\"ip:port\"=A");
    check_column("n=[A | B]", "n:oneof?(A:pure-token=A B:pure-token=B)");
    check_column("n=A", "n:pure-token=A");
    check_column("n=<A x y>", "n:block=A(x y)");
    check_column("T n=<A | B>", "n:oneof=T(A:pure-token=A B:pure-token=B)");
    check_column("n=[a b]", "n:block?(a b)");
}

static void a_bracket_that_repeats_means_several(void **state)
{
    (void)state;
    check_column("a [a ...]", "a*");
    check_column("a b [a b ...]", "a:block*(a b)");
    check_column("x a b n=[a b ...]", "x n:block*(a b)");
    check_column("[a [a ...]]", "a?*");
    check_column("[a ...]", "a?*");
    check_column("x [a ...]", "x a?*");
    check_column("[ID client-id [client-id ...]]", "client-id:integer=ID?*");
    check_column("[GET a [GET a ...]]", "a=GET?*+");
    check_column("<[A x] | [B y]>...", "x:oneof*(x=A? y=B?)");
    check_column("a...", "a*");
}

static void what_is_not_well_formed_is_refused(void **state)
{
    (void)state;
    static const char *const columns[] = {
        "[",
        "]",
        "[a",
        "a]",
        "[]",
        "<>",
        "<a",
        "a>",
        "|",
        "a|",
        "| a",
        "a || b",
        "[a |]",
        "a [",
        "...",
        "[...]",
        "n=",
        "n= a",
        "=a",
        "a [b",
        "<a]",
        "[a>",
        "(a)",
        "a, b",
        "A <",
        "_",
        "n=n=a",
        "xa [a ...]",
        "[[[[[[[[[[a]]]]]]]]]]",
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        struct command command = {.name = "test", .arguments = columns[i]};
        struct syntax syntax;

        if (syntax_parse(&command, &syntax) != STATUS_SYNTAX)
            fail_msg("taken for well formed: %s", columns[i]);
    }
}

static void a_column_of_too_many_parts_is_refused(void **state)
{
    (void)state;
    for (uint32_t count = SYNTAX_ARGUMENTS_MAX - 1; count <= SYNTAX_ARGUMENTS_MAX + 3; count++) {
        char column[2 * SYNTAX_ARGUMENTS_MAX + 8];
        struct command command = {.name = "test", .arguments = column};
        struct syntax syntax;

        for (uint32_t i = 0; i < count; i++)
            memcpy(column + (size_t)2 * i, "a ", 3);
        assert_int_equal(syntax_parse(&command, &syntax),
                         count <= SYNTAX_ARGUMENTS_MAX ? STATUS_OK : STATUS_SYNTAX);
    }
}

static void labels_are_not_shown(void **state)
{
    (void)state;
    assert_int_equal(syntax_label_size("name=[A]"), 5);
    assert_int_equal(syntax_label_size("flush-type=[A]"), 11);
    assert_int_equal(syntax_label_size("name [A]"), 0);
    assert_int_equal(syntax_label_size("=a"), 0);
    assert_int_equal(syntax_label_size(""), 0);
}

/* ---- the tables' own columns */

static const struct command *find(const char *parent, const char *name)
{
    const struct command *command = command_find(bytes_of_text(parent));

    assert_non_null(command);
    if (name == NULL)
        return command;
    const struct command *sub = command_find_sub(command, bytes_of_text(name));
    assert_ptr_not_equal(sub, command);
    return sub;
}

static void every_command_s_column_is_well_formed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);
        struct syntax syntax;

        if (syntax_parse(command, &syntax) != STATUS_OK)
            fail_msg("%s: %s", command->name, command->arguments);
    }
}

/* How many arguments a request has at least, by the column. */
static uint32_t least(const struct argument *argument)
{
    uint32_t count = 0;

    for (; argument != NULL; argument = argument->next) {
        uint32_t own = argument->token.size > 0;

        if (argument->optional)
            continue;
        if (argument->type == ARGUMENT_ONEOF) {
            uint32_t fewest = UINT32_MAX;
            for (const struct argument *one = argument->children; one != NULL; one = one->next) {
                struct argument alone = *one;
                alone.next = NULL;
                alone.optional = false;
                uint32_t size = least(&alone);
                fewest = size < fewest ? size : fewest;
            }
            own += fewest;
        } else if (argument->type == ARGUMENT_BLOCK) {
            own += least(argument->children);
        } else if (argument->type != ARGUMENT_PURE_TOKEN) {
            own++;
        }
        count += own;
    }
    return count;
}

static void every_command_s_column_agrees_with_its_arity_and_keys(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);
        struct syntax syntax;
        uint32_t words = command->flags & COMMAND_SUB ? 2 : 1, keys = 0;

        if (command->handler == NULL)
            continue;
        assert_int_equal(syntax_parse(command, &syntax), STATUS_OK);
        words += least(syntax.first);
        if (words != (uint32_t)(command->arity < 0 ? -command->arity : command->arity))
            fail_msg("%s takes %u words: %s", command->name, words, command->arguments);
        for (uint32_t j = 0; j < syntax.count; j++)
            keys += syntax.arguments[j].type == ARGUMENT_KEY;
        if ((keys > 0) != (command->key_first > 0))
            fail_msg("%s has %u keys: %s", command->name, keys, command->arguments);
    }
}

static void commands_are_told_as_redis_tells_them(void **state)
{
    (void)state;
    check(find("set", NULL),
          "key:key#0 value "
          "condition:oneof?(NX:pure-token=NX XX:pure-token=XX comparison-value=IFEQ) "
          "GET:pure-token=GET? "
          "expiration:oneof?(seconds:integer=EX milliseconds:integer=PX "
          "unix-time-seconds:unix-time=EXAT unix-time-milliseconds:unix-time=PXAT "
          "KEEPTTL:pure-token=KEEPTTL)");
    check(find("getex", NULL),
          "key:key#0 expiration:oneof?(seconds:integer=EX milliseconds:integer=PX "
          "unix-time-seconds:unix-time=EXAT unix-time-milliseconds:unix-time=PXAT "
          "PERSIST:pure-token=PERSIST)");
    check(find("client", "kill"),
          "filter:oneof(old-format\"ip:port\" new-format:oneof*(client-id:integer=ID? "
          "client-type:oneof=TYPE?(NORMAL:pure-token=NORMAL MASTER:pure-token=MASTER "
          "REPLICA:pure-token=REPLICA PUBSUB:pure-token=PUBSUB) username=USER? "
          "addr\"ip:port\"=ADDR? laddr\"ip:port\"=LADDR? "
          "skipme:oneof=SKIPME?(YES:pure-token=YES NO:pure-token=NO) maxage:integer=MAXAGE?))");
    check(find("mset", NULL), "data:block*(key:key#0 value)");
    check(find("del", NULL), "key:key#0*");
    check(find("rename", NULL), "key:key#0 newkey:key#1");
    check(find("object", "encoding"), "key:key#0");
    check(find("incrby", NULL), "key:key#0 increment:integer");
    check(find("incrbyfloat", NULL), "key:key#0 increment:double");
    check(find("scan", NULL),
          "cursor:integer pattern:pattern=MATCH? count:integer=COUNT? type=TYPE?");
    check(find("hello", NULL),
          "arguments:block?(protover:integer AUTH:block=AUTH?(username password) "
          "clientname=SETNAME?)");
    check(find("config", "set"), "data:block*(parameter value)");
    check(find("ping", NULL), "message?");
    check(find("dbsize", NULL), "");
}

/* ---- keys */

static void every_flag_of_keys_is_one_of_redis_s(void **state)
{
    (void)state;
    static const char *const known[] = {"RO",     "RW",     "OW",     "RM",
                                        "access", "update", "insert", "delete"};

    for (uint32_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);
        struct key_spec specs[KEY_SPECS_MAX];
        uint32_t count = key_specs(command, specs);

        assert_int_equal(count > 0, command->key_first > 0);
        for (uint32_t j = 0; j < 2 * count; j++) {
            struct bytes flags = j % 2 == 0 ? specs[j / 2].flags : specs[j / 2].otherwise;
            char text[64];
            uint32_t kinds = 0;

            assert_int_equal(specs[j / 2].token.size > 0, specs[j / 2].otherwise.size > 0);
            if (flags.size == 0)
                continue;
            snprintf(text, sizeof(text), "%.*s", (int)flags.size, flags.data);
            char *rest = text;
            for (char *word; (word = strsep(&rest, " ")) != NULL;) {
                size_t k = 0;
                while (k < sizeof(known) / sizeof(known[0]) && strcmp(word, known[k]) != 0)
                    k++;
                if (k == sizeof(known) / sizeof(known[0]))
                    fail_msg("%s: %s", command->name, word);
                kinds += k < 4;
            }
            assert_int_equal(kinds, 1);
            if (command->flags & COMMAND_READ)
                assert_memory_equal(text, "RO", 2);
        }
        if (count > 1)
            assert_int_equal(count, command_key_count(command, (uint32_t)abs(command->arity)));
    }
}

static void check_flags(const char *name, const struct bytes *argv, uint32_t argc, uint32_t nth,
                        const char *expected)
{
    const struct command *command = find(name, NULL);
    struct key_spec specs[KEY_SPECS_MAX];
    uint32_t count = key_specs(command, specs);
    struct bytes flags = key_spec_flags(&specs[key_spec_index(nth, count)], command, argc, argv);

    assert_int_equal(flags.size, strlen(expected));
    assert_memory_equal(flags.data, expected, flags.size);
}

static void flags_of_keys_follow_from_the_request(void **state)
{
    (void)state;
    const struct bytes set[] = {BYTES("SET"), BYTES("get"), BYTES("GET"), BYTES("NX"),
                                BYTES("gEt")};
    const struct bytes rename[] = {BYTES("RENAME"), BYTES("a"), BYTES("b")};

    check_flags("set", set, 3, 0, "OW update");
    check_flags("set", set, 4, 0, "OW update");
    check_flags("set", set, 5, 0, "RW access update");
    check_flags("rename", rename, 3, 0, "RW access delete");
    check_flags("rename", rename, 3, 1, "OW update");
    check_flags("get", rename, 2, 0, "RO access");
    check_flags("incr", rename, 2, 0, "RW access update");
    check_flags("del", rename, 3, 1, "RM delete");
}

static void specifications_cover_the_keys(void **state)
{
    (void)state;
    struct key_spec specs[KEY_SPECS_MAX];

    assert_int_equal(key_specs(find("lcs", NULL), specs), 1);
    assert_int_equal(specs[0].first, 1);
    assert_int_equal(specs[0].last, 1);
    assert_int_equal(key_specs(find("mset", NULL), specs), 1);
    assert_int_equal(specs[0].last, -1);
    assert_int_equal(specs[0].step, 2);
    assert_int_equal(key_specs(find("copy", NULL), specs), 2);
    assert_int_equal(specs[1].first, 2);
    assert_int_equal(specs[1].last, 0);
    assert_int_equal(key_specs(find("object", "freq"), specs), 1);
    assert_int_equal(specs[0].first, 2);
    assert_int_equal(key_specs(find("ping", NULL), specs), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_brackets_and_bars_make_a_tree),
        cmocka_unit_test(labels_name_what_follows),
        cmocka_unit_test(a_bracket_that_repeats_means_several),
        cmocka_unit_test(what_is_not_well_formed_is_refused),
        cmocka_unit_test(a_column_of_too_many_parts_is_refused),
        cmocka_unit_test(labels_are_not_shown),
        cmocka_unit_test(every_command_s_column_is_well_formed),
        cmocka_unit_test(every_command_s_column_agrees_with_its_arity_and_keys),
        cmocka_unit_test(commands_are_told_as_redis_tells_them),
        cmocka_unit_test(every_flag_of_keys_is_one_of_redis_s),
        cmocka_unit_test(flags_of_keys_follow_from_the_request),
        cmocka_unit_test(specifications_cover_the_keys),
    };
    return cmocka_run_group_tests(tests, add_tables, NULL);
}
