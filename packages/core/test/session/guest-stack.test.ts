import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/index.js';
import { mapGuestStack } from '#core/calls/session/guest-stack.js';

describe('the frames of a guest’s stack', () => {
  const compiler = createCompiler();
  afterAll(() => compiler.close());

  async function mapped(...lines: string[]) {
    const result = await compiler.compile('const a = 1;\nreturn a;', { language: 'ts', maxSourceBytes: 1_000 });
    if (!result.ok) throw new Error('the script does not compile');
    return mapGuestStack(lines.join('\n'), result.script);
  }

  it('are kept if they are the script’s own', async () => {
    expect(await mapped('    at step (script.ts:2:1)', '    at <anonymous> (script.ts:3:1)')).toMatchObject({
      text: expect.stringMatching(/^ {4}at step \(script\.ts:\d+:\d+\)\n {4}at \(script\.ts:\d+:\d+\)$/u),
    });
  });

  it.each([
    '    at start (<null>:0:1)',
    '    at settle (toolscript:2:1)',
    '    at execute (/srv/app/node_modules/host.js:2:1)',
    '    at file:///srv/app/host.js:2:1',
    '    at worker (node:internal/process:2:1)',
    'Error: at (script.ts:2:1) of something else',
  ])('are omitted if they are from another file: %s', async (line) => {
    expect(await mapped(line)).toEqual({ position: undefined, text: '' });
  });

  it('contain no part of a name that could hide, reorder or imitate other text', async () => {
    const { text } = await mapped(`    at a\u202e\u0007'"\`\\(){};<b>\u{200b} (script.ts:2:1)`);
    expect(text).toMatch(/^ {4}at [\w$.<>#[\] ?-]+ \(script\.ts:\d+:\d+\)$/u);
    expect(text).toContain('<b>');
  });

  it('contain at most 60 characters of a name, and are at most ten', async () => {
    const { text } = await mapped(...Array.from({ length: 50 }, () => `    at ${'n'.repeat(5_000)} (script.ts:2:1)`));
    expect(text.split('\n')).toHaveLength(10);
    expect(text.length).toBeLessThan(10 * 100);
  });
});
