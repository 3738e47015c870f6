/* SPDX-License-Identifier: MIT
 *
 * Requests of memcached's binary protocol; wire/binary.h shows the packet.
 *
 * A packet is judged by its head alone. What cannot be a request closes the connection once it is
 * answered, as memcached does; of what is only not served the body is skipped. The rest becomes an
 * item command, with its opcode and opaque bytes in the terms, or a command that everybody has.
 *
 * No state, no threads. A packet that has not arrived whole is read again from its head, which is
 * as cheap as remembering. Only where a big value goes elsewhere is the part before it kept, as the
 * request's first argument.
 */
#include "wire/binary.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/number.h"
#include "wire/wire.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    KEY_MAX = 250,
    BODY_MAX = 1024 * 1024 * 1024,
    MECHANISM_MAX = 32,    /* bytes of a SASL mechanism's name */
    SASL_MAX = 64 * 1024,  /* of what is said with it */
    DELTA_MAX_S = 2592000, /* 30 days: what is more is a time since 1970 */
    NEVER_CREATE = -1      /* as an expiry of counting: 0xffffffff */
};

struct packet {
    uint8_t opcode, extras_size;
    uint16_t key_size;
    uint32_t body_size, opaque;
    uint64_t compare;
};

/* ---- opcodes */

enum kind {
    KIND_NONE,
    KIND_GET,
    KIND_TOUCH,
    KIND_SET,
    KIND_EXTEND,
    KIND_DELETE,
    KIND_COUNT,
    KIND_NOOP,
    KIND_QUIT,
    KIND_FLUSH,
    KIND_VERSION,
    KIND_VERBOSITY,
    KIND_STAT,
    KIND_SASL_LIST,
    KIND_SASL_START,
    KIND_SASL_STEP
};

enum shape {
    SHAPE_KEY = 1 << 0, /* there must be one */
    SHAPE_VALUE = 1 << 1,
    SHAPE_KEY_OPTIONAL = 1 << 2,
    SHAPE_EXTRAS_OPTIONAL = 1 << 3,
    SHAPE_STRANGERS = 1 << 4 /* allowed before authentication */
};

struct opcode {
    uint8_t kind, mode, extras_size, shape;
    uint32_t form;
};

enum {
    QUIET = BINARY_QUIET,
    QUIET_GET = BINARY_MISSES_QUIET,
    KEY = BINARY_WITH_KEY,
    FLAGS_ONLY = BINARY_WITHOUT_VALUE,
    EMPTY = BINARY_EMPTY
};

