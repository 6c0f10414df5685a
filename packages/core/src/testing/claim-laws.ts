import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { StaleEpochError } from '../protocol/index.js';
import { HOLDER, law, portLaw, type StoreLaw } from './store-laws.js';

export const claimLaws: readonly StoreLaw[] = [
  law('a script that was never claimed has no claim', async ({ claim }) => {
    strictEqual(await claim.current('scr_none'), undefined);
  }),
  law('each claim raises the epoch by one, and is held', async ({ claim }) => {
    for (const epoch of [1, 2, 3]) {
      strictEqual(await claim.take('scr_a', epoch - 1), true);
      deepStrictEqual(await claim.current('scr_a'), { epoch, isHeld: true });
    }
    strictEqual(await claim.current('scr_b'), undefined);
  }),
  law('a claim from an epoch other than the current one fails and changes nothing', async ({ claim }) => {
    for (const epoch of [1, -1, 0.5, Number.NaN, 2 ** 53])
      strictEqual(await claim.take('scr_a', epoch), false, String(epoch));
    strictEqual(await claim.current('scr_a'), undefined);
    await claim.take('scr_a', 0);
    await claim.take('scr_a', 1);
    for (const epoch of [0, 1, 3]) strictEqual(await claim.take('scr_a', epoch), false, String(epoch));
    deepStrictEqual(await claim.current('scr_a'), { epoch: 2, isHeld: true });
  }),
  law('exactly one of many concurrent claims wins', async ({ claim }) => {
    for (let epoch = 0; epoch < 10; epoch++) {
      const wins = await Promise.all(Array.from({ length: 20 }, () => claim.take('scr_a', epoch)));
      strictEqual(wins.filter(Boolean).length, 1);
    }
  }),
  law('a released script is not held, and can be claimed again', async ({ claim }) => {
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

export const takeLaws: readonly StoreLaw[] = [
  portLaw('a held script is claimed only by force', async ({ claim }) => {
    await claim.take('scr_a', 0, HOLDER);
    strictEqual(await claim.take('scr_a', 1, HOLDER), undefined);
    strictEqual((await claim.current('scr_a'))?.epoch, 1);
    strictEqual((await claim.take('scr_a', 1, { ...HOLDER, force: true }))?.epoch, 2);
    await claim.release('scr_a', 2);
    strictEqual((await claim.take('scr_a', 2, HOLDER))?.epoch, 3);
  }),
  portLaw('a claim names its owner and the end of its lease', async ({ claim }) => {
    const before = Date.now();
    await claim.take('scr_a', 0, { owner: 'host 7', leaseMs: 60_000 });
    const found = await claim.current('scr_a');
    strictEqual(found?.owner, 'host 7');
    ok(found.expiresAtMs > before + 50_000 && found.expiresAtMs < Date.now() + 70_000, `${found.expiresAtMs}`);
  }),
  portLaw('a lease that is not renewed expires, and the script can be claimed', async (_, makeStore) => {
    const { claim } = await makeStore({ leasesOnly: true });
    await claim.take('scr_a', 0, { ...HOLDER, leaseMs: 30 });
    await delay(120);
    strictEqual((await claim.current('scr_a'))?.isHeld, false);
    strictEqual((await claim.take('scr_a', 1, HOLDER))?.epoch, 2);
    strictEqual((await claim.current('scr_a'))?.isHeld, true);
  }),
  portLaw('a renewed lease continues; the renewal of another epoch reports a lost lease', async (_, makeStore) => {
    const { claim } = await makeStore({ leasesOnly: true });
    strictEqual(await claim.renew('scr_a', 1), false);
    await claim.take('scr_a', 0, { ...HOLDER, leaseMs: 2_000 });
    for (let count = 0; count < 6; count++) {
      await delay(500);
      strictEqual(await claim.renew('scr_a', 1), true);
      strictEqual((await claim.current('scr_a'))?.isHeld, true);
    }
    await claim.take('scr_a', 1, { ...HOLDER, force: true });
    strictEqual(await claim.renew('scr_a', 1), false);
    strictEqual(await claim.renew('scr_a', 2), true);
  }),
  portLaw('a claim returns the journal at that moment, and appends its lines in the same step', async (store) => {
    const { claim, journal } = store;
    deepStrictEqual(await claim.take('scr_a', 0, { ...HOLDER, lines: ['zero'] }), {
      epoch: 1,
      lines: [],
      slot: undefined,
      damage: undefined,
    });
    await journal.append('scr_a', 1, ['one', 'two'], { slot: 'slot' });
    await claim.release('scr_a', 1);
    const taken = await claim.take('scr_a', 1, { ...HOLDER, lines: ['mine'] });
    deepStrictEqual(taken, { epoch: 2, lines: ['zero', 'one', 'two'], slot: 'slot', damage: undefined });
    deepStrictEqual((await journal.read('scr_a'))?.lines, ['zero', 'one', 'two', 'mine']);
    strictEqual(await claim.take('scr_a', 1, { ...HOLDER, force: true, lines: ['lost'] }), undefined);
    deepStrictEqual((await journal.read('scr_a'))?.lines, ['zero', 'one', 'two', 'mine']);
  }),
  portLaw('a claim returns every earlier append, and later appends of the old epoch do not count', async (store) => {
    const { claim, journal } = store;
    for (let round = 0; round < 30; round++) {
      const scriptId = `scr_${round}`;
      await claim.take(scriptId, 0, HOLDER);
      const done: string[] = [];
      const writing = (async () => {
        for (let count = 0; count < 1_000_000; count++) {
          await journal.append(scriptId, 1, [`${count}`]);
          done.push(`${count}`);
          await nextTurn();
        }
      })().then(
        () => new Error('never refused'),
        (error: unknown) => error,
      );
      await delay(round % 5);
      const taken = await claim.take(scriptId, 1, { ...HOLDER, force: true, lines: ['taken'] });
      const known = [...done];
      const refusal = await writing;
      ok(refusal instanceof StaleEpochError, String(refusal));
      const expected = taken?.lines.map((_line, index) => `${index}`);
      deepStrictEqual(taken?.lines, expected);
      ok(
        taken!.lines.length >= done.length && taken!.lines.length >= known.length,
        'an acknowledged append is missing',
      );
      ok(taken!.lines.length <= done.length + 1, 'the claim returned a line that nobody appended');
      deepStrictEqual((await journal.read(scriptId))?.lines, [...taken!.lines, 'taken']);
    }
  }),
];
