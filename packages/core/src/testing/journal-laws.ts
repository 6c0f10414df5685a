import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { JournalFullError, StaleEpochError, ToolscriptUsageError } from '../protocol/index.js';
import { sha256 } from '../text/crypto.js';
import { append, HOLDER, law, plain, portLaw, comparedScript, type StoreLaw } from './store-laws.js';

export const journalLaws: readonly StoreLaw[] = [
  law('a script without a journal has no lines', async ({ claim, journal }) => {
    strictEqual(await journal.read('scr_a'), undefined);
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, []);
    strictEqual(await journal.read('scr_a'), undefined);
  }),
  law('appends that are not awaited keep their order', async ({ claim, journal }) => {
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
  law('an epoch that was never claimed cannot append', async ({ claim, journal }) => {
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
  law('lines are read back unchanged: empty, Unicode, control characters, text like the store’s own', async (store) => {
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
  }),
  law('a huge line is read back', async ({ claim, journal }) => {
    const lines = ['é'.repeat(2_000_000), 'x'.repeat(5_000_000), 'end'];
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, lines);
    ok((await journal.read('scr_a'))?.join('\n') === lines.join('\n'));
  }),
  law('an invalid line is rejected together with all other lines', async ({ claim, journal }) => {
    await claim.take('scr_a', 0);
    for (const line of ['a\nb', '\n', '\ud800', 'x\udc00x'])
      await rejects(append(journal, 'scr_a', 1, ['whole', line]), ToolscriptUsageError);
    strictEqual(await journal.read('scr_a'), undefined);
  }),
  law('a full journal takes all lines of an append or none', async (_, makeStore) => {
    const { claim, journal } = plain(await makeStore({ maxScriptBytes: 1_000 }));
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['x'.repeat(500)]);
    for (const options of [{}, { flush: true }])
      await rejects(append(journal, 'scr_a', 1, ['small', 'é'.repeat(250)], options), JournalFullError);
    await journal.append('scr_a', 1, ['small']);
    deepStrictEqual(await journal.read('scr_a'), ['x'.repeat(500), 'small']);
    await claim.take('scr_b', 0);
    await journal.append('scr_b', 1, ['another script’s']);
  }),
  law('a full journal can be claimed and deleted', async (_, makeStore) => {
    const { claim, journal } = plain(await makeStore({ maxScriptBytes: 200 }));
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['x'.repeat(150)]);
    strictEqual(await claim.take('scr_a', 1), true);
    await rejects(append(journal, 'scr_a', 2, ['x'.repeat(150)]), JournalFullError);
    deepStrictEqual(await journal.read('scr_a'), ['x'.repeat(150)]);
    await journal.delete('scr_a');
    deepStrictEqual(await journal.list(), []);
  }),
  law('delete is idempotent and deletes the claim', async ({ claim, journal }) => {
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
  law('a malformed script id is rejected by every function', async ({ claim, journal }) => {
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

export const slotLaws: readonly StoreLaw[] = [
  portLaw('the slot holds the newest text, and nothing of the older texts', async ({ claim, journal }) => {
    await claim.take('scr_a', 0, HOLDER);
    strictEqual((await journal.read('scr_a'))?.slot, undefined);
    for (const slot of ['one', 'é\n\0😀', '', 'x'.repeat(3_000_000)]) {
      await journal.append('scr_a', 1, ['line'], { slot, flush: true });
      ok((await journal.read('scr_a'))?.slot === slot);
      await journal.append('scr_a', 1, ['line']);
      ok((await journal.read('scr_a'))?.slot === slot);
    }
    await journal.append('scr_a', 1, [], { slot: null });
    strictEqual((await journal.read('scr_a'))?.slot, undefined);
  }),
  portLaw('a slot that is replaced does not use up the journal', async (_, makeStore) => {
    const { claim, journal } = await makeStore({ maxScriptBytes: 100_000 });
    await claim.take('scr_a', 0, HOLDER);
    for (let count = 0; count < 20; count++) await journal.append('scr_a', 1, ['x'], { slot: 'x'.repeat(60_000) });
    strictEqual((await journal.read('scr_a'))?.lines.length, 20);
    await rejects(append(journal, 'scr_a', 1, ['y'], { slot: 'x'.repeat(100_000) }), JournalFullError);
    strictEqual((await journal.read('scr_a'))?.slot?.length, 60_000);
    strictEqual((await journal.read('scr_a'))?.lines.length, 20);
  }),
  portLaw('a stale epoch changes neither slot nor status', async ({ claim, journal }) => {
    await claim.take('scr_a', 0, HOLDER);
    await journal.append('scr_a', 1, ['one'], { slot: 'mine', status: { state: 'suspended' } });
    await claim.take('scr_a', 1, { ...HOLDER, force: true });
    const late = { slot: 'late', status: { state: 'ended' } } as const;
    await rejects(append(journal, 'scr_a', 1, ['late'], late), StaleEpochError);
    strictEqual((await journal.read('scr_a'))?.slot, 'mine');
    strictEqual((await journal.list()).scripts[0]?.state, 'suspended');
  }),
];

export const handleLaws: readonly StoreLaw[] = [
  portLaw('exactly one of many claims wins, across two handles', async (store, makeStore) => {
    const other = await makeStore({ beside: store });
    for (let epoch = 0; epoch < 10; epoch++) {
      const takers = Array.from({ length: 20 }, (_, index) =>
        [store, other][index % 2]!.claim.take('scr_a', epoch, { ...HOLDER, force: true, lines: [`${epoch}`] }),
      );
      strictEqual((await Promise.all(takers)).filter((taken) => taken !== undefined).length, 1);
    }
    deepStrictEqual(
      (await other.journal.read('scr_a'))?.lines,
      Array.from({ length: 10 }, (_, epoch) => `${epoch}`),
    );
  }),
  portLaw('a second handle reads and continues a script, and fences the first', async (store, makeStore) => {
    const other = await makeStore({ beside: store });
    await store.claim.take('scr_a', 0, HOLDER);
    await store.journal.append('scr_a', 1, ['one'], { slot: 'slot', status: { state: 'suspended' } });
    deepStrictEqual(await other.journal.read('scr_a'), { lines: ['one'], slot: 'slot', damage: undefined });
    strictEqual((await other.journal.list()).scripts[0]?.state, 'suspended');
    strictEqual((await other.claim.current('scr_a'))?.isHeld, true);
    strictEqual(await other.claim.take('scr_a', 1, HOLDER), undefined);
    await store.claim.release('scr_a', 1);
    deepStrictEqual((await other.claim.take('scr_a', 1, HOLDER))?.lines, ['one']);
    await rejects(append(store.journal, 'scr_a', 1, ['late']), StaleEpochError);
    await other.journal.append('scr_a', 2, ['two']);
    deepStrictEqual((await store.journal.read('scr_a'))?.lines, ['one', 'two']);
    await other.journal.delete('scr_a');
    strictEqual(await store.journal.read('scr_a'), undefined);
    await rejects(append(store.journal, 'scr_a', 2, ['gone']), StaleEpochError);
  }),
  portLaw('two handles of one epoch do not lose each other’s lines', async (store, makeStore) => {
    const other = await makeStore({ beside: store });
    await store.claim.take('scr_a', 0, HOLDER);
    for (let count = 0; count < 50; count++)
      await Promise.all([
        store.journal.append('scr_a', 1, [`a${count}`]),
        other.journal.append('scr_a', 1, [`b${count}`]),
      ]);
    const { lines = [], damage } = (await store.journal.read('scr_a')) ?? {};
    strictEqual(damage, undefined);
    for (const name of ['a', 'b'])
      deepStrictEqual(
        lines.filter((line) => line.startsWith(name)),
        Array.from({ length: 50 }, (_, count) => `${name}${count}`),
      );
  }),
];

export const listLaws: readonly StoreLaw[] = [
  law('an empty store lists nothing', async ({ journal, images }) => {
    deepStrictEqual(await journal.list(), []);
    deepStrictEqual(await images.list(), []);
  }),
  law('list reports the bytes and the time of each script', async ({ claim, journal }) => {
    const before = Date.now() - 1_000;
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['one', 'two']);
    const [script] = await journal.list();
    strictEqual(script?.scriptId, 'scr_a');
    ok(script.bytes >= 6 && script.bytes < 100, `${script.bytes} bytes`);
    ok(script.updatedAtMs >= before && script.updatedAtMs <= Date.now() + 1_000, `${script.updatedAtMs}`);
  }),
  law('list reports the status of each script, as its holder wrote it, and whether it is held', async (store) => {
    const { claim, journal } = store;
    const about = { threadId: 'thr_1', runId: 'run_1', principal: 'ada' };
    const approvals = [{ approvalId: 'apr_1', tool: 'pay', line: 3 }];
    const images = [sha256(new Uint8Array([1]))];
    await claim.take('scr_a', 0);
    await journal.append('scr_a', 1, ['x'], { status: { state: 'running', ...about } });
    deepStrictEqual(comparedScript((await journal.list())[0]), { state: 'running', ...about });
    await claim.release('scr_a', 1);
    deepStrictEqual(comparedScript((await journal.list())[0]), { state: 'interrupted', ...about });
    await claim.take('scr_a', 1);
    await journal.append('scr_a', 2, ['y'], { status: { state: 'suspended', ...about, approvals, images } });
    await claim.release('scr_a', 2);
    deepStrictEqual(comparedScript((await journal.list())[0]), { state: 'suspended', ...about, approvals, images });
    await claim.take('scr_a', 2);
    await journal.append('scr_a', 3, ['z'], { status: { state: 'ended', ...about, ended: { status: 'completed' } } });
    deepStrictEqual(comparedScript((await journal.list())[0]), {
      state: 'ended',
      ...about,
      ended: { status: 'completed' },
    });
  }),
  law('list returns the scripts that match a query, page by page, each once', async ({ claim, journal }) => {
    for (let index = 0; index < 12; index++) {
      const scriptId = `scr_${index}`;
      await claim.take(scriptId, 0);
      const principal = index % 2 === 0 ? 'even' : 'odd';
      const state = index < 8 ? 'suspended' : 'ended';
      await journal.append(scriptId, 1, ['line'], {
        status: { state, principal, threadId: `thr_${index % 3}`, runId: `run_${index % 4}` },
      });
      await claim.release(scriptId, 1);
    }
    strictEqual((await journal.list({ state: 'suspended' })).length, 8);
    strictEqual((await journal.list({ state: 'ended' })).length, 4);
    deepStrictEqual(await journal.list({ state: 'running' }), []);
    strictEqual((await journal.list({ principal: 'odd' })).length, 6);
    const ofRun = await journal.list({ runId: 'run_2' });
    deepStrictEqual(new Set(ofRun.map(({ scriptId }) => scriptId)), new Set(['scr_2', 'scr_6', 'scr_10']));
    const both = await journal.list({ threadId: 'thr_1', state: 'suspended' });
    deepStrictEqual(new Set(both.map(({ scriptId }) => scriptId)), new Set(['scr_1', 'scr_4', 'scr_7']));
    for (const limit of [1, 3, 5, 12, 20]) {
      const seen: string[] = [];
      for (let after: string | undefined, pages = 0; pages < 20; pages++) {
        const page = await journal.page({ limit, after });
        ok(page.scripts.length <= limit);
        seen.push(...page.scripts.map(({ scriptId }) => scriptId));
        after = page.next;
        if (after === undefined) break;
      }
      deepStrictEqual(new Set(seen).size, 12, `pages of ${limit}`);
      strictEqual(seen.length, 12, `pages of ${limit}`);
    }
  }),
  law('list starts with the oldest change', async ({ claim, journal }) => {
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
    const [script] = await journal.list();
    deepStrictEqual([script?.scriptId, script?.bytes, script?.state], ['scr_a', 0, 'running']);
    await journal.delete('scr_a');
    deepStrictEqual(await journal.list(), []);
  }),
];
