/* SPDX-License-Identifier: MIT
 *
 * What the head of an HTTP request means: which command it asks for with which terms, where its
 * body ends, and whether it may be answered at all. No state.
 */
#ifndef LARDER_WIRE_HTTP_REQUEST_H
#define LARDER_WIRE_HTTP_REQUEST_H

#include <string.h>

#include "wire/http_head.h"

enum http_connection { HTTP_KEEP_SILENT, HTTP_CLOSE, HTTP_KEEP_ALIVE };

/* What the renderer has to know; lies in terms.form. Spans of the note, size 0: not there. */
struct http_form {
    uint8_t method;     /* enum http_method */
    uint8_t complaint;  /* enum http_complaint */
    uint8_t connection; /* enum http_connection */
    bool preflight;
    struct http_span if_match, if_none_match, if_range, range, origin;
};

struct http_request {
    struct http_form form;
    const char *command;   /* the name of its row */
    struct http_span path; /* the key, not decoded */
    bool escaped;          /* the path has escapes */
    bool admitted, last;
    bool continues; /* the client waits to be told to send the body */
    bool stores;    /* the body is the value; else nobody wants it */
    bool chunked;
    size_t length; /* of a body that is not chunked; 0: there may be none */
    const struct wire_limits *limits;
};

/* Fills in `request` and all of `terms` but form. */
void http_request_read(struct http_request *request, struct item_terms *terms,
                       const struct http_head *head, const char *data,
                       const struct wire_limits *limits);
/* It is answered with this complaint, and nothing is done. */
void http_request_refuse(struct http_request *request, enum http_complaint complaint);
/* Whether the body's end cannot be relied on, the body is not worth reading, or nothing more is to
 * be heard from where the request came from. */
bool http_request_fatal(const struct http_request *request);

/* What is wrong with a Host that a request names: HTTP_NONE, HTTP_BAD_HOST or HTTP_HOST. A name
 * that a stranger's DNS leads here is how a page gets around its origin. `gate` may be NULL. */
enum http_complaint http_host_check(const struct wire_gate *gate, struct bytes host);

/* A version in quotes: "42". Weak ones begin with W/. False: it is no version of ours. */
bool http_tag_parse(struct bytes tag, bool weak_too, uint64_t *out);

int http_hex_digit(char c);

static inline void http_form_store(struct item_terms *terms, const struct http_form *form)
{
    _Static_assert(sizeof(*form) <= sizeof(terms->form), "must fit");
    memcpy(terms->form, form, sizeof(*form));
}

static inline void http_form_load(struct http_form *form, const struct item_terms *terms)
{
    memcpy(form, terms->form, sizeof(*form));
}

#endif
