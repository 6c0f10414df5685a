import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms({ typecheck: 'off', limits: { computeMs: 2_000 } })));

const start = () => new Conversation(harness);

describe('the variables of a program', () => {
  it('are read and written by later scripts: variables, functions and classes', async () => {
    const talk = start();
    await talk.run(`let rows = [1]; const count = () => rows.length; function add(n) { rows.push(n); return rows }
      class Sum { #total = 0; add(n) { this.#total += n; return this.#total } } const sum = new Sum(); sum.add(2)`);
    expect(await talk.value(`rows = [...rows, 2]; add(3); return [rows, count(), sum.add(3)]`)).toEqual([
      [1, 2, 3],
      3,
      5,
    ]);
    expect(await talk.value(`return rows`)).toEqual([1, 2, 3]);
  });

  it('include each `var` in a block that has a value, and no other names of blocks', async () => {
    const talk = start();
    await talk.run(`var late = 'before'; if (true) { var [a, { b = 2 }] = [1, {}]; let inner = 3; function own() {} }
      for (var i = 0; i < 3; i++) { try { throw 0 } catch { var c = i } finally { var d = 4 } }
      for (var key in { x: 1 }) label: { switch (key) { default: var e = key } }
      for (var of of [5]) while (true) { do { var g = of } while (false); break }
      if (false) { var never = 1 } else { var late }
      function f() { var local = 1 } class K { static { var block = 1 } }
      const getD = () => d;`);
    const names = 'late,a,b,inner,own,i,c,d,key,e,of,g,never,local,block'.split(',');
    const read = names.map((name) => `typeof ${name} === 'undefined' ? null : ${name}`).join();
    const none = null;
    const values = ['before', 1, 2, none, none, 3, 2, 4, 'x', 'x', 5, 5, none, none, none];
    expect(await talk.value(`return [${read}]`)).toEqual(values);
    expect(await talk.value(`d = 9; return getD()`)).toBe(9);
  });

  it('of a `var` in a block that did not run are those of earlier scripts', async () => {
    const talk = start();
    await talk.run(`const rows = [1]`);
    await talk.run(`if (false) { var rows = [2] }`);
    expect(await talk.value(`return rows`)).toEqual([1]);
  });

  it('of `using` are disposed at the end of their script, and are not kept', async () => {
    const talk = start();
    const end = await talk.run(`const seen = []; using file = { [Symbol.dispose]() { seen.push('disposed') } };
      await using socket = { async [Symbol.asyncDispose]() { seen.push('closed') } };
      const isOpen = () => file !== undefined;`);
    expect(end.scope?.map(({ name }) => name)).toEqual(['seen', 'isOpen']);
    expect(await talk.value(`return [seen, typeof file, typeof socket, isOpen()]`)).toEqual([
      ['closed', 'disposed'],
      'undefined',
      'undefined',
      true,
    ]);
  });

  it('keep their constants constant', async () => {
    const talk = start();
    await talk.run(`const fixed = 1`);
    expect(await talk.value(`fixed = 2`)).toContain("'fixed' is a constant of an earlier script");
    expect(await talk.value(`return fixed`)).toBe(1);
  });

  it('hold values that JSON cannot: maps, generators, symbols, settled promises', async () => {
    const talk = start();
    await talk.run(`const map = new Map([['a', { n: 1 }]]); function* walk() { yield 1; yield 2 } const it = walk(); it.next();
      const key = Symbol('k'); const done = Promise.resolve(7); const re = /a/g; re.test('a'); const big = 2n ** 70n`);
    expect(
      await talk.value(`return [map.get('a').n, [...it], String(key), await done, re.lastIndex, String(big)]`),
    ).toEqual([1, [2], 'Symbol(k)', 7, 1, '1180591620717411303424']);
  });

  it('are new if a script declares their name again, and earlier closures keep the old one', async () => {
    const talk = start();
    await talk.run(`const x = 1; const getX = () => x`);
    await talk.run(`const x = 'two'; const getX2 = () => x`);
    expect(await talk.value(`return [getX(), getX2(), x]`)).toEqual([1, 'two', 'two']);
    await talk.run(`const later = () => x`);
    await talk.run(`const x = 3`);
    expect(await talk.value(`return [later(), x]`)).toEqual(['two', 3]);
  });

  it('stay if their script throws, as far as they were initialised', async () => {
    const talk = start();
    await talk.run(`let rows = [1]`);
    await talk.run(`rows = [1, 2]; const kept = 'kept'; throw new Error('half'); const never = 1`);
    expect(await talk.value(`return [rows, kept, typeof never]`)).toEqual([[1, 2], 'kept', 'undefined']);
    await talk.run(`const kept = (() => { throw new Error('x') })()`);
    expect(await talk.value(`return kept`)).toBe('kept');
  });

  it('are as before a script that a limit ended', async () => {
    const talk = start();
    await talk.run(`const rows = [1]`);
    const before = talk.heap;
    const looped = await talk.run(`rows.push(2); for (;;);`);
    expect([looped.error?.code, looped.heap]).toEqual(['ScriptTimeoutError', before]);
    expect(looped.diagnostics.map(({ code }) => code)).toContain('variables-restored');
    const filled = await talk.run(`rows.push(2); const all = []; for (;;) all.push(new Array(1000).fill(1.5))`, {
      limits: { computeMs: 30_000, memoryMb: 16 },
    });
    expect([filled.error?.code, filled.heap]).toEqual(['ScriptMemoryError', before]);
    expect(await talk.value(`return rows`)).toEqual([1]);
  });

  it('are as before a script that was cancelled', async () => {
    const talk = start();
    await talk.run(`const rows = [1]`);
    const before = talk.heap;
    const cancel = new AbortController();
    const running = talk.run(`rows.push(2); text('on'); await sleep(600_000)`, {
      signal: cancel.signal,
      limits: { timeoutMs: 900_000 },
      onEvent: ({ payload }) => payload.type === 'script_log' && cancel.abort(),
    });
    setImmediate(() => cancel.abort());
    expect((await running).error?.code).toBe('ScriptCancelledError');
    expect([talk.heap, await talk.value(`return rows`)]).toEqual([before, [1]]);
  });

  it('are those of the heap from which a script starts, so a conversation can branch', async () => {
    const talk = start();
    await talk.run(`const rows = [1]`);
    const fork = talk.fork();
    await fork.run(`rows.push('fork')`);
    await talk.run(`rows.push('main')`);
    expect([await fork.value(`return rows`), await talk.value(`return rows`)]).toEqual([
      [1, 'fork'],
      [1, 'main'],
    ]);
  });

  it('do not include the names of globals, of tools and of the context', async () => {
    const talk = start();
    await talk.run(
      `const tools = { fake: 1 }; const JSON = { stringify: () => 'poison' }; const Math = 1; const context = 2; const ok = 1`,
    );
    expect(
      await talk.value(
        `return [typeof Math, JSON.stringify([1]), await tools.math.double({ n: 2 }), typeof context, ok]`,
      ),
    ).toEqual(['object', '[1]', 4, 'object', 1]);
  });

  it('of a script without a heap are a new program', async () => {
    const talk = start();
    await talk.run(`const rows = [1]`);
    talk.heap = undefined;
    const fresh = await talk.run(`return typeof rows`);
    expect([fresh.value, fresh.heap !== undefined]).toEqual(['undefined', true]);
  });

  it('are kept through many scripts, in memory that stays small', async () => {
    const talk = start();
    await talk.run(`let count = 0; const seen = []`);
    for (let index = 0; index < 40; index++) await talk.run(`count++; seen.push(${index})`);
    expect(await talk.value(`return [count, seen.length, seen.at(-1)]`)).toEqual([40, 40, 39]);
  });
});

