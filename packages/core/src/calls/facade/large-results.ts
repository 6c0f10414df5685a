import type { DocumentPlace, DocumentScope, DocumentStore } from '../../protocol/document-store.js';
import { fileAbout } from '../../protocol/saved-file.js';
import { ToolCallError } from '../../protocol/errors.js';
import type { GuestError } from '../../protocol/sandbox.js';
import type { Tool, ToolCallContext } from '../../protocol/tools.js';
import { newId } from '../../text/crypto.js';
import { hasReaders, hasUntrustedPart, PAGE_TOOL } from '../flow/result-parts.js';
import { guestError } from './call-errors.js';
import { checkResult } from './call-exchange.js';
import type { KeepsResults, KeptResult, LargeCall } from './facade-types.js';
import { jsonBytes, largePart, pageEnd, withPart, type LargePart, type RowRoom } from './large-part.js';
import { ResultLook } from './plain-result.js';

/** A result that is kept, as the guest's bridge reads it. It names nothing outside of its own conversation or user. */
interface LargeResult {
  readonly key: string;
  readonly scope: 'thread' | 'principal';
  readonly pages: number;
  readonly rows: number;
  /** Bytes of JSON of all pages. */
  readonly bytes: number;
  /** The names of the members that lead to the rows, from the result. */
  readonly at: readonly string[];
}

/** The part of a store of documents that keeps results. */
export type ResultDocuments = Pick<DocumentStore, 'save' | 'read' | 'delete'>;

const MAX_PAGE_BYTES = 500_000;
/** Maximum bytes of JSON of one kept result. */
const MAX_RESULT_BYTES = 50_000_000;
const KEPT_MS = 30 * 86_400_000;
const PREVIEW_UNITS = 300;
const NOT_STORED = 'This page is no longer stored: it was deleted, or it is older than 30 days. Call the tool again.';

/**
 * Keeps results that are too large for a script in the File Cabinet: each page is a file, and a result with a part of
 * the rows. A handle in a script names the pages, and `pageTool` reads one as the call of a tool.
 */
export class LargeResults implements KeepsResults {
  readonly pageTool: Tool;
  readonly #documents: ResultDocuments;

  constructor(documents: ResultDocuments) {
    this.#documents = documents;
    this.pageTool = pageTool(documents);
  }

  async keep(call: LargeCall): Promise<KeptResult | undefined> {
    const part = largePart(call.result);
    if (part === undefined) return undefined;
    const scope = resultScope(call.threadId, call.context.principal);
    const key = newId('result');
    const pages = new ResultPages(call, part);
    let saved = 0;
    let isKept = false;
    try {
      for (let page = pages.next(); page !== undefined; page = pages.next()) {
        await this.#save(call, { scope, key, index: saved, page });
        saved += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
      isKept = pages.isWhole;
    } finally {
      if (!isKept) for (let index = 0; index < saved; index++) await this.#delete(pagePlace(scope, key, index));
    }
    if (!isKept) return undefined;
    const { rows, bytes, preview, isUntrusted } = pages;
    const handle = { key, scope: scope.kind as LargeResult['scope'], pages: saved, rows, bytes, at: part.at };
    return { error: keptResultError(call.tool, handle, preview), isUntrusted };
  }

  async #save(
    { tool, context, hasUntrustedInput }: LargeCall,
    { scope, key, index, page }: { scope: DocumentScope; key: string; index: number; page: ResultPage },
  ): Promise<void> {
    const isUntrusted = hasUntrustedInput || page.isUntrusted;
    await this.#documents.save({
      ...pagePlace(scope, key, index),
      text: page.json,
      about: {
        title: `Result of ${tool.name}, page ${index}`,
        contentType: 'application/json',
        source: { kind: 'result' },
        // defence: pages-keep-the-label-of-their-call
        ...(isUntrusted ? { untrusted: true } : {}),
      },
      expiresAt: Date.now() + KEPT_MS,
      ifVersion: 0,
      fence: context.fence,
    });
  }

  async #delete(place: DocumentPlace): Promise<void> {
    // What stays expires.
    await this.#documents.delete(place).catch(() => {});
  }
}

/** The error with which a script receives the handle of a result. */
function keptResultError({ name, effect }: Tool, handle: LargeResult, preview: string): GuestError {
  const { key, scope, pages, rows, bytes } = handle;
  const files = scope === 'thread' ? ` They are the files ${key}/0 to ${key}/${pages - 1} of the File Cabinet.` : '';
  const ran = effect === 'read' ? 'ran' : 'ran and took effect';
  return guestError(
    'ToolExecutionError',
    `The tool "${name}" ${ran}. Its result is too large for a script (${bytes} bytes of JSON, ${rows} rows), so it is kept in ${pages} pages: catch this error, and read \`for await (const row of error.handle)\` or \`await error.handle.page(0)\`.${files} It begins: ${preview}`,
    { handle },
  );
}

