import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  JournalFullError,
  StaleEpochError,
  ToolscriptUsageError,
  type AppendOptions,
  type HarnessStore,
  type JournalStore,
} from '../protocol/index.js';

export interface TestStoreOptions {
  /** The most that the store keeps of one script. Without it, at least 32 MiB. */
  maxScriptBytes?: number;
}

/** Makes an empty store. */
export type MakeStore = (options?: TestStoreOptions) => HarnessStore | Promise<HarnessStore>;

/** One law of the ports in `HarnessStore`. `check` rejects where the store breaks it. */
export interface StoreLaw {
  readonly name: string;
  check(makeStore: MakeStore): Promise<void>;
}

/** What every store must hold. Run each law in the test framework of your choice. */
export function storeConformance(): readonly StoreLaw[] {
  return [...claimLaws, ...journalLaws, ...listLaws, ...imageLaws];
}

const claimLaws: readonly StoreLaw[] = [
  law('a script that nobody took has no claim', async ({ claim }) => {
    strictEqual(await claim.current('scr_none'), undefined);
  }),
  law('each take raises the epoch by one, and is held', async ({ claim }) => {
    for (const epoch of [1, 2, 3]) {
      strictEqual(await claim.take('scr_a', epoch - 1), true);
      deepStrictEqual(await claim.current('scr_a'), { epoch, isHeld: true });
    }
    strictEqual(await claim.current('scr_b'), undefined);
  }),
  law('a take from another epoch than the current one fails and changes nothing', async ({ claim }) => {
    for (const epoch of [1, -1, 0.5, Number.NaN, 2 ** 53])
      strictEqual(await claim.take('scr_a', epoch), false, String(epoch));
    strictEqual(await claim.current('scr_a'), undefined);
    await claim.take('scr_a', 0);
    await claim.take('scr_a', 1);
    for (const epoch of [0, 1, 3]) strictEqual(await claim.take('scr_a', epoch), false, String(epoch));
    deepStrictEqual(await claim.current('scr_a'), { epoch: 2, isHeld: true });
  }),
  law('exactly one of many concurrent takers wins', async ({ claim }) => {
    for (let epoch = 0; epoch < 10; epoch++) {
      const wins = await Promise.all(Array.from({ length: 20 }, () => claim.take('scr_a', epoch)));
      strictEqual(wins.filter(Boolean).length, 1);
    }
  }),
  law('a released claim is not held, and can be taken again', async ({ claim }) => {
    await claim.take('scr_a', 0);
    await claim.release('scr_a', 1);
    await claim.release('scr_a', 1);
    deepStrictEqual(await claim.current('scr_a'), { epoch: 1, isHeld: false });
    strictEqual(await claim.take('scr_a', 1), true);
    deepStrictEqual(await claim.current('scr_a'), { epoch: 2, isHeld: true });
  }),
  law('the release of another epoch does nothing', async ({ claim }) => {
    await claim.release('scr_a', 1);
    strictEqual(await claim.current('scr_a'), undefined);
    await claim.take('scr_a', 0);
    await claim.take('scr_a', 1);
    for (const epoch of [0, 1, 3]) await claim.release('scr_a', epoch);
    deepStrictEqual(await claim.current('scr_a'), { epoch: 2, isHeld: true });
    await claim.take('scr_a', 2);
    deepStrictEqual(await claim.current('scr_a'), { epoch: 3, isHeld: true });
  }),
];

