import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { ApprovalRequest, StreamEvent } from '#core/protocol/index.js';
import { defineTool } from '#core/tools/index.js';
import { codingTools } from '@toolscript/tools';
import { collect, failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';
import { withEnoughTime } from '@toolscript/testkit/enough-time';

/** A harness over the real coding tools, on a new folder. */
async function openFolder(files: Record<string, string>) {
  const root = await mkdtemp(join(tmpdir(), 'toolscript-laws-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) await writeFile(join(root, path), content);
  const harness = openHarness({ tools: codingTools({ roots: [root] }), approvals: 'auto' });
  return { root, harness };
}

function payloads(events: readonly StreamEvent[], type: string) {
  return events.map(({ payload }) => payload).filter((payload) => payload.type === type);
}

it('a script that applies one patch gets the result, and the file is changed', async () => {
  const { root, harness } = await openFolder({ 'greeting.txt': 'hello\nworld\n' });
  const patch =
    '*** Begin Patch\n*** Update File: greeting.txt\n@@\n hello\n-world\n+there\n*** Add File: new.txt\n+made\n*** End Patch';
  const outcome = await harness.runScript(`return await tools.applyPatch({ patch: ${JSON.stringify(patch)} })`);
  expect(valueOf(outcome)).toMatchObject({ success: true, changes: [{ kind: 'update' }, { kind: 'add' }] });
  expect(await readFile(join(root, 'greeting.txt'), 'utf8')).toBe('hello\nthere\n');
  expect(await readFile(join(root, 'new.txt'), 'utf8')).toBe('made\n');
  expect(outcome.operations).toMatchObject([{ tool: 'applyPatch', status: 'completed', effect: 'write', line: 1 }]);
});

it('text before, between and after scripts keeps its place and its bytes', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const answer =
    'Before — ünïcode\r\n\n<tool-calls>\nreturn 1\n</tool-calls>\n between \t\n<tool-calls>return 2</tool-calls>after  \n';
  const response = foldResponse(await collect(harness.processText(answer)));
  expect(response.output_items.map((item) => (item.type === 'message' ? item.content : item.type))).toEqual([
    'Before — ünïcode\r\n\n',
    'script_execution',
    'script_execution_output',
    expect.stringContaining(' between \t\n'),
    'script_execution',
    'script_execution_output',
    'after  \n',
  ]);
});

it('TypeScript with async functions, types and interfaces runs', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const source = `
    interface Sum { sum: number }
    type Pair = readonly [a: number, b: number];
    const total = async (pairs: Pair[]): Promise<number> => {
      let all = 0;
      for (const [a, b] of pairs) all += ((await tools.add({ a, b })) as Sum).sum;
      return all;
    };
    return await total([[1, 2], [3, 4]] as const satisfies readonly Pair[] as unknown as Pair[]);`;
  expect(valueOf(await harness.runScript(source))).toBe(10);
});

it('Promise.all on three tools runs them side by side', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const source =
    'return await Promise.all([tools.wait({ ms: 300, value: "a" }), tools.wait({ ms: 200, value: "b" }), tools.wait({ ms: 100, value: "c" })])';
  const outcome = await harness.runScript(source);
  expect(valueOf(outcome)).toEqual(['a', 'b', 'c']);
  expect(deeds.slice(0, 3).map(({ what }) => what)).toEqual(['started', 'started', 'started']);
  expect(outcome.operations.map(({ result }) => result)).toEqual(['a', 'b', 'c']);
});

it('the winner of Promise.race is returned and the loser is aborted', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const outcome = await harness.runScript(
    'return await Promise.race([tools.wait({ ms: 60_000 }), tools.wait({ ms: 5, value: "won" })])',
  );
  expect(valueOf(outcome)).toBe('won');
  expect(outcome.operations.map(({ status }) => status)).toEqual(['aborted', 'completed']);
  expect(deeds.filter(({ what }) => what === 'aborted').map(({ input }) => input)).toEqual([
    { ms: 60_000, value: undefined },
  ]);
});