static const struct opcode opcodes[] = {
    [0x00] = {KIND_GET, 0, 0, SHAPE_KEY, 0},
    [0x01] = {KIND_SET, ITEM_SET, 8, SHAPE_KEY | SHAPE_VALUE, 0},
    [0x02] = {KIND_SET, ITEM_ADD, 8, SHAPE_KEY | SHAPE_VALUE, 0},
    [0x03] = {KIND_SET, ITEM_REPLACE, 8, SHAPE_KEY | SHAPE_VALUE, 0},
    [0x04] = {KIND_DELETE, 0, 0, SHAPE_KEY, 0},
    [0x05] = {KIND_COUNT, ITEM_RAISE, 20, SHAPE_KEY, 0},
    [0x06] = {KIND_COUNT, ITEM_LOWER, 20, SHAPE_KEY, 0},
    [0x07] = {KIND_QUIT, 0, 0, 0, EMPTY},
    [0x08] = {KIND_FLUSH, 0, 4, SHAPE_EXTRAS_OPTIONAL, EMPTY},
    [0x09] = {KIND_GET, 0, 0, SHAPE_KEY, QUIET_GET},
    [0x0a] = {KIND_NOOP, 0, 0, 0, EMPTY},
    [0x0b] = {KIND_VERSION, 0, 0, SHAPE_STRANGERS, 0},
    [0x0c] = {KIND_GET, 0, 0, SHAPE_KEY, KEY},
    [0x0d] = {KIND_GET, 0, 0, SHAPE_KEY, KEY | QUIET_GET},
    [0x0e] = {KIND_EXTEND, ITEM_APPEND, 0, SHAPE_KEY | SHAPE_VALUE, 0},
    [0x0f] = {KIND_EXTEND, ITEM_PREPEND, 0, SHAPE_KEY | SHAPE_VALUE, 0},
    [0x10] = {KIND_STAT, 0, 0, SHAPE_KEY_OPTIONAL, EMPTY},
    [0x11] = {KIND_SET, ITEM_SET, 8, SHAPE_KEY | SHAPE_VALUE, QUIET},
    [0x12] = {KIND_SET, ITEM_ADD, 8, SHAPE_KEY | SHAPE_VALUE, QUIET},
    [0x13] = {KIND_SET, ITEM_REPLACE, 8, SHAPE_KEY | SHAPE_VALUE, QUIET},
    [0x14] = {KIND_DELETE, 0, 0, SHAPE_KEY, QUIET},
    [0x15] = {KIND_COUNT, ITEM_RAISE, 20, SHAPE_KEY, QUIET},
    [0x16] = {KIND_COUNT, ITEM_LOWER, 20, SHAPE_KEY, QUIET},
    [0x17] = {KIND_QUIT, 0, 0, 0, EMPTY | QUIET},
    [0x18] = {KIND_FLUSH, 0, 4, SHAPE_EXTRAS_OPTIONAL, EMPTY | QUIET},
    [0x19] = {KIND_EXTEND, ITEM_APPEND, 0, SHAPE_KEY | SHAPE_VALUE, QUIET},
    [0x1a] = {KIND_EXTEND, ITEM_PREPEND, 0, SHAPE_KEY | SHAPE_VALUE, QUIET},
    [0x1b] = {KIND_VERBOSITY, 0, 4, 0, EMPTY},
    [0x1c] = {KIND_TOUCH, 0, 4, SHAPE_KEY, FLAGS_ONLY},
    [0x1d] = {KIND_TOUCH, 0, 4, SHAPE_KEY, 0},
    [0x1e] = {KIND_TOUCH, 0, 4, SHAPE_KEY, QUIET_GET},
    [0x20] = {KIND_SASL_LIST, 0, 0, SHAPE_STRANGERS, 0},
    [0x21] = {KIND_SASL_START, 0, 0, SHAPE_KEY | SHAPE_VALUE | SHAPE_STRANGERS, BINARY_AUTH},
    [0x22] = {KIND_SASL_STEP, 0, 0, SHAPE_KEY | SHAPE_VALUE | SHAPE_STRANGERS, BINARY_AUTH},
    [0x23] = {KIND_TOUCH, 0, 4, SHAPE_KEY, KEY},
    [0x24] = {KIND_TOUCH, 0, 4, SHAPE_KEY, KEY | QUIET_GET},
};

static inline const struct opcode *opcode_of(uint8_t code)
{
    return &opcodes[code < sizeof(opcodes) / sizeof(opcodes[0]) ? code : 0x1f];
}

/* ---- judging a packet by its head */

static inline void read_packet(const char *data, struct packet *out)
{
    out->opcode = (uint8_t)data[1];
    out->key_size = big_endian_u16(data + 2);
    out->extras_size = (uint8_t)data[4];
    out->body_size = big_endian_u32(data + 8);
    memcpy(&out->opaque, data + 12, sizeof(out->opaque));
    out->compare = big_endian_u64(data + 16);
}

static inline uint32_t value_size(const struct packet *packet)
{
    return packet->body_size - packet->extras_size - packet->key_size;
}

static inline bool well_shaped(const struct packet *packet, const struct opcode *opcode)
{
    uint8_t shape = opcode->shape;

    if (packet->key_size == 0 ? (shape & SHAPE_KEY) != 0
                              : (shape & (SHAPE_KEY | SHAPE_KEY_OPTIONAL)) == 0)
        return false;
    if (packet->extras_size != opcode->extras_size &&
        !((shape & SHAPE_EXTRAS_OPTIONAL) && packet->extras_size == 0))
        return false;
    return (shape & SHAPE_VALUE) || value_size(packet) == 0;
}

static bool is_sasl(const struct opcode *opcode)
{
    return opcode->kind == KIND_SASL_START || opcode->kind == KIND_SASL_STEP;
}

