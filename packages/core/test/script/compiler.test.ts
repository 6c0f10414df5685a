import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { ToolscriptUsageError } from '#core/protocol/index.js';

import { createCompiler, restoreScript, type Compiler } from '#core/script/compile/compiler.js';
import type { CheckAnswer, CheckPool } from '#core/script/check/check-pool.js';
import type { TypeCheck, TypeChecker } from '#core/script/check/index.js';
import { createTypeChecker } from '#core/script/check/type-checker.js';
import { compiled } from './running.js';

const options = { language: 'ts', maxSourceBytes: 20_480 } as const;
const open: Compiler[] = [];

function fresh(...args: Parameters<typeof createCompiler>): Compiler {
  const compiler = createCompiler(...args);
  open.push(compiler);
  return compiler;
}

afterAll(() => Promise.all(open.map((compiler) => compiler.close())));

describe('size', () => {
  it('is counted in UTF-8 bytes, and both numbers are reported', async () => {
    const compiler = fresh();
    const source = `return "${'é'.repeat(50)}"`;
    const bytes = Buffer.byteLength(source);
    const fits = await compiler.compile(source, { ...options, maxSourceBytes: bytes });
    expect(fits.ok).toBe(true);
    const result = await compiler.compile(source, { ...options, maxSourceBytes: bytes - 1 });
    expect(result).toMatchObject({ ok: false, failure: { code: 'ScriptTooLargeError', phase: 'parsing' } });
    if (result.ok) return;
    expect(result.failure.message).toContain(String(bytes));
    expect(result.failure.message).toContain(String(bytes - 1));
    expect(result.failure.metadata).toEqual({ bytes, maxBytes: bytes - 1 });
  });

  it('never goes beyond the ceiling, whatever the limit says', async () => {
    const compiler = fresh();
    const result = await compiler.compile(`//${'a'.repeat(65_536)}`, { ...options, maxSourceBytes: 10_000_000 });
    expect(result).toMatchObject({
      ok: false,
      failure: { code: 'ScriptTooLargeError', metadata: { maxBytes: 65_536 } },
    });
    expect((await compiler.compile(`//${'a'.repeat(65_534)}`, { ...options, maxSourceBytes: 65_536 })).ok).toBe(true);
  });

  it('is checked first, and at once for ten megabytes', async () => {
    const compiler = fresh();
    const result = await compiler.compile('('.repeat(10_000_000), options);
    expect(result).toMatchObject({ ok: false, failure: { code: 'ScriptTooLargeError' } });
    expect(compiler.stats()).toMatchObject({ misses: 0, size: 0 });
  });
});

describe('the code after the removal of types', () => {
  it('is rejected if it is many times longer than the source', async () => {
    const members = Array.from({ length: 1_500 }, (_, index) => `m${index}`).join();
    const source = `enum ${'E'.repeat(300)} { ${members} }\nreturn 1`;
    expect(source.length).toBeLessThan(20_480);
    const result = await fresh().compile(source, options);
    expect(result).toMatchObject({
      ok: false,
      failure: { code: 'ScriptTooLargeError', message: expect.stringContaining('characters of JavaScript; at most') },
    });
  });
});

