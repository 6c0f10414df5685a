import fc from 'fast-check';
import { z } from 'zod';
import type { AgentInput } from '#core/agent/index.js';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { defineTool } from '#core/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { hostedWire, type HostedApi } from '../agent/hosted-services.js';
import { openWorld, play } from '../agent/running.js';
import { OWN_STREAMS } from '../providers/own-streams.js';
import { recordings } from '../providers/recordings.js';
import { answerTo, type Turn } from './answers.js';
import { agentFor, FAMILIES, type Family } from './families.js';
import { SealedBlocks, TunnelService, type ShapeCheck, type TunnelAnswer } from './tunnel-service.js';

/*
 * Random conversations of an agent with models of every family: prompts, changes of the tools and of the instructions,
 * other models, interruptions, broken connections, compaction, and code that a provider runs.
 */

type Json = Readonly<Record<string, unknown>>;

const ADD = { type: 'call', name: 'add', arguments: { a: 2, b: 3 } } as const;
const THOUGHT = { type: 'reasoning', text: 'Hm.' } as const;
const SCRIPT = { type: 'script', code: 'return await tools.add({ a: 1, b: 2 });' } as const;

/** The answers of models. */
const SAID: Readonly<Record<string, Turn>> = {
  text: { parts: [THOUGHT, { type: 'text', text: 'Done.' }] },
  script: { parts: [THOUGHT, { type: 'text', text: 'I add.\n' }, SCRIPT] },
  call: { parts: [THOUGHT, ADD] },
  'two calls': { parts: [ADD, { ...ADD, arguments: '{"a":2' }] },
  'an illegal name': { parts: [THOUGHT, { ...ADD, name: 'functions.add:0', call_id: 'functions.add:0' }] },
  'an unknown tool': { parts: [THOUGHT, { ...ADD, name: 'x'.repeat(80) }] },
  'too long': { parts: [THOUGHT, { type: 'text', text: 'I' }, ADD], stop: 'max_output_tokens' },
  refusal: { parts: [THOUGHT, { type: 'refusal', text: 'No.' }], stop: 'refusal' },
  'thoughts alone': { parts: [THOUGHT] },
  'near the end of the window': { parts: [THOUGHT, ADD], usage: { input_tokens: 190_000, output_tokens: 10 } },
};

const answer = fc.record({
  said: fc.constantFrom(...Object.keys(SAID), 'hosted code', 'recorded', 'recorded', 'recorded'),
  recording: fc.nat(),
  middle: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'cut', 'interrupted'),
});

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('prompt' as const), answers: fc.array(answer, { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('switch' as const), to: fc.nat(FAMILIES.length - 1) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('new tool' as const, 'new instructions' as const, 'no functions' as const),
    }),
  },
);

/** A conversation: the first model, the agent's carrier, and what happens. */
export const conversation = fc.record({
  first: fc.nat(FAMILIES.length - 1),
  carrier: fc.constantFrom<NonNullable<AgentInput['carrier']>[]>('tool', 'custom', 'text', 'hosted'),
  effort: fc.constantFrom(undefined, 'none' as const, 'medium' as const, 'max' as const),
  steps: fc.array(step, { minLength: 2, maxLength: 8 }),
});

type Conversation = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never;
type Answer = Extract<Conversation['steps'][number], { type: 'prompt' }>['answers'][number];

const STREAMS: Readonly<Record<ProviderApi, readonly (string | Buffer)[]>> = {
  'openai-responses': streamsOf('openai-responses'),
  'openai-chat': streamsOf('openai-chat'),
  'anthropic-messages': streamsOf('anthropic-messages'),
};

/** The streams of the repository, and the recorded ones where they are. */
export function streamsOf(api: ProviderApi): (string | Buffer)[] {
  return [...Object.values(OWN_STREAMS[api]), ...recordings(api, 'stream').map(({ body }) => body)];
}

/** The course of a conversation, which shows what the conversations covered. */
export interface Journey {
  readonly refusals: readonly string[];
  readonly requests: number;
  readonly happened: readonly string[];
}

