import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { extendHistory, runAgent, type AgentInput, type RunAgentOptions } from '#core/agent/index.js';
import { createHarness, defineTool, type Harness, type HarnessOptions } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import { startScriptedServer, type ProviderApi, type Scenario, type ScriptedServer } from '#core/providers/index.js';
import {
  EventPayloadSchema,
  type ModelProvider,
  type OutputItem,
  type Response,
  type StreamEvent,
} from '#core/protocol/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { suiteProvider } from '../tunnel/strict-provider.js';
import { PIXEL_BYTES, PIXEL_PART } from './pixel.js';

export const APIS = ['openai-responses', 'openai-chat', 'anthropic-messages'] as const;

/** The inputs of the tools, in order. */
export interface World {
  readonly harness: Harness;
  readonly calls: string[];
}

export interface WorldOptions extends Partial<HarnessOptions> {
  /** True: the world has separate threads, so that its counts cover only this world. */
  alone?: boolean;
}

/** `add` computes, `note` has an effect, `guarded` needs approval, `shot` gives an image, `slow` waits, `fail` throws. */
export function openWorld({ alone = false, ...options }: WorldOptions = {}): World {
  const calls: string[] = [];
  const tool = (
    name: string,
    effect: 'read' | 'write',
    input: z.ZodObject,
    run: (input: never, more: { signal: AbortSignal }) => unknown,
    approval: 'never' | 'always' = 'never',
  ) =>
    defineTool({
      name,
      description: `The tool ${name}`,
      effect,
      approval,
      input,
      execute: (value: unknown, more: { signal: AbortSignal }) => {
        calls.push(`${name} ${JSON.stringify(value)}`);
        return run(value as never, more);
      },
    } as never);
  const harness = createHarness({
    tools: [
      tool('add', 'read', z.object({ a: z.number(), b: z.number() }), ({ a, b }: { a: number; b: number }) => ({
        sum: a + b,
      })),
      tool('note', 'write', z.object({ text: z.string() }), ({ text }: { text: string }) => ({ noted: text })),
      tool(
        'guarded',
        'write',
        z.object({ text: z.string() }),
        ({ text }: { text: string }) => ({ done: text }),
        'always',
      ),
      tool('shot', 'read', z.object({}), () => PIXEL_PART),
      tool(
        'slow',
        'read',
        z.object({ ms: z.number() }),
        ({ ms }: { ms: number }, { signal }) =>
          new Promise((resolve, reject) => {
            const timer = setTimeout(() => resolve('slept'), ms);
            signal.addEventListener('abort', () => {
              clearTimeout(timer);
              reject(signal.reason as Error);
            });
          }),
      ),
      tool('fail', 'read', z.object({}), () => {
        throw new Error('it broke');
      }),
    ] as never,
    // The process of the checker costs more than these laws; tests about types enable it.
    typecheck: 'off',
    ...(alone ? {} : sharedThreads()),
    ...options,
  });
  onTestFinished(() => harness.close());
  return { harness, calls };
}

export interface Scene {
  readonly server: ScriptedServer;
  readonly provider: ModelProvider;
}

/** A scenario over HTTP. */
export async function openScene(api: ProviderApi, turns: Scenario['turns']): Promise<Scene> {
  const server = await startScriptedServer({ turns });
  onTestFinished(() => server.close());
  const provider = suiteProvider(api, { baseUrl: server.baseUrl, retries: { baseDelayMs: 1, maxRetries: 0 } });
  return { server, provider };
}

/** The nonce of the scripts in text, for tests that write the tag themselves. */
export const NONCE = '123456789';

/** A script in text. */
export const inTags = (code: string): string => `<tool-calls id="${NONCE}">\n${code}\n</tool-calls>`;

export interface Played {
  readonly events: readonly StreamEvent[];
  readonly response: Response;
  readonly history: readonly OutputItem[];
}

