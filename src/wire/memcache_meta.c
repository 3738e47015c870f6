/* SPDX-License-Identifier: MIT
 *
 * memcached's meta commands: a key, and flags of one letter that some follow up with a token.
 *
 *   mg key v t O12\r\n        ms key <size> T60 F5\r\n<size bytes>\r\n
 *
 * All commands know all flags and leave aside what means nothing to them. Flags that change what is
 * done become terms; those that ask for something to be answered stay in the note, the rest of the
 * line, which the reply goes through in the order in which they were asked for.
 */
#include <string.h>

#include "base/base64.h"
#include "wire/memcache.h"

enum {
    WORDS_MAX = 20, /* the command, the key, and flags */
    OPAQUE_SIZE_MAX = 32,
    ENCODED_KEY_SIZE_MAX = (MEMCACHE_KEY_SIZE_MAX + 2) / 3 * 4
};

static const char bad_token[] = "CLIENT_ERROR bad token in command line format";

/* What the flags of a line say. */
struct flags {
    struct bytes note, key;
    struct item_time time, vivify_time;
    bool timed, vivifies, compares, chooses, stale, empties, recaches, recaches_timed;
    bool time_last; /* T came behind N */
    bool value, ttl, version, idle, unnoticed, quiet, base64;
    char mode; /* 0: not given */
    uint32_t client_flags;
    int64_t recache_ms;
    uint64_t compare, version_in, delta, initial;
    const char *error; /* NULL: none */
};

static const char *read_flag(struct flags *flags, char letter, struct bytes token)
{
    struct item_time time;

    switch (letter) {
    case 'b':
        flags->base64 = true;
        return NULL;
    case 'N':
        flags->vivifies = true;
        flags->time_last = false;
        return memcache_time(token, &flags->vivify_time) ? NULL : bad_token;
    case 'T':
        flags->timed = true;
        flags->time_last = flags->vivifies;
        return memcache_time(token, &flags->time) ? NULL : bad_token;
    case 'R':
        flags->recaches = true;
        flags->recaches_timed = flags->timed; /* flags are worked off in order */
        if (!memcache_time(token, &time))
            return bad_token;
        flags->recache_ms = time.ms > 0 ? time.ms : 0;
        return NULL;
    case 'C':
        flags->compares = true;
        return memcache_u64(token, &flags->compare) ? NULL : bad_token;
    case 'E':
        flags->chooses = true;
        return memcache_u64(token, &flags->version_in) ? NULL : bad_token;
    case 'F':
        return memcache_u32(token, &flags->client_flags) ? NULL : memcache_bad_format;
    case 'J':
        return memcache_u64(token, &flags->initial) ? NULL
                                                    : "CLIENT_ERROR invalid numeric initial value";
    case 'D':
        return memcache_u64(token, &flags->delta) ? NULL
                                                  : "CLIENT_ERROR invalid numeric delta value";
    case 'M':
        flags->mode = token.size == 1 ? token.data[0] : '?';
        return NULL;
    case 'O':
        return token.size < OPAQUE_SIZE_MAX ? NULL : "CLIENT_ERROR opaque token too long";
    case 'I':
        flags->stale = true;
        return NULL;
    case 'x':
        flags->empties = true;
        return NULL;
    case 'v':
        flags->value = true;
        return NULL;
    case 'c':
        flags->version = true;
        return NULL;
    case 'l':
        flags->idle = true;
        return NULL;
    case 'u':
        flags->unnoticed = true;
        return NULL;
    case 'q':
        flags->quiet = true;
        return NULL;
    case 'k':
    case 't':
        flags->ttl = true;
        return NULL;
    case 's':
    case 'f':
    case 'h':
    case 'P': /* a proxy's */
    case 'L':
        return NULL;
    default:
        return "CLIENT_ERROR invalid flag";
    }
}

static const char *check_key(const struct flags *flags)
{
    size_t size;

    if (!flags->base64)
        return memcache_key_ok(flags->key) ? NULL : memcache_bad_format;
    if (flags->key.size > ENCODED_KEY_SIZE_MAX)
        return memcache_bad_format;
    if (!base64_check(flags->key, &size) || size == 0)
        return "CLIENT_ERROR error decoding key";
    return size <= MEMCACHE_KEY_SIZE_MAX ? NULL : memcache_bad_format;
}

