import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createHarness, defineTool, type HarnessOptions } from '@toolscript/core';
import type { ApprovalRequest, DocumentStore, Outcome, Tool } from '@toolscript/core/protocol';
import { loadSnippetTools, snippetTools } from '@toolscript/tools';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { memoryDocuments } from '@toolscript/service/stores';

const WHO = { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] };

interface World {
  readonly documents: DocumentStore;
  readonly asked: ApprovalRequest[];
  readonly sent: string[];
  readonly run: (source: string, threadId?: string) => Promise<Outcome>;
  readonly value: (source: string, threadId?: string) => Promise<unknown>;
  readonly save: (name: string, source: string, more?: object) => Promise<unknown>;
  readonly harness: ReturnType<typeof createHarness>;
}

/** A harness with snippets, `read` (free) and `send` (always needs approval). */
function openWorld(options: Partial<HarnessOptions> = {}, documents: DocumentStore = memoryDocuments()): World {
  const asked: ApprovalRequest[] = [];
  const sent: string[] = [];
  const send = defineTool({
    name: 'send',
    description: 'Sends a text',
    input: z.object({ text: z.string() }),
    output: z.string(),
    approval: 'always',
    execute: ({ text }) => {
      sent.push(text);
      return `sent ${text}`;
    },
  });
  const read = defineTool({ name: 'read', description: 'Reads', effect: 'read', output: z.number(), execute: () => 1 });
  const approvals = (request: ApprovalRequest) => {
    asked.push(request);
    return 'approve' as const;
  };
  const harness = createHarness({
    ...sharedThreads(),
    tools: [...snippetTools({ documents, workspace: 'w' }), send, read],
    approvals,
    ...options,
  });
  onTestFinished(() => harness.close());
  const run = (source: string, threadId = 'thr_a') => harness.runScript(source, { threadId, principal: 'ada' });
  const value = async (source: string, threadId?: string) => {
    const outcome = await run(source, threadId);
    return outcome.status === 'completed' ? outcome.value : (outcome as { error?: { message: string } }).error?.message;
  };
  const save = (name: string, source: string, more: object = {}) =>
    value(
      `return await tools.snippets.save(${JSON.stringify({ name, description: name, source, input: { type: 'object' }, ...more })}).catch((error) => error.message)`,
    );
  return { documents, asked, sent, run, value, save, harness };
}