describe('the cache', () => {
  it('returns the same script again and reports the hit', async () => {
    const compiler = fresh();
    const first = await compiler.compile('return 1', options);
    const second = await compiler.compile('return 1', options);
    expect([first.cacheHit, second.cacheHit]).toEqual([false, true]);
    if (!first.ok || !second.ok) throw new Error('refused');
    expect(second.script).toBe(first.script);
    expect(first.script.sha256).toBe(createHash('sha256').update('return 1').digest('hex'));
    expect(compiler.stats()).toEqual({ hits: 1, misses: 1, size: 1, restarts: 0 });
  });

  it('keeps failures too', async () => {
    const compiler = fresh();
    const first = await compiler.compile('const = 1', options);
    const second = await compiler.compile('const = 1', options);
    expect(second).toEqual({ ...first, cacheHit: true });
  });

  it('distinguishes languages and tool sets, and an empty set from an omitted one', async () => {
    const compiler = fresh();
    const source = 'await tools.a({})';
    for (const each of [
      options,
      { ...options, language: 'js' as const },
      { ...options, toolNames: [] },
      { ...options, toolNames: ['a'] },
      { ...options, toolNames: ['a', 'b'] },
    ]) {
      expect((await compiler.compile(source, each)).cacheHit).toBe(false);
    }
    expect(compiler.stats().size).toBe(5);
  });

  it('drops the least recently used entry', async () => {
    const compiler = fresh({ cacheSize: 2 });
    const hits: boolean[] = [];
    for (const n of [1, 2, 1, 3, 1, 2]) hits.push((await compiler.compile(`return ${n}`, options)).cacheHit);
    expect(hits).toEqual([false, false, true, false, true, false]);
    expect(compiler.stats().size).toBe(2);
  });

  it('uses one job for concurrent compiles of one source', async () => {
    const compiler = fresh();
    const results = await Promise.all(Array.from({ length: 20 }, () => compiler.compile('return 5', options)));
    expect(compiler.stats()).toMatchObject({ hits: 19, misses: 1 });
    expect(results.filter(({ cacheHit }) => !cacheHit)).toHaveLength(1);
  });

  it('returns only data that a reader cannot change for the next one', async () => {
    const compiler = fresh();
    const script = await compiled(compiler, 'tools.a({})', ['a']);
    expect(Object.isFrozen(script) && Object.isFrozen(script.diagnostics) && Object.isFrozen(script.plan)).toBe(true);
  });
});

