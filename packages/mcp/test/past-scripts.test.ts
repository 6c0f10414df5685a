import { createHarness } from '@toolscript/core';
import { PastScripts } from '#mcp/gateway/past-scripts.js';
import { textPart } from '#mcp/gateway/value-text.js';
import { describe, expect, it, onTestFinished } from 'vitest';

describe('the values of past scripts', () => {
  it('are kept as far as all of them have a limited size, and the newest one always', async () => {
    const harness = createHarness({ tools: [] });
    onTestFinished(() => harness.close());
    const outcome = await harness.runScript('return null');
    if (outcome.status !== 'completed') throw new Error(outcome.status);
    const past = new PastScripts((threadId) => harness.endProgram(threadId));
    const add = (scriptId: string, length: number) =>
      past.add({ ...outcome, scriptId, value: 'x'.repeat(length) }, 'return null');
    const million = 1024 * 1024;
    for (let index = 0; index < 40; index += 1) add(`scr_${index}`, million);
    const kept = () => past.list().filter(({ scriptId }) => past.endedOutcome(scriptId) !== undefined);
    expect(kept().length).toBeGreaterThan(25);
    expect(kept().length).toBeLessThan(33);
    expect(kept().at(-1)?.scriptId).toBe('scr_39');
    add('scr_39', 2 * million);
    expect(past.valueText('scr_39')).toHaveLength(2 * million + 2);
    add('scr_huge', 40 * million);
    expect(kept().map(({ scriptId }) => scriptId)).toEqual(['scr_huge']);
    for (let index = 0; index < 20; index += 1) add(`scr_next_${index}`, 1);
    expect(kept()).toHaveLength(20);
    expect(past.list()).toHaveLength(50);
  });
});

describe('the parts of a text', () => {
  it('are the text again, and end after whole characters', () => {
    const text = '😀é'.repeat(50);
    for (const maxLength of [2, 3, 7, 1_000]) {
      let read = '';
      for (;;) {
        const [part] = textPart(text, read.length, maxLength).split('\n[');
        expect(part!.isWellFormed()).toBe(true);
        read += part!;
        if (read.length >= text.length) break;
        expect(part).not.toBe('');
      }
      expect(read).toBe(text);
    }
  });
});
