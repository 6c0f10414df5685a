import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import type { ScriptFailure } from '#core/protocol/index.js';
import { badScripts, goodScripts } from '../checker/corpus.js';
import { makeWorld } from '../checker/world.js';

/** The share of the bad scripts that a checker must reject. */
const MIN_CAUGHT = 0.95;

let harness: Harness;

beforeAll(() => {
  harness = createHarness({ tools: makeWorld(), approvals: 'auto', mode: 'dry-run' });
});

afterAll(() => harness.close());

function told({ message, frame, hint }: ScriptFailure): string {
  return [message, frame, hint].join('\n');
}

describe('the corpus', () => {
  it('no good script is rejected', async () => {
    const scripts = goodScripts();
    expect(scripts.length).toBeGreaterThanOrEqual(120);
    const refused: string[] = [];
    for (const { name, source } of scripts) {
      const outcome = await harness.runScript(source);
      expect(outcome.diagnostics.filter(({ code }) => code.startsWith('typecheck-'))).toEqual([]);
      if (outcome.status === 'failed') refused.push(`${name}: ${outcome.error.message}`);
    }
    expect(refused).toEqual([]);
  });

  it('bad scripts are rejected at the line of their mistake, with a message that names it', async () => {
    const scripts = badScripts();
    expect(scripts.length).toBeGreaterThanOrEqual(80);
    const missed: string[] = [];
    const unclear: string[] = [];
    for (const { name, source, lines, about, mayWarn } of scripts) {
      const outcome = await harness.runScript(source);
      const found = outcome.diagnostics.filter(
        ({ line, message }) => lines.includes(line ?? 0) && message.includes(about),
      );
      if (mayWarn) {
        if (found.length === 0) missed.push(`${name} (may warn)`);
      } else if (outcome.status !== 'failed') missed.push(name);
      else if (!lines.includes(outcome.error.line ?? 0) || !told(outcome.error).includes(about))
        unclear.push(`${name}: ${outcome.error.line}: ${told(outcome.error)}`);
    }
    expect(unclear).toEqual([]);
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(scripts.length * (1 - MIN_CAUGHT));
  });
});
