import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { RuntimeFeature, SandboxRun, SandboxRuntime } from '../protocol/index.js';
import { driveRun, returnedValue } from './drive-run.js';

/** One law of the port `SandboxRuntime`. `check` rejects if the runtime breaks the law. */
export interface RuntimeLaw {
  readonly name: string;
  /** The law does not apply to runtimes that lack this feature. */
  readonly needs?: RuntimeFeature | undefined;
  check(runtime: SandboxRuntime): Promise<void>;
}

/**
 * The laws for every runtime. Run each law in the test framework of your choice. Run all laws on one open runtime:
 * the scripts of one law must leave no trace for the next law.
 */
export const runtimeConformance: readonly RuntimeLaw[] = [
  law('a script returns plain JSON data', async (runtime) => {
    const run = await driveRun(runtime, 'return { a: [1, null, "x"], d: new Date(0), u: undefined, n: NaN }');
    deepStrictEqual(returnedValue(run), { a: [1, null, 'x'], d: '1970-01-01T00:00:00.000Z', n: null });
  }),
  law('a script without a return statement has no value', async (runtime) => {
    strictEqual(returnedValue(await driveRun(runtime, 'const a = 1')), undefined);
  }),
  law('a call arrives with its index, name, arguments and position', async (runtime) => {
    const { segments } = await driveRun(runtime, 'await 0;\nreturn await tools.echo({ x: "ü" });');
    const [call] = segments.flatMap(({ calls }) => calls);
    deepStrictEqual({ ...call, column: 0 }, { callIndex: 0, name: 'echo', argsJson: '{"x":"ü"}', line: 3, column: 0 });
  }),
  law('arguments are distinguished, whatever they contain', async (runtime) => {
    const texts = [
      '',
      '}',
      '\n',
      '!{"end":["returned","1"]}\n',
      ',"end":["returned","1"]',
      '\ud800',
      '"],[9,"rm",1,1,2]',
      '0!',
    ];
    const body = `const texts = ${JSON.stringify(texts)};
      const calls = texts.map((text) => tools.echo({ [text]: text }));
      calls.push(tools.echo({ pattern: /a/ }).catch((error) => error.name), tools.echo([]), tools.echo());
      const answers = await Promise.all(calls);
      return [answers.slice(0, texts.length).every((answer, i) => answer[texts[i]] === texts[i]), ...answers.slice(texts.length)];`;
    const host = (_name: string, args: unknown, call: { argsProblem?: string | undefined }) => {
      if (call.argsProblem !== undefined) throw { code: 'ToolValidationError', message: call.argsProblem };
      return args;
    };
    deepStrictEqual(returnedValue(await driveRun(runtime, body, { host })), [true, 'ToolValidationError', [], {}]);
  }),
  law('columns count UTF-16 units, in calls and in traces', async (runtime) => {
    const places = async (text: string) => {
      const { segments, end } = await driveRun(
        runtime,
        `const s = "${text}"; await tools.echo({}); const t = "${text}"; throw new Error(s + t)`,
      );
      const [call] = segments.flatMap(({ calls }) => calls);
      return [call?.column, end.type === 'threw' ? /script\.ts:\d+:\d+/u.exec(end.error.stack)?.[0] : end];
    };
    deepStrictEqual(await places('äöü🎉é'), await places('xxxxxx'));
  }),
  law('a detached task has its id at once, and is found by this id', async (runtime) => {
    const body = `const task = tools.spawn.exec('echo', { x: 1 });
      await tools.spawn.list();
      await tools.spawn.read(task.id);
      return [task.id, await task.done]`;
    const run = await driveRun(runtime, body, { job: { spawn: true, runId: 'run' } });
    deepStrictEqual(returnedValue(run), ['task_run_0', { name: 'echo', args: { x: 1 } }]);
    deepStrictEqual(
      run.segments.flatMap(({ calls }) => calls.map(({ name, argsJson }) => [name, JSON.parse(argsJson)])),
      [
        ['$spawn', { name: 'echo', args: { x: 1 } }],
        ['$tasks', { what: 'list' }],
        ['$tasks', { what: 'read', id: 'task_run_0' }],
      ],
    );
  }),
  law('a result is plain data and the script’s own copy, which it may change', async (runtime) => {
    const body = `const result = await tools.echo({ list: [{ n: 2 }, { n: 1 }], then: 1, constructor: 2 });
      const again = await tools.echo({ list: [{ n: 2 }, { n: 1 }] });
      result.list.sort((a, b) => a.n - b.n).push({ n: 3 });
      result.list[0].rank = 1;
      delete result.then;
      result.constructor++;
      return { result, again }`;
    deepStrictEqual(returnedValue(await driveRun(runtime, body)), {
      result: { list: [{ n: 1, rank: 1 }, { n: 2 }, { n: 3 }], constructor: 3 },
      again: { list: [{ n: 2 }, { n: 1 }] },
    });
  }),
  law('the data of an error is the script’s own copy too', async (runtime) => {
    const host = () => {
      throw { code: 'ToolExecutionError', message: 'no', data: { tried: [1] } };
    };
    const body = 'try { await tools.fail({}) } catch (e) { e.data.tried.push(2); return e.data }';
    deepStrictEqual(returnedValue(await driveRun(runtime, body, { host })), { tried: [1, 2] });
  }),
  law('a stack that the script reads contains the positions to which the job maps', async (runtime) => {
    const job = {
      javascript: '(async()=>{"use strict";\nconst made = new Error("no");\nreturn made.stack;\n})',
      positions: '[[1,40,5],[1,1,-2],[]]',
    };
    deepStrictEqual(returnedValue(await driveRun(runtime, '', { job })), 'Error: no\n    at (script.ts:40:5)');
  }),
  law('the stack of a rejected call has the frames that came with the rejection', async (runtime) => {
    const host = () => {
      throw { code: 'ToolExecutionError', message: 'no', stack: '    at fail (script.ts:3:7)' };
    };
    const body = 'try { await tools.fail({}) } catch (e) { return e.stack }';
    deepStrictEqual(
      returnedValue(await driveRun(runtime, body, { host })),
      'ToolExecutionError: no\n    at fail (script.ts:3:7)',
    );
  }),
  law('a timer is a call to sleep, and a cleared timer does not fire', async (runtime) => {
    const body = `const seen = [];
      setTimeout((value) => seen.push(value), 20, 'fired');
      clearTimeout(setTimeout(() => seen.push('cleared'), 10));
      await tools.echo({});
      return seen`;
    const { end, segments } = await driveRun(runtime, body);
    deepStrictEqual(returnedValue({ end, segments }), ['fired']);
    deepStrictEqual(
      segments[0]?.calls.map(({ name, argsJson }) => [name, JSON.parse(argsJson)]),
      [
        ['$sleep', { ms: 20, timer: true }],
        ['$sleep', { ms: 10, timer: true }],
        ['echo', {}],
      ],
    );
  }),
  law(
    'the sleep of a cleared timer is reported as unobservable',
    async (runtime) => {
      const body = 'clearTimeout(setTimeout(() => {}, 10)); await tools.echo({}); return 1';
      const { segments } = await driveRun(runtime, body);
      deepStrictEqual(segments[0]?.unobservable, [0]);
    },
    { needs: 'lost-races' },
  ),
  law('a __proto__ key crosses as data, both ways', async (runtime) => {
    const body =
      'const sent = JSON.parse(\'{"__proto__":{"a":1}}\'); const r = await tools.echo(sent); return [Object.keys(r), r.a === undefined]';
    deepStrictEqual(returnedValue(await driveRun(runtime, body)), [['__proto__'], true]);
  }),
  law('a rejection arrives at its own await with its own class', async (runtime) => {
    const host = () => {
      throw { code: 'ApprovalDeniedError', message: 'no', data: { why: 'because' } };
    };
    const body =
      'try { await tools.fail({}) } catch (e) { return [e instanceof ApprovalDeniedError, e instanceof Error, e.name, e.code, e.message, e.data.why] }';
    deepStrictEqual(returnedValue(await driveRun(runtime, body, { host })), [
      true,
      true,
      'ApprovalDeniedError',
      'ApprovalDeniedError',
      'no',
      'because',
    ]);
  }),
  law('calls of one tick arrive in one segment, in order', async (runtime) => {
    const { segments } = await driveRun(runtime, 'return await Promise.all([3, 1, 2].map((i) => tools.echo({ i })))');
    deepStrictEqual(
      segments[0]?.calls.map(({ argsJson }) => argsJson),
      ['{"i":3}', '{"i":1}', '{"i":2}'],
    );
  }),
  law('calls may be settled in any order and in any batches', async (runtime) => {
    const host = async (_name: string, args: unknown) => {
      await delay((args as { ms: number }).ms);
      return args;
    };
    const body = 'return (await Promise.all([9, 1, 5].map((ms) => tools.echo({ ms })))).map((r) => r.ms)';
    deepStrictEqual(returnedValue(await driveRun(runtime, body, { host })), [9, 1, 5]);
  }),
  law('a script sees nothing of the previous script', async (runtime) => {
    await driveRun(
      runtime,
      'globalThis.left = 1; try { Object.prototype.left = 1 } catch {} try { Array.prototype.left = 1 } catch {} console.log("x".repeat(5000)); return 1',
    );
    const body = 'return [typeof left, ({}).left === undefined, [].left === undefined, Object.keys(globalThis).length]';
    deepStrictEqual(returnedValue(await driveRun(runtime, body)), ['undefined', true, true, 0]);
  }),
  law('the clock is the host’s and does not advance within a segment', async (runtime) => {
    const body =
      'const a = Date.now(); let n = 0; for (let i = 0; i < 200000; i++) n += i; return [a, Date.now() - a, new Date().toISOString()]';
    deepStrictEqual(returnedValue(await driveRun(runtime, body, { job: { clockMs: 1_600_000_000_000 } })), [
      1_600_000_000_000,
      0,
      '2020-09-13T12:26:40.000Z',
    ]);
  }),
  law('random numbers come from the seed alone', async (runtime) => {
    const numbers = async (seed: readonly [number, number, number, number]) =>
      returnedValue(await driveRun(runtime, 'return [Math.random(), Math.random(), Math.random()]', { job: { seed } }));
    const first = (await numbers([5, 6, 7, 8])) as number[];
    deepStrictEqual(await numbers([5, 6, 7, 8]), first);
    ok(JSON.stringify(await numbers([5, 6, 7, 9])) !== JSON.stringify(first));
    ok(first.every((number) => number >= 0 && number < 1));
  }),
  law('the same settlements give the same segments', async (runtime) => {
    const body = `const seen = []; class Box { #n = 0; add(k) { return (this.#n += k) } } const box = new Box();
      for (let i = 0; i < 20; i++) { const r = await Promise.race([tools.echo({ i, r: Math.random() }), tools.echo({ j: i })]); seen.push(r, box.add(i)); console.log(i) }
      return seen`;
    const [one, two] = [await driveRun(runtime, body), await driveRun(runtime, body)];
    const essence = ({ segments }: typeof one) => segments.map(({ calls, logs, end }) => ({ calls, logs, end }));
    deepStrictEqual(essence(two), essence(one));
  }),
  law('a script that computes too long ends at its compute limit', async (runtime) => {
    const { end } = await driveRun(runtime, 'while (true) {}', { limits: { computeMs: 100 } });
    deepStrictEqual(end, { type: 'limit', limit: 'compute' });
    await answersNext(runtime);
  }),
  law('a flood of microtasks ends at the compute limit', async (runtime) => {
    const { end } = await driveRun(
      runtime,
      'const again = () => Promise.resolve().then(again); await again(); await new Promise(() => {})',
      { limits: { computeMs: 100 } },
    );
    deepStrictEqual(end, { type: 'limit', limit: 'compute' });
    await answersNext(runtime);
  }),
  law('a segment ends at its wall time', async (runtime) => {
    const { end } = await driveRun(runtime, 'while (true) {}', { wallMs: 100 });
    deepStrictEqual(end, { type: 'limit', limit: 'wall' });
  }),
  law('a script that needs too much memory ends at its memory limit', async (runtime) => {
    const { end } = await driveRun(runtime, 'const all = []; for (;;) all.push("x".repeat(100000) + all.length)', {
      // A garbage collector may use much CPU time before it gives up.
      limits: { memoryMb: 16, computeMs: 60_000 },
      wallMs: 60_000,
    });
    ok(end.type === 'limit' && end.limit === 'memory', JSON.stringify(end));
    await answersNext(runtime);
  }),
  law('too deep a recursion can be caught; if uncaught, it ends the script at the stack limit', async (runtime) => {
    strictEqual(
      returnedValue(
        await driveRun(runtime, 'const f = () => f() + 1; try { f() } catch (e) { return e instanceof RangeError }'),
      ),
      true,
    );
    const { end } = await driveRun(runtime, 'const f = () => f() + 1; f()');
    ok(end.type === 'limit' && end.limit === 'stack', JSON.stringify(end));
    await answersNext(runtime);
  }),
  law('a script’s claims about its error decide nothing', async (runtime) => {
    for (const name of ['ScriptMemoryError', 'InternalError', 'ToolExecutionError', 'RangeError']) {
      const message = name === 'RangeError' ? 'Maximum call stack size exceeded' : 'out of memory';
      const { end } = await driveRun(
        runtime,
        `throw Object.assign(new Error(${JSON.stringify(message)}), { name: ${JSON.stringify(name)}, code: 'ScriptTimeoutError', status: 'completed' })`,
      );
      ok(
        end.type === 'threw' && end.error.code === undefined && end.error.callIndex === undefined,
        JSON.stringify(end),
      );
    }
  }),
  law('an uncaught rejection of a call is traced to that call', async (runtime) => {
    const host = (name: string) => {
      if (name === 'fail') throw { code: 'ToolExecutionError', message: 'broken' };
      return 1;
    };
    const { end } = await driveRun(runtime, 'await tools.echo({}); await tools.fail({})', { host });
    ok(end.type === 'threw' && end.error.callIndex === 1, JSON.stringify(end));
  }),
  law('an unknown tool throws at once, and the error names the nearest tool', async (runtime) => {
    const { end, segments } = await driveRun(runtime, 'tools.ecko({})');
    ok(
      end.type === 'threw' && end.error.code === 'ToolNotFoundError' && end.error.message.includes('echo'),
      JSON.stringify(end),
    );
    strictEqual(segments.length, 1);
  }),
  law('a script that waits for nothing has stalled', async (runtime) => {
    deepStrictEqual((await driveRun(runtime, 'await new Promise(() => {})')).end, { type: 'stalled' });
  }),
  law('a value that JSON cannot represent is reported with its path', async (runtime) => {
    const { end } = await driveRun(runtime, 'return { a: [1, { b: new WeakMap() }] }');
    ok(end.type === 'unserializable' && end.path === 'value.a[1].b', JSON.stringify(end));
  }),
  law('a value that is too large is rejected with its size', async (runtime) => {
    const { end } = await driveRun(runtime, 'return { small: 1, big: "ü".repeat(1000) }', {
      limits: { maxReturnBytes: 1000 },
    });
    ok(
      end.type === 'return_too_large' && end.bytes > 2000 && end.largestKeys[0]!.startsWith('big'),
      JSON.stringify(end),
    );
  }),
  law('unhandled rejections are reported', async (runtime) => {
    const { end } = await driveRun(
      runtime,
      'Promise.reject(new Error("lost")); const handled = Promise.reject(1); handled.catch(() => {}); return 1',
    );
    ok(
      end.type === 'returned' && end.unhandled.length === 1 && end.unhandled[0]!.message === 'lost',
      JSON.stringify(end),
    );
    const stalled = (await driveRun(runtime, 'Promise.reject(new Error("lost")); await new Promise(() => {})')).end;
    ok(stalled.type === 'stalled' && stalled.unhandled?.[0]?.message === 'lost', JSON.stringify(stalled));
  }),
  law('console, text and progress are reported in order', async (runtime) => {
    const { segments } = await driveRun(
      runtime,
      'console.log("a", { b: 1 }); console.warn("w"); text("x"); emit("y"); context.emitProgress("half"); context.telemetry.emitProgress("all", "warn"); return 1',
    );
    const [segment] = segments;
    deepStrictEqual(segment?.logs, [
      { level: 'log', text: 'a { b: 1 }' },
      { level: 'warn', text: 'w' },
    ]);
    strictEqual(segment?.output, 'xy');
    deepStrictEqual(segment?.progress, [
      { message: 'half', kind: 'info' },
      { message: 'all', kind: 'warn' },
    ]);
  }),
  law('a console flood is bounded and counted', async (runtime) => {
    const { segments } = await driveRun(runtime, 'for (let i = 0; i < 1000; i++) console.log(i); return 1', {
      limits: { maxLogEvents: 10 },
    });
    strictEqual(segments.flatMap(({ logs }) => logs).length, 10);
    strictEqual(
      segments.reduce((sum, { dropped }) => sum + dropped.logs, 0),
      990,
    );
  }),
  law('a flood of calls is bounded', async (runtime) => {
    const body =
      'let refused = 0; await Promise.all(Array.from({ length: 50 }, (_, i) => tools.echo({ i }).catch((e) => { if (e instanceof ToolBudgetExceededError) refused++ }))); return refused';
    strictEqual(returnedValue(await driveRun(runtime, body, { limits: { maxCalls: 20 } })), 30);
  }),
  law(
    'a call that lost a race is reported if nothing can observe it',
    async (runtime) => {
      const never = new Promise(() => {});
      const host = (name: string, args: unknown) =>
        (args as { slow?: boolean | undefined }).slow === true ? never : name;
      const { segments } = await driveRun(
        runtime,
        'const r = await Promise.race([tools.echo({ slow: true }), tools.echo({})]); await tools.echo({}); return r',
        { host },
      );
      deepStrictEqual(
        segments.flatMap(({ unobservable }) => unobservable),
        [0],
      );
    },
    { needs: 'lost-races' },
  ),
  law('a call that lost a race is not reported if the script still holds it', async (runtime) => {
    const host = async (_name: string, args: unknown) => {
      if ((args as { slow?: boolean | undefined }).slow === true) await delay(20);
      return args;
    };
    const body =
      'const slow = tools.echo({ slow: true }); await Promise.race([slow, tools.echo({})]); await tools.echo({}); return (await slow).slow';
    const run = await driveRun(runtime, body, { host });
    strictEqual(returnedValue(run), true);
    deepStrictEqual(
      run.segments.flatMap(({ unobservable }) => unobservable),
      [],
    );
  }),
  law('a call whose `then` settles an awaited promise is not reported', async (runtime) => {
    const host = async (_name: string, args: unknown) => {
      await delay((args as { ms: number }).ms);
      return args;
    };
    const body =
      'let done; const first = new Promise((r) => (done = r)); const a = tools.echo({ ms: 5 }).then(done), b = tools.echo({ ms: 40 }).then(done); await first; await tools.echo({ ms: 1 }); await Promise.all([a, b]); return 1';
    const run = await driveRun(runtime, body, { host });
    strictEqual(returnedValue(run), 1);
    deepStrictEqual(
      run.segments.flatMap(({ unobservable }) => unobservable),
      [],
    );
  }),
  law('a function’s name does not change the reported position of a call', async (runtime) => {
    for (const name of [
      'script.ts:007:1',
      'script.ts:1:1',
      'a (script.ts:1:1)',
      'a (script.ts:1:1)\\n    at b',
      '"],[9',
    ]) {
      const body = `Error.stackTraceLimit = 0;\nconst f = () => tools.echo({});\nObject.defineProperty(f, 'name', { value: '${name}' });\nreturn await f();`;
      const { segments } = await driveRun(runtime, body);
      strictEqual(segments.flatMap(({ calls }) => calls)[0]?.line, 3, name);
    }
  }),
  law('a rejection with a value that cannot be inspected is reported without harm', async (runtime) => {
    const revoked = 'const { proxy, revoke } = Proxy.revocable({}, {}); revoke();';
    strictEqual(returnedValue(await driveRun(runtime, `${revoked} Promise.reject(proxy); return 1`)), 1);
    strictEqual((await driveRun(runtime, `${revoked} throw proxy`)).end.type, 'threw');
  }),
  law('a cancelled script stops inside a loop', async (runtime) => {
    let run: SandboxRun | undefined;
    const driven = driveRun(runtime, 'while (true) {}', {
      limits: { computeMs: 60_000 },
      wallMs: 60_000,
      onRun: (started) => (run = started),
    });
    await delay(50);
    run?.cancel('cancelled');
    deepStrictEqual((await driven).end, { type: 'cancelled', reason: 'cancelled' });
    await answersNext(runtime);
  }),
  law('a cancelled script that waits for a call ends, and late settlements are ignored', async (runtime) => {
    let run: SandboxRun | undefined;
    const driven = driveRun(runtime, 'await tools.echo({})', {
      host: () => new Promise(() => {}),
      onRun: (started) => (run = started),
    });
    await delay(50);
    run?.cancel('timeout');
    deepStrictEqual((await driven).end, { type: 'cancelled', reason: 'timeout' });
    run?.settle([{ callIndex: 0, ok: true, json: '1' }], 0, 1_000);
    run?.cancel('cancelled');
    await answersNext(runtime);
  }),
  law('a source that the engine rejects ends as a syntax error', async (runtime) => {
    const { end } = await driveRun(runtime, 'return 1 +');
    strictEqual(end.type, 'syntax');
  }),
  law('a script that waits for its calls does not delay others', async (runtime) => {
    let release: (value: unknown) => void = () => {};
    const gate = new Promise((resolve) => (release = resolve));
    const waiting = Array.from({ length: 20 }, () =>
      driveRun(runtime, 'return await tools.echo({})', { host: () => gate }),
    );
    await answersNext(runtime);
    release('open');
    for (const run of await Promise.all(waiting)) strictEqual(returnedValue(run), 'open');
  }),
];

function law(
  name: string,
  check: (runtime: SandboxRuntime) => Promise<void>,
  needs: { needs?: RuntimeFeature | undefined } = {},
): RuntimeLaw {
  return { name, ...needs, check };
}

async function answersNext(runtime: SandboxRuntime): Promise<void> {
  strictEqual(returnedValue(await driveRun(runtime, 'return 1 + 1')), 2);
}
