import type { Usage } from '../../protocol/index.js';
import type { IncompleteReason } from '../answer-writer.js';
import { wireCount, wireList, wireMembers, wireName, wireText, type Members } from '../wire-values.js';

/**
 * Reads Anthropic Messages. Content blocks are kept unchanged; these functions interpret them.
 * Source of the format: https://docs.claude.com/en/docs/build-with-claude/streaming
 */

export type BlockKind = 'text' | 'thinking' | 'tool_use' | 'hosted_code' | 'hosted_output' | 'opaque';

export function blockKind(block: Members): BlockKind {
  switch (block.type) {
    case 'text':
    case 'thinking':
    case 'tool_use':
      return block.type;
    case 'server_tool_use':
      return block.name === 'code_execution' ? 'hosted_code' : 'opaque';
    case 'code_execution_tool_result':
      return 'hosted_output';
    default:
      // These blocks are opaque: sealed thinking, other hosted tools and their results, a compacted conversation, and block
      // types added later.
      return 'opaque';
  }
}

/**
 * The usage of an answer. `usage`: the members of all usage reports, merged. Each figure is a running total, so a later
 * figure replaces an earlier one. If the service reports its iterations (compaction, an advisor, fallbacks), their sum
 * is billed, and the last message has the size of the context. An advisor and a fallback name their model. Source:
 * `BetaIterationsUsage` of `@anthropic-ai/sdk` 1.14.0.
 */
export function messagesUsage(usage: Members): Usage | undefined {
  const iterations = wireList(usage.iterations).flatMap((iteration) => {
    const { type, model, ...members } = wireMembers(iteration);
    const figures = messagesFigures(members);
    return figures === undefined ? [] : [{ type, model: wireName(model), figures }];
  });
  const own = messagesFigures(usage);
  const [first, ...others] = iterations.map(({ figures }) => figures);
  const last = iterations.findLast(({ type }) => type === 'message' || type === 'fallback_message');
  const by_model: Record<string, Figures> = {};
  for (const { model, figures } of iterations) {
    if (model === undefined) continue;
    const known = Object.hasOwn(by_model, model) ? by_model[model] : undefined;
    by_model[model] = known === undefined ? figures : addFigures(known, figures);
  }
  const parts = Object.keys(by_model).length === 0 ? {} : { by_model };
  if (first === undefined || others.length === 0) return withNative(own && { ...own, ...parts }, usage);
  const sum = others.reduce<Figures>(addFigures, first);
  // The total grows while the answer streams; the iterations may be older.
  if (own !== undefined && own.total_tokens > sum.total_tokens) return withNative(own, usage);
  return withNative({ ...sum, ...parts, context_tokens: last?.figures.total_tokens ?? sum.total_tokens }, usage);
}

type Figures = Usage & { total_tokens: number };

function withNative(figures: Figures | undefined, usage: Members): Usage | undefined {
  if (figures === undefined) return undefined;
  const thought = wireCount(wireMembers(usage.output_tokens_details).thinking_tokens);
  return { ...figures, ...(thought === undefined ? {} : { reasoning_tokens: thought }), native: usage };
}

function addFigures(one: Figures, other: Figures): Figures {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].map((name) => [name, Number(one[name] ?? 0) + Number(other[name] ?? 0)]),
  ) as unknown as Figures;
}

function messagesFigures(usage: Members): Figures | undefined {
  const input = wireCount(usage.input_tokens);
  const output = wireCount(usage.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const read = wireCount(usage.cache_read_input_tokens);
  const written = wireCount(usage.cache_creation_input_tokens);
  return {
    // The service does not count cached tokens in input_tokens.
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    total_tokens: (input ?? 0) + (output ?? 0) + (read ?? 0) + (written ?? 0),
    ...(read === undefined ? {} : { cache_read_tokens: read }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
  };
}

/** The reason why an answer is incomplete; undefined if it is complete. */
export function messagesIncompleteReason(stopReason: string | undefined): IncompleteReason | undefined {
  switch (stopReason) {
    case 'max_tokens':
      return 'max_output_tokens';
    case 'model_context_window_exceeded':
      return 'context_window';
    case 'refusal':
      return 'refusal';
    case 'pause_turn':
    case 'compaction':
      return 'paused';
    default:
      return undefined;
  }
}

/** The output of hosted code, which the model reads. */
export function hostedResult({ content }: Members): { output: string; success: boolean } {
  const { stdout, stderr, return_code, error_code } = wireMembers(content);
  const texts = [stdout, stderr, wireName(error_code)].flatMap((text) => wireText(text) || []);
  return { output: texts.join('\n'), success: return_code === 0 };
}