it('a loser is aborted as soon as its race is decided, while the script continues', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const source = `
    const winner = await Promise.race([tools.wait({ ms: 60_000 }), tools.wait({ ms: 5, value: 'won' })]);
    for (let i = 0; i < 20; i++) await tools.wait({ ms: 5 });
    return winner;`;
  expect(valueOf(await harness.runScript(source))).toBe('won');
  const aborted = deeds.findIndex(({ what }) => what === 'aborted');
  expect(aborted).toBeGreaterThan(0);
  expect(aborted).toBeLessThan(deeds.length - 20);
});

it('a pool made of races works', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const source = `
    const executing = new Set(), done = [];
    for (const n of [5, 4, 3, 2, 1, 6]) {
      const p = tools.wait({ ms: n * 3, value: n }).then((v) => { executing.delete(p); done.push(v); });
      executing.add(p);
      if (executing.size >= 3) await Promise.race(executing);
    }
    await Promise.all(executing);
    return done.sort();`;
  const outcome = await harness.runScript(source);
  expect(valueOf(outcome)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(outcome.operations.every(({ status }) => status === 'completed')).toBe(true);
});

it('a tool that fails can be caught, by class, by name and by code', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const source = `
    try { await tools.fail({ message: 'disk full' }); return 'unexpected'; }
    catch (e) { return [e instanceof ToolExecutionError, e instanceof Error, e.name, e.code, e.message]; }`;
  const outcome = await harness.runScript(source);
  expect(valueOf(outcome)).toEqual([true, true, 'ToolExecutionError', 'ToolExecutionError', 'disk full']);
  expect(outcome.operations).toMatchObject([
    { status: 'failed', error: { code: 'ToolExecutionError', message: 'disk full' } },
  ]);
});

it("one tool's result goes into the next call", async () => {
  const { root, harness } = await openFolder({ 'a.txt': 'one two three' });
  const source = `
    const { lines } = await tools.readFile({ path: 'a.txt' });
    const words = JSON.stringify(lines).match(/[a-z]{3,}/g).filter((word) => /^(one|two|three)$/.test(word));
    await tools.writeFile({ path: 'b.txt', content: words.reverse().join(' ') });
    return words.length;`;
  expect(valueOf(await harness.runScript(source))).toBe(3);
  expect(await readFile(join(root, 'b.txt'), 'utf8')).toBe('three two one');
});

it('a nested object is returned completely', async () => {
  const harness = openHarness({ tools: [] });
  const value = { a: { b: [{ c: [[1, 2], []] }, null, true] }, 'odd key': 'ü🎉\u2028', n: -1.5e-7, message: 'said' };
  const outcome = await harness.runScript(`return ${JSON.stringify(value)}`);
  expect(valueOf(outcome)).toEqual(value);
});

it('progress is streamed while the script runs', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const answer =
    "<tool-calls>\ncontext.emitProgress('first');\nawait tools.wait({ ms: 600 });\ncontext.telemetry.emitProgress('second', 'warn');\nreturn context.emitProgress === context.telemetry.emitProgress\n</tool-calls>";
  const events = await collect(harness.processText(answer));
  expect(payloads(events, 'script_progress')).toMatchObject([
    { message: 'first', kind: 'info' },
    { message: 'second', kind: 'warn' },
  ]);
  const types = events.map(({ payload }) => payload.type);
  expect(types.indexOf('script_progress')).toBeLessThan(types.indexOf('tool_call_done'));
});

it('a call that needs approval waits until it is approved', async () => {
  const { tools, deeds } = sampleTools();
  let decide: (decision: 'approve') => void = () => {};
  let show: (request: ApprovalRequest) => void = () => {};
  const asked = new Promise<ApprovalRequest>((resolve) => (show = resolve));
  const harness = openHarness({
    tools,
    approvals: (request) => {
      show(request);
      return new Promise((answer) => (decide = answer));
    },
  });
  const running = harness.runScript(
    "const r = await tools.write({ path: 'x', content: 'abc', approvalContext: 'to keep it' }); return r.bytes",
  );
  const request = await asked;
  expect(request).toMatchObject({
    tool: 'write',
    line: 1,
    effect: 'write',
    context: 'to keep it',
    inputJson: JSON.stringify({ path: 'x', content: 'abc', approvalContext: 'to keep it' }),
  });
  expect(deeds).toEqual([]);
  decide('approve');
  expect(valueOf(await running)).toBe(3);
  expect(deeds.map(({ what }) => what)).toEqual(['started', 'ended']);
});

