import type { Usage } from '../../protocol/index.js';
import type { IncompleteReason } from '../answer-writer.js';
import { wireCount, wireMembers, wireName, wireText, type Members } from '../wire-values.js';

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
 * figure replaces an earlier one.
 */
export function messagesUsage(usage: Members): Usage | undefined {
  const input = wireCount(usage.input_tokens);
  const output = wireCount(usage.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const read = wireCount(usage.cache_read_input_tokens);
  const written = wireCount(usage.cache_creation_input_tokens);
  const thought = wireCount(wireMembers(usage.output_tokens_details).thinking_tokens);
  return {
    // The service does not count cached tokens in input_tokens.
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    total_tokens: (input ?? 0) + (output ?? 0) + (read ?? 0) + (written ?? 0),
    ...(read === undefined ? {} : { cache_read_tokens: read }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
    ...(thought === undefined ? {} : { reasoning_tokens: thought }),
    native: usage,
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
