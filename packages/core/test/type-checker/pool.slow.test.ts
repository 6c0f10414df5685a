import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool } from '#core/index.js';
import { CheckPool, type CheckPoolOptions } from '#core/script/check/check-pool.js';
import { createTypeChecker } from '#core/script/check/index.js';

const TOOLS = {
  name: 'tools',
  declarations:
    'interface Tools { read(args: { path: string }): Promise<{ size: number }>; }\ndeclare const tools: Tools;\n',
};
const TURN = { principal: undefined, waitMs: 60_000 };
const wrapped = (script: string) => `export {};async function __script(){\n${script}\n}\n`;
const ENDLESS =
  'type R<N extends number, A extends any[] = []> = A["length"] extends N ? A : R<N, [...A, 0]>; const x: R<999> = [] as any; return x;';

function open(options?: CheckPoolOptions): CheckPool {
  const pool = new CheckPool(options);
  onTestFinished(() => pool.close());
  return pool;
}

async function codes(pool: CheckPool, script: string, toolSet = TOOLS): Promise<number[] | string> {
  const answer = await pool.check(toolSet, wrapped(script), TURN);
  return answer.type === 'checked' ? answer.diagnostics.map(({ code }) => code) : answer.type;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a check', () => {
  it('is made for the very first script too', async () => {
    expect(await codes(open(), 'return (await tools.read({ path: 1 })).sise')).toEqual([2322, 2339]);
  });

  it('does not wait too long because the process starts', async () => {
    const pool = open();
    const answers = await Promise.all(
      [1, 2, 3].map((value) => pool.check(TOOLS, wrapped(`return ${value}`), { principal: undefined, waitMs: 0 })),
    );
    expect(answers.map(({ type }) => type)).toEqual(['checked', 'checked', 'checked']);
  });

  it('counts positions in UTF-16 units', async () => {
    const script = 'const s = "äöü🎉"; return await tools.read({ path: 1 });';
    const answer = await open().check(TOOLS, wrapped(script), TURN);
    expect(answer.type === 'checked' && answer.diagnostics[0]?.pos).toBe(wrapped(script).indexOf('path: 1'));
  });

  it('sees nothing of the disk', async () => {
    const script = `const a: import(${JSON.stringify(fileURLToPath(import.meta.url))}).A = 1; return a`;
    expect(await codes(open(), script)).toEqual([2307]);
  });

  it.skipIf(process.platform !== 'linux')('is made in a process without the host’s environment', async () => {
    process.env['TOOLSCRIPT_TEST_SECRET'] = 'secret';
    onTestFinished(() => void delete process.env['TOOLSCRIPT_TEST_SECRET']);
    const pool = open();
    await pool.warm(TOOLS);
    const [pid] = pool.pids();
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((entry) => entry.split('=')[0]);
    expect(names.filter((name) => name !== '')).toEqual(['GOGC', 'GOMEMLIMIT']);
  });

  it.each([
    ['a recursive type', ENDLESS],
    ['deep nesting', `return ${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    [
      'a large union',
      `type U = ${Array.from({ length: 2_500 }, (_, i) => `'k${i}'`).join('|')}; const f = <T extends U>(x: T) => x; return f<U>('k1')`,
    ],
  ])('of %s ends, and the next script is checked as usual', async (_what, script) => {
    const pool = open();
    await pool.warm(TOOLS);
    expect(['checked', 'slow']).toContain((await pool.check(TOOLS, wrapped(script), TURN)).type);
    expect(await codes(pool, 'return tools.read({ path: 1 })')).toEqual([2322]);
  });

  it('that misses its deadline is abandoned and reported', async () => {
    const pool = open();
    expect(await codes(pool, ENDLESS)).toBe('slow');
    expect(pool.stats()).toMatchObject({ slow: 1 });
  });

  it('whose process is killed is made again', async () => {
    const pool = open({ deadlineMs: 5_000 });
    await pool.warm(TOOLS);
    const [pid] = pool.pids();
    const checking = codes(pool, 'return tools.read({ path: 1 })');
    process.kill(pid!, 'SIGKILL');
    expect(await checking).toEqual([2322]);
    expect(pool.stats().restarts).toBe(1);
  });

  it('is skipped without delay if there is no compiler', async () => {
    const pool = open({ executable: '/nowhere/tsc' });
    for (let time = 0; time < 4; time++) expect(await codes(pool, 'return 1')).toBe('unavailable');
    expect(pool.stats().processes).toBe(0);
  });
});

describe('a whole checker', () => {
  const hostile = defineTool({
    name: 'deep.space.scan',
    description: 'Scans.',
    inputSchema: { type: 'object', properties: { mode: { enum: ['a\u202eb', 'c\u200bd'] } }, required: ['mode'] },
    approval: 'never',
    effect: 'read',
    execute: () => 1,
  });

  async function refusal(source: string): Promise<string> {
    const harness = createHarness({ tools: [hostile], mode: 'dry-run' });
    onTestFinished(() => harness.close());
    const outcome = await harness.runScript(source);
    expect(outcome.status).toBe('failed');
    return outcome.status === 'failed' ? [outcome.error.message, outcome.error.hint].join('\n') : '';
  }

  it('accepts half a surrogate pair like any text', async () => {
    expect(await refusal('const half = "\ud800"; return half + nowhere')).toContain("Cannot find name 'nowhere'");
    const pool = open();
    const checker = createTypeChecker({
      pool,
      key: 'tools',
      mode: 'error',
      ...TOOLS,
      toolNames: [],
      whyMissing: () => undefined,
      findSignature: () => undefined,
      judgeArgument: () => undefined,
      isObject: () => false,
    });
    expect((await checker.check('return "\udc00"', TURN)).type).toBe('checked');
    expect(pool.stats().slow).toBe(0);
  });

  it('escapes invisible characters in names and choices', async () => {
    const said = await refusal('return tools.deep.space.scan({ mode: "no" })');
    expect(said).toContain('\\u{202e}');
    expect(said).not.toMatch(/[\u202e\u200b]/u);
  });

  it('distinguishes a tool’s result from a tool', async () => {
    const typed = defineTool({
      name: 'deep.read',
      description: 'Reads.',
      input: z.object({}),
      output: z.object({ content: z.string() }),
      execute: () => ({ content: '' }),
    });
    const harness = createHarness({ tools: [typed], mode: 'dry-run' });
    onTestFinished(() => harness.close());
    const wrong = await harness.runScript('return (await tools.deep.read({})).contents');
    expect(wrong.status === 'failed' && wrong.error.message).toContain("on type '{ content: string; }'. Did you mean");
    const expected = await harness.runScript('return (await tools.deep.read({})).items ?? []');
    expect(expected.status).toBe('completed');
  });

  it('names the tools of a namespace instead of printing its type', async () => {
    expect(await refusal('return tools.deep.space.skan({ mode: 1 })')).toContain(
      "Property 'skan' does not exist on type 'Tools' in tools.deep.space. Did you mean tools.deep.space.scan?",
    );
  });
});

describe('many checks', () => {
  it('at once are all made, by two processes at most', async () => {
    const pool = open();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => codes(pool, `const n${i} = ${i}; return tools.read({ path: n${i} })`)),
    );
    expect(answers.filter((answer) => JSON.stringify(answer) !== '[2322]')).toEqual([]);
    expect(pool.stats().processes).toBeLessThanOrEqual(2);
  });

  it('against more sets of tools than are kept are each made against their own', async () => {
    const pool = open({ size: 1 });
    const sets = Array.from({ length: 20 }, (_, i) => ({
      name: `set${i}`,
      declarations: `declare const tools: { only${i}(args: {}): Promise<number> };\n`,
    }));
    for (const [i, set] of [...sets.entries(), ...sets.entries()]) {
      const found = await codes(pool, `await tools.only${i}({}); return tools.only${i + 1}({})`, set);
      expect(found, String(found)).toHaveLength(1);
    }
    expect(pool.stats().restarts).toBe(0);
  });
});

describe('closing', () => {
  it('ends the processes, and rejects pending checks', async () => {
    const pool = open();
    await pool.warm(TOOLS);
    const pids = pool.pids();
    const late = codes(pool, 'return 1');
    pool.close();
    expect(await late).toBe('unavailable');
    expect(await codes(pool, 'return 1')).toBe('unavailable');
    await expect.poll(() => pids.some(isAlive)).toBe(false);
  });

  it('is not needed for the process to end', async () => {
    const module = new URL('../../dist/index.js', import.meta.url).href;
    const program = `import { createHarness } from ${JSON.stringify(module)};
      const outcome = await createHarness({ tools: [] }).runScript('return nowhere');
      console.log(outcome.error.code);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 240_000,
    });
    expect(stdout.trim()).toBe('ScriptTypeError');
  });
});

describe('the loaded modules', () => {
  const loaded = async (typecheck: string) => {
    const module = new URL('../../dist/index.js', import.meta.url).href;
    const program = `import { createHarness } from ${JSON.stringify(module)};
      const harness = createHarness({ tools: [], typecheck: ${JSON.stringify(typecheck)} });
      await harness.runScript('return 1');
      await harness.close();`;
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { ...process.env, NODE_DEBUG: 'esm' },
      maxBuffer: 64 << 20,
      timeout: 240_000,
    });
    return stderr.includes('script/check/check-pool');
  };

  it('do not include the checker if types are not checked', async () => {
    expect(await loaded('error')).toBe(true);
    expect(await loaded('off')).toBe(false);
  });
});
