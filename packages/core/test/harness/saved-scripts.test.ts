import { describe, expect, it } from 'vitest';
import { ToolCallError, type SavedScript } from '#core/protocol/index.js';
import type { HarnessOptions } from '#core/index.js';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, valueOf } from './open-harness.js';

const SAVED: SavedScript = {
  name: 'double',
  version: 1,
  source: 'return input.n * 2;',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
};

/** A harness with a tool that finds saved scripts, and the faults that its host reads. */
function openWith(savedScript: () => SavedScript | undefined, more: Partial<HarnessOptions> = {}) {
  const faults: string[] = [];
  const tool = defineTool({
    name: 'saved',
    description: 'Runs a saved script',
    effect: 'read',
    approval: 'never',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: true },
    savedScript,
    execute: () => ({ script: 'double@1', input: { n: 4 } }),
  } as never);
  const onInternalError = (detail: string) => void faults.push(detail);
  const options = { tools: [tool], approvals: 'deny', typecheck: 'off', onInternalError } as const;
  return { faults, harness: openHarness({ ...options, ...more }) };
}

const CALL = 'return await tools.saved({ name: "double", n: 4 })';

describe('a saved script', () => {
  it('runs in the script that calls it', async () => {
    expect(valueOf(await openWith(() => SAVED).harness.runScript(CALL))).toBe(8);
  });

  it('runs in a script of a program, and in functions that later scripts call', async () => {
    const { harness } = openWith(() => SAVED, { scripts: 'one-program' });
    const first = await harness.runScript(`const run = async () => { ${CALL} };\nreturn await run()`);
    expect(valueOf(first)).toBe(8);
    expect(valueOf(await harness.runScript('return await run()', { heap: first.heap }))).toBe(8);
  });

  it('is one of at most 32 in a script', async () => {
    let found = 0;
    const { harness } = openWith(() => ({ ...SAVED, name: `double${++found}` }));
    const calls = (count: number) => Array.from({ length: count }, () => 'tools.saved({ name: "double" })').join(', ');
    expect(failureOf(await harness.runScript(`await Promise.all([${calls(33)}])`))).toMatchObject({
      code: 'ScriptTooLargeError',
      message: 'The script would run more than 32 saved scripts.',
    });
  });

  it('that does not compile is named, and nothing runs', async () => {
    const { harness, faults } = openWith(() => ({ ...SAVED, source: 'return (' }));
    const { message } = failureOf(await harness.runScript(CALL));
    expect(message).toContain('double@1');
    expect(faults).toEqual([]);
  });

  it('that its store cannot read is reported to the host, unless the tool answers with an error for the script', async () => {
    const broken = openWith(() => {
      throw new Error('the disk is gone');
    });
    expect(failureOf(await broken.harness.runScript(CALL)).message).not.toContain('disk');
    expect(broken.faults.join()).toContain('the disk is gone');
    const refused = openWith(() => {
      throw new ToolCallError('ToolExecutionError', 'there is no such script');
    });
    expect(failureOf(await refused.harness.runScript(CALL)).message).toContain('there is no such script');
    expect(refused.faults).toEqual([]);
  });
});
