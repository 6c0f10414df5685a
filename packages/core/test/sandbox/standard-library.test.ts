import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { QuickJS } from 'quickjs-wasi';
import { describe, expect, it } from 'vitest';
import { openRealm, standardLibrary } from './standard-library-realm.js';

const NEWER_PARTS = (
  'Array.fromAsync Array.prototype.at Array.prototype.findLast Array.prototype.toSorted ' +
  'Array.prototype.toReversed Array.prototype.toSpliced Array.prototype.with Array.prototype.flatMap ' +
  'Object.groupBy Object.fromEntries Object.hasOwn Map.groupBy Promise.withResolvers Promise.try ' +
  'Promise.any Promise.allSettled Error.isError Error.captureStackTrace Set.prototype.union ' +
  'Set.prototype.intersection Set.prototype.difference Set.prototype.isSubsetOf Iterator.from ' +
  'Iterator.prototype.map Iterator.prototype.take Iterator.prototype.toArray ' +
  'String.prototype.isWellFormed String.prototype.at String.prototype.replaceAll ' +
  'String.prototype.matchAll RegExp.escape Uint8Array.fromBase64 ArrayBuffer.prototype.transfer ' +
  'Math.sumPrecise queueMicrotask atob btoa WeakRef FinalizationRegistry DOMException AggregateError ' +
  'Symbol.asyncIterator Symbol.dispose globalThis structuredClone Intl'
).split(' ');
const KEEP_LINES_DROP_SOURCE = 16;

