/*
 * OpenAI's models that never reason. A request for encrypted reasoning makes the service refuse them with status 400.
 * Source: the model names of the `openai` package 6.49.0 (`resources/shared.d.ts`), read on 2026-11-24.
 */
const NEVER_REASON = [/^gpt-3\.5/u, /^gpt-4/u, /^chatgpt-/u, /^gpt-5[\d.]*-chat/u];

/** False for the models of OpenAI that never reason. Other names, also of other servers, may. */
export function reasons(model: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/^ft:/u, '');
  return !NEVER_REASON.some((pattern) => pattern.test(name));
}
