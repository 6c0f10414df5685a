import { z } from 'zod';
import type { DocumentPlace, DocumentStore, StoredDocument } from './document-store.js';

/** The origin of a file's text. */
export const FileSourceSchema = z.looseObject({
  /** `script`: a script saved it. `web`: `fetchUrl` saved a page, whose text strangers have written. */
  kind: z.enum(['script', 'web']),
  /** Of a page, as it was asked for. */
  url: z.string().optional(),
});
export type FileSource = z.infer<typeof FileSourceSchema>;

/** `about` of a document of the kind `file`. Members of later versions are kept. */
export const FileAboutSchema = z.looseObject({
  title: z.string().optional(),
  contentType: z.string().optional(),
  source: FileSourceSchema.optional(),
});
export type FileAbout = z.infer<typeof FileAboutSchema>;

/** Empty if another program has stored something else. */
export function fileAbout({ about }: Pick<StoredDocument, 'about'>): FileAbout {
  const read = FileAboutSchema.safeParse(about);
  return read.success ? read.data : {};
}

/** The place of a file of a thread. */
export function filePlace(threadId: string, fileKey: string): DocumentPlace {
  return { scope: { kind: 'thread', id: threadId }, kind: 'file', name: fileKey };
}

/** A file of the thread, or undefined: also for a key or a version that no file can have. */
export async function readFileOf(
  documents: DocumentStore,
  threadId: string,
  fileKey: string,
  version?: number,
): Promise<StoredDocument | undefined> {
  if (fileKey === '' || fileKey.length > 256) return undefined;
  return documents.read(filePlace(threadId, fileKey), version);
}
