/* SPDX-License-Identifier: MIT
 *
 * Copies of requests: for transactions, and for clients that have to wait.
 */
#include "command/request.h"

#include <string.h>

#include "base/alloc.h"
#include "command/item.h"
#include "engine/blob.h"

void request_release_blobs(struct blob **blobs, uint32_t argc)
{
    if (blobs == NULL)
        return;
    for (uint32_t i = 0; i < argc; i++) {
        if (blobs[i] != NULL) {
            blob_release(blobs[i]);
            blobs[i] = NULL;
        }
    }
}

static bool in_blob(const struct request *request, uint32_t index)
{
    return request->blobs != NULL && request->blobs[index] != NULL;
}

/* Of what lies between the copy and its bytes: the arguments, their blobs, the terms. */
static size_t arrays_size(const struct request *request)
{
    return request->argc *
               (sizeof(struct bytes) + (request->blobs != NULL ? sizeof(struct blob *) : 0)) +
           (request->terms != NULL ? sizeof(*request->terms) : 0);
}

/* Without what lies in blobs. */
static size_t block_size(const struct request *request)
{
    size_t size = sizeof(struct request_copy) + arrays_size(request);
    for (uint32_t i = 0; i < request->argc; i++)
        size += in_blob(request, i) ? 0 : request->argv[i].size;
    return size;
}

size_t request_copy_size(const struct request *request)
{
    size_t size = block_size(request);
    for (uint32_t i = 0; i < request->argc; i++)
        size += in_blob(request, i) ? blob_size(request->blobs[i]) : 0;
    return size;
}

struct request_copy *request_copy(struct request *request)
{
    struct request_copy *copy = alloc_get(block_size(request));
    if (copy == NULL)
        return NULL;
    copy->next = NULL;
    copy->size = request_copy_size(request);
    copy->request = *request;
    copy->request.argv = (struct bytes *)(copy + 1);
    if (request->blobs != NULL)
        copy->request.blobs = (struct blob **)(copy->request.argv + request->argc);
    char *at = (char *)(copy + 1) + arrays_size(request);
    if (request->terms != NULL) {
        copy->request.terms = (struct item_terms *)(void *)(at - sizeof(*request->terms));
        *copy->request.terms = *request->terms;
    }
    for (uint32_t i = 0; i < request->argc; i++) {
        struct bytes argument = request->argv[i];
        if (request->blobs != NULL)
            copy->request.blobs[i] = request->blobs[i];
        if (in_blob(request, i)) {
            request->blobs[i] = NULL;
        } else {
            if (argument.size != 0)
                memcpy(at, argument.data, argument.size);
            argument.data = at;
            at += argument.size;
        }
        copy->request.argv[i] = argument;
    }
    return copy;
}

void request_copy_free(struct request_copy *copy)
{
    request_release_blobs(copy->request.blobs, copy->request.argc);
    alloc_free(copy);
}