/* Reads the flags that the rest of the line is; `words` came before them. */
static void read_flags(struct memcache_line *line, uint32_t words, struct bytes key,
                       struct flags *flags)
{
    uint64_t seen[2] = {0, 0};
    const char *error;
    struct bytes word;

    *flags = (struct flags){.key = key, .delta = 1};
    flags->note = bytes_of(line->at, (size_t)(line->end - line->at));
    while (memcache_word(line, &word)) {
        unsigned char letter = (unsigned char)word.data[0];
        uint64_t bit = (uint64_t)1 << (letter & 63);

        if (++words > WORDS_MAX) {
            flags->error = "CLIENT_ERROR options flags are too long";
            return;
        }
        if (letter >= 127 || (seen[letter >> 6] & bit) != 0) {
            flags->error = "CLIENT_ERROR duplicate flag";
            return;
        }
        seen[letter >> 6] |= bit;
        error = read_flag(flags, word.data[0], bytes_of(word.data + 1, word.size - 1));
        if (error != NULL)
            flags->error = error;
    }
    error = check_key(flags);
    if (error != NULL)
        flags->error = error;
}

static struct item_terms *begin(struct memcache_line *line, enum memcache_answer answer,
                                const struct flags *flags)
{
    struct item_terms *terms = memcache_terms(line->parser, answer);

    terms->form[1] = (flags->quiet ? MEMCACHE_QUIET : 0) | (flags->value ? MEMCACHE_VALUE : 0) |
                     (flags->base64 ? MEMCACHE_BASE64 : 0);
    terms->compare = flags->compare;
    terms->version = flags->version_in;
    terms->vivify_time = flags->vivify_time;
    if (flags->version)
        terms->options |= ITEM_WANTS_VERSION;
    if (flags->compares)
        terms->options |= ITEM_COMPARES;
    if (flags->chooses)
        terms->options |= ITEM_CHOOSES_VERSION;
    if (flags->vivifies)
        terms->options |= ITEM_VIVIFIES;
    return terms;
}

static enum parse deliver(struct memcache_line *line, const char *name, const struct flags *flags)
{
    line->parser->argv[1] = flags->key;
    line->parser->argv[2] = flags->note;
    return memcache_deliver(line, name, 3, true);
}

enum parse memcache_meta_get(struct memcache_line *line, uint8_t mode)
{
    struct flags flags;
    struct bytes key;

    (void)mode;
    if (!memcache_word(line, &key))
        return memcache_refuse(line, memcache_bad_format);
    read_flags(line, 2, key, &flags);
    if (flags.error != NULL)
        return memcache_refuse(line, flags.error);
    struct item_terms *terms = begin(line, MEMCACHE_META_READ, &flags);
    terms->time = flags.time;
    if (flags.time_last)
        terms->vivify_time = flags.time;
    terms->recache_ms = flags.recache_ms;
    if (flags.recaches)
        terms->options |= ITEM_RECACHES;
    if (flags.recaches_timed)
        terms->options |= ITEM_RECACHES_TIMED;
    if (flags.ttl)
        terms->options |= ITEM_WANTS_TTL;
    if (flags.idle)
        terms->options |= ITEM_WANTS_READ_TIME;
    if (flags.unnoticed)
        terms->options |= ITEM_UNNOTICED;
    return deliver(line, flags.timed || flags.vivifies ? "item-touch" : "item-get", &flags);
}

static bool set_mode(char mode, uint8_t *out)
{
    switch (mode) {
    case 0:
    case 'S':
        *out = ITEM_SET;
        return true;
    case 'E':
        *out = ITEM_ADD;
        return true;
    case 'A':
        *out = ITEM_APPEND;
        return true;
    case 'P':
        *out = ITEM_PREPEND;
        return true;
    case 'R':
        *out = ITEM_REPLACE;
        return true;
    default:
        return false;
    }
}

