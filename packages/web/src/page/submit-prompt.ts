import type { SubmitBody, SubmittedRun } from '@toolscript/client';
import type { Session } from '../state/session.ts';
import { withFiles } from '../view/attached-files.ts';
import { isDocument, isImage, isTextFile } from './attachments.tsx';
import type { Prompt } from './prompt.ts';

type SubmitOptions = Partial<Pick<SubmitBody, 'agentId' | 'threadId' | 'overrides'>>;

/** Starts a run with the prompt, and updates the list of conversations. */
export async function submitPrompt(
  session: Session,
  { text, attachments, branchBefore }: Prompt,
  options: SubmitOptions,
): Promise<SubmittedRun> {
  const images = attachments.filter(isImage).map(({ mediaType, data }) => ({ media_type: mediaType, data }));
  const files = attachments
    .filter(isDocument)
    .map(({ name, mediaType, data }) => ({ name, media_type: mediaType, data }));
  const content = withFiles(text, attachments.filter(isTextFile));
  const branch = branchBefore === undefined ? {} : { branchBefore };
  const body = { ...options, ...branch, input: [{ content, images, files }] } as SubmitBody;
  const submitted = await session.client.submit(body, { idempotencyKey: crypto.randomUUID() });
  void session.threads.refresh();
  return submitted;
}
