import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventQueue } from '#core/protocol/index.js';

it('an item is handled when its consumer asks for the next one, in any order of pushes and reads', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('push', 'read', 'wait'), { maxLength: 40 }), async (steps) => {
      const queue = new EventQueue<number>();
      const reader = queue[Symbol.asyncIterator]();
      const waits: { upTo: number; isDone: boolean }[] = [];
      let [pushed, asked] = [0, 0];
      for (const step of steps) {
        if (step === 'push') queue.push(pushed++);
        // A read of an empty queue would wait.
        else if (step === 'read' && asked < pushed)
          expect(await reader.next()).toEqual({ done: false, value: asked++ });
        else if (step === 'wait') {
          const wait = { upTo: pushed, isDone: false };
          waits.push(wait);
          void queue.untilHandled().then(() => (wait.isDone = true));
        }
        await turn();
        for (const { upTo, isDone } of waits) expect(isDone).toBe(upTo <= Math.max(0, asked - 1));
      }
      queue.end();
    }),
  );
});

it('a wait for a consumer that leaves is rejected', async () => {
  const queue = new EventQueue<number>();
  queue.push(1);
  queue.push(2);
  const handled = queue.untilHandled();
  for await (const _item of queue) break;
  await expect(handled).rejects.toThrow('The consumer stopped before it handled the event.');
  await expect(queue.untilHandled()).rejects.toThrow('stopped');
});
