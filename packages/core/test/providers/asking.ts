import { foldResponse } from '#core/history/index.js';
import {
  EventEnvelopes,
  type EventPayload,
  type FunctionCallItem,
  type ModelProvider,
  type ModelRequest,
  type CustomTool,
  type ModelTool,
  type OutputItem,
  type Response,
  type StreamOptions,
} from '#core/protocol/index.js';

export const APIS = ['openai-responses', 'openai-chat', 'anthropic-messages'] as const;

export const GET_WEATHER: ModelTool = {
  type: 'function',
  name: 'getWeather',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

export const RUN_SCRIPT: ModelTool = {
  type: 'function',
  name: 'run_script',
  description: 'Runs TypeScript',
  inputSchema: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
};

export const RUN_RAW_SCRIPT: CustomTool = {
  type: 'custom',
  name: 'run_script',
  description: 'Runs TypeScript',
  argument: 'code',
};

/** A tool whose text follows a grammar. */
export const ONE_OR_TWO: ModelTool = {
  ...RUN_RAW_SCRIPT,
  name: 'count',
  grammar: { syntax: 'regex', definition: '[12]' },
};

/** One pixel, and its hash. */
export const PIXEL = {
  type: 'image' as const,
  media_type: 'image/png' as const,
  sha256: 'a'.repeat(64),
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
};

export function user(content: string, more: object = {}): OutputItem {
  return { type: 'message', id: 'item_user', role: 'user', content, ...more };
}

export function output(call: Pick<FunctionCallItem, 'call_id'>, text: string, more: object = {}): OutputItem {
  return {
    type: 'function_call_output',
    id: 'item_output',
    call_id: call.call_id,
    output: text,
    success: true,
    ...more,
  };
}

export function scriptOutput(callId: string, report: string, more: object = {}): OutputItem {
  return {
    type: 'script_execution_output',
    id: 'item_script_output',
    call_id: callId,
    status: 'completed',
    report,
    logs: [],
    operations: [],
    metadata: {
      duration_ms: 1,
      compute_ms: 1,
      approval_wait_ms: 0,
      tool_calls_made: 0,
      memory_used_mb: 1,
      cache_hit: false,
      compilation_cache_hit: false,
    },
    ...more,
  };
}

export async function payloadsOf(
  provider: ModelProvider,
  request: ModelRequest,
  options?: StreamOptions,
): Promise<EventPayload[]> {
  const payloads: EventPayload[] = [];
  for await (const payload of provider.stream(request, options)) payloads.push(payload);
  return payloads;
}

function fold(payloads: readonly EventPayload[]): Response {
  const envelopes = new EventEnvelopes({ runId: 'run', threadId: 'thr', turnId: 'turn' });
  return foldResponse(payloads.map((payload) => envelopes.next(payload)));
}

export async function ask(provider: ModelProvider, request: ModelRequest, options?: StreamOptions): Promise<Response> {
  return fold(await payloadsOf(provider, request, options));
}

/** A thread with one model that stores the conversation. */
export class Talk {
  readonly conversation: OutputItem[] = [];
  readonly #provider: ModelProvider;
  readonly #request: Omit<ModelRequest, 'conversation'>;

  constructor(provider: ModelProvider, request: Omit<ModelRequest, 'conversation'> = {}) {
    this.#provider = provider;
    this.#request = request;
  }

  async say(...items: OutputItem[]): Promise<Response> {
    this.conversation.push(...items);
    const response = await ask(this.#provider, { ...this.#request, conversation: this.conversation });
    this.conversation.push(...response.output_items);
    return response;
  }
}

export function callsOf({ output_items: items }: Response): FunctionCallItem[] {
  return items.filter((item) => item.type === 'function_call');
}

/** A clock that advances only on request, or at once in each wait. */
export class FakeClock {
  /** The elapsed time. */
  time = 1_700_000_000_000;
  /** The offset of the system's time. */
  jumpedMs = 0;
  chance = 0.5;
  /** The durations of the waits, in ms. */
  readonly waits: number[] = [];
  readonly #immediate: (ms: number) => boolean;

  /** `immediate`: the waits that end at once. The others never end. */
  constructor(immediate: (ms: number) => boolean = () => false) {
    this.#immediate = immediate;
  }

  now(): number {
    return this.time + this.jumpedMs;
  }

  elapsed(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    this.waits.push(ms);
    if (!this.#immediate(ms)) return () => {};
    const timer = setTimeout(() => {
      this.time += ms;
      call();
    }, 0);
    return () => clearTimeout(timer);
  }

  random(): number {
    return this.chance;
  }
}
