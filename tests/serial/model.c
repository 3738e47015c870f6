/* SPDX-License-Identifier: MIT
 *
 * The sequential specification: one function per command. See model.h.
 */
#include "model.h"

#include <assert.h>
#include <string.h>

/* One operation being carried out, its reply compared with the recorded one as it comes. */
struct run {
    struct model *model;
    const struct operation *operation;
    uint32_t thread;
    uint32_t told; /* tokens compared so far */
    bool differs;
};

void model_init(struct model *model, const struct cell *initial, uint32_t key_count)
{
    memset(model, 0, sizeof(*model));
    memcpy(model->cells, initial, key_count * sizeof(*initial));
}

uint32_t model_keys(const struct model *model, const struct operation *operation, uint32_t thread)
{
    return operation_keys(operation) | (operation->exec ? model->watched[thread] : 0);
}

static void dirty_watchers(struct model *model, uint32_t key, enum watch_state state)
{
    for (uint32_t t = 0; t < HISTORY_THREADS_MAX; t++)
        if ((model->watched[t] >> key & 1) != 0 && model->watch[t] < state)
            model->watch[t] = (uint8_t)state;
}

void model_vanish(struct model *model, uint32_t key)
{
    model->cells[key] = (struct cell){0};
    dirty_watchers(model, key, WATCH_DIRTY);
}

static bool present(const struct cell *cell)
{
    return cell->content.kind != CONTENT_NONE;
}

static bool expired(const struct cell *cell, int64_t now_ms)
{
    return cell->expires_ms != 0 && cell->expires_ms <= now_ms;
}

/* ---- replies */

static void tell(struct run *run, enum token_kind kind, struct content content)
{
    const struct operation *operation = run->operation;
    struct token token = {content, kind};
    if (run->told >= operation->token_count ||
        memcmp(&operation->tokens[run->told], &token, sizeof(token)) != 0)
        run->differs = true;
    run->told++;
}

static void tell_word(struct run *run, enum token_kind kind)
{
    tell(run, kind, (struct content){0});
}

static void tell_count(struct run *run, enum token_kind kind, int64_t count)
{
    tell(run, kind, (struct content){(uint64_t)count, 0, 0});
}

static void tell_cell(struct run *run, const struct cell *cell)
{
    if (present(cell))
        tell(run, TOKEN_VALUE, cell->content);
    else
        tell_word(run, TOKEN_MISSING);
}

/* ---- keys */

static struct cell *look(struct run *run, uint32_t key)
{
    struct cell *cell = &run->model->cells[key];
    if (expired(cell, run->operation->now_ms))
        model_vanish(run->model, key);
    return cell;
}

static void put(struct run *run, uint32_t key, struct content content, int64_t expires_ms)
{
    run->model->cells[key] = (struct cell){content, expires_ms};
    dirty_watchers(run->model, key, WATCH_DIRTY);
}

/* ---- commands */

static void run_get(struct run *run, const struct step *step)
{
    tell_cell(run, look(run, step->keys[0]));
}

static void run_set(struct run *run, const struct step *step)
{
    int64_t expires_ms = step->time_ms;
    if (expires_ms == STEP_TIME_KEEP)
        expires_ms = look(run, step->keys[0])->expires_ms;
    put(run, step->keys[0], step->values[0], expires_ms);
    tell_word(run, TOKEN_OK);
}

static void run_getdel(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    tell_cell(run, cell);
    if (present(cell))
        model_vanish(run->model, step->keys[0]);
}

static void run_mget(struct run *run, const struct step *step)
{
    tell_count(run, TOKEN_LIST, step->count);
    for (uint32_t i = 0; i < step->count; i++)
        tell_cell(run, look(run, step->keys[i]));
}

static void put_all(struct run *run, const struct step *step)
{
    for (uint32_t i = 0; i < step->count; i++)
        put(run, step->keys[i], step->values[i], 0);
}

static void run_mset(struct run *run, const struct step *step)
{
    put_all(run, step);
    tell_word(run, TOKEN_OK);
}

/* MSETNX, and SETNX as its case of one key. */
static void run_msetnx(struct run *run, const struct step *step)
{
    bool any = false;
    for (uint32_t i = 0; i < step->count; i++)
        any = any || present(look(run, step->keys[i]));
    if (!any)
        put_all(run, step);
    tell_count(run, TOKEN_INTEGER, !any);
}

static void run_incr(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    if (cell->content.kind == CONTENT_STRING) {
        tell_word(run, TOKEN_ERROR);
        return;
    }
    int64_t integer = (int64_t)cell->content.bits + 1; /* 0 when missing */
    put(run, step->keys[0], content_of_integer(integer), cell->expires_ms);
    tell_count(run, TOKEN_INTEGER, integer);
}

static void run_append(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    struct content content = content_append(cell->content, step->values[0]);
    put(run, step->keys[0], content, cell->expires_ms);
    tell_count(run, TOKEN_INTEGER, content.size);
}

