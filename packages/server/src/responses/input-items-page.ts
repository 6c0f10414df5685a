import type { OutputItem, Run } from '@toolscript/core/protocol';
import { z } from 'zod';
import type { Service } from '../http/service.js';
import { allTurns } from '@toolscript/service';
import { inputItem } from './input-items.js';
import { storedRequest } from './response-resource.js';

export const InputItemsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(200).optional(),
});

/** A page of the input items of a response's request. */
export async function inputItemsPage(service: Service, run: Run, query: z.infer<typeof InputItemsQuery>) {
  const { limit, order, after } = query;
  const input = await runInput(service, run);
  const own = input.slice(-(storedRequest(run)?.inputItems ?? input.length));
  const ordered = order === 'asc' ? own : own.toReversed();
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  const page = ordered.slice(from, from + limit);
  return {
    object: 'list' as const,
    data: page.map((item) => inputItem(item) as { type: string; id: string }),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}

/**
 * The input of a run. Its first event contains the input. Before that event exists, the turn of the run contains only
 * the input.
 */
async function runInput({ stores }: Service, { runId, threadId }: Run): Promise<readonly OutputItem[]> {
  const { events } = await stores.threads.readEvents(runId, { limit: 1 });
  const payload = events[0]?.payload;
  if (payload?.type === 'response_start' && Array.isArray(payload.input)) return payload.input as OutputItem[];
  return (await allTurns(stores, threadId)).find((turn) => turn.runId === runId)?.items ?? [];
}
