import type { SubmitBody, Submitted } from '@toolscript/client';
import type { Session } from '../state/session.ts';
import type { Prompt } from './composer.tsx';

type SubmitOptions = Partial<Pick<SubmitBody, 'agentId' | 'threadId' | 'overrides'>>;

/** Starts a run with the prompt, and updates the list of conversations. */
export async function submitPrompt(
  session: Session,
  { text, images }: Prompt,
  options: SubmitOptions,
): Promise<Submitted> {
  const parts = images.map(({ mediaType, data }) => ({ media_type: mediaType, data }));
  const body = images.length === 0 ? { prompt: text } : { input: [{ content: text, images: parts }] };
  const submitted = await session.client.submit({ ...options, ...body } as SubmitBody, {
    idempotencyKey: crypto.randomUUID(),
  });
  void session.threads.refresh();
  return submitted;
}
