import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { describe, expect, it } from 'vitest';
import { DetachedTasks } from '#core/run/detached-tasks.js';
import { createHarness, defineTool, type HarnessOptions } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { collect, failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

interface Report {
  id: string;
  tool: string;
  status: string;
  scriptId: string;
  input: unknown;
  startedAtMs: number;
  durationMs: number;
  output: string;
  outputTruncated: boolean;
  result?: unknown;
  error?: { code: string; message: string };
}

const speaker = (until: Promise<unknown> = Promise.resolve()) =>
  defineTool({
    name: 'speak',
    description: 'Tells its progress, line by line',
    effect: 'read',
    input: z.object({ lines: z.number(), width: z.number().default(1) }),
    execute: async ({ lines, width }, { progress }) => {
      for (let line = 0; line < lines; line++) progress(`${line} ${'x'.repeat(width)}`);
      await until;
      return { lines };
    },
  });

/** A harness whose scripts may detach tasks, with short functions that query it. */
function open(options: Partial<HarnessOptions> = {}) {
  const sample = sampleTools();
  const harness = openHarness({
    typecheck: 'off',
    approvals: 'deny',
    ...options,
    tools: [...sample.tools, ...(options.tools ?? [])],
    expose: { spawn: true },
  });
  const value = async (source: string, principal?: string) =>
    valueOf(await harness.runScript(source, principal === undefined ? {} : { principal }));
  const spawn = (call: string, principal?: string) =>
    value(`return tools.spawn.exec(${call}).id`, principal) as Promise<string>;
  const read = (id: string) => value(`return await tools.spawn.read(${JSON.stringify(id)})`) as Promise<Report>;
  const wait = (id: string) => value(`return await tools.spawn.wait(${JSON.stringify(id)})`) as Promise<Report>;
  const list = (principal?: string) => value('return await tools.spawn.list()', principal) as Promise<Report[]>;
  const cancel = (id: string) => value(`return await tools.spawn.cancel(${JSON.stringify(id)})`) as Promise<boolean>;
  return { ...sample, harness, value, spawn, read, wait, list, cancel };
}

describe('a detached task', () => {
  it('is listed and read by a later script, while it runs and when it has ended', async () => {
    let release = () => {};
    const { spawn, list, read, wait } = open({
      tools: [speaker(new Promise<void>((resolve) => (release = resolve)))],
    });
    const before = Date.now();
    const id = await spawn('"speak", { lines: 2 }');
    const [listed, ...others] = await list();
    expect(others).toEqual([]);
    expect(listed).toEqual({
      id,
      tool: 'speak',
      status: 'running',
      startedAtMs: expect.any(Number) as unknown,
      durationMs: expect.any(Number) as unknown,
    });
    expect(listed!.startedAtMs).toBeGreaterThanOrEqual(before);
    expect(await read(id)).toMatchObject({
      status: 'running',
      input: { lines: 2 },
      output: '0 x\n1 x\n',
      outputTruncated: false,
    });
    const waiting = wait(id);
    release();
    const ended = await waiting;
    expect(ended).toMatchObject({ id, status: 'completed', result: { lines: 2 }, output: '0 x\n1 x\n' });
    expect(ended.error).toBeUndefined();
    const again = await read(id);
    expect(again).toEqual(ended);
    expect(await wait(id)).toEqual(ended);
  });

  it('has a unique id', async () => {
    const { spawn, value } = open();
    const ids = [
      await spawn('"echo", { value: 1 }'),
      await spawn('"echo", { value: 1 }'),
      ...((await value(
        'return [1, 2].map((value) => tools.spawn.exec("echo", { value }).id).concat(context.scriptId)',
      )) as string[]),
    ];
    expect(new Set(ids).size).toBe(5);
    expect(ids[3]!.startsWith(`task_${ids[4]}_`)).toBe(true);
  });

  it('has the id of its handle, even if reading its name makes calls', async () => {
    const { value } = open();
    const source = `const name = { toString() { tools.echo({ value: 0 }).catch(() => {}); return "echo" } };
      const task = tools.spawn.exec(name, { value: "mine" });
      return [await task.done, (await tools.spawn.wait(task.id)).result]`;
    expect(await value(source)).toEqual(['mine', 'mine']);
  });

  it('is cancelled by a later script, and reports it when its tool has stopped', async () => {
    const { spawn, wait, cancel, deeds } = open();
    const id = await spawn('"wait", { ms: 60_000 }');
    expect(await cancel(id)).toBe(true);
    expect(await wait(id)).toMatchObject({
      status: 'cancelled',
      error: { code: 'ToolExecutionError', message: expect.stringContaining('cancelled') as unknown },
    });
    expect(deeds.map(({ what }) => what)).toEqual(['started', 'aborted']);
    expect(await cancel(id)).toBe(false);
  });

  it('runs until its tool has stopped, whatever was requested', async () => {
    const { spawn, read, wait, cancel, release } = open();
    const id = await spawn('"hold"');
    expect(await cancel(id)).toBe(true);
    expect((await read(id)).status).toBe('running');
    release();
    expect((await wait(id)).status).toBe('completed');
  });

  it('that could not start, or failed, reports why', async () => {
    const { value } = open();
    const calls = ['"nope"', '"add", { a: "x" }', '"fail", { message: "broken" }', '"write", { path: "x" }'];
    const source = `const tasks = [${calls.map((call) => `tools.spawn.exec(${call})`).join()}];
      for (const { done } of tasks) await done.catch(() => {});
      return await Promise.all(tasks.map(({ id }) => tools.spawn.wait(id)))`;
    const reports = (await value(source)) as Report[];
    expect(reports.map(({ status, error }) => [status, error?.code])).toEqual([
      ['failed', 'ToolNotFoundError'],
      ['failed', 'ToolValidationError'],
      ['failed', 'ToolExecutionError'],
      ['failed', 'ApprovalDeniedError'],
    ]);
    expect(reports[2]!.error!.message).toBe('broken');
  });

  it('whose handle lost a race continues', async () => {
    const { value, list, deeds } = open();
    expect(
      await value(
        'return await Promise.race([tools.spawn.exec("wait", { ms: 60_000 }).done, sleep(20).then(() => "late")])',
      ),
    ).toBe('late');
    await value('await Promise.race([tools.spawn.exec("wait", { ms: 60_000 }).done, sleep(1)]); await sleep(20)');
    expect((await list()).map(({ status }) => status)).toEqual(['running', 'running']);
    expect(deeds.map(({ what }) => what)).not.toContain('aborted');
  });

  it('waits for its approval after its script, and runs then', async () => {
    let approve = () => {};
    const asked = new Promise<void>((resolve) => (approve = resolve));
    const { harness, wait } = open();
    const approvals = async () => {
      await asked;
      return { decision: 'approve' as const };
    };
    const outcome = await harness.runScript('return tools.spawn.exec("write", { path: "x" }).id', { approvals });
    const id = valueOf(outcome) as string;
    const waiting = wait(id);
    approve();
    expect(await waiting).toMatchObject({ status: 'completed', result: { path: 'x', bytes: 0 } });
  });
});

describe('the output of a task', () => {
  it('keeps the last 65 536 characters, in whole lines', async () => {
    const { spawn, wait } = open({ tools: [speaker()] });
    const report = await wait(await spawn('"speak", { lines: 1_000, width: 996 }'));
    expect(report.outputTruncated).toBe(true);
    expect(report.output.length).toBeLessThanOrEqual(65_536);
    expect(report.output.length).toBeGreaterThan(64_000);
    expect(report.output).toMatch(/^9\d\d x+\n/u);
    expect(report.output.trimEnd().split('\n').at(-1)).toMatch(/^999 x+$/u);
  });
});

describe('the tasks that a script sees', () => {
  it('are those of its principal', async () => {
    const { spawn, list, value } = open();
    const [anonymous, hers] = [await spawn('"echo", { value: 1 }'), await spawn('"wait", { ms: 60_000 }', 'her')];
    expect((await list()).map(({ id }) => id)).toEqual([anonymous]);
    expect((await list('her')).map(({ id }) => id)).toEqual([hers]);
    expect(await list('him')).toEqual([]);
    const others = `const id = ${JSON.stringify(hers)};
      const said = [];
      for (const ask of ["read", "wait"]) said.push(await tools.spawn[ask](id).catch(({ name }) => name));
      return [...said, await tools.spawn.cancel(id)]`;
    expect(await value(others, 'him')).toEqual(['ToolNotFoundError', 'ToolNotFoundError', false]);
    expect(await value(`return (await tools.spawn.read(${JSON.stringify(hers)})).status`, 'her')).toBe('running');
  });

  it('are listed without a tool call', async () => {
    const { harness } = open();
    const outcome = await harness.runScript('return [await tools.spawn.list(), await tools.spawn.cancel("x")]', {
      limits: { maxToolCalls: 1 },
    });
    expect(valueOf(outcome)).toEqual([[], false]);
    expect(outcome).toMatchObject({ operations: [], plan: [], metadata: { toolCallsMade: 0 } });
  });

  it('do not include an unknown id, and the error names the list', async () => {
    const { harness } = open();
    for (const id of ['"task_1"', '""', '{}', '"x".repeat(1_000)', 'undefined']) {
      const failure = failureOf(await harness.runScript(`return await tools.spawn.read(${id})`));
      expect(failure).toMatchObject({ code: 'ToolNotFoundError' });
      expect(failure.message).toMatch(/^There is no task ".{0,81}".*tools\.spawn\.list\(\)/su);
    }
  });

  it('are the running ones and the last 100 that ended', async () => {
    const { spawn, value, list } = open({ limits: { maxToolCalls: 60 } });
    const running = await spawn('"wait", { ms: 60_000 }');
    const source =
      'const tasks = Array.from({ length: 60 }, (_, value) => tools.spawn.exec("echo", { value })); for (const { done } of tasks) await done';
    for (let round = 0; round < 2; round++) await value(source);
    const listed = await list();
    expect(listed).toHaveLength(101);
    expect(listed[0]!.id).toBe(running);
    const [oldest, latest] = [listed[1]!.id, listed.at(-1)!.id];
    const results = `return await Promise.all([${JSON.stringify([oldest, latest])}].flat().map(async (id) => (await tools.spawn.read(id)).result))`;
    expect(await value(results)).toEqual([20, 59]);
  });

  it('that ended have a maximum total size', async () => {
    const large = defineTool({
      name: 'large',
      description: 'Gives a long text',
      effect: 'read',
      execute: () => 'x'.repeat(900_000),
    });
    const { value, list } = open({ tools: [large] });
    for (let round = 0; round < 4; round++)
      await value('for (let i = 0; i < 6; i++) await tools.spawn.exec("large").done');
    const kept = (await list()).length;
    expect(kept).toBeGreaterThan(10);
    expect(kept).toBeLessThan(20);
  });
});

describe('a wait for a task', () => {
  it('that loses its race is dropped', async () => {
    const { spawn, value, read } = open();
    const id = await spawn('"wait", { ms: 60_000 }');
    const source = `return await Promise.race([tools.spawn.wait("${id}"), sleep(5).then(() => "late")])`;
    expect(await value(source)).toBe('late');
    expect(await value(`await Promise.race([tools.spawn.wait("${id}"), sleep(1)]); await sleep(5); return 1`)).toBe(1);
    expect((await read(id)).status).toBe('running');
  });

  it('counts against the clock of the script', async () => {
    const { harness, spawn } = open();
    const id = await spawn('"wait", { ms: 60_000 }');
    const outcome = await harness.runScript(`return await tools.spawn.wait("${id}")`, { limits: { timeoutMs: 100 } });
    expect(failureOf(outcome).code).toBe('ScriptTimeoutError');
  });
});

describe('the end of a task after its script', () => {
  const doneEvents = (events: readonly StreamEvent[]) =>
    events.flatMap(({ payload }) => (payload.type === 'tool_call_done' ? [payload.operation] : []));

  it('is reported to the listeners of its run', async () => {
    const events: StreamEvent[] = [];
    const { harness, wait } = open();
    const outcome = await harness.runScript(
      'return [tools.spawn.exec("wait", { ms: 50 }).id, tools.spawn.exec("fail", { message: "broken" }).id]',
      { onEvent: (event) => events.push(event) },
    );
    expect(outcome.operations.map(({ status }) => status)).toContain('detached');
    for (const id of valueOf(outcome) as string[]) await wait(id);
    expect(doneEvents(events).map(({ tool, status }) => [tool, status])).toEqual([
      ['fail', 'failed'],
      ['wait', 'completed'],
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  });

  it('comes after the events of an answer, and changes nothing in its response', async () => {
    const events: StreamEvent[] = [];
    const { harness, list } = open({ onEvent: (event) => events.push(event) });
    const told = await collect(
      harness.processText('<tool-calls>return tools.spawn.exec("wait", { ms: 50, value: 7 }).id</tool-calls>'),
    );
    expect(doneEvents(told)).toEqual([]);
    const { run_id: run } = told[0]!;
    await expect.poll(async () => (await list())[0]!.status).toBe('completed');
    const ofRun = events.filter(({ run_id }) => run_id === run);
    expect(doneEvents(ofRun)).toMatchObject([{ tool: 'wait', status: 'completed', result: 7 }]);
    expect(foldResponse(ofRun).output_items).toEqual(foldResponse(told).output_items);
  });
});

describe('a task of a script that is run a second time', () => {
  it('replaces the first, which is cancelled and reports nothing more', () => {
    const tasks = new DetachedTasks().of('her');
    const reasons: string[] = [];
    const start = { id: 'task_s_0', tool: 'echo', scriptId: 's', inputJson: '{}' };
    const first = tasks.open({ ...start, abort: (reason) => reasons.push(reason) });
    const second = tasks.open({ ...start, abort: () => expect.fail('the second was aborted') });
    expect(reasons).toHaveLength(1);
    first.addProgress('old');
    first.rejected({ code: 'ToolExecutionError', message: 'aborted' });
    const operation = { callId: 'c', tool: 'echo', input: {}, effect: 'read', startedAtMs: 0, durationMs: 0 } as const;
    first.ended({ ...operation, status: 'aborted' });
    expect(tasks.list()).toMatchObject([{ id: start.id, status: 'queued' }]);
    second.addProgress('new');
    second.ended({ ...operation, status: 'completed', result: 1 });
    second.ended({ ...operation, status: 'failed' });
    expect(tasks.read(start.id)).toMatchObject({ status: 'completed', result: 1, output: 'new\n' });
  });

  it('stays readable when the first is forgotten', () => {
    const tasks = new DetachedTasks().of('her');
    const operation = { callId: 'c', tool: 'echo', input: {}, effect: 'read', startedAtMs: 0, durationMs: 0 } as const;
    const open = (id: string) => tasks.open({ id, tool: 'echo', scriptId: 's', inputJson: '{}', abort: () => {} });
    const first = open('task_s_0');
    open('task_s_0');
    first.ended({ ...operation, status: 'aborted' });
    for (let index = 1; index <= 100; index++) open(`task_s_${index}`).ended({ ...operation, status: 'completed' });
    expect(tasks.read('task_s_0')).toMatchObject({ status: 'queued' });
    open('task_s_101').ended({ ...operation, status: 'completed' });
    expect(tasks.read('task_s_1')).toBeUndefined();
  });
});

describe('the output of a task', () => {
  const operation = { callId: 'c', tool: 'echo', input: {}, effect: 'read', startedAtMs: 0, durationMs: 0 } as const;
  const start = { id: 'task_s_0', tool: 'echo', scriptId: 's', inputJson: '{}', abort: () => {} };

  it('replaces its progress, and nothing is added to it after the end', () => {
    const tasks = new DetachedTasks().of('her');
    const task = tasks.open(start);
    task.addProgress('half');
    expect(tasks.read(start.id)?.output).toBe('half\n');
    task.addOutput('one ');
    task.addProgress('most');
    task.addOutput('two');
    expect(tasks.read(start.id)?.output).toBe('one two');
    task.ended({ ...operation, status: 'completed', result: 1 });
    task.addOutput(' three');
    expect(tasks.read(start.id)?.output).toBe('one two');
  });

  it('is its progress as long as it has no output, and has none after the end', () => {
    const tasks = new DetachedTasks().of('her');
    const task = tasks.open(start);
    task.ended({ ...operation, status: 'completed', result: 1 });
    task.addProgress('late');
    task.setStatus('running');
    expect(tasks.read(start.id)).toMatchObject({ status: 'completed', output: '' });
  });
});

describe('the text for a model', () => {
  it('mentions detached tasks if they exist, with declared types', async () => {
    const { harness } = open();
    expect(harness.instructions()).toContain('tools.spawn.exec');
    expect(openHarness({ tools: sampleTools().tools }).instructions()).not.toContain('spawn');
    const checked = openHarness({ tools: sampleTools().tools, expose: { spawn: true } });
    const source = `const { id, done, cancel } = tools.spawn.exec('echo', { value: 1 });
      await done;
      const was: boolean = await cancel();
      const states = (await tools.spawn.list()).map(({ status }) => status === 'running');
      const { output, result, error } = await tools.spawn.read(id);
      return [was, states, output.length, result, error?.message ?? null, (await tools.spawn.wait(id)).outputTruncated];`;
    expect(valueOf(await checked.runScript(source))).toEqual([false, [false], 0, 1, null, false]);
    for (const wrong of [
      'await tools.spawn.read(1)',
      'await tools.spawn.lst()',
      '(await tools.spawn.read("x")).stdout',
    ])
      expect(failureOf(await checked.runScript(`return ${wrong}`)).code).toBe('ScriptTypeError');
  });
});

describe('a harness that is closed', () => {
  it('aborts the tasks of ended and running scripts', async () => {
    const { tools, deeds } = sampleTools();
    const harness = createHarness({ tools, expose: { spawn: true }, typecheck: 'off' });
    await harness.runScript('return tools.spawn.exec("wait", { ms: 60_000 }).id');
    const running = harness.runScript('tools.spawn.exec("send", { ms: 60_000 }); await sleep(60_000)');
    while (deeds.length < 2) await delay(2);
    await harness.close();
    expect(failureOf(await running).code).toBe('ScriptCancelledError');
    expect(deeds.filter(({ what }) => what === 'aborted')).toHaveLength(2);
  });
});
