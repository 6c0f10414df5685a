import type { ModelTool, OutputItem } from '#core/protocol/index.js';
import { createProvider, type ProviderApi } from '#core/providers/index.js';
import { openWorld, play, type World } from '../agent/running.js';
import { ask, GET_WEATHER, RUN_SCRIPT, user } from '../providers/asking.js';
import { answerTo } from './answers.js';
import { agentFor, FAMILIES, type Family } from './families.js';
import { SealedBlocks, TunnelService, type ShapeCheck } from './tunnel-service.js';

/* The answers of recorded streams, which an agent receives, continue with models of every family. */

export type Shapes = Readonly<Record<ProviderApi, ShapeCheck>>;

const TOOLS: readonly ModelTool[] = [GET_WEATHER, RUN_SCRIPT];

/** The refusals while the stream is the answer of a model of this family, and then in a request to each family. */
export async function replay(
  family: Family,
  stream: string | Buffer,
  { world = openWorld(), shapes }: { world?: World; shapes?: Shapes | undefined } = {},
): Promise<{ refusals: readonly string[]; requests: number }> {
  const refusals: string[] = [];
  const seals = new SealedBlocks();
  let requests = 0;
  const providerOf = ({ api, model }: Family, first?: string | Buffer) => {
    const answers = first === undefined ? [] : [first];
    const say = (body: Readonly<Record<string, unknown>>) => {
      requests += 1;
      return { body: answers.shift() ?? answerTo(api, body, { parts: [{ type: 'text', text: 'Done.' }] }, requests) };
    };
    const { fetch } = new TunnelService(api, model, say, { seals, shape: shapes?.[api], refusals });
    const chat = { maxTokensName: 'max_completion_tokens', toolsWithReasoning: false } as const;
    return createProvider(api, { model, fetch, chat, retries: { maxRetries: 0 }, environment: {} });
  };
  const provider = providerOf(family, stream);
  const { history } = await play(world, { provider, server: undefined as never }, agentFor(family, {}));
  const conversation: OutputItem[] = [...history, user('Go on')];
  for (const next of FAMILIES) {
    const offered = agentFor(next, {}).carrier === 'text' ? {} : { tools: TOOLS };
    await ask(providerOf(next), { system: 'Work.', conversation, ...offered });
  }
  return { refusals, requests };
}
