/* SPDX-License-Identifier: MIT
 *
 * The table of scripts, and how they expand. See script.h.
 */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whatever stands between WATCH or MULTI and EXEC may be run twice and must not mind. Elements of
 * an EXEC's answer are single meanings. */
const struct script scripts[] = {
    {"a value is set, replaced and deleted",
     4,
     {"SET key value", "GET key", "SET key {300}", "GET key", "STRLEN key", "DEL key", "GET key",
      "SET key 5", "UNLINK key key", "EXISTS key", "SET key a", "MAINTAIN", "GETDEL key"}},
    {"SET with all its options",
     4,
     {"SET key a EX 10", "TTL key", "SET key b KEEPTTL GET", "PTTL key", "SET key c NX",
      "SET other d XX", "SET key e XX PX 5000", "SET other f NX EXAT 2000000000",
      "SET other g PXAT 2000000000000 GET", "SET key h", "PTTL key", "SETNX key i", "SETNX new j",
      "SETEX key 100 k", "PSETEX key 5000 l", "GETSET key m", "PTTL key", "GETSET fresh n"}},
    {"values of every kind and size are set over each other",
     2,
     {"SET key 12", "SET key {16383}", "SET key {20000}", "SET key !{30000}", "SET key {5}",
      "SET key !{16384}", "SET key !{2100000}", "SET key 7", "GET key", "SET key {20000} EX 100",
      "PERSIST key", "SET key {17000} KEEPTTL", "DEL key", "MAINTAIN", "SET key !{20000} NX",
      "SET key !{20000} NX", "SETNX key !{20000}", "APPEND blob !{20000}", "GETSET key !{18000}"}},
    {"long keys",
     2,
     {"SET {4095} a", "SET {4096} b", "SET {9000} {9000}", "GET {4096}", "RENAME {4096} {5000}",
      "MSET {4095} c {5000} d {6000} e", "EXPIRE {5000} 100", "INCR {8000}", "APPEND {8000} x",
      "DEL {4095} {5000} {6000}", "SCAN 0 COUNT 100", "MAINTAIN"}},
    {"numbers",
     2,
     {"INCR a", "INCR a", "INCRBY a 40", "DECR a", "DECRBY b 7", "SET c 100", "INCR c",
      "SET d text", "INCR d", "INCRBYFLOAT a 0.5", "INCRBYFLOAT f 3.25", "INCR f", "SET e 9 EX 10",
      "INCR e", "PTTL e", "APPEND e 1", "INCR e", "GET e"}},
    {"values grow in place",
     2,
     {"APPEND key a",
      "APPEND key {100}",
      "APPEND key {1000}",
      "APPEND key {8000}",
      "APPEND key {8000}",
      "APPEND key {40000}",
      "STRLEN key",
      "GETRANGE key 100 200",
      "SETRANGE key 50 zzz",
      "SETRANGE key 60000 end",
      "SET number 5",
      "APPEND number 5",
      "INCR number",
      "SETRANGE number 1 9",
      "SETRANGE missing 10 x",
      "GET missing",
      "SETRANGE none 0 {0}",
      "APPEND empty {0}",
      "SET blob {20000} EX 50",
      "APPEND blob more",
      "PTTL blob",
      "SETRANGE blob 3 zz",
      "EXPIRE key 70",
      "PERSIST key",
      "SET key small"}},
    {"values are dumped",
     2,
     {"SET a {300}", "DUMP a", "SET a 5", "DUMP a", "SET a !{20000}", "DUMP a", "APPEND a x",
      "DUMP a", "RESTORE a 0 {300}", "RESTORE b 0 {300}", "RESTORE a 0 {300} REPLACE"}},
    {"values are compared",
     2,
     {"MSET a {300} b {400}", "LCS a b LEN", "LCS a b", "LCS a b IDX WITHMATCHLEN",
      "SET a {300} IFEQ {299}", "SET a {200} IFEQ {300}", "SET b !{20000} IFEQ {400}",
      "SET a !{20000} IFEQ no", "DELIFEQ a {300}", "DELIFEQ a {200}", "SUBSTR b 0 5"}},
    {"MSET changes all keys or none",
     8,
     {"SET k3 old EX 100", "SET k7 {20000}", "MSET [40 k# {100}]", "MGET [40 k#]",
      "MSET [20 k# {3000}]", "MSET [4 k# {17000}]", "MSET k1 !{20000} k2 b k3 !{20000}",
      "MSET same 1 same 2 same {400}", "GET same", "MSETNX [3 k# x]", "MSETNX [30 n# {500}]",
      "MSETNX n1 !{20000} m1 !{20000}", "EXISTS [40 k#]"}},
    {"MSET changes all keys or none in one shard",
     1,
     {"MSET [10 k# v#]", "MSET [100 k# {200}]", "MSET [30 k# {16384}]", "DEL [100 k#]", "MAINTAIN",
      "MSET [60 k# {60}]"}},
    {"expiries change",
     2,
     {"SET key value",
      "EXPIRE key 100",
      "PEXPIRE key 5000 GT",
      "PEXPIRE key 500000 GT",
      "EXPIREAT key 2000000000",
      "PEXPIREAT key 2000000000123",
      "EXPIRETIME key",
      "PEXPIRETIME key",
      "PERSIST key",
      "TTL key",
      "GETEX key EX 50",
      "GETEX key PERSIST",
      "GETEX key PXAT 1999999999999",
      "EXPIRE key 100 NX",
      "EXPIRE key 100 XX",
      "EXPIRE key 10 LT",
      "SET n 5",
      "EXPIRE n 100",
      "INCR n",
      "SET blob {20000}",
      "EXPIRE blob 100",
      "PERSIST blob",
      "EXPIRE key -1",
      "GET key",
      "EXPIRE key 5"}},
    {"keys expire", 2, {"SET a 1 PX 100", "SET b {20000} PX 200",
                        "SET c x PX 100", "SET d x",
                        "TIME 150",       "GET a",
                        "MAINTAIN",       "TIME 100",
                        "GET b",          "SET c y",
                        "INCR a",         "PTTL a",
                        "SET e 1 PX 50",  "TIME 60",
                        "EXPIRE e 100",   "PERSIST e",
                        "APPEND e 5",     "SET f 1 PX 50",
                        "TIME 60",        "RENAME f g",
                        "EXISTS f",       "*40 SET t# x PX 10",
                        "TIME 20",        "MAINTAIN",
                        "DBSIZE"}},
    {"RENAME",
     8,
     {"SET a 1 EX 100",
      "RENAME a b",
      "TTL b",
      "RENAME none b",
      "SET c {20000}",
      "RENAME c b",
      "PTTL b",
      "RENAMENX b d",
      "SET e x",
      "RENAMENX d e",
      "RENAME e e",
      "RENAME d {5000}",
      "RENAME {5000} {4000}",
      "RENAME {4000} short",
      "SET n 7",
      "RENAME n m",
      "INCR m",
      "APPEND grown {5000}",
      "APPEND grown {5000}",
      "RENAME grown a"}},
    {"a table grows, is scanned and shrinks",
     1,
     {"*450 SET key:# v#", "SCAN 0 COUNT 2000", "MAINTAIN", "DBSIZE", "*430 DEL key:#", "MAINTAIN",
      "DBSIZE", "KEYS key:*", "*100 SET again:# {40}"}},
    {"one MSET makes a table grow",
     1,
     {"MSET [300 k# v#]", "MSET [500 k# w#]", "MAINTAIN", "DEL [500 k#]", "MAINTAIN", "DBSIZE"}},
    {"everything is flushed",
     4,
     {"MSET [30 k# {100}]", "SET big {40000}", "SET dies x PX 50", "FLUSHDB", "DBSIZE", "MAINTAIN",
      "MSET [30 k# {100}]", "SELECT 1", "SET other x", "FLUSHALL", "DBSIZE", "SELECT 0", "DBSIZE",
      "SET k1 a", "MAINTAIN", "GET k1"}},
    {"databases",
     2,
     {"SET key zero", "SELECT 1", "SET key one", "GET key", "SELECT 15", "MSET a 1 b 2", "SELECT 0",
      "GET key", "FLUSHDB", "SELECT 1", "GET key", "DBSIZE", "KEYS *", "SCAN 0", "TYPE key"}},
    {"keys go from one database to another",
     4,
     {"SET a 1 EX 100",
      "MOVE a 1",
      "SET a {300}",
      "MOVE a 1",
      "COPY a b",
      "COPY a {5000}",
      "COPY {5000} {5000} DB 2",
      "MOVE {5000} 3",
      "SET big {40000}",
      "COPY big big DB 1",
      "APPEND big x",
      "COPY big grown",
      "SETRANGE big 5 yy",
      "MOVE big 2",
      "APPEND s {100}",
      "COPY s b REPLACE",
      "APPEND s {100}",
      "INCR n",
      "COPY n m",
      "INCR n",
      "SWAPDB 0 1",
      "DBSIZE",
      "GET a",
      "SELECT 9",
      "SET only 1",
      "RANDOMKEY",
      "SELECT 1",
      "DBSIZE",
      "WATCH a",
      "2: COPY n a DB 1 REPLACE",
      "MULTI",
      "MOVE a 2",
      "EXEC",
      "FLUSHDB",
      "SWAPDB 0 1",
      "MAINTAIN",
      "TOUCH a b"}},
    {"transactions",
     4,
     {"SET n 1",
      "MULTI",
      "SET a {100}",
      "INCR n",
      "GET a",
      "APPEND a x",
      "EXPIRE a 100",
      "DEL none",
      "EXEC",
      "GET n",
      "MULTI",
      "SET a 1",
      "DISCARD",
      "GET a",
      "MULTI",
      "SET b !{20000}",
      "STRLEN b",
      "RENAME b c",
      "MSET [20 k# {50}]",
      "EXEC",
      "MULTI",
      "NOSUCH",
      "EXEC",
      "MULTI",
      "EXEC",
      "SELECT 2",
      "MULTI",
      "SET x 1",
      "SELECT 3",
      "SET x 2",
      "EXEC"}},
    {"watched keys",
     4,
     {"SET a 1",       "WATCH a b c", "MULTI",      "SET d 1", "EXEC",    "WATCH a b", "2: SET b 7",
      "MULTI",         "SET d 2",     "EXEC",       "GET d",   "WATCH a", "2: GET a",  "MULTI",
      "SET a 3",       "EXEC",        "WATCH a",    "UNWATCH", "MULTI",   "SET a 4",   "EXEC",
      "2: WATCH a",    "WATCH a",     "2: UNWATCH", "MULTI",   "SET a 5", "EXEC",      "WATCH w",
      "SET t 1 PX 50", "WATCH t",     "TIME 60",    "MULTI",   "SET a 6", "EXEC"}},
    {"watched keys are flushed, moved and deleted",
     2,
     {"WATCH w", "2: SET a 1", "WATCH a",         "2: DEL a", "MULTI",         "SET d 1", "EXEC",
      "WATCH w", "2: SET b 2", "2: SET x {3000}", "WATCH x",  "2: RENAME b x", "MULTI",   "SET d 2",
      "EXEC",    "WATCH w",    "2: SET c 3",      "WATCH c",  "2: FLUSHALL",   "MULTI",   "SET d 3",
      "EXEC",    "EXISTS d"}},
    {"reads that find nothing to do",
     2,
     {"GET none", "MGET [40 k#]", "STRLEN none", "EXISTS [40 k#]", "TTL none", "TYPE none",
      "GETRANGE none 0 -1", "DEL [40 k#]", "PERSIST none", "GETDEL none", "GETEX none EX 5", "PING",
      "ECHO {2000}", "DBSIZE", "KEYS *", "SCAN 0", "RANDOM", "GET", "COMMAND COUNT"}},
};
const uint32_t script_count = sizeof(scripts) / sizeof(scripts[0]);