it('a denial is an error that the script can catch before it continues', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools, approvals: () => ({ decision: 'deny', note: 'not today' }) });
  const source = `
    let refused;
    try { await tools.write({ path: 'x' }); } catch (e) { refused = [e instanceof ApprovalDeniedError, e.name, e.message.includes('not today')]; }
    return [refused, await tools.echo({ value: 'went on' })];`;
  const outcome = await harness.runScript(source);
  expect(valueOf(outcome)).toEqual([[true, 'ApprovalDeniedError', true], 'went on']);
  expect(outcome.operations.map(({ status }) => status)).toEqual(['denied', 'completed']);
  expect(deeds.map(({ tool }) => tool)).toEqual(['echo', 'echo']);
});

it('the history contains the operations of a script in call order', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const answer =
    "<tool-calls>\nconst [a, b] = await Promise.all([tools.wait({ ms: 20, value: 'slow' }), tools.wait({ ms: 1, value: 'fast' })]);\nawait tools.fail({ message: 'no' }).catch(() => {});\nreturn { message: a + b };\n</tool-calls>";
  const response = foldResponse(await collect(harness.processText(answer)));
  const [execution, output] = response.output_items;
  expect(execution).toMatchObject({ type: 'script_execution', status: 'completed' });
  expect(output).toMatchObject({
    type: 'script_execution_output',
    call_id: (execution as { call_id: string }).call_id,
    result: { message: 'slowfast' },
    summary: 'slowfast',
    output_json: '{"message":"slowfast"}',
    operations: [
      { tool: 'wait', status: 'completed', result: 'slow', line: 1 },
      { tool: 'wait', status: 'completed', result: 'fast', line: 1 },
      { tool: 'fail', status: 'failed', line: 2, error: { code: 'ToolExecutionError', message: 'no' } },
    ],
  });
});

it('a run may change its limits, and the change applies', async () => {
  const harness = openHarness({ tools: sampleTools().tools, limits: { timeoutMs: 100 } });
  expect(failureOf(await harness.runScript('await tools.wait({ ms: 60_000 })')).code).toBe('ScriptTimeoutError');
  const outcome = await harness.runScript('await tools.wait({ ms: 300 }); return context.sandbox.timeoutMs', {
    limits: { timeoutMs: 10_000 },
  });
  expect(valueOf(outcome)).toBe(10_000);
});

it('workers are reused, and every script starts clean', async () => {
  const harness = openHarness({ tools: sampleTools().tools, workers: { size: 1, slotsPerWorker: 1 } });
  const source = `
    const before = [typeof globalThis.mark, Object.keys(console).length, new Error('x').stack.length > 0, typeof Symbol.keyFor(Symbol.for('s'))];
    globalThis.mark = 1;
    return before;`;
  const values = [];
  for (let run = 0; run < 50; run++) values.push(valueOf(await harness.runScript(source)));
  expect(new Set(values.map((value) => JSON.stringify(value))).size).toBe(1);
  expect(values[0]).toEqual(['undefined', 17, true, 'string']);
  expect(harness.stats().sandbox).toMatchObject({
    workers: 1,
    completed: 50,
    running: 0,
    waiting: 0,
    workersReplaced: 0,
  });
});

it('disabled scripts leave one fixed warning in their place', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools, mode: 'disabled' });
  const response = foldResponse(
    await collect(harness.processText('a\n<tool-calls>\nawait tools.echo({ value: 1 })\n</tool-calls>\nb')),
  );
  expect(response.output_items.every(({ type }) => type === 'message')).toBe(true);
  const texts = response.output_items.map((item) => (item as { content: string }).content);
  expect(texts[0]).toBe('a\n');
  expect(texts[1]).toMatch(/disabled/u);
  expect(texts.slice(2).join('')).toMatch(/b$/u);
  expect(deeds).toEqual([]);
  expect(failureOf(await harness.runScript('return 1')).code).toBe('ScriptDisabledError');
});

