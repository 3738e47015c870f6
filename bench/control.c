/* SPDX-License-Identifier: MIT
 *
 * Linear probing over slots of hash and pointer; an entry is one allocation. A value of the same
 * size is overwritten in place: nobody else looks.
 */
#include "control.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct item {
    uint32_t key_size, value_size;
    char bytes[]; /* key, value */
};

struct slot {
    uint64_t hash;
    struct item *item; /* NULL: free */
};

struct control {
    struct slot *slots;
    size_t mask;
    uint64_t hash_seed;
};

struct control *control_create(size_t count_max, uint64_t hash_seed)
{
    size_t count = 16;
    while (count < count_max * 2)
        count *= 2;
    struct control *control = malloc(sizeof *control);
    struct slot *slots = calloc(count, sizeof *slots);
    if (control == NULL || slots == NULL) {
        free(control);
        free(slots);
        return NULL;
    }
    *control = (struct control){slots, count - 1, hash_seed};
    return control;
}

void control_destroy(struct control *control)
{
    if (control == NULL)
        return;
    for (size_t i = 0; i <= control->mask; i++)
        free(control->slots[i].item);
    free(control->slots);
    free(control);
}

/* The key's slot, or the free one where it belongs. */
static struct slot *find(const struct control *control, struct bytes key, uint64_t hash)
{
    for (size_t i = hash & control->mask;; i = (i + 1) & control->mask) {
        struct slot *slot = &control->slots[i];
        if (slot->item == NULL || (slot->hash == hash && slot->item->key_size == key.size &&
                                   memory_equal(slot->item->bytes, key.data, key.size)))
            return slot;
    }
}

bool control_set(struct control *control, struct bytes key, struct bytes value)
{
    uint64_t hash = hash_bytes(key.data, key.size, control->hash_seed);
    struct slot *slot = find(control, key, hash);
    struct item *item = slot->item;
    if (item == NULL || item->value_size != value.size) {
        item = malloc(sizeof *item + key.size + value.size);
        if (item == NULL)
            return false;
        item->key_size = (uint32_t)key.size;
        item->value_size = (uint32_t)value.size;
        memcpy(item->bytes, key.data, key.size);
        free(slot->item);
        *slot = (struct slot){hash, item};
    }
    memcpy(item->bytes + key.size, value.data, value.size);
    return true;
}

size_t control_get(const struct control *control, struct bytes key, char *out)
{
    uint64_t hash = hash_bytes(key.data, key.size, control->hash_seed);
    const struct item *item = find(control, key, hash)->item;
    if (item == NULL)
        return SIZE_MAX;
    memcpy(out, item->bytes + item->key_size, item->value_size);
    return item->value_size;
}
