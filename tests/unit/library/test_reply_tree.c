/* SPDX-License-Identifier: MIT
 *
 * Replies as trees: every kind, nested, and with each allocation failing in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "command/reply_tree.h"

static void test_every_kind_keeps_its_meaning(void **state)
{
    (void)state;
    struct reply_tree tree;
    struct larder_reply *root;
    reply_tree_init(&tree);
    struct reply *reply = &tree.reply;
    const struct reply_ops *ops = reply->ops;
    struct value value = {.data = "in place", .size = 8};
    ops->list(reply, 13);
    ops->ok(reply);
    ops->stored(reply);
    ops->not_stored(reply);
    ops->missing(reply);
    ops->missing_list(reply);
    ops->value(reply, &value);
    ops->bytes(reply, bytes_of("a\0b", 3));
    ops->word(reply, "PONG");
    ops->text(reply, BYTES("for people"));
    ops->integer(reply, INT64_MIN);
    ops->number(reply, 1.5);
    ops->boolean(reply, true);
    assert_false(reply->errored);
    ops->error(reply, "WRONGTYPE", BYTES("no"));
    assert_true(reply->errored);
    assert_int_equal(reply_tree_finish(&tree, &root), STATUS_OK);

    static const enum larder_reply_kind kinds[] = {
        LARDER_REPLY_OK,      LARDER_REPLY_STORED,       LARDER_REPLY_NOT_STORED,
        LARDER_REPLY_MISSING, LARDER_REPLY_MISSING_LIST, LARDER_REPLY_BYTES,
        LARDER_REPLY_BYTES,   LARDER_REPLY_WORD,         LARDER_REPLY_TEXT,
        LARDER_REPLY_INTEGER, LARDER_REPLY_NUMBER,       LARDER_REPLY_BOOLEAN,
        LARDER_REPLY_ERROR};
    assert_int_equal(root->kind, LARDER_REPLY_LIST);
    assert_int_equal(root->count, sizeof kinds / sizeof *kinds);
    for (size_t i = 0; i < root->count; i++)
        assert_int_equal(root->items[i].kind, kinds[i]);
    assert_string_equal(root->items[5].data, "in place");
    assert_int_equal(root->items[6].size, 3);
    assert_memory_equal(root->items[6].data, "a\0b", 4);
    assert_string_equal(root->items[7].data, "PONG");
    assert_string_equal(root->items[8].data, "for people");
    assert_true(root->items[9].integer == INT64_MIN);
    assert_true(root->items[10].number == 1.5);
    assert_int_equal(root->items[11].integer, 1);
    assert_string_equal(root->items[12].code, "WRONGTYPE");
    assert_string_equal(root->items[12].data, "no");
    reply_tree_free(root);
}

/* Maps of lists, sets and maps, some of them empty, each at the end of its parent or not. */
static void emit_nested(struct reply *reply, int depth)
{
    const struct reply_ops *ops = reply->ops;
    if (depth == 0) {
        ops->integer(reply, 7);
        return;
    }
    ops->map(reply, 2);
    ops->word(reply, "list");
    ops->list(reply, 3);
    emit_nested(reply, depth - 1);
    ops->map(reply, 0);
    emit_nested(reply, depth - 1);
    ops->set(reply, 0);
    ops->set(reply, 1);
    emit_nested(reply, depth - 1);
}

static void check_nested(const struct larder_reply *reply, int depth)
{
    if (depth == 0) {
        assert_int_equal(reply->kind, LARDER_REPLY_INTEGER);
        assert_int_equal(reply->integer, 7);
        return;
    }
    assert_int_equal(reply->kind, LARDER_REPLY_MAP);
    assert_int_equal(reply->count, 4);
    assert_string_equal(reply->items[0].data, "list");
    const struct larder_reply *list = &reply->items[1];
    assert_int_equal(list->kind, LARDER_REPLY_LIST);
    assert_int_equal(list->count, 3);
    check_nested(&list->items[0], depth - 1);
    assert_int_equal(list->items[1].kind, LARDER_REPLY_MAP);
    assert_int_equal(list->items[1].count, 0);
    check_nested(&list->items[2], depth - 1);
    assert_int_equal(reply->items[2].kind, LARDER_REPLY_SET);
    assert_int_equal(reply->items[2].count, 0);
    assert_int_equal(reply->items[3].count, 1);
    check_nested(&reply->items[3].items[0], depth - 1);
}

static void test_nested_lists_close_where_they_end(void **state)
{
    (void)state;
    for (int depth = 0; depth < 7; depth++) {
        struct reply_tree tree;
        struct larder_reply *root;
        reply_tree_init(&tree);
        emit_nested(&tree.reply, depth);
        assert_int_equal(reply_tree_finish(&tree, &root), STATUS_OK);
        check_nested(root, depth);
        reply_tree_free(root);
    }
}

static void test_an_impossible_count_is_out_of_memory(void **state)
{
    (void)state;
    struct reply_tree tree;
    struct larder_reply *root;
    reply_tree_init(&tree);
    tree.reply.ops->map(&tree.reply, UINT64_MAX / 2 + 1);
    tree.reply.ops->ok(&tree.reply);
    assert_int_equal(reply_tree_finish(&tree, &root), STATUS_NO_MEMORY);
}

#if LARDER_FAULTS
static void test_a_failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    for (unsigned long nth = 1;; nth++) {
        struct reply_tree tree;
        struct larder_reply *root;
        alloc_fault_at(nth);
        reply_tree_init(&tree);
        emit_nested(&tree.reply, 5);
        enum status status = reply_tree_finish(&tree, &root);
        bool fired = alloc_fault_fired();
        alloc_fault_at(0);
        assert_int_equal(status, fired ? STATUS_NO_MEMORY : STATUS_OK);
        if (!fired) {
            assert_true(nth > 3);
            reply_tree_free(root);
            break;
        }
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_keeps_its_meaning),
        cmocka_unit_test(test_nested_lists_close_where_they_end),
        cmocka_unit_test(test_an_impossible_count_is_out_of_memory),
#if LARDER_FAULTS
        cmocka_unit_test(test_a_failed_allocation_leaves_nothing),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
