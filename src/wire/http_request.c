/* SPDX-License-Identifier: MIT
 *
 * The order of the checks matters: first whether the bytes can be understood and where the request
 * ends; then whether it comes from a page that must not reach this server, which nobody may find
 * out anything about by trying passwords; then who asks; then what for.
 */
#include "wire/http_request.h"

#include <string.h>

#include "base/base64.h"
#include "base/number.h"
#include "wire/http_date.h"

enum { CREDENTIAL_SIZE_MAX = 1024, LENGTH_DIGITS_MAX = 18 };

int http_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- where the body ends */

static enum http_complaint read_length(struct bytes text, size_t *out)
{
    size_t length = 0;

    if (text.size == 0)
        return HTTP_LENGTH;
    for (size_t i = 0; i < text.size; i++) {
        uint32_t digit = (uint32_t)(unsigned char)text.data[i] - '0';

        if (digit > 9 || i >= LENGTH_DIGITS_MAX)
            return HTTP_LENGTH;
        length = length * 10 + digit;
    }
    *out = length;
    return HTTP_NONE;
}

static enum http_complaint frame(struct http_request *request, const struct http_head *head,
                                 const char *data)
{
    if (!http_has(head, HTTP_FIELD_CODING)) {
        if (!http_has(head, HTTP_FIELD_LENGTH))
            return HTTP_NONE;
        return read_length(http_field(head, data, HTTP_FIELD_LENGTH), &request->length);
    }
    if (http_has(head, HTTP_FIELD_LENGTH))
        return HTTP_TWO_LENGTHS;
    if (head->minor == 0)
        return HTTP_OLD_CODING;
    if (!http_equal(http_field(head, data, HTTP_FIELD_CODING), "chunked", 7))
        return HTTP_CODING;
    request->chunked = true;
    return HTTP_NONE;
}

/* ---- target and host */

struct target {
    struct bytes authority; /* data NULL: the target has none */
    struct bytes path;      /* from the slash on, or empty */
    struct bytes query;
};

static enum http_complaint split_target(struct bytes text, struct target *out)
{
    static const char *const schemes[] = {"http://", "https://"};
    const char *end = text.data + text.size;

    *out = (struct target){.path = text};
    if (text.data[0] != '/') {
        size_t skip = 0;

        for (size_t i = 0; i < 2 && skip == 0; i++) {
            size_t size = strlen(schemes[i]);

            if (text.size > size && http_equal(bytes_of(text.data, size), schemes[i], size))
                skip = size;
        }
        if (skip == 0)
            return HTTP_TARGET;
        const char *at = text.data + skip;

        while (at < end && *at != '/' && *at != '?')
            at++;
        out->authority = bytes_of(text.data + skip, (size_t)(at - text.data) - skip);
        out->path = bytes_of(at, (size_t)(end - at));
    }
    const char *question = out->path.size == 0 ? NULL : memchr(out->path.data, '?', out->path.size);

    if (question != NULL) {
        out->query = bytes_of(question + 1, (size_t)(end - question) - 1);
        out->path.size = (size_t)(question - out->path.data);
    }
    return HTTP_NONE;
}

static bool is_ipv4(struct bytes text)
{
    uint32_t parts = 0, value = 0, digits = 0;

    for (size_t i = 0; i <= text.size; i++) {
        char c = i < text.size ? text.data[i] : '.';

        if (c == '.') {
            if (digits == 0 || value > 255)
                return false;
            parts++;
            value = digits = 0;
        } else if (c < '0' || c > '9' || ++digits > 3) {
            return false;
        } else {
            value = value * 10 + (uint32_t)(c - '0');
        }
    }
    return parts == 4;
}

