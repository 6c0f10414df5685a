import { defineTool } from '#core/tools/index.js';
import { z } from 'zod';

/** The observed effects of the sample tools, in order. */
type Deed = { readonly tool: string; readonly what: 'started' | 'ended' | 'aborted'; readonly input: unknown };

export interface SampleTools {
  readonly tools: ReturnType<typeof defineTool>[];
  readonly deeds: Deed[];
  /** Resolves when a call of this tool has started. */
  started(tool: string): Promise<void>;
  /** Releases every waiting and later call of `hold`. */
  release(): void;
}

/**
 * Small tools with one trait each: `echo` returns its argument, `add` computes, `wait` ends early when it is aborted,
 * `hold` runs until it is released and ignores its signal, `fail` throws, `write` needs approval.
 */
export function sampleTools(): SampleTools {
  const deeds: Deed[] = [];
  const listeners: { tool: string; resolve: () => void }[] = [];
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const note = (tool: string, what: Deed['what'], input: unknown) => {
    deeds.push({ tool, what, input });
    if (what === 'started') for (const listener of listeners) if (listener.tool === tool) listener.resolve();
  };
  const told =
    <Input>(tool: string, run: (input: Input, signal: AbortSignal) => unknown) =>
    async (input: Input, { signal }: { signal: AbortSignal }) => {
      note(tool, 'started', input);
      const result = await run(input, signal);
      note(tool, 'ended', input);
      return result;
    };
  const wait = told(
    'wait',
    ({ ms, value }: { ms: number; value?: unknown }, signal) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve(value ?? ms), ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          note('wait', 'aborted', { ms, value });
          reject(signal.reason as Error);
        });
      }),
  );
  const tools = [
    defineTool({
      name: 'echo',
      description: 'Gives its value back',
      effect: 'read',
      input: z.object({ value: z.unknown() }),
      execute: told('echo', ({ value }: { value: unknown }) => value),
    }),
    defineTool({
      name: 'add',
      description: 'Adds two numbers',
      effect: 'read',
      input: z.object({ a: z.number(), b: z.number().default(1) }),
      output: z.object({ sum: z.number() }),
      execute: told('add', ({ a, b }: { a: number; b: number }) => ({ sum: a + b })) as never,
    }),
    defineTool({
      name: 'wait',
      description: 'Waits',
      effect: 'read',
      input: z.object({ ms: z.number(), value: z.unknown().optional() }),
      execute: wait,
    }),
    defineTool({
      name: 'send',
      description: 'Waits, and has an effect',
      effect: 'external',
      approval: 'never',
      input: z.object({ ms: z.number() }),
      execute: wait as never,
    }),
    defineTool({
      name: 'hold',
      description: 'Runs until released',
      effect: 'write',
      approval: 'never',
      execute: told('hold', () => released),
    }),
    defineTool({
      name: 'fail',
      description: 'Throws',
      effect: 'read',
      input: z.object({ message: z.string() }),
      execute: told('fail', ({ message }: { message: string }) => {
        throw new Error(message);
      }),
    }),
    defineTool({
      name: 'write',
      description: 'Writes a text somewhere',
      effect: 'write',
      input: z.object({ path: z.string(), content: z.string().default(''), approvalContext: z.string().optional() }),
      permissions: ({ path }) => [`file:${path}`],
      execute: told('write', ({ path, content }: { path: string; content: string }) => ({
        path,
        bytes: content.length,
      })),
    }),
  ] as ReturnType<typeof defineTool>[];
  return {
    tools,
    deeds,
    release,
    started: (tool) =>
      deeds.some((deed) => deed.tool === tool && deed.what === 'started')
        ? Promise.resolve()
        : new Promise((resolve) => listeners.push({ tool, resolve })),
  };
}
