import { memoryStore } from '#core/index.js';
import type { EventPayload, HarnessStore, ModelProvider, ModelRequest, StreamEvent } from '#core/protocol/index.js';

/* Models that answer as a function of their requests, and stores that remember their writes. */

export function withAnswer(payload: EventPayload, answerId: string | undefined): EventPayload {
  if (payload.type === 'item_start') return { ...payload, initial: { ...payload.initial, answer_id: answerId } };
  if (payload.type !== 'item_done') return payload;
  return { ...payload, final_item: { ...payload.final_item, answer_id: answerId } };
}

export function message(id: string, content: string): EventPayload[] {
  return [
    { type: 'item_start', item_id: id, item_type: 'message' },
    ...[...content].map((delta) => ({ type: 'item_delta' as const, item_id: id, delta })),
    { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } },
  ];
}

export function call(id: string, name: string, input: object): EventPayload[] {
  const item = { type: 'function_call', id, call_id: `call_${id}`, name, arguments: JSON.stringify(input) } as const;
  return [
    { type: 'item_start', item_id: id, item_type: 'function_call', initial: { name, call_id: item.call_id } },
    { type: 'item_done', item_id: id, final_item: item },
  ];
}

export const script = (id: string, code: string) => call(id, 'run_script', { code });
export type Write = (store: HarnessStore) => unknown;

/** A store that can be restored to its state after each of its writes. */
export function recording(store: HarnessStore): { store: HarnessStore; writes: Write[] } {
  const writes: Write[] = [];
  const port = <Name extends 'claim' | 'journal' | 'images'>(name: Name): HarnessStore[Name] =>
    new Proxy(store[name], {
      get: (target, method) => {
        const member = Reflect.get(target, method) as unknown;
        if (typeof member !== 'function') return member;
        return (...values: unknown[]): unknown => {
          writes.push((other) =>
            (other[name] as never as Record<string | symbol, (...all: unknown[]) => unknown>)[method]!(...values),
          );
          return (member as (...all: unknown[]) => unknown).apply(target, values);
        };
      },
    });
  return { store: { claim: port('claim'), journal: port('journal'), images: port('images') }, writes };
}

export async function replayed(writes: readonly Write[]): Promise<HarnessStore> {
  const store = memoryStore();
  for (const write of writes) await Promise.resolve(write(store)).catch(() => {});
  return store;
}

export async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** The parts of an answer: `turn` is the number of answers since the model's last prompt. */
export type Role = (turn: number, request: ModelRequest) => readonly EventPayload[][];

/** The usage of an answer. Default: nothing is reported. */
export type UsageOf = (request: ModelRequest) => { input_tokens: number; output_tokens: number };

/** A model that plays a role for each first prompt; the first role whose name is in the prompt counts. */
export function cast(
  roles: Readonly<Record<string, Role>>,
  usageOf?: UsageOf,
): ModelProvider & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream(request, options): AsyncGenerator<EventPayload> {
      asked.push(request);
      const { conversation } = request;
      const isPrompt = (item: (typeof conversation)[number]) => item.type === 'message' && item.role === 'user';
      const first = conversation.find(isPrompt)?.content as string;
      const name = Object.keys(roles).find((role) => first.includes(role));
      const since = conversation.slice(conversation.findLastIndex(isPrompt) + 1);
      const turn = new Set(since.map(({ answer_id: id }) => id).filter((id) => id !== undefined)).size;
      yield { type: 'response_start' };
      for (const payloads of name === undefined ? [] : roles[name]!(turn, request))
        for (const payload of payloads) yield withAnswer(payload, options?.answerId);
      if (usageOf !== undefined) yield { type: 'usage_update', usage: usageOf(request) };
      yield { type: 'response_done', status: options?.signal?.aborted === true ? 'cancelled' : 'completed' };
    },
  };
}

let made = 0;

/** An answer of text alone. */
export const says = (text: string) => [message(`said_${made++}`, text)];

/** An answer of one script. */
export const runs = (code: string) => [script(`ran_${made++}`, code)];
