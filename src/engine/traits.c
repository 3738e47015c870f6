/* SPDX-License-Identifier: MIT
 *
 * See engine/traits.h. The two fields that change are atomics, which is why the time is aligned.
 */
#include "engine/traits.h"

#include <stdatomic.h>
#include <string.h>

enum { STATE_AT = 1, FIELDS_AT = 2, ALIGNMENT = 4 };

static size_t time_at(size_t offset)
{
    return (offset + FIELDS_AT + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - offset;
}

/* Behind the fields of constant size. */
static size_t type_at(uint8_t kinds, size_t offset)
{
    size_t at = FIELDS_AT;

    if (kinds & TRAIT_READ_TIME)
        at = time_at(offset) + sizeof(uint32_t);
    if (kinds & TRAIT_FLAGS)
        at += sizeof(uint32_t);
    if (kinds & TRAIT_VERSION)
        at += sizeof(uint64_t);
    return at;
}

static size_t offset_of(const char *at)
{
    return (uintptr_t)at % ALIGNMENT;
}

static _Atomic uint32_t *time_of(const char *at)
{
    return (_Atomic uint32_t *)(void *)(uintptr_t)(at + time_at(offset_of(at)));
}

static _Atomic uint8_t *state_of(const char *at)
{
    return (_Atomic uint8_t *)(uintptr_t)(at + STATE_AT);
}

size_t traits_size(const struct traits *traits, size_t offset)
{
    if (traits == NULL || traits->kinds == 0)
        return 0;
    return type_at(traits->kinds, offset % ALIGNMENT) +
           (traits->kinds & TRAIT_TYPE ? 1 + traits->type.size : 0);
}

size_t traits_size_at(const char *at)
{
    uint8_t kinds = (uint8_t)*at;
    size_t size = type_at(kinds, offset_of(at));

    return kinds & TRAIT_TYPE ? size + 1 + (uint8_t)at[size] : size;
}

void traits_write(char *at, const struct traits *traits)
{
    uint8_t kinds = traits->kinds;
    char *field = at + FIELDS_AT;

    *at = (char)kinds;
    atomic_init(state_of(at), traits->state);
    if (kinds & TRAIT_READ_TIME) {
        atomic_init(time_of(at), traits->read_time_s);
        field = at + time_at(offset_of(at)) + sizeof(traits->read_time_s);
    }
    if (kinds & TRAIT_FLAGS) {
        memcpy(field, &traits->flags, sizeof(traits->flags));
        field += sizeof(traits->flags);
    }
    if (kinds & TRAIT_VERSION) {
        memcpy(field, &traits->version, sizeof(traits->version));
        field += sizeof(traits->version);
    }
    if (kinds & TRAIT_TYPE) {
        *field = (char)traits->type.size;
        memcpy(field + 1, traits->type.data, traits->type.size);
    }
}

void traits_read(const char *at, struct traits *out)
{
    uint8_t kinds = (uint8_t)*at;
    const char *field = at + FIELDS_AT;

    *out = (struct traits){.kinds = kinds};
    out->state = atomic_load_explicit(state_of(at), memory_order_relaxed);
    if (kinds & TRAIT_READ_TIME) {
        out->read_time_s = atomic_load_explicit(time_of(at), memory_order_relaxed);
        field = at + time_at(offset_of(at)) + sizeof(out->read_time_s);
    }
    if (kinds & TRAIT_FLAGS) {
        memcpy(&out->flags, field, sizeof(out->flags));
        field += sizeof(out->flags);
    }
    if (kinds & TRAIT_VERSION) {
        memcpy(&out->version, field, sizeof(out->version));
        field += sizeof(out->version);
    }
    if (kinds & TRAIT_TYPE)
        out->type = bytes_of(field + 1, (uint8_t)*field);
}

void traits_state_set(char *at, uint8_t state)
{
    atomic_store_explicit(state_of(at), state, memory_order_relaxed);
}

void traits_read_time_set(char *at, uint32_t read_time_s)
{
    if ((*at & TRAIT_READ_TIME) != 0 &&
        atomic_load_explicit(time_of(at), memory_order_relaxed) != read_time_s)
        atomic_store_explicit(time_of(at), read_time_s, memory_order_relaxed);
}
