import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import type { HarnessStore, JournalContent } from '#core/protocol/index.js';
import { SealedStore } from '#core/run/durability/sealed-store.js';
import { SuspensionSeal } from '#core/run/durability/suspension-envelope.js';
import { decideAll, failureOf, HOLDER, keepCopy, KEY, open, suspended, valueOf, type Effects } from './world.js';

/*
 * A program that can write to the store, but has no suspension key, cannot decide about a call, and cannot change the
 * code that runs.
 */

const SOURCE = `
  await tools.mark({ text: 'before' });
  return (await tools.note({ text: 'pay' }).catch((error) => ({ noted: error.name }))).noted;`;

interface StoredScript {
  readonly scriptId: string;
  readonly approvalId: string;
  readonly suspension: string;
  readonly content: JournalContent;
}

async function suspendedScript(): Promise<StoredScript> {
  const store = memoryStore();
  const outcome = suspended(await open({ store }).runScript(SOURCE));
  const { scriptId, suspension } = outcome;
  const [{ approvalId } = { approvalId: '' }] = outcome.pendingApprovals;
  return { scriptId, approvalId, suspension, content: (await store.journal.read(scriptId))! };
}

type ChangedContent = Pick<JournalContent, 'lines' | 'slot'>;

async function storeOf({ scriptId, content }: StoredScript, changed: Partial<ChangedContent>): Promise<HarnessStore> {
  return keepCopy(memoryStore(), scriptId, { lines: content.lines, slot: content.slot, ...changed });
}

/** The effects of resuming and recovering a script whose stored data was changed. Nobody approves anything. */
async function effectsOf(script: StoredScript, changed: Partial<ChangedContent>): Promise<Effects> {
  const effects: Effects = [];
  const harness = open({ store: await storeOf(script, changed), effects });
  await harness.resume(script.scriptId, {});
  await harness.resume(script.suspension, {});
  await harness.recover(script.scriptId);
  await harness.close();
  return effects.filter((effect) => effect !== 'mark: before');
}

const lineOf = (line: object) => JSON.stringify(line);

describe('a journal that a program without the key has changed', () => {
  it('decides nothing by an added line', async () => {
    const script = await suspendedScript();
    const decisions = { [script.approvalId]: 'approve' };
    for (const t of ['decided', 'resumed']) {
      const added = lineOf({ t, atMs: Date.now(), decisions });
      const signed = `${added.slice(0, -1)}${script.content.lines.at(-1)!.slice(-64)}`;
      for (const line of [added, signed]) {
        expect(await effectsOf(script, { lines: [...script.content.lines, line] })).toEqual([]);
        const store = await storeOf(script, { lines: [...script.content.lines, line] });
        const failure = failureOf(await open({ store }).resume(script.scriptId, decisions as never));
        expect(failure.message).toContain('without the suspension key');
      }
    }
  });

  it('runs no other code', async () => {
    const script = await suspendedScript();
    const [started, ...rest] = script.content.lines;
    const lines = [started!.replaceAll('before', 'stolen'), ...rest];
    expect(await effectsOf(script, { lines })).toEqual([]);
    // An interrupted script is replayed with the code of its journal.
    expect(await effectsOf(script, { lines: lines.slice(0, 1), slot: undefined })).toEqual([]);
    expect(await effectsOf(script, { lines: lines.slice(0, -1), slot: undefined })).toEqual([]);
  });

  it.each([
    ['moved', (lines: readonly string[]) => [lines[0]!, lines[2]!, lines[1]!, ...lines.slice(3)]],
    ['removed', (lines: readonly string[]) => [lines[0]!, ...lines.slice(2)]],
    ['repeated', (lines: readonly string[]) => [...lines, lines.at(-1)!]],
  ])('is refused if a line was %s', async (_how, change) => {
    const script = await suspendedScript();
    const store = await storeOf(script, { lines: change(script.content.lines) });
    const effects: Effects = [];
    const harness = open({ store, effects });
    const decisions = { [script.approvalId]: 'approve' } as const;
    expect(failureOf(await harness.resume(script.scriptId, decisions)).code).toBe('SuspensionError');
    expect(failureOf(await harness.resume(script.suspension, decisions)).code).toBe('SuspensionError');
    expect(failureOf(await harness.recover(script.scriptId)).code).toBe('SuspensionError');
    expect(effects).toEqual([]);
  });

  it('belongs to its script', async () => {
    const one = await suspendedScript();
    const other = await suspendedScript();
    const store = await storeOf(other, { lines: one.content.lines });
    expect(failureOf(await open({ store }).recover(other.scriptId)).code).toBe('SuspensionError');
  });

  it('does not take an earlier suspension of the same script for the present one', async () => {
    const effects: Effects = [];
    const store = memoryStore();
    const harness = open({ store, effects });
    const first = suspended(
      await harness.runScript(`await tools.note({ text: 'a' }); await tools.note({ text: 'b' });`),
    );
    suspended(await harness.resume(first.scriptId, decideAll(first, 'approve')));
    const { lines } = (await store.journal.read(first.scriptId))!;
    const changed = await keepCopy(memoryStore(), first.scriptId, { lines, slot: first.suspension });
    const again = open({ store: changed, effects });
    expect(failureOf(await again.resume(first.suspension, decideAll(first, 'approve'))).code).toBe('SuspensionError');
    expect(effects).toEqual(['script: a']);
  });

  it('causes no effect that nobody approved, whichever byte was changed', async () => {
    const script = await suspendedScript();
    const { lines, slot } = script.content;
    for (const [index, line] of lines.entries())
      for (let at = 0; at < line.length; at += 37) {
        const changed = `${line.slice(0, at)}${line[at] === 'x' ? 'y' : 'x'}${line.slice(at + 1)}`;
        expect(await effectsOf(script, { lines: lines.with(index, changed) }), changed).toEqual([]);
      }
    for (let at = 0; at < slot!.length; at += Math.ceil(slot!.length / 40)) {
      const changed = `${slot!.slice(0, at)}${slot![at] === 'x' ? 'y' : 'x'}${slot!.slice(at + 1)}`;
      expect(await effectsOf(script, { slot: changed })).toEqual([]);
    }
  });

  it('is damaged from the line in which a byte was changed, whichever byte', async () => {
    const script = await suspendedScript();
    const { lines } = script.content;
    const seal = new SuspensionSeal([KEY]);
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
    for (const [index, line] of lines.entries())
      for (let at = 0; at < line.length; at++)
        // The last letter of a MAC has two bits that its 32 bytes do not use.
        for (const letter of at === line.length - 3 ? letters : ['x', 'y']) {
          if (letter === line[at]) continue;
          const changed = `${line.slice(0, at)}${letter}${line.slice(at + 1)}`;
          const store = await storeOf(script, { lines: lines.with(index, changed) });
          const read = await new SealedStore(store, seal).journal.read(script.scriptId);
          expect(read, changed).toMatchObject({ lines: lines.slice(0, index), damage: { isUnflushedTail: false } });
        }
  });

  it('is the journal of an interrupted script if lines are missing at its end', async () => {
    const script = await suspendedScript();
    for (let count = 1; count < script.content.lines.length; count++) {
      const effects: Effects = [];
      const lines = script.content.lines.slice(0, count);
      const harness = open({ store: await storeOf(script, { lines, slot: undefined }), effects });
      const outcome = await harness.recover(script.scriptId);
      // The script waits again, or a call that had started has an unknown outcome.
      if (outcome.status === 'failed') expect(outcome.error.code).toBe('ToolExecutionError');
      else suspended(outcome);
      expect(effects.filter((effect) => effect !== 'mark: before')).toEqual([]);
    }
  });
});

