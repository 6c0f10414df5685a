import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { createCompiler } from '#core/script/compile/compiler.js';
import { STACK_MB } from '#core/script/compile/compile-thread.js';
import { compiled } from './running.js';
import { HOSTILE } from './hostile-sources.js';

const compiler = createCompiler({ deadlineMs: 10_000 });
afterAll(() => compiler.close());

describe('hostile sources', () => {
  it('are many', () => {
    expect(Object.keys(HOSTILE).length).toBeGreaterThan(90);
  });

  it.each(Object.entries(HOSTILE))(
    'of 64 KB have an outcome, and the next script is compiled: %s',
    async (_, source) => {
      const result = await compiler.compile(source, { language: 'ts', maxSourceBytes: 65_536 });
      if (!result.ok)
        expect(['ScriptSyntaxError', 'ScriptPolicyError', 'ScriptTooLargeError']).toContain(result.failure.code);
      if (!result.ok) expect(result.failure.message.length).toBeLessThan(500);
      await compiled(compiler, 'return 1');
      expect(compiler.stats().restarts).toBe(0);
    },
  );

  it.each(['(', '[', '!', 'a[', 'x=>', 'if(1)', '({a:', '`${', 'a?b:', 'new ', '- '])(
    'are rejected by the scan before the parser: %s',
    async (unit) => {
      const source = unit.repeat(Math.floor(20_000 / unit.length));
      const result = await compiler.compile(source, { language: 'ts', maxSourceBytes: 20_480 });
      expect(result).toMatchObject({ ok: false, failure: { message: expect.stringContaining('nested too deeply') } });
    },
  );

  it('are rejected at limits far above ordinary scripts', async () => {
    const nested = `return ${'['.repeat(100)}1${']'.repeat(100)}`;
    await compiled(compiler, nested);
    await compiled(compiler, `return ${'1 > 2 ? 3 : '.repeat(60)}4`);
  });
});

describe('the thread’s stack', () => {
  it('can parse 64 KB of the deepest nesting without the scan', async () => {
    expect(await parseRaw(STACK_MB)).toBe('9');
  });

  it('is necessary: with Node’s own size the process dies', async () => {
    expect(await parseRaw(4)).not.toBe('9');
  });
});

/** Parses in a separate process, because a stack that is too small ends the process. */
async function parseRaw(stackMb: number): Promise<string> {
  const parser = pathToFileURL(createRequire(import.meta.url).resolve('oxc-parser')).href;
  const inside = `
    import(${JSON.stringify(parser)}).then(({ parseSync }) => {
      const { parentPort } = require('node:worker_threads');
      let refused = 0;
      for (const unit of ['(', '[', '!', '{', 'a(', 'x=>', '-', '\`\${', 'a?b:'])
        refused += parseSync('a.ts', unit.repeat(65536 / unit.length), { lang: 'ts', sourceType: 'module' }).errors.length > 0 ? 1 : 0;
      parentPort.postMessage(refused);
    });`;
  const code = `
    const { Worker } = require('node:worker_threads');
    new Worker(${JSON.stringify(inside)}, { eval: true, resourceLimits: { stackSizeMb: ${stackMb} } }).on('message', (n) => console.log(n));`;
  const result = promisify(execFile)(process.execPath, ['-e', code], { timeout: 80_000 });
  return result.then(
    ({ stdout }) => stdout.trim(),
    (error: { signal?: string }) => error.signal ?? 'failed',
  );
}
