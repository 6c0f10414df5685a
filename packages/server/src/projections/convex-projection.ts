import { limitedSignal } from '@toolscript/core/internal';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type { ConvexHttpClient } from 'convex/browser';
import type { FunctionReference } from 'convex/server';
import type { ProjectedItem, ProjectedRun, Projection } from '@toolscript/service';

/**
 * Maximum number of UTF-16 units in one part. A unit takes at most three bytes, so a part fits into a Convex document
 * of 1 MiB.
 */
const MAX_PART = 250_000;

/**
 * Maximum numbers of UTF-16 units and of parts in one call. A larger item has a call of its own. Convex accepts 16 MiB
 * and 16 000 documents per call.
 */
const MAX_BATCH = 1_000_000;
const MAX_BATCH_PARTS = 1_000;

const CALL_MS = 30_000;

const MIN_SECRET = 32;

export interface ConvexProjectionOptions {
  /**
   * The URL of the deployment, such as `https://happy-otter-123.convex.cloud`. Plain `http:` works only for a
   * deployment on this machine.
   */
  readonly url: string;
  /** The deployment's TOOLSCRIPT_SECRET, at least 32 characters. */
  readonly secret: string;
}

interface WireItem {
  readonly itemId: string;
  readonly position: number;
  readonly type: string;
  readonly parts: readonly string[];
}

/**
 * Writes to the tables of `convex/` in a Convex deployment. Rejects with a `ToolscriptUsageError` for a malformed or
 * unencrypted URL, for a short secret, and if the package `convex` is not installed.
 */
export async function openConvexProjection({ url, secret }: ConvexProjectionOptions): Promise<Projection> {
  const place = deploymentAddress(url);
  if (secret.length < MIN_SECRET) throw new ToolscriptUsageError('CONVEX_SECRET_TOO_SHORT', { least: MIN_SECRET });
  const { ConvexHttpClient, makeFunctionReference } = await loadClient();
  const client = new ConvexHttpClient(place, {
    logger: false,
    skipConvexDeploymentUrlCheck: true,
    fetch: fetchInTime,
  });
  return new ConvexProjection({ client, place, secret, functionNamed: makeFunctionReference });
}

/**
 * Rejects with a `TypeError` if the server reports that it is unavailable, as `fetch` does if it cannot reach the
 * server. Convex sends the status 560 if a function failed.
 */
async function fetchInTime(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(input, { ...init, signal: limitedSignal(CALL_MS) });
  const isFault = response.status === 429 || (response.status >= 500 && response.status !== 560);
  if (isFault) throw new TypeError(`status ${response.status}`);
  return response;
}

function deploymentAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isLocal = parsed !== undefined && ['127.0.0.1', 'localhost', '[::1]'].includes(parsed.hostname);
  if (parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLocal)) return parsed.origin;
  throw new ToolscriptUsageError('CONVEX_URL_INVALID');
}

async function loadClient() {
  try {
    const [{ ConvexHttpClient }, { makeFunctionReference }] = await Promise.all([
      import('convex/browser'),
      import('convex/server'),
    ]);
    return { ConvexHttpClient, makeFunctionReference };
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ToolscriptUsageError('CONVEX_NOT_INSTALLED');
  }
}

type Kind = 'query' | 'mutation';

interface ConvexParts {
  readonly client: ConvexHttpClient;
  readonly place: string;
  readonly secret: string;
  readonly functionNamed: (name: string) => FunctionReference<Kind>;
}

class ConvexProjection implements Projection {
  readonly #parts: ConvexParts;

  constructor(parts: ConvexParts) {
    this.#parts = parts;
  }

  async write(run: ProjectedRun, changed: readonly ProjectedItem[]): Promise<void> {
    const { runId, nextSeq } = run;
    for (const items of itemBatches(changed.map(wireItem)))
      await this.#call('mutation', 'putItems', { runId, nextSeq, items });
    await this.#call('mutation', 'putRun', { run });
  }

  async position(runId: string): Promise<number> {
    return (await this.#call('query', 'position', { runId })) as number;
  }

  async delete(runId: string): Promise<void> {
    while ((await this.#call('mutation', 'removeRun', { runId })) === true);
  }

  async #call(kind: Kind, name: string, args: object): Promise<unknown> {
    const { client, place, secret, functionNamed } = this.#parts;
    const named = functionNamed(`toolscript:${name}`);
    const all = { secret, ...args };
    try {
      // `skipQueue` disables the client's queue, because calls of several runs are independent.
      if (kind === 'query') return await client.query(named as FunctionReference<'query'>, all);
      return await client.mutation(named as FunctionReference<'mutation'>, all, { skipQueue: true });
    } catch (error) {
      throw projectionFault(error, place);
    }
  }
}

function wireItem({ position, item, text }: ProjectedItem): WireItem {
  return { itemId: item.id, position, type: item.type, parts: textParts(text) };
}

/** Splits a text into parts, without separating surrogate pairs. */
function textParts(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + MAX_PART, text.length);
    if (end < text.length && /[\ud800-\udbff]/u.test(text.charAt(end - 1))) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

/**
 * Groups items for calls. An item is never divided between two calls, because `putItems` needs all parts of an item.
 */
function itemBatches(items: readonly WireItem[]): WireItem[][] {
  const batches: WireItem[][] = [];
  let units = 0;
  let parts = 0;
  for (const item of items) {
    const length = item.parts.reduce((sum, part) => sum + part.length, 0);
    const last = batches.at(-1);
    if (last === undefined || units + length > MAX_BATCH || parts + item.parts.length > MAX_BATCH_PARTS) {
      batches.push([item]);
      [units, parts] = [length, item.parts.length];
    } else {
      last.push(item);
      units += length;
      parts += item.parts.length;
    }
  }
  return batches;
}

const SECRET_FAULTS: Readonly<Record<string, string>> = {
  'no-secret': 'has no secret. Set one: npx convex env set TOOLSCRIPT_SECRET "$(openssl rand -hex 32)"',
  'wrong-secret': 'refused the secret. Use the value of: npx convex env get TOOLSCRIPT_SECRET',
};

/**
 * The error for the caller. A fault in the data of one run is not a `StoreUnavailableError`, so that the other runs
 * continue.
 */
function projectionFault(error: unknown, place: string): Error {
  const { message = String(error), data } = error as {
    message?: string | undefined;
    data?: { code?: string | undefined } | undefined;
  };
  const secretFault = SECRET_FAULTS[data?.code ?? ''];
  if (secretFault !== undefined) return new StoreUnavailableError(`The Convex deployment ${place} ${secretFault}`);
  if (/Could not find (?:public )?function/u.test(message))
    return new StoreUnavailableError(
      `The Convex deployment ${place} lacks Toolscript's functions. Copy the folder convex/ of @toolscript/server into your project, and run: npx convex deploy`,
    );
  const isFault = error instanceof TypeError || (error as Error).name === 'TimeoutError';
  if (isFault)
    return new StoreUnavailableError(
      `The Convex deployment ${place} does not answer. Check the URL, and the network of this machine.`,
    );
  return new Error(
    `The Convex deployment ${place} failed: ${message.slice(0, 500)}. See its logs in the Convex dashboard.`,
    { cause: error },
  );
}
