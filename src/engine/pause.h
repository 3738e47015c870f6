/* SPDX-License-Identifier: MIT
 *
 * Named points in the lock-free paths where a test may delay a thread, so that two CPUs meet the
 * interleavings that many would. Compiled to nothing unless LARDER_PAUSES is 1.
 */
#ifndef LARDER_ENGINE_PAUSE_H
#define LARDER_ENGINE_PAUSE_H

enum engine_pause_point {
    PAUSE_MARK_READ,     /* a reader has seen no mark, and not yet the slot */
    PAUSE_BUCKET_CHOSEN, /* it knows the bucket, which may be moved before it looks inside */
    PAUSE_SLOT_READ,     /* it has the slot, and not yet the entry */
    PAUSE_VALUE_READ,    /* it has the value, and has not yet looked at the mark again */
    PAUSE_PROBE_MISSED,  /* it found nothing, and has not yet checked the move counter */
    PAUSE_PUBLISHED,     /* a writer has published one change of maybe several */
    PAUSE_MOVED,         /* a bucket's entries stand in both arrays */
    PAUSE_EXPIRED_FOUND, /* an expired entry is about to be unlinked */
    PAUSE_COUNT
};

#if LARDER_PAUSES
/* Provided by the test. */
void engine_pause(enum engine_pause_point point);
#define ENGINE_PAUSE(point) engine_pause(point)
#else
#define ENGINE_PAUSE(point) ((void)0)
#endif

/* 0 in every real build. Tests build the engine with one planted fault to show that their checker
 * would notice: 1 no marks, 2 no move counter, 3 execution trusts what a prefetch saw, 4 expiry
 * answered without unlinking, 5 the mark is looked at only before the slot. */
#ifndef LARDER_CANARY
#define LARDER_CANARY 0
#endif

#endif
