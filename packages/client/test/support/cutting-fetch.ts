import fc from 'fast-check';

export interface CuttingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Connections that were cut. */
  readonly cuts: () => number;
  /** The `Last-Event-ID` of each request. */
  readonly lastEventIds: (string | null)[];
}

/**
 * The global `fetch`, whose bodies break off after a random number of bytes, in the middle of an event too. The
 * connection is closed then. After `maxCuts` nothing breaks any more.
 */
export function cuttingFetch(seed: number, { maxCuts, maxBytes }: { maxCuts: number; maxBytes: number }): CuttingFetch {
  const lengths = fc.sample(fc.integer({ min: 0, max: maxBytes }), { seed, numRuns: maxCuts });
  const lastEventIds: (string | null)[] = [];
  let cuts = 0;
  const cutting: typeof globalThis.fetch = async (input, init = {}) => {
    lastEventIds.push(new Headers(init.headers).get('last-event-id'));
    const length = lengths.pop();
    if (length === undefined) return fetch(input, init);
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, ...(init.signal instanceof AbortSignal ? [init.signal] : [])]);
    const response = await fetch(input, { ...init, signal });
    if (response.body === null) return response;
    const onCut = () => {
      cuts += 1;
      stop.abort();
    };
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(breakAfter(length, onCut)), { status, headers });
  };
  return { fetch: cutting, cuts: () => cuts, lastEventIds };
}

function breakAfter(length: number, onCut: () => void): TransformStream<Uint8Array, Uint8Array> {
  let left = length;
  return new TransformStream({
    transform(chunk, controller) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      if (part.length > 0) controller.enqueue(part);
      if (left > 0) return;
      onCut();
      controller.error(new Error('cut'));
    },
  });
}