/* "name:port" without its port. False: it is malformed. */
static bool split_host(struct bytes text, struct bytes *name, bool *address)
{
    size_t size = 0, colons = 0;

    *address = false;
    if (text.size > 0 && text.data[0] == '[') {
        while (size < text.size && text.data[size] != ']') {
            char c = text.data[size];

            colons += c == ':';
            if (size++ > 0 && http_hex_digit(c) < 0 && c != ':' && c != '.')
                return false;
        }
        if (size++ == text.size || colons < 2)
            return false;
        *address = true;
    } else {
        for (; size < text.size && text.data[size] != ':'; size++)
            if (memchr(" \t,/?#@\\\"<>[]", text.data[size], 13) != NULL)
                return false;
    }
    *name = bytes_of(text.data, size);
    if (size < text.size && text.data[size] != ':')
        return false;
    for (size_t i = size + 1; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    *address |= is_ipv4(*name);
    return true;
}

enum http_complaint http_host_check(const struct wire_gate *gate, struct bytes host)
{
    struct bytes name;
    bool address;

    if (!split_host(host, &name, &address))
        return HTTP_BAD_HOST;
    if (address || http_equal(name, "localhost", 9) ||
        (gate != NULL && gate->host_allowed(gate->owner, name)))
        return HTTP_NONE;
    return HTTP_HOST;
}

static bool equal_nocase(struct bytes a, struct bytes b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++) {
        char x = a.data[i], y = b.data[i];

        if (x != y && ((x | 0x20) != (y | 0x20) || (x | 0x20) < 'a' || (x | 0x20) > 'z'))
            return false;
    }
    return true;
}

/* Browsers say where a request comes from. A page of this server may ask what it likes. */
static enum http_complaint check_origin(const struct wire_gate *gate, const struct http_head *head,
                                        const char *data, struct bytes host)
{
    bool any = false;

    if (http_has(head, HTTP_FIELD_ORIGIN)) {
        struct bytes origin = http_field(head, data, HTTP_FIELD_ORIGIN);
        size_t skip = origin.size > 7 && http_equal(bytes_of(origin.data, 7), "http://", 7)    ? 7
                      : origin.size > 8 && http_equal(bytes_of(origin.data, 8), "https://", 8) ? 8
                                                                                               : 0;

        if (gate != NULL && gate->origin_allowed(gate->owner, origin))
            return HTTP_NONE;
        if (skip == 0 || !equal_nocase(bytes_of(origin.data + skip, origin.size - skip), host))
            return HTTP_ORIGIN;
    }
    if (http_has(head, HTTP_FIELD_FETCH_SITE)) {
        struct bytes site = http_field(head, data, HTTP_FIELD_FETCH_SITE);

        any = http_equal(site, "same-origin", 11) || http_equal(site, "none", 4) ||
              (gate != NULL && gate->origin_allowed(gate->owner, BYTES("*")));
        return any ? HTTP_NONE : HTTP_ORIGIN;
    }
    return HTTP_NONE;
}

/* ---- who asks */

/* "Basic <user:password in base64>" or "Bearer <password>". */
static bool admits(const struct wire_gate *gate, const struct http_head *head, const char *data)
{
    struct bytes user = BYTES(""), password = BYTES("");
    char plain[CREDENTIAL_SIZE_MAX];

    if (gate == NULL)
        return false;
    if (http_has(head, HTTP_FIELD_AUTHORIZATION)) {
        struct bytes text = http_field(head, data, HTTP_FIELD_AUTHORIZATION);
        bool basic = text.size > 6 && http_equal(bytes_of(text.data, 6), "basic ", 6);
        bool bearer = text.size > 7 && http_equal(bytes_of(text.data, 7), "bearer ", 7);
        size_t skip = basic ? 6 : 7;

        if (!basic && !bearer)
            return false;
        while (skip < text.size && text.data[skip] == ' ')
            skip++;
        password = bytes_of(text.data + skip, text.size - skip);
        if (basic) {
            size_t size;

            if (password.size > CREDENTIAL_SIZE_MAX || !base64_check(password, &size))
                return false;
            base64_decode(plain, password);
            const char *colon = memchr(plain, ':', size);

            if (colon == NULL)
                return false;
            user = bytes_of(plain, (size_t)(colon - plain));
            password = bytes_of(colon + 1, size - user.size - 1);
        }
    }
    return gate->admits(gate->owner, user, password);
}

static enum http_complaint check_credential(struct http_request *request,
                                            const struct http_head *head, const char *data)
{
    const struct wire_gate *gate = request->limits->gate;

    if (!request->limits->unauthenticated && (gate == NULL || !atomic_load(gate->guarded)))
        return HTTP_NONE;
    if (!admits(gate, head, data))
        return HTTP_CREDENTIAL;
    request->admitted = true;
    request->limits = gate->limits;
    return HTTP_NONE;
}

/* ---- what for */

