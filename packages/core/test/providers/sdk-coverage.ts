import { Ajv } from 'ajv';
import { foldResponse } from '#core/history/index.js';
import { encodeMessages } from '#core/providers/anthropic-messages/encode.js';
import { encodeChat } from '#core/providers/openai-chat/encode.js';
import { encodeResponses } from '#core/providers/openai-responses/encode.js';
import { createPrompt } from '#core/providers/prompt.js';
import type { ProviderApi } from '#core/providers/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, GET_WEATHER, output, user } from './asking.js';
import { eventsOf } from './decoded.js';
import { unpaired } from './pairs.js';
import { requestChecks, type SchemaOf } from './request-schemas.js';
import { samplesByType, samplesOf } from './sdk-samples.js';
import { streamOf } from './wire-text.js';

/*
 * The fate of everything that the types of the SDKs say a service can send: each item, block, delta and event goes
 * through the decoder, and what it became goes back through the encoder.
 */

type Json = Record<string, unknown>;

/**
 * - `acted on`: it becomes text, reasoning, a call, code, an end, or a part of them;
 * - `kept`: it is stored as it came and goes back in its place;
 * - `with its item`: it is the progress of an item, which its end holds whole;
 * - `refused by name`: an error of the answer names it.
 */
type Fate = 'acted on' | 'kept' | 'with its item' | 'refused by name' | 'lost';

export interface Finding {
  readonly api: ProviderApi;
  readonly kind: 'item' | 'block' | 'delta' | 'event' | 'member';
  readonly type: string;
  readonly fate: Fate;
  /** The parts of the next request that a service would refuse. */
  readonly problems: readonly string[];
}

/** A finding for every alternative of every type. */
export async function coverageOf(schemaOf: SchemaOf): Promise<Finding[]> {
  const reader = new Reader(schemaOf);
  return [
    ...(await reader.items()),
    ...(await reader.responsesEvents()),
    ...(await reader.blocks()),
    ...(await reader.messagesEvents()),
    ...(await reader.chatMembers()),
  ];
}

class Reader {
  readonly #schemaOf: SchemaOf;
  readonly #check: Readonly<Record<ProviderApi, (body: object) => string[]>>;

