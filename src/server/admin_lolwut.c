/* SPDX-License-Identifier: MIT
 *
 * LOLWUT: shelves with jars on them, drawn by a seed.
 */
#include <string.h>

#include "base/number.h"
#include "command/call.h"
#include "os/random.h"
#include "server/admin.h"
#include "server/server.h"
#include "server/text.h"

enum {
    COLUMNS_DEFAULT = 66,
    COLUMNS_MIN = 8,
    COLUMNS_MAX = 200,
    SHELVES_DEFAULT = 3,
    SHELVES_MAX = 50,
    ROWS = 4, /* of a shelf, above its board */
    PICTURE_SIZE_MAX = 128 * 1024,
};

static uint32_t roll(uint64_t *dice, uint32_t sides)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*dice >> 33) % sides;
}

/* A lid and one to three rows of glass, filled to some height. */
static void draw_jar(char rows[ROWS][COLUMNS_MAX], uint32_t left, uint32_t width, uint64_t *dice)
{
    uint32_t top = roll(dice, ROWS - 1), level = top + 1 + roll(dice, ROWS - top);
    char content = "o:%#*~"[roll(dice, 6)];

    memset(&rows[top][left + 1], '_', width - 2);
    for (uint32_t row = top + 1; row < ROWS; row++) {
        memset(&rows[row][left + 1], row >= level ? content : ' ', width - 2);
        rows[row][left] = rows[row][left + width - 1] = '|';
    }
}

static void draw_shelf(uint32_t columns, uint64_t *dice, struct buffer *out)
{
    char rows[ROWS][COLUMNS_MAX], board[COLUMNS_MAX];

    memset(rows, ' ', sizeof(rows));
    memset(board, '=', sizeof(board));
    for (uint32_t left = 1 + roll(dice, 3);;) {
        uint32_t width = 4 + roll(dice, 6);

        if (left + width >= columns)
            break;
        draw_jar(rows, left, width, dice);
        left += width + 1 + roll(dice, 3);
    }
    for (uint32_t row = 0; row < ROWS; row++)
        text_append(out, "%.*s\n", (int)columns, rows[row]);
    text_append(out, "%.*s\n", (int)columns, board);
}

enum outcome admin_lolwut(struct call *call)
{
    uint32_t first = call->argc >= 3 && bytes_equal_text_nocase(call->argv[1], "version") ? 3 : 1;
    int64_t version, wanted[] = {COLUMNS_DEFAULT, SHELVES_DEFAULT, (int64_t)random_seed()};
    struct buffer text;

    if (first == 3 && !number_parse_i64(call->argv[2], &version))
        return call_status(call, STATUS_NOT_INTEGER);
    for (uint32_t i = 0; i < 3 && first + i < call->argc; i++)
        if (!number_parse_i64(call->argv[first + i], &wanted[i]))
            return call_status(call, STATUS_NOT_INTEGER);
    int64_t columns = wanted[0] < COLUMNS_MIN ? COLUMNS_MIN : wanted[0];
    int64_t shelves = wanted[1] < 1 ? 1 : wanted[1];
    uint64_t dice = (uint64_t)wanted[2];

    buffer_init(&text, PICTURE_SIZE_MAX);
    for (int64_t i = 0; i < (shelves < SHELVES_MAX ? shelves : SHELVES_MAX); i++)
        draw_shelf((uint32_t)(columns < COLUMNS_MAX ? columns : COLUMNS_MAX), &dice, &text);
    text_append(&text, "Larder ver. %s, Redis ver. %s\n", LARDER_VERSION, SERVER_REDIS_VERSION);
    return admin_text(call, &text);
}
