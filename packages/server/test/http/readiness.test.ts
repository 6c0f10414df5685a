import { memoryStore } from '@toolscript/core';
import { until } from '@toolscript/testkit/until';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../support/test-server.js';

let server: TestServer;
let isFull = false;

beforeAll(async () => {
  const probe = async () => {
    if (isFull) throw new Error('the disk is full');
  };
  server = await openTestServer({ workers: 0, scripts: { ...memoryStore(), probe } });
});

afterAll(() => server.close());

it('a server is ready only while each of its stores can be written', async () => {
  const ready = async () => (await server.call('GET', '/readyz')).status;
  expect(await ready()).toBe(200);
  isFull = true;
  await until(async () => (await ready()) === 503);
  isFull = false;
  await until(async () => (await ready()) === 200);
});