describe('a script that has ended', () => {
  it('leaves no call and no timer that a later script could receive', async () => {
    const talk = start();
    await talk.run(`let ticks = 0; const held = { slow: tools.math.double({ n: 1 }) };
      const loop = async () => { for (;;) { await sleep(1); ticks++; await tools.math.double({ n: ticks }) } };
      void loop(); setTimeout(() => { ticks += 100 }, 1); setInterval(() => { ticks += 1000 }, 1); return 1`);
    const next = await talk.run(`await sleep(30); return ticks`);
    expect([next.value, next.operations.length]).toEqual([0, 0]);
    expect(await talk.value(`return await held.slow`)).toContain('ScriptRuntimeError');
    expect(await talk.value(`return await tools.math.double({ n: 4 })`)).toBe(8);
  });

  it('has its own limits of calls, output and console lines', async () => {
    const talk = start();
    const limits = { maxToolCalls: 1, maxReturnBytes: 100 };
    const one = `text('x'.repeat(90)); return await tools.math.double({ n: 1 })`;
    expect([await talk.value(one, { limits }), await talk.value(one, { limits })]).toEqual([2, 2]);
    expect(talk.last?.output).toBe('x'.repeat(90));
  });

  it('may be followed by one with other tools, which closures of earlier scripts see too', async () => {
    const talk = start();
    await talk.run(`const call = (n) => tools.math.double({ n }); const first = await call(1)`);
    const [double] = harness.tools();
    harness.tools.remove(['math.double']);
    const gone = await talk.value(`return await call(2)`);
    harness.tools.add([double!]);
    expect([gone, await talk.value(`return await call(3)`)]).toEqual([expect.stringContaining('ToolNotFoundError'), 6]);
  });
});
