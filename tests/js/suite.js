// SPDX-License-Identifier: MIT
// Runs named tests one after the other, each with a fresh client; tests/e2e/test_js_clients.py
// reads the lines that it prints.
'use strict';

async function until(condition) {
  while (!await condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

// `connect` gives a client of an empty server, `end` lets go of it.
async function run(connect, end, tests) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    const client = await connect();
    try {
      await test(client);
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`failed ${name}: ${error.stack}`);
    } finally {
      await end(client);
    }
  }
  process.exitCode = failed ? 1 : 0;
}

module.exports = { run, until };
