// SPDX-License-Identifier: MIT
// The package redis against a server at the unix socket given, in the version of RESP given.
'use strict';

const assert = require('node:assert/strict');
const { createClient, ErrorReply, WatchError, RESP_TYPES } = require('redis');
const { run, until } = require('./suite');

const [path, RESP] = [process.argv[2], Number(process.argv[3])];

async function open() {
  const client = createClient({ RESP, socket: { path, reconnectStrategy: () => 20 } });
  client.on('error', () => {}); // of a connection that a test closes; requests reject by themselves
  return client.connect();
}

async function connect() {
  const client = await open();
  await client.flushAll();
  return client;
}

run(connect, (client) => client.destroy(), {
  async strings(client) {
    assert.equal(await client.set('k', 'v'), 'OK');
    assert.equal(await client.get('k'), 'v');
    assert.equal(await client.get('missing'), null);
    assert.equal(await client.set('k', 'w', { condition: 'NX' }), null);
    assert.equal(await client.set('k', 'w', { condition: 'XX', GET: true }), 'v');
    assert.equal(await client.append('k', 'xyz'), 4);
    assert.equal(await client.getRange('k', 1, -2), 'xy');
    assert.equal(await client.mSet({ a: '1', b: '2' }), 'OK');
    assert.deepEqual(await client.mGet(['a', 'missing', 'b']), ['1', null, '2']);
    assert.equal(await client.incrBy('a', 41), 42);
    assert.equal(await client.incrByFloat('f', 0.5), '0.5');
    assert.equal(await client.getDel('f'), '0.5');
    assert.equal(await client.del(['a', 'b', 'missing']), 2);
    await assert.rejects(client.incr('k'), (error) => error instanceof ErrorReply &&
      error.message === 'ERR value is not an integer or out of range');
  },

  async bytes(client) {
    const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const bytes = Buffer.from(Array.from({ length: 100000 }, (_, i) => i % 256));
    await binary.set(bytes.subarray(0, 300), bytes);
    assert.ok(bytes.equals(await binary.get(bytes.subarray(0, 300))));
  },

  async expiry(client) {
    await client.set('k', 'v', { expiration: { type: 'PX', value: 100000 } });
    const left = await client.pTTL('k');
    assert.ok(left > 0 && left <= 100000, `${left}`);
    assert.equal(await client.getEx('k', { type: 'PERSIST' }), 'v');
    assert.equal(await client.ttl('k'), -1);
    assert.equal(await client.expire('k', 100, 'XX'), 0);
    assert.equal(await client.pExpire('k', 20), 1);
    await until(async () => await client.get('k') === null);
    assert.equal(await client.ttl('k'), -2);
  },

  async transactions(client) {
    assert.deepEqual(await client.multi().set('n', '1').incr('n').get('n').exec(), ['OK', 2, '2']);
    const other = await open();
    await client.watch('n');
    await other.set('n', 'changed');
    await assert.rejects(client.multi().set('n', 'mine').exec(), WatchError);
    assert.equal(await client.get('n'), 'changed');
    other.destroy();
  },

  async pipelining(client) {
    const count = 5000;
    const replies = await Promise.all(Array.from({ length: 2 * count }, (_, i) => i % 2
      ? client.get(`k${i >> 1}`) : client.set(`k${i >> 1}`, `${i >> 1}`)));
    assert.equal(replies.length, 2 * count);
    replies.forEach((value, i) => assert.equal(value, i % 2 ? `${i >> 1}` : 'OK'));
  },

  async scan(client) {
    await client.mSet(Array.from({ length: 1000 }, (_, i) => [`k${i}`, `${i}`]));
    const found = [];
    for await (const keys of client.scanIterator({ MATCH: 'k1*', COUNT: 50 })) found.push(...keys);
    const wanted = Array.from({ length: 1000 }, (_, i) => `k${i}`).filter((k) => k[1] === '1');
    assert.deepEqual(found.sort(), wanted.sort());
  },

  async 'what a client asks of a server'(client) {
    assert.equal((await client.hello(RESP)).proto, RESP);
    await client.clientSetName('me');
    assert.equal((await client.clientInfo()).name, 'me');
    assert.equal((await client.clientList()).length, 1);
    assert.deepEqual({ ...await client.configGet('maxclients') }, { maxclients: '10000' });
    assert.match(await client.info('server'), /^redis_version:7\.2\.4\r$/m);
    const [get] = await client.commandInfo(['get']);
    assert.equal(get.arity, 2);
    assert.deepEqual([...get.flags].sort(), ['fast', 'readonly']);
    assert.deepEqual(await client.commandGetKeysAndFlags(['RENAME', 'a', 'b']).then(
      (keys) => keys.map(({ key, flags }) => [key, [...flags].sort()])),
    [['a', ['RW', 'access', 'delete']], ['b', ['OW', 'update']]]);
  },

  async 'reconnect after CLIENT KILL'(client) {
    const other = await open();
    await client.set('k', 'v');
    const id = await client.clientId();
    const ready = new Promise((resolve) => client.once('ready', resolve));
    assert.equal(await other.clientKill({ filter: 'ID', id }), 1);
    await ready;
    assert.equal(await client.get('k'), 'v');
    assert.ok(await client.clientId() > id);
    other.destroy();
  },
});
