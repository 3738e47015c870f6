/* SPDX-License-Identifier: MIT */
#include "base/lzf.h"

#include <stdint.h>

/* One element of the row: bytes as they are, or a copy from before. */
struct step {
    size_t size;
    size_t back;         /* 0: as they are */
    struct bytes as_are; /* when back is 0 */
};

/* Takes one element off `*rest`. False: it is cut off. */
static bool next_step(struct bytes *rest, struct step *out)
{
    const uint8_t *at = (const uint8_t *)rest->data;
    uint8_t control = at[0];
    size_t used;
    if (control < 32) {
        *out = (struct step){.size = (size_t)control + 1};
        out->as_are = bytes_of(rest->data + 1, out->size);
        used = 1 + out->size;
        if (used > rest->size)
            return false;
    } else {
        bool is_long = control >> 5 == 7;
        used = is_long ? 3 : 2;
        if (used > rest->size)
            return false;
        out->size = is_long ? (size_t)at[1] + 9 : (size_t)(control >> 5) + 2;
        out->back = ((size_t)(control & 31) << 8 | at[used - 1]) + 1;
    }
    *rest = bytes_of(rest->data + used, rest->size - used);
    return true;
}

bool lzf_size(struct bytes packed, size_t size_max, size_t *out_size)
{
    size_t size = 0;
    while (packed.size != 0) {
        struct step step;
        if (!next_step(&packed, &step) || step.back > size || step.size > size_max - size)
            return false;
        size += step.size;
    }
    *out_size = size;
    return true;
}

void lzf_unpack(struct bytes packed, char *out)
{
    struct step step;
    while (packed.size != 0 && next_step(&packed, &step)) {
        if (step.back == 0)
            memcpy(out, step.as_are.data, step.size);
        else
            for (size_t i = 0; i < step.size; i++)
                out[i] = *(out + i - step.back);
        out += step.size;
    }
}