bool http_tag_parse(struct bytes tag, bool weak_too, uint64_t *out)
{
    if (weak_too && tag.size > 2 && memcmp(tag.data, "W/", 2) == 0) {
        tag.data += 2;
        tag.size -= 2;
    }
    return tag.size > 2 && tag.data[0] == '"' && tag.data[tag.size - 1] == '"' &&
           number_parse_u64(bytes_of(tag.data + 1, tag.size - 2), out);
}

struct wishes {
    bool nx, xx;
    bool has_ttl;
    int64_t ttl_ms;
};

static bool read_ttl(struct bytes text, int64_t *out_ms)
{
    uint64_t us;

    if (text.size == 0 || !number_parse_duration_us(text, 1000 * 1000, &us) || us == 0 ||
        us > INT64_MAX)
        return false;
    *out_ms = (int64_t)((us + 999) / 1000);
    return true;
}

/* "ttl=10s&nx". What else there is does not matter. */
static enum http_complaint read_query(struct bytes query, struct wishes *wishes)
{
    if (query.size == 0)
        return HTTP_NONE;
    const char *at = query.data, *end = at + query.size;

    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));

        if (stop == NULL)
            stop = end;
        struct bytes name = bytes_of(at, (size_t)(stop - at));
        const char *equals = memchr(at, '=', name.size);

        if (equals != NULL)
            name.size = (size_t)(equals - at);
        if (bytes_equal(name, BYTES("ttl"))) {
            struct bytes value =
                equals != NULL ? bytes_of(equals + 1, (size_t)(stop - equals) - 1) : BYTES("");

            if (wishes->has_ttl || !read_ttl(value, &wishes->ttl_ms))
                return HTTP_TTL;
            wishes->has_ttl = true;
        } else if (bytes_equal(name, BYTES("nx")) || bytes_equal(name, BYTES("xx"))) {
            if (equals != NULL)
                return HTTP_SWITCH;
            wishes->nx |= name.data[0] == 'n';
            wishes->xx |= name.data[0] == 'x';
        }
        at = stop < end ? stop + 1 : end;
    }
    return HTTP_NONE;
}

static enum http_complaint read_times(struct item_terms *terms, const struct wishes *wishes,
                                      const struct http_head *head, const char *data)
{
    terms->time.form = ITEM_TIME_NEVER;
    if (wishes->has_ttl) {
        terms->time = (struct item_time){ITEM_TIME_AFTER, wishes->ttl_ms};
    } else if (head->has_max_age) {
        if (head->max_age_s < 0)
            return HTTP_MAX_AGE;
        terms->time = (struct item_time){ITEM_TIME_AFTER, head->max_age_s * 1000};
    } else if (http_has(head, HTTP_FIELD_EXPIRES)) {
        struct bytes text = http_field(head, data, HTTP_FIELD_EXPIRES);

        terms->time.form = ITEM_TIME_AT; /* 0: long ago */
        if (!bytes_equal(text, BYTES("0")) && !http_date_parse(text, &terms->time.ms))
            return HTTP_EXPIRES;
    }
    return HTTP_NONE;
}

/* A condition without a tag says nothing that could hold; taken for none it would let a client
 * overwrite what it meant to keep. */
static bool lacks_tag(const struct http_head *head, const char *data, enum http_field field)
{
    struct bytes list = http_field(head, data, field), tag;

    return http_has(head, field) && !http_list_next(&list, &tag);
}

/* If-Match of a request that changes a key. `*any`: it says *. `*never`: no version can match. */
static enum http_complaint read_match(struct item_terms *terms, const struct http_head *head,
                                      const char *data, bool *any, bool *never)
{
    struct bytes list = http_field(head, data, HTTP_FIELD_IF_MATCH), tag, another;

    *any = *never = false;
    if (!http_has(head, HTTP_FIELD_IF_MATCH))
        return HTTP_NONE;
    if (!http_list_next(&list, &tag))
        return HTTP_NO_TAG;
    if (http_list_next(&list, &another))
        return HTTP_TAGS;
    if (bytes_equal(tag, BYTES("*")))
        *any = true;
    else if (http_tag_parse(tag, false, &terms->compare))
        terms->options |= ITEM_COMPARES;
    else
        *never = true;
    return HTTP_NONE;
}