describe('a saved script', () => {
  it('runs with checked input, and its result is plain data', async () => {
    const { save, value } = openWorld();
    await save('greet', 'return { text: `hello ${input.who}`, at: new Date(0), none: undefined }', { input: WHO });
    const run = (input: string) =>
      value(
        `const word = 'ada'; return await tools.snippets.run({ name: 'greet', input: ${input} }).catch((error) => error.message)`,
      );
    expect(await run('{ who: word }')).toEqual({ text: 'hello ada', at: '1970-01-01T00:00:00.000Z' });
    expect(await run('{ whom: word }')).toMatch(
      /^The input of the snippet "greet" does not match its schema\. .*input\.who: /u,
    );
    expect(await run('{ who: "$& {{x}} \\u2028" }')).toMatchObject({ text: 'hello $& {{x}} \u2028' });
  });

  it('is saved only after an approval that shows all of it, with hidden characters written out', async () => {
    const { save, asked, documents } = openWorld();
    const source = `// ${'x'.repeat(15_000)}\nreturn '\u202egnp'; // \u200b middle\n// ${'y'.repeat(4_000)}`;
    await save('long', source, { input: WHO });
    const [request] = asked;
    expect(request?.tool).toBe('snippets.save');
    expect(request?.rendered).toContain('\\u{202e}gnp');
    expect(request?.rendered).toContain('\\u{200b} middle');
    expect(request?.rendered).toContain(JSON.stringify(WHO));
    expect(request?.rendered).not.toContain('left out');
    expect(request?.rendered.length).toBeGreaterThan(source.length);

    const refused = openWorld({ approvals: () => 'deny' }, documents);
    expect(await refused.save('other', 'return 1')).toBe(
      'A user refused the call to snippets.save: no reason was given.',
    );
    expect((await documents.list({ scope: { kind: 'thread', id: 'thr_a' }, kind: 'snippet' })).documents).toHaveLength(
      1,
    );
  });

  it('with a fault is not saved, and the fault is named with its line', async () => {
    const { save, documents } = openWorld();
    const faults: [string, RegExp][] = [
      ['const a = 1;\nreturn a +;', /\(line 2, column/u],
      ['return 1;\nreturn tools.send({ txt: "a" })', /args\.txt of tools\.send.*\(line 2, column/u],
      ['return await tools.absent({})', /absent/u],
      ["const fs = await import('fs');\nreturn fs", /import/u],
      ['return input.whom', /whom/u],
      ['return outer', /outer/u],
      // It would close the function around it.
      ['return 1; }); const escaped = 1; (async () => {', /line 1/u],
    ];
    for (const [source, problem] of faults) {
      const message = await save('bad', source, { input: { ...WHO, additionalProperties: false } });
      expect(message, source).toMatch(/^The snippet was not saved\. /u);
      expect(message, source).toMatch(problem);
    }
    expect(await save('bad', 'return 1', { input: { type: 'string' } })).toMatch(
      /^The schema of the input does not describe an object/u,
    );
    expect(await save('bad', 'return 1', { input: { type: 'object', properties: 1 } })).toMatch(
      /^The schema of the input does not describe an object/u,
    );
    expect((await documents.list({ scope: { kind: 'thread', id: 'thr_a' }, kind: 'snippet' })).documents).toEqual([]);
  });

  it('cannot have the name of a tool of snippets, or of a member that every object has', async () => {
    const { save } = openWorld({ typecheck: 'off' });
    for (const name of ['run', 'save', 'then', '__proto__', 'constructor', 'a.b', '', '1a', 'a-b', 'toJSON', 'ä'])
      expect(await save(name, 'return 1'), name).toMatch(/args\.name/u);
    expect(await save('hasOwnProperty', 'return 1')).toMatchObject({ version: 1 });
  });

  it('is found in the narrowest scope, listed, shown and deleted', async () => {
    const { save, value } = openWorld();
    await save('one', 'return "w"', { scope: 'workspace' });
    await save('one', 'return "t"');
    const run = "return await tools.snippets.run({ name: 'one' })";
    expect([await value(run), await value(run, 'thr_b')]).toEqual(['t', 'w']);
    expect(await value('return (await tools.snippets.list({})).map(({ name, scope }) => [name, scope])')).toEqual([
      ['one', 'thread'],
      ['one', 'workspace'],
    ]);
    expect(await value("return (await tools.snippets.get({ name: 'one', scope: 'workspace' })).source")).toBe(
      'return "w"',
    );
    expect(await value("return await tools.snippets.delete({ name: 'one' })")).toEqual({ deleted: true });
    expect(await value(run)).toBe('w');
    expect(await value("return await tools.snippets.run({ name: 'none' }).catch((error) => error.message)")).toBe(
      'There is no snippet "none". Call tools.snippets.list({}) to see the snippets.',
    );
  });

  it('gives only results that fit its schema', async () => {
    const { save, value } = openWorld();
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    await save('measure', 'return { n: input.who }', { input: { type: 'object', properties: { who: {} } }, output });
    const run = (who: string) =>
      value(
        `return await tools.snippets.run({ name: 'measure', input: { who: ${who} } }).catch((error) => error.message)`,
      );
    expect(await run('3')).toEqual({ n: 3 });
    expect(await run('"3"')).toMatch(
      /^The result of the snippet "measure" does not match its output schema\. result\.n: /u,
    );
  });

  it('keeps its versions', async () => {
    const { save, value } = openWorld();
    for (const version of [1, 2, 3]) expect(await save('n', `return ${version}`)).toMatchObject({ version });
    expect(
      await value(`return [await tools.snippets.run({ name: 'n', version: 1 }), await tools.snippets.run({ name: 'n' }),
        await tools.snippets.run({ name: 'n', version: 2 })]`),
    ).toEqual([1, 3, 2]);
  });

  it('reports its own lines, and leaves those of the script as they are', async () => {
    const { save, run } = openWorld();
    await save('late', "const wide = '😀𝒳';\n\nif (wide !== '') throw new Error('here');\nreturn 1");
    const inSaved = await run("return await tools.snippets.run({ name: 'late' })");
    expect(inSaved).toMatchObject({
      status: 'failed',
      error: { message: 'Error: here', hint: 'The error is in line 3 of the saved script late@1.' },
    });
    expect((inSaved as { error: { line?: number; stack?: string } }).error.line).toBeUndefined();
    expect((inSaved as { error: { stack?: string } }).error.stack).toMatch(/^Error: here\n {4}at \(late@1:3:\d+\)$/u);
    const outside = await run("\nawait tools.snippets.run({ name: 'late' }).catch(() => 0);\nthrow new Error('there')");
    expect(outside).toMatchObject({ error: { line: 3, stack: expect.stringContaining('(script.ts:3:') } });
  });

  it('that cannot be read ends its caller before anything runs', async () => {
    const documents = memoryDocuments();
    const world = openWorld({}, documents);
    await world.save('one', 'return 1');
    const failing = Object.assign(new Error('secret path'), { name: 'StoreUnavailableError' });
    documents.read = () => Promise.reject(failing);
    const outcome = await world.run(
      "await tools.send({ text: 'a' });\nreturn await tools.snippets.run({ name: 'one' })",
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      operations: [],
      error: {
        message: 'The saved scripts of this script could not be read. The store of documents failed. Try again later.',
      },
    });
  });

  it('is not read for a script that cannot call the tool that runs it', async () => {
    const documents = memoryDocuments();
    await openWorld({}, documents).save('one', 'return 1');
    let reads = 0;
    const { read } = documents;
    documents.read = (...asked) => {
      reads += 1;
      return read.apply(documents, asked);
    };
    const source = "try { await tools.snippets.run({ name: 'one' }); } catch { return 'caught'; }";
    const narrow = openWorld({ expose: { tools: ['read'] }, typecheck: 'off' }, documents);
    expect(await narrow.value(source)).toBe('caught');
    expect(reads).toBe(0);
    await openWorld({}, documents).value(source);
    expect(reads).toBeGreaterThan(0);
  });

  it('is one text for each version, or its caller runs nothing', async () => {
    const documents = memoryDocuments();
    const world = openWorld({}, documents);
    await world.save('one', 'return 1');
    const { read } = documents;
    let reads = 0;
    documents.read = async (...asked) => {
      const found = await read.apply(documents, asked);
      reads += 1;
      return found === undefined || reads === 1 ? found : { ...found, text: 'return 2' };
    };
    const call = "await tools.snippets.run({ name: 'one', version: 1 })";
    expect(await world.run(`return [${call}, ${call}]`)).toMatchObject({
      status: 'failed',
      operations: [],
      error: { message: 'Two saved scripts have the name and version one@1. Send the script again.' },
    });
  });

  it('is not another one after it was deleted and saved again', async () => {
    const world = openWorld();
    await world.save('one', 'return 1');
    await world.value("return await tools.snippets.delete({ name: 'one' })");
    expect(await world.save('one', 'return 2')).toMatchObject({ version: 2 });
    expect(await world.value("return await tools.snippets.run({ name: 'one', version: 1 })")).toMatch(/no .*one/u);
    expect(await world.value("return await tools.snippets.run({ name: 'one', version: 2 })")).toBe(2);
  });

  it('is not run by a call whose name is unknown before the script starts, detached, or outside of a script', async () => {
    const { save, value, harness } = openWorld({ expose: { spawn: true } });
    await save('one', 'return 1');
    const unknown = "return await tools.snippets.run({ name: ['one'].join() }).catch((error) => error.message)";
    expect(await value(unknown)).toMatch(/Write its name as a literal/u);
    const operation = await harness.callTool('snippets.run', { name: 'one' }, { threadId: 'thr_a' });
    expect(operation.error?.message).toMatch(/in the script/u);
    expect(
      await value(`await tools.snippets.run({ name: 'one' });
        return await tools.spawn.exec('snippets.run', { name: 'one' }).done.catch((error) => error.message)`),
    ).toMatch(/Write its name as a literal/u);
  });
});

describe('the calls of a saved script', () => {
  it('are asked about with its name, version and line, and run only if they are approved', async () => {
    const { save, value, asked, sent } = openWorld();
    await save('post', 'const text = input.who;\nreturn await tools.send({ text });', { input: WHO });
    asked.length = 0;
    expect(await value("return await tools.snippets.run({ name: 'post', input: { who: 'ada' } })")).toBe('sent ada');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      tool: 'send',
      inputJson: '{"text":"ada"}',
      snippet: 'post@1, line 2: return await tools.send({ text });',
    });
    expect(asked[0]?.line).toBeUndefined();
    expect(sent).toEqual(['ada']);
  });

  it('are denied where the calls of their caller are', async () => {
    const documents = memoryDocuments();
    await openWorld({}, documents).save('post', "return await tools.send({ text: 'a' }).catch((error) => error.name)");
    const { value, sent } = openWorld({ approvals: 'deny' }, documents);
    expect(await value("return await tools.snippets.run({ name: 'post' })")).toBe('ApprovalDeniedError');
    expect(sent).toEqual([]);
  });

  it('reach no tool that their caller cannot reach', async () => {
    const documents = memoryDocuments();
    await openWorld({}, documents).save('post', "return await tools.send({ text: 'a' })");
    const narrow = openWorld({ expose: { tools: ['snippets', 'read'] } }, documents);
    const message = await narrow.value("return await tools.snippets.run({ name: 'post' })");
    expect(message).toMatch(/^The saved script post@1 cannot run here: .*send/u);
    const unchecked = openWorld({ expose: { tools: ['snippets', 'read'] }, typecheck: 'off' }, documents);
    expect(await unchecked.value("return await tools.snippets.run({ name: 'post' })")).toMatch(/no tool/u);
    expect([...narrow.sent, ...unchecked.sent]).toEqual([]);
  });

  it('share the budget, and the time, of the script', async () => {
    const { save, run } = openWorld({ limits: { maxToolCalls: 4 } });
    await save('many', 'for (let n = 0; n < 3; n++) await tools.read();\nreturn 1');
    const outcome = await run(
      "const first = await tools.snippets.run({ name: 'many' });\nreturn [first, await tools.read()]",
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ToolBudgetExceededError' } });
    const slow = openWorld({ limits: { computeMs: 200 } });
    await slow.save('loop', 'for (;;);');
    expect(await slow.run("return await tools.snippets.run({ name: 'loop' })")).toMatchObject({
      error: { code: 'ScriptTimeoutError' },
    });
  });

  it('may run other saved scripts, and themselves, to a fixed depth', async () => {
    const { save, value } = openWorld();
    await save('leaf', 'return input.who + "!"', { input: WHO });
    await save('root', "return await tools.snippets.run({ name: 'leaf', input })", { input: WHO });
    expect(await value("return await tools.snippets.run({ name: 'root', input: { who: 'a' } })")).toBe('a!');
    await save('self', 'return 1');
    await save('self', "return await tools.snippets.run({ name: 'self' })");
    expect(await value("return await tools.snippets.run({ name: 'self' }).catch((error) => error.message)")).toBe(
      'Saved scripts can run each other 8 levels deep, not deeper.',
    );
  });
});

