import { isMembers, wireMembers, without, type Members } from '../wire-values.js';

/**
 * The wire's block as a request takes it: the id of a cited file is a member of answers alone. Source: `BetaTextCitation`
 * and `BetaTextCitationParam` of `@anthropic-ai/sdk` 1.14.0.
 */
export function sentBack(native: unknown): Members {
  const block = wireMembers(native);
  const { content } = block;
  if (!Array.isArray(content)) return withSentCitations(block);
  return { ...block, content: content.map((part: unknown) => (isMembers(part) ? withSentCitations(part) : part)) };
}

function withSentCitations(part: Members): Members {
  const { citations } = part;
  if (!Array.isArray(citations)) return part;
  return { ...part, citations: citations.map((one: unknown) => (isMembers(one) ? without(one, 'file_id') : one)) };
}
