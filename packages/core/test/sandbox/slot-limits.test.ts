import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadArtefacts } from '#core/sandbox/worker/artefacts.js';
import { SnapshotError } from '#core/sandbox/quickjs/snapshot.js';
import { openSlot } from './support/in-process-slot.js';

const ENDLESS = 'for (;;);';

describe('a limit', () => {
  it('of memory is detected by the engine’s own count, not by the text of an error', async () => {
    const { slot, compile, start, read } = await openSlot({ memoryMb: 8 });
    const faked = start(compile(`throw new Error('out of memory')`));
    expect(faked.end).toBeUndefined();
    expect(read(faked).end).toMatchObject({ type: 'threw' });
    expect(slot.recycle()).toBe(true);
    const full = start(compile('const keep = []; for (;;) keep.push(new Array(1000).fill(keep))'));
    expect(full.end).toMatchObject({ type: 'limit', limit: 'memory' });
  });

  it('of memory is reported even if none is left to report the output', async () => {
    const { slot, compile, start } = await openSlot({ memoryMb: 8 });
    const segment = start(
      compile(`
        const calls = [];
        for (let n = 0; n < 300; n++) calls.push(tools.echo({ text: 'x'.repeat(50_000) }));
        await Promise.all(calls)`),
    );
    expect(segment.end).toEqual({ type: 'limit', limit: 'memory' });
    expect(slot.recycle()).toBe(false);
  });

  it.each([
    'const list = []; for (;;) list.push(sleep(1).catch(() => {}));',
    'const list = []; for (;;) list.push(new Error("x"));',
    'const list = []; try { for (;;) list.push([list.length]); } catch { for (;;) list.push({}); }',
    'for (let n = 0; n < 100_000; n++) clearTimeout(setTimeout(() => {}, 10));',
  ])('of memory is reported if none is left for the engine’s error: %s', async (body) => {
    const { compile, start } = await openSlot({ memoryMb: 4, computeMs: 60_000 });
    expect(start(compile(body)).end).toMatchObject({ type: 'limit', limit: 'memory' });
  });

  it('of memory is not reported for a script that throws null with free memory', async () => {
    const { compile, start, read } = await openSlot({ memoryMb: 8 });
    const segment = start(compile('throw null'));
    expect(segment.end).toBeUndefined();
    expect(read(segment).end).toMatchObject({ type: 'threw', error: { message: 'null' } });
  });

  it('of the stack is detected by the engine’s own count, not by the text of an error', async () => {
    const { slot, compile, start, read } = await openSlot();
    const faked = start(compile(`throw new RangeError('Maximum call stack size exceeded')`));
    expect(faked.end).toBeUndefined();
    expect(read(faked).end).toMatchObject({ type: 'threw' });
    expect(slot.recycle()).toBe(true);
    expect(start(compile('const f = () => f() + 1; return f()')).end).toMatchObject({ type: 'limit', limit: 'stack' });
  });

  it('of compute time ends a loop that nothing else would end', async () => {
    const { compile, startWithin } = await openSlot({ computeMs: 50 });
    expect(startWithin(compile(ENDLESS), 5_000).end).toEqual({ type: 'limit', limit: 'compute' });
  });

  it('of wall time ends a loop that may compute for longer', async () => {
    const { compile, startWithin } = await openSlot({ computeMs: 5_000 });
    expect(startWithin(compile(ENDLESS), 50).end).toEqual({ type: 'limit', limit: 'wall' });
  });

  it('of calls is enforced by the host’s own count, whatever the guest’s limit', async () => {
    const { slot, compile, start } = await openSlot(
      { maxCalls: 3, maxBuiltinCalls: 2 },
      { toldLimits: { maxCalls: 1_000, maxBuiltinCalls: 1_000 } },
    );
    const segment = start(compile('for (let n = 0; n < 6; n++) tools.echo({ n }); await new Promise(() => {})'));
    expect(segment.end).toMatchObject({
      type: 'internal',
      detail: expect.stringContaining('more calls than its limit allows'),
    });
    expect(slot.recycle()).toBe(false);
  });

  it('of built-in calls is enforced by the guest, which refuses the call beyond it in the script', async () => {
    const { compile, start, read } = await openSlot({ maxBuiltinCalls: 2 });
    const segment = start(
      compile(`
        sleep(1); sleep(1);
        try { await sleep(1); } catch (error) { return [error.name, error.code]; }`),
    );
    expect(segment.end).toBeUndefined();
    expect(read(segment).end).toMatchObject({
      type: 'returned',
      json: '["ToolBudgetExceededError","ToolBudgetExceededError"]',
    });
  });
});