describe('the standard library', () => {
  it('defines these globals, none of them enumerable, and nothing else', async () => {
    const bare = await QuickJS.create({ wasm: wasm(), timezoneOffset: 0 });
    const names = () =>
      JSON.parse(bare.evalCode('JSON.stringify(Object.getOwnPropertyNames(globalThis))').toString()) as string[];
    const before = new Set(names());
    bare.evalCode(await standardLibrary()).dispose();
    expect(
      names()
        .filter((name) => !before.has(name))
        .sort(),
    ).toEqual(['Buffer', 'Headers', 'Intl', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'structuredClone']);
    bare.dispose();
  });

  it('works the same in a realm that is not frozen', async () => {
    const realm = await openRealm({ freeze: false });
    const outcome = realm.run(() => {
      const url = new URL('../b?x=1', 'https://example.com/a/');
      url.searchParams.append('y', 'ü');
      return [
        url.href,
        structuredClone(new Map([[1, { a: [1] }]])).get(1),
        new TextDecoder().decode(new TextEncoder().encode('añ😀')),
        (1234.5).toLocaleString(),
        new Date(0).toLocaleDateString('en-US', { dateStyle: 'long' }),
        ['b', 'a'].sort(new Intl.Collator().compare),
      ];
    }, null);
    expect(outcome).toEqual({
      value: ['https://example.com/b?x=1&y=%C3%BC', { a: [1] }, 'añ😀', '1,234.5', 'January 1, 1970', ['a', 'b']],
    });
    realm.close();
  });

  it('is frozen in the realm of the other tests', async () => {
    const realm = await openRealm();
    const outcome = realm.run(
      () =>
        [URL, URL.prototype, Intl, Intl.NumberFormat.prototype, Error.prototype, Array.prototype].map((value) =>
          Object.isFrozen(value),
        ),
      null,
    );
    expect(outcome).toEqual({ value: [true, true, true, true, true, true] });
    realm.close();
  });

  it('keeps no state between callers', async () => {
    const realm = await openRealm();
    expect(realm.run(use, null)).toEqual(realm.run(use, null));
    realm.close();
  });

  it('reads no clock and no random numbers while it boots', async () => {
    const bare = await QuickJS.create({ wasm: wasm(), timezoneOffset: 0 });
    bare
      .evalCode(
        'for (const [owner, key] of [[Date, "now"], [Math, "random"]]) Object.defineProperty(owner, key, { value() { throw new Error("read at boot"); } })',
      )
      .dispose();
    bare.evalCode(await standardLibrary()).dispose();
    expect(bare.evalCode('typeof Intl.DateTimeFormat').toString()).toBe('function');
    bare.dispose();
  });

  it('takes less than 150 KB of the heap', async () => {
    const compiler = await QuickJS.create({ wasm: wasm(), timezoneOffset: 0 });
    const measured = await QuickJS.create({ wasm: wasm(), timezoneOffset: 0 });
    // The engine counts the bytecode that it received among its binary objects until it collects it.
    const used = () => {
      const { memoryUsedSize, binaryObjectSize } = measured.getMemoryUsage();
      return memoryUsedSize - binaryObjectSize;
    };
    const before = used();
    const bytecode = compiler.compile(await standardLibrary(), 'library', 0, KEEP_LINES_DROP_SOURCE);
    measured.evalBytecode(bytecode).dispose();
    expect(used() - before).toBeGreaterThan(10_000);
    expect(used() - before).toBeLessThan(150_000);
    compiler.dispose();
    measured.dispose();
  });

  it('handles long and hostile text', async () => {
    const realm = await openRealm();
    const outcome = realm.run((count) => {
      const attempts: (() => unknown)[] = [
        () => new Intl.NumberFormat().format(`${'9'.repeat(count)}x` as never),
        () => new Intl.NumberFormat().format(`${'9'.repeat(count)}.5` as never).length,
        () => new URLSearchParams(`a=${'%41'.repeat(count)}`).get('a')?.length,
        () => new URLSearchParams(`a=${'%ff'.repeat(count)}`).get('a')?.length,
        () => new URL(`http://a/${' '.repeat(count)}x`).pathname.length,
        () => new URL(`${' '.repeat(count)}x${' '.repeat(count)}`, 'http://a').pathname,
        () => new URL(`http://${'9'.repeat(count)}`),
        () => new URL(`http://[${':'.repeat(count)}]`),
        () => new URL(`http://${'@'.repeat(count)}h`).username.length,
        () => new URL(`http://${'é'.repeat(count)}`).host.length > count,
        () => new URL(`http://h/${'../'.repeat(count)}`).pathname,
        () => new TextDecoder('x'.repeat(count)),
        () => (1).toLocaleString(`en-${'a'.repeat(count)}`),
        () => (1).toLocaleString(`en${'-a'.repeat(count)}`),
        () => structuredClone('a'.repeat(count)).length,
      ];
      return attempts.map((attempt) => {
        try {
          return attempt();
        } catch (error) {
          return (error as Error).name;
        }
      });
    }, 30_000);
    expect(outcome).toEqual({
      value: [
        'NaN',
        40_001,
        30_000,
        30_000,
        90_002,
        '/x',
        'TypeError',
        'TypeError',
        89_997,
        true,
        '/',
        'RangeError',
        'RangeError',
        '1',
        30_000,
      ],
    });
    realm.close();
  });

  it('uses the engine’s own newer parts of the language', async () => {
    const realm = await openRealm();
    const outcome = realm.run(
      (paths) =>
        paths.filter(
          (path) =>
            path
              .split('.')
              .reduce<unknown>((owner, name) => (owner as Record<string, unknown> | undefined)?.[name], globalThis) ===
            undefined,
        ),
      NEWER_PARTS,
    );
    expect(outcome).toEqual({ value: [] });
    realm.close();
  });
});

function wasm(): Uint8Array {
  return readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
}

function use(): unknown {
  const url = new URL('http://a/?b=1');
  url.searchParams.set('b', '2');
  new TextDecoder().decode(new Uint8Array([0xe2]), { stream: true });
  return [
    new URL('http://a/?b=1').href,
    new TextDecoder().decode(new Uint8Array([0x41])),
    [...'aXbX'.matchAll(/X/g)].length,
    new URL('http://é/').href,
  ];
}
