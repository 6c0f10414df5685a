import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { streamOf } from '../providers/wire-text.js';

/*
 * Two services that run code themselves, over HTTP. They play a plan and judge every request by the documented rules:
 * results alone follow calls of code, with the container; callers and sealed members come back unchanged.
 */

export type HostedApi = 'anthropic-messages' | 'openai-responses';
export const HOSTED_APIS: readonly HostedApi[] = ['anthropic-messages', 'openai-responses'];

type Json = Readonly<Record<string, unknown>>;

interface PlannedCall {
  readonly name: string;
  readonly args: object;
  /** The model makes the call itself. */
  readonly direct?: true;
}

export type Step =
  /** New code, or the code that waits, calls tools. */
  | { readonly type: 'calls'; readonly calls: readonly PlannedCall[]; readonly newCode?: boolean }
  | { readonly type: 'output'; readonly output: string; readonly text?: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refuse'; readonly status: number; readonly message: string };

export interface HostedService {
  readonly baseUrl: string;
  readonly requests: readonly Json[];
  /** Rules that requests broke. */
  readonly faults: readonly string[];
}

/** Takes the next step of the plan for each request. `expiresAt`: the end of each container, as the service reports it. */
export async function startHostedService(
  api: HostedApi,
  plan: Step[],
  expiresAt: () => string = () => '2126-01-01T00:00:00Z',
): Promise<HostedService> {
  const requests: Json[] = [];
  const faults: string[] = [];
  const wire = hostedWire(api, expiresAt);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Json;
      requests.push(body);
      faults.push(...wire.judge(body).map((fault) => `request ${requests.length}: ${fault}`));
      const step = plan.shift() ?? { type: 'text', text: 'The plan is over.' };
      const isRefusal = step.type === 'refuse';
      response.writeHead(isRefusal ? step.status : 200, {
        'content-type': isRefusal ? 'application/json' : 'text/event-stream',
      });
      response.end(
        isRefusal
          ? JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: step.message } })
          : wire.answer(step, requests.length),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, faults };
}

/** The service without HTTP. */
export function hostedWire(api: HostedApi, expiresAt: () => string = () => '2126-01-01T00:00:00Z'): Service {
  return api === 'anthropic-messages' ? new MessagesService(expiresAt) : new ResponsesService();
}

type Playable = Exclude<Step, { type: 'refuse' }>;

export interface Service {
  judge(body: Json): string[];
  answer(step: Playable, count: number): string;
}

const isByCode = (caller: Json | undefined): caller is Json => caller !== undefined && caller.type !== 'direct';

const listOf = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);

class MessagesService implements Service {
  readonly #expiresAt: () => string;
  #code = '';
  #hasContainer = false;
  #calls = 0;

  constructor(expiresAt: () => string) {
    this.#expiresAt = expiresAt;
  }

  judge(body: Json): string[] {
    const faults: string[] = [];
    this.#hasContainer = body.container !== undefined;
    const messages = listOf(body.messages);
    const blocks = messages.flatMap(({ content }) => listOf(content));
    const ended = new Set(
      blocks.flatMap((block) => (block.type === 'code_execution_tool_result' ? [block.tool_use_id] : [])),
    );
    const codes = new Set(blocks.flatMap((block) => (block.type === 'server_tool_use' ? [block.id] : [])));
    for (const id of ended) if (!codes.has(id)) faults.push(`the result ${String(id)} belongs to no code`);
    let waits = false;
    for (const [index, message] of messages.entries()) {
      if (message.role !== 'assistant') continue;
      const uses = listOf(message.content).filter(({ type }) => type === 'tool_use');
      const next = listOf(messages[index + 1]?.content);
      const results = next.filter(({ type }) => type === 'tool_result').map(({ tool_use_id: id }) => id);
      if (JSON.stringify(results) !== JSON.stringify(uses.map(({ id }) => id))) faults.push('calls and results differ');
      for (const { caller } of uses as { caller?: Json }[])
        if (isByCode(caller) && !codes.has(caller.tool_id)) faults.push('a call names no code');
      const pending = (uses as { caller?: Json }[]).some(
        ({ caller }) => isByCode(caller) && !ended.has(caller.tool_id),
      );
      if (!pending) continue;
      waits = true;
      if (next.some(({ type }) => type !== 'tool_result')) faults.push('more than results follows calls of code');
      if (next.some(({ content }) => typeof content !== 'string')) faults.push('code reads no images');
      if (next.some((block) => 'cache_control' in block)) faults.push('results for code are marked for the cache');
      if (messages[index + 2]?.role === 'user') faults.push('a message follows results of code');
    }
    const offers = listOf(body.tools).some(({ type }) => type === 'code_execution_20260120');
    if (waits && !offers) faults.push('code waits, and its tool is missing');
    if (waits && body.container === undefined) faults.push('container_id is required when there are pending tool uses');
    const choice = body.tool_choice as Json | undefined;
    if (offers && choice?.disable_parallel_tool_use === true) faults.push('parallel calls are limited');
    return faults;
  }

