import { expect, onTestFinished } from 'vitest';
import type { AgentInput, RunAgentOptions } from '#core/agent/index.js';
import type { Harness } from '#core/index.js';
import {
  createProvider,
  startScriptedServer,
  type ProviderApi,
  type ProviderOptions,
  type Scenario,
} from '#core/providers/index.js';
import type { FunctionCallItem, OutputItem } from '#core/protocol/index.js';
import { suiteProvider } from '../tunnel/strict-provider.js';
import { APIS, expectClean, openWorld, play, type Played, type Scene, type WorldOptions } from './running.js';

export type Turn = Scenario['turns'][number];
export type Part = Extract<Turn, { parts: unknown }>['parts'][number];

/** The ways in which a model requests work, each with an agent that allows it. */
export interface Way {
  readonly way: string;
  readonly agent: Partial<AgentInput>;
}

export const SCRIPT_WAYS: readonly Way[] = [
  { way: 'script by tool', agent: { carrier: 'tool' } },
  { way: 'script by custom tool', agent: { carrier: 'custom' } },
  { way: 'script in text, stop', agent: { carrier: 'text' } },
  { way: 'script in text, continue', agent: { carrier: 'text', afterScript: 'continue' } },
];

export const isInText = ({ agent }: Way): boolean => agent.carrier === 'text';

export const text = (said: string): Part => ({ type: 'text', text: said });
export const reasoning = (thought: string): Part => ({ type: 'reasoning', text: thought });
export const script = (code: string): Part => ({ type: 'script', code });
export const call = (name: string, input: Record<string, unknown>): Part => ({ type: 'call', name, arguments: input });
export const says = (said: string, expected: string[] = []): Turn => ({ parts: [text(said)], expect: expected });

/** A scenario over HTTP, with more options than `openScene`. */
export async function openScenario(
  api: ProviderApi,
  scenario: Scenario,
  options: Partial<ProviderOptions> = {},
): Promise<Scene> {
  const server = await startScriptedServer(scenario);
  onTestFinished(() => server.close());
  return { server, provider: providerOf(api, server.baseUrl, options) };
}

export function providerOf(api: ProviderApi, baseUrl: string, options: Partial<ProviderOptions> = {}) {
  const common = { baseUrl, retries: { maxRetries: 0 }, ...options };
  const { model } = options;
  return model === undefined ? suiteProvider(api, common) : createProvider(api, { environment: {}, ...common, model });
}

export interface Take {
  readonly api: ProviderApi;
  readonly harness: Harness;
  /** The inputs of the tools, in order. */
  readonly calls: readonly string[];
  readonly scene: Scene;
  readonly played: Played;
}

export interface Direction {
  readonly agent: Partial<AgentInput>;
  readonly turns: readonly Turn[];
  readonly world?: WorldOptions;
  readonly more?: Partial<RunAgentOptions>;
  /** Turns for the resumed run. */
  readonly leaves?: number;
}

/**
 * The same scenario through each of the three wire formats, over one harness. The runs break no rule, consume every
 * turn, and leave equal histories.
 */
export async function playOnEach({ agent, turns, world: options, more, leaves = 0 }: Direction): Promise<Take[]> {
  const { harness, calls } = openWorld(options);
  const takes: Take[] = [];
  for (const api of APIS) {
    const scene = await openScenario(api, { turns: [...turns] });
    const asked = { reasoningEffort: 'medium' as const, ...agent };
    const played = await play({ harness, calls }, scene, asked, more);
    if (leaves === 0) expectClean(scene);
    expect(scene.server.turnsLeft, api).toBe(leaves);
    takes.push({ api, harness, calls: calls.splice(0), scene, played });
  }
  expectSame(takes);
  return takes;
}

/** The three histories have the same items, in the same order, and the same tool calls. */
export function expectSame(takes: readonly Pick<Take, 'api' | 'played' | 'calls'>[]): void {
  expect(takes.map(({ api }) => api)).toEqual(APIS);
  const [first, ...others] = takes;
  const history = comparable(first!.played.history);
  expect(history.length).toBeGreaterThan(1);
  for (const { api, played, calls } of others) {
    expect(comparable(played.history), api).toEqual(history);
    expect(calls, api).toEqual(first!.calls);
    expect(played.response.status, api).toBe(first!.played.response.status);
  }
}