static enum http_complaint read_store(struct http_request *request, struct item_terms *terms,
                                      const struct http_head *head, const char *data,
                                      struct bytes query)
{
    struct wishes wishes = {.nx = false};
    bool any, never;
    enum http_complaint complaint = read_query(query, &wishes);

    request->command = "item-set";
    request->stores = true;
    terms->options = ITEM_WANTS_VERSION | ITEM_WANTS_PAST;
    if (complaint == HTTP_NONE)
        complaint = read_times(terms, &wishes, head, data);
    if (complaint == HTTP_NONE)
        complaint = read_match(terms, head, data, &any, &never);
    if (complaint != HTTP_NONE)
        return complaint;
    if (http_has(head, HTTP_FIELD_IF_NONE_MATCH)) {
        if (!bytes_equal(http_field(head, data, HTTP_FIELD_IF_NONE_MATCH), BYTES("*")))
            return HTTP_NONE_MATCH;
        wishes.nx = true;
    }
    wishes.xx |= any;
    if (wishes.nx && (wishes.xx || never || (terms->options & ITEM_COMPARES)))
        return HTTP_CONDITIONS;
    if (never)
        return HTTP_NOT_EQUAL;
    terms->mode = wishes.nx ? ITEM_ADD : wishes.xx ? ITEM_REPLACE : ITEM_SET;
    if (http_has(head, HTTP_FIELD_TYPE)) {
        struct http_span span = head->fields[HTTP_FIELD_TYPE];

        if (span.size > 255)
            return HTTP_TYPE_SIZE;
        if (!http_equal(http_field(head, data, HTTP_FIELD_TYPE), "application/octet-stream", 24)) {
            terms->options |= ITEM_TYPED;
            terms->type = (struct item_span){span.at, span.size};
        }
    }
    return HTTP_NONE;
}

static enum http_complaint read_delete(struct http_request *request, struct item_terms *terms,
                                       const struct http_head *head, const char *data)
{
    bool any, never;
    enum http_complaint complaint = read_match(terms, head, data, &any, &never);

    if (complaint == HTTP_NONE && http_has(head, HTTP_FIELD_IF_NONE_MATCH))
        complaint = HTTP_NONE_MATCH;
    request->command = "item-delete";
    if (never) { /* all there is to know is whether the key is there */
        request->command = "item-get";
        terms->options = ITEM_UNNOTICED;
    }
    return complaint;
}

static enum http_complaint read_fetch(struct http_request *request, struct item_terms *terms,
                                      const struct http_head *head, const char *data)
{
    if (lacks_tag(head, data, HTTP_FIELD_IF_MATCH) ||
        lacks_tag(head, data, HTTP_FIELD_IF_NONE_MATCH))
        return HTTP_NO_TAG;
    request->command = "item-get";
    terms->options = ITEM_WANTS_VERSION;
    request->form.if_match = http_field_span(head, HTTP_FIELD_IF_MATCH);
    request->form.if_none_match = http_field_span(head, HTTP_FIELD_IF_NONE_MATCH);
    request->form.if_range = http_field_span(head, HTTP_FIELD_IF_RANGE);
    /* Ranges mean nothing to other methods. No version is the empty one. */
    if (head->method == HTTP_GET &&
        !(http_has(head, HTTP_FIELD_IF_RANGE) && request->form.if_range.size == 0))
        request->form.range = http_field_span(head, HTTP_FIELD_RANGE);
    return HTTP_NONE;
}

static enum http_complaint read_path(struct http_request *request, const struct target *target,
                                     const char *data)
{
    struct bytes path = target->path;

    if (path.size > 0) { /* without its slash */
        path.data++;
        path.size--;
    }
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] != '%')
            continue;
        request->escaped = true;
        if (path.size - i < 3 || http_hex_digit(path.data[i + 1]) < 0 ||
            http_hex_digit(path.data[i + 2]) < 0)
            return HTTP_ESCAPE;
    }
    request->path = (struct http_span){(uint16_t)(path.data - data), (uint16_t)path.size};
    return HTTP_NONE;
}

