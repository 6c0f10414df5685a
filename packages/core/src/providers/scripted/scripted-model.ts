import { setTimeout as wait } from 'node:timers/promises';
import type { ModelProvider } from '../../protocol/index.js';
import type { ProviderApi } from '../answer-writer.js';
import { createProvider, type ProviderOptions } from '../create-provider.js';
import type { Fetch } from '../transport/post.js';
import { textOfFrame, type Frame } from './frames.js';
import type { Scenario } from './scenario.js';
import { ScriptedEndpoint, type EndpointReply } from './scripted-endpoint.js';

export interface ScriptedModelOptions extends Partial<Omit<ProviderOptions, 'fetch' | 'baseUrl'>> {
  /** The wire format between harness and model. Default `openai-responses`. */
  api?: ProviderApi | undefined;
}

export interface ScriptedModel extends ModelProvider {
  /** One message for each request that violates the format or the rules of conversation. */
  readonly violations: readonly string[];
  /** The request bodies, parsed as JSON. */
  readonly requests: readonly unknown[];
  /** Turns of the scenario that no request has consumed. */
  readonly turnsLeft: number;
}

/**
 * A model that plays a scenario in this process, without a network. It combines a real provider with the endpoint of
 * `startScriptedServer`, so requests are encoded, checked and answered in the same way.
 *
 * @throws ToolscriptUsageError for an invalid scenario.
 */
export function scriptedModel(scenario: Scenario, options: ScriptedModelOptions = {}): ScriptedModel {
  const { api = 'openai-responses', ...others } = options;
  const endpoint = new ScriptedEndpoint(scenario);
  const provider = createProvider(api, {
    model: 'scripted',
    ...others,
    baseUrl: 'http://scripted.invalid/v1',
    fetch: endpointFetch(endpoint),
  });
  return {
    ...provider,
    violations: endpoint.violations,
    requests: endpoint.requests,
    get turnsLeft() {
      return endpoint.turnsLeft;
    },
  };
}

function endpointFetch(endpoint: ScriptedEndpoint): Fetch {
  return async (url, { method, headers, body, signal }) => {
    const named = Object.fromEntries(new Headers(headers));
    const text = typeof body === 'string' ? body : '';
    const { pathname: path, search: query } = new URL(url);
    return replyResponse(endpoint.reply({ method, path, query, headers: named, body: text }), signal ?? undefined);
  };
}

function replyResponse(reply: EndpointReply, signal: AbortSignal | undefined): Response {
  switch (reply.type) {
    case 'drop':
      throw new TypeError('fetch failed', { cause: new Error('The scenario dropped the connection.') });
    case 'json':
      return new Response(JSON.stringify(reply.body), {
        status: reply.status,
        headers: { 'content-type': 'application/json', 'x-request-id': reply.requestId, ...reply.headers },
      });
    case 'stream':
      return new Response(frameStream(reply.frames, reply.heard, signal), {
        headers: { 'content-type': 'text/event-stream', 'x-request-id': reply.requestId },
      });
  }
}

/** The frames as a stream. A frame is sent only when the caller reads. */
function frameStream(
  frames: readonly Frame[],
  heard: () => void,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const frame = frames[next++];
          if (frame === undefined) return controller.close();
          if (frame.type === 'cut') return controller.error(new Error('The scenario closed the connection.'));
          if (frame.type === 'event') {
            // A reader stops after the last frame and never reads the end of the stream.
            if (next === frames.length) heard();
            return controller.enqueue(encoder.encode(textOfFrame(frame)));
          }
          await wait(frame.ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
        }
      },
    },
    { highWaterMark: 0 },
  );
}