/** Names and blobs of one wire format. */
const NATIVE = ['api', 'native_id', 'native_type', 'encrypted_content', 'signature', 'prefix', 'reasoning_content'];
/** Members of the model's output that only some formats add. */
const NATIVE_OF: Readonly<Record<string, readonly string[]>> = {
  message: ['status'],
  reasoning: ['summary'],
  function_call: ['status', 'input'],
};
/** Ids, whose values do not matter if they are distinct. */
const NAMES = ['call_id', 'answer_id', 'script_id'];
/** The names of a script's calls, which texts contain too. */
const CALL_NAME = /scr_[\w-]+_call_(?=\d)/gu;
const MEASURED = /(?:_ms|Ms|_mb|cache_hit|created_at)$/u;

/**
 * A history without the values that differ between two runs or two wire formats. Names become numbers, in order of
 * appearance. Times, sizes, cached tokens and members of one format are removed. Everything else stays.
 */
export function comparable(history: readonly OutputItem[]): unknown[] {
  const numbers = new Map<string, string>();
  const numberOf = (member: string, name: string): string => {
    const known = numbers.get(name) ?? `${member} ${numbers.size + 1}`;
    numbers.set(name, known);
    return known;
  };
  const strip = (value: unknown, left: readonly string[]): unknown => {
    if (typeof value === 'string') return value.replaceAll(CALL_NAME, 'script_call_');
    if (Array.isArray(value)) return value.map((element) => strip(element, []));
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).filter(([member]) => !left.includes(member) && !MEASURED.test(member));
    return Object.fromEntries(
      members.map(([member, inner]) => [
        member,
        NAMES.includes(member) && typeof inner === 'string' ? numberOf(member, inner) : strip(inner, []),
      ]),
    );
  };
  return withResultsBehindCalls(history)
    .map(asFunctionCall)
    .map((item) => strip(item, ['id', ...NATIVE, ...(NATIVE_OF[item.type] ?? [])]));
}

/**
 * In Chat no call of an answer is complete before the answer, so the first result follows the last call. In other
 * formats the result is between the calls; this function moves it after them. Results of scripts in the text stay.
 */
function withResultsBehindCalls(history: readonly OutputItem[]): OutputItem[] {
  const calls = new Set(history.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : [])));
  const ordered: OutputItem[] = [];
  let held: OutputItem[] = [];
  let answer: unknown;
  for (const item of history) {
    if (item.type !== 'function_call' && calls.has(item.call_id as string)) {
      held.push(item);
      continue;
    }
    if (item.answer_id !== answer || item.answer_id === undefined) {
      ordered.push(...held);
      held = [];
    }
    answer = item.answer_id;
    ordered.push(item);
  }
  return [...ordered, ...held];
}

/** A script from a custom tool, in the form for formats that have only functions. */
function asFunctionCall(item: OutputItem): OutputItem {
  if (item.type === 'script_execution' && item.carrier === 'custom') return { ...item, carrier: 'tool' };
  if (item.type !== 'function_call' || item.native_type !== 'custom_tool_call') return item;
  return { ...item, arguments: JSON.stringify({ code: item.arguments }) } satisfies FunctionCallItem;
}

/** The inputs and results of the tools, in order, for every kind of call. */
export function operationsOf({ events }: Played): unknown[] {
  return events.flatMap(({ payload }) => {
    if (payload.type !== 'tool_call_done') return [];
    const { tool, input, effect, status, result, error } = payload.operation;
    return [{ tool, input, effect, status, result, error }];
  });
}

/** The only item of this type. */
export function onlyItem<Type extends OutputItem['type']>(
  history: readonly OutputItem[],
  type: Type,
): Extract<OutputItem, { type: Type }> {
  const found = history.filter((item) => item.type === type);
  expect(found.map((item) => item.type)).toEqual([type]);
  return found[0] as Extract<OutputItem, { type: Type }>;
}

/** The content of a request for the model, except the system text. */
export function messagesOf(request: unknown): Record<string, unknown>[] {
  const { messages, input } = request as Record<'messages' | 'input', Record<string, unknown>[] | undefined>;
  return (messages ?? input ?? []).filter(({ role }) => role !== 'system');
}
