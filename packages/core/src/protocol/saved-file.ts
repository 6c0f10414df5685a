import { z } from 'zod';
import type { DocumentPlace, DocumentStore, StoredDocument } from './document-store.js';

/** The origin of a file's text. */
export const FileSourceSchema = z.looseObject({
  /**
   * `script`: a script saved the text. `web`: `fetchUrl` saved a page, whose text unknown authors have written. `result`:
   * a page of a tool's result that was too large for a script.
   */
  kind: z.enum(['script', 'web', 'result']),
  /** The address of a page, as it was requested. */
  url: z.string().optional(),
});
export type FileSource = z.infer<typeof FileSourceSchema>;

/** `about` of a document of the kind `file`. Members of later versions are kept. */
export const FileAboutSchema = z.looseObject({
  title: z.string().optional(),
  contentType: z.string().optional(),
  source: FileSourceSchema.optional(),
  /** True: untrusted text may have reached the file. */
  untrusted: z.boolean().optional(),
});
export type FileAbout = z.infer<typeof FileAboutSchema>;

/** The file's metadata; empty if another program has stored data of another shape. */
export function fileAbout({ about }: Pick<StoredDocument, 'about'>): FileAbout {
  const read = FileAboutSchema.safeParse(about);
  return read.success ? read.data : {};
}

/** The place of a file of a thread. */
export function filePlace(threadId: string, fileKey: string): DocumentPlace {
  return { scope: { kind: 'thread', id: threadId }, kind: 'file', name: fileKey };
}

/**
 * Reads a file of the thread. Returns undefined if the file does not exist, or if no file can have this key or version.
 */
export async function readThreadFile(
  documents: DocumentStore,
  threadId: string,
  fileKey: string,
  version?: number,
): Promise<StoredDocument | undefined> {
  if (fileKey === '' || fileKey.length > 256) return undefined;
  return documents.read(filePlace(threadId, fileKey), version);
}
