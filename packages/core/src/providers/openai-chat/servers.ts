/*
 * Servers that refuse an answer with calls and without `reasoning_content`: an empty `reasoning_content` is enough.
 * Sources, read on 2026-11-24: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls and the refusals that
 * users report ("Missing `reasoning_content` field in the assistant message").
 */
const REQUIRE_REASONING = ['deepseek.com', 'moonshot.ai', 'moonshot.cn'];

/** Whether a server at this host refuses answers without `reasoning_content`. */
export function requiresReasoning(hostname: string): boolean {
  return REQUIRE_REASONING.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}
