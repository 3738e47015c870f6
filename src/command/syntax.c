/* SPDX-License-Identifier: MIT
 *
 * A parser by descent:
 *
 *   choice   = sequence { "|" sequence }
 *   sequence = { bracket | token | value }
 *   bracket  = [label] "[" choice ["..."] "]"
 *   token    = [label] UPPER { value }
 *   value    = [label] ( lower | "<" choice ">" ) ["..."]
 *   label    = lower "="
 *
 * Columns are ours, so what is wrong with one is a bug that the unit tests find; here it is only
 * told apart from what is right.
 */
#include "command/syntax.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

struct parser {
    const struct command *command;
    struct syntax *out;
    const char *text;
    uint32_t at;
    uint32_t position; /* of the next word among the request's arguments; 0: it varies */
    uint32_t depth;
    bool bad;
};

struct sequence {
    struct argument *first, *last;
    uint32_t end; /* where its text ends */
};

static struct sequence parse_choice(struct parser *parser);

/* ---- text */

static void skip_spaces(struct parser *parser)
{
    while (parser->text[parser->at] == ' ')
        parser->at++;
}

static bool take(struct parser *parser, const char *text)
{
    size_t size = strlen(text);

    if (strncmp(parser->text + parser->at, text, size) != 0)
        return false;
    parser->at += (uint32_t)size;
    return true;
}

static void expect(struct parser *parser, const char *text)
{
    skip_spaces(parser);
    if (!take(parser, text))
        parser->bad = true;
}

static struct bytes take_bytes(struct parser *parser, size_t size)
{
    struct bytes bytes = bytes_of(parser->text + parser->at, size);

    parser->at += (uint32_t)size;
    return bytes;
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

size_t syntax_label_size(const char *text)
{
    size_t size = strspn(text, LOWER DIGITS "-");

    return size > 0 && text[size] == '=' ? size + 1 : 0;
}

static struct bytes take_label(struct parser *parser)
{
    struct bytes label = take_bytes(parser, syntax_label_size(parser->text + parser->at));

    if (label.size > 0)
        label.size--;
    return label;
}

/* The byte that says what comes next, behind any label. */
static char peek(const struct parser *parser)
{
    const char *text = parser->text + parser->at;

    return text[syntax_label_size(text)];
}

static bool begins_value(char c)
{
    return c == '<' || islower((unsigned char)c) || isdigit((unsigned char)c);
}

/* ---- arguments */

static struct argument *create(struct parser *parser, enum argument_type type, uint32_t start)
{
    struct argument *argument = &parser->out->arguments[parser->out->count];