/** Collects a run's events, and compares them with the guarantees for every run. */
export async function collectRun(
  stream: AsyncIterable<StreamEvent>,
  history: readonly OutputItem[] = [],
  firstSeq = 0,
): Promise<Played> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + firstSeq));
  expect(new Set(events.map(({ run_id }) => run_id)).size).toBe(1);
  for (const { payload } of events) EventPayloadSchema.parse(payload);
  const types = events.map(({ payload }) => payload.type);
  expect(types[0]).toBe('response_start');
  expect(types.filter((type) => type === 'response_done')).toHaveLength(1);
  expect(types.at(-1)).toBe('response_done');
  const open = new Set<string>();
  for (const { payload } of events) {
    if (payload.type === 'item_start') open.add(payload.item_id);
    if (payload.type === 'item_done' || payload.type === 'item_cancelled' || payload.type === 'item_error')
      open.delete(payload.item_id);
  }
  expect([...open]).toEqual([]);
  const renumbered = events.map((event, index) => ({ ...event, seq: index }));
  return { events, response: foldResponse(renumbered), history: extendHistory(history, events) };
}

export async function play(
  world: World,
  scene: Scene,
  agent: Partial<AgentInput>,
  more: Partial<RunAgentOptions> = {},
): Promise<Played> {
  const options = {
    provider: scene.provider,
    harness: world.harness,
    agent: { slug: 'tester', ...agent },
    input: 'Do it.',
    loadImage: async () => ({ bytes: PIXEL_BYTES }),
    nonce: (more.mode ?? agent.mode ?? world.harness.mode) === 'disabled' ? undefined : NONCE,
    ...more,
  };
  return collectRun(runAgent(options), more.history);
}

/** The content of an item, without ids and times. */
function essence(item: OutputItem): string {
  switch (item.type) {
    case 'message':
      return `${item.role}: ${item.content}`;
    case 'reasoning':
      return `reasoning: ${item.content}`;
    case 'function_call':
      return `call ${item.name}`;
    case 'function_call_output':
      return `output ${item.success}: ${item.output}`;
    case 'script_execution':
      return `script ${item.status}: ${item.source_code}`;
    case 'script_execution_output':
      return `result ${item.status}: ${item.report?.split('\n')[0] ?? 'no report'}`;
    case 'error':
      return `error ${item.code}`;
    default:
      return item.type;
  }
}

export const essences = (items: readonly OutputItem[]): string[] => items.map(essence);

/**
 * The content of the items, without the effects of a wire format: when a call counts as complete, and therefore whether
 * results precede or follow the later calls. For each answer: its text, its scripts and calls, and their results.
 */
export function normalForm(items: readonly OutputItem[]): string[] {
  const parts: OutputItem[][] = [];
  for (const item of items) {
    const last = parts.at(-1)?.find(({ answer_id: id }) => id !== undefined)?.answer_id;
    const isNew = item.type === 'message' && item.role === 'user';
    if (parts.length === 0 || isNew || (item.answer_id !== undefined && item.answer_id !== last)) parts.push([item]);
    else parts.at(-1)!.push(item);
  }
  const rank = ({ type }: OutputItem) => (type.endsWith('_output') ? 2 : type === 'script_execution' ? 1 : 0);
  return parts.flatMap((answer) => essences(answer.toSorted((left, right) => rank(left) - rank(right))));
}

/** Every request's messages begin with the messages of the previous request. */
export function expectStablePrefixes({ server }: { server: { readonly requests: readonly unknown[] } }): void {
  const lists = server.requests.map((body) => {
    const { messages, input } = body as { messages?: unknown[]; input?: unknown[] };
    return (messages ?? input ?? []).map((message) =>
      JSON.stringify(message, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
    );
  });
  expect(lists.length).toBeGreaterThan(0);
  for (const [index, list] of lists.entries())
    if (index > 0) expect(list.slice(0, lists[index - 1]!.length)).toEqual(lists[index - 1]);
}

/** The run consumed all turns, and broke no rule. */
export function expectClean(scene: Scene): void {
  expect(scene.server.violations).toEqual([]);
  expect(scene.server.turnsLeft).toBe(0);
  expectStablePrefixes(scene);
}