export async function travel(
  { first, carrier, effort, steps }: Conversation,
  shapes?: Readonly<Record<ProviderApi, ShapeCheck>>,
): Promise<Journey> {
  const world = openWorld();
  const models = new Models(shapes);
  const happened: string[] = [];
  let family = FAMILIES[first]!;
  let history: readonly OutputItem[] = [];
  let instructions = 'Work.';
  let offered: Partial<AgentInput> = { carrier };
  for (const [number, one] of [...steps, { type: 'prompt', answers: [] } as const].entries()) {
    happened.push(one.type);
    if (one.type === 'switch') family = FAMILIES[one.to]!;
    if (one.type === 'new instructions') instructions = `Work. ${number}`;
    if (one.type === 'no functions') offered = { carrier: 'text', functions: [] };
    if (one.type === 'new tool') {
      const execute = () => 'late';
      world.harness.tools.add([
        defineTool({ name: `late${number}`, description: 'Late', input: z.object({}), execute }),
      ]);
    }
    if (one.type !== 'prompt') continue;
    const interruption = new AbortController();
    const service = models.serviceOf(family, one.answers, () => interruption.abort());
    const agent = agentFor(family, {
      ...offered,
      instructions,
      maxTurns: 12,
      contextWindow: 200_000,
      ...(effort === undefined ? {} : { reasoningEffort: effort }),
    });
    const more = { threadId: 'thr_1', history, input: `Prompt ${number}`, signal: interruption.signal };
    const { provider } = service;
    ({ history } = await play(world, { provider, server: undefined as never }, agent, more));
    happened.push(...one.answers.map(({ said, middle }) => (middle === 'none' ? said : middle)));
  }
  if (history.some(({ type }) => type === 'compaction')) happened.push('compaction');
  if (history.some(({ type }) => type === 'hosted_code')) happened.push('code of the provider');
  return { refusals: models.refusals, requests: models.requests, happened };
}

/** The models of all families, as services that share what one provider knows. */
class Models {
  readonly refusals: string[] = [];
  requests = 0;
  readonly #shapes: Readonly<Record<ProviderApi, ShapeCheck>> | undefined;
  readonly #seals = new SealedBlocks();
  readonly #hosted = new Map<ProviderApi, ReturnType<typeof hostedWire>>();
  #waitsForCode: ProviderApi | undefined;

  constructor(shapes: Readonly<Record<ProviderApi, ShapeCheck>> | undefined) {
    this.#shapes = shapes;
  }

  serviceOf({ api, model }: Family, answers: readonly Answer[], interrupt: () => void) {
    const left = [...answers];
    const service = new TunnelService(api, model, (body) => this.#answer(api, body, left.shift(), interrupt), {
      seals: this.#seals,
      shape: this.#shapes?.[api],
      refusals: this.refusals,
    });
    const chat = { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false } as const;
    const { fetch } = service;
    const provider = createProvider(api, { model, fetch, chat, retries: { maxRetries: 0 }, environment: {} });
    return { provider };
  }

  #answer(api: ProviderApi, body: Json, next: Answer | undefined, interrupt: () => void): TunnelAnswer {
    this.requests += 1;
    this.refusals.push(...this.#codeProblems(api, body));
    const middle = next?.middle === 'cut' ? 'cut' : next?.middle === 'interrupted' ? interrupt : undefined;
    return { body: this.#said(api, body, next), ...(middle === undefined ? {} : { middle }) };
  }

  #said(api: ProviderApi, body: Json, next: Answer | undefined): string | Buffer {
    const say = (said: string) => answerTo(api, body, SAID[said]!, this.requests);
    const waits = this.#waitsForCode === api;
    this.#waitsForCode = undefined;
    if (next === undefined || JSON.stringify(body).includes('has grown too long')) return say('text');
    if (next.said === 'recorded') return STREAMS[api][next.recording % STREAMS[api].length]!;
    if (api === 'openai-chat' || !offersCode(body)) return say(next.said === 'hosted code' ? 'script' : next.said);
    const hosted = this.#wireOf(api);
    if (waits) return hosted.answer({ type: 'output', output: '5', text: 'Five.' }, this.requests);
    if (next.said !== 'hosted code') return say(next.said);
    this.#waitsForCode = api;
    return hosted.answer({ type: 'calls', calls: [{ name: 'add', args: { a: 2, b: 3 } }] }, this.requests);
  }

  #wireOf(api: HostedApi) {
    const wire = this.#hosted.get(api) ?? hostedWire(api);
    this.#hosted.set(api, wire);
    return wire;
  }

  /** The rules about code, whose programs recorded streams bring along too. */
  #codeProblems(api: ProviderApi, body: Json): string[] {
    if (api === 'openai-chat') return [];
    return this.#wireOf(api)
      .judge(body)
      .filter((fault) => fault !== 'a program was changed');
  }
}

function offersCode({ tools }: Json): boolean {
  const types = ((tools ?? []) as Json[]).map(({ type }) => type);
  return types.includes('code_execution_20260120') || types.includes('programmatic_tool_calling');
}
