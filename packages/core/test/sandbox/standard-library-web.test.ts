import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHash } from 'node:crypto';
import { QuickJsPool } from '#core/sandbox/index.js';
import { driveRun, returnedValue } from '#core/testing/drive-run.js';
import { comparing, expectNodesAnswer, openRealm, type Realm } from './standard-library-realm.js';

let realm: Realm;
let pool: QuickJsPool;
beforeAll(async () => {
  realm = await openRealm();
  pool = new QuickJsPool({ size: 1 });
});
afterAll(async () => {
  realm.close();
  await pool.close();
});

const ENCODINGS = ['utf8', 'hex', 'base64', 'base64url', 'ascii', 'latin1', 'binary', 'utf16le', 'ucs2', 'UTF-8'];
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.base64String(),
  fc.constantFrom('zz', 'abc', 'a-_=b', '4f6'),
);

describe('Buffer', () => {
  it('gives the bytes of a text as Node does, in every encoding', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...ENCODINGS), (text, encoding) => {
        // Node drops the high bits of characters that are in no alphabet.
        const given = /^(?:hex|base64)/u.test(encoding) ? text.replaceAll(/[^\0-\x7f]/gu, '') : text.toWellFormed();
        expectNodesAnswer(realm, ([input, name]) => [...Buffer.from(input as string, name as BufferEncoding)], [
          given,
          encoding,
        ]);
      }),
      comparing(400),
    );
  });

  it('gives the text of bytes as Node does, in every encoding', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(255), { maxLength: 40 }), fc.constantFrom(...ENCODINGS), (bytes, encoding) =>
        expectNodesAnswer(realm, ([given, name]) => Buffer.from(given as number[]).toString(name as BufferEncoding), [
          bytes,
          encoding,
        ]),
      ),
      comparing(400),
    );
  });

  it.each([
    () => Array.from(Buffer.concat([Buffer.from('ab'), new Uint8Array([1, 2])])),
    () => Array.from(Buffer.concat([Buffer.from('abc')], 2)),
    () => [Buffer.byteLength('é'), Buffer.byteLength('abcd', 'base64'), Buffer.isBuffer(Buffer.alloc(1))],
    () => [Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding('hex'), Buffer.isEncoding('x')],
    () => [Buffer.from('abc').equals(Buffer.from('abc')), Buffer.compare(Buffer.from('a'), Buffer.from('b'))],
    () => JSON.stringify(Buffer.from('hi')),
    () => Buffer.from('hello world').toString('utf8', 6, 9),
    () => Buffer.from('hello').subarray(1, 3).toString(),
    () => Buffer.from('hello').slice(-2).toString('hex'),
    () => [...Buffer.alloc(5, 'ab')],
    () => {
      const buffer = Buffer.alloc(4);
      return [buffer.write('hey!!', 1), buffer.toString()];
    },
    () => Buffer.from('a', 'nothing' as never),
    () => Buffer.from(5 as never),
    () => `${Buffer.from('as text')}`,
  ])('%s is as in Node', (work) => {
    expectNodesAnswer(realm, work, undefined);
  });
});

describe('Headers', () => {
  it.each([
    () => [...new Headers({ 'X-B': '1', 'a-a': ' 2 ' })],
    () => {
      const headers = new Headers([['Accept', 'a']]);
      headers.append('accept', 'b');
      headers.set('X', '1');
      headers.delete('x');
      return [headers.get('ACCEPT'), headers.get('x'), headers.has('accept'), [...headers.keys()]];
    },
    () => [...new Headers(new Headers({ a: '1' })).values()],
    () => {
      const headers = new Headers();
      headers.append('set-cookie', 'a=1');
      headers.append('set-cookie', 'b=2');
      return [headers.getSetCookie(), [...headers], headers.get('set-cookie')];
    },
    () => Object.fromEntries(new Headers({ One: 'x' })),
    () => new Headers({ 'a b': 'x' }),
  ])('%s is as in Node', (work) => {
    expectNodesAnswer(realm, work, undefined);
  });
});

const ONE = [11, 12, 13, 14] as const;
const TWO = [21, 22, 23, 24] as const;

const run = async (source: string, options = {}): Promise<unknown> =>
  returnedValue(await driveRun(pool, source, options));

describe('crypto', () => {
  it('gives the digests of Node, also across blocks', async () => {
    const lengths = [0, 1, 55, 56, 63, 64, 65, 111, 112, 119, 120, 127, 128, 129, 300];
    const names = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'];
    const script = `
      const found = [];
      for (const name of ${JSON.stringify(names)})
        for (const length of ${JSON.stringify(lengths)})
          found.push(Buffer.from(await crypto.subtle.digest(name, new Uint8Array(length).fill(length))).toString('hex'));
      return found;`;
    const expected = names.flatMap((name) =>
      lengths.map((length) =>
        createHash(name.toLowerCase().replace('-', '')).update(Buffer.alloc(length, length)).digest('hex'),
      ),
    );
    expect(await run(script)).toEqual(expected);
  });

  it('repeats its random values with the same seed, and gives others with another seed', async () => {
    const script = 'return [crypto.randomUUID(), [...crypto.getRandomValues(new Uint32Array(3))], Math.random()];';
    const first = await run(script, { job: { seed: ONE } });
    expect(first).toEqual(await run(script, { job: { seed: ONE } }));
    expect(first).not.toEqual(await run(script, { job: { seed: TWO } }));
    expect((first as string[])[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
  });

  it('refuses a target that is no list of integers, and too many bytes', async () => {
    const names = await run(`
      const names = [];
      for (const target of [new Float32Array(1), new Uint8Array(70000)])
        try { crypto.getRandomValues(target); } catch (error) { names.push(error.name); }
      return names;`);
    expect(names).toEqual(['TypeMismatchError', 'QuotaExceededError']);
  });
});

describe('AbortController', () => {
  it('aborts its signal once, and calls each listener with the event', async () => {
    const seen = await run(`
      const seen = [];
      const controller = new AbortController();
      const { signal } = controller;
      const removed = () => seen.push('removed');
      signal.onabort = (event) => seen.push(event.type);
      signal.addEventListener('abort', (event) => seen.push(event.target === signal));
      signal.addEventListener('abort', { handleEvent: () => seen.push('object') });
      signal.addEventListener('abort', removed);
      signal.removeEventListener('abort', removed);
      seen.push(signal.aborted);
      controller.abort(); controller.abort('again');
      seen.push(signal.aborted, signal.reason.name);
      try { signal.throwIfAborted(); } catch (error) { seen.push(error.name); }
      return seen;`);
    expect(seen).toEqual([false, 'abort', true, 'object', true, 'AbortError', 'AbortError']);
  });

  it('has signals of other signals, of a reason and of a time', async () => {
    const seen = await run(`
      const controller = new AbortController();
      const any = AbortSignal.any([controller.signal, new AbortController().signal]);
      controller.abort('reason');
      const timed = AbortSignal.timeout(1);
      for (let n = 0; n < 5; n++) await sleep(5);
      let illegal; try { new AbortSignal(); } catch (error) { illegal = error.name; }
      return [any.reason, AbortSignal.abort(1).reason, timed.reason.name, illegal];`);
    expect(seen).toEqual(['reason', 1, 'TimeoutError', 'TypeError']);
  });
});
