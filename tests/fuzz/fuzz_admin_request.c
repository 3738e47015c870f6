/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the head of a request to the admin port. What is answered does not depend on how the
 * bytes are cut, but for refusals, which come as soon as they can.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct admin_request whole, part;
    char *block = malloc(size != 0 ? size : 1);

    must(block != NULL);
    memcpy(block, data, size);
    size_t consumed = admin_request_parse(block, size, &whole);
    must(consumed <= (size > 0 ? size : 1));
    must(consumed != 0 || size < ADMIN_REQUEST_SIZE_MAX);
    must(whole.refusal == 0 || !whole.keeps);
    if (consumed != 0 && whole.refusal == 0) {
        must(whole.path.size > 0 && whole.path.data[0] == '/');
        must(whole.path.data >= block && whole.path.data + whole.path.size <= block + consumed);
        must(memchr(whole.path.data, '\n', whole.path.size) == NULL);
        must(whole.host.data == NULL ||
             (whole.host.data >= block && whole.host.data + whole.host.size <= block + consumed));
    }
    for (size_t cut = 0; cut < size; cut += 1 + cut / 8) {
        size_t early = admin_request_parse(block, cut, &part);

        must(early == 0 || cut >= consumed || (whole.refusal == part.refusal && part.refusal != 0));
        must(early == 0 || part.refusal == whole.refusal);
    }
    free(block);
    return 0;
}