describe('a hostile saved script', () => {
  /** Saves and runs a source without type checks; returns its result, or the message of its error. */
  async function attempt(source: string, caller = "return await tools.snippets.run({ name: 'evil' })") {
    const { save, run } = openWorld({ typecheck: 'off' });
    expect(await save('evil', source)).toMatchObject({ version: 1 });
    const outcome = await run(caller);
    return outcome.status === 'completed' ? outcome.value : (outcome as { error: { message: string } }).error.message;
  }

  it('sees no variable of its caller or of what is around it', async () => {
    const caller = "const secret = 1; return [secret, await tools.snippets.run({ name: 'evil' })]";
    expect(await attempt('return typeof secret', caller)).toEqual([1, 'undefined']);
    const found = await attempt(`return [this === undefined, Object.keys(input),
      Object.getOwnPropertyNames(globalThis).filter((name) => name.startsWith('$'))]`);
    expect(found).toEqual([true, [], []]);
    expect(await attempt("return String(tools.snippets.run).match(/[$][0-9a-f]{32}/u)?.[0] ?? 'none'")).toBe('none');
    const evil = "return (() => {})['cons' + 'tructor']('return 1')()";
    expect(await attempt(`try { ${evil} } catch (error) { return error.message }`)).toMatch(
      /not|unsupported|disabled/iu,
    );
  });

  it('changes no tool, and no intrinsic, of its caller', async () => {
    const caller = `await tools.snippets.run({ name: 'evil' }).catch(() => 0);
      return [await tools.read(), [1].map((n) => n + 1), JSON.parse('[2]'), Object.keys(tools).includes('evil')]`;
    for (const source of [
      'tools = { read: () => 666 };',
      'globalThis.tools = { read: () => 666 };',
      'tools.read = () => 666;',
      "Object.defineProperty(tools, 'read', { value: () => 666 });",
      'delete tools.read;',
      'Object.setPrototypeOf(tools, { evil: 1 });',
      'tools.snippets.run = () => 666;',
      'Array.prototype.map = () => 666;',
      'JSON.parse = () => 666;',
      'globalThis.Proxy = 1; globalThis.Reflect = 1; globalThis.JSON = { parse: () => 666 };',
      'Promise.prototype.then = () => 666;',
      'Map.prototype.get = () => 666;',
    ])
      expect(await attempt(source, caller), source).toEqual([1, [2], [2], false]);
  });

  it('gives its caller plain data only', async () => {
    const caller = `const got = await tools.snippets.run({ name: 'evil' });
      return [Object.keys(got), typeof got.then, typeof got.run, Object.getPrototypeOf(got) === Object.prototype]`;
    expect(
      await attempt(
        "return new Proxy({ a: 1, run: () => 666 }, { get: (target, key) => (key === 'then' ? undefined : target[key]) })",
        caller,
      ),
    ).toEqual([['a'], 'undefined', 'undefined', true]);
    expect(await attempt('return 10n')).toMatch(/BigInt/iu);
  });

  it('cannot choose its input or another script by what it passes', async () => {
    const { save, value } = openWorld({ typecheck: 'off' });
    await save('echo', 'return input', { input: { type: 'object', properties: { a: { default: 1 } } } });
    expect(
      await value(
        'return await tools.snippets.run({ name: \'echo\', input: JSON.parse(\'{"__proto__": { "b": 2 }}\') }).catch((error) => error.message)',
      ),
    ).toContain("they have a member named '__proto__'");
    expect(
      await value("return await tools.snippets.run({ name: 'echo', script: 'x@1' }).catch((error) => error.message)"),
    ).toMatch(/args\.script/u);
  });
});