describe('a journal that a program with the key has continued', () => {
  it('is resumed after decisions of several processes', async () => {
    const effects: Effects = [];
    const store = memoryStore();
    const first = suspended(
      await open({ store, effects }).runScript(
        `return (await Promise.all([tools.note({ text: 'a' }), tools.note({ text: 'b' })])).length`,
      ),
    );
    const [one, other] = first.pendingApprovals.map(({ approvalId }) => approvalId);
    expect(await open({ store }).decide(first.scriptId, { [one!]: 'approve' })).toMatchObject({ ok: true });
    expect(await open({ store }).decide(first.scriptId, { [other!]: 'approve' })).toMatchObject({ ok: true });
    expect(valueOf(await open({ store, effects }).resume(first.scriptId, {}))).toBe(2);
    expect(effects).toHaveLength(2);
  });

  it('needs no key of a harness that has none, which ends with its process', () => {
    const { needs, opens } = open({ suspensionKey: undefined }).capability;
    expect([...needs, ...opens].filter((need) => need.startsWith('key:'))).toEqual([]);
  });

  it('is not called damaged by a process without the key, which learns the id of the key', async () => {
    const store = memoryStore();
    const harness = open({ store });
    const { scriptId } = suspended(await harness.runScript(SOURCE));
    const id = harness.capability.needs[0]!.replace('key:', '');
    const other = open({ store, suspensionKey: 'another secret of more than thirty-two bytes' });
    expect(other.capability.opens).not.toContain(`key:${id}`);
    const { message } = failureOf(await other.resume(scriptId, {}));
    expect(message).toContain(`was written with the suspension key ${id}, which this process does not have`);
    expect(message).not.toContain('damaged');
    expect(failureOf(await other.recover(scriptId, { force: true })).message).toBe(message);
    const lines = (await store.journal.read(scriptId))!.lines;
    expect(lines.filter((line) => line.includes('"sealedBy"'))).toHaveLength(1);
  });

  it('is read with an older key of the list', async () => {
    const store = memoryStore();
    const OTHER = 'another secret of more than thirty-two bytes';
    const first = suspended(await open({ store }).runScript(SOURCE));
    const [{ approvalId } = { approvalId: '' }] = first.pendingApprovals;
    await open({ store, suspensionKey: [OTHER, KEY] }).decide(first.scriptId, { [approvalId]: 'deny' });
    expect(valueOf(await open({ store, suspensionKey: [KEY, OTHER] }).resume(first.scriptId, {}))).toBe(
      'ApprovalDeniedError',
    );
    const late = await store.claim.take(first.scriptId, (await store.claim.current(first.scriptId))!.epoch, HOLDER);
    expect(late?.lines.length).toBeGreaterThan(3);
  });
});
