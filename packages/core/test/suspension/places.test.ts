import { describe, expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { decideAll, failureOf, keepCopy, open, suspended, valueOf } from './world.js';

const HEAD = 'type Unused = string;\n\n';
const CALL = `${HEAD}const one = 1;\n  await tools.note({ text: 'asked' });`;

describe('the place of a call that waited', () => {
  it('has its line and column when it is refused after a resume', async () => {
    const first = suspended(await open().runScript(CALL));
    const error = failureOf(await open().resume(first.suspension, decideAll(first, 'deny')));
    expect(error).toMatchObject({ code: 'ApprovalDeniedError', line: 4, column: 15 });
    expect(error.stack).toContain('at note (script.ts:4:15)');
  });

  it('has them in the stack that the script reads after a resume', async () => {
    const source = `${HEAD}try {\n  await tools.note({ text: 'asked' });\n} catch (error) {\n  return (error as Error).stack;\n}`;
    const first = suspended(await open().runScript(source));
    const done = await open().resume(first.suspension, decideAll(first, 'deny'));
    expect(valueOf(done)).toMatch(/^ApprovalDeniedError: .*\n {4}at note \(script\.ts:4:15\)$/u);
  });

  it('stays in earlier errors, and is correct in later ones', async () => {
    const source = `${HEAD}const before = new Error('before');
await tools.note({ text: 'asked' });
const after = new Error('after');
return [before.stack, after.stack];`;
    const first = suspended(await open().runScript(source));
    expect(valueOf(await open().resume(first.suspension, decideAll(first, 'approve')))).toEqual([
      'Error: before\n    at (script.ts:3:20)',
      'Error: after\n    at (script.ts:5:19)',
    ]);
  });
});

describe('the place of a call whose process ended', () => {
  /** Copies the store after `mark` has started, as if the process died then. Returns the result of the recovery. */
  async function recovered(source: string) {
    const store = memoryStore();
    let started = () => {};
    const isStarted = new Promise<void>((resolve) => (started = resolve));
    const effects: string[] = [];
    effects.push = () => {
      started();
      return 1;
    };
    const running = open({ store, effects }).runScript(source);
    await isStarted;
    const [script] = (await store.journal.list()).scripts;
    const content = (await store.journal.read(script!.scriptId))!;
    await running;
    const intent = content.lines.findIndex((line) => line.includes('"t":"intent"'));
    const copy = await keepCopy(memoryStore(), script!.scriptId, { lines: content.lines.slice(0, intent + 1) });
    return open({ store: copy }).recover(script!.scriptId);
  }

  it('has its line and column', async () => {
    const outcome = await recovered(`${HEAD}const one = 1;\n  await tools.mark({ text: 'begun' });`);
    expect(failureOf(outcome)).toMatchObject({ code: 'ToolExecutionError', line: 4, column: 15 });
  });

  it('has them in the stack that the script reads', async () => {
    const outcome = await recovered(
      `${HEAD}const one = 1;\n  return await tools.mark({ text: 'begun' }).catch((error) => error.stack);`,
    );
    expect(valueOf(outcome)).toMatch(/\n {4}at mark \(script\.ts:4:22\)$/u);
  });
});