it('a dry run reports what it found and executes nothing', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools, mode: 'dry-run' });
  const outcome = await harness.runScript(
    "if (Math.random() > 2) tools.write({ path: 'x' });\nawait tools.add({ a: 1, b: 2 });",
  );
  expect(outcome).toMatchObject({
    status: 'completed',
    value: undefined,
    plan: [
      { tool: 'write', line: 1, input: { path: 'x' }, conditional: true },
      { tool: 'add', line: 2, input: { a: 1, b: 2 }, conditional: false },
    ],
    operations: [],
    logs: [],
    output: '',
  });
  expect(outcome.diagnostics).toContainEqual(expect.objectContaining({ code: 'repair-floating-call', line: 1 }));
  expect(deeds).toEqual([]);
});

it.each(['ts', 'js'])('a fenced block ```%s tool-calls is a script', async (language) => {
  const harness = openHarness({ tools: [] });
  const response = foldResponse(
    await collect(harness.processText(`Look:\n\n\`\`\`${language} tool-calls\nreturn 40 + 2\n\`\`\`\nDone\n`)),
  );
  expect(response.output_items).toMatchObject([
    { type: 'message', content: 'Look:\n\n' },
    {
      type: 'script_execution',
      format: 'fence',
      language,
      source_code: expect.stringContaining('return 40 + 2') as unknown,
    },
    { type: 'script_execution_output', result: 42 },
    { type: 'message' },
  ]);
});

it('several blocks run one after the other, in order', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const blocks = [30, 1, 10].map(
    (ms, index) => `<tool-calls>return await tools.wait({ ms: ${ms}, value: ${index} })</tool-calls>`,
  );
  const response = foldResponse(await collect(harness.processText(blocks.join('\n'))));
  const outputs = response.output_items.filter(({ type }) => type === 'script_execution_output');
  expect(outputs.map((item) => (item as { result?: unknown }).result)).toEqual([0, 1, 2]);
  expect(deeds.map(({ what }) => what)).toEqual(['started', 'ended', 'started', 'ended', 'started', 'ended']);
});

it('the context can be read', async () => {
  const harness = openHarness({ tools: sampleTools().tools, limits: { maxToolCalls: 7, memoryMb: 48 } });
  const source =
    'const { emitProgress, telemetry, ...rest } = context; return { ...rest, kinds: [typeof emitProgress, typeof telemetry.emitProgress] }';
  const outcome = await harness.runScript(source, {
    context: { workingDirectory: '/srv/app', conversationId: 'conv', provider: 'p', model: 'm' },
  });
  expect(valueOf(outcome)).toMatchObject({
    workingDirectory: '/srv/app',
    conversationId: 'conv',
    provider: 'p',
    model: 'm',
    scriptId: outcome.scriptId,
    sandbox: { timeoutMs: 30_000, memoryMb: 48, remainingToolBudget: 7, maxConcurrentToolCalls: 4, mode: 'enabled' },
    capabilities: { tools: expect.arrayContaining(['echo', 'add']) as unknown },
    approvals: { required: true },
    kinds: ['function', 'function'],
  });
});

it('a script without a return completes with undefined, and null in JSON', async () => {
  const harness = openHarness({ tools: [] });
  const outcome = await harness.runScript('const a = 1;');
  expect(outcome.status).toBe('completed');
  expect(valueOf(outcome)).toBeUndefined();
  const response = foldResponse(await collect(harness.processText('<tool-calls>const a = 1;</tool-calls>')));
  expect(response.output_items[1]).toMatchObject({
    type: 'script_execution_output',
    status: 'completed',
    output_json: 'null',
  });
});

