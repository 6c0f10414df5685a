import { createProvider } from '@toolscript/core/providers';

/**
 * The real provider of a wire format, with a listener for its bytes: `hear(text, atMs)` is called with each chunk of an
 * answer's body before the provider receives it.
 */
export function heardProvider(api, baseUrl, hear) {
  return createProvider(api, {
    model: 'bench',
    baseUrl,
    environment: {},
    fetch: async (url, init) => {
      const { body, status, headers } = await fetch(url, init);
      return new Response(body.pipeThrough(listening(hear)), { status, headers });
    },
  });
}

function listening(hear) {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(bytes, controller) {
      const atMs = performance.now();
      hear(decoder.decode(bytes, { stream: true }), atMs);
      controller.enqueue(bytes);
    },
  });
}