const journalLaws: readonly StoreLaw[] = [
  law('a script without journal has no lines', async ({ claim, journal }) => {
    strictEqual(await journal.read('scr_a'), undefined);
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, []);
    strictEqual(await journal.read('scr_a'), undefined);
  }),
  law('order is kept without awaiting', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    const appends = Array.from({ length: 200 }, (_, index) =>
      append(journal, 'scr_a', 1, [`${index}a`, `${index}b`], { flush: index % 50 === 7 }),
    );
    await Promise.all(appends);
    const expected = Array.from({ length: 200 }, (_, index) => [`${index}a`, `${index}b`]).flat();
    deepStrictEqual(await journal.read('scr_a'), expected);
  }),
  law('journals do not mix', async ({ claim, journal }) => {
    for (const scriptId of ['scr_a', 'scr_A1', 'scr_a-']) {
      await claim.take(scriptId, 0);
      await journal.append(scriptId, 1, [scriptId]);
    }
    for (const scriptId of ['scr_a', 'scr_A1', 'scr_a-']) deepStrictEqual(await journal.read(scriptId), [scriptId]);
  }),
  law('a stale epoch cannot append', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['one']);
    await claim.take('scr_a', 1);
    for (const options of [{}, { flush: true }])
      await rejects(append(journal, 'scr_a', 1, ['stale'], options), StaleEpochError);
    await rejects(append(journal, 'scr_a', 1, []), StaleEpochError);
    await journal.append('scr_a', 2, ['two']);
    deepStrictEqual(await journal.read('scr_a'), ['one', 'two']);
  }),
  law('an epoch that nobody took cannot append', async ({ claim, journal }) => {
    for (const epoch of [0, 1, -1, 0.5, Number.NaN])
      await rejects(append(journal, 'scr_a', epoch, ['line']), StaleEpochError);
    await claim.take('scr_a', 0);
    await rejects(append(journal, 'scr_a', 2, ['line']), StaleEpochError);
    strictEqual(await journal.read('scr_a'), undefined);
  }),
  law('a released epoch may still append', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    await claim.release('scr_a', 1);
    await journal.append('scr_a', 1, ['line']);
    deepStrictEqual(await journal.read('scr_a'), ['line']);
  }),
  law(
    'lines come back as they were: empty, unicode, control characters, what looks like the store’s own',
    async (store) => {
      const lines = [
        '',
        ' ',
        '+',
        '3 x',
        '3*2 x',
        '{"a":1}',
        '\r',
        '\u2028\u0085',
        '\0\u001b[1m',
        '😀é\ufeff',
        '\ufeffx',
        '0',
      ];
      await store.claim.take('scr_a', 0);
      for (const line of lines) await store.journal.append('scr_a', 1, [line]);
      await store.journal.append('scr_a', 1, lines);
      deepStrictEqual(await store.journal.read('scr_a'), [...lines, ...lines]);
    },
  ),
  law('a huge line comes back', async ({ claim, journal }) => {
    const lines = ['é'.repeat(2_000_000), 'x'.repeat(5_000_000), 'end'];
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, lines);
    ok((await journal.read('scr_a'))?.join('\n') === lines.join('\n'));
    strictEqual((await journal.list())[0]?.lastLine, 'end');
    await journal.append('scr_a', 1, [lines[0]!]);
    ok((await journal.list())[0]?.lastLine === lines[0]);
  }),
  law('what is no line is refused, and all lines with it', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    for (const line of ['a\nb', '\n', '\ud800', 'x\udc00x'])
      await rejects(append(journal, 'scr_a', 1, ['whole', line]), ToolscriptUsageError);
    strictEqual(await journal.read('scr_a'), undefined);
  }),
  law('a full journal takes all lines of an append or none', async (_, makeStore) => {
    const { claim, journal } = await makeStore({ maxScriptBytes: 1_000 });
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['x'.repeat(500)]);
    for (const options of [{}, { flush: true }])
      await rejects(append(journal, 'scr_a', 1, ['small', 'é'.repeat(250)], options), JournalFullError);
    await journal.append('scr_a', 1, ['small']);
    deepStrictEqual(await journal.read('scr_a'), ['x'.repeat(500), 'small']);
    await claim.take('scr_b', 0);
    await journal.append('scr_b', 1, ['another script’s']);
  }),
  law('a full journal can be taken over and deleted', async (_, makeStore) => {
    const { claim, journal } = await makeStore({ maxScriptBytes: 100 });
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['x'.repeat(90)]);
    strictEqual(await claim.take('scr_a', 1), true);
    await rejects(append(journal, 'scr_a', 2, ['x'.repeat(90)]), JournalFullError);
    deepStrictEqual(await journal.read('scr_a'), ['x'.repeat(90)]);
    await journal.delete('scr_a');
    deepStrictEqual(await journal.list(), []);
  }),
  law('delete is idempotent and forgets the claim', async ({ claim, journal }) => {
    await journal.delete('scr_a');
    for (const round of ['first', 'second']) {
      await claim.take('scr_a', 0);
      await claim.take('scr_a', 1);
      await journal.append('scr_a', 2, [round]);
      deepStrictEqual(await journal.read('scr_a'), [round]);
      await journal.delete('scr_a');
      await journal.delete('scr_a');
      strictEqual(await journal.read('scr_a'), undefined);
      strictEqual(await claim.current('scr_a'), undefined);
      deepStrictEqual(await journal.list(), []);
    }
  }),
  law('the holder of a deleted script cannot append', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['line']);
    await journal.delete('scr_a');
    await rejects(append(journal, 'scr_a', 1, ['after']), StaleEpochError);
    deepStrictEqual(await journal.list(), []);
  }),
  law('an odd script id is refused everywhere', async ({ claim, journal }) => {
    for (const scriptId of ['', '.', '..', '../x', 'a/b', 'a\\b', 'a.b', 'a\0', 'é', 'a b', 'a\n', 'x'.repeat(129)]) {
      await rejects(claim.current(scriptId), ToolscriptUsageError);
      await rejects(claim.take(scriptId, 0), ToolscriptUsageError);
      await rejects(claim.release(scriptId, 1), ToolscriptUsageError);
      await rejects(append(journal, scriptId, 1, ['line']), ToolscriptUsageError);
      await rejects(journal.read(scriptId), ToolscriptUsageError);
      await rejects(journal.delete(scriptId), ToolscriptUsageError);
    }
    strictEqual(await claim.take('x'.repeat(128), 0), true);
  }),
];

