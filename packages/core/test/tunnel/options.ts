import { z } from 'zod';
import type { AgentInput, RunAgentOptions } from '#core/agent/index.js';
import { readFilePart } from '#core/history/index.js';
import { createProvider, type ProviderOptions } from '#core/providers/index.js';
import type { FilePart } from '#core/protocol/index.js';
import { openWorld, play } from '../agent/running.js';
import { ask, ONE_OR_TWO, user } from '../providers/asking.js';
import { answerTo, type Turn } from './answers.js';
import { agentFor, type Family } from './families.js';
import { TunnelService } from './tunnel-service.js';
import type { Shapes } from './streams.js';

/* Everything that an agent, a run or a provider can be told to use, with models of every family. */

interface Option {
  readonly agent?: Partial<AgentInput>;
  readonly run?: Partial<RunAgentOptions>;
  readonly provider?: (api: Family['api']) => Partial<ProviderOptions>;
}

const VALUE = z.toJSONSchema(z.object({ n: z.number().min(1), notes: z.array(z.object({ text: z.string() })) }));
const OPTIONAL = { type: 'object', properties: { n: { type: 'number' }, why: { type: 'string' } }, required: ['n'] };
const [PDF, WAV] = [
  readFilePart('report.pdf', Buffer.from('%PDF-1.7\n%%EOF\n')),
  readFilePart('call.wav', Buffer.from('RIFF\x04\0\0\0WAVE', 'latin1')),
] as FilePart[];

export const OPTIONS: Readonly<Record<string, Option>> = {
  'a schema of the final answer': { run: { outputSchema: VALUE } },
  'a schema with an optional member': { run: { outputSchema: OPTIONAL } },
  'a script as the final answer': { agent: { finish: 'script' }, run: { outputSchema: VALUE } },
  'a PDF and a recording': { run: { input: [user('Read this.', { files: [PDF, WAV] })] } },
  'a service tier': {
    provider: (api) => ({ serviceTier: api === 'anthropic-messages' ? 'standard_only' : 'flex' }),
  },
  'marks of a cached prefix': {
    agent: { instructions: 'Keep the files tidy. '.repeat(400) },
    provider: () => ({ responses: { cacheBreakpoints: true }, chat: { cacheBreakpoints: true } }),
  },
  'background answers': { provider: () => ({ responses: { background: true } }) },
  'stored answers': { provider: () => ({ responses: { store: true } }) },
  'scripts as raw text': { agent: { carrier: 'custom' } },
  'scripts in the text': { agent: { carrier: 'text' } },
  'a temperature and the least effort': { agent: { temperature: 0.5, reasoningEffort: 'none' } },
};

const SCRIPT: Turn = {
  parts: [
    { type: 'reasoning', text: 'A sum.' },
    { type: 'script', code: 'return { n: 3, notes: [] };' },
  ],
};
const VALUE_TEXT: Turn = { parts: [{ type: 'text', text: '{"n":3,"notes":[]}' }] };

/** The requests of an agent with the option, over two prompts, and their refusals. */
export async function requestsWith(family: Family, option: Option, shapes?: Shapes) {
  const { api, model } = family;
  let requests = 0;
  const say = (body: Readonly<Record<string, unknown>>) => {
    requests += 1;
    return { body: answerTo(api, body, requests % 2 === 1 ? SCRIPT : VALUE_TEXT, requests) };
  };
  const service = new TunnelService(api, model, say, { shape: shapes?.[api] });
  const { chat, ...settings } = option.provider?.(api) ?? {};
  const provider = createProvider(api, {
    model,
    environment: {},
    retries: { maxRetries: 0 },
    fetch: service.fetch,
    chat: { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false, ...chat },
    ...settings,
  });
  const world = openWorld();
  const scene = { provider, server: undefined as never };
  const agent = agentFor(family, option.agent ?? {});
  const { history } = await play(world, scene, agent, option.run);
  await play(world, scene, agent, { ...option.run, history, input: 'Again.' });
  await ask(provider, { conversation: [user('Count.')], ...(agent.carrier === 'text' ? {} : { tools: [ONE_OR_TWO] }) });
  return { refusals: service.refusals, requests };
}