it('the output of a command on both streams is returned, with its exit status', async () => {
  const { harness } = await openFolder({});
  const command = ['node', '-e', 'console.log("to out"); console.error("to err"); process.exit(3)'];
  const outcome = await harness.runScript(`return await tools.exec({ command: ${JSON.stringify(command)} })`);
  expect(valueOf(outcome)).toMatchObject({ exitCode: 3, stdout: 'to out\n', stderr: 'to err\n', timedOut: false });
});

it('arguments that do not fit are rejected before the tool runs, naming path, expected and received', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const source = `
    const problems = [];
    for (const args of JSON.parse('[{ "a": "x" }, {}, { "a": 1, "extra": true }, 5, { "a": null }]')) {
      try { await tools.add(args); problems.push('unexpected'); } catch (e) { problems.push([e.name, e.message]); }
    }
    return problems;`;
  const outcome = await harness.runScript(source);
  const problems = valueOf(outcome) as [string, string][];
  expect(problems.map(([name]) => name)).toEqual(Array(5).fill('ToolValidationError'));
  expect(problems[0]![1]).toMatch(/args\.a.*number.*string/su);
  expect(problems[1]![1]).toMatch(/args\.a/u);
  expect(problems[2]![1]).toMatch(/extra/u);
  expect(problems[4]![1]).toMatch(/args\.a.*number.*null/su);
  expect(outcome.operations.every(({ status }) => status === 'failed')).toBe(true);
  expect(outcome.metadata.toolCallsMade).toBe(5);
  expect(deeds).toEqual([]);
});

it('a script may define functions and classes and use them', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const source = `
    class Adder { constructor(private base: number) {} async plus(n: number) { return (await tools.add({ a: this.base, b: n })).sum; } }
    async function twice<T>(make: () => Promise<T>): Promise<T[]> { return [await make(), await make()]; }
    return twice(() => new Adder(10).plus(5));`;
  expect(valueOf(await harness.runScript(source))).toEqual([15, 15]);
});

it('progress beyond two events per second is dropped, counted and reported', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const events: StreamEvent[] = [];
  const outcome = await harness.runScript("for (let i = 0; i < 100; i++) context.emitProgress('p' + i); return 1", {
    onEvent: (event) => void events.push(event),
  });
  expect(payloads(events, 'script_progress')).toMatchObject([{ message: 'p0' }]);
  expect(outcome.diagnostics).toContainEqual(
    expect.objectContaining({ code: 'progress-dropped', message: expect.stringContaining('99') as unknown }),
  );
});

it('after a timeout the completed calls are reported, separate from the running ones', async () => {
  const harness = openHarness({ tools: sampleTools().tools });
  const source =
    "await tools.echo({ value: 'one' });\nawait tools.echo({ value: 'two' });\nawait tools.send({ ms: 60_000 });\nawait tools.echo({ value: 'never' });";
  const outcome = await withEnoughTime(
    1_000,
    (timeoutMs) => harness.runScript(source, { limits: { timeoutMs } }),
    ({ operations }) => operations.length === 3,
  );
  expect(failureOf(outcome)).toMatchObject({
    code: 'ScriptTimeoutError',
    metadata: { clock: 'wall', completedTools: 2 },
  });
  expect(outcome.operations).toMatchObject([
    { status: 'completed', result: 'one', line: 1 },
    { status: 'completed', result: 'two', line: 2 },
    { status: 'aborted', tool: 'send', line: 3 },
  ]);
  const played = await withEnoughTime(
    1_000,
    async (timeoutMs) => {
      const text = `<tool-calls>\n${source}\n</tool-calls>`;
      const { output_items } = foldResponse(await collect(harness.processText(text, { limits: { timeoutMs } })));
      return output_items.flatMap((item) => (item.type === 'script_execution_output' ? [item] : []))[0]!;
    },
    ({ operations }) => operations.length === 3,
  );
  expect(JSON.parse(played.output_json!)).toHaveProperty('partialResults');
  expect(played.output_json).toContain('one');
});

