/* SPDX-License-Identifier: MIT
 *
 * What the admin port understands of HTTP: the head of a GET or HEAD request without a body. Pure:
 * no state, nothing is copied.
 */
#ifndef LARDER_SERVER_ADMIN_REQUEST_H
#define LARDER_SERVER_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* The most a head may have. */
enum { ADMIN_REQUEST_SIZE_MAX = 8 * 1024 };

struct admin_request {
    int refusal;       /* the status of an error, after which the connection must close; 0: none */
    bool head;         /* HEAD: the body is not sent */
    bool keeps;        /* the connection stays open */
    struct bytes path; /* of the target, without its query; in `data` */
    struct bytes host; /* the target's or the header's, with its port; data NULL: there is none */
};

/* Returns how many bytes the request took; 0: there must come more. What is wrong is told as soon
 * as it can be seen; the number means nothing then but that it is not 0. */
size_t admin_request_parse(const char *data, size_t size, struct admin_request *out);

#endif