/** The conversation, or else the user. */
function resultScope(threadId: string | undefined, principal = 'nobody'): DocumentScope {
  return threadId === undefined ? { kind: 'principal', id: principal } : { kind: 'thread', id: threadId };
}

function pagePlace(scope: DocumentScope, key: string, page: number): DocumentPlace {
  return { scope, kind: 'file', name: `${key}/${page}` };
}

interface ResultPage {
  readonly json: string;
  readonly isUntrusted: boolean;
}

/** Divides a result into pages. Each is a result with some of the rows, and is checked as a result. */
class ResultPages {
  rows = 0;
  bytes = 0;
  preview = '';
  isUntrusted: boolean;
  readonly #call: LargeCall;
  readonly #part: LargePart;
  readonly #room: RowRoom;
  #next = 0;

  constructor(call: LargeCall, part: LargePart) {
    this.#call = call;
    this.#part = part;
    this.#room = pageRoom(call, part);
    this.isUntrusted = call.hasUntrustedInput;
  }

  /** Whether the pages so far are the whole result. */
  get isWhole(): boolean {
    return this.#next === this.#part.rows.length;
  }

  /** Undefined: there is no further page, or the result cannot be kept. */
  next(): ResultPage | undefined {
    const { tool, result, context } = this.#call;
    const { at, rows } = this.#part;
    if (this.isWhole || this.#room.bytes <= 0) return undefined;
    const end = pageEnd(rows, this.#next, this.#room);
    const checked = checkResult(tool, withPart(result, at, rows.slice(this.#next, end)), context.limits);
    if (!checked.ok) return undefined;
    const { json, value } = checked;
    // defence: pages-with-readers-are-not-kept
    if (hasReaders(tool, value)) return undefined;
    this.bytes += Buffer.byteLength(json);
    if (this.bytes > MAX_RESULT_BYTES) return undefined;
    this.rows += typeof rows === 'string' ? 1 : end - this.#next;
    if (this.#next === 0) this.preview = json.slice(0, PREVIEW_UNITS);
    this.#next = end;
    const isUntrusted = hasUntrustedPart(tool, value);
    this.isUntrusted ||= isUntrusted;
    return { json, isUntrusted };
  }
}

/** The room of a page, without what the result holds besides its rows. */
function pageRoom({ result, context }: LargeCall, { at, rows }: LargePart): RowRoom {
  const { maxToolResultBytes, maxToolResultValues } = context.limits;
  const rest = withPart(result, at, typeof rows === 'string' ? '' : []);
  const look = new ResultLook(rest, maxToolResultValues);
  return {
    bytes: Math.min(maxToolResultBytes, MAX_PAGE_BYTES) - jsonBytes(rest, look),
    values: maxToolResultValues - look.values,
  };
}

/** The tool that reads a page for a script. Only the handle of a result calls it, and it reads pages of results only. */
function pageTool(documents: ResultDocuments): Tool {
  return {
    name: PAGE_TOOL,
    description: 'Reads a page of a result that was too large for a script.',
    inputSchema: {},
    outputSchema: undefined,
    approval: 'never',
    effect: 'read',
    idempotent: true,
    validateInput: (value) => {
      if (isPageInput(value)) return { ok: true, value: { ...value } };
      return { ok: false, issues: [{ path: 'args.page', message: 'must be the number of a page, from 0' }] };
    },
    validateOutput: (value) => ({ ok: true, value: value as never }),
    permissions: undefined,
    preview: undefined,
    execute: (input, context) => readPage(documents, input as unknown as PageInput, context),
  };
}

interface PageInput extends Pick<LargeResult, 'key' | 'scope'> {
  readonly page: number;
}

function isPageInput(value: unknown): value is PageInput & Record<string, string | number> {
  const { key, scope, page } = (value ?? {}) as Partial<Record<keyof PageInput, unknown>>;
  return (
    typeof key === 'string' &&
    key.length <= 64 &&
    (scope === 'thread' || scope === 'principal') &&
    Number.isSafeInteger(page) &&
    (page as number) >= 0
  );
}

async function readPage(
  documents: ResultDocuments,
  { key, scope, page }: PageInput,
  { threadId, principal, markUntrusted }: ToolCallContext,
): Promise<unknown> {
  const owner = resultScope(scope === 'thread' ? threadId : undefined, principal);
  // A later version is no page of the result.
  const stored = owner.kind === scope ? await documents.read(pagePlace(owner, key, page), 1) : undefined;
  // defence: handles-read-pages-only
  if (stored === undefined || fileAbout(stored).source?.kind !== 'result')
    throw new ToolCallError('ToolExecutionError', NOT_STORED);
  if (fileAbout(stored).untrusted === true) markUntrusted?.();
  return JSON.parse(stored.text);
}
