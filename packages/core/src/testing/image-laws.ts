import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { ToolscriptUsageError } from '../protocol/index.js';
import { sha256 } from '../text/crypto.js';
import { law, type StoreLaw } from './store-laws.js';

export const imageLaws: readonly StoreLaw[] = [
  law('an image is read back byte for byte', async ({ images }) => {
    for (const bytes of [new Uint8Array(0), new Uint8Array([0, 255, 10]), new Uint8Array(3_000_000).fill(7, 9, 99)]) {
      const name = sha256(bytes);
      strictEqual(await images.has(name), false);
      await images.put(name, bytes);
      await images.put(name, bytes);
      strictEqual(await images.has(name), true);
      ok(Buffer.from(bytes).equals((await images.get(name)) ?? Buffer.from('none')));
    }
    strictEqual((await images.list()).length, 3);
  }),
  law('an image with a wrong hash is rejected', async ({ images }) => {
    const name = sha256(new Uint8Array([1]));
    await rejects(images.put(name, new Uint8Array([2])));
    strictEqual(await images.has(name), false);
    strictEqual(await images.get(name), undefined);
    deepStrictEqual(await images.list(), []);
  }),
  law('an image does not change when the bytes that were put or read change', async ({ images }) => {
    const bytes = new Uint8Array([1, 2, 3]);
    const name = sha256(bytes);
    await images.put(name, bytes);
    bytes[0] = 9;
    const got = await images.get(name);
    deepStrictEqual([...(got ?? [])], [1, 2, 3]);
    got?.fill(0);
    deepStrictEqual([...((await images.get(name)) ?? [])], [1, 2, 3]);
  }),
  law('the deletion of an image is idempotent', async ({ images }) => {
    const bytes = new Uint8Array([1]);
    const name = sha256(bytes);
    await images.delete(name);
    await images.put(name, bytes);
    await images.delete(name);
    await images.delete(name);
    strictEqual(await images.has(name), false);
    deepStrictEqual(await images.list(), []);
    await images.put(name, bytes);
    strictEqual(await images.has(name), true);
  }),
  law('an image that many writers put at once is stored once', async ({ images }) => {
    const bytes = new Uint8Array(100_000).fill(3);
    await Promise.all(Array.from({ length: 8 }, () => images.put(sha256(bytes), bytes)));
    deepStrictEqual(await images.list(), [sha256(bytes)]);
    ok(Buffer.from(bytes).equals((await images.get(sha256(bytes))) ?? Buffer.from('none')));
  }),
  law('a malformed hash is rejected by every function', async ({ images }) => {
    const upper = sha256(new Uint8Array([1])).toUpperCase();
    for (const name of ['', '..', '../journal', 'abc', upper, `${'a'.repeat(64)}/x`]) {
      await rejects(images.has(name), ToolscriptUsageError);
      await rejects(images.put(name, new Uint8Array([1])), ToolscriptUsageError);
      await rejects(images.get(name), ToolscriptUsageError);
      await rejects(images.delete(name), ToolscriptUsageError);
    }
  }),
];
