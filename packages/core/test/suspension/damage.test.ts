import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, defineTool, fileStore, listScripts, type Harness } from '#core/index.js';
import { ERROR_TABLE, type Outcome } from '#core/protocol/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

/** The number of cases for each kind of file and of damage; `npm run torture` tries 300. */
const TRIALS = Number(process.env['TOOLSCRIPT_DAMAGE'] ?? (process.env['CI'] === undefined ? 3 : 8));

const SOURCE = `
  const keep = (call) => call.catch((error) => error.data?.status ?? error.name);
  await keep(tools.mark({ n: 1 }));
  await Promise.all([keep(tools.mark({ n: 2 })), keep(tools.mark({ n: 3 }))]);
  await keep(tools.ask({ n: 4 }));
  await keep(tools.mark({ n: 5 }));
  await keep(tools.slow({ n: 6 }));
  await keep(tools.mark({ n: 7 }));
  return 'done';`;

const root = mkdtempSync(join(tmpdir(), 'toolscript-damage-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Every effect that was made, by its key. */
type Keys = string[];

/** `slowMs`: the duration of the call in which a script is interrupted. */
function open(folder: string, keys: Keys, slowMs = 0): Harness {
  const tool = (name: string, approval: 'always' | 'never', ms: number) =>
    defineTool({
      name,
      description: name,
      effect: 'external',
      approval,
      input: z.object({ n: z.number() }),
      async execute({ n }: { n: number }, { idempotencyKey }) {
        keys.push(idempotencyKey);
        if (ms > 0) await delay(ms);
        return { n };
      },
    });
  return createHarness({
    tools: [tool('mark', 'never', 0), tool('ask', 'always', 0), tool('slow', 'never', slowMs)],
    suspensionKey: 'a secret of more than thirty-two bytes',
    typecheck: 'off',
    store: fileStore(folder),
    ...sharedThreads(),
  });
}

/** Resumes the one script of a store as long as that is possible. */
async function finish(folder: string, keys: Keys): Promise<Outcome | undefined> {
  const harness = open(folder, keys);
  try {
    const [script] = await listScripts(fileStore(folder));
    if (script === undefined) return undefined;
    const { scriptId } = script;
    await harness.inspect(scriptId);
    let outcome = await harness.recover(scriptId);
    for (let round = 0; outcome.status === 'suspended' && round < 5; round++) {
      const decisions = outcome.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve'] as const);
      outcome = await harness.resume(scriptId, Object.fromEntries(decisions));
    }
    return outcome;
  } finally {
    await harness.close();
  }
}

interface Kept {
  readonly folder: string;
  /** The effects before the damage. */
  readonly keys: Keys;
}

/** One script that waits, and one that was interrupted during a call with an effect. */
const kept: Record<string, Kept> = {};

beforeAll(async () => {
  for (const state of ['suspended', 'interrupted']) {
    const folder = join(root, state);
    const keys: Keys = [];
    const harness = open(folder, keys, 300);
    const outcome = await harness.runScript(SOURCE);
    if (outcome.status !== 'suspended') throw new Error(JSON.stringify(outcome));
    if (state === 'interrupted') {
      const decisions = outcome.pendingApprovals.map(({ approvalId }) => [approvalId, 'approve'] as const);
      const going = harness.resume(outcome.scriptId, Object.fromEntries(decisions));
      while (keys.length < 6) await delay(5);
      await harness.close();
      await going;
    } else await harness.close();
    kept[state] = { folder, keys };
  }
});

const KINDS: Readonly<Record<string, RegExp>> = {
  journal: /^journal\/.+\.jsonl$/u,
  claim: /^claims\/[^/]+\/\d+$/u,
  slot: /^claims\/[^/]+\/slot-/u,
  image: /^images\//u,
  status: /^(?:status\/.+|claims\/[^/]+\/status)$/u,
};

function filesOf(folder: string, kind: string): string[] {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => KINDS[kind]!.test(path.slice(folder.length + 1)));
}

function damage(path: string, way: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(Math.random() * bytes.length);
  if (way === 'cut') return truncateSync(path, at);
  if (bytes.length === 0) return;
  bytes[at] = bytes[at]! ^ (1 << Math.floor(Math.random() * 8));
  writeFileSync(path, bytes);
}

describe.each(['suspended', 'interrupted'])('a script that is %s', (state) => {
  it.each(Object.keys(KINDS).flatMap((kind) => ['flipped', 'cut'].map((way) => [way, kind] as const)))(
    'with a %s %s repeats no effect, throws nothing, and ends with one of our own codes',
    async (way, kind) => {
      const { folder, keys: before } = kept[state]!;
      const ends = new Map<string, number>();
      for (let trial = 0; trial < TRIALS; trial++) {
        const copy = join(root, `${state}-${way}-${kind}-${trial}`);
        cpSync(folder, copy, { recursive: true });
        const paths = filesOf(copy, kind);
        if (paths.length > 0) damage(paths[trial % paths.length]!, way);
        const keys = [...before];
        const outcome = await finish(copy, keys);
        const end = outcome?.status === 'failed' ? outcome.error.code : (outcome?.status ?? 'gone');
        ends.set(end, (ends.get(end) ?? 0) + 1);
        expect(new Set(keys).size, `trial ${trial}: an effect was repeated`).toBe(keys.length);
        expect(['completed', 'gone', ...Object.keys(ERROR_TABLE)]).toContain(end);
        rmSync(copy, { recursive: true, force: true });
      }
      // Only damage to the content of the journal can prevent a script from ending.
      if (kind !== 'journal' && kind !== 'claim') expect([...ends.keys()]).toEqual(['completed']);
    },
    7_200_000,
  );
});

describe('a store', () => {
  it('resumes no script whose journal was changed or truncated, and still shows its readable part', async () => {
    const { folder } = kept['interrupted']!;
    for (const change of ['flip', 'cut']) {
      const copy = join(root, `shown-${change}`);
      cpSync(folder, copy, { recursive: true });
      const [journal] = filesOf(copy, 'journal');
      const text = readFileSync(journal!, 'utf8');
      const place = text.indexOf('"t":"intent","callIndex":1');
      writeFileSync(journal!, change === 'cut' ? text.slice(0, place) : text.replace('"callIndex":1', '"callIndex":9'));
      const keys: Keys = [];
      const harness = open(copy, keys);
      const [script] = await listScripts(fileStore(copy));
      expect(script).toMatchObject({ state: 'damaged' });
      const refused = await harness.recover(script!.scriptId, { force: true });
      expect(refused).toMatchObject({ status: 'failed', error: { code: 'SuspensionError' } });
      expect(refused.status === 'failed' && refused.error.message).toContain('is damaged: ');
      const details = await harness.inspect(script!.scriptId);
      expect(details).toMatchObject({ state: 'damaged', problem: expect.stringMatching(/ missing$/u) });
      expect(details!.source).toContain('tools.slow');
      expect(details!.operations.map(({ input }) => input)).toContainEqual({ n: 1 });
      await harness.close();
      expect(keys).toEqual([]);
    }
  });
});
