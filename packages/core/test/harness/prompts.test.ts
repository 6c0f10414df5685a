import { readFileSync, writeFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';

/*
 * The texts for a model, a file for each way in which scripts arrive, complete and ready for review. A change of a
 * word shows here; UPDATE_PROMPTS=1 rewrites the files.
 */

const readNote = defineTool({
  name: 'readNote',
  description: 'Reads a note',
  input: z.object({ name: z.string() }),
  output: z.object({ text: z.string() }),
  effect: 'read',
  approval: 'never',
  execute: ({ name }: { name: string }) => ({ text: name }),
});

/** The tokens (o200k) that the text may take without its tools; every request pays for them. */
const MAX_TOKENS = 400;

describe.each([
  ['tool', { carrier: 'tool' }],
  ['custom', { carrier: 'custom' }],
  ['text-stop', { carrier: 'text', afterScript: 'stop' }],
  ['text-continue', { carrier: 'text', afterScript: 'continue' }],
] as const)('the system text for the carrier %s', (name, options) => {
  const text = createHarness({ tools: [readNote] }).instructions(options);
  const file = new URL(`prompts/${name}.md`, import.meta.url);

  it('equals the reviewed text', () => {
    if (process.env.UPDATE_PROMPTS !== undefined) writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it(`costs at most ${MAX_TOKENS} tokens beside its tools, and is the same every time`, () => {
    const tokens = countTokens(text.split('\nTools:\n')[0]!);
    expect(tokens).toBeGreaterThan(150);
    expect(tokens).toBeLessThanOrEqual(MAX_TOKENS);
    expect(createHarness({ tools: [readNote] }).instructions(options)).toBe(text);
  });
});