it('a call with effects that ignores its abort is unknown', async () => {
  const { tools, release } = sampleTools();
  onTestFinished(release);
  const harness = openHarness({ tools });
  const outcome = await withEnoughTime(
    200,
    (timeoutMs) => harness.runScript('await tools.hold()', { limits: { timeoutMs } }),
    ({ operations }) => operations.length === 1,
  );
  expect(failureOf(outcome).code).toBe('ScriptTimeoutError');
  expect(outcome.operations).toMatchObject([{ tool: 'hold', status: 'unknown' }]);
});

it('an unknown tool throws at once, with the nearest name', async () => {
  const { tools, deeds } = sampleTools();
  const checked = await openHarness({ tools }).runScript('await tools.echo({ value: 1 });\nawait tools.ecoh({});');
  expect(failureOf(checked)).toMatchObject({
    code: 'ScriptTypeError',
    message: expect.stringContaining('tools.echo') as unknown,
    line: 2,
  });
  expect(deeds).toEqual([]);
  const harness = openHarness({ tools, typecheck: 'off' });
  const outcome = await harness.runScript('await tools.echo({ value: 1 });\nawait tools.ecoh({ value: 2 });');
  expect(failureOf(outcome)).toMatchObject({
    code: 'ToolNotFoundError',
    message: expect.stringContaining('echo') as unknown,
    line: 2,
  });
  const caught = await harness.runScript(
    "try { tools.wirte; } catch (e) { return [e instanceof ToolNotFoundError, e.message.includes('write')]; }",
  );
  expect(valueOf(caught)).toEqual([true, true]);
  expect(deeds.filter(({ what }) => what === 'started').length).toBeLessThanOrEqual(1);
});

it('a syntax error is reported with its place and a frame, and nothing runs', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools });
  const outcome = await harness.runScript('await tools.echo({ value: 1 });\nconst x = = 2;\nreturn x;');
  expect(failureOf(outcome)).toMatchObject({
    code: 'ScriptSyntaxError',
    phase: 'parsing',
    line: 2,
    column: 11,
    retryable: true,
    frame: expect.stringContaining('> 2 |') as unknown,
  });
  expect(outcome.operations).toEqual([]);
  expect(deeds).toEqual([]);
});

it('the call beyond the budget is refused, and every call before it has run', async () => {
  const { tools, deeds } = sampleTools();
  const harness = openHarness({ tools, limits: { maxToolCalls: 3 } });
  const outcome = await harness.runScript('for (let i = 0; ; i++) await tools.echo({ value: i });');
  expect(failureOf(outcome)).toMatchObject({ code: 'ToolBudgetExceededError', toolName: 'echo' });
  expect(outcome.operations.map(({ status }) => status)).toEqual([
    'completed',
    'completed',
    'completed',
    'not_started',
  ]);
  expect(outcome.metadata.toolCallsMade).toBe(3);
  expect(deeds.filter(({ what }) => what === 'started')).toHaveLength(3);
});

it('a call beyond the budget is not started, even if it lost its race', async () => {
  const harness = openHarness({ tools: sampleTools().tools, limits: { maxToolCalls: 2 } });
  const outcome = await harness.runScript(
    'return await Promise.race([tools.wait({ ms: 5 }), tools.wait({ ms: 600_000 }), tools.echo({ value: 1 })])',
  );
  expect(valueOf(outcome)).toBe(5);
  expect(outcome.operations).toMatchObject([
    { status: 'completed' },
    { status: 'aborted' },
    { tool: 'echo', status: 'not_started', error: { code: 'ToolBudgetExceededError' } },
  ]);
});

it('denied and invalid calls count, and the script may catch the refusal', async () => {
  const harness = openHarness({ tools: sampleTools().tools, approvals: 'deny', limits: { maxToolCalls: 2 } });
  const source = `
    const seen = [];
    for (const call of [() => tools.add({ a: 'x' } as any), () => tools.write({ path: 'x' }), () => tools.echo({ value: 1 })])
      try { await call(); seen.push('ran'); } catch (e) { seen.push(e.name); }
    return seen;`;
  expect(valueOf(await harness.runScript(source))).toEqual([
    'ToolValidationError',
    'ApprovalDeniedError',
    'ToolBudgetExceededError',
  ]);
});

