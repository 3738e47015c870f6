/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/admin_request.h"
#include "server/metrics.h"

/* Parses a copy, so that a read beyond it is found, at each size as it arrives: nothing but "more"
 * may be said before the last byte, unless it is refused. */
static struct admin_request parse(const char *text, size_t size, size_t *consumed)
{
    struct admin_request request = {.refusal = -1};

    *consumed = 0;
    for (size_t have = 0; have <= size && *consumed == 0; have++) {
        char *copy = malloc(have != 0 ? have : 1);

        assert_non_null(copy);
        memcpy(copy, text, have);
        *consumed = admin_request_parse(copy, have, &request);
        if (*consumed != 0 && request.refusal == 0) {
            assert_int_equal(*consumed, have);
            /* Path and host point into the copy. */
            request.path.data = text + (request.path.data - copy);
            if (request.host.data != NULL)
                request.host.data = text + (request.host.data - copy);
        }
        free(copy);
    }
    return request;
}

static void what_is_right_is_understood_at_every_split(void **state)
{
    static const struct {
        const char *text, *path, *host;
        bool head, keeps;
    } rows[] = {
        {"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "/metrics", "a", false, true},
        {"GET /metrics?x=/healthz HTTP/1.1\r\nHost: a\r\n\r\n", "/metrics", "a", false, true},
        {"GET http://a:1/metrics HTTP/1.1\r\nHost: a\r\n\r\n", "/metrics", "a:1", false, true},
        {"GET http://b/ HTTP/1.0\r\nHost: a\r\n\r\n", "/", "b", false, false},
        {"GET / HTTP/1.0\r\nHost:  a:2 \r\n\r\n", "/", "a:2", false, false},
        {"GET HTTP://a/?q HTTP/1.1\r\nhOST:a\r\n\r\n", "/", "a", false, true},
        {"HEAD / HTTP/1.1\nHost: a\n\n", "/", "a", true, true},
        {"\r\n\r\nGET / HTTP/1.1\r\nHost: \r\n\r\n", "/", "", false, true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "/", "a", false, false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x , CLOSE\t\r\n\r\n", "/", "a", false, false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", "/", "a", false, true},
        {"GET / HTTP/1.0\r\n\r\n", "/", NULL, false, false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "/", NULL, false, true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "/", NULL, false, false},
        {"GET / HTTP/1.2\r\nHost: a\r\nContent-Length: 0\r\nX: \xff\ty\r\n\r\n", "/", "a", false,
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = strlen(rows[i].text), consumed;
        struct admin_request request = parse(rows[i].text, size, &consumed);

        if (consumed != size || request.refusal != 0)
            fail_msg("%s: %zu, %d", rows[i].text, consumed, request.refusal);
        assert_true(bytes_equal(request.path, bytes_of_text(rows[i].path)));
        assert_true(rows[i].host == NULL ? request.host.data == NULL
                                         : bytes_equal(request.host, bytes_of_text(rows[i].host)));
        assert_int_equal(request.head, rows[i].head);
        assert_int_equal(request.keeps, rows[i].keeps);
    }
}

static void what_is_wrong_is_refused_and_ends_the_connection(void **state)
{
    static const struct {
        const char *text;
        int refusal;
    } rows[] = {
        {"GET\r\n", 400},
        {"GET /\r\n", 400},
        {"GET  / HTTP/1.1\r\n", 400},
        {"GET / HTTP/1.1 \r\n", 400},
        {" GET / HTTP/1.1\r\n", 400},
        {"G(T / HTTP/1.1\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\n", 400},
        {"GET metrics HTTP/1.1\r\n", 400},
        {"GET http:///metrics HTTP/1.1\r\n", 400},
        {"GET http://a HTTP/1.1\r\n", 400},
        {"GET * HTTP/1.1\r\n", 400},
        {"GET / http/1.1\r\n", 400},
        {"GET / HTTP/1.x\r\n", 400},
        {"GET / HTTP/11.1\r\n", 400},
        {"GET / HTTP/2.0\r\n", 505},
        {"GET / HTTP/0.9\r\n", 505},
        {"POST / HTTP/1.1\r\n", 405},
        {"get / HTTP/1.1\r\n", 405},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n Host: a\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n", 400},
        {"GET / HTTP/1.1\r\nHost\r\n", 400},
        {"GET / HTTP/1.1\r\n: a\r\n", 400},
        {"GET / HTTP/1.1\r\nX: a\rb\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 0, 0\r\n", 400},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 400},
        {"*1\r\n", 400},
        {"PING\r\n", 400},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t consumed;
        struct admin_request request = parse(rows[i].text, strlen(rows[i].text), &consumed);

        if (consumed == 0 || request.refusal != rows[i].refusal)
            fail_msg("%s: %zu, %d", rows[i].text, consumed, request.refusal);
        assert_false(request.keeps);
    }
}

static void a_head_has_a_limit(void **state)
{
    static const char begin[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    char text[ADMIN_REQUEST_SIZE_MAX + 16];
    struct admin_request request;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(admin_request_parse(text, ADMIN_REQUEST_SIZE_MAX - 1, &request), 0);
    assert_int_not_equal(admin_request_parse(text, ADMIN_REQUEST_SIZE_MAX, &request), 0);
    assert_int_equal(request.refusal, 414);
    memcpy(text, begin, sizeof(begin) - 1);
    assert_int_equal(admin_request_parse(text, ADMIN_REQUEST_SIZE_MAX - 1, &request), 0);
    assert_int_not_equal(admin_request_parse(text, ADMIN_REQUEST_SIZE_MAX, &request), 0);
    assert_int_equal(request.refusal, 431);
    memcpy(text + ADMIN_REQUEST_SIZE_MAX - 4, "\r\n\r\n", 4);
    assert_int_equal(admin_request_parse(text, sizeof(text), &request), ADMIN_REQUEST_SIZE_MAX);
    assert_int_equal(request.refusal, 0);
}

static void labels_cannot_be_left(void **state)
{
    struct buffer out;

    (void)state;
    buffer_init(&out, 1000);
    metrics_label(&out, "a\"b\\c\nd\r\xff%{}|");
    assert_true(bytes_equal(buffer_bytes(&out), BYTES("a\\\"b\\\\c\\nd%0D%FF%25{}|")));
    buffer_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_understood_at_every_split),
        cmocka_unit_test(what_is_wrong_is_refused_and_ends_the_connection),
        cmocka_unit_test(a_head_has_a_limit),
        cmocka_unit_test(labels_cannot_be_left),
    };
    return cmocka_run_group_tests_name("server/admin_request", tests, NULL, NULL);
}
