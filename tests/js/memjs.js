// SPDX-License-Identifier: MIT
// The package memjs, a client of memcached's binary protocol, against the TCP port given.
'use strict';

const assert = require('node:assert/strict');
const memjs = require('memjs');
const { run, until } = require('./suite');

const port = process.argv[3];

async function connect() {
  const client = memjs.Client.create(`127.0.0.1:${port}`, {
    timeout: 60, retries: 0, logger: { log() {} }, // what it logs comes as an error too
  });
  await client.flush();
  return client;
}

const text = async (client, key) => (await client.get(key)).value?.toString();

run(connect, (client) => client.close(), {
  async 'set and get'(client) {
    assert.equal(await client.set('k', 'v', {}), true);
    assert.equal(await text(client, 'k'), 'v');
    assert.equal((await client.get('missing')).value, null);
  },

  async 'add and replace'(client) {
    assert.equal(await client.replace('k', 'w', {}), false);
    assert.equal(await client.add('k', 'v', {}), true);
    assert.equal(await client.add('k', 'w', {}), false);
    assert.equal(await client.replace('k', 'w', {}), true);
    assert.equal(await text(client, 'k'), 'w');
  },

  async append(client) { // its prepend() sends what append() sends
    await assert.rejects(client.append('k', 'x'), /Item not stored/);
    await client.set('k', 'b', {});
    assert.equal(await client.append('k', 'c'), true);
    assert.equal(await text(client, 'k'), 'bc');
  },

  async delete(client) {
    await client.set('k', 'v', {});
    assert.equal(await client.delete('k'), true);
    assert.equal(await client.delete('k'), false);
  },

  async counters(client) {
    assert.equal((await client.increment('n', 1, { initial: 5 })).value, 5);
    assert.equal((await client.increment('n', 37, {})).value, 42);
    assert.equal((await client.decrement('n', 2, {})).value, 40);
    assert.equal(await text(client, 'n'), '40');
  },

  async expiry(client) {
    await client.set('k', 'v', { expires: 1 });
    assert.equal(await client.touch('k', 100), true);
    await client.set('short', 'v', { expires: 1 });
    await until(async () => await text(client, 'short') === undefined);
    assert.equal(await text(client, 'k'), 'v');
    assert.equal(await client.touch('short', 100), false);
  },

  async bytes(client) {
    const bytes = Buffer.from(Array.from({ length: 300000 }, (_, i) => i % 256));
    await client.set('big', bytes, {});
    assert.ok(bytes.equals((await client.get('big')).value));
  },

  async pipelining(client) {
    const keys = Array.from({ length: 2000 }, (_, i) => `k${i}`);
    await Promise.all(keys.map((key) => client.set(key, `${key}!`, {})));
    const values = await Promise.all(keys.map((key) => text(client, key)));
    assert.deepEqual(values, keys.map((key) => `${key}!`));
  },

  async statistics(client) {
    await client.set('k', 'v', {});
    const stats = await new Promise((resolve, reject) => client.stats(
      (error, server, found) => error ? reject(error) : resolve(found)));
    assert.equal(stats.curr_items, '1');
    assert.ok(Number(stats.pid) > 0);
  },
});
