import { parentPort, workerData } from 'node:worker_threads';
import { ConnectError } from '../connection/connect-error.js';
import { thrownMessage } from '../connection/readable.js';
import { apiBase } from './base-url.js';
import { documentInfo, parseDocument, readDocumentFile } from './document.js';
import { readOperations } from './operations.js';
import type { DocumentPart, ReadingRequest } from './read-document.js';

/*
 * The thread that reads one document. It sends the operations in parts, each after the one before it has been taken, so
 * that the thread of the program never receives much at once.
 */

const OPERATIONS_OF_PART = 25;

async function* readParts({ document, address, baseUrl }: ReadingRequest): AsyncGenerator<DocumentPart> {
  const text = typeof document === 'string' ? await readDocumentFile(document) : Buffer.from(document).toString('utf8');
  const parsed = await parseDocument(text);
  const base = apiBase(parsed, address, baseUrl);
  const { items, operations, ...about } = readOperations(parsed, base);
  const byName = [...operations];
  for (let start = 0; start < items.length; start += OPERATIONS_OF_PART) {
    const end = start + OPERATIONS_OF_PART;
    yield { items: items.slice(start, end), operations: byName.slice(start, end) };
  }
  yield { end: { ...about, base: base.href, info: documentInfo(parsed), format: parsed.version } };
}

async function send(part: DocumentPart): Promise<void> {
  const taken = new Promise<void>((resolve) => parentPort!.once('message', () => resolve()));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(part);
  await taken;
}

try {
  for await (const part of readParts(workerData as ReadingRequest)) await send(part);
} catch (error) {
  await send({ problem: thrownMessage(error), needsUser: error instanceof ConnectError && error.needsUser });
}