describe('a cancellation', () => {
  it.each(['cancelled', 'timeout'] as const)('stops a script inside a loop: %s', async (reason) => {
    let asked = 0;
    const host = { isCancelled: () => (++asked > 3 ? reason : undefined), mustMakeRoom: () => false };
    const { slot, compile, start } = await openSlot({ computeMs: 5_000 }, { host });
    expect(start(compile(ENDLESS)).end).toEqual({ type: 'cancelled', reason });
    expect(slot.recycle()).toBe(false);
  });
});

describe('an instance', () => {
  it('that was stopped inside a segment is not reused', async () => {
    const { slot, compile, start } = await openSlot({ computeMs: 20 });
    start(compile(ENDLESS));
    expect(slot.recycle()).toBe(false);
  });

  it('that grew is not reused', async () => {
    const { slot, compile, start, read } = await openSlot();
    expect(read(start(compile('return new Array(2e6).fill(1.5).length'))).end).toMatchObject({ type: 'returned' });
    expect(slot.recycle()).toBe(false);
  });
});

describe('the error of a full heap', () => {
  it('has a frozen class, and shares only frozen objects with other errors', async () => {
    const { compile, start, read } = await openSlot({ memoryMb: 8 });
    const segment = start(
      compile(`
        const keep = [];
        try { for (;;) keep.push(new Array(1000).fill(keep)); } catch (error) {
          keep.length = 0;
          const { constructor } = error;
          return [constructor.name, Object.isFrozen(constructor), Object.isFrozen(Object.getPrototypeOf(error))];
        }`),
    );
    expect(read(segment).end).toMatchObject({ type: 'returned', json: '["InternalError",true,true]' });
  });
});

describe('a memory image to restore', () => {
  const PAGE = 4096;
  const ROOM = 16 * 1_048_576;

  /** Bytes in the form of a capture, with the page numbers and the heap's end that a test chooses. */
  function memoryOf(pages: readonly number[], heapPages: number): Uint8Array {
    const words = [pages.length, heapPages, ...pages];
    const head = Buffer.alloc(words.length * 4);
    words.forEach((word, index) => head.writeUInt32LE(word, index * 4));
    return deflateRawSync(Buffer.concat([head, Buffer.alloc(pages.length * PAGE)]));
  }

  async function restoring(memory: (first: number, heapPages: number) => Uint8Array, maxBytes = ROOM) {
    const { header } = (await loadArtefacts(128)).execute;
    const { slot, limits, texts, compile, start } = await openSlot();
    start(compile('await tools.echo({})'));
    const snapshot = slot.capture();
    const { slot: other } = await openSlot();
    const bytes = memory(header.start / PAGE, header.pages);
    const job = { limits, texts, sliceMs: 1_000, maxMemoryBytes: maxBytes };
    return { other, restore: () => other.restore({ ...snapshot, memory: bytes }, job) };
  }

  it('that contains only the guest’s own pages is accepted', async () => {
    const { restore } = await restoring((first, heapPages) => memoryOf([first, first + 1], heapPages));
    expect(restore).not.toThrow();
  });

  it.each<[string, (first: number, heapPages: number) => number]>([
    ['below the guest, on the engine’s stack', () => 0],
    ['just below the guest', (first) => first - 1],
    ['behind the end of the heap', (_first, heapPages) => heapPages * 16],
    ['far outside', () => 0xffff_ffff],
  ])('with a page %s is rejected, and its instance is not reused', async (_where, page) => {
    const { other, restore } = await restoring((first, heapPages) => memoryOf([page(first, heapPages)], heapPages));
    expect(restore).toThrow(SnapshotError);
    expect(other.recycle()).toBe(false);
  });

  it('of a length other than in its header is rejected', async () => {
    const { restore } = await restoring((first, heapPages) => {
      const words = Buffer.alloc(16);
      [1, heapPages, first, 0].forEach((word, index) => words.writeUInt32LE(word, index * 4));
      return deflateRawSync(Buffer.concat([words, Buffer.alloc(PAGE)]));
    });
    expect(restore).toThrow(SnapshotError);
  });

  it('that decompresses to more than a guest’s maximum is rejected', async () => {
    const pages = (first: number) => Array.from({ length: 512 }, () => first);
    const { restore } = await restoring((first, heapPages) => memoryOf(pages(first), heapPages), 1_048_576);
    expect(restore).toThrow(SnapshotError);
  });
});