describe('a script that runs a saved one', () => {
  it('sees the same tools as any other script', async () => {
    const { save, value } = openWorld({ typecheck: 'off' });
    await save('one', 'return 1');
    const look = `
      const tried = (action) => { try { return String(action()) } catch (error) { return error.name + ': ' + error.message } };
      return [Object.keys(tools), Object.keys(tools.snippets), 'read' in tools, 'none' in tools, typeof tools.read, tools.read.name,
        tools.snippets.run.name, tools.snippets === tools.snippets, tools.snippets.run === tools.snippets.run, tools.then,
        tried(() => tools.none), tried(() => tools.snippets.none), tried(() => (tools.a = 1)), tried(() => delete tools.read),
        tried(() => (tools.snippets.b = 1)), Object.isFrozen(tools.snippets.run), JSON.stringify(Object.entries(tools).length)];`;
    const plain = await value(look);
    expect(plain).toHaveLength(17);
    expect(await value(`await tools.snippets.run({ name: 'one' });\n${look}`)).toEqual(plain);
  });
});

describe('a script that was suspended inside of a saved one', () => {
  it('goes on in another process with the version that it started with, also after a newer one and a deletion', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'snippets-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const life = async (action: string, versions: string[], script: string) => {
      const file = fileURLToPath(new URL('life.mjs', import.meta.url));
      const { stdout } = await promisify(execFile)(process.execPath, [
        file,
        folder,
        action,
        JSON.stringify(versions),
        script,
      ]);
      return JSON.parse(stdout) as Outcome;
    };
    const first = "const said = await tools.note({ text: `one ${input.word}` });\nreturn 'one'";
    const second = "await tools.note({ text: 'two' });\nreturn 'two'";
    const source = `const results = [];
      for (const word of ['a', 'b']) results.push(await tools.snippets.run({ name: 'mark', input: { word } }));
      return results`;
    const started = await life('run', [first], source);
    expect(started).toMatchObject({
      status: 'suspended',
      pendingApprovals: [{ tool: 'note', snippet: expect.stringMatching(/^mark@1, line 1: const said/u) }],
    });
    const suspended = await life('approve', [first, second], started.scriptId);
    expect(suspended).toMatchObject({ status: 'suspended', pendingApprovals: [{ inputJson: '{"text":"one b"}' }] });
    expect(await life('approve', [], started.scriptId)).toMatchObject({ status: 'completed', value: ['one', 'one'] });
    expect(await readFile(join(folder, 'notes'), 'utf8')).toBe('one a\none b\n');
  });
});

