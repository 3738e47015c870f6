/* SPDX-License-Identifier: MIT
 *
 * Whether an allocation may be refused for the memory limit. The limit is there to refuse what
 * clients want stored: what the engine needs to keep, change or drop what it has passes it.
 */
#ifndef LARDER_ENGINE_LIMIT_H
#define LARDER_ENGINE_LIMIT_H

enum limit { LIMIT_HOLDS, LIMIT_PASSED };

#endif