/* BINARY_OK: it is served. `*closes`: nothing that follows can be trusted. */
static inline enum binary_status judge(const struct parser *parser, const struct packet *packet,
                                       const struct opcode *opcode, bool *closes)
{
    const struct wire_limits *limits = parser->limits;

    *closes = true;
    if (UNLIKELY((uint32_t)packet->key_size + packet->extras_size > packet->body_size))
        return BINARY_UNKNOWN;
    if (UNLIKELY(packet->body_size > BODY_MAX))
        return BINARY_INVALID;
    if (UNLIKELY(limits->unauthenticated && !(opcode->shape & SHAPE_STRANGERS)))
        return BINARY_AUTH_FAILED;
    if (UNLIKELY(packet->key_size > KEY_MAX))
        return BINARY_INVALID;
    if (UNLIKELY(opcode->kind == KIND_NONE)) {
        *closes = false;
        return BINARY_UNKNOWN;
    }
    if (UNLIKELY(!well_shaped(packet, opcode)))
        return BINARY_INVALID;
    *closes = false;
    if (UNLIKELY(is_sasl(opcode)))
        return value_size(packet) > SASL_MAX      ? BINARY_NO_MEMORY
               : packet->key_size > MECHANISM_MAX ? BINARY_INVALID
                                                  : BINARY_OK;
    return UNLIKELY(value_size(packet) > limits->argument_size_max) ? BINARY_TOO_LARGE : BINARY_OK;
}

/* ---- making requests */

static inline void begin_terms(struct parser *parser, const struct packet *packet,
                               const struct opcode *opcode)
{
    struct item_terms *terms = &parser->terms;

    terms->mode = opcode->mode;
    terms->options = 0;
    terms->flags = 0;
    terms->time.form = ITEM_TIME_KEPT;
    terms->form[0] = (uint64_t)packet->opaque << 32 | opcode->form | packet->opcode;
    terms->form[1] = BINARY_OK;
    parser->request.terms = terms;
}

static inline void put(struct parser *parser, const char *name, size_t name_size, uint32_t argc)
{
    parser->argv[0] = bytes_of(name, name_size);
    parser->request.argv = parser->argv;
    parser->request.argc = argc;
    parser->request.blobs = parser->blobs;
}

#define PUT(parser, name, argc) put(parser, name, sizeof(name) - 1, argc)

/* What is answered without asking anybody. */
static void answer(struct parser *parser, enum binary_status status, struct bytes body)
{
    parser->terms.form[0] |= BINARY_OWN;
    parser->terms.form[1] = status;
    parser->argv[1] = body;
    PUT(parser, "item-error", 2);
}

static void answer_status(struct parser *parser, enum binary_status status)
{
    answer(parser, status, binary_status_text(status));
}

static inline void put_item(struct parser *parser, const char *name, size_t name_size,
                            struct bytes key)
{
    parser->argv[1] = key;
    parser->argv[2] = BYTES("");
    put(parser, name, name_size, 3);
}

#define PUT_ITEM(parser, name, key) put_item(parser, name, sizeof(name) - 1, key)

static inline void put_value(struct parser *parser, struct bytes key, struct bytes value)
{
    PUT_ITEM(parser, "item-set", key);
    parser->argv[3] = value;
    parser->request.argc = 4;
}

static inline struct item_time read_time(const char *at)
{
    uint32_t seconds = big_endian_u32(at);

    return (struct item_time){
        .form = seconds == 0             ? ITEM_TIME_NEVER
                : seconds <= DELTA_MAX_S ? ITEM_TIME_AFTER
                                         : ITEM_TIME_AT,
        .ms = (int64_t)seconds * 1000,
    };
}

static inline void compare(struct parser *parser, const struct packet *packet)
{
    if (packet->compare != 0) {
        parser->terms.options |= ITEM_COMPARES;
        parser->terms.compare = packet->compare;
    }
}

static void put_count(struct parser *parser, const struct packet *packet, const char *extras,
                      struct bytes key)
{
    struct item_terms *terms = &parser->terms;

    terms->options = ITEM_WANTS_VERSION;
    terms->delta = big_endian_u64(extras);
    terms->initial = big_endian_u64(extras + 8);
    if ((int32_t)big_endian_u32(extras + 16) != NEVER_CREATE) {
        terms->options |= ITEM_VIVIFIES;
        terms->vivify_time = read_time(extras + 16);
    }
    compare(parser, packet);
    PUT_ITEM(parser, "item-count", key);
}

static void put_verbosity(struct parser *parser, const char *extras)
{
    size_t size = number_format_u64(parser->error_text, big_endian_u32(extras));

    parser->argv[1] = bytes_of(parser->error_text, size);
    PUT(parser, "cache-verbosity", 2);
}

/* PLAIN: who to be, who one is, the password, with zero bytes between. */
static bool read_plain(struct bytes text, struct bytes *user, struct bytes *password)
{
    const char *end = text.data + text.size;
    const char *first = text.size > 0 ? memchr(text.data, '\0', text.size) : NULL;
    const char *second = first != NULL ? memchr(first + 1, '\0', (size_t)(end - first - 1)) : NULL;

    if (second == NULL)
        return false;
    *user = bytes_of(first + 1, (size_t)(second - first - 1));
    *password = bytes_of(second + 1, (size_t)(end - second - 1));
    return true;
}