describe('saved scripts as tools of their own', () => {
  it('are declared exactly and checked before the script runs', async () => {
    const { save, value, harness, documents, asked } = openWorld();
    await save('add', 'return input.a + input.b', {
      description: 'Adds two numbers',
      input: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number', default: 10 } },
        required: ['a'],
      },
      output: { type: 'number' },
    });
    const load = () => loadSnippetTools({ documents, workspace: 'w' }, { threadId: 'thr_a', principal: 'ada' });
    harness.tools.add(await load());
    expect(harness.declarations()).toMatch(
      /add\(args: \{\n\s+a: number;\n\s+b\?: number; \/\/ default 10\n\s+\}\): Promise<number>/u,
    );
    expect(await value('const n: number = await tools.snippets.add({ a: 1 }); return n')).toBe(11);
    expect(await value("return await tools.snippets.add({ a: 'x' })")).toMatch(
      /^tool-arguments: args\.a of tools\.snippets\.add/u,
    );
    expect(await value('return await tools.snippets.add(JSON.parse(\'{"a":"x"}\')).catch((error) => error.name)')).toBe(
      'ToolValidationError',
    );
    await save('add', 'return await tools.send({ text: "x" }).then(() => 1)');
    harness.tools.replace(['snippets.add'], await load());
    asked.length = 0;
    expect(await value('return await tools.snippets.add({})')).toBe(1);
    expect(asked[0]?.snippet).toMatch(/^add@2, line 1: /u);
  });

  it('never take the name of another tool', async () => {
    const { save, harness, documents } = openWorld();
    await save('mine', 'return 1');
    const other: Tool = defineTool({ name: 'snippets.mine', description: 'Other', execute: () => 2 });
    harness.tools.add([other]);
    const found = await loadSnippetTools({ documents }, { threadId: 'thr_a' });
    expect(() => harness.tools.add(found)).toThrow('Two tools have the name "snippets.mine"');
  });
});
