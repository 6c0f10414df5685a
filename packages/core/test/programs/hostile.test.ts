import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms({ typecheck: 'off', limits: { computeMs: 2_000 } })));

const start = () => new Conversation(harness);

describe('a hostile script of a program', () => {
  it('runs no trap of its values at its end, and makes no call after it', async () => {
    const talk = start();
    const { operations } =
      await talk.run(`const ok = 1; const boom = () => { void tools.math.double({ n: 666 }); for (;;); };
      const trap = new Proxy([], { get: boom, ownKeys: boom, has: boom, getOwnPropertyDescriptor: boom, getPrototypeOf: boom });
      const getter = { get length() { return boom() }, toJSON: boom, get [Symbol.toStringTag]() { return boom() } }`);
    expect(operations).toEqual([]);
    expect(await talk.value(`return [ok, typeof trap, typeof getter]`)).toEqual([1, 'object', 'object']);
  });

  it('cannot use the names of the machinery, however it writes them', async () => {
    const names = ['$cells', '$celld', '$cellv', '$cell_s', '$cell_d', '\\u0024cells', '$\\u0063elld', '\\u{24}cells'];
    for (const name of names) {
      const talk = start();
      await talk.run(`const ok = 1`);
      expect(await talk.value(`return typeof ${name}`)).toBe('undefined');
      await talk.run(`function ${name}() {} const lost = 1; return 1`);
      expect(await talk.value(`return [typeof lost, ok]`)).toEqual(['number', 1]);
    }
    const talk = start();
    await talk.run(`const ok = 1`);
    expect(await talk.value(`const v = 1; let value = 2; return [v, value]`)).toEqual([1, 2]);
    expect(await talk.value(`value = 3; return [v, value, ok]`)).toEqual([1, 3, 1]);
  });

  it('cannot declare a variable that changes the scope itself', async () => {
    const talk = start();
    await talk.run(`const ok = 1; const __proto__ = { polluted: 1 }; let constructor = 2; const hasOwnProperty = 3`);
    expect(await talk.value(`return [ok, typeof polluted, constructor, hasOwnProperty]`)).toEqual([
      1,
      'undefined',
      2,
      3,
    ]);
    expect(await talk.value(`return [typeof toString, typeof valueOf]`)).toEqual(
      await start().value(`return [typeof toString, typeof valueOf]`),
    );
  });

  it('cannot leave code that runs later: callbacks of collected objects end under a clock', async () => {
    const talk = start();
    await talk.run(`const ok = 1`);
    await talk.run(`if (typeof FinalizationRegistry === 'function') {
      const registry = new FinalizationRegistry(() => { for (;;); });
      for (let i = 0; i < 10; i++) { const cycle = {}; cycle.me = cycle; registry.register(cycle, i) }
    }
    Promise.resolve().then(function again() { return 1 }); const more = new Array(300000).fill(1.5)`);
    expect(await talk.value(`return ok`)).toBe(1);
  });

  it('cannot reach the scope of its program as the receiver of a kept function', async () => {
    const talk = start();
    await talk.run(`function self() { return this } const object = { self, self2() { return this === object } };
      const tag = function (parts) { return this === undefined ? parts[0] : 'scope' }; const maybe = self`);
    expect(
      await talk.value(
        'return [typeof self(), typeof self?.(), typeof (self)(), tag`a`, typeof maybe(), object.self2(), typeof object.self()]',
      ),
    ).toEqual(['undefined', 'undefined', 'undefined', 'a', 'undefined', true, 'object']);
  });

  it('cannot grow a program beyond the limit of memory, and later scripts can free it', async () => {
    const talk = start();
    const limits = { memoryMb: 24, computeMs: 20_000 };
    await talk.run(`let all = []`, { limits });
    let end: unknown;
    for (let round = 0; round < 20 && end === undefined; round++) {
      const outcome = await talk.run(`for (let i = 0; i < 200; i++) all.push(new Array(1000).fill(i + 0.5))`, {
        limits,
      });
      end = outcome.error?.code;
    }
    expect(end).toBe('ScriptMemoryError');
    expect(await talk.value(`all = undefined; return 1`, { limits })).toBe(1);
    expect(await talk.value(`all = new Array(100000).fill(1.5); return all.length`, { limits })).toBe(100_000);
  });

  it('cannot use an error of an earlier script to name a call of the current one', async () => {
    const talk = start();
    await talk.run(`let caught; try { await tools.math.double({ n: 'x' }) } catch (error) { caught = error }`);
    const { error } = await talk.run(`await tools.math.double({ n: 1 }); throw caught`);
    expect([error?.toolName, error?.callId]).toEqual([undefined, undefined]);
  });
});
