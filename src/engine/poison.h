/* SPDX-License-Identifier: MIT
 *
 * Tells AddressSanitizer which of the engine's own memory is free: slabs would hide a use after
 * free from it otherwise. Nothing in other builds.
 */
#ifndef LARDER_ENGINE_POISON_H
#define LARDER_ENGINE_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISON_ON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_ON 1
#endif
#endif
#ifndef POISON_ON
#define POISON_ON 0
#endif

#if POISON_ON
#include <sanitizer/asan_interface.h>
#endif

static inline void poison(const void *memory, size_t size)
{
#if POISON_ON
    __asan_poison_memory_region(memory, size);
#else
    (void)memory, (void)size;
#endif
}

static inline void unpoison(const void *memory, size_t size)
{
#if POISON_ON
    __asan_unpoison_memory_region(memory, size);
#else
    (void)memory, (void)size;
#endif
}

#endif