  constructor(schemaOf: SchemaOf) {
    this.#schemaOf = schemaOf;
    const checks = requestChecks(schemaOf);
    const ajv = new Ajv({ strict: false });
    const blocks = ajv.compile(schemaOf('MessagesAnswerBlocks'));
    this.#check = {
      ...checks,
      'anthropic-messages': (body) => {
        const { messages } = body as { messages: { role: string; content: unknown }[] };
        const misfits = messages.filter(({ role, content }) => role === 'assistant' && !blocks(content));
        return misfits.map(({ content }) => `${JSON.stringify(content)}: ${ajv.errorsText(blocks.errors)}`);
      },
    };
  }

  async items(): Promise<Finding[]> {
    const items = samplesByType(this.#schemaOf('ResponsesItem'));
    const findings: Finding[] = [];
    const message = { ...items.get('message')![0]!, id: 'msg_1' };
    for (const [type, samples] of items) {
      const partners = hostedFirst(items.get(partnerOf(type)) ?? []);
      for (const [index, item] of samples.entries()) {
        const pair = [...partners.slice(0, 1).map((other) => ({ ...other, id: callIdOf(item) })), item];
        const list = [...(isResult(type) ? pair : pair.toReversed()), message];
        const apis = index === 0 ? APIS : (['openai-responses'] as const);
        findings.push(await this.#finding('openai-responses', 'item', item, responsesStream(list), apis));
      }
    }
    return findings;
  }

  async blocks(): Promise<Finding[]> {
    const blocks = samplesByType(this.#schemaOf('MessagesBlock'));
    const findings: Finding[] = [];
    for (const [type, samples] of blocks) {
      for (const [index, block] of samples.entries()) {
        const list = [...hostedPair(blocks, block), { type: 'text', text: 'Done.' }];
        const apis = index === 0 ? APIS : (['anthropic-messages'] as const);
        const stream = streamOf(...messagesEventsOf(list.map((one) => [one])));
        findings.push(await this.#finding('anthropic-messages', 'block', { ...block, type }, stream, apis));
      }
    }
    return findings;
  }

  async #finding(
    api: ProviderApi,
    kind: Finding['kind'],
    part: Json,
    stream: string,
    apis: readonly ProviderApi[],
  ): Promise<Finding> {
    const { output_items: items } = foldResponse(await eventsOf(api, stream));
    const type = String(part.type);
    const problems: string[] = [];
    let sent = '';
    for (const to of apis) {
      const body = await requestAfter(to, items);
      if (to === api) sent = JSON.stringify(body);
      const found = [...this.#check[to](body), ...unpaired((body as Json).input ?? (body as Json).messages)];
      problems.push(...found.map((problem) => `${to}: ${problem}`));
    }
    return { api, kind, type, fate: fateOf(items, type, sent), problems };
  }

  /** Each event next to an item of each type, which the event concerns; or as the first one. */
  async responsesEvents(): Promise<Finding[]> {
    const items = [...samplesByType(this.#schemaOf('ResponsesItem')).values()].map(([item]) => item!);
    const plain = await Promise.all(items.map((item) => payloadsOf('openai-responses', responsesStream([item]))));
    const fates = new Map<string, Fate>();
    for (const [type, [event]] of samplesByType(this.#schemaOf('ResponsesEvent'))) {
      const told = await Promise.all(
        items.map((item) => payloadsOf('openai-responses', responsesStream([item], eventOf(item, event!)))),
      );
      const first = await payloadsOf('openai-responses', streamOf(withoutNumber(event!)));
      const acts = told.some((one, index) => one !== plain[index]) || first.includes('"response_id"');
      const ofDelta = fates.get(type.replace(/\.done$/u, '.delta'));
      const isRefused = told.some((one) => one.includes(`"${type}\\"`));
      const fate = isRefused ? 'refused by name' : acts ? 'acted on' : isOfItem(event!) ? 'with its item' : 'lost';
      fates.set(type, fate === 'lost' && ofDelta !== undefined ? ofDelta : fate);
    }
    return [...fates].map(([type, fate]) => ({ api: 'openai-responses', kind: 'event', type, fate, problems: [] }));
  }

  /** Each delta at a block of each type; each event, in an answer that ends with it. */
  async messagesEvents(): Promise<Finding[]> {
    const blocks = [...samplesByType(this.#schemaOf('MessagesBlock')).values()].map(([block]) => block!);
    const actsOn = async (streamWith: (block: Json, isThere: boolean) => string): Promise<Fate> => {
      for (const block of blocks) {
        const [told, plain] = [streamWith(block, true), streamWith(block, false)];
        if ((await payloadsOf('anthropic-messages', told)) !== (await payloadsOf('anthropic-messages', plain)))
          return 'acted on';
      }
      return 'lost';
    };
    const findings: Finding[] = [];
    for (const [type, [delta]] of samplesByType(this.#schemaOf('MessagesDelta'))) {
      const event = { type: 'content_block_delta', index: 0, delta };
      const fate = await actsOn((block, isThere) =>
        streamOf(...messagesEventsOf([[block, ...(isThere ? [event] : [])]])),
      );
      findings.push({ api: 'anthropic-messages', kind: 'delta', type, fate, problems: [] });
    }
    for (const [type, [event]] of samplesByType(this.#schemaOf('MessagesEvent'))) {
      const isEmpty = Object.keys(event!).length === 1;
      const fate = await actsOn((block, isThere) => {
        const events = messagesEventsOf([[block]]);
        const end = events.findLastIndex((one) => one.type === type);
        return streamOf(...events.slice(0, isThere ? end + 1 : end));
      });
      const told = isEmpty && fate === 'lost' ? 'with its item' : fate;
      findings.push({ api: 'anthropic-messages', kind: 'event', type, fate: told, problems: [] });
    }
    return findings;
  }

  /** Each member of a delta of Chat, and each type of call. */
  async chatMembers(): Promise<Finding[]> {
    const chunks = samplesOf(this.#schemaOf('ChatChunk')) as ChatChunk[];
    const deltas = chunks.map(({ choices: [choice] }) => choice!.delta);
    const members = new Map<string, object>();
    for (const delta of deltas)
      for (const [name, value] of Object.entries(delta)) {
        const calls = name === 'tool_calls' ? (value as Json[]) : undefined;
        const type = calls?.[0]?.type;
        const named = type === undefined ? name : `${name} (${String(type)})`;
        const only = type === 'custom' ? calls!.map((call) => ({ ...call, function: undefined })) : value;
        // The role of an answer is always that of the assistant.
        if (value !== null && name !== 'role' && !members.has(named)) members.set(named, { [name]: only });
      }
    const findings: Finding[] = [];
    for (const [type, delta] of members) {
      const told = await payloadsOf('openai-chat', chatStream(delta));
      const isSame = told === (await payloadsOf('openai-chat', chatStream({})));
      const fate = told.includes('UnsupportedContent') ? 'refused by name' : isSame ? 'lost' : 'acted on';
      findings.push({ api: 'openai-chat', kind: 'member', type, fate, problems: [] });
    }
    return findings;
  }
}

interface ChatChunk {
  readonly choices: readonly { readonly delta: Json }[];
}

const isResult = (type: string): boolean => type.endsWith('_output') || type === 'mcp_approval_response';

/** The type of the other half of a pair of a call and its result; of other items, no type. */
function partnerOf(type: string): string {
  if (type === 'mcp_approval_response') return 'mcp_approval_request';
  if (type === 'tool_search_call' || type === 'tool_search_output')
    return type === 'tool_search_call' ? 'tool_search_output' : 'tool_search_call';
  if (type === 'shell_call') return 'shell_call_output';
  return isResult(type) ? type.replace(/_output$/u, '') : '';
}

const callIdOf = (item: Json): unknown => item.approval_request_id ?? 'id_of_partner';

/** Calls that the service executes itself first. */
function hostedFirst(calls: readonly Json[]): Json[] {
  const isHosted = ({ environment, execution }: Json) =>
    (environment as Json | null)?.type === 'container_reference' || execution === 'server';
  return [...calls.filter(isHosted), ...calls.filter((call) => !isHosted(call))];
}

/** The block with the other half of its pair: `web_search_tool_result` belongs to a call of `web_search`. */
function hostedPair(blocks: ReadonlyMap<string, Json[]>, block: Json): Json[] {
  const type = String(block.type);
  const id = 'srvtoolu_1';
  const prefix = type.startsWith('mcp_') ? 'mcp' : 'server';
  if (type.endsWith('_tool_result')) {
    const calls = blocks.get(`${prefix}_tool_use`)!;
    const call = calls.find(({ name }) => `${String(name)}_tool_result` === type) ?? calls[0]!;
    return [
      { ...call, id },
      { ...block, tool_use_id: id },
    ];
  }
  if (!type.endsWith('_tool_use')) return [block];
  const results =
    blocks.get(`${String(block.name)}_tool_result`) ??
    blocks.get(`${prefix === 'mcp' ? 'mcp' : 'web_search'}_tool_result`)!;
  return [
    { ...block, id },
    { ...results[0]!, tool_use_id: id },
  ];
}

function fateOf(items: readonly OutputItem[], type: string, sent: string): Fate {
  const isNamed = (item: OutputItem) => item.type === 'error' && item.message.includes(`"${type}"`);
  if (items.some(isNamed)) return 'refused by name';
  const made = items.find(({ native }) => (native as Json | undefined)?.type === type);
  if (made === undefined) return items.length === 0 ? 'lost' : 'acted on';
  if (made.type !== 'reasoning') return 'acted on';
  return sent.includes(`"type":"${type}"`) ? 'kept' : 'lost';
}

async function payloadsOf(api: ProviderApi, stream: string): Promise<string> {
  return JSON.stringify((await eventsOf(api, stream)).map(({ payload }) => payload));
}

async function requestAfter(api: ProviderApi, items: readonly OutputItem[]): Promise<object> {
  const results = items.flatMap((item) => (item.type === 'function_call' ? [output(item, 'x')] : []));
  const conversation = [user('Go'), ...items, ...results, user('Go on')];
  const prompt = await createPrompt(api, 'm', { conversation, tools: [GET_WEATHER], promptCache: { marks: false } });
  const encode = {
    'openai-responses': encodeResponses,
    'openai-chat': encodeChat,
    'anthropic-messages': encodeMessages,
  };
  return JSON.parse(JSON.stringify(encode[api](prompt))) as object;
}

/** `event`: comes while the last item is open. */
function responsesStream(items: readonly Json[], event?: Json): string {
  const response = { id: 'resp_1', model: 'm' };
  const usage = { input_tokens: 1, output_tokens: 5 };
  const told = event === undefined ? [] : [event];
  return streamOf(
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...items.flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, ...EMPTY[String(item.type)] } },
      ...(index === items.length - 1 ? told : []),
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output: items, usage } },
  );
}

/** Texts that only the deltas bring. */
const EMPTY: Readonly<Record<string, Json>> = {
  message: { content: [] },
  reasoning: { summary: [], content: [] },
  function_call: { arguments: '' },
  custom_tool_call: { input: '' },
};

const isOfItem = (event: Json): boolean => 'item_id' in event || 'output_index' in event;

/** The event, about the first item. */
function eventOf({ id }: Json, event: Json): Json {
  const one = withoutNumber(event);
  return isOfItem(event) ? { ...one, item_id: id, output_index: 0 } : one;
}

function withoutNumber({ sequence_number: _number, ...event }: Json): Json {
  return event;
}

/** `blocks`: each with the deltas after its start. */
function messagesEventsOf(blocks: readonly Json[][]): Json[] {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  const usage = { input_tokens: 1, output_tokens: 5 };
  return [
    { type: 'message_start', message: { ...message, usage } },
    ...blocks.flatMap(([block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas,
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
}

function chatStream(delta: object): string {
  const chunk = (one: object, finish_reason: string | null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta: one, finish_reason }],
  });
  return streamOf(chunk({ role: 'assistant', content: 'Hi' }, null), chunk(delta, null), chunk({}, 'stop'), '[DONE]');
}