describe('the life of a compiler', () => {
  it('starts its thread with the first compile or with warm(), once', async () => {
    const compiler = fresh();
    await Promise.all([compiler.warm(), compiler.warm()]);
    await compiler.warm();
    await compiled(compiler, 'return 1');
    expect(compiler.stats().restarts).toBe(0);
  });

  it('answers pending compiles when it is closed, and rejects later ones', async () => {
    const compiler = fresh();
    const waiting = [compiler.compile('return 1', options), compiler.compile('return 2', options)];
    await compiler.close();
    for (const result of await Promise.all(waiting)) {
      expect(result).toMatchObject({ ok: false, failure: { code: 'ScriptCancelledError' } });
    }
    await expect(compiler.compile('return 1', options)).rejects.toThrow(ToolscriptUsageError);
    await compiler.close();
  });

  it('closes at once if it never started, and resolves a pending warm()', async () => {
    await fresh().close();
    const compiler = fresh();
    const warming = compiler.warm();
    await compiler.close();
    await warming;
  });

  it('lets the process end without being closed', async () => {
    const entry = new URL('../../dist/script/compile/compiler.js', import.meta.url).href;
    const code = `import { createCompiler, restoreScript } from ${JSON.stringify(entry)};
const result = await createCompiler().compile('return 1', { language: 'ts', maxSourceBytes: 100 });
console.log(result.ok);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      timeout: 80_000,
    });
    expect(stdout.trim()).toBe('true');
  });
});

describe('the type checker’s place', () => {
  const error = { severity: 'error', code: 'ts2339', message: 'Property x does not exist.', offset: 14 } as const;
  const checkerThat = (answer: Partial<TypeCheck>, seen: string[] = []): TypeChecker => ({
    key: JSON.stringify(answer),
    warm: async () => {},
    async check(source) {
      seen.push(source);
      return { type: 'checked', diagnostics: [] };
    },
    judge: () => ({ isChecked: true, isFinal: true, findings: [], hint: undefined, ...answer }),
    printTypes: async () => [],
  });

  it('is between the rules and the sandbox; its errors become a ScriptTypeError in the model’s own positions', async () => {
    const seen: string[] = [];
    const typeChecker = checkerThat({ findings: [error], hint: 'Use y.' }, seen);
    const result = await fresh().compile('async () => 1', { ...options, typeChecker });
    expect(seen).toEqual(['async () => 1', 'return await (async () => 1)()']);
    expect(result).toMatchObject({
      ok: false,
      failure: { code: 'ScriptTypeError', line: 1, column: 1, phase: 'checking', hint: 'Use y.' },
      diagnostics: [{ code: 'ts2339', line: 1, column: 1 }],
    });
  });

  it('does not reject a script for warnings, which are returned with it', async () => {
    const typeChecker = checkerThat({ findings: [{ ...error, severity: 'warning', offset: 7 }] });
    const result = await fresh().compile('return 1', { ...options, typeChecker });
    expect(result).toMatchObject({ ok: true, script: { diagnostics: [{ code: 'ts2339', line: 1, column: 8 }] } });
  });

  it('reports an unknown tool itself if TypeScript did not check the script', async () => {
    const codesAfter = async (answer: CheckAnswer) => {
      const typeChecker = createTypeChecker({
        pool: { check: async () => answer, warm: async () => {} } as unknown as CheckPool,
        key: answer.type,
        whyMissing: () => undefined,
        mode: 'error',
        declarations: '',
        toolNames: ['read'],
        findSignature: () => undefined,
        judgeArgument: () => undefined,
        isObject: () => false,
      });
      const result = await fresh().compile('return await tools.rad({})', {
        ...options,
        toolNames: ['read'],
        typeChecker,
      });
      return result.ok && result.script.diagnostics.map(({ code }) => code);
    };
    expect(await codesAfter({ type: 'unavailable', detail: '' })).toContain('unknown-tool');
    expect(await codesAfter({ type: 'checked', diagnostics: [] })).not.toContain('unknown-tool');
  });

  it('is not asked about a script that is already rejected', async () => {
    const typeChecker = checkerThat({ findings: [error] });
    const compiler = fresh();
    const refused = await compiler.compile('eval("1")', { ...options, typeChecker });
    expect(refused).toMatchObject({ ok: false, failure: { code: 'ScriptPolicyError' } });
    const broken = await compiler.compile('const = 1', { ...options, typeChecker });
    expect(broken).toMatchObject({ ok: false, failure: { code: 'ScriptSyntaxError' } });
  });

  it('is asked once for the same script and tools, again for other tools, and again if it could not check', async () => {
    const compiler = fresh();
    const [one, other, broken] = [[], [], []] as [string[], string[], string[]];
    for (let time = 0; time < 2; time++) {
      await compiler.compile('return 1', { ...options, typeChecker: checkerThat({}, one) });
      await compiler.compile('return 1', { ...options, typeChecker: checkerThat({ hint: 'other' }, other) });
      await compiler.compile('return 1', {
        ...options,
        typeChecker: checkerThat({ isChecked: false, isFinal: false }, broken),
      });
    }
    expect([one.length, other.length, broken.length]).toEqual([1, 1, 2]);
  });
});

describe('the sharing of a compiled script', () => {
  it('with the cache cannot be changed by an outcome', async () => {
    const own = createCompiler();
    try {
      const options = { language: 'ts', maxSourceBytes: 20_480 } as const;
      const source = `await tools.read({ path: ['a'] })`;
      const first = await own.compile(source, options);
      const input = first.ok ? (first.script.plan[0]?.input as { path: string[] }) : { path: [] };
      expect(() => input.path.push('b')).toThrow(TypeError);
      const second = await own.compile(source, options);
      expect(second.ok && second.script.plan[0]?.input).toEqual({ path: ['a'] });
    } finally {
      await own.close();
    }
  });

  it('with the engine is kept under the hash of its code, so that cached code of another release is never run for the same source', async () => {
    const own = createCompiler();
    try {
      const made = await own.compile('return 1', { language: 'ts', maxSourceBytes: 20_480 });
      if (!made.ok) throw new Error('not compiled');
      const { script } = made;
      const kept = restoreScript({ ...script.stored(), javascript: script.javascript.replace('1', '2') });
      expect(kept.sha256).toBe(script.sha256);
      expect(kept.codeSha256).not.toBe(script.codeSha256);
    } finally {
      await own.close();
    }
  });
});
