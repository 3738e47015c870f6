/* SPDX-License-Identifier: MIT
 *
 * See server/admin_request.h. A head is short, so what has come is read from its start each time.
 */
#include "server/admin_request.h"

#include "base/number.h"

/* What is known while lines are read. */
struct head {
    bool old; /* HTTP/1.0 */
    bool closes, keeps_asked;
    unsigned hosts;
};

static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* The bytes before `end`, which they and it are taken from. False: it is not there. */
static bool cut(struct bytes *rest, char end, struct bytes *out)
{
    const char *at = rest->size > 0 ? memchr(rest->data, end, rest->size) : NULL;

    if (at == NULL)
        return false;
    *out = bytes_of(rest->data, (size_t)(at - rest->data));
    rest->size -= out->size + 1;
    rest->data = at + 1;
    return true;
}

static struct bytes trim(struct bytes text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = bytes_of(text.data + 1, text.size - 1);
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Nothing that could end a line or hide something. */
static bool is_text(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* "HTTP/1.1"; 0 or the status of the refusal. */
static int read_version(struct bytes version, struct head *head)
{
    if (version.size != 8 || memcmp(version.data, "HTTP/", 5) != 0 || version.data[6] != '.' ||
        version.data[5] < '0' || version.data[5] > '9' || version.data[7] < '0' ||
        version.data[7] > '9')
        return 400;
    if (version.data[5] != '1')
        return 505;
    head->old = version.data[7] == '0';
    return 0;
}

/* "/path?query", or with "http://host" before it. */
static int read_target(struct bytes target, struct admin_request *out)
{
    struct bytes authority, query;

    for (size_t i = 0; i < target.size; i++)
        if (target.data[i] <= ' ' || target.data[i] == 0x7f)
            return 400;
    if (target.size > 7 && bytes_equal_text_nocase(bytes_of(target.data, 7), "http://")) {
        target = bytes_of(target.data + 7, target.size - 7);
        if (!cut(&target, '/', &authority) || authority.size == 0)
            return 400;
        target = bytes_of(target.data - 1, target.size + 1);
        out->host = authority;
    }
    if (target.size == 0 || target.data[0] != '/')
        return 400;
    out->path = target;
    if (cut(&target, '?', &query))
        out->path = query;
    return 0;
}

static int read_request_line(struct bytes line, struct head *head, struct admin_request *out)
{
    struct bytes method, target;
    int refusal;

    if (!cut(&line, ' ', &method) || !cut(&line, ' ', &target) || method.size == 0)
        return 400;
    for (size_t i = 0; i < method.size; i++)
        if (!is_token(method.data[i]))
            return 400;
    refusal = read_version(line, head);
    if (refusal == 0)
        refusal = read_target(target, out);
    if (refusal != 0)
        return refusal;
    out->head = bytes_equal(method, BYTES("HEAD"));
    return out->head || bytes_equal(method, BYTES("GET")) ? 0 : 405;
}

static void read_connection(struct bytes value, struct head *head)
{
    struct bytes word;
    bool more = true;

    while (more) {
        more = cut(&value, ',', &word);
        word = trim(more ? word : value);
        head->closes |= bytes_equal_text_nocase(word, "close");
        head->keeps_asked |= bytes_equal_text_nocase(word, "keep-alive");
    }
}

/* A body would have to be read, and says nothing to a GET. */
static int read_field(struct bytes line, struct head *head, struct admin_request *out)
{
    struct bytes name;
    uint64_t length;

    if (!cut(&line, ':', &name) || name.size == 0)
        return 400;
    for (size_t i = 0; i < name.size; i++)
        if (!is_token(name.data[i]))
            return 400;
    line = trim(line);
    if (!is_text(line))
        return 400;
    if (bytes_equal_text_nocase(name, "host")) {
        head->hosts++;
        if (out->host.data == NULL)
            out->host = line;
    } else if (bytes_equal_text_nocase(name, "connection")) {
        read_connection(line, head);
    } else if (bytes_equal_text_nocase(name, "transfer-encoding")) {
        return 400;
    } else if (bytes_equal_text_nocase(name, "content-length")) {
        return number_parse_u64(line, &length) && length == 0 ? 0 : 400;
    }
    return 0;
}

static size_t refuse(struct admin_request *out, int status)
{
    out->refusal = status;
    out->keeps = false;
    return 1;
}

size_t admin_request_parse(const char *data, size_t size, struct admin_request *out)
{
    struct bytes rest = {data, size < ADMIN_REQUEST_SIZE_MAX ? size : ADMIN_REQUEST_SIZE_MAX};
    struct head head = {.old = false};
    bool begun = false;
    struct bytes line;
    int refusal;

    *out = (struct admin_request){.refusal = 0};
    while (cut(&rest, '\n', &line)) {
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        if (line.size == 0 && !begun)
            continue; /* some clients send an empty line behind what they sent before */
        if (line.size == 0) {
            if (head.hosts != 1 && !(head.old && head.hosts == 0))
                return refuse(out, 400);
            out->keeps = !head.closes && (!head.old || head.keeps_asked);
            return (size_t)(rest.data - data);
        }
        refusal = begun ? read_field(line, &head, out) : read_request_line(line, &head, out);
        if (refusal != 0)
            return refuse(out, refusal);
        begun = true;
    }
    return size >= ADMIN_REQUEST_SIZE_MAX ? refuse(out, begun ? 431 : 414) : 0;
}
