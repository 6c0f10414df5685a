import { foldResponse } from '#core/history/index.js';
import { StreamEventSchema, type OutputItem, type Response, type StreamEvent } from '#core/protocol/index.js';
import { decodeStream, type AnswerBody, type ProviderApi } from '#core/providers/index.js';

/** The events of an answer under fixed names, so that two readings can be compared. */
export async function eventsOf(api: ProviderApi, body: AnswerBody): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of decodeStream(api, body, { runId: 'run', threadId: 'thr', turnId: 'turn' })) {
    events.push(event);
  }
  return events;
}

export async function responseOf(api: ProviderApi, body: AnswerBody): Promise<Response> {
  return foldResponse(await eventsOf(api, body));
}

/**
 * Checks the laws of every stream of events, for any body. Returns the findings; none if all laws hold. `schemaFrom`:
 * the first event that is compared with the schema.
 */
export function brokenLaws(events: readonly StreamEvent[], schemaFrom = 0): string[] {
  const findings: string[] = [];
  const open = new Set<string>();
  for (const [index, event] of events.entries()) {
    const { payload } = event;
    const parsed = index < schemaFrom ? undefined : StreamEventSchema.safeParse(event);
    if (parsed?.success === false) findings.push(`${index}: ${parsed.error.message}`);
    if (event.seq !== index) findings.push(`${index}: seq ${event.seq}`);
    if ((payload.type === 'response_start') !== (index === 0)) findings.push(`${index}: ${payload.type}`);
    if ((payload.type === 'response_done') !== (index === events.length - 1))
      findings.push(`${index}: ${payload.type}`);
    switch (payload.type) {
      case 'item_start':
        if (open.has(payload.item_id)) findings.push(`${index}: started twice`);
        open.add(payload.item_id);
        break;
      case 'item_delta':
        if (!open.has(payload.item_id)) findings.push(`${index}: a delta of no open item`);
        break;
      case 'item_done':
      case 'item_error':
      case 'item_cancelled':
        if (!open.delete(payload.item_id)) findings.push(`${index}: the end of no open item`);
        break;
      default:
    }
  }
  if (open.size > 0) findings.push('items were left open');
  return findings;
}

type Item<Type extends OutputItem['type']> = Extract<OutputItem, { type: Type }>;

export function itemsOf<Type extends OutputItem['type']>(response: Response, type: Type): Item<Type>[] {
  return response.output_items.filter((item): item is Item<Type> => item.type === type);
}

export function textOf(response: Response): string {
  return itemsOf(response, 'message')
    .map(({ content }) => content)
    .join('');
}

export function reasoningOf(response: Response): string {
  return itemsOf(response, 'reasoning')
    .map(({ content }) => content)
    .filter((content) => content !== '')
    .join('\n');
}

/** The last payload. */
export function doneOf(events: readonly StreamEvent[]): Record<string, unknown> {
  return events.at(-1)!.payload;
}
