/* SPDX-License-Identifier: MIT
 *
 * Most types are what some meaning is rendered as; numbers of any size, attributes and pushes have
 * no meaning behind them, so they are written here.
 */
#include "wire/resp_sample.h"

static void write_text(struct reply *reply, const char *text)
{
    sink_write_bytes(reply->sink, bytes_of_text(text));
}

static void sample_string(struct reply *reply)
{
    reply->ops->bytes(reply, BYTES("Hello World"));
}

static void sample_integer(struct reply *reply)
{
    reply->ops->integer(reply, 12345);
}

static void sample_double(struct reply *reply)
{
    reply->ops->number(reply, 3.141);
}

static void sample_bignum(struct reply *reply)
{
    if (reply->version >= 3)
        write_text(reply, "(1234567999999999999999999999999999999\r\n");
    else
        reply->ops->bytes(reply, BYTES("1234567999999999999999999999999999999"));
}

static void sample_null(struct reply *reply)
{
    reply->ops->missing(reply);
}

static void three_integers(struct reply *reply)
{
    for (int64_t i = 0; i < 3; i++)
        reply->ops->integer(reply, i);
}

static void sample_array(struct reply *reply)
{
    reply->ops->list(reply, 3);
    three_integers(reply);
}

static void sample_set(struct reply *reply)
{
    reply->ops->set(reply, 3);
    three_integers(reply);
}

static void sample_map(struct reply *reply)
{
    reply->ops->map(reply, 3);
    for (int64_t i = 0; i < 3; i++) {
        reply->ops->integer(reply, i);
        reply->ops->boolean(reply, i == 1);
    }
}

/* Not replies themselves, so one follows. */
static void sample_attribute(struct reply *reply)
{
    if (reply->version >= 3)
        write_text(reply, "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n");
    reply->ops->bytes(reply, BYTES("Some real reply following the attribute"));
}

static void sample_push(struct reply *reply)
{
    if (reply->version < 3) {
        reply_errorf(reply, "ERR", "RESP2 is not supported by this command");
        return;
    }
    write_text(reply, ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n");
    reply->ops->bytes(reply, BYTES("Some real reply following the push reply"));
}

static void sample_true(struct reply *reply)
{
    reply->ops->boolean(reply, true);
}

static void sample_false(struct reply *reply)
{
    reply->ops->boolean(reply, false);
}

static void sample_verbatim(struct reply *reply)
{
    reply->ops->text(reply, BYTES("This is a verbatim\nstring"));
}

static const struct {
    const char *type;
    void (*write)(struct reply *reply);
} samples[] = {
    {"string", sample_string},     {"integer", sample_integer}, {"double", sample_double},
    {"bignum", sample_bignum},     {"null", sample_null},       {"array", sample_array},
    {"set", sample_set},           {"map", sample_map},         {"attrib", sample_attribute},
    {"push", sample_push},         {"true", sample_true},       {"false", sample_false},
    {"verbatim", sample_verbatim},
};

bool resp_sample(struct reply *reply, struct bytes type)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        if (bytes_equal_text_nocase(type, samples[i].type)) {
            samples[i].write(reply);
            return true;
        }
    }
    return false;
}
