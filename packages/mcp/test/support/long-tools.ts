import { defineTool, type Tool } from '@toolscript/core';
import { z } from 'zod';

/** `mark` has an effect; `hold` runs until it is released or aborted. */
export function world() {
  const effects: string[] = [];
  let release = () => {};
  let arrive = () => {};
  let abort = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const aborted = new Promise<void>((resolve) => (abort = resolve));
  const mark = defineTool({
    name: 'mark',
    description: 'Writes something down',
    effect: 'write',
    approval: 'never',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => void effects.push(text),
  });
  const hold = defineTool({
    name: 'hold',
    description: 'Runs until it is released',
    effect: 'read',
    approval: 'never',
    execute: async (_input, { signal }) => {
      signal.addEventListener('abort', abort);
      arrive();
      await Promise.race([released, new Promise((_, reject) => signal.addEventListener('abort', reject))]);
      return 'released';
    },
  });
  const asks = defineTool({ name: 'asks', description: 'Asks', approval: 'always', execute: () => 'asked' });
  return { tools: [mark, hold, asks] as Tool[], effects, release: () => release(), arrived, aborted };
}