const listLaws: readonly StoreLaw[] = [
  law('an empty store lists nothing', async ({ journal, images }) => {
    deepStrictEqual(await journal.list(), []);
    deepStrictEqual(await images.list(), []);
  }),
  law('list tells the last line and the bytes of each script', async ({ claim, journal }) => {
    const before = Date.now() - 1_000;
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['one', 'two']);
    await claim.take('scr_a', 1);
    const [summary] = await journal.list();
    strictEqual(summary?.scriptId, 'scr_a');
    strictEqual(summary.lastLine, 'two');
    ok(summary.bytes >= 6 && summary.bytes < 100, `${summary.bytes} bytes`);
    ok(summary.updatedAtMs >= before && summary.updatedAtMs <= Date.now() + 1_000, `${summary.updatedAtMs}`);
    await journal.append('scr_a', 2, ['three']);
    strictEqual((await journal.list())[0]?.lastLine, 'three');
  }),
  law('list has the oldest change first', async ({ claim, journal }) => {
    for (const scriptId of ['scr_a', 'scr_b', 'scr_c']) {
      await claim.take(scriptId, 0);
      await journal.append(scriptId, 1, ['line']);
      await delay(20);
    }
    await journal.append('scr_a', 1, ['line']);
    deepStrictEqual(
      (await journal.list()).map(({ scriptId }) => scriptId),
      ['scr_b', 'scr_c', 'scr_a'],
    );
  }),
  law('a script that was claimed and never wrote is listed, and can be deleted', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    const [summary] = await journal.list();
    deepStrictEqual({ ...summary, updatedAtMs: 0 }, { scriptId: 'scr_a', updatedAtMs: 0, bytes: 0, lastLine: '' });
    await journal.delete('scr_a');
    deepStrictEqual(await journal.list(), []);
  }),
];

const imageLaws: readonly StoreLaw[] = [
  law('an image comes back, byte for byte', async ({ images }) => {
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
  law('images refuse bytes of another hash', async ({ images }) => {
    const name = sha256(new Uint8Array([1]));
    await rejects(images.put(name, new Uint8Array([2])));
    strictEqual(await images.has(name), false);
    strictEqual(await images.get(name), undefined);
    deepStrictEqual(await images.list(), []);
  }),
  law('an image is not changed by changing what was put or got', async ({ images }) => {
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
  law('an image put by many at once is kept once', async ({ images }) => {
    const bytes = new Uint8Array(100_000).fill(3);
    await Promise.all(Array.from({ length: 8 }, () => images.put(sha256(bytes), bytes)));
    deepStrictEqual(await images.list(), [sha256(bytes)]);
    ok(Buffer.from(bytes).equals((await images.get(sha256(bytes))) ?? Buffer.from('none')));
  }),
  law('an odd hash is refused everywhere', async ({ images }) => {
    const upper = sha256(new Uint8Array([1])).toUpperCase();
    for (const name of ['', '..', '../journal', 'abc', upper, `${'a'.repeat(64)}/x`]) {
      await rejects(images.has(name), ToolscriptUsageError);
      await rejects(images.put(name, new Uint8Array([1])), ToolscriptUsageError);
      await rejects(images.get(name), ToolscriptUsageError);
      await rejects(images.delete(name), ToolscriptUsageError);
    }
  }),
];

function law(name: string, check: (store: HarnessStore, makeStore: MakeStore) => Promise<void>): StoreLaw {
  return { name, check: async (makeStore) => check(await makeStore(), makeStore) };
}

/** A store may throw as well as reject. */
async function append(
  journal: JournalStore,
  scriptId: string,
  epoch: number,
  lines: readonly string[],
  options?: AppendOptions,
): Promise<void> {
  await journal.append(scriptId, epoch, lines, options);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
