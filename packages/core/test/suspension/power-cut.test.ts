import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHarness, defineTool, fileStore, listScripts, type Harness } from '#core/index.js';
import { until } from '@toolscript/testkit/until';

const SOURCE = `
  const keep = (call) => call.catch((error) => error.data?.status ?? error.name);
  const ends = [];
  for (let n = 1; n <= 4; n++) ends.push(await keep(tools.mark({ n })));
  return ends;`;

function open(folder: string, durability: 'process' | 'power', effects: number[], hangsAt = 0): Harness {
  const mark = defineTool({
    name: 'mark',
    description: 'Writes a number down',
    effect: 'write',
    approval: 'never',
    input: z.object({ n: z.number() }),
    execute: async ({ n }: { n: number }) => {
      effects.push(n);
      if (n === hangsAt) await new Promise(() => {});
      return n;
    },
  });
  const harness = createHarness({ tools: [mark], typecheck: 'off', durability, store: fileStore(folder) });
  onTestFinished(() => harness.close());
  return harness;
}

interface Cut {
  readonly folder: string;
  /** The completed effects. */
  readonly effects: number[];
  readonly scriptId: string;
}

/** A machine that loses its power during the third call: only the flushed part of the journal is left. */
async function afterPowerCut(durability: 'process' | 'power'): Promise<Cut> {
  const root = mkdtempSync(join(tmpdir(), 'toolscript-power-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [living, folder] = [join(root, 'living'), join(root, 'cut')];
  const effects: number[] = [];
  void open(living, durability, effects, 3)
    .runScript(SOURCE)
    .catch(() => {});
  await until(() => effects.includes(3));
  cpSync(living, folder, { recursive: true });
  const [scriptId = ''] = readdirSync(join(folder, 'claims'));
  const claim = join(folder, 'claims', scriptId, '1');
  const [head = '', holder = ''] = readFileSync(claim, 'utf8').split('\n');
  const then = Date.now() / 1_000 - 3_600;
  writeFileSync(claim, `${head}\n${JSON.stringify({ ...JSON.parse(holder), instance: 'x', bootId: 'earlier' })}`);
  utimesSync(claim, then, then);
  const flushed = Number(head.split(' ')[1]);
  const journal = join(folder, 'journal', `${scriptId}.jsonl`);
  const text = readFileSync(journal, 'utf8');
  // The last entries had been written, but not flushed.
  const end = text.indexOf(`\n#1.${Math.max(1, flushed)}*`);
  if (end >= 0) writeFileSync(journal, text.slice(0, end));
  return { folder, effects: [...effects], scriptId };
}

describe('after a power cut', () => {
  it('with durability "power", started calls are known: nothing is repeated, and the script continues', async () => {
    const { folder, effects, scriptId } = await afterPowerCut('power');
    expect(effects).toEqual([1, 2, 3]);
    const outcome = await open(folder, 'power', effects).recover(scriptId);
    expect(outcome).toMatchObject({ status: 'completed', value: [1, 2, 'unknown', 4] });
    expect(effects).toEqual([1, 2, 3, 4]);
  });

  it('by default, the loss of the last entries is detected, and the script is resumed only by force', async () => {
    const { folder, effects, scriptId } = await afterPowerCut('process');
    expect((await listScripts(fileStore(folder))).map(({ state }) => state)).toEqual(['damaged']);
    const harness = open(folder, 'process', effects);
    const refused = await harness.recover(scriptId);
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'SuspensionError' } });
    expect(effects).toEqual([1, 2, 3]);
    // A caller that uses force accepts the risk.
    expect((await harness.recover(scriptId, { force: true })).status).toBe('completed');
  });
});