describe('a harness', () => {
  it('does not disturb the others in its process', async () => {
    const make = (name: string, delay: number) =>
      createHarness({
        tools: [
          defineTool({
            name: 'who',
            description: 'x',
            effect: 'read',
            input: z.object({}),
            execute: () => new Promise((resolve) => setTimeout(resolve, delay, name)),
          }),
        ],
        limits: { maxToolCalls: delay, computeMs: 300 },
        workers: { size: 1 },
      });
    const harnesses = Array.from({ length: 4 }, (_, index) => make(`h${index}`, index + 5));
    onTestFinished(async () => void (await Promise.all(harnesses.map((harness) => harness.close()))));
    const hung = harnesses[0]!.runScript('while(true){}');
    const answers = await Promise.all(
      harnesses
        .slice(1)
        .flatMap((harness) =>
          [1, 2, 3].map(() =>
            harness.runScript(
              'globalThis.seen = await tools.who(); return [globalThis.seen, context.sandbox.remainingToolBudget]',
            ),
          ),
        ),
    );
    expect(answers.map(valueOf)).toEqual([1, 2, 3].flatMap((index) => [1, 2, 3].map(() => [`h${index}`, index + 5])));
    await harnesses[1]!.close();
    expect(failureOf(await hung).code).toBe('ScriptTimeoutError');
    expect(valueOf(await harnesses[2]!.runScript('return await tools.who()'))).toBe('h2');
    await expect((async () => harnesses[1]!.runScript('return 1'))()).rejects.toThrow(/closed/u);
  });

  it('reports on its pool and its compiler', async () => {
    const harness = openHarness({ tools: sampleTools().tools, workers: { size: 1 } });
    expect(harness.stats()).toMatchObject({
      sandbox: { completed: 0, running: 0, waiting: 0 },
      compiler: { hits: 0, misses: 0 },
    });
    const first = await harness.runScript('return 1');
    const second = await harness.runScript('return 1');
    await harness.runScript('return (');
    expect([first.metadata.cacheHit, second.metadata.cacheHit]).toEqual([false, true]);
    expect(second.metadata.compilationCacheHit).toBe(true);
    expect(harness.stats()).toMatchObject({
      sandbox: { workers: 1, completed: 2, running: 0, waiting: 0 },
      compiler: { hits: 1, misses: 2 },
    });
  });

  it('that is closed ends running work at once, and accepts nothing more', async () => {
    const { tools, deeds, started } = sampleTools();
    const harness = createHarness({ tools });
    const running = [
      harness.runScript('await tools.wait({ ms: 60_000 })'),
      harness.runScript('while(true){}'),
      harness.runScript('await sleep(60_000)'),
    ];
    await started('wait');
    await harness.close();
    const codes = (await Promise.all(running)).map((outcome) => failureOf(outcome).code);
    expect(codes).toEqual(['ScriptCancelledError', 'ScriptCancelledError', 'ScriptCancelledError']);
    expect(deeds.filter(({ what }) => what === 'aborted')).toHaveLength(1);
    await harness.close();
    await expect((async () => harness.runScript('return 1'))()).rejects.toThrow(/closed/u);
    expect(() => harness.processText('x')).toThrow(/closed/u);
    await expect(harness.callTool('echo', { value: 1 })).rejects.toThrow(/closed/u);
  });

  it('that is closed ends detached tasks, too', async () => {
    const { tools, deeds } = sampleTools();
    const harness = createHarness({ tools, expose: { spawn: true } });
    expect(valueOf(await harness.runScript('return tools.spawn.exec("wait", { ms: 60_000 }).id'))).toEqual(
      expect.any(String),
    );
    expect(deeds.map(({ what }) => what)).toEqual(['started']);
    await harness.close();
    expect(deeds.map(({ what }) => what)).toEqual(['started', 'aborted']);
  });

  it('that is closed before its first script leaves nothing open', async () => {
    const harness = createHarness({ tools: [] });
    await harness.close();
    const busy = createHarness({ tools: [] });
    const running = busy.runScript('return 1');
    await busy.close();
    expect((await running).status).toMatch(/completed|failed/u);
  });
});
