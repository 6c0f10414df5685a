import type { Run, StreamEvent } from '@toolscript/core/protocol';
import { z } from 'zod';
import type { RunOptions } from '@toolscript/service';
import { ResponseTranslator } from './response-translator.js';
import { INCLUDE_SCRIPTS, RequestEchoSchema, type RequestEcho, type ResponseResource } from './wire.js';

const StoredRequestSchema = z.object({
  echo: RequestEchoSchema,
  include: z.array(z.string()),
  /** Number of input items that the client sent. The items before them are copies from an earlier thread. */
  inputItems: z.number(),
});
/** The part of the request that the run's options store. */
export type StoredRequest = z.infer<typeof StoredRequestSchema>;

const ID_PREFIX = 'resp_';

/** The id of a run's response. Every run is a response, even one that no request of this API started. */
function runResponseId(runId: string): string {
  return `${ID_PREFIX}${runId}`;
}

/** The id of the response's run. Returns undefined if the id names no response. */
export function responseRunId(responseId: string): string | undefined {
  return responseId.startsWith(ID_PREFIX) ? responseId.slice(ID_PREFIX.length) : undefined;
}

/** The request that created a run. Returns undefined for a run that no request of this API started. */
export function storedRequest({ options }: Run): StoredRequest | undefined {
  const parsed = StoredRequestSchema.safeParse((options as { request?: unknown }).request);
  return parsed.success ? parsed.data : undefined;
}

export function runTranslator(run: Run, include: readonly string[] = []): ResponseTranslator {
  const request = storedRequest(run);
  const { settings } = run.options as RunOptions;
  return new ResponseTranslator({
    response: emptyResponse(run, request?.echo ?? defaultEcho(run)),
    clientFunctions: new Set(settings?.clientFunctions?.map(({ name }) => name)),
    showsScripts: [...include, ...(request?.include ?? [])].includes(INCLUDE_SCRIPTS),
  });
}

/** The current state of the response. */
export async function runResponse(
  run: Run,
  events: AsyncIterable<StreamEvent> | Iterable<StreamEvent>,
  include: readonly string[],
): Promise<ResponseResource> {
  const translator = runTranslator(run, include);
  for await (const event of events) {
    translator.take(event);
    translator.read();
  }
  const { response } = translator;
  if (run.state !== 'queued' && run.state !== 'running') return response;
  const { metadata } = storedRequest(run)?.echo ?? response;
  const status = run.state === 'queued' ? 'queued' : 'in_progress';
  return { ...response, status, incomplete_details: null, metadata };
}

/** The parts of the JSON text of a response. */
export function* responseTexts({ output, ...members }: ResponseResource): Generator<string, void, undefined> {
  yield `${JSON.stringify(members).slice(0, -1)},"output":[`;
  for (const [index, item] of output.entries()) yield `${index === 0 ? '' : ','}${JSON.stringify(item)}`;
  yield ']}';
}

function emptyResponse({ runId, createdAt }: Run, echo: RequestEcho): ResponseResource {
  return {
    id: runResponseId(runId),
    object: 'response',
    created_at: Math.floor(createdAt / 1000),
    completed_at: null,
    status: 'in_progress',
    incomplete_details: null,
    error: null,
    output: [],
    usage: null,
    ...echo,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_tool_calls: null,
    service_tier: 'default',
  };
}

function defaultEcho({ options }: Run): RequestEcho {
  const { agentId = '', model = agentId } = options as RunOptions;
  return {
    model,
    previous_response_id: null,
    instructions: null,
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    temperature: 1,
    max_output_tokens: null,
    reasoning: { effort: null, summary: null },
    truncation: 'disabled',
    store: true,
    background: false,
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    text: { format: { type: 'text' } },
  };
}
