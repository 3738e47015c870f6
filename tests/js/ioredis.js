// SPDX-License-Identifier: MIT
// ioredis against a server at the unix socket given.
'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const Redis = require('ioredis');
const { run, until } = require('./suite');

const path = process.argv[2];

async function connect() {
  const client = new Redis(path, { retryStrategy: () => 20 });
  await client.flushall();
  return client;
}

run(connect, (client) => client.disconnect(), {
  async strings(client) {
    assert.equal(await client.set('k', 'v'), 'OK');
    assert.equal(await client.get('k'), 'v');
    assert.equal(await client.get('missing'), null);
    assert.equal(await client.set('k', 'w', 'NX'), null);
    assert.equal(await client.set('k', 'w', 'XX', 'GET'), 'v');
    assert.equal(await client.append('k', 'xyz'), 4);
    assert.equal(await client.getrange('k', 1, -2), 'xy');
    assert.equal(await client.mset({ a: 1, b: 2 }), 'OK');
    assert.deepEqual(await client.mget('a', 'missing', 'b'), ['1', null, '2']);
    assert.equal(await client.incrby('a', 41), 42);
    assert.equal(await client.incrbyfloat('f', 0.5), '0.5');
    assert.equal(await client.del('a', 'b', 'missing'), 2);
    await assert.rejects(client.incr('k'), { message: 'ERR value is not an integer or out of range' });
  },

  async bytes(client) {
    const bytes = Buffer.from(Array.from({ length: 100000 }, (_, i) => i % 256));
    await client.set(bytes.subarray(0, 300), bytes);
    assert.ok(bytes.equals(await client.getBuffer(bytes.subarray(0, 300))));
  },

  async expiry(client) {
    await client.set('k', 'v', 'PX', 100000);
    const left = await client.pttl('k');
    assert.ok(left > 0 && left <= 100000, `${left}`);
    assert.equal(await client.persist('k'), 1);
    assert.equal(await client.ttl('k'), -1);
    assert.equal(await client.expire('k', 100, 'XX'), 0);
    assert.equal(await client.pexpire('k', 20), 1);
    await until(async () => await client.get('k') === null);
    assert.equal(await client.ttl('k'), -2);
  },

  async transactions(client) {
    const replies = await client.multi().set('n', 1).incr('n').get('n').exec();
    assert.deepEqual(replies, [[null, 'OK'], [null, 2], [null, '2']]);
    const other = client.duplicate();
    await client.watch('n');
    await other.set('n', 'changed');
    assert.equal(await client.multi().set('n', 'mine').exec(), null);
    assert.equal(await client.get('n'), 'changed');
    const [stored, refused] = await client.multi().set('s', 'x').incr('s').exec();
    assert.equal(stored[1], 'OK');
    assert.equal(refused[0].message, 'ERR value is not an integer or out of range');
    other.disconnect();
  },

  async pipelining(client) {
    const pipeline = client.pipeline();
    for (let i = 0; i < 5000; i++) pipeline.set(`k${i}`, i).get(`k${i}`);
    const replies = await pipeline.exec();
    assert.equal(replies.length, 10000);
    replies.forEach(([error, value], i) => {
      assert.equal(error, null);
      assert.equal(value, i % 2 ? `${(i - 1) / 2}` : 'OK');
    });
    const values = await Promise.all(Array.from({ length: 100 }, (_, i) => client.get(`k${i}`)));
    assert.deepEqual(values, Array.from({ length: 100 }, (_, i) => `${i}`));
  },

  async scan(client) {
    await client.mset(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i])));
    const found = [];
    for await (const keys of client.scanStream({ match: 'k1*', count: 50 })) found.push(...keys);
    const wanted = Array.from({ length: 1000 }, (_, i) => `k${i}`).filter((k) => k[1] === '1');
    assert.deepEqual(found.sort(), wanted.sort());
  },

  async 'what a client asks of a server'(client) {
    assert.match(await client.info('server'), /^redis_version:7\.2\.4\r$/m);
    assert.equal(await client.client('SETNAME', 'me'), 'OK');
    assert.equal(await client.client('GETNAME'), 'me');
    assert.deepEqual(await client.config('GET', 'maxclients'), ['maxclients', '10000']);
    assert.deepEqual((await client.command('INFO', 'get'))[0].slice(0, 3), ['get', 2, ['readonly', 'fast']]);
  },

  async 'reconnect after CLIENT KILL'(client) {
    const other = client.duplicate();
    await client.set('k', 'v');
    const id = await client.client('ID');
    const closed = once(client, 'close');
    assert.equal(await other.client('KILL', 'ID', id), 1);
    await closed;
    assert.equal(await client.get('k'), 'v');
    assert.ok(await client.client('ID') > id);
    other.disconnect();
  },
});