/* ---- expansion */

static void *grown(void *block, size_t size)
{
    block = realloc(block, size);
    if (block == NULL)
        abort();
    return block;
}

static void add_argument(struct order *order, const char *word, uint32_t number)
{
    order->argv = grown(order->argv, (order->argc + 1) * sizeof(*order->argv));
    order->in_blob = grown(order->in_blob, order->argc + 1);
    bool in_blob = word[0] == '!';
    word += in_blob;
    size_t size = 0;
    char *data;
    if (word[0] == '{') {
        size = strtoul(word + 1, NULL, 10);
        data = grown(NULL, size + 1);
        for (size_t i = 0; i < size; i++)
            data[i] = (char)('a' + (size + i + number) % 25);
    } else {
        data = grown(NULL, strlen(word) + 12);
        for (; *word != '\0'; word++) {
            if (*word == '#')
                size += (size_t)sprintf(data + size, "%u", number);
            else
                data[size++] = *word;
        }
    }
    order->argv[order->argc] = bytes_of(data, size);
    order->in_blob[order->argc++] = in_blob;
}

/* Adds the words of `text` up to its end or a closing bracket. */
static void add_words(struct order *order, const char *text, uint32_t number)
{
    char word[256];
    int used;
    while (sscanf(text, " %255s%n", word, &used) == 1) {
        if (word[0] == '[') {
            uint32_t times = (uint32_t)strtoul(word + 1, NULL, 10);
            const char *end = strchr(text, ']');
            for (uint32_t i = 0; i < times; i++)
                add_words(order, text + used, i);
            text = end + 1;
            continue;
        }
        char *close = strchr(word, ']');
        if (close != NULL)
            *close = '\0';
        add_argument(order, word, number);
        if (close != NULL)
            return;
        text += used;
    }
}

