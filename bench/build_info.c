/* SPDX-License-Identifier: MIT */
#include "build_info.h"

#ifndef LARDER_BUILD_TYPE
#define LARDER_BUILD_TYPE "none"
#endif

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZER "address"
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SANITIZER "thread"
#elif __has_feature(memory_sanitizer)
#define SANITIZER "memory"
#elif __has_feature(undefined_behavior_sanitizer)
#define SANITIZER "undefined behaviour"
#endif

static const bool optimized =
#ifdef __OPTIMIZE__
    true;
#else
    false;
#endif

static const bool asserting =
#ifdef NDEBUG
    false;
#else
    true;
#endif

static const char *const sanitizer =
#ifdef SANITIZER
    SANITIZER;
#else
    NULL;
#endif

bool build_info_is_cost(void)
{
    return optimized && !asserting && sanitizer == NULL;
}

void build_info_print(FILE *file)
{
    fprintf(file, "larder-bench: %s, assertions %s, %s%s, compiler %s, build type label \"%s\"\n",
            optimized ? "optimized" : "NOT optimized", asserting ? "ON" : "off",
            sanitizer != NULL ? "SANITIZER " : "no sanitizer", sanitizer != NULL ? sanitizer : "",
            __VERSION__, LARDER_BUILD_TYPE);
    if (!build_info_is_cost())
        fprintf(file, "larder-bench: figures of this build are NOT A COST; measure a release "
                      "build\n");
}