    if (parser->out->count < SYNTAX_ARGUMENTS_MAX)
        parser->out->count++;
    else
        parser->bad = true; /* the last one takes what is too much, and nobody reads it */
    *argument = (struct argument){.type = type, .start = start, .value = start};
    return argument;
}

static void append(struct sequence *sequence, struct argument *argument)
{
    if (sequence->last != NULL)
        sequence->last->next = argument;
    else
        sequence->first = argument;
    sequence->last = argument;
}

/* A sequence as one argument: a block where it has several. */
static struct argument *as_one(struct parser *parser, struct sequence sequence, uint32_t start)
{
    if (sequence.first == NULL)
        parser->bad = true;
    else if (sequence.first == sequence.last)
        return sequence.first;
    struct argument *block = create(parser, ARGUMENT_BLOCK, start);
    block->children = sequence.first;
    return block;
}

static enum argument_type value_type(const struct command *command, struct bytes name)
{
    static const struct {
        const char *name;
        enum argument_type type;
        const char *command; /* NULL: any */
    } types[] = {
        {"increment", ARGUMENT_DOUBLE, "incrbyfloat"},
        {"client-id", ARGUMENT_INTEGER, NULL},
        {"count", ARGUMENT_INTEGER, NULL},
        {"cursor", ARGUMENT_INTEGER, NULL},
        {"db", ARGUMENT_INTEGER, NULL},
        {"decrement", ARGUMENT_INTEGER, NULL},
        {"destination-db", ARGUMENT_INTEGER, NULL},
        {"end", ARGUMENT_INTEGER, NULL},
        {"frequency", ARGUMENT_INTEGER, NULL},
        {"increment", ARGUMENT_INTEGER, NULL},
        {"index", ARGUMENT_INTEGER, NULL},
        {"index1", ARGUMENT_INTEGER, NULL},
        {"index2", ARGUMENT_INTEGER, NULL},
        {"maxage", ARGUMENT_INTEGER, NULL},
        {"milliseconds", ARGUMENT_INTEGER, NULL},
        {"min-match-len", ARGUMENT_INTEGER, NULL},
        {"offset", ARGUMENT_INTEGER, NULL},
        {"pattern", ARGUMENT_PATTERN, NULL},
        {"protover", ARGUMENT_INTEGER, NULL},
        {"seconds", ARGUMENT_INTEGER, NULL},
        {"start", ARGUMENT_INTEGER, NULL},
        {"timeout", ARGUMENT_INTEGER, NULL},
        {"ttl", ARGUMENT_INTEGER, NULL},
        {"unix-time-milliseconds", ARGUMENT_UNIX_TIME, NULL},
        {"unix-time-seconds", ARGUMENT_UNIX_TIME, NULL},
        {"version", ARGUMENT_INTEGER, NULL},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (bytes_equal(name, bytes_of_text(types[i].name)) &&
            (types[i].command == NULL || strcmp(types[i].command, command->name) == 0))
            return types[i].type;
    return ARGUMENT_STRING;
}

/* Whether a key stands at a position, and which of them. */
static bool key_at(const struct command *command, uint32_t position, uint32_t *out)
{
    int32_t behind = (int32_t)position - command->key_first;

    if (position == 0 || command->key_first == 0 || behind < 0 || behind % command->key_step != 0 ||
        (command->key_last >= 0 && (int32_t)position > command->key_last))
        return false;
    *out = (uint32_t)(behind / command->key_step);
    return true;
}

/* The word that comes next takes one place of the request. */
static uint32_t take_position(struct parser *parser)
{
    return parser->position > 0 ? parser->position++ : 0;
}

/* ---- the parts */

static struct argument *parse_word(struct parser *parser, struct bytes label, uint32_t start)
{
    size_t size = strspn(parser->text + parser->at, LOWER DIGITS "-:");
    struct bytes word = take_bytes(parser, size);
    struct argument *argument = create(parser, value_type(parser->command, word), start);

    if (size == 0)
        parser->bad = true;
    argument->display = word;
    argument->name = label.size > 0 ? label : word;
    if (key_at(parser->command, take_position(parser), &argument->key))
        argument->type = ARGUMENT_KEY;
    return argument;
}

static struct argument *parse_value(struct parser *parser)
{
    uint32_t start = parser->at;
    struct bytes label = take_label(parser);
    struct argument *argument;

    if (take(parser, "<")) {
        parser->position = 0;
        argument = as_one(parser, parse_choice(parser), start);
        expect(parser, ">");
        argument->start = argument->value = start;
        if (label.size > 0)
            argument->name = label;
    } else {
        argument = parse_word(parser, label, start);
    }
    if (take(parser, "..."))
        argument->multiple = true;
    return argument;
}

static struct argument *parse_token(struct parser *parser)
{
    uint32_t start = parser->at;
    struct bytes label = take_label(parser);
    struct bytes token = take_bytes(parser, strspn(parser->text + parser->at, UPPER DIGITS "-"));
    struct sequence values = {0};
    struct argument *argument;

    take_position(parser);
    uint32_t end = parser->at;
    for (skip_spaces(parser); begins_value(peek(parser)); skip_spaces(parser)) {
        append(&values, parse_value(parser));
        end = parser->at;
    }
    parser->at = end;
    if (values.first == NULL)
        argument = create(parser, ARGUMENT_PURE_TOKEN, start);
    else
        argument = as_one(parser, values, values.first->start);
    argument->start = start;
    argument->token = token;
    if (label.size > 0)
        argument->name = label;
    else if (argument->name.size == 0)
        argument->name = token;
    if (argument->type == ARGUMENT_PURE_TOKEN)
        argument->display = argument->name;
    return argument;
}

/* Lets the end of a sequence from `start` on occur more than once. */
static void repeat(struct parser *parser, struct sequence *sequence, uint32_t start,
                   struct bytes label)
{
    struct argument **from = &sequence->first;

