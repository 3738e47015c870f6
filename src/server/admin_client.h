/* SPDX-License-Identifier: MIT */
#ifndef LARDER_SERVER_ADMIN_CLIENT_H
#define LARDER_SERVER_ADMIN_CLIENT_H

#include "server/session.h"

/* Sets a part of the client's label; on false an error was emitted. */
bool admin_client_name(struct call *call, enum session_label which, struct bytes text);

#endif
