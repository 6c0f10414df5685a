import fc from 'fast-check';

export interface CuttingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** The number of interrupted connections. */
  readonly cuts: () => number;
  /** The `Last-Event-ID` of each request. */
  readonly lastEventIds: (string | null)[];
}

/**
 * The global `fetch`. Its bodies end early after a random number of bytes, also in the middle of an event, and the
 * connection is closed then. After `maxCuts`, no body ends early.
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