static void add_line(struct orders *orders, const char *line)
{
    uint32_t times = 1;
    if (line[0] == '*') {
        char *rest;
        times = (uint32_t)strtoul(line + 1, &rest, 10);
        line = rest;
    }
    for (uint32_t i = 0; i < times; i++) {
        struct order order = {.kind = ORDER_COMMAND};
        const char *text = line;
        if (strncmp(text, "2: ", 3) == 0) {
            order.client = 1;
            text += 3;
        }
        if (strncmp(text, "TIME ", 5) == 0) {
            order.kind = ORDER_TIME;
            order.duration_ms = strtol(text + 5, NULL, 10);
        } else if (strcmp(text, "MAINTAIN") == 0) {
            order.kind = ORDER_MAINTAIN;
        } else {
            add_words(&order, text, i);
        }
        if (orders->count == orders->room) {
            orders->room = orders->room * 2 + 16;
            orders->first = grown(orders->first, orders->room * sizeof(*orders->first));
        }
        orders->first[orders->count++] = order;
    }
}

struct orders orders_create(const struct script *script)
{
    struct orders orders = {0};
    for (uint32_t i = 0; i < SCRIPT_LINES_MAX && script->lines[i] != NULL; i++)
        add_line(&orders, script->lines[i]);
    return orders;
}

void orders_destroy(struct orders *orders)
{
    for (uint32_t i = 0; i < orders->count; i++) {
        struct order *order = &orders->first[i];
        for (uint32_t a = 0; a < order->argc; a++)
            free((char *)(uintptr_t)order->argv[a].data);
        free(order->argv);
        free(order->in_blob);
    }
    free(orders->first);
}

char *order_encode(const struct order *order, size_t *out_size)
{
    size_t room = 32, size;
    for (uint32_t i = 0; i < order->argc; i++)
        room += order->argv[i].size + 32;
    char *data = grown(NULL, room);
    size = (size_t)sprintf(data, "*%u\r\n", order->argc);
    for (uint32_t i = 0; i < order->argc; i++) {
        size += (size_t)sprintf(data + size, "$%zu\r\n", order->argv[i].size);
        memcpy(data + size, order->argv[i].data, order->argv[i].size);
        size += order->argv[i].size;
        memcpy(data + size, "\r\n", 2);
        size += 2;
    }
    *out_size = size;
    return data;
}