  answer(step: Playable, count: number): string {
    const blocks = this.#blocksOf(step, count);
    const waits = step.type === 'calls';
    const usesContainer = this.#hasContainer || step.type !== 'text';
    const container = { id: `container_${count}`, expires_at: this.#expiresAt() };
    return streamOf(
      {
        type: 'message_start',
        message: {
          id: `msg_${count}`,
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      ...blocks.flatMap((block, index) => streamed(block, index)),
      {
        type: 'message_delta',
        delta: { stop_reason: waits ? 'tool_use' : 'end_turn', ...(usesContainer ? { container } : {}) },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    );
  }

  #blocksOf(step: Playable, count: number): Json[] {
    if (step.type === 'text') return [{ type: 'text', text: step.text }];
    if (step.type === 'output')
      return [
        {
          type: 'code_execution_tool_result',
          tool_use_id: this.#code,
          content: { type: 'code_execution_result', stdout: step.output, stderr: '', return_code: 0, content: [] },
        },
        ...(step.text === undefined ? [] : [{ type: 'text', text: step.text }]),
      ];
    if (step.newCode !== false) this.#code = `srvtoolu_${count}`;
    const code = {
      type: 'server_tool_use',
      id: this.#code,
      name: 'code_execution',
      input: { code: codeOf(step.calls) },
    };
    const caller = { type: 'code_execution_20260120', tool_id: this.#code };
    return [
      ...(step.newCode === false ? [] : [code]),
      ...step.calls.map(({ name, args, direct }) => ({
        type: 'tool_use',
        id: `toolu_${(this.#calls += 1)}`,
        name,
        input: args,
        caller: direct ? { type: 'direct' } : caller,
      })),
    ];
  }
}

function streamed(block: Json, index: number): object[] {
  if (block.type === 'text')
    return [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } },
      { type: 'content_block_stop', index },
    ];
  if (block.input === undefined)
    return [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ];
  return [
    { type: 'content_block_start', index, content_block: { ...block, input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    },
    { type: 'content_block_stop', index },
  ];
}

class ResponsesService implements Service {
  #code = '';
  #calls = 0;
  readonly #sealed = new Map<string, string>();

  judge(body: Json): string[] {
    const faults: string[] = [];
    const input = listOf(body.input);
    const ended = new Set(input.flatMap((item) => (item.type === 'program_output' ? [item.call_id] : [])));
    const codes = new Set<unknown>();
    const calls = new Map<unknown, Json>();
    let waiting = false;
    for (const item of input) {
      const caller = item.caller as Json | undefined;
      if (item.type === 'program') {
        codes.add(item.call_id);
        if (JSON.stringify(item) !== this.#sealed.get(String(item.call_id))) faults.push('a program was changed');
      }
      if (item.type === 'program_output' && !codes.has(item.call_id)) faults.push('an output belongs to no program');
      if (item.type === 'message' && item.role === 'user' && waiting)
        faults.push('a message follows a waiting program');
      if (item.type === 'function_call') {
        calls.set(item.call_id, item);
        if (caller?.type === 'program' && !codes.has(caller.caller_id)) faults.push('a call names no program');
        if (caller?.type === 'program' && !ended.has(caller.caller_id)) waiting = true;
      }
      if (item.type !== 'function_call_output') continue;
      const call = calls.get(item.call_id);
      if (JSON.stringify(call?.caller) !== JSON.stringify(caller)) faults.push('a result has another caller');
      if (caller?.type === 'program' && typeof item.output !== 'string') faults.push('code reads no images');
      calls.delete(item.call_id);
    }
    if (calls.size > 0) faults.push('calls without results');
    const offers = listOf(body.tools).some(({ type }) => type === 'programmatic_tool_calling');
    if (waiting && !offers) faults.push('a program waits, and its tool is missing');
    return faults;
  }

  answer(step: Playable, count: number): string {
    const output = this.#itemsOf(step, count);
    const response = { id: `resp_${count}`, model: 'm', status: 'completed' };
    return streamOf(
      { type: 'response.created', response: { ...response, status: 'in_progress' } },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: { ...response, output, usage: { input_tokens: 1, output_tokens: 5 } } },
    );
  }

  #itemsOf(step: Playable, count: number): Json[] {
    const message = (words: string) => ({
      type: 'message',
      id: `msg_${count}`,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: words, annotations: [] }],
    });
    if (step.type === 'text') return [message(step.text)];
    if (step.type === 'output')
      return [
        { type: 'program_output', id: `out_${count}`, call_id: this.#code, result: step.output, status: 'completed' },
        ...(step.text === undefined ? [] : [message(step.text)]),
      ];
    if (step.newCode !== false) this.#code = `call_prog_${count}`;
    const program = {
      type: 'program',
      id: `prog_${count}`,
      call_id: this.#code,
      code: codeOf(step.calls),
      fingerprint: `seal ${count}`,
    };
    if (step.newCode !== false) this.#sealed.set(this.#code, JSON.stringify(program));
    return [
      ...(step.newCode === false ? [] : [program]),
      ...step.calls.map(({ name, args, direct }) => ({
        type: 'function_call',
        id: `fc_${(this.#calls += 1)}`,
        call_id: `call_${this.#calls}`,
        name,
        arguments: JSON.stringify(args),
        caller: direct ? { type: 'direct' } : { type: 'program', caller_id: this.#code },
      })),
    ];
  }
}

function codeOf(calls: readonly PlannedCall[]): string {
  return calls.map(({ name, args }) => `await ${name}(${JSON.stringify(args)})`).join('\n');
}