    while (*from != NULL && (*from)->start != start)
        from = &(*from)->next;
    if (*from == NULL) {
        parser->bad |= sequence->last->value != start;
        sequence->last->multiple = true;
        return;
    }
    struct sequence repeated = {.first = *from, .last = sequence->last};
    struct argument *argument = as_one(parser, repeated, start);
    argument->multiple = true;
    argument->multiple_token = argument->token.size > 0;
    if (label.size > 0)
        argument->name = label;
    *from = sequence->last = argument;
}

/* Whether the text of a sequence ends with that between two places. */
static bool ends_with(const struct parser *parser, const struct sequence *sequence, uint32_t from,
                      uint32_t to)
{
    uint32_t size = to - from;

    return sequence->last != NULL && sequence->end >= size &&
           memcmp(parser->text + sequence->end - size, parser->text + from, size) == 0;
}

static void parse_bracket(struct parser *parser, struct sequence *before)
{
    uint32_t start = parser->at;
    struct bytes label = take_label(parser);

    expect(parser, "[");
    parser->position = 0;
    uint32_t from = parser->at;
    struct sequence inside = parse_choice(parser);
    uint32_t to = inside.end;
    skip_spaces(parser);
    bool again = take(parser, "...");
    expect(parser, "]");
    if (again && ends_with(parser, before, from, to)) {
        repeat(parser, before, before->end - (to - from), label);
        return;
    }
    struct argument *argument = as_one(parser, inside, start);
    argument->start = start;
    argument->optional = true;
    argument->multiple |= again;
    if (label.size > 0)
        argument->name = label;
    append(before, argument);
}

static struct sequence parse_sequence(struct parser *parser)
{
    struct sequence sequence = {.end = parser->at};

    for (skip_spaces(parser); !parser->bad; skip_spaces(parser)) {
        char next = peek(parser);

        if (next == '[')
            parse_bracket(parser, &sequence);
        else if (begins_value(next))
            append(&sequence, parse_value(parser));
        else if (isupper((unsigned char)next))
            append(&sequence, parse_token(parser));
        else
            break;
        sequence.end = parser->at;
    }
    return sequence;
}

static struct sequence parse_choice(struct parser *parser)
{
    uint32_t start = parser->at;

    if (++parser->depth > DEPTH_MAX)
        parser->bad = true;
    struct sequence sequence = parse_sequence(parser);
    skip_spaces(parser);
    if (!parser->bad && parser->text[parser->at] == '|') {
        struct sequence choices = {0};

        append(&choices, as_one(parser, sequence, start));
        while (!parser->bad && take(parser, "|")) {
            parser->position = 0;
            skip_spaces(parser);
            start = parser->at;
            sequence = parse_sequence(parser);
            append(&choices, as_one(parser, sequence, start));
            skip_spaces(parser);
        }
        struct argument *oneof = create(parser, ARGUMENT_ONEOF, choices.first->start);
        oneof->children = choices.first;
        sequence = (struct sequence){.first = oneof, .last = oneof, .end = sequence.end};
    }
    parser->depth--;
    return sequence;
}

enum status syntax_parse(const struct command *command, struct syntax *out)
{
    struct parser parser = {
        .command = command,
        .out = out,
        .text = command->arguments,
        .position = command->flags & COMMAND_SUB ? 2 : 1,
    };

    out->count = 0;
    out->first = parse_choice(&parser).first;
    if (parser.bad || parser.text[parser.at] != '\0')
        return STATUS_SYNTAX;
    /* What has no name is called like its first part, which was created before it. */
    for (uint32_t i = 0; i < out->count; i++)
        if (out->arguments[i].name.size == 0)
            out->arguments[i].name = out->arguments[i].children->name;
    return STATUS_OK;
}

const char *argument_type_name(enum argument_type type)
{
    static const char *const names[] = {
        [ARGUMENT_STRING] = "string",         [ARGUMENT_INTEGER] = "integer",
        [ARGUMENT_DOUBLE] = "double",         [ARGUMENT_KEY] = "key",
        [ARGUMENT_PATTERN] = "pattern",       [ARGUMENT_UNIX_TIME] = "unix-time",
        [ARGUMENT_PURE_TOKEN] = "pure-token", [ARGUMENT_ONEOF] = "oneof",
        [ARGUMENT_BLOCK] = "block",
    };
    return names[type];
}
