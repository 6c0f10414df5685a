import { z } from 'zod';
import { PageQuerySchema, RunFenceSchema, TimeSchema } from './store-shapes.js';

/** The owner of a document: one conversation, one user, or all users of one workspace. */
export const DocumentScopeSchema = z.strictObject({
  kind: z.enum(['thread', 'principal', 'workspace']),
  /** The id of the thread, the principal, or the workspace. */
  id: z.string().min(1).max(1_024),
});
export type DocumentScope = z.infer<typeof DocumentScopeSchema>;

/** `file`: files of the File Cabinet. `value`: values of `store`. `prompt`: saved prompts. `snippet`: saved scripts. */
export const DocumentKindSchema = z.enum(['file', 'value', 'prompt', 'snippet']);
export type DocumentKind = z.infer<typeof DocumentKindSchema>;

/** The identity of a document. A name is unique within its scope and kind. */
export const DocumentPlaceSchema = z.strictObject({
  scope: DocumentScopeSchema,
  kind: DocumentKindSchema,
  name: z.string().min(1).max(256),
});
export type DocumentPlace = z.infer<typeof DocumentPlaceSchema>;

/** Maximum size of `about`, in UTF-8 bytes of JSON. */
const MAX_ABOUT_BYTES = 65_536;

/** Converts the data to JSON and back, so that it equals the data that a reader receives. */
const AboutSchema = z.record(z.string(), z.unknown()).transform((about, context) => {
  const text = aboutJson(about);
  if (text !== undefined && new TextEncoder().encode(text).length <= MAX_ABOUT_BYTES)
    return JSON.parse(text) as Record<string, unknown>;
  context.addIssue(`it must be JSON of at most ${MAX_ABOUT_BYTES} bytes`);
  return z.NEVER;
});

function aboutJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The conditions of a change. */
const ChangeSchema = z.strictObject({
  /** The number that the newest version must have; 0 if no version may exist. Default: any number. */
  ifVersion: z.number().int().min(0).optional(),
  /**
   * Identifies one call. A later call with the same place and the same key changes nothing and returns the result of the
   * first call, although later changes may have deleted the version or the document. The store remembers the call for
   * `CHANGE_MEMORY_MS`, and for the next `DocumentLimits.changes` changes of the scope and kind.
   */
  idempotencyKey: z.string().min(1).max(256).optional(),
  /** The claim under which the writer works. Default: the writer needs no claim. */
  fence: RunFenceSchema.optional(),
});

/** The time for which a store remembers a change with an idempotency key, in ms. */
export const CHANGE_MEMORY_MS = 365 * 86_400_000;

export const DocumentDraftSchema = DocumentPlaceSchema.extend({
  ...ChangeSchema.shape,
  text: z.string(),
  /** Small data about the document, in the shape that its kind defines. At most 64 KiB of JSON. Default: empty. */
  about: AboutSchema.optional(),
  /** The time at which the document expires. Default: never. */
  expiresAt: TimeSchema.optional(),
});
export type DocumentDraft = z.input<typeof DocumentDraftSchema>;

/** The document to delete, and the conditions of the deletion. */
export const DocumentDeletionSchema = DocumentPlaceSchema.extend(ChangeSchema.shape);
/** The document to delete, and the conditions of the deletion. */
export type DocumentDeletion = z.input<typeof DocumentDeletionSchema>;

/** One version of a document, without its text. */
export interface DocumentInfo extends DocumentPlace {
  /**
   * The number of the version, starting with 1. No number is used twice: after a document was deleted or has expired, the
   * numbers of its name continue.
   */
  readonly version: number;
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  readonly about: Readonly<Record<string, unknown>>;
  /** The time at which this version was saved. */
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
}

/** One version of a document, with its text. */
export interface StoredDocument extends DocumentInfo {
  readonly text: string;
}

/** The conditions of a list. A document must meet all of them. */
export const DocumentQuerySchema = PageQuerySchema.extend({
  scope: DocumentScopeSchema,
  kind: DocumentKindSchema,
  /** A prefix of the names. Default: all names match. */
  prefix: z.string().max(256).optional(),
});
/** The conditions of a list. A document must meet all of them. */
export type DocumentQuery = z.input<typeof DocumentQuerySchema>;

/** A page of documents. */
export interface DocumentPage {
  readonly documents: readonly DocumentInfo[];
  /** The `after` of the next page; present if there are more entries. */
  readonly next?: string | undefined;
}

/**
 * The limits for all documents of one kind in one scope. The oldest versions of a document beyond `versions` are
 * deleted.
 */
export interface DocumentLimits {
  /** UTF-8 bytes of one text. */
  readonly bytes: number;
  /** UTF-8 bytes of all versions of all documents. */
  readonly totalBytes: number;
  readonly documents: number;
  readonly versions: number;
  /** The number of the newest changes with an idempotency key that the store remembers. */
  readonly changes: number;
}

/** The default limits of a store of documents. */
export const DOCUMENT_LIMITS: DocumentLimits = {
  bytes: 5_000_000,
  totalBytes: 100_000_000,
  documents: 1_000,
  versions: 20,
  changes: 10_000,
};

/**
 * Stores versions of texts that outlive a script, by scope, kind and name. The rules of `RunStore` about transactions
 * and arguments apply here too. Every function treats an expired document as missing. The documents of a thread are
 * deleted with the thread. A branch of a thread starts with copies of the versions that were saved before the turn at
 * which the branch begins.
 */
export interface DocumentStore {
  /**
   * Stores the next version. Rejects with a `DocumentConflictError` if `ifVersion` is given and is not the newest
   * version, with a `DocumentLimitError` if a limit is exceeded, with a `NotFoundError` if the thread of the scope
   * does not exist, and with a `StaleEpochError` if the run of the fence was claimed again or deleted.
   */
  save(draft: DocumentDraft): Promise<DocumentInfo>;
  /** Reads the newest version, or the given one. Returns undefined if this version does not exist. */
  read(place: DocumentPlace, version?: number): Promise<StoredDocument | undefined>;
  /** Lists the newest version of each document, sorted by the code units of the names. */
  list(query: DocumentQuery): Promise<DocumentPage>;
  /**
   * Lists the stored versions of one document, the newest first. Returns an empty list if the document does not exist.
   */
  versions(place: DocumentPlace): Promise<readonly DocumentInfo[]>;
  /**
   * Deletes all versions. Returns false if there were none. Rejects with a `DocumentConflictError` and with a
   * `StaleEpochError` as `save` does.
   */
  delete(deletion: DocumentDeletion): Promise<boolean>;
  /**
   * Deletes expired documents and returns their number. Deletes what it remembers of changes that are older
   * than `CHANGE_MEMORY_MS`. A call may stop after 1 000 documents; call again for the rest.
   */
  deleteExpired(): Promise<number>;
}
