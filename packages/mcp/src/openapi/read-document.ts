import { Worker } from 'node:worker_threads';
import { ConnectError } from '../connection/connect-error.js';
import type { DocumentInfo } from './document.js';
import type { Operation, ReadOperations } from './operations.js';

/** The document of an API, and what decides where its requests go. */
export interface ReadingRequest {
  /** The path of a file, or the bytes of the document. */
  readonly document: string | Uint8Array;
  /** The address of the document, if it has one. */
  readonly address: string | undefined;
  readonly baseUrl: string | undefined;
}

/** A document as its thread has read it. */
export interface ReadDocument extends ReadOperations {
  /** Where requests go. */
  readonly base: string;
  readonly info: DocumentInfo;
  /** The version of the document's format. */
  readonly format: string;
}

/** A message of the thread. */
export type DocumentPart =
  | { readonly items: readonly unknown[]; readonly operations: readonly (readonly [string, Operation])[] }
  | { readonly end: Omit<ReadDocument, 'items' | 'operations'> }
  | { readonly problem: string; readonly needsUser: boolean };

const MAX_MEMORY_MB = 1_024;

/**
 * Reads a document in a separate thread, because a large one takes seconds. Rejects with a `ConnectError` if it cannot
 * be used, or when the signal aborts.
 */
export async function readDocument(request: ReadingRequest, signal: AbortSignal): Promise<ReadDocument> {
  const worker = new Worker(new URL('./read-document-worker.js', import.meta.url), {
    workerData: request,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  const items: unknown[] = [];
  const operations: (readonly [string, Operation])[] = [];
  let abort: (() => void) | undefined;
  try {
    return await new Promise<ReadDocument>((resolve, reject) => {
      worker.on('message', (part: DocumentPart) => {
        if ('problem' in part) return reject(new ConnectError(part.problem, { needsUser: part.needsUser }));
        if ('end' in part) return resolve({ ...part.end, items, operations: new Map(operations) });
        items.push(...part.items);
        operations.push(...part.operations);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        setImmediate(() => worker.postMessage('taken'));
      });
      worker.on('error', (error) => reject(new ConnectError(threadProblem(error), { needsUser: true })));
      worker.on('exit', () => reject(new ConnectError('the thread that reads it ended')));
      abort = () => reject(new ConnectError('it was not read in time'));
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
    });
  } finally {
    if (abort !== undefined) signal.removeEventListener('abort', abort);
    void worker.terminate();
  }
}

function threadProblem(error: unknown): string {
  const isMemory = (error as { code?: string | undefined }).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory ? `reading it needs more than ${MAX_MEMORY_MB} MB of memory` : `it cannot be read (${String(error)})`;
}