/* RENAME and RENAMENX; their two keys are different ones. */
static void run_rename(struct run *run, const struct step *step)
{
    struct cell *from = look(run, step->keys[0]);
    if (!present(from)) {
        tell_word(run, TOKEN_ERROR);
        return;
    }
    if (step->kind == STEP_RENAMENX && present(look(run, step->keys[1]))) {
        tell_count(run, TOKEN_INTEGER, 0);
        return;
    }
    struct cell moved = *from;
    model_vanish(run->model, step->keys[0]);
    put(run, step->keys[1], moved.content, moved.expires_ms);
    if (step->kind == STEP_RENAMENX)
        tell_count(run, TOKEN_INTEGER, 1);
    else
        tell_word(run, TOKEN_OK);
}

static void run_del(struct run *run, const struct step *step)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < step->count; i++) {
        if (present(look(run, step->keys[i]))) {
            model_vanish(run->model, step->keys[i]);
            count++;
        }
    }
    tell_count(run, TOKEN_INTEGER, count);
}

static void run_exists(struct run *run, const struct step *step)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < step->count; i++)
        count += present(look(run, step->keys[i]));
    tell_count(run, TOKEN_INTEGER, count);
}

static void run_pexpireat(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    bool found = present(cell);
    if (found && step->time_ms <= run->operation->now_ms)
        model_vanish(run->model, step->keys[0]);
    else if (found)
        put(run, step->keys[0], cell->content, step->time_ms);
    tell_count(run, TOKEN_INTEGER, found);
}

static void run_getex(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    tell_cell(run, cell);
    if (present(cell) && step->time_ms <= run->operation->now_ms)
        model_vanish(run->model, step->keys[0]);
    else if (present(cell))
        put(run, step->keys[0], cell->content, step->time_ms);
}

static void run_persist(struct run *run, const struct step *step)
{
    struct cell *cell = look(run, step->keys[0]);
    bool expiring = cell->expires_ms != 0;
    if (expiring)
        put(run, step->keys[0], cell->content, 0);
    tell_count(run, TOKEN_INTEGER, expiring);
}

static void run_pexpiretime(struct run *run, const struct step *step)
{
    const struct cell *cell = look(run, step->keys[0]);
    int64_t shown = !present(cell) ? -2 : cell->expires_ms == 0 ? -1 : cell->expires_ms;
    tell_count(run, TOKEN_INTEGER, shown);
}

static void run_flushdb(struct run *run, const struct step *step)
{
    (void)step;
    for (uint32_t key = 0; key < HISTORY_KEYS_MAX; key++) {
        if (present(&run->model->cells[key]))
            model_vanish(run->model, key);
        else
            dirty_watchers(run->model, key, WATCH_MAYBE);
    }
    tell_word(run, TOKEN_OK);
}

/* A key that has expired by now counts as watched while present unless it vanished before: which of
 * the two it was, the EXEC tells. */
static void run_watch(struct run *run, const struct step *step)
{
    for (uint32_t i = 0; i < step->count; i++)
        run->model->watched[run->thread] |= (uint8_t)(1U << step->keys[i]);
    tell_word(run, TOKEN_OK);
}

static void unwatch(struct run *run)
{
    run->model->watched[run->thread] = 0;
    run->model->watch[run->thread] = WATCH_CLEAN;
}

static void run_unwatch(struct run *run, const struct step *step)
{
    (void)step;
    unwatch(run);
    tell_word(run, TOKEN_OK);
}

static void (*const step_runs[STEP_KIND_COUNT])(struct run *run, const struct step *step) = {
#define STEP(name, run, ...) [STEP_##name] = run,
#include "steps.def"
#undef STEP
};

/* ---- transactions */

/* Whether EXEC refuses. A refusal because one watched key has expired says that this key is gone;
 * with several expired ones it leaves open which of them were seen. */
static bool exec_refused(struct run *run)
{
    struct model *model = run->model;
    uint32_t expired_count = 0, expired_key = 0;
    for (uint32_t key = 0; key < HISTORY_KEYS_MAX; key++) {
        if ((model->watched[run->thread] >> key & 1) != 0 &&
            expired(&model->cells[key], run->operation->now_ms)) {
            expired_count++;
            expired_key = key;
        }
    }
    enum watch_state state = model->watch[run->thread];
    if (state == WATCH_DIRTY)
        return true;
    if (state == WATCH_CLEAN && expired_count == 1)
        model_vanish(model, expired_key);
    const struct operation *operation = run->operation;
    return expired_count > 0 || (state == WATCH_MAYBE && operation->token_count > 0 &&
                                 operation->tokens[0].kind == TOKEN_NO_LIST);
}

bool model_run(struct model *model, const struct operation *operation, uint32_t thread)
{
    struct run run = {.model = model, .operation = operation, .thread = thread};
    if (operation->exec) {
        bool refused = exec_refused(&run);
        unwatch(&run);
        if (refused) {
            tell_word(&run, TOKEN_NO_LIST);
            return !run.differs && run.told == operation->token_count;
        }
        tell_count(&run, TOKEN_LIST, operation->step_count);
    }
    for (uint32_t i = 0; i < operation->step_count && !run.differs; i++) {
        const struct step *step = &operation->steps[i];
        assert(step->kind < STEP_KIND_COUNT);
        step_runs[step->kind](&run, step);
    }
    return !run.differs && run.told == operation->token_count;
}
