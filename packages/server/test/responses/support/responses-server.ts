import OpenAI from 'openai';
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import type { ModelRequest } from '@toolscript/core/ports';
import { expect } from 'vitest';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../../support/test-server.js';
import { helperAgent } from './helper-agent.js';
import { EventSchema, ResponseSchema } from './specification.js';

export const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  strict: null,
} as const;

/** A PNG of one pixel, in base64. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

type Params = Omit<ResponseCreateParamsNonStreaming, 'stream'>;

interface ResponsesTools {
  readonly client: OpenAI;
  /** A whole response. Its shape is the specified one. */
  create(params: Params): Promise<Response>;
  /** The events of a streamed response, each of the specified shape, and the official client's reading of them. */
  stream(params: Params): Promise<{ events: ResponseStreamEvent[]; final: Response }>;
  /** The requests of `helper`'s model, in order. */
  readonly requests: readonly ModelRequest[];
}

export type ResponsesServer = TestServer & ResponsesTools;

/** A server with the agent `helper`, and the official client for it. */
export async function openResponsesServer(options: Omit<TestServerOptions, 'agents'> = {}): Promise<ResponsesServer> {
  let helper: ReturnType<typeof helperAgent>;
  const server: TestServer = await openTestServer({ ...options, agents: (parts) => [(helper = helperAgent(parts))] });
  const client = clientOf(server.url, TOKEN);

  const create = async (params: Params) => {
    const response = await client.responses.create({ model: 'helper', ...params });
    const { output_text: _added, ...sent } = response;
    ResponseSchema.parse(sent);
    return response;
  };

  const stream = async (params: Params) => {
    const streaming = client.responses.stream({ model: 'helper', ...params } as never);
    const events: ResponseStreamEvent[] = [];
    for await (const event of streaming) events.push(event as ResponseStreamEvent);
    checkEvents(events);
    return { events, final: (await streaming.finalResponse()) as Response };
  };
  return Object.assign(server, { client, create, stream, requests: helper!.requests });
}

export function clientOf(url: string, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** The guarantees of every stream. */
export function checkEvents(events: readonly object[]): void {
  const types: string[] = [];
  for (const [index, event] of events.entries()) {
    const { snapshot: _added, ...sent } = event as { snapshot?: unknown };
    const parsed = EventSchema.parse(sent);
    expect(parsed.sequence_number).toBe(index);
    types.push(parsed.type);
  }
  expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
  expect(types.at(-1)).toMatch(/^response\.(completed|incomplete|failed)$/u);
  expect(types.filter((type) => type === 'response.output_item.added')).toHaveLength(
    types.filter((type) => type === 'response.output_item.done').length,
  );
}

/** Builds the output from the events before the last response, as a client shows it while the events arrive. */
export function outputOf(events: readonly ResponseStreamEvent[]): unknown[] {
  const output: unknown[] = [];
  for (const event of events) if (event.type === 'response.output_item.done') output[event.output_index] = event.item;
  return output;
}
