/* SPDX-License-Identifier: MIT
 *
 * What systemd is told: lines of `NAME=VALUE` in one datagram to the socket that the environment
 * names (NOTIFY_SOCKET; see sd_notify(3)). Spoken here rather than through libsystemd, which would
 * be a dependency, with what it brings into the process, for the sake of one datagram. No state;
 * thread-safe as long as nobody changes the environment.
 */
#ifndef LARDER_OS_NOTIFY_H
#define LARDER_OS_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether somebody wants to be told. */
bool notify_wanted(void);
/* Sends `text`, where somebody wants to be told; waits for a full queue for a second at most.
 * False: `*why` says why it was not sent. */
bool notify_send(const char *text, const char **why);
/* How often, in microseconds, `WATCHDOG=1` is expected of this process; 0: never. */
uint64_t notify_watchdog_us(void);

#endif
