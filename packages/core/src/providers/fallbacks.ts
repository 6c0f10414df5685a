import { ToolscriptUsageError, type EventPayload, type ModelProvider, type Usage } from '../protocol/index.js';
import { QUOTA_CODES } from './transport/failures.js';

/**
 * One provider of several: if a model cannot answer, the next one gets the same request. That is so if the failure may
 * pass but outlasts the retries (overload, 5xx, the connection), or if a quota is used up, and only before an item of
 * the answer has started. A `request_retry` names the next `model`. Later requests go to that model too. The usage of
 * the other models is part of `by_model`.
 */
export function withFallbacks(providers: readonly ModelProvider[]): ModelProvider {
  const [first] = providers;
  if (first === undefined) throw new ToolscriptUsageError('PROVIDER_WITHOUT_MODEL');
  if (providers.length === 1) return first;
  const line = new FallbackLine(providers);
  const { api, model, capabilities } = first;
  return Object.freeze({ api, model, capabilities, stream: (...request: Asked) => line.stream(request) });
}

type Asked = Parameters<ModelProvider['stream']>;
/** Payloads that precede an answer. */
const OUTSIDE_ITEMS: readonly string[] = ['request_retry', 'background_answer'];

type Failure = Extract<EventPayload, { type: 'response_error' }>;

class FallbackLine {
  readonly #providers: readonly ModelProvider[];
  /** The provider of the next request. */
  #current = 0;

  constructor(providers: readonly ModelProvider[]) {
    this.#providers = providers;
  }

  async *stream(request: Asked): AsyncGenerator<EventPayload> {
    const { continues } = request[1] ?? {};
    if (continues !== undefined) return yield* this.#continue(continues.model, request);
    for (let index = this.#current; ; index += 1) {
      const failure = yield* this.#ask(index, request);
      if (failure === undefined) return;
      const { model } = this.#providers[index + 1]!;
      this.#current = Math.max(this.#current, index + 1);
      yield retryWith(failure, this.#providers[index]!.model, model);
    }
  }

  /** Yields the answer that an earlier process began. Its service alone has it. */
  async *#continue(model: string, request: Asked): AsyncGenerator<EventPayload> {
    const index = this.#providers.findIndex((provider) => provider.model === model);
    for await (const payload of this.#providers[Math.max(index, 0)]!.stream(...request))
      yield index <= 0 ? payload : withModelUsage(payload, model);
  }

  /** Yields the answer of one provider, or returns the failure because of which the next provider gets the request. */
  async *#ask(index: number, request: Asked): AsyncGenerator<EventPayload, Failure | undefined> {
    const provider = this.#providers[index]!;
    const isLast = index === this.#providers.length - 1;
    let held: EventPayload[] | undefined = [];
    for await (const payload of provider.stream(...request)) {
      const counted = index === 0 ? payload : withModelUsage(payload, provider.model);
      if (held === undefined || OUTSIDE_ITEMS.includes(payload.type)) {
        yield counted;
        continue;
      }
      if (!isLast && payload.type === 'response_error' && movesOn(payload)) return payload;
      held.push(counted);
      if (payload.type !== 'item_start' && payload.type !== 'response_done') continue;
      yield* held;
      held = undefined;
    }
    yield* held ?? [];
    return undefined;
  }
}

function movesOn({ code, ...more }: Failure): boolean {
  const { retryable, status } = more as { retryable?: unknown; status?: unknown };
  return retryable === true || status === 429 || status === 402 || QUOTA_CODES.includes(code);
}

function retryWith({ code, message, ...more }: Failure, from: string, model: string): EventPayload {
  const { status, attempts = 1 } = more as { status?: number; attempts?: number };
  const text = `${message} The model ${model} gets the request in place of ${from}.`;
  return { type: 'request_retry', code, message: text, status, attempts, delay_ms: 0, model };
}

/** Counts the usage of an answer as that of its model. */
function withModelUsage(payload: EventPayload, model: string): EventPayload {
  if (payload.type !== 'usage_update') return payload;
  const { usage } = payload;
  const { by_model: others = {} } = usage;
  const own: Record<string, number> = {};
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value !== 'number' || name === 'context_tokens') continue;
    own[name] = Object.values(others).reduce((left, part) => left - (Number(part[name]) || 0), value);
  }
  return { ...payload, usage: { ...usage, by_model: { ...others, [model]: own as Usage } } };
}