static enum http_complaint read_asked(struct http_request *request, struct item_terms *terms,
                                      const struct http_head *head, const char *data,
                                      const struct target *target)
{
    enum http_complaint complaint = read_path(request, target, data);

    if (complaint != HTTP_NONE)
        return complaint;
    switch (head->method) {
    case HTTP_GET:
    case HTTP_HEAD:
        return read_fetch(request, terms, head, data);
    case HTTP_PUT:
    case HTTP_POST:
        if (!request->chunked && !http_has(head, HTTP_FIELD_LENGTH))
            return HTTP_NO_LENGTH;
        return read_store(request, terms, head, data, target->query);
    case HTTP_DELETE:
        return read_delete(request, terms, head, data);
    default:
        return head->method == HTTP_OTHER ? HTTP_METHOD : HTTP_UNKNOWN_METHOD;
    }
}

/* ---- the whole */

static enum http_complaint read_all(struct http_request *request, struct item_terms *terms,
                                    const struct http_head *head, const char *data)
{
    const struct wire_gate *gate = request->limits->gate;
    struct bytes text = bytes_of(data + head->target.at, head->target.size), host;
    struct target target = {.authority = {NULL, 0}};
    bool expects = head->minor > 0 && http_has(head, HTTP_FIELD_EXPECT);
    bool asterisk = bytes_equal(text, BYTES("*")) && head->method == HTTP_OPTIONS;
    enum http_complaint complaint = (enum http_complaint)head->complaint;

    if (complaint == HTTP_NONE && head->minor > 0 && !http_has(head, HTTP_FIELD_HOST))
        complaint = HTTP_NO_HOST;
    if (complaint == HTTP_NONE)
        complaint = frame(request, head, data);
    if (complaint != HTTP_NONE)
        return complaint;
    request->continues =
        expects && http_equal(http_field(head, data, HTTP_FIELD_EXPECT), "100-continue", 12);
    if (!asterisk)
        complaint = split_target(text, &target);
    if (complaint != HTTP_NONE)
        return head->method == HTTP_OTHER ? HTTP_METHOD : complaint;
    bool named = target.authority.data != NULL || http_has(head, HTTP_FIELD_HOST);

    host =
        target.authority.data != NULL ? target.authority : http_field(head, data, HTTP_FIELD_HOST);
    if (named)
        complaint = http_host_check(gate, host);
    if (complaint == HTTP_NONE)
        complaint = check_origin(gate, head, data, named ? host : BYTES(""));
    if (complaint != HTTP_NONE)
        return complaint;
    request->form.origin = http_field_span(head, HTTP_FIELD_ORIGIN);
    if (head->method == HTTP_OPTIONS) {
        request->form.preflight =
            request->form.origin.size > 0 && http_has(head, HTTP_FIELD_REQUEST_METHOD);
        return HTTP_NONE;
    }
    complaint = check_credential(request, head, data);
    if (complaint == HTTP_NONE)
        complaint = read_asked(request, terms, head, data, &target);
    if (complaint == HTTP_NONE && expects && !request->continues)
        complaint = HTTP_EXPECTATION;
    if (request->length > request->limits->argument_size_max)
        complaint = complaint == HTTP_CREDENTIAL ? complaint : HTTP_BODY_SIZE;
    return complaint;
}

bool http_request_fatal(const struct http_request *request)
{
    return request->form.complaint > HTTP_NONE && request->form.complaint <= HTTP_ORIGIN;
}

void http_request_refuse(struct http_request *request, enum http_complaint complaint)
{
    request->form.complaint = (uint8_t)complaint;
    request->command = "item-error";
    request->stores = false;
}

void http_request_read(struct http_request *request, struct item_terms *terms,
                       const struct http_head *head, const char *data,
                       const struct wire_limits *limits)
{
    memset(request, 0, sizeof(*request));
    memset(terms, 0, sizeof(*terms));
    request->limits = limits;
    request->command = "item-error";
    request->form.method = head->method;
    request->form.connection = head->minor == 0 ? HTTP_KEEP_ALIVE : HTTP_KEEP_SILENT;
    request->form.complaint = (uint8_t)read_all(request, terms, head, data);
    request->last = head->close || (head->minor == 0 && !head->keep_alive);
    if (http_request_fatal(request) ||
        (request->form.complaint == HTTP_NO_LENGTH && head->minor == 0))
        request->last = true;
    if (request->form.complaint != HTTP_NONE)
        http_request_refuse(request, (enum http_complaint)request->form.complaint);
    if (head->complaint != HTTP_NONE)
        request->form.origin = (struct http_span){0, 0};
}
