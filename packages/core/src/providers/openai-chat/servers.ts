/*
 * Servers that refuse an answer with calls and without `reasoning_content`: an empty `reasoning_content` is enough.
 * Sources, read on 2026-11-24: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls and the refusals that
 * users report ("Missing `reasoning_content` field in the assistant message").
 */
const REQUIRE_REASONING = ['deepseek.com', 'moonshot.ai', 'moonshot.cn'];

/**
 * The signature for a call that another model made. Models from Gemini 3 on refuse a step whose first call has none.
 * Sources, read on 2026-11-28: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures, and the
 * release notes of `@ai-sdk/google` 3.0.80.
 */
const FOREIGN_SIGNATURE = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The `extra_content` of a first call without one; undefined if the server at this host needs none. */
export function missingSignature(hostname: string, model: string): typeof FOREIGN_SIGNATURE | undefined {
  const isGoogle = hostname === 'googleapis.com' || hostname.endsWith('.googleapis.com');
  return isGoogle && /gemini-(?:[3-9]|\d\d)/u.test(model) ? FOREIGN_SIGNATURE : undefined;
}

/** Whether a server at this host refuses answers without `reasoning_content`. */
export function requiresReasoning(hostname: string): boolean {
  return REQUIRE_REASONING.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}