enum parse memcache_meta_set(struct memcache_line *line, uint8_t mode)
{
    struct bytes key, word;
    struct flags flags;
    uint32_t size;

    (void)mode;
    if (!memcache_word(line, &key) || !memcache_word(line, &word) || !memcache_u32(word, &size) ||
        size > INT32_MAX - 2)
        return memcache_refuse(line, memcache_bad_format);
    read_flags(line, 3, key, &flags);
    struct item_terms *terms = begin(line, MEMCACHE_META_STORE, &flags);
    terms->flags = flags.client_flags;
    terms->time = flags.timed ? flags.time : (struct item_time){.form = ITEM_TIME_NEVER};
    if (!set_mode(flags.mode, &terms->mode)) {
        if (flags.error == NULL)
            flags.error = "CLIENT_ERROR invalid mode for ms M token";
    }
    if (terms->mode == ITEM_ADD) /* there would be nothing to compare with */
        terms->options &= (uint16_t)~ITEM_COMPARES;
    if (terms->mode == ITEM_SET || terms->mode == ITEM_REPLACE) {
        terms->options &= (uint16_t)~ITEM_VIVIFIES;
        if (flags.stale)
            terms->options |= ITEM_STALE;
    }
    return memcache_value(line, key, flags.note, size, flags.error);
}

enum parse memcache_meta_delete(struct memcache_line *line, uint8_t mode)
{
    struct flags flags;
    struct bytes key;

    (void)mode;
    if (!memcache_word(line, &key))
        return memcache_refuse(line, memcache_bad_format);
    read_flags(line, 2, key, &flags);
    if (flags.error != NULL)
        return memcache_refuse(line, flags.error);
    struct item_terms *terms = begin(line, MEMCACHE_META_DELETE, &flags);
    if (flags.stale || flags.empties)
        terms->time = flags.time;
    terms->options |=
        (uint16_t)((flags.stale ? ITEM_STALE : 0) | (flags.empties ? ITEM_EMPTIES : 0));
    return deliver(line, "item-delete", &flags);
}

enum parse memcache_meta_count(struct memcache_line *line, uint8_t mode)
{
    struct flags flags;
    struct bytes key;

    (void)mode;
    if (!memcache_word(line, &key))
        return memcache_refuse(line, memcache_bad_format);
    read_flags(line, 2, key, &flags);
    if (flags.error != NULL)
        return memcache_refuse(line, "CLIENT_ERROR invalid or duplicate flag");
    struct item_terms *terms = begin(line, MEMCACHE_META_COUNT, &flags);
    terms->time = flags.time;
    if (flags.time_last)
        terms->vivify_time = flags.time;
    terms->delta = flags.delta;
    terms->initial = flags.initial;
    switch (flags.mode) {
    case 0:
    case 'I':
    case '+':
        terms->mode = ITEM_RAISE;
        break;
    case 'D':
    case '-':
        terms->mode = ITEM_LOWER;
        break;
    default:
        return memcache_refuse(line, "CLIENT_ERROR invalid mode for ma M token");
    }
    return deliver(line, "item-count", &flags);
}

enum parse memcache_meta_debug(struct memcache_line *line, uint8_t mode)
{
    struct flags flags;
    struct bytes key;

    (void)mode;
    if (!memcache_word(line, &key))
        return memcache_refuse(line, memcache_bad_format);
    read_flags(line, 2, key, &flags);
    if (flags.error != NULL)
        return memcache_refuse(line, memcache_bad_format);
    flags = (struct flags){.key = key, .note = BYTES(""), .base64 = flags.base64};
    begin(line, MEMCACHE_META_DEBUG, &flags)->options =
        ITEM_UNNOTICED | ITEM_WANTS_VERSION | ITEM_WANTS_READ_TIME | ITEM_WANTS_TTL;
    return deliver(line, "item-get", &flags);
}

/* Its answer tells that everything before it has been answered. */
enum parse memcache_meta_noop(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    memcache_terms(line->parser, MEMCACHE_BARRIER);
    return memcache_deliver(line, "item-noop", 1, true);
}