static void put_sasl(struct parser *parser, const struct opcode *opcode, struct bytes mechanism,
                     struct bytes text)
{
    if (!bytes_equal_text_nocase(mechanism, "plain")) {
        answer_status(parser, BINARY_AUTH_FAILED);
    } else if (text.size == 0 && opcode->kind == KIND_SASL_START) {
        answer(parser, BINARY_AUTH_CONTINUES, BYTES(""));
    } else if (!read_plain(text, &parser->argv[1], &parser->argv[2])) {
        answer_status(parser, BINARY_AUTH_FAILED);
    } else {
        PUT(parser, "item-auth", 3);
    }
}

/* `data` begins with the head; extras and key are behind it, the value is anywhere. */
static inline void make_request(struct parser *parser, const struct packet *packet,
                                const struct opcode *opcode, const char *data, struct bytes value)
{
    struct item_terms *terms = &parser->terms;
    const char *extras = data + BINARY_HEAD_SIZE;
    struct bytes key = bytes_of(extras + packet->extras_size, packet->key_size);

    switch (opcode->kind) {
    case KIND_GET:
        terms->options = ITEM_WANTS_VERSION;
        PUT_ITEM(parser, "item-get", key);
        break;
    case KIND_SET:
        terms->options = ITEM_WANTS_VERSION;
        terms->flags = big_endian_u32(extras);
        terms->time = read_time(extras + 4);
        compare(parser, packet);
        if (packet->compare != 0)
            terms->mode = ITEM_SET; /* whatever the opcode: the version decides */
        put_value(parser, key, value);
        break;
    case KIND_TOUCH:
        terms->options = ITEM_WANTS_VERSION;
        terms->time = read_time(extras);
        PUT_ITEM(parser, "item-touch", key);
        break;
    case KIND_EXTEND:
        terms->options = ITEM_WANTS_VERSION;
        compare(parser, packet);
        put_value(parser, key, value);
        break;
    case KIND_DELETE:
        compare(parser, packet);
        PUT_ITEM(parser, "item-delete", key);
        break;
    case KIND_COUNT:
        put_count(parser, packet, extras, key);
        break;
    case KIND_QUIT:
        parser->request.last = true;
        PUT(parser, "ping", 1);
        break;
    case KIND_NOOP:
        PUT(parser, "ping", 1);
        break;
    case KIND_FLUSH:
        if (packet->extras_size > 0)
            terms->time = read_time(extras);
        PUT(parser, "cache-flush", 1);
        break;
    case KIND_VERSION:
        PUT(parser, "cache-version", 1);
        break;
    case KIND_VERBOSITY:
        put_verbosity(parser, extras);
        break;
    case KIND_STAT:
        parser->argv[1] = key;
        PUT(parser, "cache-stats", key.size > 0 ? 2 : 1);
        break;
    case KIND_SASL_LIST:
        answer(parser, BINARY_OK, BYTES("PLAIN"));
        break;
    default:
        put_sasl(parser, opcode, key, value);
    }
}

/* What is too large is not stored, and what it should have replaced must not be found any more. */
static void make_refusal(struct parser *parser, const struct packet *packet,
                         const struct opcode *opcode, const char *data, enum binary_status status)
{
    if (status == BINARY_TOO_LARGE && opcode->kind == KIND_SET && opcode->mode == ITEM_SET) {
        parser->terms.form[1] = status;
        PUT_ITEM(parser, "item-delete",
                 bytes_of(data + BINARY_HEAD_SIZE + packet->extras_size, packet->key_size));
    } else {
        answer_status(parser, status);
    }
}

/* ---- packets that have not arrived whole */

/* `size` bytes are there of `total`; the last ones, from `fixed` on, need not be looked at. */
static enum parse wait(struct parser *parser, const char *data, size_t size, size_t fixed,
                       size_t total, bool unwanted)
{
    parser->blob_need = 0;
    parser->need = size < fixed ? fixed : total;
    if (size == 0)
        return PARSE_MORE;
    parser->argv[0] = bytes_of(data, fixed);
    parser_save(parser, data, 0, 0, 1, unwanted ? 1 : 2);
    if (size >= fixed && total - fixed > PARSER_BLOB_SIZE_MIN) {
        parser->blob_need = total - fixed;
        parser->blob_offset = fixed;
        parser->blob_unwanted = unwanted;
    }
    return PARSE_MORE;
}

