/* SPDX-License-Identifier: MIT */
#include "engine/entry.h"

#include "engine/shard.h"

static uint16_t due_of_unit(int64_t unit)
{
    uint16_t due = (uint16_t)unit;
    return due == DUE_NEVER || due == DUE_ORPHAN ? (uint16_t)(DUE_ORPHAN - 1) : due;
}

uint16_t entry_due_now(int64_t now_ms, int64_t start_ms)
{
    return due_of_unit((now_ms - start_ms) / DUE_UNIT_MS);
}

uint16_t entry_due(int64_t expires_ms, int64_t now_ms, int64_t start_ms)
{
    int64_t now = (now_ms - start_ms) / DUE_UNIT_MS;
    int64_t due = (expires_ms - start_ms) / DUE_UNIT_MS + 1;
    if (due > now + DUE_HORIZON)
        due = now + DUE_HORIZON;
    return due_of_unit(due);
}

struct entry *entry_create(struct shard *shard, const struct entry_plan *plan, int64_t now_ms)
{
    int64_t start_ms = shard->engine->start_ms;
    struct blob *key_blob = NULL;
    uint8_t form = plan->form;
    if (plan->expires_ms != 0) {
        int64_t since = plan->expires_ms - start_ms;
        form |= since >= 0 && since < (int64_t)1 << 40 ? EXPIRY_SHORT : EXPIRY_LONG;
    }
    size_t key_size = plan->key.size;
    if (key_size > KEY_SHORT_MAX) {
        form |= KEY_LONG;
        key_size = sizeof key_blob;
    }
    size_t traits_at = sizeof(struct entry) + key_size + entry_expiry_size(form);
    size_t block_size = traits_size(plan->traits, traits_at);
    form |= block_size != 0 ? HAS_TRAITS : 0;
    size_t size = traits_at + block_size;
    if (plan->form != FORM_STRING && plan->form != FORM_EDIT)
        size = (size + 7) & ~(size_t)7;
    size += plan->room;
    struct entry *entry = slab_get(&shard->heap, size, plan->limit);
    if (entry == NULL)
        return NULL;
    if ((form & KEY_LONG) != 0) {
        key_blob = plan->key_blob;
        if (key_blob != NULL) {
            blob_hold(key_blob);
        } else {
            key_blob = blob_create(shard->engine, plan->key.size, plan->limit);
            if (key_blob == NULL) {
                slab_put(&shard->heap, entry);
                return NULL;
            }
            memcpy(blob_data(key_blob), plan->key.data, plan->key.size);
        }
        memcpy(entry->rest, &key_blob, sizeof key_blob);
    } else if (key_size != 0) {
        memcpy(entry->rest, plan->key.data, key_size);
    }
    atomic_init(&entry->mark, 0);
    entry->form = form;
    entry->key_size_table = (uint16_t)((key_blob != NULL ? 0 : key_size << 4) | plan->table);
    entry->value_size = (uint32_t)plan->value_size;
    char *expiry = entry->rest + key_size;
    if (form & EXPIRY_SHORT) {
        uint64_t since = (uint64_t)(plan->expires_ms - start_ms);
        memcpy(expiry, &since, EXPIRY_SHORT_SIZE);
    } else if (form & EXPIRY_LONG) {
        memcpy(expiry, &plan->expires_ms, EXPIRY_LONG_SIZE);
    }
    if (block_size != 0)
        traits_write((char *)entry + traits_at, plan->traits);
    if (plan->expires_ms != 0) {
        struct slab *slab = slab_of(entry);
        slab_due_set(&shard->heap, slab, slab_object_index(slab, entry),
                     entry_due(plan->expires_ms, now_ms, start_ms));
    }
    return entry;
}

void entry_free(struct shard *shard, struct entry *entry)
{
    uint8_t form = entry->form & FORM_MASK;
    if (form == FORM_BLOB || form == FORM_EDIT_BLOB)
        blob_release(entry_blob(entry));
    if (entry->form & KEY_LONG)
        blob_release(entry_key_blob(entry));
    slab_put(&shard->heap, entry);
}
