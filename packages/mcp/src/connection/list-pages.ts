import type { Client } from '@modelcontextprotocol/client';
import { ANY_RESULT } from './any-result.js';

const MAX_PAGES = 100;

interface ListRequest {
  readonly method: 'tools/list' | 'resources/list' | 'resources/templates/list';
  /** The member of the result that contains the list. */
  readonly member: 'tools' | 'resources' | 'resourceTemplates';
  readonly maxItems: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ListedItems {
  readonly items: readonly unknown[];
  /** The reason why the list may be incomplete; undefined if it is complete. */
  readonly incomplete: string | undefined;
}

export interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor: string | undefined;
}

/** Reads the pages of a list, until the server has no more pages, repeats a cursor, or exceeds a maximum. */
export async function listPages(client: Client, request: ListRequest): Promise<ListedItems> {
  const items: unknown[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await readPage(client, request, cursor);
    const room = request.maxItems - items.length;
    items.push(...page.items.slice(0, room));
    cursor = page.nextCursor;
    // defence: mcp-lists-end
    if (page.items.length > room || (cursor !== undefined && items.length === request.maxItems))
      return { items, incomplete: `its list has more than ${request.maxItems} entries` };
    if (cursor === undefined) return { items, incomplete: undefined };
    if (cursors.has(cursor)) return { items, incomplete: 'its list repeats a page' };
    cursors.add(cursor);
  }
  return { items, incomplete: `its list has more than ${MAX_PAGES} pages` };
}

export async function readPage(
  client: Client,
  { method, member, timeoutMs, signal }: Omit<ListRequest, 'maxItems'>,
  cursor: string | undefined,
): Promise<Page> {
  const options = signal === undefined ? { timeout: timeoutMs } : { timeout: timeoutMs, signal };
  const params = cursor === undefined ? {} : { cursor };
  const result = (await client.request({ method, params }, ANY_RESULT, options)) as Record<string, unknown> | null;
  const items = result?.[member];
  const nextCursor = result?.['nextCursor'];
  return {
    items: Array.isArray(items) ? items : [],
    nextCursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined,
  };
}