/* The value lies in the second argument, what came before it in the first. */
static enum parse finish(struct parser *parser, size_t *consumed)
{
    struct packet packet;
    struct bytes head, value;
    bool closes, wanted = parser->argc_total > 1;

    parser_restore(parser, "", 1);
    head = parser->argv[0];
    value = parser->argv[1];
    parser->blobs[3] = parser->blobs[1];
    parser->blobs[1] = NULL;
    parser->argc_done = 4;
    parser->state = PARSER_DONE;
    read_packet(head.data, &packet);
    const struct opcode *opcode = opcode_of(packet.opcode);
    enum binary_status status = judge(parser, &packet, opcode, &closes);
    begin_terms(parser, &packet, opcode);
    if (status == BINARY_OK && !wanted)
        status = BINARY_TOO_LARGE; /* it was when it began; limits may change meanwhile */
    if (status == BINARY_OK)
        make_request(parser, &packet, opcode, head.data, value);
    else
        make_refusal(parser, &packet, opcode, head.data, status);
    *consumed = 0;
    return PARSE_DONE;
}

static enum parse bad(struct parser *parser, const char *error)
{
    parser->state = PARSER_DONE;
    parser->error = error;
    return PARSE_BAD;
}

static enum parse binary_parse(struct parser *parser, char *data, size_t size, size_t *consumed)
{
    struct packet packet;
    bool closes;

    if (parser->state == PARSER_DONE)
        parser_reset(parser);
    else if (UNLIKELY(parser->argc_kept > 0))
        return finish(parser, consumed);
    if (UNLIKELY(size > 0 && (unsigned char)data[0] != BINARY_REQUEST))
        return bad(parser, "Protocol error: invalid magic");
    if (UNLIKELY(size < BINARY_HEAD_SIZE))
        return wait(parser, data, size, BINARY_HEAD_SIZE, BINARY_HEAD_SIZE, false);

    read_packet(data, &packet);
    const struct opcode *opcode = opcode_of(packet.opcode);
    enum binary_status status = judge(parser, &packet, opcode, &closes);
    size_t total = BINARY_HEAD_SIZE + (size_t)packet.body_size, fixed = BINARY_HEAD_SIZE;
    if (LIKELY(status == BINARY_OK) || status == BINARY_TOO_LARGE)
        fixed += (size_t)packet.extras_size + packet.key_size;
    if (LIKELY(status == BINARY_OK)) {
        if (UNLIKELY(size < total))
            return wait(parser, data, size, fixed, total, false);
        begin_terms(parser, &packet, opcode);
        make_request(parser, &packet, opcode, data, bytes_of(data + fixed, total - fixed));
    } else {
        if (closes)
            total = BINARY_HEAD_SIZE;
        else if (size < total)
            return wait(parser, data, size, fixed, total, true);
        begin_terms(parser, &packet, opcode);
        parser->request.last = closes;
        make_refusal(parser, &packet, opcode, data, status);
    }
    if (UNLIKELY(parser->state == PARSER_UNFINISHED || parser->request.last))
        parser->state = PARSER_DONE;
    *consumed = total;
    return PARSE_DONE;
}

/* ---- the rest */

static enum detect binary_detect(const char *data, size_t size)
{
    if (size == 0)
        return DETECT_MORE;
    return (unsigned char)data[0] == BINARY_REQUEST ? DETECT_YES : DETECT_NO;
}

static bool binary_guess_key(const char *data, size_t size, struct bytes *out)
{
    if (size < BINARY_HEAD_SIZE || (unsigned char)data[0] != BINARY_REQUEST)
        return false;
    size_t at = BINARY_HEAD_SIZE + (size_t)(unsigned char)data[4];
    size_t key_size = big_endian_u16(data + 2);
    if (key_size == 0 || key_size > KEY_MAX || at + key_size > size)
        return false;
    *out = bytes_of(data + at, key_size);
    return true;
}

/* Who does not speak the protocol would not understand an answer: the connection just ends. */
static void binary_protocol_error(struct reply *reply, const char *error)
{
    (void)reply;
    (void)error;
}

const struct wire wire_binary = {
    .name = "binary",
    .detect = binary_detect,
    .parse = binary_parse,
    .guess_key = binary_guess_key,
    .protocol_error = binary_protocol_error,
    .reply_ops = &binary_reply_ops,
};
