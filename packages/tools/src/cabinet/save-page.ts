import { filePlace, present } from '@toolscript/core/internal';
import type { DocumentStore, ToolCallContext } from '@toolscript/core/protocol';
import { failureMessage } from '../failure.js';
import type { FoundPage } from '../web/pages.js';
import { awaitStore, requireThread } from './documents.js';
import { callKey, documentChange, shortHash } from './file-keys.js';

export type SavedPage = { readonly fileKey: string } | { readonly notSaved: string };

/**
 * Saves a whole page under a key that depends only on its URL. An unchanged page gets no new version. Never rejects.
 */
export async function savePage(
  documents: DocumentStore,
  page: FoundPage,
  context: ToolCallContext,
): Promise<SavedPage> {
  const { url, title, text, isJson, fetchedAt } = page;
  const fileKey = `web-${shortHash(url)}`;
  try {
    const place = filePlace(requireThread(context), fileKey);
    if ((await awaitStore(documents.read(place)))?.text === text) return { fileKey };
    const source = { kind: 'web', url: url.slice(0, 2_000), fetchedAt };
    const contentType = isJson ? 'application/json' : 'text/markdown';
    const about = { ...present({ title: title === '' ? undefined : title }), contentType, source, untrusted: true };
    await awaitStore(
      documents.save({
        ...place,
        text,
        about,
        ...documentChange(context),
        idempotencyKey: shortHash(`${callKey(context)} ${url}`),
      }),
    );
    return { fileKey };
  } catch (error) {
    return { notSaved: failureMessage(error) };
  }
}
