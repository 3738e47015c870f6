/* SPDX-License-Identifier: MIT */
#include "server/gate.h"

/* The default user, who need not be named. */
static bool admits(void *owner, struct bytes user, struct bytes password)
{
    struct server *server = owner;

    return (user.size == 0 || bytes_equal(user, BYTES("default"))) &&
           (!options_password_set(&server->options) ||
            options_password_is(&server->options, password));
}

/* * is every word. */
static bool lists(const char *words, struct bytes wanted)
{
    struct bytes rest = bytes_of_text(words), word;

    while (bytes_next_word(&rest, &word))
        if (bytes_equal(word, BYTES("*")) || bytes_equal_nocase(word, wanted))
            return true;
    return false;
}

static bool host_allowed(void *owner, struct bytes name)
{
    struct options *options = &((struct server *)owner)->options;

    lock_acquire(&options->lock);
    bool allowed = lists(options->http_allow_host, name);
    lock_release(&options->lock);
    return allowed;
}

static bool origin_allowed(void *owner, struct bytes origin)
{
    struct options *options = &((struct server *)owner)->options;

    lock_acquire(&options->lock);
    bool allowed = lists(options->http_allow_origin, origin);
    lock_release(&options->lock);
    return allowed;
}

void gate_init(struct wire_gate *gate, struct server *server, const struct wire_limits *limits)
{
    *gate = (struct wire_gate){
        .owner = server,
        .guarded = &server->guarded,
        .admits = admits,
        .host_allowed = host_allowed,
        .origin_allowed = origin_allowed,
        .limits = limits,
    };
}
